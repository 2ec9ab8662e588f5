"""Random access to bytes wherever they are: memory, a file, a part of either, a stream.

Everything in ``cubinspec.containers`` reads through a :class:`Source`, so that a fatbin in a
2 GB library is listed by reading some kilobytes of it, and a library inside a compressed archive
is read without ever being whole in memory or on disk.
"""

from __future__ import annotations

import os
from weakref import ref

from cubinspec.allowance import Budget
from cubinspec.errors import CubinError, FileAccessError, LimitError, TruncatedError
from cubinspec.limits import (
    BOMB_FLOOR_BYTES,
    MAX_MEMBER_BYTES,
    MAX_MEMBER_RATIO,
    MAX_OPEN_FILES,
    MEMBER_IN_MEMORY_BYTES,
    MEMBERS_IN_MEMORY_BYTES,
    SEARCH_CHUNK_BYTES,
    STREAM_WINDOW_BYTES,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from io import FileIO
    from typing import IO, Protocol

    class Reader(Protocol):
        """What a stream needs: sequential reads."""

        def read(self, size: int, /) -> bytes: ...

        def close(self) -> object: ...


class Source:
    """Bytes that can be read at any offset.

    Attributes:
        name: what error messages call it; members of archives are ``archive → member``.
        size: length in bytes.
    """

    name: str
    #: Whether reading at a far offset costs no more than reading on.
    random = True
    #: Whether a process and one forked off it may both read it: nothing has a position that moves.
    is_shareable = False
    _budget: Budget | None = None

    @property
    def budget(self) -> Budget:
        """What may still be taken of the outermost file, which this source is or lies in."""
        if self._budget is None:
            self._budget = Budget(self.name, self.size)
        return self._budget

    def renew_budget(self) -> None:
        """Begin a walk through an outermost file."""
        self._budget = None

    @property
    def scale(self) -> float:
        """Bytes of the outermost file per byte of this source: below 1 inside compression."""
        return 1.0

    @property
    def size(self) -> int:
        raise NotImplementedError

    def read(self, offset: int, size: int) -> bytes:
        """Up to ``size`` bytes at ``offset``: fewer only at the end.

        Raises:
            CubinError: the bytes cannot be had (I/O, a broken compressed stream, a limit).
        """
        raise NotImplementedError

    def exactly(self, offset: int, size: int, field: str) -> bytes:
        """``size`` bytes at ``offset``.

        Raises:
            TruncatedError: the source ends before.
        """
        data = self.read(offset, size)
        if len(data) != size:
            raise TruncatedError(
                f"{size} bytes needed, {len(data)} left",
                file=self.name,
                offset=offset,
                field=field,
                expected=f"a file of at least {offset + size:#x} bytes",
            )
        return data

    def glance(
        self, offset: int, size: int, memory: Callable[[int], memoryview]
    ) -> bytes | memoryview:
        """Up to ``size`` bytes at ``offset``, which may be good only until the next call.

        Args:
            memory: gives memory of a size, where this source wants it.

        Raises:
            CubinError: as :meth:`read`.
        """
        return self.read(offset, size)

    def part(self, offset: int, size: int, name: str) -> Source:
        """A window on this source; nothing is copied."""
        return PartSource(self, offset, size, name)

    def close(self) -> None:
        """Give back what the source holds open."""


class BytesSource(Source):
    """Bytes in memory."""

    is_shareable = True

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, offset: int, size: int) -> bytes:
        return self.data[offset : offset + size]


#: Reads at a place that do not move the file's position; not on every system.
_pread = getattr(os, "pread", None)
_preadv = getattr(os, "preadv", None)
#: Smaller reads come from memory that Python has at hand.
_GLANCE_BYTES = 1 << 16

#: Sources whose file is open now, the least recently opened first.
_open_paths: list[ref[PathSource]] = []


