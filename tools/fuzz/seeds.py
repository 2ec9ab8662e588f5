"""What is damaged for each target: samples, containers made of them, documents; and by whom."""

from __future__ import annotations

import bz2
import gzip
import lzma
from functools import cache
from pathlib import Path
from random import Random
from typing import Protocol

from cubinspec.containers import fatbin
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec_generated import codes, codes_relocation
from cubinspec_writer.yaml_form import to_yaml
from tools.corpus import samples
from tools.fuzz import hostile
from tools.fuzz.mutate import BytesMutator, Mutator, TextMutator
from tools.fuzz.streams import STREAMS, bodies

#: Larger files say little more and slow every run down.
LARGEST = 30_000
#: Targets that take something else than a cubin.
_CONTAINERS, _DOCUMENTS, _BUDGETS = "containers", "documents", "budgets"
_BUDGET = """\
[[kernel]]
name = "small"
arch = "sm_90"
registers = 32
stack = { max = 16 }
reason = "as in the release before"
"""


class Seed(Protocol):
    """Makes damaged files of a good one, `data`."""

    data: bytes

    def mutate(self, random: Random) -> tuple[bytes, str]: ...


@cache
def dictionary() -> tuple[bytes, ...]:
    """Words of the formats, out of the tables: names of sections, magic numbers, keys."""
    magics = [fatbin.MAGIC_BYTES, b"\x7fELF", b"PK\3\4", b"PK\1\2", b"PK\5\6", b"!<arch>\n"]
    magics += [b"ustar\0", b"`\n", b"//", b"#1/", b"GNU.sparse.map", b"\x50\xed\x55\xba"]
    named = {**vars(codes), **vars(codes_relocation)}
    words = [name for name in sorted(named) if name.startswith(("EIATTR_", "SHT_", "R_CUDA_"))]
    numbers = {named[name] for name in words}
    packed = [
        n.to_bytes(4, "little") for n in sorted(numbers) if isinstance(n, int) and n < 1 << 32
    ]
    sections = [
        b".text.",
        b".nv.info.",
        b".nv.constant0.",
        b".rela.text.",
        b".nv.merc.",
        b".symtab",
    ]
    return (*magics, *packed, *sections, *(name.encode() for name in words))


def _cubins(folder: Path) -> list[bytes]:
    files = sorted(folder.glob("*.cubin"))
    return [file.read_bytes() for file in files if file.stat().st_size < LARGEST]


def _containers() -> list[bytes]:
    """One of every kind of file that holds images, each with small ones in it."""
    small = min(_cubins(samples.CUBINS), key=len)
    inner = container([entry_for(small, mode="default", compress_all=True), entry_for(hostile.PTX)])
    tar = hostile.tar_member(b"a.cubin", small) + hostile.tar_member(b"p", b"12 path=abc\n", b"x")
    tar += hostile.tar_member(b"b", inner) + bytes(1024)
    archive = hostile.AR_MAGIC + hostile.ar_member(b"//", b"a_long_name_of_a_member.o/\n")
    archive += hostile.ar_member(b"/0", inner) + hostile.ar_member(b"b.cubin/", small)
    zipped = hostile.zip_of([("a.cubin", small), ("b.fatbin", inner)])
    made = [inner, tar, archive, zipped, small, hostile.PTX]
    made += [hostile.elf_host({".nv_fatbin": inner, ".data": bytes(64)})]
    made += [hostile.zip_of([("x.tar", tar), ("y.zip", zipped), ("z.a", archive)])]
    made += [gzip.compress(tar, mtime=0), bz2.compress(archive), lzma.compress(inner)]
    return made


def seeds(target: str, folder: Path | None = None) -> list[Seed]:
    """What is damaged for a target.

    Args:
        folder: more files, such as wheels and shared libraries, beside those of this project.
    """
    more = sorted(folder.iterdir()) if folder is not None else []
    files = [path.read_bytes() for path in more if path.is_file()]
    if target in {stream.__name__ for stream in STREAMS}:
        return [BytesMutator(body, dictionary()) for body in bodies(target)]
    if target == _CONTAINERS:
        return [BytesMutator(data, dictionary()) for data in (*_containers(), *files)]
    if target == _DOCUMENTS:
        texts = [to_yaml(data) for data in _cubins(samples.CUBINS)[::8]]
        return [TextMutator(text, dictionary()) for text in texts]
    if target == _BUDGETS:
        return [TextMutator(_BUDGET, dictionary())]
    real = [data for data in files if data[:4] == b"\x7fELF" and len(data) < LARGEST]
    return [Mutator(data) for data in (*_cubins(samples.CUBINS), *real)]
