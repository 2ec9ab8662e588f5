"""The module's own sections and symbols: helper symbols, variables, constant banks."""

from __future__ import annotations

from dataclasses import replace

from cubinspec.errors import BadStructureError
from cubinspec.format.packing import align_up, symbol_info
from cubinspec_generated.codes import (
    RESERVED_ALIAS_MARK,
    SHF_ALLOC,
    SHF_WRITE,
    SHN_COMMON,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_CONSTANT_B3,
    SHT_CUDA_CONSTANT_B4,
    SHT_CUDA_GLOBAL,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_SHARED,
    SHT_CUDA_UDT,
    SHT_CUDA_UDT_ENTRY,
    SHT_CUDA_UFT_ENTRY,
    SHT_NOBITS,
    SHT_PROGBITS,
    STB_WEAK,
    STO_CUDA_MANAGED,
    STO_CUDA_RESERVED_SHARED,
    STO_CUDA_SPACE_SHIFT,
    STO_CUDA_UNIFIED_FUNC,
    STO_CUDA_UNIFIED_OBJECT,
    STT_CUDA_OBJECT,
    STT_NOTYPE,
    STT_OBJECT,
    STV_INTERNAL,
    UNIFIED_MARK,
)
from cubinspec_generated.codes_sizes import SIZEOF_UFT_ENTRY
from cubinspec_writer.builder.images import SYMBOL_TYPES
from cubinspec_writer.builder.parts import (
    ADDRESS,
    ADDRESS_PREFIX,
    ADDRESS_TAKEN,
    SHARED,
    WEAK,
    Variable,
    binding_of,
    space_of,
)
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.model import Dropped, Section, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cubinspec_writer.builder.assembly import Assembly
    from cubinspec_writer.builder.parts import Function, Relocation, ReservedVariable

_MODULE_SHARED = ".nv_debug.shared"
ADDRESSES = ".nv.constant4"
_UNIFIED = ".nv.udt"
_FUNCTION_ENTRIES, _DATA_ENTRIES = ".nv.uft.entry", ".nv.udt.entry"
_ENTRY_ALIGN = 8
#: Sections of variables: type in files that may be linked, in executables, flags.
_DATA_SECTIONS = {
    ".nv.global": (SHT_CUDA_GLOBAL, SHT_NOBITS, SHF_WRITE | SHF_ALLOC),
    ".nv.global.init": (SHT_CUDA_GLOBAL_INIT, SHT_PROGBITS, SHF_WRITE | SHF_ALLOC),
    ".nv.constant3": (SHT_CUDA_CONSTANT_B3, SHT_PROGBITS, SHF_ALLOC),
    ADDRESSES: (SHT_CUDA_CONSTANT_B4, SHT_PROGBITS, SHF_ALLOC),
    _UNIFIED: (SHT_CUDA_UDT, SHT_CUDA_UDT, SHF_WRITE | SHF_ALLOC),
    _MODULE_SHARED: (SHT_CUDA_SHARED, SHT_NOBITS, SHF_WRITE | SHF_ALLOC),
}
_WITHOUT_BYTES = frozenset((".nv.global", _MODULE_SHARED))
#: Weak symbols that relocatable files have for the tables of unified functions and data.
UNIFIED_SYMBOLS = (
    "__UDT_OFFSET",
    "__UFT_OFFSET",
    "__UFT_CANONICAL",
    "__UDT_CANONICAL",
    "__UFT",
    "__UDT",
    "__UFT_END",
    "__UDT_END",
)
#: Symbols for the reserved shared memory, and the offset that they have from sm_100 on.
_RESERVED_OFFSET = ".nv.reservedSmem.offset0"
_RESERVED_ALIAS = "__nv_reservedSMEM_offset_0_alias"
RESERVED_SECTION = ".nv.shared.reserved.0"
RESERVED_SPACE = STO_CUDA_RESERVED_SHARED << STO_CUDA_SPACE_SHIFT


def add_module(assembly: Assembly) -> None:
    """Make everything that belongs to the module and not to one of its functions."""
    if assembly.finalizer:
        reserved = _add_driver_symbols(assembly)
        _add_variables(assembly)
        _add_reserved(assembly, reserved)
    else:
        _add_variables(assembly)


