"""Reading files of any kind.

A cubin is read and never mapped: a mapped file that shrinks ends the process with a signal, a read
one gives an error.
"""

from __future__ import annotations

import os

from cubinspec.errors import FileAccessError, LimitError, TruncatedError
from cubinspec.limits import MAX_PIPE_BYTES, READ_WHOLE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from cubinspec.values import PathName

#: A pipe is read in pieces of this size.
_PIECE = 1 << 17
#: Smaller pieces of a file are read together with what follows them, so much at once.
_SMALL, _WINDOW = 1 << 12, 1 << 16


class FileBytes:
    """The bytes of a regular file, read when they are asked for.

    It has as many bytes as the file had when it was opened; when the file has become shorter, what
    is missing is an error.

    Args:
        path: for messages.
        file: the open file, which belongs to this object from now on.
        size: of the file.
    """

    __slots__ = ("_file", "_path", "_size", "_window", "_window_start")

    def __init__(self, path: str, file: IO[bytes], size: int) -> None:
        self._path = path
        self._file = file
        self._size = size
        self._window = b""
        self._window_start = 0

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        """Bytes from a place to another, as of ``bytes``; every byte counts (no steps)."""
        start, stop, _ = part.indices(self._size)
        return self.between(start, max(start, stop))

    def between(self, start: int, stop: int) -> bytes:
        """The bytes between two places in the file."""
        first = self._window_start
        if first <= start and stop <= first + len(self._window):
            return self._window[start - first : stop - first]
        if stop - start > _SMALL:
            return self._read(start, stop - start)
        # sections stand one behind the other, and most of them are small
        self._window = self._read(start, min(_WINDOW, self._size - start))
        self._window_start = start
        return self._window[: stop - start]

    def __bytes__(self) -> bytes:
        return self._read(0, self._size)

    def _read(self, start: int, size: int) -> bytes:
        descriptor = self._file.fileno()
        try:
            data = os.pread(descriptor, size, start)
            if len(data) == size:
                return data
            pieces = [data]
            while data and (size := size - len(data)):  # one call gives at most 2 GiB on Linux
                start += len(data)
                data = os.pread(descriptor, size, start)
                pieces.append(data)
        except OSError as error:
            raise _unreadable(self._path, error) from error
        if size:
            raise TruncatedError(
                "the file became shorter while it was read",
                file=self._path,
                offset=start,
                expected=f"{self._size} bytes, as there were when it was opened",
            )
        return b"".join(pieces)

    def close(self) -> None:
        """Close the file; nothing can be read any more."""
        self._file.close()


class ClosedBytes:
    """What a closed file has in the place of its bytes: every look at them is a ``ValueError``."""

    __slots__ = ()

    def __len__(self) -> int:
        raise ValueError("the file is closed")

    def __getitem__(self, part: slice) -> bytes:
        raise ValueError("the file is closed")

    def __bytes__(self) -> bytes:
        raise ValueError("the file is closed")


def open_file(path: PathName) -> bytes | FileBytes:
    """The bytes of a file; a large regular one is read piece by piece.

    Raises:
        FileAccessError: it cannot be opened, or is a device, which may never end.
        LimitError: more than ``MAX_PIPE_BYTES`` come through a pipe.
    """
    from stat import S_ISBLK, S_ISCHR, S_ISREG

    path = os.fspath(path)
    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115
    except (OSError, ValueError) as error:  # a path with a NUL is a wrong value
        raise _unreadable(path, error) from error
    is_kept = False
    try:
        status = os.fstat(file.fileno())
        if S_ISCHR(status.st_mode) or S_ISBLK(status.st_mode):
            raise FileAccessError("cannot be opened: this is a device", file=path)
        if not S_ISREG(status.st_mode):
            return _piped(path, file)
        if status.st_size <= READ_WHOLE_BYTES or not hasattr(os, "pread"):
            return file.read()
        is_kept = True
        return FileBytes(path, file, status.st_size)
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        if not is_kept:
            file.close()


def _piped(path: str, stream: IO[bytes]) -> bytes:
    pieces = []
    left = MAX_PIPE_BYTES
    while piece := stream.read(_PIECE):
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            raise LimitError(
                f"more than {MAX_PIPE_BYTES} bytes come",
                file=path,
                expected="a regular file for so much",
            )
    return b"".join(pieces)


def read_file(path: PathName) -> bytes:
    """The bytes of a whole file.

    Raises:
        FileAccessError, LimitError: as :func:`open_file`.
    """
    found = open_file(path)
    if isinstance(found, bytes):
        return found
    try:
        return bytes(found)
    finally:
        found.close()


def _unreadable(path: str, error: OSError | ValueError) -> FileAccessError:
    reason = getattr(error, "strerror", None) or error
    return FileAccessError(f"cannot be opened: {reason}", file=path)
