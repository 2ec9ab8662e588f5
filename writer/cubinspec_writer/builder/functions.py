"""The sections and symbols of one function, in the order in which ptxas makes them."""

from __future__ import annotations

from dataclasses import replace

from cubinspec.errors import BadStructureError
from cubinspec.format.packing import symbol_info
from cubinspec.format.sections import mercury_name
from cubinspec_generated.codes import (
    SHF_ALLOC,
    SHF_BARRIERS_SHIFT,
    SHF_EXECINSTR,
    SHF_INFO_LINK,
    SHF_WRITE,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_CONSTANT_B2,
    SHT_CUDA_INFO,
    SHT_CUDA_SHARED,
    SHT_CUDA_UFT,
    SHT_NOBITS,
    SHT_PROGBITS,
    STB_WEAK,
    STO_CUDA_CONSTANT,
    STO_CUDA_SPACE_SHIFT,
    STT_CUDA_OBJECT,
    STT_FUNC,
    STT_OBJECT,
    STV_INTERNAL,
)
from cubinspec_writer.builder.assembly import RESERVED_CAP, ImageBank
from cubinspec_writer.builder.data import (
    ADDRESSES,
    add_address,
    add_banks,
    add_helper_address,
    add_late_shared,
    add_module,
    add_unified_function,
    add_waiting_shared,
    mention_in_data,
    shared_symbol,
)
from cubinspec_writer.builder.images import (
    SYMBOL_TYPES,
    handle_names,
    index_relocations,
    module_table_size,
    scoped,
    scoped_rows,
    shared_handle_names,
    table_start,
    unscoped,
)
from cubinspec_writer.builder.parts import (
    ADDRESS_PREFIX,
    GLOBAL,
    INSTANCE,
    LOCAL,
    SPACES,
    Parameter,
    SharedVariable,
    binding_of,
    param_base,
    placed,
)
from cubinspec_writer.builder.records import function_records
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.model import Dropped, Section, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.builder.assembly import Assembly
    from cubinspec_writer.builder.parts import Function, Inner, Relocation

_TEXT_ALIGN = 128
#: The finalizer makes the bank of a kernel with images under this name.
IMAGE_INDICES = ".nv.constant.entry_image_header_indices."
#: Names of the two parts of the bank of parameters.
_PARAMETERS, _SPECIAL = "_param", "_SREG"
#: st_other of the symbols that stand for parts of constant banks.
_BANK_PART = STO_CUDA_CONSTANT << STO_CUDA_SPACE_SHIFT | STV_INTERNAL


def add_function(assembly: Assembly, function: Function, *, first: bool) -> None:
    """Make everything of a function, and behind the first one everything of the module."""
    name = function.name
    text = _add_code(assembly, function)
    parts = assembly.parts
    known = 0 if first else len(assembly.data_sections)
    if not function.kernel:
        _add_needed(assembly, function, first=first)
    has_own = any(one.owner == name for one in assembly.shared_of.get(name, ()))
    is_early = has_own or not (assembly.has_kernel and parts.is_optimized)
    if function.reserved_cap and is_early and not function.kernel:
        assembly.mention(RESERVED_CAP)
    has_facts = function.kernel or function.attributes or function.exit_offsets
    is_info_last = not has_facts and not assembly.parts.written.notes
    if not is_info_last:
        _add_info(assembly, function)
    shared = None
    if function.kernel or function.shared is not None:
        shared = _add_shared(assembly, function)
    if function.kernel:
        _add_needed(assembly, function, first=first)
    _mention_others(assembly, function, text, known, first=first)
    if function.constants is None and function.constants_symbol is not None:
        assembly.drop_section(_constants_made_as(assembly, function))
        assembly.drop_name(function.constants_symbol)
    is_named = any(row.symbol == function.constants_symbol for row in function.relocations)
    if not is_named and not function.constants_last:
        _add_constants(assembly, function)
    if function.reserved_cap:
        assembly.mention(RESERVED_CAP)
    has_notes = assembly.parts.written.notes
    add_inner(assembly, text, [one for one in function.inner if one.size or has_notes])
    _Relocations(assembly, function, text, shared).add()
    _add_constants(assembly, function)
    constants = assembly.by_name.get(f".nv.constant2.{name}")
    if function.jump_tables and isinstance(constants, Section):
        assembly.add_relocations(".rela", constants, [])
    elif function.jump_tables:
        made_as = _constants_made_as(assembly, function)
        if function.constants_symbol is not None:
            assembly.drop_section(".rela" + made_as)
        if assembly.parts.keeps_relocations:
            assembly.drop_section(".nv.resolvedrela" + made_as)
    if function.kernel:
        _add_parameters(assembly, function)
    if is_info_last:
        _add_info(assembly, function)