def _add_driver_symbols(assembly: Assembly) -> Section | None:
    """Make what the driver looks for; the section of reserved shared memory, if there is one."""
    if assembly.relocatable and not assembly.parts.position_independent:
        for name in UNIFIED_SYMBOLS:
            assembly.add_helper(name, 0, 8)
    parts, final = assembly.parts, assembly.final
    start = assembly.target.family.reserved_start
    assembly.add_helper(_RESERVED_OFFSET, start, 4)
    is_bare = parts.for_debugger or parts.keeps_relocations or parts.tools_patch
    has_alias = not (assembly.relocatable or is_bare)
    if not has_alias and not parts.reserved:
        return None
    # an extensible program leaves its size to the linker
    start = start if final else 0
    *_, end = reserved_places(parts.reserved, start)
    reserved = assembly.add_section(
        RESERVED_SECTION,
        assembly.type_of(SHT_CUDA_RESERVED_SHARED, SHT_NOBITS),
        bodies.NoBytes(end),
        SHF_WRITE | SHF_ALLOC,
        max([1, *(variable.align for variable in parts.reserved)]),
    )
    reserved.has_symbol = True if parts.reserved else None
    if has_alias:
        value = start if final else RESERVED_ALIAS_MARK
        info = symbol_info(STB_WEAK, STT_NOTYPE)
        alias = Symbol(_RESERVED_ALIAS, info, RESERVED_SPACE, reserved, value, 0)
        assembly.add_symbol(alias, WEAK)
    return reserved


def reserved_places(variables: Sequence[ReservedVariable], start: int) -> list[int]:
    """Where variables of reserved shared memory stand, and where they end."""
    places = []
    for variable in variables:
        start = align_up(start, variable.align)
        places.append(start)
        start += variable.size
    return [*places, start]


def _add_reserved(assembly: Assembly, section: Section | None) -> None:
    """Make the variables of reserved shared memory, which stand behind all others.

    Where they are is the linker's to say; until then their value is their alignment.
    """
    variables = assembly.parts.reserved
    start = assembly.target.family.reserved_start
    places = reserved_places(variables, start)[:-1]
    for variable, place in zip(variables, places, strict=True):
        assert section is not None
        kind, other, value = STT_OBJECT, 0, place
        if not assembly.final:
            kind, other, value = STT_CUDA_OBJECT, RESERVED_SPACE, variable.align
        info = symbol_info(STB_WEAK, kind)
        symbol = Symbol(variable.name, info, other, section, value, variable.size)
        assembly.add_symbol(symbol, WEAK)


def add_unified_function(assembly: Assembly, symbol: Symbol, *, is_known: bool) -> None:
    """Make the table of unified functions with the first one.

    Args:
        is_known: whether the symbol was there before; a new one says that it is unified.
    """
    if _FUNCTION_ENTRIES not in assembly.by_name:
        symbol.st_other |= 0 if is_known else STO_CUDA_UNIFIED_FUNC
        _add_entries(assembly, _FUNCTION_ENTRIES, SHT_CUDA_UFT_ENTRY)


def _add_entries(assembly: Assembly, name: str, kind: int) -> None:
    entries = bodies.UftEntries(unified_rows(assembly, name))
    section = assembly.add_section(
        name, kind, entries, align=_ENTRY_ALIGN, entry_size=SIZEOF_UFT_ENTRY
    )
    section.has_symbol = True
    assembly.unified.append(section)


def unified_rows(assembly: Assembly, entries: str) -> list[tuple[int, ...]]:
    """Symbol number, mark, slot and the two numbers of each; symbols are 0 as long as unknown."""
    parts, is_data = assembly.parts, entries == _DATA_ENTRIES
    members: list[Function] | list[Variable] = parts.variables if is_data else parts.functions
    numbers = assembly.numbers
    return [
        (
            assembly.index(one.name) if numbers else 0,
            UNIFIED_MARK,
            assembly.places[one.name][1] if is_data else 0,
            *one.unified,
        )
        for one in members
        if one.unified is not None
    ]


def add_unified(assembly: Assembly, name: str) -> None:
    """Make a symbol of the unified tables, if it is not there."""
    if name not in assembly.by_name:
        assembly.add_helper(name, 0, 8)


def add_banks(assembly: Assembly, function: str, num_variables: int | None = None) -> None:
    """Make the banks that the code of a function needs first; with a number only those there."""
    for bank in assembly.parts.banks:
        if bank.function != function or num_variables not in (None, bank.num_variables):
            continue
        section = assembly.add_section(
            f".nv.constant{bank.number}",
            assembly.type_of(SHT_CUDA_CONSTANT_B0 + bank.number, SHT_PROGBITS),
            bodies.Blob(bank.data),
            SHF_ALLOC,
            bank.align,
        )
        assembly.data_sections.append((section, bank.relocations))


