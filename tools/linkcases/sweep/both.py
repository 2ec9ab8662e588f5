"""What all sweeps do: read the command line, and link a variation with both linkers."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tools import oracle
from tools.linkcases import build
from tools.linkcases.sweep.variation import Nvlink, Outcome, Variation, link_here


def parser(description: str, arches: str) -> argparse.ArgumentParser:
    """The options of every sweep.

    Args:
        arches: the targets that are swept when none is asked for.
    """
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--arch", default=arches, help="targets, such as 80,90a")
    made.add_argument("--match", default="", help="only links whose name has this text")
    made.add_argument("--cache", type=Path, default=build.ROOT / "build" / "linksweep")
    made.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return made


def is_ready(cache: Path) -> bool:
    """Whether NVIDIA's tools are there; says so if not, and makes the folder of the cache."""
    why = oracle.missing("ptxas", "nvlink")
    if why is not None:
        print(f"cannot compare: {why}", file=sys.stderr)
        return False
    cache.mkdir(parents=True, exist_ok=True)
    return True


def link(
    variation: Variation, arch: str, folder: Path, nvlink: Nvlink
) -> tuple[Outcome, Outcome] | None:
    """What nvlink and this linker do; None where nvlink crashes."""
    variation.write(folder)
    theirs = nvlink.link(variation, arch, folder)
    if theirs.status < 0:
        return None
    note = folder / "note.cubin" if theirs.data else None
    if note is not None:
        note.write_bytes(theirs.data or b"")
    return theirs, link_here(variation, arch, folder, note)
