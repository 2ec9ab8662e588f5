"""``-`` on the command line: the standard input as a file that can be read more than once."""

from __future__ import annotations

_PATH = "/dev/stdin"
_PIECE = 1 << 20


def stdin_path() -> str:
    """A path under which what comes in on the standard input can be opened, again and again.

    What comes through a pipe is copied to a nameless temporary file first, which takes the pipe's
    place.
    """
    import os
    import stat

    if not stat.S_ISREG(os.fstat(0).st_mode):
        import tempfile

        with tempfile.TemporaryFile() as copy:
            while piece := os.read(0, _PIECE):
                copy.write(piece)
            copy.flush()
            os.lseek(copy.fileno(), 0, os.SEEK_SET)
            os.dup2(copy.fileno(), 0)
    return _PATH
