"""The Kaitai tree as a list of fields with absolute byte ranges."""

from __future__ import annotations

from cubinspec.errors import BadIndexError
from cubinspec.reader.kaitai import Code, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.model.cubin import Cubin


def tree_record(cubin: Cubin, path: str = "") -> dict[str, Any]:
    """All leaf fields below a path (schema ``tree.schema.json``).

    Args:
        path: a field path such as ``header.e_flags`` or ``section_headers[3]``; empty for all.

    Raises:
        BadIndexError: the spec has no such field in this file.
        CubinError: a field does not follow the spec; without a path, a section is cut off.
    """
    if not path:
        cubin.elf.check_bodies()
    fields = [
        {
            "path": name,
            "start": start,
            "end": end,
            "kind": kind,
            "value": value.hex() if isinstance(value, bytes) else value,
            "name": value.name if isinstance(value, Code) else None,
        }
        for name, start, end, value, kind in walk(cubin.tree(), path)
    ]
    if path and not fields:
        raise BadIndexError(
            "there is no such field", file=cubin.name, field=path, expected="a path of the spec"
        )
    return {"file": cubin.name, "path": path, "fields": fields}