def _add_needed(assembly: Assembly, function: Function, *, first: bool) -> None:
    """Make what a function is the first to need of the module: all of it, with the first one."""
    parts = assembly.parts
    if not first:
        add_banks(assembly, function.name)
    elif not assembly.is_library:
        add_module(assembly)
    add_late_shared(assembly, function)
    called = [] if parts.is_optimized else assembly.call_tree.calls.get(function.name, [])
    helpers = [] if parts.is_optimized else function.mentioned
    for name in (*helpers, *function.externs, *called):
        if not parts.is_optimized:
            add_helper_address(assembly, name)
        add_address(assembly, name)


def _mention_others(
    assembly: Assembly, function: Function, text: Section, known: int, *, first: bool
) -> None:
    """Make the symbols that a function and the data behind it need, before its relocations do.

    Args:
        text: the section of its code.
        known: how many sections of data were there before.
    """
    parts, data = assembly.parts, assembly.data_sections[known:]
    for name in (*[row.symbol for row in function.relocations], *function.mentioned):
        asked = assembly.undefined.get(name)
        if asked is not None and asked.is_size:
            assembly.mention(name)
    if parts.is_optimized:
        mention_in_data(assembly, data)
    elif function.reserved_cap:
        assembly.mention(RESERVED_CAP)
    for extern in function.externs:
        assembly.mention(extern)
    if parts.is_optimized:
        return
    called = assembly.call_tree.calls.get(function.name, [])
    # functions whose addresses are constants wait for the code that calls them
    mention_in_data(assembly, [one for one in data if one[0].name != ADDRESSES])
    for name in called:
        own = assembly.functions.get(name)
        if own is not None and own.binding == GLOBAL:
            assembly.mention(name)
    inner = {one.name: one for one in function.inner}
    for name in (*function.mentioned, *(parts.tool_functions if first else ())):
        if name in inner:
            add_inner(assembly, text, [inner[name]])
        assembly.mention(name)
    for name in called:
        assembly.mention(name)
    for one in parts.functions if first else ():
        if one.unified is not None:
            assembly.mention(one.name)


def _add_code(assembly: Assembly, function: Function) -> Section:
    """Make the symbol of a function and the section of its code."""
    is_known = function.name in assembly.by_name
    symbol = assembly.function_symbol(function)
    flags = SHF_ALLOC | SHF_EXECINSTR
    code = bodies.Blob(function.code)
    text = assembly.add_section(function.section, SHT_PROGBITS, code, flags, _TEXT_ALIGN)
    if function.stub_of:
        text.sh_type, text.sh_entsize = SHT_CUDA_UFT, len(function.code)
    symbol.section = text
    if function.unified is not None:
        add_unified_function(assembly, symbol, is_known=is_known)
    add_address(assembly, function.name)
    text.registers = 0 if assembly.finalizer else function.registers
    if not assembly.parts.written.notes:
        text.sh_flags |= function.barriers << SHF_BARRIERS_SHIFT
    return text


def _add_info(assembly: Assembly, function: Function) -> None:
    """Make the attributes of a function; older toolkits do this last where code gives none."""
    records = function_records(assembly, function)
    info = assembly.add_section(
        f".nv.info.{function.name}", SHT_CUDA_INFO, bodies.InfoRecords(records), SHF_INFO_LINK, 4
    )
    assembly.infos.append((function, info))


def add_inner(assembly: Assembly, text: Section, parts: list[Inner]) -> None:
    """Make the symbols of functions inside the code of another."""
    for inner in parts:
        if inner.name in assembly.by_name:
            continue
        st_info = symbol_info(binding_of(inner.binding), STT_FUNC)
        part = Symbol(inner.name, st_info, 0, text, inner.value, inner.size)
        assembly.add_symbol(part, inner.binding)


def add_alias(assembly: Assembly, alias: str, name: str) -> None:
    """Make the second symbol of a function.

    Raises:
        CubinError: the file has no such function, or something of this name.
    """
    function = assembly.functions.get(name)
    if function is None or alias in assembly.by_name:
        raise BadStructureError(
            f"{alias!r} as another name of {name!r}",
            expected="a name that nothing else has, of a function of the file",
        )
    symbol = assembly.function_symbol(function)
    second = Symbol(alias, symbol.st_info, symbol.st_other, symbol.section)
    assembly.add_symbol(second, function.binding)


