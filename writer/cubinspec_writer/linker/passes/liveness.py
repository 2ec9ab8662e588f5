"""Pass 3: which functions are in the output.

A device function stays when an entry reaches it over call-graph edges, matching indirect calls and
relocations, or when a global's initialiser names it. Data is never dropped. Dead functions are gone
before anything is merged: they leave no symbol, section or string. With `-r`, `-g`
and `--preserve-relocs` everything stays.

Fixed from here on: `Symbol.live` and `Symbol.is_defined` of every function.
"""

from __future__ import annotations

from cubinspec_writer.linker.model import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_INFO_LINK,
    SHN_COMMON,
    SHN_UNDEF,
    STB_GLOBAL,
    STT_CUDA_OBJECT,
    STT_CUDA_SAMPLER,
    STT_CUDA_SURFACE,
    STT_CUDA_TEXTURE,
    STT_FUNC,
    STT_OBJECT,
    InputObject,
    InReloc,
    InSymbol,
    Space,
    Symbol,
)
from cubinspec_writer.linker.state import LinkState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

Edges = dict[Symbol, list[Symbol]]


def mark_live(state: LinkState) -> None:
    """Set `live` of every function symbol."""
    for obj in state.objects:
        obj.called = {
            row[0]: symbol
            for row in obj.named
            if (symbol := obj.bound[row[0]]) is not None and symbol.kind == STT_FUNC
        }
    options = state.options
    if options.relocatable or options.debug or options.preserve_relocs:
        return
    functions = {symbol for obj in state.objects for symbol in obj.called.values()}
    edges, held = reference_graph(state)
    live: set[Symbol] = set()
    work = [f for f in functions if f.definition is not None and state.is_kernel(f)]
    if state.index is not None:
        # Other programs enter through the stubs, of which nvlink thinks only where it does not look
        # at everything from one kernel (unified_chain).
        from cubinspec_writer.linker.passes.unified import linked_stubs

        (held if len(work) == 1 else work).extend(linked_stubs(state))
    while work:
        function = work.pop()
        if function not in live:
            live.add(function)
            work += edges.get(function, ())
    # What only data names stays, and names that the driver supplies to it, but nothing else that it
    # calls in turn.
    live.update(held)
    live.update(t for f in held for t in edges.get(f, ()) if not t.is_defined)
    for function in functions:
        function.live = function in live


def reference_graph(state: LinkState) -> tuple[Edges, list[Symbol]]:
    """Function-to-function edges, and the functions whose address lies in data."""
    edges: Edges = {}
    roots: list[Symbol] = []
    taken: dict[str, list[Symbol]] = {}
    for obj in state.objects:
        for a, b in obj.callgraph.address_taken:
            target = function_at(obj, a)
            if target is not None and takes_address(obj, a):
                taken.setdefault(obj.string(b), []).append(target)
                roots.append(target)
    for obj in state.objects:
        for a, b in obj.callgraph.indirect:
            source = function_at(obj, a)
            if source is not None and accepted_here(obj, a):
                edges.setdefault(source, []).extend(taken.get(obj.string(b), ()))
    for obj in state.objects:
        owner = code_owners(obj, replaced=True)
        for alias, function in aliases(obj):
            edges.setdefault(alias, []).append(function)
            edges.setdefault(function, []).append(alias)
        functions = obj.called
        for a, b in obj.callgraph.calls:
            source, target = functions.get(a), functions.get(b)
            if source is not None and target is not None and accepted_here(obj, a):
                known = edges.get(source)
                if known is None:
                    edges[source] = [target]
                else:
                    known.append(target)
        # Code that only takes an address keeps the function, but not what that one calls
        # (address_only).
        calls = set(obj.callgraph.calls)
        only_named = {
            (function_at(obj, a), b) for a, b in obj.callgraph.references if (a, b) not in calls
        }
        sections = obj.sections
        for _, at, _, rows in obj.relocs:
            flags = sections[at][3]
            if not flags & SHF_ALLOC:
                continue
            named = [index for _, _, index, _ in rows if index in functions]
            if not named:
                continue
            is_code = flags & SHF_EXECINSTR
            source = owner.get(at if is_code else sections[at][6])
            if source is not None:
                if only_named:
                    named = [index for index in named if (source, index) not in only_named]
                known = edges.get(source)
                if known is None:
                    known = edges[source] = []
                for index in named:
                    known.append(functions[index])
            elif not is_code:
                roots += [functions[index] for index in named if takes_address(obj, index)]
    return edges, roots


