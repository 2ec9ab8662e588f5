"""The attribute records of a file, from its functions."""

from __future__ import annotations

from struct import pack

from cubinspec_generated.codes import (
    EIATTR_CBANK_PARAM_SIZE,
    EIATTR_CUDA_API_VERSION,
    EIATTR_EXIT_INSTR_OFFSETS,
    EIATTR_EXTERNS,
    EIATTR_FRAME_SIZE,
    EIATTR_GEN_ERRBAR_AT_EXIT,
    EIATTR_KPARAM_INFO,
    EIATTR_KPARAM_INFO_V2,
    EIATTR_MAX_STACK_SIZE,
    EIATTR_MAX_THREADS,
    EIATTR_MAXREG_COUNT,
    EIATTR_MERCURY_ISA_VERSION,
    EIATTR_MIN_STACK_SIZE,
    EIATTR_NUM_BARRIERS,
    EIATTR_PARAM_CBANK,
    EIATTR_REGCOUNT,
    EIATTR_REQNTID,
    EIATTR_SPARSE_MMA_MASK,
    EIATTR_STUB_FUNCTION_KIND,
    EIATTR_TEXMODE_INDEPENDENT,
    EIATTR_VRC_CTA_INIT_COUNT,
    EMFMT_STRING,
    EMFMT_WORD,
    KPARAM_INFO_CBANK_SHIFT,
    KPARAM_INFO_IS_SMEM,
    KPARAM_INFO_LOG_ALIGNMENT_SHIFT,
    KPARAM_INFO_MOST,
    KPARAM_INFO_SIZE_SHIFT,
    KPARAM_INFO_SPACE_SHIFT,
    KPARAM_INFO_V2_LOG_ALIGNMENT_SHIFT,
    KPARAM_INFO_V2_SPACE_SHIFT,
    KPARAM_NO_OFFSET,
    METADATA_END,
)
from cubinspec_generated.codes_enums import STUB_FUNCTION_KIND_FUNC_UFT_STUB
from cubinspec_generated.records import (
    DIM3,
    FUNCTION_VALUE,
    KPARAM_INFO,
    KPARAM_INFO_V2,
    PARAM_CBANK,
    SINGLE_WORD,
)
from cubinspec_writer.builder import attributes, facts
from cubinspec_writer.builder.attributes import record_code
from cubinspec_writer.builder.images import PARAMETER_SPACES, sampler_rows, scoped
from cubinspec_writer.builder.parts import UNKNOWN_STACK, param_base, placed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cubinspec.format.targets import Target
    from cubinspec_writer.builder.assembly import Assembly
    from cubinspec_writer.builder.parts import CubinParts, Function, Parameter
    from cubinspec_writer.emitter.bodies import AttributeRecord, MetadataNode


def function_records(
    assembly: Assembly, function: Function, replaced: Sequence[AttributeRecord] = ()
) -> list[AttributeRecord]:
    """``.nv.info.<f>``; symbol numbers are filled in later.

    Args:
        replaced: further records, which replace others by code.
    """
    finalizer, calls = assembly.finalizer, assembly.call_tree
    given = {record_code(record) for record in replaced}
    records = [one for one in _own_records(assembly, function) if record_code(one) not in given]
    records += replaced
    records.sort(key=lambda record: attributes.rank(record_code(record), finalizer=finalizer))
    last = calls.added_records(function)
    masks = [one for one in records if record_code(one) == EIATTR_SPARSE_MMA_MASK]
    for mask in masks[1:]:
        # ptxas -g adds it for the other name of a function
        records.remove(mask)
        last.append(mask)
    if calls.are_externs_late(function):
        last.append(_externs_record(assembly, function))
    attributes.add_late(records, last, finalizer=finalizer)
    return records


def _externs_record(assembly: Assembly, function: Function) -> AttributeRecord:
    names = [*function.externs, *assembly.call_tree.inherited_externs(function)]
    return attributes.sized(EIATTR_EXTERNS, bytes(SINGLE_WORD.size * len(names)))