def _add_shared(assembly: Assembly, function: Function) -> Section | None:
    name = f".nv.shared.{function.name}"
    if function.shared is None:
        assembly.drop_section(name)
        return None
    size = function.shared
    if assembly.final:
        size += assembly.target.family.reserved_shared
    section = assembly.add_section(
        name,
        assembly.type_of(SHT_CUDA_SHARED, SHT_NOBITS),
        bodies.NoBytes(size),
        SHF_WRITE | SHF_ALLOC | SHF_INFO_LINK,
        function.shared_align,
    )
    if not function.shared and not assembly.relocatable:
        section.has_symbol = False
    add_waiting_shared(assembly, function, section)
    return section


def _add_constants(assembly: Assembly, function: Function) -> None:
    """Make the constants of a function, with the first relocation that names them if one does."""
    name = f".nv.constant2.{function.name}"
    if function.constants is None or name in assembly.by_name:
        return
    section = assembly.add_section(
        name,
        assembly.type_of(SHT_CUDA_CONSTANT_B2, SHT_PROGBITS),
        bodies.Blob(function.constants),
        SHF_ALLOC | SHF_INFO_LINK,
        function.constants_align,
    )
    assembly.data_sections.append((section, function.constants_relocations))
    if function.constants_resolved and not function.jump_tables:
        assembly.resolved.add(id(section))
    if function.constants_symbol is not None:
        starts = [place for place, _ in function.constants_parts.values()]
        size, name = function.constants_own, function.constants_symbol
        if size is None:
            size = min([len(function.constants), *starts])
        if not assembly.relocatable and not assembly.parts.keeps_relocations:
            assembly.drop_name(name)
            return
        assembly.add_symbol(_bank_part(assembly, name, section, 0, size), LOCAL)
        named = {row.symbol for row in function.relocations}
        for part, place in function.constants_parts.items():
            if part not in named:
                # all relocations that name it are applied
                assembly.add_symbol(_bank_part(assembly, part, section, *place), LOCAL)


def _constants_made_as(assembly: Assembly, function: Function) -> str:
    """The name that the constants of a function have while the file is made."""
    name = f".nv.constant2.{function.name}"
    return (mercury_name(name) if assembly.finalizer else None) or name


def _own_instance(
    assembly: Assembly, function: Function, rows: list[Relocation]
) -> list[Relocation]:
    """Relocations whose symbol for shared memory of dynamic size is the one of this kernel."""
    if all(row.symbol != INSTANCE for row in rows):
        return rows
    # all of them have one name in the file
    own = _instance_of(function)
    info, other = symbol_info(STB_WEAK, STT_CUDA_OBJECT), SPACES["shared"] | STV_INTERNAL
    symbol = Symbol(INSTANCE, info, other, st_value=function.shared or 0)
    assembly.by_name[own] = symbol
    assembly.instances.append(symbol)
    return instance_rows(function, rows)


def instance_rows(function: Function, rows: list[Relocation]) -> list[Relocation]:
    """Relocations that name the shared memory of dynamic size of this kernel."""
    own = _instance_of(function)
    return [replace(row, symbol=own) if row.symbol == INSTANCE else row for row in rows]


def _instance_of(function: Function) -> str:
    return f"{INSTANCE}\n{function.name}"


def _bank_part(assembly: Assembly, name: str, section: Section, value: int, size: int) -> Symbol:
    """The symbol that stands for a part of a constant bank."""
    kind, other = STT_CUDA_OBJECT, _BANK_PART
    if assembly.final:
        kind, other = STT_OBJECT, STV_INTERNAL
    return Symbol(name, kind, other, section, value, size)


