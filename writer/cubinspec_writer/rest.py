"""Making many objects at once without looking through them again and again."""

from __future__ import annotations

import gc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


class CollectorAtRest:
    """Lets the search for reference cycles rest: all that is made meanwhile lives on.

    Without it, looking at the objects again and again takes as long as making them. A collector
    that was off before stays off.
    """

    __slots__ = ("was_enabled",)

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
