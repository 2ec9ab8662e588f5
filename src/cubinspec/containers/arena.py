"""One piece of memory for one decompressed image after the other.

Fresh memory is what decompression spends its time on: each page costs a fault, which on the
machines measured takes three times as long as filling it. Walking a library through one arena
makes LZ4 about four times and zstd about twice as fast, and keeps one image in memory, not two.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mmap import mmap

#: Address space to begin with. Pages that are not written cost nothing, and an arena that does not
#: have to grow never holds its old memory and its new one at the same time.
_RESERVED = 256 << 20


class Arena:
    """Memory that is handed out whole, again and again."""

    __slots__ = ("_map",)

    def __init__(self) -> None:
        self._map: mmap | None = None

    def view(self, size: int) -> memoryview:
        """``size`` writable bytes. What was handed out before is overwritten from here on.

        Raises:
            MemoryError: the system has not so much.
        """
        if self._map is None or len(self._map) < size:
            self._map = None
            self._map = _map(size)
        return memoryview(self._map)[:size]


def _map(size: int) -> mmap:
    from mmap import mmap

    try:
        return mmap(-1, max(size, _RESERVED))
    except OSError:  # a limit on address space (ulimit -v)
        try:
            return mmap(-1, max(size, 1))
        except OSError as error:
            raise MemoryError(f"{size} bytes") from error