class _Relocations:
    """Makes the relocation sections of code, and the symbols that its relocations name first."""

    def __init__(
        self, assembly: Assembly, function: Function, text: Section, shared: Section | None
    ) -> None:
        self.assembly = assembly
        self.function = function
        self.text = text
        self.shared = shared
        #: Variables in shared memory that have no symbol yet.
        self.unnamed: dict[str, SharedVariable | Parameter] = {
            variable.name: variable for variable in function.shared_variables
        }
        self.unnamed |= {
            scoped(function.name, parameter.name): parameter
            for parameter in function.parameters
            if parameter.image
        }
        self.images = {scoped(function.name, one.name) for one in function.parameters if one.image}
        rows = scoped_rows(function, function.relocations)
        self.relocations = _own_instance(assembly, function, rows)
        #: ``.rel`` and ``.rela``, in the order in which they were made.
        self.made: list[str] = []

    def add(self) -> None:
        assembly, function = self.assembly, self.function
        for name in function.mentioned:
            assembly.mention(name)
            add_helper_address(assembly, name)
        if function.constants_first:
            _add_constants(assembly, function)
        for relocation in self.relocations:
            self._name_used(relocation.offset)
            if relocation.symbol == function.constants_symbol:
                _add_constants(assembly, function)
            self._name_constants(relocation.symbol)
            self._name_variable(relocation.symbol)
            assembly.mention(relocation.symbol)
            add_helper_address(assembly, relocation.symbol)
            self._add_section(".rel" if not relocation.addend else ".rela")
            is_of_bank = relocation.symbol.startswith(ADDRESS_PREFIX)
            if assembly.finalizer and (is_of_bank or relocation.symbol in self.images):
                # one has an addend until the finalizer has read it
                self._add_section(".rela")
        if assembly.relocatable:
            self._name_variables()
        if not self.relocations and not assembly.finalizer:
            self._name_used(len(function.code))
        for prefix in () if self.relocations else function.resolved_sections:
            if prefix not in self.made:
                assembly.drop_section(prefix + self.text.name)
            if not assembly.finalizer:
                assembly.keep_none(self.text)
        if function.resolved_sections and not self.relocations:
            assembly.keep_none(self.text)
        if function.resolved and not self.made and not function.resolved_sections:
            self._add_resolved()
        if assembly.finalizer and self.made == [".rel"]:
            self._add_section(".rela")
        self._name_variables()

    def _add_resolved(self) -> None:
        """Make the relocations that are all applied; before sm_90 only names tell of them."""
        assembly = self.assembly
        if assembly.finalizer:
            self._add_section(".rel")
        elif not self.function.kernel:
            prefixes = (".rela", ".rel") if assembly.parts.extensible else (".rel",)
            for prefix in prefixes:
                assembly.drop_section(prefix + self.text.name)

    def _name_used(self, offset: int) -> None:
        """Name variables that the code in front of a place uses by applied relocations."""
        for name, part in list(self.unnamed.items()):
            used_at = part.used_at if isinstance(part, SharedVariable) else None
            if used_at is not None and used_at <= offset:
                self._name_variable(name)
                self._add_section(".rel")

    def _name_constants(self, name: str) -> None:
        """Make the symbol of what an inner function brought to the constants."""
        assembly, place = self.assembly, self.function.constants_parts.get(name)
        section = assembly.by_name.get(f".nv.constant2.{self.function.name}")
        if place is not None and isinstance(section, Section) and name not in assembly.by_name:
            assembly.add_symbol(_bank_part(assembly, name, section, *place), LOCAL)

    def _name_variables(self) -> None:
        for name in list(self.unnamed):
            self._name_variable(name)

    def _name_variable(self, name: str) -> None:
        part = self.unnamed.pop(name, None)
        if part is None:
            return
        if isinstance(part, Parameter):
            known = self.assembly.image_parameters
            symbol = known.get(part.name)
            if symbol is None:
                symbol = Symbol(part.name, SYMBOL_TYPES[part.image], 0, self.text)
                known[part.name] = symbol
                self.assembly.history.append(symbol)
            self.assembly.by_name[name] = symbol
            return
        if self.shared is None:
            raise BadStructureError(f"{name!r} has no shared memory", field=self.function.name)
        space = SPACES["shared"]
        kind, value = STT_CUDA_OBJECT, part.value
        if self.assembly.parts.names_shared:
            symbol = shared_symbol(self.assembly, name, part.size, value, part.binding)
            symbol.section = self.shared
        elif self.assembly.relocatable:
            info = symbol_info(binding_of(part.binding), kind)
            symbol = Symbol(name, info, space, self.shared, value, part.size)
        else:
            self.assembly.drop_name(name)
            return
        self.assembly.add_symbol(symbol, part.binding)

    def _add_section(self, prefix: str) -> None:
        if prefix not in self.made:
            self.made.append(prefix)
            self.assembly.add_relocations(prefix, self.text, self.relocations)


