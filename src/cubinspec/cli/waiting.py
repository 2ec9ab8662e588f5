"""A line on the terminal that counts the seconds of a command that takes long.

It is drawn by a timer's signal, so that no command has to call anything and no thread is needed.
The terminal's streams are watched: the line is erased before anything else is printed, and it is
not drawn while another line, such as that of `cubinspec.cli.progress`, is unfinished.
"""

from __future__ import annotations

# `signal` itself imports `enum`, and a short start-up is a promise
import _signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TextIO

#: Seconds before the first drawing, so that short work shows nothing.
_PATIENCE = 0.5
#: Seconds between two drawings.
_INTERVAL = 0.5


class _Watched:
    """A stream of the terminal; says when something is written, and where the last line stands."""

    def __init__(self, stream: TextIO, line: Waiting) -> None:
        self._stream = stream
        self._line = line
        self.finished = True

    def write(self, text: str) -> int:
        line = self._line
        # the signal may come at any time; between these two it draws nothing
        line.busy += 1
        try:
            line.erase()
            if text:
                self.finished = text[-1] in "\r\n"
            return self._stream.write(text)
        finally:
            line.busy -= 1

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            # nothing tells when bytes are written there
            self._line.stop()
        return getattr(self._stream, name)


class Waiting:
    """Counts seconds on stderr, which is a terminal, from half a second on.

    Nothing is done where the system has no such timer, or where the caller of the command uses it.

    Args:
        text: stands before the seconds.
    """

    def __init__(self, text: str) -> None:
        self.busy = 0
        self._text = text
        self._drawn = 0
        self._running = False
        self._start = 0.0
        self._file = 2
        self._kept: tuple[TextIO, TextIO] | None = None
        self._watched: list[_Watched] = []

    def __enter__(self) -> Waiting:
        from time import monotonic

        self._clock = monotonic
        self._start = monotonic()
        if not hasattr(_signal, "setitimer") or _signal.getsignal(_signal.SIGALRM) != 0:
            return self
        try:
            _signal.signal(_signal.SIGALRM, self._tick)
        except ValueError:  # not the main thread
            return self
        self._file = sys.stderr.fileno()
        self._kept = sys.stdout, sys.stderr
        if sys.stdout.isatty():
            sys.stdout = self._watch(sys.stdout)
        sys.stderr = self._watch(sys.stderr)
        self._running = True
        _signal.setitimer(_signal.ITIMER_REAL, _PATIENCE, _INTERVAL)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._kept is None:
            return
        _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
        out, err = self._kept
        # a command may have put another stream in the place
        if sys.stdout in self._watched:
            sys.stdout = out
        if sys.stderr in self._watched:
            sys.stderr = err

    def stop(self) -> None:
        """Erase the line and draw it no more."""
        if self._running:
            _signal.setitimer(_signal.ITIMER_REAL, 0)
            self._running = False
        self.erase()

    def erase(self) -> None:
        """Remove the line, if it stands there."""
        if self._drawn:
            self._put("\r" + " " * self._drawn + "\r")
            self._drawn = 0

    def _watch(self, stream: TextIO) -> Any:
        watched = _Watched(stream, self)
        self._watched.append(watched)
        return watched

    def _tick(self, *_: object) -> None:
        if not self._running or self.busy or not all(w.finished for w in self._watched):
            return
        line = f"{self._text}: {int(self._clock() - self._start + 0.5)} s"
        self._drawn = len(line)
        self._put("\r" + line)

    def _put(self, text: str) -> None:
        """Write past the buffers of the stream, which may be in use when the signal comes."""
        try:
            os.write(self._file, text.encode())
        except OSError:
            self._running = False