def _own_records(assembly: Assembly, function: Function) -> list[AttributeRecord]:
    """All but what is added behind them, in no order."""
    parts, goal, calls = assembly.parts, assembly.target, assembly.call_tree
    family, sized, half = goal.family, attributes.sized, attributes.half
    records = facts.workarounds(goal)
    if function.stub_of:
        records.append(half(EIATTR_STUB_FUNCTION_KIND, STUB_FUNCTION_KIND_FUNC_UFT_STUB))
    else:
        records.append(sized(EIATTR_CUDA_API_VERSION, SINGLE_WORD.pack(parts.toolkit)))
    if parts.written.notes:
        records.append(half(EIATTR_MERCURY_ISA_VERSION, family.mercury_isa))
    if family.sparse_mma_mask and not function.stub_of:
        records.append(half(EIATTR_SPARSE_MMA_MASK, 0))
    if family.vrc_cta_init_count:
        records.append(attributes.byte(EIATTR_VRC_CTA_INIT_COUNT, 0))
    if function.kernel:
        records.append(half(EIATTR_MAXREG_COUNT, function.max_registers))
        records += _parameter_records(goal, function)
    has_externs = function.externs or calls.inherited_externs(function)
    if has_externs and not calls.are_externs_late(function):
        records.append(_externs_record(assembly, function))
    if function.barriers and parts.written.notes:
        records.append(attributes.byte(EIATTR_NUM_BARRIERS, calls.barriers(function)))
    if function.exit_offsets:
        payload = pack(f"<{len(function.exit_offsets)}I", *function.exit_offsets)
        records.append(sized(EIATTR_EXIT_INSTR_OFFSETS, payload))
    if function.max_threads is not None:
        records.append(sized(EIATTR_MAX_THREADS, DIM3.pack(*function.max_threads)))
    if function.required_threads is not None:
        records.append(sized(EIATTR_REQNTID, DIM3.pack(*function.required_threads)))
    given = {record_code(record) for record in function.attributes}
    records = [record for record in records if record_code(record) not in given]
    return records + function.attributes


def _parameter_records(goal: Target, function: Function) -> list[AttributeRecord]:
    if not function.parameters:
        return []
    offsets, size = placed(function)
    base = param_base(goal, size)
    records: list[AttributeRecord] = [
        attributes.sized(EIATTR_PARAM_CBANK, PARAM_CBANK.pack(0, base, size)),
        attributes.half(EIATTR_CBANK_PARAM_SIZE, size),
    ]
    for ordinal in reversed(range(len(offsets))):
        parameter = function.parameters[ordinal]
        if size > KPARAM_INFO_MOST:
            records.append(_large_parameter(ordinal, offsets[ordinal], parameter))
            continue
        bits = (
            parameter.size << KPARAM_INFO_SIZE_SHIFT
            | (KPARAM_INFO_IS_SMEM if parameter.is_smem else 0)
            | parameter.cbank << KPARAM_INFO_CBANK_SHIFT
            | (PARAMETER_SPACES[parameter.image] if parameter.image else parameter.space)
            << KPARAM_INFO_SPACE_SHIFT
            | parameter.log_alignment << KPARAM_INFO_LOG_ALIGNMENT_SHIFT
        )
        offset = KPARAM_NO_OFFSET if parameter.image else offsets[ordinal]
        payload = KPARAM_INFO.pack(0, ordinal, offset, bits)
        records.append(attributes.sized(EIATTR_KPARAM_INFO, payload))
    return records


def _large_parameter(ordinal: int, offset: int, parameter: Parameter) -> AttributeRecord:
    """The record of a parameter of a kernel that has many bytes of them."""
    bits = (
        parameter.size
        | parameter.log_alignment << KPARAM_INFO_V2_LOG_ALIGNMENT_SHIFT
        | parameter.space << KPARAM_INFO_V2_SPACE_SHIFT
    )
    return attributes.sized(EIATTR_KPARAM_INFO_V2, KPARAM_INFO_V2.pack(0, ordinal, offset, bits))


def with_library_record(
    parts: CubinParts, goal: Target, records: list[AttributeRecord], number: int
) -> list[AttributeRecord]:
    """``.nv.info`` with what it says of a module without kernels, made with the module's data.

    Args:
        number: how many records were made later where code is not optimized.
    """
    if parts.has_kernel or parts.tools_patch or not parts.written.notes:
        return records
    isa = attributes.half(EIATTR_MERCURY_ISA_VERSION, goal.family.mercury_isa)
    # what was made last stands first
    return [*records, isa] if parts.is_library else [*records[:number], isa, *records[number:]]


