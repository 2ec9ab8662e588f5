"""fatbin.ksy on containers written byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from cubinspec import Cubin
from cubinspec.containers.fatbin_write import container as fatbin_of
from cubinspec.containers.fatbin_write import entry_for
from cubinspec_generated.kaitai.fatbin import Fatbin
from tools.corpus.containers import CUBINS


def entry(
    kind: int, payload: bytes, *, flags: int = 1, rest: bytes = b"", ofs_extension: int = 0
) -> bytes:
    payload += bytes(-len(payload) % 8)
    return (
        struct.pack(
            "<HHIQIIHHIIIQQQ",
            kind,
            0x101,
            64 + len(rest),
            len(payload),
            0,
            ofs_extension,
            0,
            9,
            90,
            0,
            0,
            flags,
            0,
            0,
        )
        + rest
        + payload
    )


def container(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def test_two_containers_with_a_gap() -> None:
    data = container(entry(1, b".version 9.0\n")) + bytes(8) + container(entry(8, b"IR"))
    blocks = Fatbin.from_bytes(data).blocks
    assert [block.magic_kind for block in blocks] == [1, 0, 0, 1]
    first = blocks[0].content.entries.entries[0]
    assert first.head.kind.name == "fatbin_kind_ptx"
    assert first.head.sm == 90
    assert first.payload.data.startswith(b".version 9.0\n")
    assert blocks[3].content.entries.entries[0].payload.data[:2] == b"IR"


def test_a_plain_cubin_is_read_as_one(samples: list[Path]) -> None:
    cubin = samples[0].read_bytes()
    (block,) = Fatbin.from_bytes(container(entry(2, cubin))).blocks
    image = block.content.entries.entries[0].payload
    assert image.header.e_machine == 190
    assert image.sections[1].name == ".shstrtab"


@pytest.mark.parametrize("bit", [12, 13, 14, 15])
def test_a_compressed_cubin_stays_opaque(bit: int) -> None:
    (block,) = Fatbin.from_bytes(container(entry(2, b"\x28\xb5\x2f\xfd", flags=1 << bit))).blocks
    image = block.content.entries.entries[0]
    assert image.is_compressed
    assert image.payload.data == b"\x28\xb5\x2f\xfd" + bytes(4)


@pytest.mark.parametrize("ident", [None, b"identity"])
def test_the_extension_holds_a_copy_of_compat(ident: bytes | None) -> None:
    cubin = (CUBINS / "calls.sm_100.exe.cubin").read_bytes()
    (block,) = Fatbin.from_bytes(fatbin_of([entry_for(cubin, ident=ident)])).blocks
    header = block.content.entries.entries[0].header_rest
    compat = Cubin.parse(cubin).compat
    assert [int(record.code) for record in header.compat_copy.records] == [r.code for r in compat]
    assert header.nul == 0
    assert not header.rest.strip(b"\0")
    assert getattr(header, "identifier", b"").rstrip(b"\0") == (ident or b"")


@pytest.mark.parametrize(
    ("ofs_extension", "ofs_data", "len_data"),
    [(64, 72, 99), (64, 72, 0xFFFFFFFF), (64, 80, 4), (8, 72, 4), (0xFFFFFFFF, 72, 4), (88, 96, 4)],
)
def test_extensions_that_lie_are_left_alone(
    ofs_extension: int, ofs_data: int, len_data: int
) -> None:
    rest = struct.pack("<II", ofs_data, len_data) + bytes(16)
    data = container(entry(1, b"x", flags=1 << 24, rest=rest, ofs_extension=ofs_extension))
    (block,) = Fatbin.from_bytes(data).blocks
    assert not block.content.entries.entries[0].header_rest.has_compat_copy


def test_an_older_extension_holds_two_numbers() -> None:
    """As entries for sm_100 in libcusparse 12.9.4 have it."""
    rest = struct.pack("<IIHHI", 72, 3, 1, 5, 0)
    data = container(entry(2, b"\x28\xb5\x2f\xfd", flags=0x1002011, rest=rest, ofs_extension=64))
    (block,) = Fatbin.from_bytes(data).blocks
    header = block.content.entries.entries[0].header_rest
    assert not header.has_compat_copy
    assert header.rest == b"\1\0\5\0" + bytes(4)


def test_options_of_ptx_follow_the_extension() -> None:
    text = b".version 8.0\n.target sm_80\n.address_size 64\n"
    data = fatbin_of([entry_for(text, options=b"-O1 ", ident=b"x", mode="none")])
    (block,) = Fatbin.from_bytes(data).blocks
    header = block.content.entries.entries[0].header_rest
    assert header.identifier == b"x" + bytes(7)
    assert (header.extension.ofs_data, header.extension.len_data) == (80, 4)
    assert header.rest == b"-O1 \0\0\0\0"


def test_wrappers_of_a_host_object() -> None:
    data = struct.pack("<IIQQ", 0x466243B1, 1, 0x1000, 0) * 2
    blocks = Fatbin.from_bytes(data).blocks
    assert [block.content.version.name for block in blocks] == ["compiled", "compiled"]
    assert blocks[0].content.ptr_container == 0x1000


def test_sizes_that_lie_end_with_the_file() -> None:
    data = bytearray(container(entry(1, b"12345678")))
    struct.pack_into("<Q", data, 8, 1 << 63)
    struct.pack_into("<Q", data, 16 + 8, (1 << 64) - 1)
    (block,) = Fatbin.from_bytes(bytes(data)).blocks
    assert block.content.entries.entries[0].payload.data == b"12345678"


def test_anything_else_is_one_opaque_block() -> None:
    (block,) = Fatbin.from_bytes(b"no fat binary").blocks
    assert block.content.data == b"at binary"
