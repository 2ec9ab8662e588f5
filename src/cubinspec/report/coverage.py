"""Which part of a file each byte belongs to, by the authoritative (Kaitai) reader."""

from __future__ import annotations

from cubinspec.reader.kaitai import FIELD, PADDING, walk
from cubinspec.values import ValueObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cubinspec.model.cubin import Cubin

    Span = tuple[int, int, str]


class Coverage(ValueObject):
    """The bytes of a file by class; the classes sum to its size.

    Attributes:
        file: name of the cubin.
        size: bytes of the file.
        named: bytes of fields of the spec.
        opaque: bytes of bodies whose kind the spec names, by kind.
        padding: zeros between structures.
        unclaimed: all else.
    """

    __match_args__ = ("file", "size", "named", "opaque", "padding", "unclaimed")
    __slots__ = __match_args__

    def __init__(
        self, file: str, size: int, named: int, opaque: dict[str, int], padding: int, unclaimed: int
    ) -> None:
        self.file = file
        self.size = size
        self.named = named
        self.opaque = opaque
        self.padding = padding
        self.unclaimed = unclaimed

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, ready for JSON (``coverage.schema.json``)."""
        return {name: getattr(self, name) for name in self.__match_args__}

    def _repr_html_(self) -> str:
        from cubinspec.model.frames import html_table

        rows = [("named", self.named)]
        rows += [(f"opaque: {kind}", size) for kind, size in self.opaque.items()]
        rows += [("padding", self.padding), ("unclaimed", self.unclaimed), ("size", self.size)]
        return html_table(f"coverage of {self.file}", ("class", "bytes"), rows)


def coverage(cubin: Cubin) -> Coverage:
    """How many bytes of a cubin the specification names.

    Bytes that two structures share (a Mercury section and its SASS twin) count once.

    Raises:
        CubinError: a field does not follow the spec, or a section is cut off.
    """
    return Coverage(**coverage_record(cubin))


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
