"""Section kinds: what a writer does with a section because of its name, type and flags alone.

The rules are functions of a section and a producer. A file has few kinds and many sections, named
``<prefix>.<function>``; :func:`find` asks the rules once for each kind.
"""

from __future__ import annotations

from itertools import groupby

from cubinspec.reader import elf
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.model import Section
from cubinspec_writer.emitter.producers import CAPMERC_TEXT, mercury_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cubinspec_writer.emitter.producers import Producer

#: Jump slots of unified functions (code), and unified data.
SHT_CUDA_UFT, SHT_CUDA_UDT, SHT_CUDA_UIDX = 0x7000000E, 0x70000012, 0x70000010
UFT_REL = ".nv.uft.rel."
STUB = "__cuda_uf_stub_"
#: The table of stubs of an executable, as SASS and as Mercury code.
UFT, CAPMERC_UFT = ".nv.uft", ".nv.capmerc.nv.uft"

_LINK_TO_SYMTAB = frozenset(
    (
        bodies.SHT_CUDA_INFO,
        bodies.SHT_CUDA_CALLGRAPH,
        bodies.SHT_CUDA_PROTOTYPE,
        bodies.SHT_CUDA_RESOLVED_RELA,
        bodies.SHT_CUDA_UFT_ENTRY,
        bodies.SHT_CUDA_UDT_ENTRY,
        elf.SHT_REL,
        elf.SHT_RELA,
        SHT_CUDA_UFT,
    )
)
LINK_TO_MERC_SYMTAB = frozenset(
    (
        bodies.SHT_CUDA_CAPMERC,
        bodies.SHT_CUDA_MERC_RELA,
        bodies.SHT_CUDA_MERC_INFO,
        bodies.SHT_CUDA_MERC_CALLGRAPH,
        bodies.SHT_CUDA_MERC_PROTOTYPE,
        bodies.SHT_CUDA_MERC_RESOLVED_RELA,
    )
)
#: Kinds of sections for which no section symbol is made.
_NO_SYMBOL = (
    frozenset((elf.SHT_STRTAB, elf.SHT_SYMTAB, elf.SHT_SYMTAB_SHNDX, bodies.SHT_CUDA_COMPAT))
    | frozenset((bodies.SHT_CUDA_INFO, bodies.SHT_CUDA_UFT_ENTRY, bodies.SHT_CUDA_UDT_ENTRY))
    | bodies.RELOCATION_TYPES
)
#: Kinds whose ``sh_info`` is about symbols.
_OWN_INFO = frozenset((elf.SHT_SYMTAB, bodies.SHT_CUDA_MERC_SYMTAB, bodies.SHT_CUDA_CAPMERC))
#: What ``sh_info`` of the sections of a function refers to.
_OWNED = (
    (".nv.info.", ".text."),
    (".nv.merc.nv.info.", CAPMERC_TEXT),
    (".nv.merc.nv.constant.optimizer.", CAPMERC_TEXT),
    (".nv.merc.nv.constant.entry_image_header_indices.", CAPMERC_TEXT),
    (".nv.shared.", ".text."),
    (".nv.local.", ".text."),
)
NAMED_BEHIND_RELOCATIONS = (".nv.constant0.", ".nv.constant.entry_image_header_indices.")
#: What a name of the form ``<prefix>.<function>`` starts with: a half, then relocations, each of
#: which may be missing, then one of these, where ``.nv.constant`` has a number.
_HALVES = (".nv.merc", ".nv.capmerc")
_RELOCATIONS = (".nv.resolvedrela.", ".rela.", ".rel.")
_OF_FUNCTIONS = (
    ".text.",
    ".nv.info.",
    ".nv.shared.",
    ".nv.local.",
    ".nv.uft.rel.",
    ".nv.constant.optimizer.",
    ".nv.constant.entry_image_header_indices.",
)
_BANK = ".nv.constant"
_BANK_RELOCATIONS = (".rel" + _BANK, ".rela" + _BANK)
#: What behind a prefix is no function.
_NO_FUNCTION = ("reserved.", STUB)
#: Stands for any function.
_ANY = "\x01"


def _prefix(name: str) -> str:
    """``<prefix>.`` of a name of the form ``<prefix>.<function>``; empty for any other.

    Names with a meaning of their own (reserved shared memory, stubs) are not of that form.
    """
    at = 0
    for starts in (_HALVES, _RELOCATIONS):
        for start in starts:
            if name.startswith(start, at):
                at += len(start.removesuffix("."))
                break
    end = 0
    for start in _OF_FUNCTIONS:
        if name.startswith(start, at):
            end = at + len(start)
    if name.startswith(_BANK, at):
        bank, dot, _ = name[at + len(_BANK) :].partition(".")
        if dot and bank.isdecimal():
            end = at + len(_BANK) + len(bank) + 1
    return name[:end] if len(name) > end and not name.startswith(_NO_FUNCTION, end) else ""


