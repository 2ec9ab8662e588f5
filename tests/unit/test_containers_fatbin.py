"""Fatbins: listing, every compression, every kind, writing as fatbinary does."""

from __future__ import annotations

import zlib

import cramjam
import pytest

from cubinspec.containers import fatbin, images
from cubinspec.containers.fatbin_write import MODES, compact_ptx, container, entry_for, parse
from cubinspec.containers.source import BytesSource
from cubinspec.errors import CubinError, NotCubinError
from cubinspec_generated.codes import (
    FATBIN_FLAG_COMPRESSED_LZ4,
    FATBIN_FLAG_COMPRESSED_LZ4_FRAME,
    FATBIN_FLAG_COMPRESSED_ZLIB,
    FATBIN_FLAG_COMPRESSED_ZSTD,
)
from tools.corpus.containers import PTX, cubin, raw_entry, simple_fatbin


@pytest.mark.parametrize("mode", MODES)
def test_images_come_back_from_every_mode(mode: str) -> None:
    found = list(images(simple_fatbin(mode)))
    assert [image.kind for image in found] == ["cubin", "cubin", "ptx"]
    assert [image.arch for image in found] == ["sm_90", "sm_100", "compute_80"]
    assert found[0].data == cubin()
    assert found[1].data == cubin("calls.sm_100.exe.cubin")
    assert found[2].data == compact_ptx(PTX)
    assert {image.error for image in found} == {None}


def test_modes_choose_the_compression() -> None:
    used = {mode: [image.compression for image in images(simple_fatbin(mode))] for mode in MODES}
    assert used["none"] == ["none"] * 3
    assert used["speed"] == ["lz4", "none", "lz4"]
    assert used["default"] == used["balance"] == ["zstd", "none", "zstd"]
    assert used["size"] == ["zstd"] * 3  # this mode compresses cubins without being told to


def test_all_four_compressions_are_read() -> None:
    plain = PTX + b"\0"
    packed = {
        FATBIN_FLAG_COMPRESSED_ZLIB: zlib.compress(plain),
        FATBIN_FLAG_COMPRESSED_LZ4: bytes(cramjam.lz4.compress_block(plain, store_size=False)),
        FATBIN_FLAG_COMPRESSED_LZ4_FRAME: bytes(cramjam.lz4.compress(plain)),
        FATBIN_FLAG_COMPRESSED_ZSTD: bytes(cramjam.zstd.compress(plain)),
    }
    data = container(
        [
            raw_entry(1, payload, flags=0x11 | flag, plain_size=len(plain))
            for flag, payload in packed.items()
        ]
    )
    found = list(images(data))
    assert [image.compression for image in found] == ["zlib", "lz4", "lz4-frame", "zstd"]
    assert {image.data for image in found} == {PTX}


def test_kinds_are_named_and_unknown_ones_are_kept() -> None:
    kinds = [1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0x100, 0x7777]
    data = container([raw_entry(kind, b"12345678") for kind in kinds])
    assert [image.kind for image in images(data)] == [
        *("ptx", "cubin", "cubin_text", "nvvm", "cubin", "index", "ptx", "tile_ir"),
        *("concatenated", "unknown"),
    ]
    assert list(images(data))[-1].data == b"12345678"


def test_scrambled_payloads_are_listed_and_refused() -> None:
    entry = raw_entry(8, b"\x99" * 16, flags=0x12011, plain_size=64)
    entry.extension = b"-ftz=0 \0"
    (image,) = images(container([entry]))
    assert (image.kind, image.scrambled, image.size) == ("lto", True, 64)
    assert image.options == "-ftz=0 "
    with pytest.raises(CubinError, match="scrambled"):
        _ = image.data


def test_variants_show_in_the_target() -> None:
    data = container(
        [
            entry_for(cubin(), variant="a"),
            entry_for(cubin("calls.sm_100.exe.cubin"), variant="f"),
            entry_for(PTX.replace(b"sm_80", b"sm_90a")),
        ]
    )
    assert [image.arch for image in images(data)] == ["sm_90a", "sm_100f", "compute_90a"]


@pytest.mark.parametrize("mode", MODES)
def test_a_parsed_container_is_written_back_identically(mode: str) -> None:
    data = container(
        [
            entry_for(cubin(), mode=mode, ident=b"identity"),
            entry_for(cubin("calls.sm_100.exe.cubin"), mode=mode, compress_all=True, ident=b"x"),
            entry_for(PTX, mode=mode, options=b"-O1 ", debug=True),
        ]
    )
    assert container(parse(BytesSource(data, "x"))) == data


def test_only_cubins_and_ptx_are_packed() -> None:
    with pytest.raises(NotCubinError):
        entry_for(b"MZ nonsense")


def test_a_cubin_is_not_packed_for_another_target() -> None:
    with pytest.raises(CubinError, match="sm_90"):
        entry_for(cubin(), sm=80)


def test_ptx_is_compacted_as_fatbinary_does() -> None:
    assert compact_ptx(b"a  b\t\tc \t d") == b"a b\tc d"
    assert compact_ptx(b"x // y\n   z") == b"x \nz"
    assert compact_ptx(b"x /* y\n */ z") == b"x  z"
    assert compact_ptx(b'.pragma "a  // b" ;  c') == b'.pragma "a  // b" ; c'
    assert compact_ptx(b"a /*/ b") == b"a  b"
    assert compact_ptx(b"a /* open") == b"a "


def test_listing_reads_headers_only(tmp_path: object) -> None:
    class Counting(BytesSource):
        read_bytes = 0

        def read(self, offset: int, size: int) -> bytes:
            data = super().read(offset, size)
            Counting.read_bytes += len(data)
            return data

    data = container([raw_entry(2, bytes(1 << 20)) for _ in range(8)])
    entries = list(fatbin.entries(Counting(data, "x"), 0, len(data) - 16))
    assert len(entries) == 8
    assert Counting.read_bytes == 8 * fatbin.ENTRY.size
