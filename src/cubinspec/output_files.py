"""Writing files so that none is ever half written.

What stands at the path decides:

* nothing, or a regular file: the new file is made beside it, then renamed; one that is replaced
  keeps its permissions
* a symbolic link: what it points to is written, and the link stays; one that leads nowhere because
  it leads back to itself is refused
* a device, a pipe, a socket: written to as it is
* a folder: refused
"""

from __future__ import annotations

import os

from cubinspec.errors import FileAccessError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import IO, Self

    from cubinspec.values import PathName

    Parts = bytes | memoryview | Iterable[bytes | bytearray | memoryview]

#: Files of many small parts are written in pieces of this size.
_BUFFER = 1 << 17
#: How many parts of a file are joined, and up to how many bytes.
_GROUP, _MOST_JOINED = 1 << 10, 1 << 20
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
                if os.path.islink(self._path):
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
        if isinstance(data, list):
            _write_list(new.stream, data)
        else:
            new.stream.writelines([data] if isinstance(data, bytes | memoryview) else data)


def _write_list(stream: IO[bytes], parts: list[bytes | bytearray | memoryview]) -> None:
    """Write parts one behind the other; of small ones many at once, which takes half as long."""
    for at in range(0, len(parts), _GROUP):
        group = parts[at : at + _GROUP]
        if sum(map(len, group)) <= _MOST_JOINED:
            stream.write(b"".join(group))
        else:
            stream.writelines(group)