def add_late_shared(assembly: Assembly, function: Function) -> None:
    """Make the shared variables of a function, or that it is the first to use in a library."""
    for variable in assembly.shared_of.get(function.name, ()):
        _add_variable(assembly, variable)


def _is_late_shared(assembly: Assembly, variable: Variable) -> bool:
    """Whether it is made with the function that uses it: not those of the first function."""
    parts = assembly.parts
    if variable.owner:
        # those of the first function are made in the order of the module's
        return assembly.is_library or variable.owner != parts.functions[0].name
    if not assembly.is_library or variable.space != SHARED:
        return False
    # what several functions use is the module's
    users = assembly.users[variable.name]
    return len(users) == 1 and users[0] is not parts.functions[0]


def _add_undefined(assembly: Assembly, num_variables: int) -> None:
    """Make the symbols of variables of other files that were added behind so many variables."""
    for symbol in assembly.parts.undefined:
        if symbol.is_variable and symbol.num_variables == num_variables:
            assembly.mention(symbol.name)


def _add_variables(assembly: Assembly) -> None:
    """Make each section with its first variable, and banks and names between them."""
    for number, variable in enumerate(assembly.parts.variables):
        _add_undefined(assembly, number)
        add_banks(assembly, "", number)
        if not _is_late_shared(assembly, variable):
            _add_variable(assembly, variable)
    _add_undefined(assembly, len(assembly.parts.variables))
    add_banks(assembly, "", len(assembly.parts.variables))


def _add_variable(assembly: Assembly, variable: Variable) -> None:
    if variable.name in assembly.by_name:
        return
    if variable.space in SYMBOL_TYPES:
        info = symbol_info(binding_of(variable.binding), SYMBOL_TYPES[variable.space])
        assembly.add_symbol(Symbol(variable.name, info), variable.binding)
        return
    if variable.common:
        add_variable_symbol(assembly, variable, SHN_COMMON, variable.align)
        return
    if variable.space == SHARED and assembly.parts.names_shared:
        _add_module_shared(assembly)
    if variable.function:
        _add_moved_shared(assembly, variable)
        return
    if is_late(variable) or _is_of_other_function(assembly, variable):
        assembly.late[variable.name] = variable
        return
    section, offset = _place(assembly, variable)
    if variable.space == SHARED and assembly.parts.names_shared:
        # one whose size is known at the launch stands behind the others, if there are others
        if assembly.parts.for_debugger or section.has_symbol is None:
            size, value = _size(variable), offset
            symbol = shared_symbol(assembly, variable.name, size, value, variable.binding)
            symbol.section = section
            assembly.add_symbol(symbol, variable.binding)
        elif assembly.parts.makes_linker_names:
            is_last = assembly.parts.written.notes
            (assembly.globals if is_last else assembly.history).append(Dropped(variable.name))
    else:
        add_variable_symbol(assembly, variable, section, offset)


def _place(assembly: Assembly, variable: Variable) -> tuple[Section, int]:
    """Section and offset of a variable; the first one there makes the section."""
    if variable.name not in assembly.places:
        name = _section_of(assembly, variable)
        _add_variable_section(assembly, name)
        if name == _UNIFIED:
            _add_entries(assembly, _DATA_ENTRIES, SHT_CUDA_UDT_ENTRY)
    return assembly.places[variable.name]


def add_late(assembly: Assembly, name: str) -> None:
    """Make the symbol of a variable that waits for what it holds the address of."""
    variable = assembly.late.pop(name, None)
    if variable is not None:
        add_variable_symbol(assembly, variable, *_place(assembly, variable))


def _add_module_shared(assembly: Assembly) -> None:
    """Make the module's shared memory, or leave its name, if kernels have all of it."""
    if _MODULE_SHARED in assembly.by_name:
        return
    if all(one.function for one in assembly.parts.variables if one.space == SHARED):
        assembly.drop_section(_MODULE_SHARED)
        assembly.by_name[_MODULE_SHARED] = Symbol(_MODULE_SHARED, 0)
    else:
        _add_variable_section(assembly, _MODULE_SHARED)


def _add_moved_shared(assembly: Assembly, variable: Variable) -> None:
    """Make the symbol of a variable in the memory of a kernel.

    For debuggers it is made here, else not before that memory; older toolkits leave its name alone.
    """
    if assembly.parts.for_debugger and not assembly.parts.written.names_moved_shared:
        assembly.drop_name(variable.name)
        return
    value = variable.offset or 0
    symbol = shared_symbol(assembly, variable.name, variable.size, value, variable.binding)
    section = assembly.by_name.get(f".nv.shared.{variable.function}")
    is_made = assembly.parts.for_debugger or section is not None
    if is_made:
        assembly.add_symbol(symbol, variable.binding)
    if isinstance(section, Section):
        symbol.section = section
    else:
        assembly.waiting_shared.append((variable, symbol, is_made))