def module_rows(assembly: Assembly) -> list[tuple[int, str, int]]:
    """``.nv.info``: attribute, function and value, in the order in which ptxas writes them."""
    parts, calls = assembly.parts, assembly.call_tree
    rows: list[tuple[int, str, int]] = []
    functions = parts.functions
    if not functions:
        return rows
    for function in reversed(functions):
        rows.append((EIATTR_REGCOUNT, function.name, calls.registers(function)))
        is_last = function is functions[0]
        if is_last and parts.written.notes:
            # the module's own rows, made behind the stack of its first function
            rows += reversed(sampler_rows(parts.samplers))
        for part in reversed(function.inner):
            if part.frame is not None:
                rows += _stack_rows(parts, function, part.name, 0)
                if not parts.has_call_graph:
                    rows.append((EIATTR_MIN_STACK_SIZE, part.name, part.stack))
                rows.append((EIATTR_FRAME_SIZE, part.name, part.frame))
        rows += _stack_rows(parts, function, function.name, function.stack_limit)
        rows.append((EIATTR_FRAME_SIZE, function.name, function.frame))
        if parts.errors_at_exit:
            rows.append((EIATTR_GEN_ERRBAR_AT_EXIT, "", 0))
        if is_last and not parts.written.notes:
            rows += reversed(sampler_rows(parts.samplers))
    if parts.independent_samplers and parts.written.notes:
        rows.append((EIATTR_TEXMODE_INDEPENDENT, "", 0))
    if not parts.relocatable and not parts.extensible and parts.has_call_graph:
        kernels = {f.name: f.stack for f in functions if f.kernel}
        order = dict.fromkeys((*parts.stated_stacks, *kernels))
        rows += [(EIATTR_MIN_STACK_SIZE, name, kernels[name]) for name in order]
    return rows


def num_later_rows(assembly: Assembly, rows: list[tuple[int, str, int]]) -> int:
    """Rows of ``.nv.info`` of functions that are made behind the last one of the PTX."""
    last = assembly.parts.last_declared
    places = [at for at, (_, name, _) in enumerate(rows) if name == last]
    return places[0] if places else 0


def metadata_nodes(parts: CubinParts) -> list[MetadataNode]:
    """``.nv.metadata`` with the node that ends it."""
    nodes: list[MetadataNode] = [
        (
            number,
            name,
            [(EMFMT_STRING if isinstance(one, str) else EMFMT_WORD, one) for one in values],
        )
        for number, name, values in parts.metadata
    ]
    return [*nodes, (METADATA_END, "", [])]


def no_index(name: str) -> int:
    """Stands for the number of a symbol as long as none is known."""
    return 0


def module_records(
    rows: list[tuple[int, str, int]], index: Callable[[str], int]
) -> list[AttributeRecord]:
    """``.nv.info`` of rows with names.

    Args:
        index: number of a symbol.
    """
    return [
        attributes.sized(code, FUNCTION_VALUE.pack(index(name), value))
        if name
        else attributes.flag(code)
        for code, name, value in rows
    ]


def numbered(assembly: Assembly, function: Function, record: AttributeRecord) -> AttributeRecord:
    """A record with the symbol numbers that it needs, if the caller did not give it as it is."""
    form, code, value, payload = record
    if code in map(record_code, function.attributes):
        return record
    if code == EIATTR_PARAM_CBANK:
        _, start, size = PARAM_CBANK.unpack(payload)
        number = assembly.numbers[id(assembly.parameter_banks[function.name])]
        return form, code, value, PARAM_CBANK.pack(number, start, size)
    if code == EIATTR_EXTERNS:
        numbers = _extern_numbers(assembly, function)
        return form, code, value, b"".join(map(SINGLE_WORD.pack, numbers))
    if code == EIATTR_KPARAM_INFO:
        _, ordinal, offset, bits = KPARAM_INFO.unpack(payload)
        parameter = function.parameters[ordinal]
        number = assembly.index(scoped(function.name, parameter.name)) if parameter.image else 0
        return form, code, value, KPARAM_INFO.pack(number, ordinal, offset, bits)
    return record


def _extern_numbers(assembly: Assembly, function: Function) -> list[int]:
    """Symbols of the functions elsewhere that a function and its callees call."""
    calls = assembly.call_tree
    names = [*function.externs, *calls.inherited_externs(function)]
    if calls.are_externs_late(function):
        order = [name for one in assembly.parts.functions for name in one.externs]
        names = list(reversed(dict.fromkeys(order)))
    return [assembly.index(name) for name in names]


def _stack_rows(
    parts: CubinParts, function: Function, name: str, limit: int
) -> list[tuple[int, str, int]]:
    """What files that may be linked say about the stack of a function or of a part of one."""
    rows = []
    is_own = name == function.name
    if parts.extensible or not parts.has_call_graph or (parts.relocatable and is_own):
        rows.append((EIATTR_MAX_STACK_SIZE, name, limit))
    if parts.extensible and function.stack == UNKNOWN_STACK:
        rows.append((EIATTR_MIN_STACK_SIZE, name, UNKNOWN_STACK))
    if not parts.has_call_graph and is_own:
        rows.append((EIATTR_MIN_STACK_SIZE, name, function.stack))
    return rows
