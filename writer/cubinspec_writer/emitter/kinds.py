"""Section kinds: what a writer does with a section because of its name, type and flags alone.

``cubinspec.format.sections`` has the rules that all writers share; here stands what depends on the
producer. A file has few kinds and many sections, named ``<prefix>.<function>``; :func:`find` asks
the rules once for each kind.
"""

from __future__ import annotations

from _operator import ne, or_
from itertools import compress, pairwise

from cubinspec.format import layout
from cubinspec.format import sections as rules
from cubinspec_generated.codes import (
    SHF_CUDA_MERCURY,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_MERC_RELA,
    SHT_CUDA_UFT,
    SHT_CUDA_UFT_ENTRY,
    SHT_NOTE,
    SHT_STRTAB,
)
from cubinspec_generated.columns import RANK_OF_TYPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cubinspec_generated.producers import Producer

#: Stands for any function.
_ANY = "\x01"
_BANK_RELOCATIONS = (".rel.nv.constant", ".rela.nv.constant")
_TWIN = rules.MERCURY_PREFIX + rules.SHNDX
_MERCURY_INFO = ".nv.merc.nv.info."
_PARAMETER_BANK = ".nv.constant0."


def rank(
    name: str,
    sh_type: int,
    sh_flags: int,
    producer: Producer,
    *,
    is_deferred: bool,
    has_table: bool = False,
) -> int:
    """Rank of a section in the index order.

    Args:
        is_deferred: it was made after the global symbols were named.
        has_table: the file has a table of jump slots, the rows of which nvlink makes first.
    """
    if producer.table_first:
        return 0
    if sh_flags & SHF_CUDA_MERCURY:
        last = producer.capsules_last
        return layout.mercury_rank(name, sh_type, capsules_last=last, has_table=has_table)
    if is_deferred and name.startswith(_PARAMETER_BANK):
        return layout.RANK_OF_DEFERRED_BANK
    if is_deferred and name == rules.SHNDX:
        return layout.RANK_OF_DEFERRED_INDICES
    if has_table and sh_type == SHT_CUDA_UFT_ENTRY:
        return layout.RANK_OF_UFT_ENTRY_WITH_TABLE
    found = layout.index_rank(name, sh_type, sh_flags)
    if found != RANK_OF_TYPE[SHT_CUDA_COMPAT_INFO]:
        return found
    if producer.early_notes:
        return RANK_OF_TYPE[SHT_NOTE]
    return found + 1 if producer.compat_with_info else found


def is_deferred(name: str, sh_flags: int, producer: Producer, *, renamed: bool = False) -> bool:
    """Whether the rules say that a section is made after the global symbols were named.

    Args:
        renamed: it was made under another name than the rules give it.
    """
    if not producer.constant0_deferred:
        return False
    if sh_flags & SHF_CUDA_MERCURY:
        return True
    return name.startswith(_PARAMETER_BANK) and not renamed


def link_target(
    name: str, sh_type: int, sh_flags: int, producer: Producer, *, has_table: bool = False
) -> str | None:
    """Name of the section that ``sh_link`` stands for; ``None`` when it is 0."""
    if sh_type == SHT_CUDA_UFT_ENTRY and has_table:
        return None
    if producer.table_first and sh_type not in rules.SYMBOL_TABLE_TYPES:
        if name in rules.CUDA_NOTES:
            return ".note.nv.tkinfo"
        if name.startswith((".text", ".nv.constant0", ".nv.shared")):
            return ".symtab"
        unlinked = name in (".nv.info", ".nv.callgraph")
        return ".symtab" if sh_type in rules.LINK_TO_SYMTAB and not unlinked else None
    if producer.early_notes and name == ".note.nv.tkinfo":
        return ".nv.compat"
    if _shares_code(name, sh_type, producer):
        return ".symtab"
    return rules.link_target(name, sh_type, sh_flags)