def add_waiting_shared(assembly: Assembly, function: Function, section: Section) -> None:
    """Give the module's variables that stand in the memory of a kernel their section."""
    for variable, symbol, is_made in assembly.waiting_shared:
        if variable.function == function.name:
            symbol.section = section
            if not is_made:
                assembly.add_symbol(symbol, variable.binding)


def shared_symbol(assembly: Assembly, name: str, size: int, value: int, binding: str) -> Symbol:
    """The symbol of a shared variable in a file that is not relocatable."""
    kind, other = STT_CUDA_OBJECT, space_of(SHARED)
    if assembly.final:
        kind, other = STT_OBJECT, 0
        value += assembly.target.family.reserved_shared
    if not assembly.parts.for_debugger:
        other |= STV_INTERNAL
    return Symbol(name, symbol_info(binding_of(binding), kind), other, 0, value, size)


def mention_in_data(assembly: Assembly, sections: list[tuple[Section, list[Relocation]]]) -> None:
    """Make the symbols that sections of data name: those of the variable declared first, first."""
    if not sections:
        return
    order = {one.name: number for number, one in enumerate(assembly.parts.variables)}
    of_variables: dict[str, int] = {}
    for one, number in zip(assembly.parts.variables, order.values(), strict=True):
        for row in one.relocations:
            of_variables.setdefault(row.symbol, number)
    waiting = {variable.relocations[0].symbol for variable in assembly.late.values()}
    for _, relocations in sections:
        for row in sorted(relocations, key=lambda row: of_variables.get(row.symbol, len(order))):
            if row.symbol not in assembly.undefined and row.symbol not in waiting:
                assembly.mention(row.symbol)


def is_late(variable: Variable) -> bool:
    """Whether its symbol is made where code first needs it: it holds a helper symbol's address."""
    return variable.space == ADDRESS and variable.relocations[0].symbol in UNIFIED_SYMBOLS


def _is_of_other_function(assembly: Assembly, variable: Variable) -> bool:
    """Whether it holds the address of a function, and its symbol is made with that function.

    That of the first function, of a unified one and of one whose address is taken is made at once.
    """
    parts = assembly.parts
    if variable.space != ADDRESS:
        return False
    symbol = variable.relocations[0].symbol
    first = parts.functions[:1]
    calls = assembly.call_tree.calls
    if not parts.is_optimized and any(symbol in calls.get(one.name, ()) for one in first):
        return False
    if symbol in assembly.undefined:
        # those that the first function calls are made at once
        is_early = any(symbol in function.externs for function in first)
        return not is_early and any(symbol in one.externs for one in parts.functions)
    if not parts.relocatable:
        return False
    function = assembly.functions.get(symbol)
    if function is None or function.unified is not None:
        return False
    if function is parts.functions[0] and not assembly.is_library:
        return False
    return all(name != symbol for kind, name, _ in parts.edges if kind == ADDRESS_TAKEN)


def add_address(assembly: Assembly, function: str) -> None:
    """Make the symbol of the constant with the address of a function, if it waits for that."""
    add_late(assembly, ADDRESS_PREFIX + function)


def add_helper_address(assembly: Assembly, name: str) -> None:
    """Make the symbol of a table of unified functions, or of the constant with its address."""
    if assembly.parts.position_independent and name in UNIFIED_SYMBOLS:
        add_unified(assembly, name)
    variable = assembly.late.get(name)
    if variable is not None:
        add_unified(assembly, variable.relocations[0].symbol)
        add_late(assembly, name)


def add_variable_symbol(
    assembly: Assembly, variable: Variable, section: Section | int, offset: int
) -> None:
    """Make the symbol of a variable."""
    other = STO_CUDA_MANAGED if variable.managed else 0
    other |= STO_CUDA_UNIFIED_OBJECT if variable.unified is not None else 0
    kind = STT_OBJECT
    is_address = variable.space == ADDRESS
    other |= STV_INTERNAL if is_address else 0
    if assembly.keeps_memory:
        kind = STT_CUDA_OBJECT
        other |= space_of("constant" if is_address else variable.space)
    info = symbol_info(binding_of(variable.binding), kind)
    symbol = Symbol(variable.name, info, other, section, offset, _size(variable))
    assembly.add_symbol(symbol, variable.binding)


