"""`.nv.compat` of a linked program: the records of all inputs, merged as the spec's table says.

The section starts with the leading codes, then has the others in the order in which inputs have
them (an input's own, then those it lacks and that count with a value of their own), then the
trailing codes. What other toolkits do is in their rows (rule K2).
"""

from __future__ import annotations

from cubinspec.format.attributes import immediate, raw_record
from cubinspec_generated import columns
from cubinspec_generated.codes import (
    EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE,
    EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET,
    EIFMT_BVAL,
    EIFMT_HVAL,
    EIFMT_SVAL,
    SHT_CUDA_COMPAT_INFO,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec.format.attributes import RawRecord
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import Job, Sections

#: Bytes of a value -> the format of its record; of others the value is the payload.
_FORMATS: Final = {1: EIFMT_BVAL, 2: EIFMT_HVAL}

READS = "object.bound sections.fixed symbol.definition symbol.live"
WRITES = "content.compat"
FREEZES = "content.compat"


def run(job: Job, objects: list[InputObject], sections: Sections) -> None:
    """Write the section."""
    stated = [table for obj in objects if (table := _records(obj)) is not None]
    # Inputs with the same records count once: no rule asks how many say something.
    tables = list({tuple(table.values()): table for table in stated}.values())
    values: dict[int, list[int]] = {}
    merges = job.toolkit.merges
    missing: dict[int, int | None] = dict(columns.COMPAT_MISSING)
    for code, (_, own, _) in merges.items():
        missing[code] = own
    absent = sorted(code for code, value in missing.items() if value is not None)
    for table in tables:
        lacking = [code for code in absent if code not in table]
        for code in (*table, *lacking):
            values.setdefault(code, [])
    for code, column in values.items():
        default = missing.get(code)
        found = (_value(table[code]) if code in table else default for table in tables)
        column += [value for value in found if value is not None]
    trailing = [code for code in columns.COMPAT_TRAILING if code not in merges]
    ends = (*columns.COMPAT_LEADING, *trailing)
    order = (*columns.COMPAT_LEADING, *(c for c in values if c not in ends), *trailing)
    sections.fixed[".nv.compat"].content = b"".join(
        _encode(code, merged)
        for code in order
        if (merged := _merge(job, objects, code, values.get(code, []))) is not None
    )


def _records(obj: InputObject) -> dict[int, RawRecord] | None:
    """The records of an input; None when it has no such section, as sm_90 before CUDA 13."""
    section = next(iter(obj.of_type(SHT_CUDA_COMPAT_INFO)), None)
    return None if section is None else {r[1]: r for r in obj.records(section.index)}


def _value(record: RawRecord) -> int:
    if record[0] == EIFMT_SVAL:
        return int.from_bytes(record[4:], "little")
    return immediate(record) & 0xFF if record[0] == EIFMT_BVAL else immediate(record)


def _merge(job: Job, objects: list[InputObject], code: int, values: list[int]) -> int | None:
    """The merged value by the rule of the code; None when it is not written."""
    usual = columns.COMPAT_MERGE.get(code, "drop")
    rule, _, omits = job.toolkit.merges.get(code, (usual, None, False))
    merged = _by_rule(job, objects, code, rule, values)
    return None if omits and not merged else merged


def _by_rule(
    job: Job, objects: list[InputObject], code: int, rule: str, values: list[int]
) -> int | None:
    match rule:
        case "variant":
            return job.target.compat_value(code)
        case "architecture" | "architecture_or_and":
            known = job.target.compat_value(code)
            if code == EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE and not job.family.capsule:
                known = None  # the finalizer never sees programs of SASS alone (rule T8)
            if known is None and rule == "architecture_or_and":
                return _common_bits(values)
            return (
                known
                if known is None or code != EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE
                else _fast_path(job, objects, known)
            )
        case "max":
            return max(values, default=0)
        case "or":
            merged = 0
            for value in values:
                merged |= value
            return merged
        case "zero_or_max":
            return 0 if 0 in values else max(values, default=0)
        case "equal_or_one":
            return values[0] if len(set(values)) == 1 else 1
        case "zero_or_max_fields":
            return _merge_parts(code, values)
    return None


def _common_bits(values: list[int]) -> int:
    """The bits that all values have."""
    common = values[0]
    for value in values:
        common &= value
    return common


def _merge_parts(code: int, values: list[int]) -> int:
    """Each part is 0 when any input has 0, else the largest; other bits are those of the first."""
    merged = values[0]
    for bit, width in columns.COMPAT_PARTS[code]:
        mask = (1 << width) - 1
        found = [value >> bit & mask for value in values]
        merged = merged & ~(mask << bit) | (0 if 0 in found else max(found)) << bit
    return merged


def _encode(code: int, value: int) -> RawRecord:
    size = columns.COMPAT_BYTES[code]
    if size not in _FORMATS:
        return raw_record(EIFMT_SVAL, code, 0, value.to_bytes(size, "little"))
    return raw_record(_FORMATS[size], code, value)


def _fast_path(job: Job, objects: list[InputObject], unrestricted: int) -> int:
    """What the finalizer may do fast: bits that all linked code allows."""
    from cubinspec_writer.linker.finalizer.fastpath import merged_mask  # from sm_100 on only

    inputs = []
    is_foreign = False
    for obj in objects:
        records = _records(obj) or {}
        record = records.get(EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE)
        inputs.append((obj, None if record is None else int.from_bytes(record[4:], "little")))
        variant = records.get(EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET)
        is_foreign |= variant is None or not _value(variant)
    merged = merged_mask(inputs, unrestricted, job.toolkit)
    if is_foreign and job.target.is_specific and job.toolkit.parts_variants:
        merged &= unrestricted & -unrestricted  # the lowest bit stays (rule K37)
    return merged
