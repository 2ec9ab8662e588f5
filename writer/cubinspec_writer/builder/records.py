"""The attribute records of a file, from its functions."""

from __future__ import annotations

from struct import pack

from cubinspec_writer.builder import attributes, facts
from cubinspec_writer.builder.attributes import code_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.builder.builder import CubinBuilder
    from cubinspec_writer.builder.parts import Function
    from cubinspec_writer.emitter.bodies import AttributeRecord


def function_records(
    parts: CubinBuilder, goal: facts.Target, function: Function
) -> list[AttributeRecord]:
    """``.nv.info.<f>``; the symbol number in ``EIATTR_PARAM_CBANK`` is filled in later."""
    sm, sized, half = goal.sm, attributes.sized, attributes.half
    isa = 0x0101 if goal.finalizer else 0
    records = facts.workarounds(sm)
    records.append(sized(code_of("CUDA_API_VERSION"), pack("<I", parts.toolkit)))
    records.append(half(code_of("MERCURY_ISA_VERSION"), isa))
    if goal.finalizer:
        records.append(half(code_of("SPARSE_MMA_MASK"), 0))
    if sm >= facts.CAPSULE_SM:
        records.append(attributes.byte(code_of("VRC_CTA_INIT_COUNT"), 0))
    if function.kernel:
        records.append(half(code_of("MAXREG_COUNT"), function.max_registers))
        records += _parameter_records(goal, function)
    if function.barriers:
        records.append(attributes.byte(code_of("NUM_BARRIERS"), function.barriers))
    if function.exit_offsets:
        payload = pack(f"<{len(function.exit_offsets)}I", *function.exit_offsets)
        records.append(sized(code_of("EXIT_INSTR_OFFSETS"), payload))
    if function.max_threads is not None:
        records.append(sized(code_of("MAX_THREADS"), pack("<III", *function.max_threads)))
    if function.required_threads is not None:
        records.append(sized(code_of("REQNTID"), pack("<III", *function.required_threads)))
    given = {record[1] for record in function.attributes}
    records = [record for record in records if record[1] not in given] + function.attributes
    records.sort(key=lambda record: attributes.rank(record[1], finalizer=goal.finalizer))
    return records


def _parameter_records(goal: facts.Target, function: Function) -> list[AttributeRecord]:
    if not function.parameters:
        return []
    offsets, size = placed(function)
    records: list[AttributeRecord] = [
        attributes.sized(code_of("PARAM_CBANK"), pack("<IHH", 0, goal.param_base, size)),
        attributes.half(code_of("CBANK_PARAM_SIZE"), size),
    ]
    for ordinal in reversed(range(len(offsets))):
        parameter = function.parameters[ordinal]
        bits = (
            parameter.size << 18
            | parameter.is_smem << 17
            | parameter.cbank << 12
            | parameter.space << 8
            | parameter.log_alignment
        )
        payload = pack("<IHHI", 0, ordinal, offsets[ordinal], bits)
        records.append(attributes.sized(code_of("KPARAM_INFO"), payload))
    return records


def module_rows(parts: CubinBuilder) -> list[tuple[str, str, int]]:
    """``.nv.info``: attribute, function and value, in the order in which ptxas writes them."""
    rows: list[tuple[str, str, int]] = []
    functions = parts.functions
    for function in reversed(functions):
        rows.append(("REGCOUNT", function.name, function.registers))
        if parts.relocatable:
            rows.append(("MAX_STACK_SIZE", function.name, function.stack_limit))
        rows += [
            ("FRAME_SIZE", part.name, part.frame)
            for part in sorted(function.inner, key=lambda part: -part.value)
            if part.frame is not None
        ]
        rows.append(("FRAME_SIZE", function.name, function.frame))
    if not parts.relocatable:
        rows += [("MIN_STACK_SIZE", f.name, f.stack) for f in functions if f.kernel]
    return rows


def placed(function: Function) -> tuple[list[int], int]:
    """Offset of every parameter, and the size of them all."""
    offsets = []
    end = 0
    for parameter in function.parameters:
        align = parameter.align
        if align is None:
            align = min(1 << max(parameter.size.bit_length() - 1, 0), 8)
        at = -(-end // align) * align if parameter.offset is None else parameter.offset
        offsets.append(at)
        end = max(end, at + parameter.size)
    return offsets, end
