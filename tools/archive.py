"""Many small files as one tar archive, packed with xz; the same files give the same bytes."""

from __future__ import annotations

import io
import lzma
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

#: Files that repeat each other stand far apart; the window of xz has to reach from one to the next.
_DICTIONARY = 128 << 20


def write_archive(path: Path, members: Iterable[tuple[str, bytes]]) -> None:
    """Write an archive of members, each a name and its bytes, in their order."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
    filters[0]["dict_size"] = _DICTIONARY
    path.write_bytes(lzma.compress(packed.getvalue(), filters=filters))


def read_archive(path: Path) -> Iterator[tuple[str, bytes]]:
    """The members of an archive, each a name and its bytes."""
    with tarfile.open(path, mode="r:xz") as archive:
        for member in archive:
            body = archive.extractfile(member)
            assert body is not None
            yield member.name, body.read()


def unpack_archive(
    path: Path, folder: Path, wanted: Callable[[str], bool] = lambda name: True
) -> list[str]:
    """Write the wanted members of an archive below a folder; returns their names."""
    names = []
    for name, data in read_archive(path):
        if wanted(name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
            names.append(name)
    return names
