"""Records of ``.nv.compat`` as ptxas writes them for a target."""

from __future__ import annotations

from cubinspec.format.targets import WRITTEN, Target
from cubinspec_generated.codes import EIFMT_BVAL, EIFMT_HVAL, EIFMT_SVAL
from cubinspec_generated.tables import compat

#: Bytes of a value that stands behind the record.
_WIDE = 8


def written_records(target: Target) -> list[tuple[int, int, int, bytes]]:
    """Format, code, value and payload of every record, in the order in which they are written."""
    records = []
    for code, value in WRITTEN.compat:
        # A word says that the target decides; where the target says nothing, ptxas writes 0.
        number = value if isinstance(value, int) else target.compat_value(code) or 0
        layout = compat.ATTRIBUTES[code].layout
        if layout.kind == "struct":
            records.append((EIFMT_SVAL, code, _WIDE, number.to_bytes(_WIDE, "little")))
        else:
            form = EIFMT_BVAL if layout.format == "<B" else EIFMT_HVAL
            records.append((form, code, number, b""))
    return records
