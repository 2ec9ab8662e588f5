"""The forms in which an input can be given, and what the host program knows of it."""

from __future__ import annotations

import os
from stat import S_ISBLK, S_ISCHR, S_ISREG

from cubinspec.values import FrozenValue, ValueObject

#: First bytes of an archive, and of one whose members are files beside it.
MAGIC, THIN_MAGIC = b"!<arch>\n", b"!<thin>\n"
#: Letters, digits, and what becomes `_`, as a table of `bytes.translate`.
_DIGITS, _CAPITALS, _SMALL = (
    b"0123456789",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    b"abcdefghijklmnopqrstuvwxyz",
)
_TO_WORDS = (b"_" * 48 + _DIGITS + b"_" * 7 + _CAPITALS + b"_" * 6 + _SMALL).ljust(256, b"_")


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


class HostObject(ValueObject):
    """One input as the host program sees it.

    Attributes:
        register: the name under which its code is registered; empty when it has no device code.
        external: names of kernels with external linkage that host code uses; None when the input
            has no list of names.
        internal: the same for kernels that only this file knows.
        system: whether it belongs to the device runtime.
    """

    __match_args__ = ("register", "external", "internal", "system")
    __slots__ = __match_args__

    def __init__(
        self,
        register: str,
        external: list[str] | None = None,
        internal: list[str] | None = None,
        system: bool = False,
    ) -> None:
        self.register = register
        self.system = system
        self.external = external
        self.internal: list[str] = [] if internal is None else internal


def register_name(path: str) -> str:
    """The default name: the absolute path with `_` for all that is no letter or digit."""
    return os.path.abspath(path).encode("ascii", "replace").translate(_TO_WORDS).decode("ascii")


def is_archive(data: bytes) -> bool:
    """Whether bytes are an archive, thin or not."""
    return data.startswith((MAGIC, THIN_MAGIC))


def contents(path: str) -> bytes:
    """The bytes of a file; empty for a device, which may never end.

    Raises:
        OSError: it cannot be read.
    """
    # a file object takes as long as reading a small file
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        if S_ISCHR(status.st_mode) or S_ISBLK(status.st_mode):
            return b""
        size = status.st_size if S_ISREG(status.st_mode) else 0
        data = os.read(descriptor, size)
        if size and len(data) == size:
            return data
        with open(descriptor, "rb", closefd=False) as file:  # a pipe, or it changes just now
            return data + file.read()
    finally:
        os.close(descriptor)
