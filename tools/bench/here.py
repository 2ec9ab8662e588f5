"""What this machine has of what is measured: places of tools and inputs, and what it is."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from tools import oracle
from tools.bench import gallery
from tools.bench.comparisons import Command
from tools.bench.inputs import CACHE, GROWING, INPUTS
from tools.bench.modes import PURE, Mode, why_not_compiled
from tools.oracle import OracleError

PEERS = Path(__file__).with_name("peers")


class NotHere(Exception):
    """A peer or an input that this machine cannot provide; the table says why."""


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NotHere(f"{name} is not installed")
    return found


def _oracle(name: str) -> str:
    try:
        return str(oracle.find(name).path)
    except OracleError as error:
        raise NotHere(str(error)) from error


def empty_scratch() -> None:
    """Remove what earlier commands wrote, which may be gigabytes."""
    shutil.rmtree(CACHE / "scratch", ignore_errors=True)


def _scratch() -> str:
    folder = CACHE / "scratch"
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def _gallery() -> str:
    try:
        return str(gallery.folder())
    except OracleError as error:
        raise NotHere("the wheel with elf.ksy could not be fetched") from error


def _input(name: str) -> str:
    try:
        return str((GROWING if name in GROWING else INPUTS)[name].make())
    except OracleError as error:
        raise NotHere(f"input {name}: {error}") from error


PLACES: dict[str, Callable[[], str]] = {
    "python": lambda: sys.executable,
    "cubinspec": lambda: str(PURE.cubinspec),
    "peers": lambda: str(PEERS),
    "cuobjdump": lambda: _oracle("cuobjdump"),
    "nvlink": lambda: _oracle("nvlink"),
    "scratch": _scratch,
    "readelf": lambda: _program("readelf"),
    "gallery": _gallery,
}
MODULES = {"lief_decode.py": "lief", "lief_write.py": "lief", "elftools_decode.py": "elftools"}


def resolve(command: Command, mode: Mode = PURE) -> list[str]:
    """The words of a command with everything filled in.

    Args:
        mode: whose Python and console script it is run with.

    Raises:
        NotHere: something it needs is not on this machine.
    """
    words = []
    for word in command.argv:
        head, brace, rest = word.partition("}")
        if not brace:
            words.append(word)
            continue
        name = head.removeprefix("{")
        if name in ("python", "cubinspec"):
            place = str(getattr(mode, name))
        else:
            place = PLACES[name]() if name in PLACES else _input(name)
        module = MODULES.get(rest.lstrip("/"))
        if module is not None and importlib.util.find_spec(module) is None:
            raise NotHere(f"{module} is not installed (the dependency group 'bench'; make bench)")
        if Path(place).is_dir() and not rest and (name in INPUTS or name in GROWING):
            words += sorted(str(path) for path in Path(place).iterdir())
        else:
            words.append(place + rest)
    return words


def machine() -> list[str]:
    """What the figures were measured on; no names of machines."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next((x.split(":", 1)[1].strip() for x in lines if "model name" in x), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    # pip makes the console script, which is part of what is measured
    tools = [f"Python {platform.python_version()}", f"pip {importlib.metadata.version('pip')}"]
    if oracle.missing("cuobjdump") is None:
        tools.append(f"cuobjdump {oracle.find('cuobjdump').version}")
    if oracle.missing("nvlink") is None:
        tools.append(f"nvlink {oracle.find('nvlink').version}")
    for name in ("lief", "pyelftools"):
        try:
            tools.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    load = os.getloadavg()[0]
    return [
        f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}; "
        f"load average at the start {load:.1f}",
        ", ".join(tools),
        *([f"no compiled mode: {why}"] if (why := why_not_compiled()) else []),
    ]
