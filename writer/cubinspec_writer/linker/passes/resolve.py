"""Decides which definition every name means.

Local symbols stay per input (rules B2, X40); global and weak ones are shared by name. A strong
definition beats a weak one; of weak functions the one with the fewest registers wins, of weak
variables the first (rule W1). Any of them beats a common one, and all beat references.
"""

from __future__ import annotations

from cubinspec_generated.codes import (
    EIATTR_REGCOUNT,
    EICOMPAT_ATTR_ISA_CLASS,
    SHN_COMMON,
    SHN_UNDEF,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_RESERVED_SHARED,
    STB_GLOBAL,
    STB_LOCAL,
    STB_WEAK,
    STO_CUDA_ENTRY,
    STO_CUDA_MANAGED,
    STO_CUDA_SHARED,
    STO_CUDA_SPACE_MASK,
    STT_FUNC,
)
from cubinspec_writer.linker.library.copies import (
    checked_alignment,
    function_at,
    merged_functions,
    states_signature,
)
from cubinspec_writer.linker.library.demands import global_records, word
from cubinspec_writer.linker.library.outsymbols import BANK_SIZE
from cubinspec_writer.linker.model import HANDLE_KINDS, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Final

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.inputs.rows import InSymbol
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import Job, Symbols

READS = ""
WRITES = (
    "object.bound object.repeats symbol.alignment symbol.bind symbol.common symbol.definition "
    "symbol.in_globals symbol.kind symbol.other symbol.replaced symbol.size symbol.value "
    "symbols.bank_size symbols.by_name symbols.commons"
)
FREEZES = (
    "object.bound object.repeats symbol.bind symbol.common symbol.definition symbol.in_globals "
    "symbol.kind symbol.other symbol.replaced symbols.bank_size symbols.by_name "
    "symbols.commons"
)


def run(job: Job, objects: list[InputObject], diagnostics: Diagnostics, symbols: Symbols) -> None:
    """Bind every symbol of every input."""
    signatures: dict[Symbol, str] = {}
    copies = _Copies()
    reserved: set[str] = set()
    # Warnings that are errors end the link later.
    num_before = len(diagnostics.messages)
    has_extensible = any(obj.is_extensible for obj in objects)
    for obj in objects:
        if has_extensible and not obj.is_extensible and not obj.is_system:
            # Rule T9.
            diagnostics.warning(
                f"'{obj.name}': -ewp compiled objects should only link with libcudadevrt"
            )
        conflicts: Conflicts = []
        bound: list[Symbol | None] = [None] * len(obj.symbols)
        for row in obj.named:
            bound[row.index] = _bind(job, symbols, obj, row, conflicts, copies)
        obj.bound = bound
        # Functions are merged before variables (rule M1).
        for _, text in _in_order(obj, conflicts):
            if text == _NO_NODE:
                _check_signatures(diagnostics, obj, signatures)
            if text in (_NO_REGISTERS, _NO_NODE):
                raise diagnostics.fatal(text)
            diagnostics.error(text)
        _check_class(job, obj, diagnostics)
        _check_signatures(diagnostics, obj, signatures)
        if job.family.capsule:
            _check_tensor_memory(diagnostics, obj, reserved)
        if any(level == "error" for level, _ in diagnostics.messages[num_before:]):
            raise diagnostics.fatal("merge_elf failed")
    # Warnings about inputs and options are errors with -Werror.
    diagnostics.stop_on_errors()


#: Messages about one input, each with its place in the order of merging.
Conflicts = list[tuple[tuple[bool, int], str]]
#: How nvlink ends when a function has the name of a variable (rule M3).
_NO_REGISTERS: Final = "Internal error: no such original reg count"
_NO_NODE: Final = "Internal error: no callgraph node"
_AT_LAST: Final = (True, 1 << 32)


