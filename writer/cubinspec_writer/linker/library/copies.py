"""Which copy of a function counts, what an input names, and what nothing has to define."""

from __future__ import annotations

from cubinspec.errors import BadStructureError
from cubinspec.format.sections import CONSTANT_BANK_TYPES
from cubinspec_generated.codes import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHI_SYMBOL_MASK,
    SHN_COMMON,
    SHN_UNDEF,
    SHT_CUDA_GLOBAL_INIT,
    STO_CUDA_ENTRY,
    STT_FUNC,
)
from cubinspec_writer.linker.model import LARGEST_ALIGNMENT, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

    from cubinspec_writer.linker.inputs.rows import InReloc, InSymbol
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import Job


Edges = dict[Symbol, list[Symbol]]


def named_functions(obj: InputObject) -> list[InSymbol]:
    """Functions in the order in which nvlink meets them: each in front of its other names.

    What `-r` made can name an alias first; the section says whose it is, unless an earlier input
    mentions the alias (rule A8).
    """
    functions = obj.functions
    places = [row.shndx for row in functions if row.shndx != SHN_UNDEF]
    if obj.is_extensible or len(set(places)) == len(places):
        return functions
    owners = {
        row.shndx: row
        for row in functions
        if row.shndx != SHN_UNDEF and obj.sections[row.shndx].info & SHI_SYMBOL_MASK == row.index
    }
    for place, row in {row.shndx: row for row in reversed(functions)}.items():
        symbol = obj.bound[row.index]
        if place in owners and symbol is not None and symbol.first is not obj:
            owners[place] = row
    return _each_behind(owners, functions)


def merged_functions(obj: InputObject) -> list[InSymbol]:
    """The functions of an input in the order in which they are merged.

    Those of an extensible whole program may come before the kernel in front of them (rule A5).
    """
    if not obj.is_extensible:
        return named_functions(obj)
    kernels = {row.shndx: row for row in reversed(obj.functions) if row.shndx and not row.value}
    return _each_behind(kernels, obj.functions)


def _each_behind(owners: dict[int, InSymbol], functions: list[InSymbol]) -> list[InSymbol]:
    """Functions in their order, but the owner of a section in front of all others there."""
    found: dict[int, InSymbol] = {}
    for row in functions:
        for one in (owners.get(row.shndx, row), row):
            found.setdefault(one.index, one)
    return list(found.values())


def reference_graph(objects: list[InputObject]) -> tuple[Edges, list[Symbol]]:
    """Function-to-function edges, and the functions whose address the call graphs list as taken."""
    edges: Edges = {}
    roots: list[Symbol] = []
    signatures: dict[Symbol, str] = {}
    for obj in objects:
        for a, b in obj.callgraph.address_taken:
            target = function_at(obj, a)
            if target is None or not takes_address(obj, a):
                continue
            if target not in signatures or states_signature(obj, a):
                signatures[target] = obj.string(b)
            roots.append(target)
    taken: dict[str, list[Symbol]] = {}
    for target, text in signatures.items():
        taken.setdefault(text, []).append(target)
    for obj in objects:
        for a, b in obj.callgraph.indirect:
            source = function_at(obj, a)
            if source is not None and accepted_here(obj, a):
                edges.setdefault(source, []).extend(taken.get(obj.string(b), ()))
    for obj in objects:
        for alias, function in aliases(obj):
            edges.setdefault(alias, []).append(function)
            if obj.is_extensible or function.is_entry:  # they stay with a kernel (rules A5, M63)
                edges.setdefault(function, []).append(alias)
        _add_calls(obj, edges)
        _add_references(obj, edges)
    return edges, roots


def _add_calls(obj: InputObject, edges: Edges) -> None:
    """Add the calls that the call graph of one input states."""
    functions = obj.called
    for a, b in obj.callgraph.calls:
        source, target = functions.get(a), functions.get(b)
        if source is not None and target is not None and accepted_here(obj, a):
            targets = edges.get(source)
            if targets is None:
                edges[source] = [target]
            else:
                targets.append(target)


