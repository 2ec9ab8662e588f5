"""The Kaitai tree as a list of fields with absolute byte ranges."""

from __future__ import annotations

from cubinspec.errors import BadIndexError
from cubinspec.reader.kaitai import Code, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.model.cubin import Cubin


#: Fields that a message names.
_MOST_NAMED = 12


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
        if not path or name == path or name.startswith((f"{path}.", f"{path}["))
    ]
    if path and not fields:
        raise BadIndexError(
            "there is no such field", file=cubin.name, field=path, expected=_near(cubin, path)
        )
    return {"file": cubin.name, "path": path, "fields": fields}


def _near(cubin: Cubin, path: str) -> str:
    """The fields beside one that is not there, or how to see all."""
    around, _, _ = path.rpartition(".")
    while around:
        start = len(around) + 1
        below = (piece[0][start:] for piece in walk(cubin.tree(), around))
        names = list(dict.fromkeys(name.partition(".")[0] for name in below))
        if names:
            more = ", …" if len(names) > _MOST_NAMED else ""
            return f"below {around}: {', '.join(names[:_MOST_NAMED])}{more}"
        around, _, _ = around.rpartition(".")
    return "a path such as header.e_flags; without a path all are listed"
