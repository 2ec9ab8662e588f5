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
    section and its SASS twin) count once.

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
    bodies = iter(_disjoint(size, (claim for claim in ordered if claim[2] != FIELD)))
    nobody = (size, size, "")
    body_start, body_end, body_kind = next(bodies, nobody)
    spans: list[Span] = []
    at = 0
    for start, end, kind in [*fields, nobody]:
        # the gap before this field goes to the bodies that reach into it
        while at < start:
            while body_end <= at:
                body_start, body_end, body_kind = next(bodies, nobody)
            if body_start > at:
                stop, owner = min(body_start, start), ""
            else:
                stop, owner = min(body_end, start), body_kind
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
