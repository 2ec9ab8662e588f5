"""What is damaged for each target: samples, containers made of them, documents; and by whom."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from functools import cache
from pathlib import Path
from random import Random

from cubinspec.containers import fatbin
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec_generated import codes, codes_relocation
from cubinspec_writer.yaml_form import to_yaml
from tools.corpus import containers as made
from tools.corpus import samples
from tools.fuzz import hostile, nested
from tools.fuzz.mutate import BytesMutator, TextMutator
from tools.fuzz.nested import Seed
from tools.fuzz.streams import STREAMS, bodies

#: Larger files say little more and slow every run down.
LARGEST = 30_000
#: Targets that take something else than a cubin or a container.
_DOCUMENTS, _BUDGETS, _BUILT = "documents", "budgets", "built"
_TEXTS = frozenset((_DOCUMENTS, _BUDGETS))
_BYTES = frozenset((_BUILT, *(stream.__name__ for stream in STREAMS)))
#: Bytes of an input that says what is built, and how many there are to begin with.
_CHOICES, _INPUTS = 200, 40
_BUDGET = b"""\
[[kernel]]
name = "small"
arch = "sm_90"
registers = 32
stack = { max = 16 }
reason = "as in the release before"
"""


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


@cache
def containers() -> dict[str, list[bytes]]:
    """Files of every format that holds images, each with small ones in it; by target."""
    small = min(_cubins(samples.CUBINS), key=len)
    inner = container(
        [
            entry_for(small),
            entry_for(small, mode="speed", compress_all=True),
            entry_for(small, mode="default", compress_all=True),
            entry_for(hostile.PTX),
        ]
    )
    tar = hostile.tar_member(b"a.cubin", small) + hostile.tar_member(b"p", b"12 path=abc\n", b"x")
    tar += hostile.tar_member(b"b", inner) + bytes(1024)
    ar = made.ar_of({"a_long_name_of_a_member.o": inner, "b.cubin": small})
    zipped = hostile.zip_of([("a.cubin", small), ("b.fatbin", inner)])
    macho = [made.macho_host(inner), made.macho_host(inner, wide=False)]
    return {
        "ar_archive": [ar],
        "tar_archive": [tar],
        "zip_archive": [zipped, made.zip_of({"a.cubin": small}, zipfile.ZIP_STORED)],
        "compressed": [
            *(gzip.compress(inner, mtime=0), bz2.compress(inner), lzma.compress(inner)),
            made.zstd(inner),
        ],
        "fatbin_file": [inner],
        "elf_host": [
            hostile.elf_host({".nv_fatbin": inner, ".data": bytes(64)}),
            made.linked_host([inner], [1]),
            *(_packed(name) for name in ("host.so.gz", "host.o.gz", "host.rdc.o.gz")),
        ],
        "windows_host": [
            made.pe_host(inner, b"kernel\0variable\0"),
            _packed("host_windows.obj.gz"),
        ],
        "macho_host": [*macho, made.universal_host(macho)],
        "ptx_text": [hostile.PTX],
        "containers": [
            hostile.zip_of([("x.tar", tar), ("y.zip", zipped), ("z.a", ar)]),
            gzip.compress(tar, mtime=0),
        ],
    }


def _packed(name: str) -> bytes:
    return gzip.decompress((samples.CUBINS.parent / "builds" / name).read_bytes())


def mutator(target: str, data: bytes) -> Seed:
    """What damages a file that a target takes."""
    if target in _TEXTS:
        return TextMutator(data.decode("utf-8", "replace"), dictionary())
    if target in _BYTES:
        return BytesMutator(data, dictionary())
    return nested.mutator(data, dictionary())


def seeds(target: str, folder: Path | None = None) -> list[Seed]:
    """What is damaged for a target.

    Args:
        folder: more files, such as wheels and shared libraries, beside those of this project.
    """
    more = sorted(folder.iterdir()) if folder is not None else []
    files = [path.read_bytes() for path in more if path.is_file()]
    if target in {stream.__name__ for stream in STREAMS}:
        found = bodies(target)
    elif target in containers():
        found = [*containers()[target], *files]
    elif target == _DOCUMENTS:
        found = [to_yaml(data).encode() for data in _cubins(samples.CUBINS)[::8]]
    elif target == _BUDGETS:
        found = [_BUDGET]
    elif target == _BUILT:
        found = [Random(number).randbytes(_CHOICES) for number in range(_INPUTS)]
    else:
        real = [data for data in files if data[:4] == b"\x7fELF" and len(data) < LARGEST]
        found = [*_cubins(samples.CUBINS), *real]
    return [mutator(target, data) for data in found]