def _add_parameters(assembly: Assembly, function: Function) -> None:
    _, size = placed(function)
    base = param_base(assembly.target, size)
    end = base + size
    start = end
    if function.images:
        start = table_start(assembly, function)
        end = start + module_table_size(assembly, function)
    section = assembly.make_section(
        f".nv.constant0.{function.name}",
        assembly.type_of(SHT_CUDA_CONSTANT_B0, SHT_PROGBITS),
        bodies.Blob(bytes(end)),
        SHF_ALLOC | SHF_INFO_LINK,
        4,
    )
    assembly.parameter_banks[function.name] = section
    rows = _index_rows(assembly, function, section, start) if function.images else []
    if assembly.finalizer:
        _place_bank(assembly, function, section, rows)
        return
    assembly.history.append(section)
    if not assembly.relocatable:
        has_notes = assembly.parts.written.notes
        if assembly.parts.has_call_graph or assembly.parts.keeps_relocations:
            _name_indices(assembly, section, rows)
        elif has_notes:
            return
        if not assembly.parts.keeps_relocations:
            if assembly.parts.extensible or not has_notes:
                assembly.drop_name(_PARAMETERS if function.parameters else _SPECIAL)
                _name_handles(assembly, function)
            return
    part = _bank_part(assembly, _PARAMETERS, section, base, size)
    if not function.parameters:
        part = _bank_part(assembly, _SPECIAL, section, 0, base)
    assembly.history.append(part)
    if assembly.parts.extensible:
        _name_handles(assembly, function)


def _index_rows(
    assembly: Assembly, function: Function, section: Section, start: int
) -> list[Relocation]:
    """The relocations of a kernel's indices of images, which stand from `start` on in its bank."""
    rows = index_relocations(assembly, function, start, assembly.target.family)
    if assembly.parts.names_shared:
        # a parameter that another kernel has, too, was filled in there
        own, known = scoped(function.name, ""), assembly.indexed
        rows = [
            row
            for row in rows
            if not (row.symbol.startswith(own) and unscoped(row.symbol) in known)
        ]
        known |= {unscoped(row.symbol) for row in rows}
    if assembly.finalizer or not assembly.parts.names_shared:
        assembly.image_banks.append(ImageBank(function, section, start, rows))
    return rows


def _place_bank(
    assembly: Assembly, function: Function, section: Section, rows: list[Relocation]
) -> None:
    """Put a parameter bank where the finalizer makes it."""
    if function.images and assembly.parts.names_shared:
        # in the place of a kernel without images
        _defer_indices(assembly, section, function, rows)
    elif assembly.mixes_images:
        name = IMAGE_INDICES + function.name
        # symbols are named the other way round
        assembly.deferred.append(Dropped(".rela" + name))
        assembly.deferred += [Dropped(one, in_shstrtab=True) for one in (name, ".rela" + name)]
        assembly.last.append(section)
    elif function.images:
        section.made_as = IMAGE_INDICES + function.name
        assembly.history.append(section)
        if assembly.parts.has_call_graph:
            assembly.drop_section(f".rela{section.name}", ".rela" + section.made_as)
        _name_handles(assembly, function)
    elif assembly.parts.names_shared and not assembly.parts.has_call_graph:
        assembly.last.append(section)
    else:
        assembly.deferred.append(section)


def _defer_indices(
    assembly: Assembly, section: Section, function: Function, rows: list[Relocation]
) -> None:
    """Make the bank of a kernel with images last of all, with its relocations behind it.

    Of a bank whose images another kernel has, too, there are none.
    """
    section.made_as = IMAGE_INDICES + function.name
    assembly.deferred.append(section)
    assembly.kept.add(id(section))
    name = ".rela" + section.made_as
    if not rows:
        assembly.deferred.append(Dropped(name, in_shstrtab=True))
    else:
        assembly.deferred.append(assembly.take(".rela", section, rows))


def _name_indices(assembly: Assembly, bank: Section, rows: list[Relocation]) -> None:
    """Leave the name of the relocations of a bank, or make them where indices share a table."""
    if rows and assembly.parts.names_shared:
        assembly.kept.add(id(bank))
        assembly.add_relocations(".rel", bank, rows)
        made = assembly.history[-1]
        assert isinstance(made, Section)
        made.sh_flags = 0
    else:
        assembly.drop_section(f".rel{bank.name}")


def name_all_handles(assembly: Assembly) -> None:
    """Leave the names that extensible programs make for images where kernels share a table."""
    parts = assembly.parts
    names = shared_handle_names(parts)
    if not names or not (parts.makes_linker_names and parts.names_shared):
        return
    assembly.drop_section(IMAGE_INDICES[:-1] if assembly.finalizer else ".nv.constant0")
    for name in names:
        assembly.drop_name(name)


def _name_handles(assembly: Assembly, function: Function) -> None:
    parts = assembly.parts
    if (parts.extensible or parts.states_stacks) and not parts.names_shared:
        for name in handle_names(function):
            assembly.drop_name(name)
