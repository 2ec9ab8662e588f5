"""The attribute records of a file, from its functions."""

from __future__ import annotations

from struct import pack

from cubinspec.format.packing import align_up
from cubinspec_generated.codes import (
    EIATTR_CBANK_PARAM_SIZE,
    EIATTR_CUDA_API_VERSION,
    EIATTR_EXIT_INSTR_OFFSETS,
    EIATTR_FRAME_SIZE,
    EIATTR_KPARAM_INFO,
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
    EIATTR_VRC_CTA_INIT_COUNT,
    KPARAM_INFO_CBANK_SHIFT,
    KPARAM_INFO_IS_SMEM,
    KPARAM_INFO_LOG_ALIGNMENT_SHIFT,
    KPARAM_INFO_SIZE_SHIFT,
    KPARAM_INFO_SPACE_SHIFT,
)
from cubinspec_generated.records import DIM3, KPARAM_INFO, PARAM_CBANK, SINGLE_WORD
from cubinspec_writer.builder import attributes, facts
from cubinspec_writer.builder.attributes import record_code
from cubinspec_writer.builder.parts import UNKNOWN_STACK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.format.targets import Target
    from cubinspec_writer.builder.parts import CubinParts, Function
    from cubinspec_writer.emitter.bodies import AttributeRecord


def function_records(parts: CubinParts, goal: Target, function: Function) -> list[AttributeRecord]:
    """``.nv.info.<f>``; the symbol number in ``EIATTR_PARAM_CBANK`` is filled in later."""
    family, sized, half = goal.family, attributes.sized, attributes.half
    records = facts.workarounds(goal)
    records.append(sized(EIATTR_CUDA_API_VERSION, SINGLE_WORD.pack(parts.toolkit)))
    records.append(half(EIATTR_MERCURY_ISA_VERSION, family.mercury_isa))
    if family.sparse_mma_mask:
        records.append(half(EIATTR_SPARSE_MMA_MASK, 0))
    if family.vrc_cta_init_count:
        records.append(attributes.byte(EIATTR_VRC_CTA_INIT_COUNT, 0))
    if function.kernel:
        records.append(half(EIATTR_MAXREG_COUNT, function.max_registers))
        records += _parameter_records(goal, function)
    if function.barriers:
        records.append(attributes.byte(EIATTR_NUM_BARRIERS, function.barriers))
    if function.exit_offsets:
        payload = pack(f"<{len(function.exit_offsets)}I", *function.exit_offsets)
        records.append(sized(EIATTR_EXIT_INSTR_OFFSETS, payload))
    if function.max_threads is not None:
        records.append(sized(EIATTR_MAX_THREADS, DIM3.pack(*function.max_threads)))
    if function.required_threads is not None:
        records.append(sized(EIATTR_REQNTID, DIM3.pack(*function.required_threads)))
    given = {record_code(record) for record in function.attributes}
    records = [record for record in records if record_code(record) not in given]
    records += function.attributes
    records.sort(
        key=lambda record: attributes.rank(record_code(record), finalizer=family.finalizer)
    )
    return records


def _parameter_records(goal: Target, function: Function) -> list[AttributeRecord]:
    if not function.parameters:
        return []
    base = goal.architecture.param_base
    offsets, size = placed(function)
    records: list[AttributeRecord] = [
        attributes.sized(EIATTR_PARAM_CBANK, PARAM_CBANK.pack(0, base, size)),
        attributes.half(EIATTR_CBANK_PARAM_SIZE, size),
    ]
    for ordinal in reversed(range(len(offsets))):
        parameter = function.parameters[ordinal]
        bits = (
            parameter.size << KPARAM_INFO_SIZE_SHIFT
            | (KPARAM_INFO_IS_SMEM if parameter.is_smem else 0)
            | parameter.cbank << KPARAM_INFO_CBANK_SHIFT
            | parameter.space << KPARAM_INFO_SPACE_SHIFT
            | parameter.log_alignment << KPARAM_INFO_LOG_ALIGNMENT_SHIFT
        )
        payload = KPARAM_INFO.pack(0, ordinal, offsets[ordinal], bits)
        records.append(attributes.sized(EIATTR_KPARAM_INFO, payload))
    return records


def records_without_functions(goal: Target) -> list[AttributeRecord]:
    """``.nv.info`` of a module without functions: what else stands with each of them."""
    return [attributes.half(EIATTR_MERCURY_ISA_VERSION, goal.family.mercury_isa)]


def module_rows(parts: CubinParts) -> list[tuple[int, str, int]]:
    """``.nv.info``: attribute, function and value, in the order in which ptxas writes them."""
    rows: list[tuple[int, str, int]] = []
    functions = parts.functions
    for function in reversed(functions):
        rows.append((EIATTR_REGCOUNT, function.name, function.registers))
        for part in sorted(function.inner, key=lambda part: -part.value):
            if part.frame is not None:
                rows += _stack_rows(parts, function, part.name, 0)
                rows.append((EIATTR_FRAME_SIZE, part.name, part.frame))
        rows += _stack_rows(parts, function, function.name, function.stack_limit)
        rows.append((EIATTR_FRAME_SIZE, function.name, function.frame))
    if not parts.relocatable and not parts.extensible:
        rows += [(EIATTR_MIN_STACK_SIZE, f.name, f.stack) for f in functions if f.kernel]
    return rows


def _stack_rows(
    parts: CubinParts, function: Function, name: str, limit: int
) -> list[tuple[int, str, int]]:
    """What files that may be linked say about the stack of a function or of a part of one."""
    rows = []
    if parts.extensible or (parts.relocatable and name == function.name):
        rows.append((EIATTR_MAX_STACK_SIZE, name, limit))
    if parts.extensible and function.stack == UNKNOWN_STACK:
        rows.append((EIATTR_MIN_STACK_SIZE, name, UNKNOWN_STACK))
    return rows


def placed(function: Function) -> tuple[list[int], int]:
    """Offset of every parameter, and the size of them all."""
    offsets = []
    end = 0
    for parameter in function.parameters:
        align = parameter.align
        if align is None:
            align = min(1 << max(parameter.size.bit_length() - 1, 0), 8)
        at = align_up(end, align) if parameter.offset is None else parameter.offset
        offsets.append(at)
        end = max(end, at + parameter.size)
    return offsets, end
