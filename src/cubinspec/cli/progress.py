"""A line of progress on the terminal; nothing is written elsewhere."""

from __future__ import annotations

import sys

from cubinspec.cli.output import printable

#: Seconds between two drawings.
_INTERVAL = 0.1
#: Seconds before the first drawing, so that short work shows nothing.
_PATIENCE = 0.5
_WIDTH = 78


class Progress:
    """Counts on stderr, when that is a terminal.

    Args:
        what: plural of what is counted.
        total: how many there will be; when it is given, a bar is drawn.
    """

    def __init__(self, what: str, total: int | None = None) -> None:
        from time import monotonic

        self._clock = monotonic
        self._what = what
        self._total = total
        self._count = 0
        self._next = monotonic() + _PATIENCE
        self._on = sys.stderr.isatty()
        self._drawn = False

    def step(self, last: object = "", count: int = 1) -> None:
        """``count`` more are done; the text of ``last`` says which, where it is drawn."""
        self._count += count
        if self._on and self._clock() >= self._next:
            self._next = self._clock() + _INTERVAL
            self._draw(printable(str(last)))

    def _draw(self, text: str) -> None:
        if self._total:
            done = min(20, 20 * self._count // self._total)
            head = f"[{'#' * done}{'.' * (20 - done)}] {self._count}/{self._total} {self._what}"
        else:
            head = f"{self._count} {self._what}"
        line = f"{head}  {text}"
        if len(line) > _WIDTH:
            line = line[: _WIDTH - 1] + "…"
        sys.stderr.write(f"\r{line:<{_WIDTH}}")
        sys.stderr.flush()
        self._drawn = True

    def clear(self) -> None:
        """Remove the line, before something else is printed and at the end."""
        if self._drawn:
            sys.stderr.write("\r" + " " * _WIDTH + "\r")
            sys.stderr.flush()
            self._drawn = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