def _add_references(obj: InputObject, edges: Edges) -> None:
    """Add the functions that relocations of code, and of its constants, name.

    Code that only takes an address keeps the function, but not what that one calls (rule L2).
    """
    functions, owner = obj.called, code_owners(obj, replaced=True)
    calls = set(obj.callgraph.calls)
    only_named = {
        (function_at(obj, a), b) for a, b in obj.callgraph.references if (a, b) not in calls
    }
    for relocs in obj.relocs:
        section = obj.sections[relocs.target]
        if not section.flags & SHF_ALLOC:
            continue
        is_code = section.flags & SHF_EXECINSTR
        source = owner.get(relocs.target if is_code else section.info)
        if source is None:
            continue  # Data keeps only what the call graph lists (rule L1).
        named = [index for _, _, index, _ in relocs.rows if index in functions]
        if only_named:
            named = [index for index in named if (source, index) not in only_named]
        if named:
            edges.setdefault(source, []).extend([functions[index] for index in named])


def function_at(obj: InputObject, index: int) -> Symbol | None:
    """The function that a symbol number of this input means."""
    symbol = obj.bound[index] if index < len(obj.bound) else None
    return symbol if symbol is not None and symbol.kind == STT_FUNC else None


def defined_here(obj: InputObject, index: int) -> bool:
    """Whether this input's copy of the symbol is the one that is linked."""
    symbol = obj.bound[index]
    if symbol is None or symbol.definition is None:
        return False
    return symbol.definition[1] is obj.symbols[index]


def accepted_here(obj: InputObject, index: int) -> bool:
    """Whether this input's copy of the symbol is linked, or was until a better one replaced it.

    Calls of such a copy stay in the call graph (rule W2).
    """
    symbol = obj.bound[index]
    if symbol is None or symbol.definition is None:
        return False
    row = obj.symbols[index]
    return symbol.definition[1] is row or any(copy is row for _, copy in symbol.replaced)


def left_relocations(symbol: Symbol, *, with_tables: bool = False) -> bool:
    """Whether the code of a copy that gave way had relocations.

    Args:
        with_tables: or a jump table of it.
    """
    for obj, row in symbol.replaced:
        for relocs in obj.relocs:
            target = obj.sections[relocs.target]
            is_table = target.sh_type in CONSTANT_BANK_TYPES and target.info == row.shndx
            if relocs.rows and (relocs.target == row.shndx or (with_tables and is_table)):
                return True
    return False


def states_signature(obj: InputObject, index: int) -> bool:
    """Whether the signature of an address-taken function counts; that of a duplicate does not."""
    return obj.symbols[index].shndx == SHN_UNDEF or accepted_here(obj, index)


def takes_address(obj: InputObject, index: int) -> bool:
    """Whether an entry of address-taken functions counts.

    An entry for a duplicate counts only if code of no duplicate names it, linked or not, or if it
    is a kernel and a global variable names it (rule W9).
    """
    if states_signature(obj, index):
        return True
    if any(b == index and accepted_here(obj, a) for a, b in obj.callgraph.references):
        return True
    return bool(obj.symbols[index].other & STO_CUDA_ENTRY) and _is_in_globals(obj, index)


def _is_in_globals(obj: InputObject, index: int) -> bool:
    """Whether an initial value of a global variable, other than of a repeated one, names it."""
    for relocs in obj.relocs:
        if obj.sections[relocs.target].sh_type != SHT_CUDA_GLOBAL_INIT:
            continue
        repeats = obj.repeats.get(relocs.target, ())
        for offset, _, named, _ in relocs.rows:
            if named == index and not any(start <= offset < end for start, end in repeats):
                return True
    return False


def add_edges(
    job: Job,
    edges: Edges,
    obj: InputObject,
    pairs: list[tuple[int, int]],
    callers: dict[int, Symbol],
    callees: dict[int, Symbol],
) -> None:
    """Add the edges of one input whose caller's copy there was linked for a time.

    Args:
        pairs: symbol numbers of caller and callee.
        callers, callees: the functions that count, by their symbol number in the input.
    """
    listed: dict[Symbol, set[Symbol]] = {}
    for a, b in pairs:
        source, target = callers.get(a), callees.get(b)
        if source is None or target is None or not accepted_here(obj, a):
            continue
        # Two copies of a caller list a common callee twice (rule W2), but not with `-r` (rule R11).
        seen = listed.get(source)
        if seen is None:
            before = edges.get(source, ()) if job.options.relocatable else ()
            seen = listed[source] = set(before)
        if target not in seen:
            seen.add(target)
            edges.setdefault(source, []).append(target)


def code_owners(obj: InputObject, *, replaced: bool = False) -> dict[int, Symbol]:
    """Code section index -> its function, for functions whose copy here is linked.

    Args:
        replaced: take copies that another one replaced, too.
    """
    owners: dict[int, Symbol] = {}
    for row in obj.functions:
        index, shndx = row.index, row.shndx
        symbol = obj.bound[index]
        if symbol is None or not shndx or shndx in owners:
            continue
        definition = symbol.definition
        here = definition is not None and definition[1] is row
        if here or (replaced and accepted_here(obj, index)):
            owners[shndx] = symbol
    return owners


