"""One piece of memory for one decompressed image after the other.

Fresh memory is what decompression spends its time on: each page costs a fault, which on the
machines measured takes three times as long as filling it. Walking a library through one arena
makes LZ4 about four times and zstd about twice as fast, and keeps one image in memory, not two.
"""

from __future__ import annotations

import contextlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mmap import mmap

#: Address space to begin with. Pages that are not written cost nothing, and an arena that does not
#: have to grow never holds its old memory and its new one at the same time.
_RESERVED = 256 << 20


class Arena:
    """Memory that is reused for every image: a piece for images, one for their compressed bytes."""

    __slots__ = ("_map", "_stored")

    def __init__(self) -> None:
        self._map: mmap | None = None
        self._stored: mmap | None = None

    def view(self, size: int) -> memoryview:
        """``size`` writable bytes. What was handed out before is overwritten from here on.

        Raises:
            MemoryError: the system has not so much.
        """
        if self._map is None or len(self._map) < size:
            self._map = None
            self._map = _map(size)
        return memoryview(self._map)[:size]

    def stored(self, size: int) -> memoryview:
        """As :meth:`view`, for the bytes that are decompressed into it."""
        if self._stored is None or len(self._stored) < size:
            self._stored = None
            self._stored = _map(size)
        return memoryview(self._stored)[:size]


def _map(size: int) -> mmap:
    import mmap

    try:
        made = mmap.mmap(-1, max(size, _RESERVED))
    except OSError:  # a limit on address space (ulimit -v)
        try:
            made = mmap.mmap(-1, max(size, 1))
        except OSError as error:
            raise MemoryError(f"{size} bytes") from error
    huge = getattr(mmap, "MADV_HUGEPAGE", None)
    if huge is not None:
        # a fault for 2 MiB instead of each 4 KiB; where the system has none, nothing is lost
        with contextlib.suppress(OSError):
            made.madvise(huge)
    return made