def _in_order(obj: InputObject, conflicts: Conflicts) -> Conflicts:
    """The messages in the order of merging: functions first, kernels in front of what they have."""
    if obj.is_extensible:
        places = {row.index: place for place, row in enumerate(merged_functions(obj))}
        conflicts = [
            ((is_last, number if is_last else places[number]), text)
            for (is_last, number), text in conflicts
        ]
    return sorted(conflicts, key=_place)


def _place(conflict: tuple[tuple[bool, int], str]) -> tuple[bool, int]:
    return conflict[0]


class _Copies:
    """What decides between copies of a function, read once per input."""

    def __init__(self) -> None:
        self._registers: dict[InputObject, dict[int, int]] = {}
        self._banks: dict[InputObject, dict[int, int]] = {}

    def registers(self, obj: InputObject, row: InSymbol) -> int:
        """Registers that a copy needs; 0 when its input says nothing."""
        cached = self._registers.get(obj)
        if cached is None:
            cached = self._registers[obj] = {
                word(record, 0): word(record, 1)
                for record in global_records(obj)
                if record[1] == EIATTR_REGCOUNT
            }
        return cached.get(row.index, 0)

    def bank(self, obj: InputObject, row: InSymbol) -> int | None:
        """Size of the parameter bank of a kernel's copy."""
        cached = self._banks.get(obj)
        if cached is None:
            cached = self._banks[obj] = {s.info: s.size for s in obj.of_type(SHT_CUDA_CONSTANT_B0)}
        return cached.get(row.shndx)


def _check_class(job: Job, obj: InputObject, diagnostics: Diagnostics) -> None:
    """Warn of an input that does not say the class of its instructions (rule M20)."""
    for section in obj.of_type(SHT_CUDA_COMPAT_INFO):
        if EICOMPAT_ATTR_ISA_CLASS not in [record[1] for record in obj.records(section.index)]:
            diagnostics.warning(
                f"Output is limited to run on SM Arch '{job.target.sm}' only, due to missing "
                f"attribute 'ISA_CLASS' in input file '{obj.name}'"
            )


#: Reserved variables of code that uses tensor memory: those of CUDA 12, and the one of CUDA 13.
_OLD_RESERVED: Final[tuple[str, ...]] = (
    "__nv_reservedSMEM_allocation_phase",
    "__nv_reservedSMEM_allocation_mask",
    "__nv_reservedSMEM_devtool_atexit_pc",
)
_NEW_RESERVED: Final = "__nv_reservedSMEM_tcgen05_partition"
#: How many of the old ones nvlink looks for when it meets the new one.
_LOOKED_FOR: Final = 2


def _check_tensor_memory(diagnostics: Diagnostics, obj: InputObject, met: set[str]) -> None:
    """Refuse code for tensor memory of CUDA 12 and of later versions in one program (rule M18).

    Args:
        met: names of reserved variables in earlier inputs; those of this one are added.
    """
    if not obj.of_type(SHT_CUDA_RESERVED_SHARED):
        return
    names = {row.name for row in obj.named}
    old = [name for name in _OLD_RESERVED if name in names]
    mismatches = len(old) if _NEW_RESERVED in met else 0
    if _NEW_RESERVED in names and met.intersection(_OLD_RESERVED):
        mismatches = _LOOKED_FOR
    for _ in range(mismatches):
        diagnostics.error(
            f"Object '{obj.name}' cannot be linked due to version mismatch. Objects using tcgen05 "
            "in 12.x cannot be linked with 13.0 or later, they must be rebuilt with latest compiler"
        )
    met.update(old)
    if _NEW_RESERVED in names:
        met.add(_NEW_RESERVED)


