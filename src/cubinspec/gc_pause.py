"""Pauses the cyclic garbage collector during bulk allocation."""

from __future__ import annotations

import gc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


class GcPaused:
    """A context without collections of reference cycles.

    Many objects are made at once and all of them live on. The collector would look through them
    again and again, which takes as long as making them. One that was off before stays off.
    """

    __slots__ = ("was_enabled",)
    was_enabled: bool

    def __enter__(self) -> None:
        self.was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.was_enabled:
            gc.enable()
