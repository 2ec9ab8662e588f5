"""Section kinds: what a writer does with a section because of its name, type and flags alone.

The rules are functions of a section and a profile. A file has few kinds and many sections, named
``<prefix>.<function>``; :class:`Kinds` asks the rules once for each kind and remembers the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cubinspec.reader import elf
from cubinspec_writer.emit import bodies
from cubinspec_writer.emit.model import Section
from cubinspec_writer.emit.profiles import CAPMERC_TEXT, mercury_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.emit.profiles import Profile

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
#: ``<prefix>.`` of a name of the form ``<prefix>.<function>``. Names with a meaning of their own
#: (reserved shared memory, stubs) are not of that form.
_PREFIX = re.compile(
    r"(?:\.nv\.(?:cap)?merc)?(?:\.nv\.resolvedrela|\.rela?)?"
    r"(?:\.text|\.nv\.(?:info|shared|local|uft\.rel|"
    r"constant(?:\d+|\.optimizer|\.entry_image_header_indices)))\.(?!reserved\.|__cuda_uf_stub_)(?=.)",
    re.DOTALL,
).match
#: What behind a prefix is no function.
_NO_FUNCTION = ("reserved.", STUB)
#: Stands for any function.
_ANY = "\x01"


def group(section: Section, profile: Profile, *, has_table: bool = False) -> int:
    """Rank of a section in the index order.

    Args:
        has_table: the file has a table of stubs, the rows of which nvlink makes first.
    """
    name, kind = section.name, section.sh_type
    if profile.table_first:
        return 0
    if section.sh_flags & elf.SHF_CUDA_MERCURY:
        return _mercury_group(name, kind, profile, has_table=has_table)
    fixed = {".shstrtab": 0, ".strtab": 1, ".symtab": 2, ".symtab_shndx": 2, ".nv.info": 5}
    if name in fixed:
        return fixed[name]
    if kind == bodies.SHT_CUDA_COMPAT or name == ".nv.compat":
        return 7 if profile.compat_with_info else 6
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
    if name.startswith(".nv.constant0.") and is_late(section, profile):
        return 17
    if name.startswith(".nv.constant"):
        return 12
    if name.startswith(".text") or kind == SHT_CUDA_UFT:
        return 14
    if name.startswith(".nv.global.init") or kind == SHT_CUDA_UDT:
        return 15
    return 16


def _mercury_group(name: str, kind: int, profile: Profile, *, has_table: bool) -> int:
    if name.startswith((".nv.merc.debug_", ".nv.merc.nv_debug")):
        return 31
    if name == ".nv.merc.nv.info":
        return 33
    if profile.capsules_last and kind == bodies.SHT_CUDA_CAPMERC:
        return 38
    if profile.capsules_last and kind == bodies.SHT_CUDA_MERC_SYMTAB:
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


def is_late(section: Section, profile: Profile) -> bool:
    """Whether a section was made after the global symbols were named."""
    if section.late is not None:
        return section.late
    if not profile.late_constant0:
        return False
    return bool(section.sh_flags & elf.SHF_CUDA_MERCURY) or (
        section.name.startswith(".nv.constant0.") and section.made_as is None
    )


def made_as(section: Section, profile: Profile) -> str:
    """The name under which a section was made."""
    if section.made_as is not None:
        return section.made_as
    return (mercury_name(section.name) or section.name) if profile.mercury_names else section.name


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


def link_target(section: Section, profile: Profile, *, has_table: bool = False) -> str | None:
    """Name of the section that ``sh_link`` stands for; ``None`` when it is 0."""
    kind, name = section.sh_type, section.name
    if kind == bodies.SHT_CUDA_UFT_ENTRY and has_table:
        return None
    if kind in (elf.SHT_SYMTAB, bodies.SHT_CUDA_MERC_SYMTAB):
        return ".strtab"
    if name in (".note.nv.cuinfo", ".note.nv.cuver"):
        return ".note.nv.tkinfo"
    if profile.table_first:
        if name.startswith((".text", ".nv.constant0", ".nv.shared")):
            return ".symtab"
        unlinked = name in (".nv.info", ".nv.callgraph")
        return ".symtab" if kind in _LINK_TO_SYMTAB and not unlinked else None
    if kind in LINK_TO_MERC_SYMTAB:
        return ".nv.merc.symtab"
    if kind in _LINK_TO_SYMTAB or name.startswith(".text"):
        return ".nv.merc.symtab" if section.sh_flags & elf.SHF_CUDA_MERCURY else ".symtab"
    return ".symtab" if kind == elf.SHT_SYMTAB_SHNDX else None


@dataclass(frozen=True, slots=True, eq=False)
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
    """

    cut: int
    group: int
    is_late: bool
    is_mercury: bool
    is_stored: bool
    is_plain: bool
    has_symbol: bool
    made: str | None
    link: str | None
    info: str | None
    is_code: bool
    is_relocation: bool
    is_final: bool
    is_named_early: bool