class PathSource(Source):
    """A file of the operating system, opened when it is read.

    Images keep their source, and a list of the images of a folder must not keep all its files
    open; so only the last ``MAX_OPEN_FILES`` are, and others are opened again when needed.

    Reads instead of a mapping: a file that shrinks while it is read then gives a short read and
    not a signal that ends the process, and pages that were read do not count as this process's
    memory.

    Raises:
        FileAccessError: it does not exist, is a folder, cannot seek, or may not be read.
    """

    is_shareable = _pread is not None

    def __init__(self, path: str) -> None:
        self.name = path
        self._file: FileIO | None = None
        self._ref = ref(self)
        try:
            self._size = self._opened().seek(0, 2)
        except (OSError, ValueError) as error:  # a path with a NUL is a wrong value
            self.close()
            reason = getattr(error, "strerror", None) or error
            raise FileAccessError(f"cannot be opened: {reason}", file=path) from error

    def _opened(self) -> FileIO:
        file = self._file
        if file is None:
            file = self._file = open(self.name, "rb", buffering=0)  # noqa: SIM115
            _open_paths.append(self._ref)
            while len(_open_paths) > MAX_OPEN_FILES:
                oldest = _open_paths[0]()
                if oldest is None:
                    del _open_paths[0]
                else:
                    oldest.close()
        return file

    @property
    def size(self) -> int:
        return self._size

    def read(self, offset: int, size: int) -> bytes:
        size = min(size, self._size - offset)
        if size <= 0:
            return b""
        try:
            data = self._pread(offset, size)
            if len(data) == size:
                return data
            pieces = [data]
            while data and (size := size - len(data)):  # one call gives at most 2 GiB on Linux
                offset += len(data)
                data = self._pread(offset, size)
                pieces.append(data)
            return b"".join(pieces)
        except OSError as error:
            raise self._unreadable(error, offset) from error

    def _pread(self, offset: int, size: int) -> bytes:
        """Bytes at a place; a process that was forked off shares the file, so not by seeking."""
        file = self._opened()
        if _pread is None:
            file.seek(offset)
            return file.read(size)
        data: bytes = _pread(file.fileno(), size, offset)
        return data

    def glance(
        self, offset: int, size: int, memory: Callable[[int], memoryview]
    ) -> bytes | memoryview:
        size = min(size, self._size - offset)
        if _preadv is None or size < _GLANCE_BYTES:
            return self.read(offset, size)
        view = memory(size)
        got = 0
        try:
            descriptor = self._opened().fileno()
            while got < size:
                count = _preadv(descriptor, (view[got:],), offset + got)
                if not count:
                    break
                got += count
        except OSError as error:
            raise self._unreadable(error, offset) from error
        return view[:got]

    def _unreadable(self, error: OSError, offset: int) -> FileAccessError:
        return FileAccessError(
            f"cannot be read: {error.strerror or error}", file=self.name, offset=offset
        )

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()
            if self._ref in _open_paths:
                _open_paths.remove(self._ref)

    def __del__(self) -> None:
        # Not close(): at the end of the process the list may be gone before its sources.
        if self._file is not None:
            self._file.close()


