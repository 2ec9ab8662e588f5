"""The forms in which an input can be given."""

from __future__ import annotations

import os
from stat import S_ISBLK, S_ISCHR

from cubinspec.values import FrozenValue

#: First bytes of an archive, and of one whose members are files beside it.
MAGIC, THIN_MAGIC = b"!<arch>\n", b"!<thin>\n"


class Library(FrozenValue):
    """A library to search for, as `-l` names it.

    Attributes:
        name: `NAME` stands for the file `libNAME.a` in one of the library paths.
    """

    __match_args__ = ("name",)
    __slots__ = __match_args__
    name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)


class Named(FrozenValue):
    """Bytes that stand for a file.

    Attributes:
        name: the file name that messages use.
        data: the contents.
    """

    __match_args__ = ("name", "data")
    __slots__ = __match_args__
    name: str
    data: bytes

    def __init__(self, name: str, data: bytes) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "data", data)

    def __repr__(self) -> str:
        return f"<Named {self.name!r}, {len(self.data)} bytes>"


TYPE_CHECKING = False
if TYPE_CHECKING:
    Input = str | os.PathLike[str] | bytes | Named | Library


def is_archive(data: bytes) -> bool:
    """Whether bytes are an archive, thin or not."""
    return data.startswith((MAGIC, THIN_MAGIC))


def contents(path: str) -> bytes:
    """The bytes of a file; empty for a device, which may never end.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        return b"" if S_ISCHR(mode) or S_ISBLK(mode) else file.read()