def _check_signatures(diagnostics: Diagnostics, obj: InputObject, texts: dict[Symbol, str]) -> None:
    """Compare parameters and results; what follows a `|` is about registers only (rule M4)."""
    for index, offset in obj.callgraph.address_taken:
        symbol = function_at(obj, index)
        if symbol is not None and states_signature(obj, index):
            texts[symbol] = obj.string(offset).partition("|")[0]
    for index, offset in obj.prototypes:
        symbol = obj.bound[index] if index < len(obj.bound) else None
        text = obj.string(offset).partition("|")[0]
        if symbol is None or not text:
            continue
        if texts.setdefault(symbol, text) != text:
            # The file of a weak copy that this input replaces.
            first = symbol.replaced[:1] if symbol.definition and symbol.definition[0] is obj else ()
            text = _conflict("Prototype doesn't match for", symbol, obj, "first defined in", first)
            diagnostics.error(text)


def _bind(
    job: Job,
    symbols: Symbols,
    obj: InputObject,
    row: InSymbol,
    conflicts: Conflicts,
    copies: _Copies,
) -> Symbol:
    if row.bind == STB_LOCAL:
        if row.shndx == SHN_UNDEF and row.name == BANK_SIZE and symbols.bank_size is not None:
            return symbols.bank_size  # one for the whole program (rule C5)
        symbol = Symbol(row.name, STB_LOCAL, row.kind, row.other, row.size, first=obj)
        if row.shndx != SHN_UNDEF:
            symbol.definition = (obj, row)
        elif row.name == BANK_SIZE:
            symbols.bank_size = symbol
        return symbol
    name, bind, kind, other = row.name, row.bind, row.kind, row.other
    shndx, size = row.shndx, row.size
    if shndx == SHN_COMMON and kind != STT_FUNC:
        symbols.commons.setdefault(name)
    registered = symbols.by_name.get(name)
    if registered is None:
        registered = Symbol(name, STB_GLOBAL, kind, other, size, 0, None, obj)
        symbols.by_name[name] = registered
        strong = bind == STB_GLOBAL or job.toolkit.weak_globals  # rule K3
        registered.in_globals = shndx == SHN_UNDEF or strong
        if shndx == SHN_UNDEF:
            registered.value = row.value
            if row.bind == STB_WEAK and registered.space == STO_CUDA_SHARED:
                # What `-r` made for arrays of dynamic size keeps its binding and place (rule R10).
                registered.bind = STB_WEAK
                registered.in_globals = job.toolkit.weak_globals
        else:
            _define(registered, obj, row)
        return registered
    wrong = _conflicts(job, registered, obj, row)
    if wrong:
        order = (row.kind != STT_FUNC, row.index)
        conflicts += [(order, text) for text in wrong]
        if registered.kind != STT_FUNC and row.kind == STT_FUNC:
            weak = registered.bind == row.bind == STB_WEAK and row.shndx != SHN_UNDEF
            if weak or _has_prototype(obj, row):
                # nvlink compares registers, and looks for what has a prototype in the call graph.
                conflicts.append((order, _NO_REGISTERS) if weak else (_AT_LAST, _NO_NODE))
        return registered
    if row.shndx == SHN_UNDEF:
        return registered
    if not registered.is_defined:
        # An array of dynamic size stays one; nvlink gives it no place at all.
        if not _is_dynamic(registered):
            _define(registered, obj, row)
    elif row.shndx == SHN_COMMON or registered.common:
        _join_common(job, registered, obj, row)
    elif row.bind == STB_GLOBAL:
        _define(registered, obj, row)
    elif row.kind == STT_FUNC and registered.bind == STB_WEAK:
        _choose_copy(job, registered, obj, row, conflicts, copies)
    elif row.kind != STT_FUNC and registered.bind == STB_WEAK:
        obj.repeats.setdefault(row.shndx, []).append((row.value, row.value + row.size))
    return registered


def _has_prototype(obj: InputObject, row: InSymbol) -> bool:
    return any(index == row.index for index, _ in obj.prototypes)


