"""The corpus of guided runs, as it lies in the repository.

Hours of runs find files that reach rare branches. They lie in `.cache/fuzz/corpus`, which no other
machine has; the fewest and smallest of them are in `corpus.tar.xz`, and the next campaign begins
with them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.archive import read_archive, write_archive
from tools.fuzz.run import STORE
from tools.fuzz.targets import TARGETS

ARCHIVE = Path(__file__).with_name("corpus.tar.xz")


def grown(name: str) -> Path:
    """Where the corpus of a target grows."""
    return STORE / "corpus" / name


@cache
def _kept() -> dict[str, list[bytes]]:
    files: dict[str, list[bytes]] = {}
    if ARCHIVE.exists():
        for path, data in read_archive(ARCHIVE):
            files.setdefault(path.split("/")[0], []).append(data)
    return files


def kept(name: str) -> list[bytes]:
    """The files that the archive has for a target."""
    return _kept().get(name, [])


def keep() -> int:
    """Write the archive anew, for each target out of what grew; without that, of what was kept.

    Returns:
        the number of files in it.
    """
    members = sorted({(f"{name}/{_label(data)}", data) for name in TARGETS for data in _now(name)})
    write_archive(ARCHIVE, members)
    return len(members)


def _now(name: str) -> Iterator[bytes]:
    folder = grown(name)
    if folder.is_dir():
        for path in folder.iterdir():
            yield path.read_bytes()
    else:
        yield from kept(name)


def _label(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