def group(section: Section, producer: Producer, *, has_table: bool = False) -> int:
    """Rank of a section in the index order.

    Args:
        has_table: the file has a table of stubs, the rows of which nvlink makes first.
    """
    name, kind = section.name, section.sh_type
    if producer.table_first:
        return 0
    if section.sh_flags & elf.SHF_CUDA_MERCURY:
        return _mercury_group(name, kind, producer, has_table=has_table)
    fixed = {".shstrtab": 0, ".strtab": 1, ".symtab": 2, ".symtab_shndx": 2, ".nv.info": 5}
    if name in fixed:
        return fixed[name]
    if kind == bodies.SHT_CUDA_COMPAT or name == ".nv.compat":
        return 7 if producer.compat_with_info else 6
    if kind == elf.SHT_PROGBITS and name.startswith((".debug_", ".nv_debug")):
        return 3
    by_kind = {
        elf.SHT_NOTE: 4,
        bodies.SHT_CUDA_INFO: 7,
        bodies.SHT_CUDA_UFT_ENTRY: 4 if has_table else 7,
        SHT_CUDA_UIDX: 7,
        bodies.SHT_CUDA_UDT_ENTRY: 7,
        bodies.SHT_CUDA_CALLGRAPH: 8,
        bodies.SHT_CUDA_PROTOTYPE: 9,
        bodies.SHT_CUDA_RELOCINFO: 10,
    }
    if kind in by_kind:
        return by_kind[kind]
    if kind in bodies.RELOCATION_TYPES:
        return 11
    if name.startswith(".nv.constant0.") and is_late(section, producer):
        return 17
    if name.startswith(".nv.constant"):
        return 12
    if name.startswith(".text") or kind == SHT_CUDA_UFT:
        return 14
    if name.startswith(".nv.global.init") or kind == SHT_CUDA_UDT:
        return 15
    return 16


def _mercury_group(name: str, kind: int, producer: Producer, *, has_table: bool) -> int:
    if name.startswith((".nv.merc.debug_", ".nv.merc.nv_debug")):
        return 31
    if name == ".nv.merc.nv.info":
        return 33
    if producer.capsules_last and kind == bodies.SHT_CUDA_CAPMERC:
        return 38
    if producer.capsules_last and kind == bodies.SHT_CUDA_MERC_SYMTAB:
        return 30
    ranks = {
        bodies.SHT_CUDA_CAPMERC: 30,
        bodies.SHT_CUDA_MERC_INFO: 34,
        bodies.SHT_CUDA_UFT_ENTRY: 32 if has_table else 34,
        bodies.SHT_CUDA_UDT_ENTRY: 34,
        SHT_CUDA_UIDX: 34,
        bodies.SHT_CUDA_MERC_CALLGRAPH: 35,
        bodies.SHT_CUDA_MERC_PROTOTYPE: 36,
        bodies.SHT_CUDA_MERC_RELA: 37,
        bodies.SHT_CUDA_MERC_RESOLVED_RELA: 37,
        0x70000079: 39,
        0x7000007C: 39,
        0x7000007D: 39,
        0x70000084: 39,
        bodies.SHT_CUDA_MERC_SYMTAB: 41,
    }
    return ranks.get(kind, 40)


def is_late(section: Section, producer: Producer) -> bool:
    """Whether a section was made after the global symbols were named."""
    if section.late is not None:
        return section.late
    if not producer.constant0_deferred:
        return False
    return bool(section.sh_flags & elf.SHF_CUDA_MERCURY) or (
        section.name.startswith(".nv.constant0.") and section.made_as is None
    )


def has_symbol(section: Section) -> bool:
    """Whether the writers make a section symbol for it."""
    if section.sh_type in _NO_SYMBOL or section.sh_flags & elf.SHF_CUDA_MERCURY:
        return False
    return not section.name.startswith(".nv.shared.reserved.")