def _choose_copy(
    job: Job,
    registered: Symbol,
    obj: InputObject,
    row: InSymbol,
    conflicts: Conflicts,
    copies: _Copies,
) -> None:
    """Of two weak copies of a function take the one that needs fewer registers."""
    assert registered.definition is not None
    banks = copies.bank(*registered.definition), copies.bank(obj, row)
    if banks[0] != banks[1] and not job.family.constant0_deferred:
        text = f"Duplicate weak parameter bank for '{row.name}' is not the same size"
        conflicts.append(((True, row.index), text))
        return
    weighs = job.family.registers_in_sh_info or job.toolkit.weighs_weak_copies  # rule K11
    if weighs and copies.registers(obj, row) < copies.registers(*registered.definition):
        _define(registered, obj, row)


def _join_common(job: Job, registered: Symbol, obj: InputObject, row: InSymbol) -> None:
    """A common variable gives way to an initial value only (rule W15), or to all (rule K7)."""
    if registered.common and row.shndx == SHN_COMMON:
        if row.size > registered.size:
            registered.size, registered.definition = row.size, (obj, row)
    elif job.toolkit.definitions_beat_commons or _joins_initial(registered, obj, row):
        is_claimed = bool(registered.replaced) and row.bind == STB_WEAK
        if registered.common and not is_claimed:
            _define(registered, obj, row)
    elif not registered.common:
        bind = registered.bind
        _define(registered, obj, row)
        registered.bind = bind
    elif row.bind == STB_GLOBAL:
        # What it would have without the common one is left unused.
        registered.bind = STB_GLOBAL
        registered.replaced = (*registered.replaced, (obj, row))


def _define(symbol: Symbol, obj: InputObject, row: InSymbol) -> None:
    if symbol.definition is not None:
        symbol.replaced = (*symbol.replaced, symbol.definition)
    bind, kind, other, shndx, size = row.bind, row.kind, row.other, row.shndx, row.size
    symbol.definition = (obj, row)
    symbol.bind = STB_WEAK if bind == STB_WEAK else STB_GLOBAL
    if other != symbol.other:
        # The mark of a unified name stays as the first mention has it (rule U13).
        mark = STO_CUDA_MANAGED if kind == STT_FUNC else STO_CUDA_ENTRY
        other = other & ~mark | symbol.other & mark
    symbol.kind, symbol.other, symbol.size = kind, other, size
    # In a file of more sections than that, the number is that of a section of code.
    symbol.common = shndx == SHN_COMMON and kind != STT_FUNC
    if symbol.common:
        symbol.alignment = checked_alignment(obj, row)


#: What two mentions of a function have alike in `st_other`.
_COMPARED: Final = STO_CUDA_ENTRY | STO_CUDA_SPACE_MASK


def _conflicts(job: Job, registered: Symbol, obj: InputObject, row: InSymbol) -> list[str]:
    """What speaks against taking two symbols of one name for the same thing."""
    if row.kind == registered.kind:
        differing = row.other ^ registered.other
        if row.kind == STT_FUNC:
            if not differing & _COMPARED and (
                row.shndx == SHN_UNDEF
                or registered.definition is None
                or STB_WEAK in (row.bind, registered.bind)
            ):
                return []  # the most frequent cases: a call and its function, a weak copy
        elif (
            row.shndx == SHN_UNDEF
            and row.size == registered.size
            and not (differing or registered.common or row.index in obj.pooled)
        ):
            return []  # a reserved variable, which every file names
    return list(_found_conflicts(job, registered, obj, row))


