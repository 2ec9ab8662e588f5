"""Which part of a file each byte belongs to, by the authoritative (Kaitai) reader."""

from __future__ import annotations

from cubinspec.reader.kaitai import FIELD, PADDING, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cubinspec.model.cubin import Cubin

    Span = tuple[int, int, str]


def coverage_record(cubin: Cubin) -> dict[str, Any]:
    """Bytes per class (schema ``coverage.schema.json``); the classes sum to ``size``.

    ``named`` are fields of the spec, ``opaque`` bodies whose kind the spec names, ``padding``
    zeros between structures, ``unclaimed`` all else. Bytes that two structures share (a Mercury
    section and its plain twin) count once.

    Raises:
        CubinError: a field does not follow the spec, or a section is cut off.
    """
    cubin.elf.check_bodies()
    spans = attribute(
        cubin.size, ((start, end, kind) for _, start, end, _, kind in walk(cubin.tree()))
    )
    data = cubin.data
    named = padding = unclaimed = 0
    opaque: dict[str, int] = {}
    for start, end, kind in spans:
        size = end - start
        if kind == FIELD:
            named += size
        elif kind in ("", PADDING):
            if any(data[start:end]):
                unclaimed += size
            else:
                padding += size
        else:
            opaque[kind] = opaque.get(kind, 0) + size
    return {
        "file": cubin.name,
        "size": cubin.size,
        "named": named,
        "opaque": dict(sorted(opaque.items())),
        "padding": padding,
        "unclaimed": unclaimed,
    }


def attribute(size: int, claims: Iterable[Span]) -> list[Span]:
    """Give every byte to one claim: a field before a body, the first claim before later ones.

    Returns:
        Spans in order without overlap that cover ``0..size``; kind ``""`` where nobody claims.
    """
    ordered = sorted(claims)
    fields = _disjoint(size, (claim for claim in ordered if claim[2] == FIELD))
    bodies = _disjoint(size, (claim for claim in ordered if claim[2] != FIELD))
    spans: list[Span] = []
    next_body = 0
    at = 0
    for start, end, kind in [*fields, (size, size, "")]:
        # the gap before this field goes to the bodies that reach into it
        while at < start:
            while next_body < len(bodies) and bodies[next_body][1] <= at:
                next_body += 1
            body = bodies[next_body] if next_body < len(bodies) else (size, size, "")
            if body[0] > at:
                stop, owner = min(body[0], start), ""
            else:
                stop, owner = min(body[1], start), body[2]
            spans.append((at, stop, owner))
            at = stop
        if end > at:
            spans.append((at, end, kind))
            at = end
    return spans


def _disjoint(size: int, ordered: Iterable[Span]) -> list[Span]:
    spans: list[Span] = []
    at = 0
    for start, end, kind in ordered:
        start, end = max(start, at), min(end, size)
        if end > start:
            spans.append((start, end, kind))
            at = end
    return spans