def info_target_of(name: str, kind: int) -> str | None:
    """Name of the section that ``sh_info`` of section ``name`` stands for."""
    if name in (".note.nv.cuinfo", ".note.nv.cuver"):
        return ".nv.compat"
    if kind in bodies.RELOCATION_TYPES:
        mercury = name.startswith(".nv.merc.")
        rest = name.removeprefix(".nv.merc")
        for prefix in (".nv.resolvedrela", ".rela", ".rel"):
            if rest.startswith(prefix):
                rest = rest[len(prefix) :]
                break
        if not mercury:
            return rest
        return (
            ".nv.capmerc" + rest
            if rest.startswith((".text.", UFT_REL)) or rest == UFT
            else ".nv.merc" + rest
        )
    for prefix, target in _OWNED:
        if name.startswith(prefix):
            function = name[len(prefix) :]
            if function == UFT:
                return target.removesuffix(".text.") + UFT
            if function.startswith(STUB):
                target = target.replace(".text.", UFT_REL)
                function = function[len(STUB) :]
            return target + function
    if name.startswith(".nv.constant") and not name.startswith(".nv.constant."):
        _, dot, function = name.removeprefix(".nv.constant").partition(".")
        return f".text.{function}" if dot else None
    return None


def info_target(section: Section) -> str | None:
    """Name of the section that ``sh_info`` stands for; ``None`` when it is no section."""
    return info_target_of(section.name, section.sh_type)


def info_is_section(section: Section) -> bool:
    """Whether ``sh_info`` of this kind is a section index."""
    return info_target(section) is not None


def link_target(section: Section, producer: Producer, *, has_table: bool = False) -> str | None:
    """Name of the section that ``sh_link`` stands for; ``None`` when it is 0."""
    kind, name = section.sh_type, section.name
    if kind == bodies.SHT_CUDA_UFT_ENTRY and has_table:
        return None
    if kind in (elf.SHT_SYMTAB, bodies.SHT_CUDA_MERC_SYMTAB):
        return ".strtab"
    if name in (".note.nv.cuinfo", ".note.nv.cuver"):
        return ".note.nv.tkinfo"
    if producer.table_first:
        if name.startswith((".text", ".nv.constant0", ".nv.shared")):
            return ".symtab"
        unlinked = name in (".nv.info", ".nv.callgraph")
        return ".symtab" if kind in _LINK_TO_SYMTAB and not unlinked else None
    if kind in LINK_TO_MERC_SYMTAB:
        return ".nv.merc.symtab"
    if kind in _LINK_TO_SYMTAB or name.startswith(".text"):
        return ".nv.merc.symtab" if section.sh_flags & elf.SHF_CUDA_MERCURY else ".symtab"
    return ".symtab" if kind == elf.SHT_SYMTAB_SHNDX else None


class Kind:
    """The answers of the rules for one kind of section.

    Attributes:
        cut: length of the prefix that the kind stands for; behind it stands the function.
        group: rank in the index order.
        is_late: made after the global symbols were named.
        is_mercury: has the Mercury flag.
        is_stored: whether the file holds its bytes.
        is_plain: stored, and neither a string table nor able to share the bytes of another.
        has_symbol: whether a section symbol is made, where nothing else is said.
        made: prefix under which it was made; ``None``: the name is final from the start.
        link: name of the section that ``sh_link`` refers to.
        info: prefix of the name of the section that ``sh_info`` refers to; ``None`` also for
            kinds whose ``sh_info`` is a number of its own.
        is_code: ``sh_info`` holds a function symbol and the register count.
        is_relocation: a relocation section by its name.
        is_final: ``.shstrtab`` gets its final name, and once, when it is made.
        is_named_early: both string tables name it when it is made, by its final name, and nothing
            else before it.
        is_of_bank: holds the relocations of a constant bank.
    """

    __slots__ = (
        "cut",
        "group",
        "has_symbol",
        "info",
        "is_code",
        "is_final",
        "is_late",
        "is_mercury",
        "is_named_early",
        "is_of_bank",
        "is_plain",
        "is_relocation",
        "is_stored",
        "link",
        "made",
    )

    def __init__(
        self,
        cut: int,
        group: int,
        is_late: bool,
        is_mercury: bool,
        is_stored: bool,
        is_plain: bool,
        has_symbol: bool,
        made: str | None,
        link: str | None,
        info: str | None,
        is_code: bool,
        is_relocation: bool,
        is_final: bool,
        is_named_early: bool,
        is_of_bank: bool,
    ) -> None:
        self.cut = cut
        self.group = group
        self.is_late = is_late
        self.is_mercury = is_mercury
        self.is_stored = is_stored
        self.is_plain = is_plain
        self.has_symbol = has_symbol
        self.made = made
        self.link = link
        self.info = info
        self.is_code = is_code
        self.is_relocation = is_relocation
        self.is_final = is_final
        self.is_named_early = is_named_early
        self.is_of_bank = is_of_bank


