"""Reading files of any kind, and writing them so that none is ever half written.

A cubin is read and never mapped: a mapped file that shrinks ends the process with a signal, a read
one gives an error.

What stands at the path that is written to decides:

* nothing, or a regular file: the new file is made beside it, then renamed; one that is replaced
  keeps its permissions
* a symbolic link: what it points to is written, and the link stays; one that leads nowhere because
  it leads back to itself is refused
* a device, a pipe, a socket: written to as it is
* a folder: refused
"""

from __future__ import annotations

import os

from cubinspec.errors import FileAccessError, LimitError, TruncatedError
from cubinspec.limits import MAX_PIPE_BYTES, READ_WHOLE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import IO, Self

    from cubinspec.values import PathName

    Parts = bytes | memoryview | Iterable[bytes | bytearray | memoryview]

#: Files of many small parts are written in pieces of this size.
_BUFFER = 1 << 17
#: Smaller pieces of a file are read together with what follows them, so much at once.
_SMALL, _WINDOW = 1 << 12, 1 << 16
#: Bytes of the random part of a temporary name.
_RANDOM_BYTES = 8
_MODE_BITS = 0o7777
_NEW_MODE = 0o666
_PRIVATE_MODE = 0o600

#: Whether files are on the disk before they get their names.
_is_synced = True


def set_sync(is_synced: bool) -> None:
    """Whether files that are written from now on survive a crash of the system."""
    global _is_synced
    _is_synced = is_synced


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
        first = self._window_start
        if first <= start and stop <= first + len(self._window):
            return self._window[start - first : stop - first] if stop > start else b""
        if stop - start > _SMALL:
            return self._read(start, stop - start)
        # sections stand one behind the other, and most of them are small
        self._window = self._read(start, min(_WINDOW, self._size - start))
        self._window_start = start
        return self._window[: max(stop - start, 0)]

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
    while piece := stream.read(_BUFFER):
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


class NewFile:
    """A file that gets its name when it is complete; in a ``with`` block, at whose end it does.

    An exception, Ctrl-C and SIGTERM included, leaves nothing behind.

    Args:
        path: where it will stand; see the rules of this module.
        sync: whether it shall be on the disk before it gets its name.

    Attributes:
        stream: takes the bytes.

    Raises:
        FileAccessError: it cannot be made there.
    """

    __slots__ = ("_is_direct", "_is_synced", "_path", "_temporary", "_told", "stream")
    stream: IO[bytes]

    def __init__(self, path: PathName, *, sync: bool = True) -> None:
        self._told = os.fspath(path)
        self._path = self._told
        self._temporary = ""
        self._is_synced = sync and _is_synced
        try:
            mode = self._mode()
            self._is_direct = mode is not None and not os.path.isfile(self._path)
            if self._is_direct:
                self.stream = open(self._path, "wb")  # noqa: SIM115
            else:
                self._path = os.path.realpath(self._path)
                self._begin(mode)
        except BaseException as error:
            self.discard()
            if isinstance(error, OSError | ValueError):
                raise self._unwritable(error) from error
            raise

    def _mode(self) -> int | None:
        """The mode of what stands there; ``None`` for nothing, or a link to nothing."""
        try:
            return os.stat(self._path).st_mode
        except FileNotFoundError:
            return None

    def _begin(self, mode: int | None) -> None:
        """Make the temporary file, with a short name, as the file's may be as long as allowed."""
        how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        name = f".cubinspec-{os.urandom(_RANDOM_BYTES).hex()}.tmp"
        self._temporary = os.path.join(os.path.dirname(self._path), name)
        try:
            descriptor = os.open(self._temporary, how, _NEW_MODE if mode is None else _PRIVATE_MODE)
        except FileExistsError:
            self._temporary = ""  # it belongs to somebody else
            raise
        self.stream = open(descriptor, "wb", buffering=_BUFFER)  # noqa: SIM115
        if mode is not None:
            os.chmod(self._temporary, mode & _MODE_BITS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.finish()
            return
        self.discard()
        if isinstance(error, OSError):
            raise self._unwritable(error) from error

    def finish(self) -> None:
        """Give the file its name.

        Raises:
            FileAccessError: it cannot be written.
        """
        try:
            self.stream.flush()
            if self._is_synced and not self._is_direct:
                os.fsync(self.stream.fileno())
            self.stream.close()
            if not self._is_direct:
                os.replace(self._temporary, self._path)
                self._temporary = ""
        except BaseException as error:
            self.discard()
            if isinstance(error, OSError):
                raise self._unwritable(error) from error
            raise

    def discard(self) -> None:
        """Leave nothing behind."""
        stream = getattr(self, "stream", None)
        try:
            if stream is not None:
                stream.close()
        except OSError:
            pass  # what could not be written is not wanted any more
        finally:
            if self._temporary and os.path.exists(self._temporary):
                os.unlink(self._temporary)

    def _unwritable(self, error: OSError | ValueError) -> FileAccessError:
        reason = getattr(error, "strerror", None) or error
        return FileAccessError(f"cannot be written: {reason}", file=self._told)


def write_file(path: PathName, data: Parts, *, sync: bool = True) -> None:
    """Write a whole file or nothing, by the rules of this module.

    Args:
        data: the contents, in one piece or in consecutive pieces.
        sync: whether it shall be on the disk before it gets its name.

    Raises:
        FileAccessError: the file or its folder cannot be written.
    """
    with NewFile(path, sync=sync) as new:
        new.stream.writelines([data] if isinstance(data, bytes | memoryview) else data)
