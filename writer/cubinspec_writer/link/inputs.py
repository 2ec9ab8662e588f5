"""What a link is made of."""

from __future__ import annotations

from cubinspec_writer.plain import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os


@dataclass(frozen=True, slots=True)
class Library:
    """A library to search for, as `-l` names it."""

    name: str


@dataclass(frozen=True, slots=True)
class Named:
    """Bytes that stand for a file."""

    name: str
    data: bytes


if TYPE_CHECKING:
    Input = str | os.PathLike[str] | bytes | Named | Library