#: Answers for kinds that were met, by producer, prefix (or name), type, flags, whether it is a
#: prefix, and whether there is a table of stubs; files have many in common.
_KNOWN: dict[tuple[str, str, int, int, bool, bool], Kind] = {}
_MAX_KNOWN = 4096


def find(
    producer: Producer, names: Sequence[str], types: Sequence[int], flags: Sequence[int]
) -> list[Kind]:
    """The kind of each section of a file; the rules are asked once for each kind.

    What was answered is kept for other files.
    """
    table = has_table(names, types)
    if len(_KNOWN) > _MAX_KNOWN:
        _KNOWN.clear()
    # sections of one type are mostly of one kind: that of the last of the type with a function
    latest: dict[tuple[int, int], tuple[str, Kind]] = {}
    found: list[Kind] = []
    for key, run in groupby(zip(types, flags, strict=True)):
        start = len(found)
        of_type = names[start : start + len([*run])]
        for at, name in enumerate(of_type):
            if key in latest:
                prefix, kind = latest[key]
                if (
                    name.startswith(prefix)
                    and not name.startswith(_NO_FUNCTION, len(prefix))
                    and name != prefix
                ):
                    found.append(kind)
                    continue
            prefix = _prefix(name)
            kind_key = (producer.name, prefix or name, *key, bool(prefix), table)
            if kind_key not in _KNOWN:
                _KNOWN[kind_key] = _ask(producer, *kind_key[1:])
            kind = _KNOWN[kind_key]
            if prefix:
                is_first = key not in latest
                latest[key] = prefix, kind
                if is_first and _is_prefix_of_all(prefix, of_type[at:]):
                    found += [kind] * (len(of_type) - at)
                    break
            found.append(kind)
    return found


def _is_prefix_of_all(prefix: str, names: Sequence[str]) -> bool:
    """Whether all names are of the form ``<prefix><function>``: looks at them all at once."""
    text = "\0".join(["", *names, ""])
    return text.count("\0" + prefix) == len(names) and not any(
        f"\0{prefix}{end}" in text for end in (*_NO_FUNCTION, "\0")
    )


def has_table(names: Sequence[str], types: Sequence[int]) -> bool:
    """Whether a file with sections of these names and types has a table of stubs with rows."""
    has_rows = bodies.SHT_CUDA_UFT_ENTRY in types
    return has_rows and (UFT in names or CAPMERC_UFT in names)


def _ask(
    producer: Producer, prefix: str, sh_type: int, sh_flags: int, owned: bool, has_table: bool
) -> Kind:
    any_name = prefix + _ANY if owned else prefix
    example = Section(any_name, sh_type, bodies.NoBytes(0), sh_flags)
    made = mercury_name(any_name) if producer.mercury_names else None
    info = None
    if sh_type not in _OWN_INFO:
        info = info_target_of(any_name, sh_type)
    late, mercury = is_late(example, producer), bool(sh_flags & elf.SHF_CUDA_MERCURY)
    stored = elf.occupies_file(sh_type, sh_flags)
    return Kind(
        len(prefix),
        group(example, producer, has_table=has_table),
        late,
        mercury,
        stored,
        stored and not mercury and sh_type != elf.SHT_STRTAB,
        has_symbol(example) and not producer.table_first,
        made if made is None else made.removesuffix(_ANY),
        link_target(example, producer, has_table=has_table),
        info if info is None else info.removesuffix(_ANY),
        any_name.startswith(".text") or sh_type == SHT_CUDA_UFT,
        any_name.startswith(".rel"),
        made is None
        and not producer.names_by_index
        and not (mercury and producer.constant0_deferred),
        made is None
        and not late
        and not mercury
        and not any_name.startswith(NAMED_BEHIND_RELOCATIONS),
        any_name.startswith(_BANK_RELOCATIONS),
    )


class Kinds:
    """The kinds of sections.

    Attributes:
        found: the kind of each section.
        has_table: whether there is a table of stubs with rows.
    """

    def __init__(self, producer: Producer, sections: list[Section]) -> None:
        self.producer = producer
        names = [section.name for section in sections]
        types = [section.sh_type for section in sections]
        self.has_table = has_table(names, types)
        self.found = find(producer, names, types, [section.sh_flags for section in sections])

    def index_order(self, sections: list[Section]) -> list[int]:
        """Positions in creation order, in section index order (without the null section)."""
        ranks = [
            kind.group
            if section.late is None and section.made_as is None
            else group(section, self.producer, has_table=self.has_table)
            for kind, section in zip(self.found, sections, strict=True)
        ]
        return sorted(range(len(sections)), key=ranks.__getitem__)
