"""What one outermost file may take: counted in one :class:`Budget`, however deep things lie in it.

Most commands that read a single cubin never count, and start without this module.
"""

from __future__ import annotations

from cubinspec.errors import LimitError
from cubinspec.limits import GIVEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Limit:
    """What one file may take of something: an amount for every file, and more for large ones.

    Attributes:
        floor: what the smallest file may take.
        per_byte: what it may take for each of its bytes.
        counts_expanded: whether bytes that come out of compression count as its bytes.
        what: what is counted, and what follows when there is more.
    """

    __slots__ = ("counts_expanded", "floor", "per_byte", "what")

    def __init__(self, floor: int, per_byte: float, counts_expanded: bool, what: str) -> None:
        self.floor: int = floor
        self.per_byte: float = per_byte
        self.counts_expanded: bool = counts_expanded
        self.what: str = what


_REST = " in one file; the rest of it is not read"
#: Limits by the names that ``--limit NAME=VALUE`` takes.
LIMITS: dict[str, Limit] = {
    # An entry of a fatbin takes 64 bytes before its image; compressed archives of many small
    # images stay below that, too. Nested archives could give thousands of images for each byte.
    "images": Limit(10_000, 1 / 64, False, f"images{_REST}"),
    # An empty member takes more than 32 bytes in every archive; nesting multiplies them.
    "members": Limit(20_000, 1 / 32, True, f"members of archives{_REST}"),
    # Public wheels expand to less than 20 times their size, images included.
    "expanded": Limit(1 << 30, 64, False, f"bytes out of compression{_REST}"),
    # Names are told in full with each image; real ones take far less than the data they name.
    "names": Limit(4 << 20, 4, True, f"bytes of member names{_REST}"),
    # Real archives have two or three headers before a member: its path, its attributes.
    "headers": Limit(64, 0, False, f"headers before one member{_REST}"),
    # Rows of tables that are read more than once, as forged headers can share them.
    "work": Limit(1 << 20, 2, True, f"steps through tables{_REST}"),
    # More messages about one file help nobody.
    "messages": Limit(10_000, 0, False, f"faults{_REST}"),
    # A document or a builder may ask for bytes without giving them. Real files hold at most some
    # megabytes of zeros, as memory that starts as zero takes no bytes.
    "zeros": Limit(64 << 20, 1, False, "bytes that are asked for and not given"),
}


class SpentError(LimitError):
    """A budget is used up: the walk through its file ends here."""


class Budget:
    """What is left for one outermost file; every reader of what lies in it spends from it.

    Attributes:
        error: what was raised when it ran out; ``None`` before.
    """

    __slots__ = ("_file", "_size", "_spent", "error")

    def __init__(self, file: str, size: int) -> None:
        self._file = file
        self._size = size
        self._spent = dict.fromkeys(LIMITS, 0)
        self.error: SpentError | None = None

    def allowed(self, name: str) -> int:
        """What the file may take in all."""
        if name in GIVEN:
            return GIVEN[name]
        limit = LIMITS[name]
        size = self._size + (self._spent["expanded"] if limit.counts_expanded else 0)
        return max(limit.floor, int(limit.per_byte * size))

    def spend(self, name: str, amount: int = 1) -> None:
        """Count what is about to be taken.

        Raises:
            SpentError: it is more than the file may take.
        """
        spent = self._spent[name] = self._spent[name] + amount
        if spent > LIMITS[name].floor or name in GIVEN:
            self.require(name, spent)

    def require(self, name: str, amount: int) -> None:
        """Refuse an amount above the limit, which is taken of nothing.

        Raises:
            SpentError: it is above the limit.
        """
        allowed = self.allowed(name)
        if amount <= allowed:
            return
        what = LIMITS[name].what
        self.error = SpentError(
            f"more than {allowed} {what}",
            file=self._file,
            expected=f"at most {allowed} (--limit {name}=N allows more)",
        )
        raise self.error


def set_limits(given: Mapping[str, int]) -> None:
    """Use other values than those of :data:`LIMITS` from now on; without any, those again.

    Args:
        given: name of a limit -> what any file may take, however large it is.

    Raises:
        KeyError: there is no such limit.
    """
    for name in given:
        LIMITS[name]
    GIVEN.clear()
    GIVEN.update(given)
