"""Parse, forget the bytes, emit, compare."""

from __future__ import annotations

import os

from cubinspec.errors import BadStructureError
from cubinspec.files import open_file
from cubinspec.values import FrozenValue
from cubinspec_writer.emitter.describe import check_draft
from cubinspec_writer.emitter.layout import plan
from cubinspec_writer.emitter.serialise import plan_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.reader.elf import Buffer
    from cubinspec.values import PathName


class RoundtripResult(FrozenValue):
    """How a file came back.

    Attributes:
        identical: every byte is the same.
        layout: ``computed`` (everything follows from the description) or ``pinned``.
        reasons: what was pinned, each named once, with its count when above one.
        first_difference: offset of the first differing byte, ``None`` when identical.
    """

    __match_args__ = ("identical", "layout", "reasons", "first_difference")
    __slots__ = __match_args__
    identical: bool
    layout: str
    reasons: tuple[str, ...]
    first_difference: int | None

    def __init__(
        self,
        identical: bool,
        layout: str,
        reasons: tuple[str, ...],
        first_difference: int | None,
    ) -> None:
        object.__setattr__(self, "identical", identical)
        object.__setattr__(self, "layout", layout)
        object.__setattr__(self, "reasons", reasons)
        object.__setattr__(self, "first_difference", first_difference)


def unwritable(file: str) -> BadStructureError:
    """The error for a file that a description does not give back byte for byte."""
    return BadStructureError(
        "this file cannot be written back as it is",
        file=file,
        expected="a file that 'cubinspec roundtrip' finds identical",
    )


def roundtrip(data: Buffer, file: str = "<bytes>") -> RoundtripResult:
    """Describe ``data``, lay out what the description says, and compare.

    Raises:
        CubinError: ``data`` is not a well-formed cubin.
    """
    checked = check_draft(data, file)
    draft, reasons = checked.draft, checked.reasons
    del checked  # its plan knows the file: this is about what follows from the draft alone
    difference = _first_difference(data, plan_parts(plan(draft)))
    counts: dict[str, int] = {}
    for reason in reasons:
        counts[reason] = counts.get(reason, 0) + 1
    return RoundtripResult(
        difference is None,
        "pinned" if counts else "computed",
        tuple(reason if count == 1 else f"{reason} (x{count})" for reason, count in counts.items()),
        difference,
    )


def roundtrip_file(path: PathName) -> RoundtripResult:
    """:func:`roundtrip` of a file, of which only pieces are in memory.

    Raises:
        CubinError: it cannot be read, or is no well-formed cubin.
    """
    name = os.fspath(path)
    data = open_file(name)
    try:
        return roundtrip(data, name)
    finally:
        if not isinstance(data, bytes):
            data.close()


def _first_difference(data: Buffer, parts: Iterable[bytes | bytearray]) -> int | None:
    """Offset of the first byte in which a file and parts differ; ``None`` when equal."""
    at = 0
    for part in parts:
        there = data[at : at + len(part)]
        if there != part:
            same = (left == right for left, right in zip(there, part, strict=False))
            return at + next((n for n, is_same in enumerate(same) if not is_same), len(there))
        at += len(part)
    return None if at == len(data) else at
