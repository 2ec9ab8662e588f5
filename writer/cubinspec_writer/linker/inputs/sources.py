"""What a link is made of."""

from __future__ import annotations

import os
from stat import S_ISBLK, S_ISCHR

from cubinspec_writer.plain import dataclass


@dataclass(frozen=True, slots=True)
class Library:
    """A library to search for, as `-l` names it."""

    name: str


@dataclass(frozen=True, slots=True)
class Named:
    """Bytes that stand for a file."""

    name: str
    data: bytes


TYPE_CHECKING = False
if TYPE_CHECKING:
    Input = str | os.PathLike[str] | bytes | Named | Library


def contents(path: str) -> bytes:
    """The bytes of a file; of a device, which need not have an end, none.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        return b"" if S_ISCHR(mode) or S_ISBLK(mode) else file.read()