def undefined_names(state: LinkState) -> list[str]:
    """A message for every name that live code or data needs and nothing defines.

    They come in the order of merging: functions of the first input, its variables, and so on.
    nvlink goes on and reports them after what it says about stacks.
    """
    if state.options.relocatable:
        return []
    seen: dict[Symbol, str] = {}
    wanting: list[tuple[InSymbol, Symbol]] = []
    for obj in state.objects:
        bound = obj.bound
        found = [
            (row, symbol)
            for row in obj.named
            if (symbol := bound[row[0]]) is not None
            and symbol.definition is None
            and is_missing(symbol)
        ]
        wanting += found
        missing = {row[0] for row, _ in found}
        if not missing:
            continue
        owner = code_owners(obj)
        for relocs in obj.relocs:
            section = obj.sections[relocs.target]
            if not section.flags & SHF_ALLOC:
                continue
            code = relocs.target if section.flags & SHF_EXECINSTR else section.info
            if section.flags & (SHF_EXECINSTR | SHF_INFO_LINK):
                function = owner.get(code)
                if function is None or not function.live:
                    continue
            for _, _, index, _ in relocs.rows:
                symbol = bound[index]
                if index in missing and symbol is not None and symbol not in seen:
                    seen[symbol] = _undefined(symbol)
    for row, symbol in wanting:
        # Variables need a definition even when nothing uses them, functions also when only code
        # that is not linked takes their address or a copy that gave way calls them.
        wanted = row.kind in _VARIABLES or (row.kind == STT_FUNC and symbol.live)
        if wanted and row.bind == STB_GLOBAL and symbol not in seen:
            seen[symbol] = _undefined(symbol)
    if not seen:
        return []
    order = (
        symbol
        for obj in state.objects
        for is_function in (True, False)
        for row in obj.named
        if (symbol := obj.bound[row.index]) in seen and (row.kind == STT_FUNC) == is_function
    )
    return [seen[symbol] for symbol in dict.fromkeys(order) if symbol is not None]


def _undefined(symbol: Symbol) -> str:
    """The message names the first input that mentions the name, whether it is linked or not."""
    assert symbol.first is not None
    return f"Undefined reference to '{symbol.name}' in '{symbol.first.name}'"


def is_missing(symbol: Symbol) -> bool:
    """Whether a name must have a definition and has none."""
    if symbol.definition is not None or symbol.kind in _DRIVER_OBJECTS:
        return False
    if symbol.space == Space.SHARED and not symbol.size:
        return False  # an array of dynamic size
    known = symbol.name in _SYSTEM_CALLS or symbol.name in _DEVICE_RUNTIME
    return not known and not symbol.name.startswith(_SYSTEM_PREFIXES)


#: Functions that the driver supplies (found by asking nvlink for each).
_SYSTEM_CALLS = frozenset(("vprintf", "vfprintf", "malloc", "free", "__assertfail", "__profile"))
#: Further ones that the device runtime calls: undefined names of libcudadevrt.a.
_DEVICE_RUNTIME = frozenset(
    "cnp" + name
    for name in (
        "CtxSynchronize", "DeviceGetAttribute", "EventCreate", "EventDestroy", "EventRecord",
        "FuncGetAttribute", "GetCacheConfig", "GetDevice", "GetDeviceCount", "GetLastError",
        "GetLimit", "GetParameterBuffer", "GetParameterBufferV2", "GetSharedMemConfig",
        "LaunchDevice", "LaunchDeviceV2", "SetLastError", "StreamCreate", "StreamDestroy",
        "StreamWaitEvent",
    )
)  # fmt: skip
#: System calls by prefix, unified tables, reserved shared memory, sizes of parameter banks.
_SYSTEM_PREFIXES = ("__cuda_syscall", "__UFT", "__UDT", ".nv.reservedSmem.", ".nv.ptx.")
_VARIABLES = frozenset((STT_OBJECT, STT_CUDA_OBJECT))
_DRIVER_OBJECTS = frozenset((STT_CUDA_TEXTURE, STT_CUDA_SAMPLER, STT_CUDA_SURFACE))


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
    """Whether this input's copy of the symbol was in the output at least until a better one came.

    Calls of such a copy stay in the call graph (case weak_replaced).
    """
    symbol = obj.bound[index]
    if symbol is None or symbol.definition is None:
        return False
    row = obj.symbols[index]
    return symbol.definition[1] is row or any(copy is row for _, copy in symbol.replaced)


def takes_address(obj: InputObject, index: int) -> bool:
    """Whether an entry of address-taken functions counts.

    That of a copy that came too late does only if code, linked or not, names it; data alone and
    code that came too late itself do not (weak_late, wide seeds 144, 496).
    """
    if obj.symbols[index].shndx == SHN_UNDEF or accepted_here(obj, index):
        return True
    return any(b == index and accepted_here(obj, a) for a, b in obj.callgraph.references)


def code_owners(obj: InputObject, *, replaced: bool = False) -> dict[int, Symbol]:
    """Code section index -> its function, for functions whose copy here is linked.

    Args:
        replaced: take copies that another one replaced, too.
    """
    owners: dict[int, Symbol] = {}
    for row in obj.functions:
        index, _, _, _, _, shndx, _, _ = row
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

    Copies of weak functions that gave way or came too late do not count (wide seeds 430, 459).
    """
    outdone = {row.shndx for row in obj.functions if row.shndx and not defined_here(obj, row.index)}
    for relocs in obj.relocs:
        if obj.sections[relocs.target].flags & SHF_EXECINSTR and relocs.target not in outdone:
            yield from relocs.rows


def aliases(obj: InputObject) -> Iterator[tuple[Symbol, Symbol]]:
    """Functions of which the code is that of another one (`.alias`), and that one.

    The first symbol of a code section is the function itself.
    """
    first: dict[int, Symbol] = {}
    for row in obj.functions:
        symbol = obj.bound[row[0]]
        if symbol is not None and row[5] and row[5] != SHN_COMMON:
            known = first.setdefault(row[5], symbol)
            if known is not symbol:
                yield symbol, known