class FileSource(Source):
    """A file object that can seek, as fsspec gives for files of other file systems."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self._file = file
        try:
            self._size = file.seek(0, 2)
        except (OSError, ValueError) as error:
            raise FileAccessError(f"cannot be read: {error}", file=name) from error

    @property
    def size(self) -> int:
        return self._size

    def read(self, offset: int, size: int) -> bytes:
        size = min(size, self._size - offset)
        if size <= 0:
            return b""
        try:
            self._file.seek(offset)
            return self._file.read(size)
        except (OSError, ValueError) as error:
            raise FileAccessError(
                f"cannot be read: {error}", file=self.name, offset=offset
            ) from error

    def close(self) -> None:
        self._file.close()


class PartSource(Source):
    """A window on another source."""

    random: bool
    is_shareable: bool

    def __init__(self, parent: Source, offset: int, size: int, name: str) -> None:
        if isinstance(parent, PartSource):  # one step, however deep the windows
            offset += parent.offset
            parent = parent.parent
        self.parent: Source = parent
        self.offset: int = offset
        self.name = name
        self.random = parent.random
        self.is_shareable = parent.is_shareable
        self._size = size

    @property
    def size(self) -> int:
        return self._size

    @property
    def budget(self) -> Budget:
        return self.parent.budget

    @property
    def scale(self) -> float:
        return self.parent.scale

    def read(self, offset: int, size: int) -> bytes:
        size = min(size, self._size - offset)
        return self.parent.read(self.offset + offset, size) if size > 0 else b""

    def glance(
        self, offset: int, size: int, memory: Callable[[int], memoryview]
    ) -> bytes | memoryview:
        size = min(size, self._size - offset)
        return self.parent.glance(self.offset + offset, size, memory) if size > 0 else b""


#: Members that are whole in memory now, least recently loaded first.
_loaded: list[StreamSource] = []


class StreamSource(Source):
    """What a decompressor yields, at any offset.

    A small one (``MEMBER_IN_MEMORY_BYTES``) is held whole, the last few of them at a time; it is
    loaded again when it is needed after that. A larger one is a window that goes forward, and
    going back behind the window opens the stream again: readers of this package go forward, apart
    from one jump to a section table at the end, so a second opening is all it costs.

    Args:
        opener: begins the stream anew.
        parent: what the compressed bytes lie in.
        stored_size: how many there are.
        size: known length; ``None`` when only reading tells.
        is_paid: whether its bytes came out of compression before.
    """

    random: bool

    def __init__(
        self,
        opener: Callable[[], Reader],
        parent: Source,
        name: str,
        stored_size: int,
        size: int | None = None,
        *,
        is_paid: bool = False,
    ) -> None:
        self.name = name
        self.random = size is not None and size <= MEMBER_IN_MEMORY_BYTES
        self._opener = opener
        self._parent = parent
        self._stored = stored_size
        self._declared = size
        self._known: int | None = size
        self._whole: bytes | None = None
        self._stream: Reader | None = None
        self._at = 0  # offset of the next byte of the stream
        self._chunks: list[bytes] = []  # the last that came; the window, ending at _at
        self._start = 0  # offset of the first of them
        # bytes that the budget knows of; a stream can be read again
        self._paid = MAX_MEMBER_BYTES if is_paid else 0

    @property
    def budget(self) -> Budget:
        return self._parent.budget

    @property
    def size(self) -> int:
        if self._known is None:
            while self._advance():
                pass
            self._known = self._at
        return self._known

    @property
    def scale(self) -> float:
        return self._parent.scale * self._stored / max(1, self.size)

    def _fail(self, error: Exception) -> CubinError:
        return TruncatedError(
            f"the compressed data is damaged: {str(error) or type(error).__name__}",
            file=self.name,
            offset=self._at,
        )

    def _advance(self) -> int:
        """Read the next chunk; its length, 0 at the end."""
        try:
            if self._stream is None:
                self._forget()
                self._stream = self._opener()
            data = self._stream.read(SEARCH_CHUNK_BYTES)
        except CubinError:
            raise
        except Exception as error:
            # Each decompressor has exceptions of its own (zlib.error, BadZipFile, LZMAError,
            # ZstdError, EOFError, …); naming them would import all of them.
            raise self._fail(error) from error
        if data:
            self._chunks.append(data)
            self._at += len(data)
            if self._at > self._paid:
                self.budget.spend("expanded", self._at - self._paid)
                self._paid = self._at
            while self._at - self._start - len(self._chunks[0]) >= STREAM_WINDOW_BYTES:
                self._start += len(self._chunks.pop(0))
            if self._at > MAX_MEMBER_BYTES:
                raise LimitError(f"more than {MAX_MEMBER_BYTES} bytes come out", file=self.name)
            if self._at > BOMB_FLOOR_BYTES and self._at > MAX_MEMBER_RATIO * self._stored:
                raise LimitError(
                    f"{self._stored} stored bytes expand to more than {self._at} bytes",
                    file=self.name,
                    expected=f"at most {MAX_MEMBER_RATIO} bytes per stored byte",
                )
        elif self._declared is not None and self._at < self._declared:
            raise TruncatedError(
                f"the data ends after {self._at} bytes",
                file=self.name,
                offset=self._at,
                expected=f"{self._declared} bytes, as the archive says",
            )
        return len(data)

    def _load(self) -> bytes:
        pieces: list[bytes] = []
        self._rewind()
        while self._advance():
            pieces.append(self._chunks[-1])
        self._rewind()
        self._whole = whole = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        _loaded.append(self)
        total = sum(len(s._whole or b"") for s in _loaded)
        while total > MEMBERS_IN_MEMORY_BYTES and len(_loaded) > 1:
            oldest = _loaded.pop(0)
            total -= len(oldest._whole or b"")
            oldest._whole = None
        return whole

    def read(self, offset: int, size: int) -> bytes:
        if self._known is not None:
            size = min(size, self._known - offset)
        if size <= 0:
            return b""
        if self.random:
            whole = self._whole
            if whole is None:
                if offset == 0 and size <= SEARCH_CHUNK_BYTES // 16 and self._at == 0:
                    return self._peek(size)
                whole = self._load()
            return whole[offset : offset + size]
        if offset < self._start:
            self._rewind()
        pieces = []
        at = self._start
        for chunk in self._chunks:
            if offset < at + len(chunk) and size:
                pieces.append(chunk[offset - at : offset - at + size])
                offset += len(pieces[-1])
                size -= len(pieces[-1])
            at += len(chunk)
        while size and self._advance():
            skip = offset - (self._at - len(self._chunks[-1]))
            if skip < len(self._chunks[-1]):
                pieces.append(self._chunks[-1][skip : skip + size])
                offset += len(pieces[-1])
                size -= len(pieces[-1])
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _peek(self, size: int) -> bytes:
        """The first bytes without the rest: most members of an archive are only looked at."""
        try:
            stream = self._opener()
            try:
                return stream.read(size)
            finally:
                stream.close()
        except CubinError:
            raise
        except Exception as error:
            raise self._fail(error) from error

    def _rewind(self) -> None:
        stream, self._stream = self._stream, None
        self._forget()
        if stream is not None:
            stream.close()

    def _forget(self) -> None:
        self._at = self._start = 0
        self._chunks = []

    def close(self) -> None:
        self._rewind()
        if self._whole is not None:
            self._whole = None
            _loaded.remove(self)


class SourceFile:
    """A source as the file object that ``zipfile``, ``tarfile`` and decompressors want."""

    name: str

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0
        self.name = source.name

    def read(self, size: int = -1, /) -> bytes:
        if size is None or size < 0:
            size = max(0, self._source.size - self._at)
        data = self._source.read(self._at, size)
        self._at += len(data)
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        base = 0 if whence == 0 else self._at if whence == 1 else self._source.size
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def flush(self) -> None:
        """Nothing is buffered."""

    @property
    def closed(self) -> bool:
        return False

    def close(self) -> None:
        """The source belongs to its owner."""