def _shares_code(name: str, sh_type: int, producer: Producer) -> bool:
    """Whether a Mercury section refers to the other half, as attributes of functions may do."""
    is_of_function = name.startswith(_MERCURY_INFO) or sh_type == SHT_CUDA_MERC_RELA
    return producer.twins_share_code and is_of_function


def _info_target(name: str, sh_type: int, producer: Producer) -> str | None:
    """Name of the section that ``sh_info`` stands for; ``None`` when it is no section."""
    if sh_type in rules.INFO_IS_SYMBOL:
        return None
    if producer.early_notes and name in rules.CUDA_NOTES:
        return ".nv.info"
    target = rules.info_target(name, sh_type)
    if target is not None and producer.twins_share_code and name.startswith(_MERCURY_INFO):
        return target.removeprefix(rules.CAPSULE_PREFIX)
    return target


class Kind:
    """The answers of the rules for one kind of section.

    Attributes:
        cut: length of the prefix that the kind stands for; behind it stands the function.
        rank: place in the index order, which is a stable sort by it.
        is_deferred: made after the global symbols were named.
        is_mercury: has the Mercury flag.
        is_stored: whether the file holds its bytes.
        is_sequential: stored, and neither a string table nor able to share the bytes of another.
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
        "has_symbol",
        "info",
        "is_code",
        "is_deferred",
        "is_final",
        "is_mercury",
        "is_named_early",
        "is_of_bank",
        "is_relocation",
        "is_sequential",
        "is_stored",
        "link",
        "made",
        "rank",
    )

    def __init__(
        self,
        cut: int,
        rank: int,
        is_deferred: bool,
        is_mercury: bool,
        is_stored: bool,
        is_sequential: bool,
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
        self.cut: int = cut
        self.rank: int = rank
        self.is_deferred: bool = is_deferred
        self.is_mercury: bool = is_mercury
        self.is_stored: bool = is_stored
        self.is_sequential: bool = is_sequential
        self.has_symbol: bool = has_symbol
        self.made: str | None = made
        self.link: str | None = link
        self.info: str | None = info
        self.is_code: bool = is_code
        self.is_relocation: bool = is_relocation
        self.is_final: bool = is_final
        self.is_named_early: bool = is_named_early
        self.is_of_bank: bool = is_of_bank


#: Answers for kinds that were met, by producer, prefix (or name), type, flags, whether it is a
#: prefix, and whether there is a table of stubs; files have many in common.
_CACHE: dict[tuple[str, str, int, int, bool, bool], Kind] = {}
_MAX_CACHE = 4096


def find(
    producer: Producer, names: Sequence[str], types: Sequence[int], flags: Sequence[int]
) -> list[Kind]:
    """The kind of each section of a file; the rules are asked once for each kind.

    What was answered is kept for other files.
    """
    table = has_table(names, types)
    if len(_CACHE) > _MAX_CACHE:
        _CACHE.clear()
    # sections of one type are mostly of one kind: that of the last of the type with a function
    latest: dict[tuple[int, int], tuple[str, Kind]] = {}
    found: list[Kind] = []
    for start, stop in pairwise([*_run_starts(types, flags), len(names)]):
        key = types[start], flags[start]
        of_type = names[start:stop]
        for at, name in enumerate(of_type):
            if key in latest:
                prefix, kind = latest[key]
                if (
                    name.startswith(prefix)
                    and not name.startswith(rules.NO_FUNCTION, len(prefix))
                    and name != prefix
                ):
                    found.append(kind)
                    continue
            prefix = rules.function_prefix(name)
            kind_key = (producer.name, prefix or name, *key, bool(prefix), table)
            if kind_key not in _CACHE:
                _CACHE[kind_key] = _ask(producer, *kind_key[1:])
            kind = _CACHE[kind_key]
            if prefix:
                is_first = key not in latest
                latest[key] = prefix, kind
                if is_first and _is_prefix_of_all(prefix, of_type[at:]):
                    found += [kind] * (len(of_type) - at)
                    break
            found.append(kind)
    return found


def _run_starts(types: Sequence[int], flags: Sequence[int]) -> list[int]:
    """Where neighbours of one type and the same flags begin."""
    others = map(or_, map(ne, types, types[1:]), map(ne, flags, flags[1:]))
    return [*([0] if types else []), *compress(range(1, len(types)), others)]


def _is_prefix_of_all(prefix: str, names: Sequence[str]) -> bool:
    """Whether all names are of the form ``<prefix><function>``: looks at them all at once."""
    text = "\0".join(["", *names, ""])
    return text.count("\0" + prefix) == len(names) and not any(
        f"\0{prefix}{end}" in text for end in (*rules.NO_FUNCTION, "\0")
    )


def has_table(names: Sequence[str], types: Sequence[int]) -> bool:
    """Whether a file with sections of these names and types has a table of stubs with rows."""
    has_rows = SHT_CUDA_UFT_ENTRY in types
    return has_rows and (rules.UFT in names or rules.CAPMERC_UFT in names)


def _ask(
    producer: Producer, prefix: str, sh_type: int, sh_flags: int, owned: bool, has_table: bool
) -> Kind:
    name = prefix + _ANY if owned else prefix
    made = rules.mercury_name(name) if producer.mercury_names else None
    info = _info_target(name, sh_type, producer)
    deferred = is_deferred(name, sh_flags, producer)
    mercury = bool(sh_flags & SHF_CUDA_MERCURY)
    stored = rules.occupies_file(sh_type, sh_flags)
    has_symbol = rules.has_section_symbol(name, sh_type, sh_flags) and not producer.table_first
    if producer.early_notes and sh_type == SHT_NOTE:
        has_symbol = False
    named_behind = name.startswith(rules.NAMED_BEHIND_RELOCATIONS)
    return Kind(
        cut=len(prefix),
        rank=rank(name, sh_type, sh_flags, producer, is_deferred=deferred, has_table=has_table),
        is_deferred=deferred,
        is_mercury=mercury,
        is_stored=stored,
        is_sequential=stored and not mercury and sh_type != SHT_STRTAB,
        has_symbol=has_symbol,
        made=None if made is None else made.removesuffix(_ANY),
        link=link_target(name, sh_type, sh_flags, producer, has_table=has_table),
        info=None if info is None else info.removesuffix(_ANY),
        is_code=name.startswith(".text") or sh_type == SHT_CUDA_UFT,
        is_relocation=name.startswith(".rel"),
        is_final=made is None
        and not producer.names_by_index
        and not (mercury and producer.constant0_deferred),
        is_named_early=made is None and not deferred and not mercury and not named_behind,
        is_of_bank=name.startswith(_BANK_RELOCATIONS),
    )


def ranks(
    producer: Producer,
    names: Sequence[str],
    types: Sequence[int],
    flags: Sequence[int],
    found: Sequence[Kind],
    deferred: Mapping[int, bool],
    made_as: Mapping[int, str],
) -> list[int]:
    """Ranks of sections; a stable sort by them gives the index order.

    Args:
        found: the kinds of the sections.
        deferred, made_as: what single sections say beside that, by number: whether they were made
            after the global symbols were named, and under which name.
    """
    by_number = [kind.rank for kind in found]
    single = {*deferred, *made_as}
    table = bool(single) and has_table(names, types)
    for number in single:
        name, sh_type, sh_flags = names[number], types[number], flags[number]
        is_last = deferred.get(number)
        if is_last is None:
            is_last = is_deferred(name, sh_flags, producer, renamed=number in made_as)
        by_number[number] = rank(
            name, sh_type, sh_flags, producer, is_deferred=is_last, has_table=table
        )
    if producer.capsules and has_early_indices(names, deferred):
        by_number[names.index(_TWIN)] = layout.RANK_OF_EARLY_TWIN
    return by_number


def has_early_indices(names: Sequence[str], deferred: Mapping[int, bool]) -> bool:
    """Whether both tables of section indices are there and were made at once."""
    return _TWIN in names and rules.SHNDX in names and not deferred.get(names.index(rules.SHNDX))
