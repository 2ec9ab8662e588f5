"""``sh_link`` and ``sh_info`` of every section, as the rules give them."""

from __future__ import annotations

from cubinspec.format.sections import (
    CAPMERC_UFT,
    CAPSULE_PREFIX,
    MERCURY_PREFIX,
    STUB,
    UNIFIED_ENTRY_TYPES,
    info_target,
)
from cubinspec_generated.codes import (
    SHI_REGISTERS_SHIFT,
    SHT_CUDA_CAPMERC,
    SHT_SYMTAB,
    ST_TYPE_MASK,
    STT_FUNC,
)
from cubinspec_writer.emitter import bodies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.emitter.draft import Draft
    from cubinspec_writer.emitter.symtab import Symtab


def links(draft: Draft) -> list[int]:
    """``sh_link`` of every section, in index order."""
    stale = draft.producer.stale_link
    targets: dict[str | None, int] = {None: 0}
    for name in {kind.link for kind in draft.kinds}:
        if name is not None:
            is_stale = name == ".symtab" and stale and _drops_uft(draft)
            targets[name] = stale if is_stale else draft.index_of_name.get(name, 0)
    found = [targets[kind.link] for kind in draft.kinds]
    if draft.producer.entry_link:
        _link_entries(draft, found)
    return found


def _link_entries(draft: Draft, found: list[int]) -> None:
    """What ``nvlink -r`` of CUDA 13.5 writes for the tables of unified functions and data."""
    num_code = sum(kind.is_code and not kind.is_mercury for kind in draft.kinds)
    index = draft.producer.entry_link + num_code
    name = draft.names[index - 1] if index <= len(draft.names) else ""
    twin = draft.index_of_name.get(MERCURY_PREFIX + name, index)
    for number, kind in enumerate(draft.kinds):
        if draft.types[number] in UNIFIED_ENTRY_TYPES and kind.link is not None:
            found[number] = twin if kind.is_mercury else index


def _drops_uft(draft: Draft) -> bool:
    dropped = filter(draft.is_dropped, draft.history)
    return any(draft.dropped_row(entry)[0] == ".nv.uft.entry" for entry in dropped)


def infos(draft: Draft, symtab: Symtab) -> list[int]:
    """``sh_info`` of every section, in index order."""
    result: list[int] = []
    functions = symtab.functions if draft.producer.text_symbols else []
    functions = functions or [0] * (len(draft.names) + 1)
    index_of = draft.index_of_name.get
    of_tables = _TableInfos(draft, symtab)
    for kind, start, stop in draft.kind_runs:
        if kind.is_code:
            result += functions[start + 1 : stop + 1]
        elif kind.info is not None:
            # a kind without functions has the whole name of its target
            before, cut = kind.info, kind.cut
            result += [index_of(before + name[cut:], 0) for name in draft.names[start:stop]]
        else:
            result += [of_tables.info(number) for number in range(start, stop)]
    for number, registers in draft.registers.items():
        if draft.kinds[number].is_code:
            result[number] |= registers << SHI_REGISTERS_SHIFT
    return result


class _TableInfos:
    """``sh_info`` of sections that belong to no function, and of capsules."""

    def __init__(self, draft: Draft, symtab: Symtab) -> None:
        self.draft = draft
        self.symtab = symtab
        self._capsule_symbols: dict[int, int] | None = None

    def info(self, number: int) -> int:
        """``sh_info`` of one section."""
        draft, symtab = self.draft, self.symtab
        sh_type = draft.types[number]
        if sh_type == SHT_SYMTAB:
            if draft.producer.info_is_total and symtab.num_deferred:
                return len(symtab.rows)
            return symtab.num_local - draft.producer.info_is_last_local
        if isinstance(draft.bodies[number], bodies.MercurySymbols):
            return symtab.num_local
        if sh_type == SHT_CUDA_CAPMERC:
            if self._capsule_symbols is None:
                self._capsule_symbols = self._find_capsule_symbols()
            return self._capsule_symbols.get(number + 1, 0)
        target = info_target(draft.names[number], sh_type)
        return 0 if target is None else draft.index_of_name.get(target, 0)

    def _find_capsule_symbols(self) -> dict[int, int]:
        """Index in ``.nv.merc.symtab`` of the function of each capsule, by section index."""
        draft = self.draft
        found: dict[int, int] = {}
        table = draft.number_of(".nv.merc.symtab")
        body = None if table is None else draft.bodies[table]
        if isinstance(body, bodies.MercurySymbols):
            for at, symbol in enumerate(body.symbols, 1):
                if symbol.st_info & ST_TYPE_MASK != STT_FUNC:
                    continue
                index = draft.index(symbol.section)
                if draft.producer.twins_share_code and 0 < index <= len(draft.names):
                    capsule = CAPSULE_PREFIX + draft.names[index - 1]
                    index = draft.index_of_name.get(capsule, index)
                name = draft.names[index - 1] if 0 < index <= len(draft.names) else ""
                function = symbol.name.removeprefix(STUB)
                if name and (name.endswith("." + function) or name == CAPMERC_UFT):
                    found.setdefault(index, at)
        return found
