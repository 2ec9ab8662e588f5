"""Parse, forget the bytes, emit, compare."""

from __future__ import annotations

from cubinspec_writer.emit.describe import describe
from cubinspec_writer.emit.serialise import emit
from cubinspec_writer.plain import dataclass


@dataclass(frozen=True, slots=True)
class RoundtripResult:
    """How a file came back.

    Attributes:
        identical: every byte is the same.
        layout: ``computed`` (everything follows from the description) or ``pinned``.
        reasons: what was pinned, each named once, with its count when above one.
        first_difference: offset of the first differing byte, ``None`` when identical.
    """

    identical: bool
    layout: str
    reasons: tuple[str, ...]
    first_difference: int | None


def roundtrip(data: bytes, file: str = "<bytes>") -> RoundtripResult:
    """Describe ``data``, emit the description, and compare.

    Raises:
        CubinError: ``data`` is not a well-formed cubin.
    """
    description = describe(data, file)
    _ = description.history  # forgets the layout that was checked: this is about the description
    again = emit(description)
    difference = first_difference(data, again)
    counts: dict[str, int] = {}
    for reason in description.reasons:
        counts[reason] = counts.get(reason, 0) + 1
    return RoundtripResult(
        difference is None,
        "pinned" if counts else "computed",
        tuple(reason if count == 1 else f"{reason} (x{count})" for reason, count in counts.items()),
        difference,
    )


def first_difference(left: bytes, right: bytes) -> int | None:
    """Offset of the first byte in which two byte strings differ; ``None`` when equal."""
    if left == right:
        return None
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    while low + 1 < high:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low