class Kinds:
    """The kinds of the sections of one file.

    Attributes:
        found: the kind of each section. Name, type and flags of a section must not change once
            it is in here.
    """

    def __init__(self, profile: Profile, sections: list[Section]) -> None:
        self.profile = profile
        self.has_table = any(section.name in (UFT, CAPMERC_UFT) for section in sections)
        known: dict[tuple[str, int, int], Kind] = {}
        # neighbours of one type are mostly of one kind: prefix, flags and kind of the last one
        latest: dict[int, tuple[str, int, Kind]] = {}
        kinds: list[Kind] = []
        for section in sections:
            name = section.name
            likely = latest.get(section.sh_type)
            if likely is not None:
                prefix, flags, kind = likely
                if (
                    flags == section.sh_flags
                    and name.startswith(prefix)
                    and not name.startswith(_NO_FUNCTION, kind.cut)
                    and name != prefix
                ):
                    kinds.append(kind)
                    continue
            match = _PREFIX(name)
            prefix = match[0] if match else name
            key = (prefix, section.sh_type, section.sh_flags)
            known_kind = known.get(key)
            if known_kind is None:
                known_kind = known[key] = self._ask(prefix, section, bool(match))
            kinds.append(known_kind)
            if match:
                latest[section.sh_type] = (prefix, section.sh_flags, known_kind)
        self.found = dict(zip(sections, kinds, strict=True))

    def _ask(self, prefix: str, section: Section, owned: bool) -> Kind:
        any_name = prefix + _ANY if owned else prefix
        example = Section(any_name, section.sh_type, section.body, section.sh_flags)
        profile = self.profile
        made = mercury_name(any_name) if profile.mercury_names else None
        info = None
        if section.sh_type not in _OWN_INFO:
            info = info_target_of(any_name, section.sh_type)
        late, mercury = is_late(example, profile), bool(section.sh_flags & elf.SHF_CUDA_MERCURY)
        stored = elf.occupies_file(section.sh_type, section.sh_flags)
        return Kind(
            len(prefix),
            group(example, profile, has_table=self.has_table),
            late,
            mercury,
            stored,
            stored and not mercury and section.sh_type != elf.SHT_STRTAB,
            has_symbol(example) and not profile.table_first,
            made if made is None else made.removesuffix(_ANY),
            link_target(example, profile, has_table=self.has_table),
            info if info is None else info.removesuffix(_ANY),
            any_name.startswith(".text") or section.sh_type == SHT_CUDA_UFT,
            any_name.startswith(".rel"),
            made is None
            and not profile.names_by_index
            and not (mercury and profile.late_constant0),
            made is None
            and not late
            and not mercury
            and not any_name.startswith(NAMED_BEHIND_RELOCATIONS),
        )

    def made_as(self, section: Section) -> str:
        """The name under which a section was made."""
        if section.made_as is not None:
            return section.made_as
        kind = self.found[section]
        return section.name if kind.made is None else kind.made + section.name[kind.cut :]

    def is_late(self, section: Section) -> bool:
        """Whether a section was made after the global symbols were named."""
        if section.late is not None:
            return section.late
        kind = self.found[section]
        return kind.is_late and (section.made_as is None or kind.is_mercury)

    def has_symbol(self, section: Section) -> bool:
        """Whether a section symbol is made."""
        if section.has_symbol is not None:
            return section.has_symbol
        return self.found[section].has_symbol

    def group(self, section: Section) -> int:
        """Rank of a section in the index order."""
        if section.late is not None or section.made_as is not None:
            return group(section, self.profile, has_table=self.has_table)
        return self.found[section].group

    def index_order(self, sections: list[Section]) -> list[int]:
        """Positions in creation order, in section index order (without the null section)."""
        found = self.found
        ranks = [
            found[section].group
            if section.late is None and section.made_as is None
            else self.group(section)
            for section in sections
        ]
        return sorted(range(len(sections)), key=ranks.__getitem__)
