"""NVIDIA's own tools as black boxes: where they are, which version, and how they are run.

The tools come from the dependency group `oracle` (PyPI wheels), so they are looked for in the
running Python environment only: the same versions on every machine, whatever toolkit is installed
beside it. A tool that is absent or that cannot run here is a reason to skip a test, never an error
at import.
"""

from __future__ import annotations

import functools
import os
import re
import signal
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 120.0
"""Seconds a tool may take unless the caller says otherwise; the slowest sample takes about two."""

_VERSION = re.compile(r"\bV(\d+\.\d+\.\d+)")


class OracleError(Exception):
    """A tool is absent, failed or ran into its timeout."""


@dataclass(frozen=True)
class Result:
    """What one run of a tool left behind. A negative `returncode` is the signal that ended it."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str

    def check(self) -> Result:
        """Itself, or an `OracleError` that quotes the tool when it failed."""
        if self.returncode:
            raise OracleError(
                f"{' '.join(self.argv)}: exit status {self.returncode}\n{self.stdout}{self.stderr}"
            )
        return self


@dataclass(frozen=True)
class Tool:
    """One executable of a toolchain."""

    name: str
    version: str
    path: Path

    def run(
        self,
        *args: str | os.PathLike[str],
        cwd: Path | None = None,
        timeout: float = TIMEOUT,
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Run it to its end. Output is decoded as UTF-8 with replacement; the locale is `C`."""
        argv = (str(self.path), *(os.fspath(arg) for arg in args))
        return run(argv, cwd=cwd, timeout=timeout, env=env)


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    timeout: float = TIMEOUT,
    env: Mapping[str, str] | None = None,
) -> Result:
    """Run a command in a process group of its own, which is ended as a whole at the timeout.

    nvcc starts its phases as children; ending nvcc alone would leave them running.
    """
    full_env = dict(os.environ, LC_ALL="C", **(env or {}))
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=full_env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise OracleError(f"{argv[0]}: {error.strerror}") from error
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise OracleError(f"{' '.join(argv)}: still running after {timeout:g} s") from error
    return Result(
        tuple(argv),
        process.returncode,
        out.decode("utf-8", "replace"),
        err.decode("utf-8", "replace"),
    )


def cuda_home() -> Path:
    """The folder that plays the toolkit's root: `site-packages/nvidia/cu13`."""
    return Path(sysconfig.get_paths()["purelib"]) / "nvidia" / "cu13"


TOOLS = ("ptxas", "nvlink", "nvcc", "fatbinary", "cuobjdump", "nvdisasm")


@functools.cache
def _find(name: str) -> Tool | str:
    path = cuda_home() / "bin" / name
    if not path.is_file():
        return f"{name} is not in this environment (pip install --group oracle)"
    try:
        result = run([str(path), "--version"], timeout=30)
    except OracleError as error:
        return f"{name} does not run here: {error}"
    version = _VERSION.search(result.stdout)
    if result.returncode or version is None:
        return f"{name} does not run here: exit status {result.returncode}"
    return Tool(name, version.group(1), path)


def find(name: str) -> Tool:
    """The tool of the running environment; `OracleError` with the reason when it cannot be used."""
    found = _find(name)
    if isinstance(found, str):
        raise OracleError(found)
    return found


def missing(*names: str) -> str | None:
    """Why not all of these tools can be used here; None when they can."""
    return next((why for name in names if isinstance(why := _find(name), str)), None)