def _found_conflicts(
    job: Job, registered: Symbol, obj: InputObject, row: InSymbol
) -> Iterator[str]:
    """The same for all kinds of symbols.

    From a table of 34 kinds of declarations in the first file and in the second (rules
    M2, M3).
    """
    if row.kind in HANDLE_KINDS and registered.kind != row.kind:
        yield _conflict("Multiple definition of", registered, obj, "first defined in")
        return
    is_function = row.kind == STT_FUNC
    if is_function and registered.is_entry != row.is_entry:
        yield f"Function '{row.name}' not declared __global__ in all source files"
    if (registered.kind == STT_FUNC) != is_function or registered.space != row.space:
        yield _conflict("Memory space doesn't match for", registered, obj, "first specified in")
    initial = False
    if not is_function:
        if (registered.other ^ row.other) & STO_CUDA_MANAGED:
            yield _conflict(
                "Managed attribute doesn't match for", registered, obj, "first specified in"
            )
        initial = _joins_initial(registered, obj, row)
        yield from _size_conflicts(job, registered, obj, row, initial)
    if STB_WEAK in (registered.bind, row.bind):
        return
    if row.index in obj.pooled:
        # An array of dynamic size that a link with `-r` defined comes first (rule R8).
        yield _conflict("Multiple definition of", registered, obj, "first defined in")
    if row.shndx == SHN_UNDEF:
        return
    if not registered.is_defined and (registered.space == row.space or not _is_dynamic(registered)):
        return
    fits = registered.space == row.space and (initial or job.toolkit.definitions_beat_commons)
    if not _is_open(registered) and not (fits and row.shndx == SHN_COMMON):
        yield _conflict("Multiple definition of", registered, obj, "first defined in")


def _is_open(registered: Symbol) -> bool:
    """Whether it is a common variable that no other file has defined for itself, too."""
    return registered.common and not any(row.bind == STB_GLOBAL for _, row in registered.replaced)


def _is_dynamic(registered: Symbol) -> bool:
    """Whether a name stands for shared memory whose size the launch decides."""
    return not registered.is_defined and registered.space == STO_CUDA_SHARED and not registered.size


def _size_conflicts(
    job: Job, registered: Symbol, obj: InputObject, row: InSymbol, initial: bool
) -> Iterator[str]:
    """A common variable must fit into the one with an initial value; other sizes are equal."""
    if _is_open(registered) and row.shndx == SHN_COMMON:
        return
    larger = f"Common symbol '{row.name}' in file '{{}}' has larger size than initialization"
    if not initial:
        replaces = registered.common and registered.space == row.space and row.shndx != SHN_UNDEF
        if replaces and job.toolkit.definitions_beat_commons and registered.size > row.size:
            assert registered.definition is not None
            yield larger.format(registered.definition[0].name)
        # Beside a common variable an array of dynamic size counts as one of no size.
        sized = registered.size or (row.shndx == SHN_COMMON and _is_dynamic(registered))
        states = row.size or row.index in obj.pooled
        if sized and states and registered.size != row.size:
            yield _conflict("Size doesn't match for", registered, obj, "first specified in")
    elif (registered.size > row.size) if registered.common else (row.size > registered.size):
        assert registered.definition is not None
        file = registered.definition[0].name if registered.common else obj.name
        yield larger.format(file)


def _joins_initial(registered: Symbol, obj: InputObject, row: InSymbol) -> bool:
    """Whether one of them is a common variable and the other one has an initial value."""
    if registered.common == (row.shndx == SHN_COMMON) or registered.definition is None:
        return False
    owner, initial = (obj, row) if registered.common else registered.definition
    if initial.shndx == SHN_UNDEF:
        return False
    return owner.sections[initial.shndx].sh_type == SHT_CUDA_GLOBAL_INIT


def _conflict(
    what: str,
    registered: Symbol,
    obj: InputObject,
    first: str,
    replaced: Sequence[tuple[InputObject, InSymbol]] | None = None,
) -> str:
    """The text about two mentions of a name, with the file of the first one (rule M2)."""
    place = registered.first
    definition = registered.definition
    if definition is not None:
        copies = registered.replaced
        is_common = registered.common or any(row.shndx == SHN_COMMON for _, row in copies)
        if registered.kind == STT_FUNC:
            copies = copies[:1] if replaced is None else replaced
            place = copies[0][0] if copies else definition[0]
        elif is_common:
            place = definition[0]
    assert place is not None
    # No file is kept for a name that only the driver can define (rule M14).
    file = "<input>" if registered.kind in HANDLE_KINDS else place.name
    return f"{what} '{registered.name}' in '{obj.name}', {first} '{file}'"
