"""A terminal for tests."""

from __future__ import annotations

import os
import subprocess
import threading

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

pty = pytest.importorskip("pty")
#: No output of ours has it.
_END = b"\0end of output\0"


def on_terminal(
    words: Sequence[str],
    *,
    stdout: int | None = None,
    stderr: bool = True,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """What a terminal gets from a process, which must succeed.

    The terminal is closed here alone, when all was read: some systems drop what is still unread
    when the last process closes its side.

    Args:
        words: the command.
        stdout: a file that takes its place.
        stderr: whether it goes to the terminal too.
        cwd: the folder of the process.
        env: its environment.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words,
        stdout=theirs if stdout is None else stdout,
        stderr=theirs if stderr else None,
        cwd=cwd,
        env=env,
    )

    def end() -> None:
        process.wait()
        os.write(theirs, _END)

    waiter = threading.Thread(target=end)
    waiter.start()
    got = bytearray()
    while not got.endswith(_END):
        got += os.read(ours, 1 << 16)
    waiter.join()
    os.close(theirs)
    os.close(ours)
    assert process.returncode == 0
    return got.removesuffix(_END).decode().replace("\r\n", "\n")
