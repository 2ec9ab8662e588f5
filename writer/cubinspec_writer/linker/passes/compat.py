"""`.nv.compat` of a linked program: the records of all inputs, merged as the spec's table says.

The section starts with the leading codes, then has the others in the order in which inputs have
them (an input's own, then those it lacks and that count with a value of their own), then the
trailing codes.
"""

from __future__ import annotations

from cubinspec_generated.tables import compat
from cubinspec_generated.tables.arch import ARCHES
from cubinspec_writer.linker.model import (
    SHT_CUDA_COMPAT,
    SVAL,
    InfoRecord,
    InputObject,
    immediate,
    info_record,
    info_records,
)
from cubinspec_writer.linker.passes.liveness import defined_here
from cubinspec_writer.linker.state import LinkState

_BVAL, _HVAL = 2, 3
_FORMATS = {"<B": _BVAL, "<H": _HVAL, "<BB": _HVAL}
#: 1 for code of an `a` target.
TARGET = 9
_FASTPATH = 11


def compat_bytes(state: LinkState) -> bytes:
    """Contents of the section."""
    tables = [table for obj in state.objects if (table := _records(obj)) is not None]
    values: dict[int, list[int]] = {}
    for table in tables:
        lacking = [code for code in sorted(compat.MISSING) if code not in table]
        for code in (*table, *lacking):
            values.setdefault(code, [])
    for code, column in values.items():
        default = compat.MISSING.get(code)
        found = (_value(table[code]) if code in table else default for table in tables)
        column += [value for value in found if value is not None]
    ends = (*compat.LEADING, *compat.TRAILING)
    order = (*compat.LEADING, *(c for c in values if c not in ends), *compat.TRAILING)
    return b"".join(
        _encode(code, merged)
        for code in order
        if (merged := _merge(state, code, values.get(code, []))) is not None
    )


def _records(obj: InputObject) -> dict[int, InfoRecord] | None:
    """The records of an input; None when it has no such section, as sm_90 before CUDA 13."""
    section = next(iter(obj.of_types((SHT_CUDA_COMPAT,))), None)
    return None if section is None else {r[1]: r for r in info_records(section.data)}


def _value(record: InfoRecord) -> int:
    if record[0] == SVAL:
        return int.from_bytes(record[4:], "little")
    return immediate(record) & 0xFF if record[0] == _BVAL else immediate(record)


def _merge(state: LinkState, code: int, values: list[int]) -> int | None:
    """The merged value by the rule of the code; None when it is not written."""
    sm, variant = ARCHES[state.options.arch]
    match compat.MERGE.get(code, "drop"):
        case "variant":
            return compat.VARIANT_VALUES[code].get(variant, 0)
        case "architecture":
            known = compat.ARCHITECTURE_VALUES[code].get(sm)
            return known if known is None or code != _FASTPATH else _fast_path(state, known)
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
            fields = values[0]
            for _, bit, width in compat.BIT_FIELDS[code, "value"]:
                mask = (1 << width) - 1
                part = [value >> bit & mask for value in values]
                fields = fields & ~(mask << bit) | (0 if 0 in part else max(part)) << bit
            return fields
    return None


def _encode(code: int, value: int) -> InfoRecord:
    kind, layout, *_ = compat.LAYOUTS[code]
    if kind == "struct":
        return info_record(SVAL, code, 0, value.to_bytes(8, "little"))
    return info_record(_FORMATS[layout], code, value)


def _fast_path(state: LinkState, unrestricted: int) -> int:
    """What the finalizer may do fast: bits that all linked code allows.

    An input says it for all its functions together. Where only some of them are linked, the answer
    is that of the linked ones.

    Args:
        unrestricted: the value of code that forbids nothing.
    """
    found = False
    allowed = unrestricted
    for obj in state.objects:
        own = (_records(obj) or {}).get(_FASTPATH)
        code = [
            (row, symbol)
            for row in obj.functions
            if row.shndx and (symbol := obj.bound[row.index]) is not None
        ]
        linked = [row for row, symbol in code if symbol.live and defined_here(obj, row.index)]
        if own is None or not linked:
            continue
        found = True
        partly = len(linked) < len(code)
        if not partly or any(_restricts(obj.sections[row.shndx].data) for row in linked):
            allowed &= int.from_bytes(own[4:], "little")
    return allowed if found else 0


def _restricts(code: bytes) -> bool:
    """Whether SASS has an operation that is not finalized fast.

    Found by assembling single PTX instructions for sm_100 (some hundred kinds) and reading what
    ptxas says: arithmetic in double precision, matrices of integers or doubles, and comparing a
    float with an immediate forbid it.
    """
    for at in range(0, len(code) - 1, 16):
        opcode = code[at] | (code[at + 1] & 0x0F) << 8
        if opcode & 0x1FF in _SLOW_OPCODES or opcode == _FSETP_IMMEDIATE:
            return True
    return False


#: DMUL, DADD, DSETP, DFMA; IMMA, DMMA (low nine bits of the opcode, whatever the operands are).
_SLOW_OPCODES = frozenset((0x28, 0x29, 0x2A, 0x2B, 0x37, 0x3F))
_FSETP_IMMEDIATE = 0x80B
