"""Pass 2: which definition every name means.

Local symbols stay per input; global and weak ones are shared by name. A strong definition beats a
weak one; of weak functions the one with the fewest registers wins, of weak variables the first. Any
of them beats a common one, all beat references. Fixed from here on: `InputObject.bound`
(the output symbol of every input symbol) and the winning definition of every name.
"""

from __future__ import annotations

from .info import REGCOUNT, global_records, word
from .model import (
    HANDLE_KINDS,
    SHN_COMMON,
    SHN_UNDEF,
    SHT_CUDA_CONSTANT_B0,
    STB_GLOBAL,
    STB_LOCAL,
    STB_WEAK,
    STT_FUNC,
    STT_SECTION,
    InputObject,
    InSymbol,
    Symbol,
)
from .state import LinkState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def resolve(state: LinkState) -> None:
    """Bind every symbol of every input."""
    signatures: dict[Symbol, str] = {}
    copies = _Copies()
    for obj in state.objects:
        conflicts: Conflicts = []
        obj.bound = [_bind(state, obj, row, conflicts, copies) for row in obj.symbols]
        # Functions are merged before variables.
        for _, text in sorted(conflicts):
            state.diagnostics.error(text)
        _check_signatures(state, obj, signatures)
        if any(level == "error" for level, _ in state.diagnostics.messages):
            raise state.diagnostics.fatal("merge_elf failed")


#: Messages about one input, each with its place in the order of merging.
Conflicts = list[tuple[tuple[bool, int], str]]


class _Copies:
    """What decides between copies of a function, read once per input."""

    def __init__(self) -> None:
        self._registers: dict[InputObject, dict[int, int]] = {}
        self._banks: dict[InputObject, dict[int, int]] = {}

    def registers(self, obj: InputObject, row: InSymbol) -> int:
        """Registers that a copy needs; 0 when its input says nothing."""
        known = self._registers.get(obj)
        if known is None:
            known = self._registers[obj] = {
                word(record, 0): word(record, 1)
                for record in global_records(obj)
                if record[1] == REGCOUNT
            }
        return known.get(row.index, 0)

    def bank(self, obj: InputObject, row: InSymbol) -> int | None:
        """Size of the parameter bank of a kernel's copy."""
        known = self._banks.get(obj)
        if known is None:
            known = self._banks[obj] = {
                s.info: s.size for s in obj.sections if s.sh_type == SHT_CUDA_CONSTANT_B0
            }
        return known.get(row.shndx)


def _check_signatures(state: LinkState, obj: InputObject, known: dict[Symbol, str]) -> None:
    """Compare parameters and results; what follows a `|` is about registers only."""
    for index, offset in obj.prototypes:
        symbol = obj.bound[index] if index < len(obj.bound) else None
        text = obj.string(offset).partition("|")[0]
        if symbol is None or not text:
            continue
        if known.setdefault(symbol, text) != text:
            state.diagnostics.error(
                _conflict("Prototype doesn't match for", symbol, obj, "first defined in")
            )


def _bind(
    state: LinkState, obj: InputObject, row: InSymbol, conflicts: Conflicts, copies: _Copies
) -> Symbol | None:
    if row.kind == STT_SECTION or not row.name:
        return None
    if row.bind == STB_LOCAL:
        symbol = Symbol(row.name, STB_LOCAL, row.kind, row.other, row.size, first=obj)
        if row.shndx != SHN_UNDEF:
            symbol.definition = (obj, row)
        return symbol
    known = state.by_name.get(row.name)
    if known is None:
        known = state.by_name[row.name] = Symbol(
            row.name, STB_GLOBAL, row.kind, row.other, row.size, first=obj
        )
        known.in_globals = row.shndx == SHN_UNDEF or row.bind == STB_GLOBAL
        if row.shndx == SHN_UNDEF:
            known.value = row.value
        else:
            _define(known, obj, row)
        return known
    order = (row.kind != STT_FUNC, row.index)
    wrong = [(order, text) for text in _kind_conflicts(known, obj, row)]
    if wrong:
        conflicts += wrong
        return known
    if row.shndx == SHN_UNDEF:
        return known
    if not known.is_defined:
        _define(known, obj, row)
    elif row.shndx == SHN_COMMON:
        if known.common:
            known.size = max(known.size, row.size)
    elif known.common:
        _define(known, obj, row)
    elif row.bind == STB_GLOBAL:
        if known.bind == STB_GLOBAL:
            text = _conflict("Multiple definition of", known, obj, "first defined in")
            conflicts.append((order, text))
            return known
        _define(known, obj, row)
    elif row.kind == STT_FUNC and known.bind == STB_WEAK:
        assert known.definition is not None
        banks = copies.bank(*known.definition), copies.bank(obj, row)
        if banks[0] != banks[1] and not state.profile.constant0_late:
            text = f"Duplicate weak parameter bank for '{row.name}' is not the same size"
            conflicts.append(((True, row.index), text))
        elif copies.registers(obj, row) < copies.registers(*known.definition):
            _define(known, obj, row)
    elif row.kind != STT_FUNC and known.bind == STB_WEAK:
        obj.repeats.setdefault(row.shndx, []).append((row.value, row.value + row.size))
    return known


def _define(symbol: Symbol, obj: InputObject, row: InSymbol) -> None:
    if symbol.definition is not None:
        symbol.replaced = (*symbol.replaced, symbol.definition)
    symbol.definition = (obj, row)
    symbol.bind = STB_WEAK if row.bind == STB_WEAK else STB_GLOBAL
    symbol.kind, symbol.other, symbol.size = row.kind, row.other, row.size
    # In a file of more sections than that, the number is that of a section of code.
    symbol.common = row.shndx == SHN_COMMON and row.kind != STT_FUNC
    if symbol.common:
        symbol.alignment = row.value


def _kind_conflicts(known: Symbol, obj: InputObject, row: InSymbol) -> Iterator[str]:
    if row.kind in HANDLE_KINDS and known.kind != row.kind:
        yield _conflict("Multiple definition of", known, obj, "first defined in")
        return
    if (known.kind == STT_FUNC) != (row.kind == STT_FUNC) or known.space != row.space:
        yield _conflict("Memory space doesn't match for", known, obj, "first specified in")
    elif row.kind == STT_FUNC and known.is_entry != row.is_entry:
        yield f"Function '{row.name}' not declared __global__ in all source files"
        if known.is_defined and row.shndx and STB_WEAK not in (known.bind, row.bind):
            yield _conflict("Multiple definition of", known, obj, "first defined in")
    is_common = known.common or row.shndx == SHN_COMMON
    sized = row.kind != STT_FUNC and known.size and row.size
    if sized and known.size != row.size and not is_common:
        yield _conflict("Size doesn't match for", known, obj, "first specified in")


def _conflict(what: str, known: Symbol, obj: InputObject, first: str) -> str:
    place = known.definition[0] if known.definition else known.first
    assert place is not None
    # No file is kept for a name that only the driver can define.
    file = "<input>" if known.kind in HANDLE_KINDS else place.name
    return f"{what} '{known.name}' in '{obj.name}', {first} '{file}'"