def _section_of(assembly: Assembly, variable: Variable) -> str:
    if variable.space == ADDRESS and (assembly.relocatable or assembly.parts.keeps_relocations):
        return ADDRESSES
    if variable.space == "constant":
        return ".nv.constant3"
    if variable.unified is not None and assembly.relocatable:
        return _UNIFIED
    if variable.space == "global":
        return ".nv.global" if variable.data is None else ".nv.global.init"
    has_shared = assembly.relocatable or assembly.parts.names_shared
    if variable.space == SHARED and has_shared and variable.data is None:
        return _MODULE_SHARED
    raise BadStructureError(
        f"no such variable can stand in {variable.space!r}",
        field=variable.name,
        expected="global, constant, texture, sampler, surface; shared, address if relocatable",
    )


def _add_variable_section(assembly: Assembly, name: str) -> None:
    variables = [
        one
        for one in assembly.parts.variables
        if not one.common
        and not one.function
        and one.space not in SYMBOL_TYPES
        and _section_of(assembly, one) == name
    ]
    data = bytearray()
    end = 0
    relocations: list[Relocation] = []
    places = []
    for variable in variables:
        at = align_up(end, variable.align) if variable.offset is None else variable.offset
        size = _size(variable)
        end = max(end, at + size) if size else end
        if name not in _WITHOUT_BYTES:
            missing = max(end - len(data), 0)
            assembly.budget.spend("zeros", missing)
            data.extend(bytes(missing))
            data[at : at + size] = bytes(size) if variable.data is None else variable.data
        places.append((variable.name, at))
        # ptxas goes through initial contents from the last variable to the first
        at_place = 0 if name != ADDRESSES else len(relocations)
        relocations[at_place:at_place] = [
            replace(one, offset=at + one.offset) for one in variable.relocations
        ]
    if name == _MODULE_SHARED:
        end = _module_shared_size(assembly, variables, end)
        end += assembly.target.family.reserved_shared if assembly.final else 0
    relocatable, executable, flags = _DATA_SECTIONS[name]
    section = assembly.add_section(
        name,
        assembly.type_of(relocatable, executable),
        bodies.NoBytes(end) if name in _WITHOUT_BYTES else bodies.Blob(bytes(data)),
        flags,
        max(variable.align for variable in variables),
    )
    if name == _MODULE_SHARED and assembly.parts.names_shared and not any(map(_size, variables)):
        section.has_symbol = False
    assembly.places |= {variable: (section, at) for variable, at in places}
    assembly.data_sections.append((section, relocations))
    if any(variable.mercury_relocations for variable in variables):
        _keep_mercury_contents(assembly, section, bytes(data), variables)
    if any(variable.resolved for variable in variables):
        _note_resolved(assembly, section, variables)


def _note_resolved(assembly: Assembly, section: Section, variables: list[Variable]) -> None:
    """Note what the names in the file tell of relocations that are all applied."""
    assembly.resolved.add(id(section))
    named = [name for variable in reversed(variables) for name in variable.function_ids]
    assembly.function_ids[id(section)] = named
    given = [prefix for variable in variables for prefix in variable.resolved_sections]
    assembly.resolved_prefixes[id(section)] = tuple(dict.fromkeys(given))


def _module_shared_size(assembly: Assembly, variables: list[Variable], end: int) -> int:
    """The size of the module's shared memory, which ends with its last variable that has a size.

    Where a linker places the variables it is that of all of them, and so many bytes more as they
    are aligned to, if they are no more than that.
    """
    if not assembly.relocatable:
        return end
    size = sum(_size(variable) for variable in variables)
    align = max(variable.align for variable in variables)
    return size + align if size <= align else size


def _keep_mercury_contents(
    assembly: Assembly, section: Section, data: bytes, variables: list[Variable]
) -> None:
    """Note what the Mercury half has in place of some data, from the last variable to the first."""
    contents = bytearray(data)
    relocations: list[Relocation] = []
    for variable in reversed(variables):
        _, at = assembly.places[variable.name]
        if variable.mercury is not None:
            contents[at : at + len(variable.mercury)] = variable.mercury
        relocations += [
            replace(one, offset=at + one.offset) for one in variable.mercury_relocations
        ]
    assembly.mercury_contents[id(section)] = bytes(contents), relocations


def _size(variable: Variable) -> int:
    return variable.size if variable.data is None else len(variable.data)