def code_relocations(obj: InputObject) -> Iterator[InReloc]:
    """What the code of an input names, linked or not.

    Replaced copies and duplicates of weak functions do not count (rule W10).
    """
    outdone = {row.shndx for row in obj.functions if row.shndx and not defined_here(obj, row.index)}
    for relocs in obj.relocs:
        if obj.sections[relocs.target].flags & SHF_EXECINSTR and relocs.target not in outdone:
            yield from relocs.rows


def aliases(obj: InputObject) -> Iterator[tuple[Symbol, Symbol]]:
    """Functions of which the code is that of another one (`.alias`), and that one.

    The first symbol of a code section is the function itself (rule A1).
    """
    places = [row.shndx for row in obj.functions if row.shndx]
    if len(set(places)) == len(places):
        return
    first: dict[int, Symbol] = {}
    for row in obj.functions:
        symbol = obj.bound[row.index]
        if symbol is not None and row.shndx and row.shndx != SHN_COMMON:
            function = first.setdefault(row.shndx, symbol)
            if function is not symbol:
                yield symbol, function


def behind_aliases(pairs: Iterable[tuple[Symbol, Symbol]], ordered: list[Symbol]) -> set[Symbol]:
    """Functions with an alias in front of them; the finalizer looks for that one's entry (rule A4).

    Args:
        pairs: an alias and its function.
        ordered: the symbols of the output in their order.
    """
    pairs = list(pairs)
    if not pairs:
        return set()
    order = {symbol: at for at, symbol in enumerate(ordered)}
    return {
        function
        for alias, function in pairs
        if function in order and order.get(alias, len(order)) < order[function]
    }


def checked_alignment(obj: InputObject, row: InSymbol) -> int:
    """The alignment that a symbol's value is: of commons, and of shared variables.

    Raises:
        BadStructureError: it is no power of two, or larger than any input has.
    """
    if row.value & (row.value - 1) or row.value > LARGEST_ALIGNMENT:
        raise BadStructureError(
            f"symbol {row.index} has alignment {row.value:#x}",
            file=obj.name,
            expected=f"a power of two up to {LARGEST_ALIGNMENT:#x}",
        )
    return row.value


def is_supplied(name: str) -> bool:
    """Whether the driver supplies a name, so that no input has to define it (rule L3)."""
    listed = name in _SYSTEM_CALLS or name in _DEVICE_RUNTIME or name in _SIZES
    return listed or name.startswith(_SYSTEM_PREFIXES)


#: Functions that nvlink was asked for one by one.
_SYSTEM_CALLS: Final = frozenset(
    (
        "vprintf", "vfprintf", "malloc", "free", "__assertfail", "__profile",
        "cudaGraphKernelNodeSetEnabled", "cudaGraphKernelNodeSetGridDim",
        "cudaGraphKernelNodeSetParam", "cudaGraphKernelNodeUpdatesApply", "cudaGraphLaunch",
        "cudaGraphSetConditional",
    )
)  # fmt: skip
#: Further ones that the device runtime calls: undefined names of libcudadevrt.a.
_DEVICE_RUNTIME: Final = frozenset(
    "cnp" + name
    for name in (
        "CtxSynchronize", "DeviceGetAttribute", "EventCreate", "EventDestroy", "EventRecord",
        "FuncGetAttribute", "GetCacheConfig", "GetDevice", "GetDeviceCount", "GetLastError",
        "GetLimit", "GetParameterBuffer", "GetParameterBufferV2", "GetSharedMemConfig",
        "LaunchDevice", "LaunchDeviceV2", "SetLastError", "StreamCreate", "StreamDestroy",
        "StreamWaitEvent",
    )
)  # fmt: skip
#: Sizes of the descriptors of objects, by which code finds what `txq` and `suq` ask for.
_SIZES: Final = frozenset(
    (
        ".nv.independent.samplerrefDescSize", ".nv.independent.texrefDescSize",
        ".nv.surfrefDescSize", ".nv.unified.texrefDescSize",
    )
)  # fmt: skip
#: System calls by prefix, unified tables, reserved shared memory, sizes of parameter banks.
_SYSTEM_PREFIXES: Final[tuple[str, ...]] = (
    "__cuda_syscall",
    "__UFT",
    "__UDT",
    ".nv.reservedSmem.",
    ".nv.ptx.",
)
