"""Images are found wherever they lie, with the way to them."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import shutil
import struct
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from cubinspec.containers import images, source, wrappers
from cubinspec.containers.fatbin_write import container, entry_for
from tools import oracle
from tools.corpus.containers import (
    PTX,
    ar_of,
    cubin,
    elf_host,
    linked_host,
    pe_host,
    simple_fatbin,
    tar_of,
    zip_of,
    zstd,
)

LIBRARY = elf_host({".text": b"\x90" * 1000, ".nv_fatbin": simple_fatbin(), ".data": b"d" * 50})
EXPECTED = ["sm_90", "sm_100", "compute_80"]


def archs(data: bytes) -> list[str]:
    found = list(images(data, name="x"))
    assert [image.error for image in found] == [None] * len(found)
    return [image.arch for image in found]


def test_sections_of_a_host_are_named() -> None:
    host = elf_host({"__nv_relfatbin": simple_fatbin(), ".nv_fatbin": container([])})
    found = list(images(host))
    assert [image.section for image in found] == ["__nv_relfatbin"] * 3
    assert str(found[1]) == "<bytes> → fatbin 0 → entry 1"


@pytest.mark.parametrize(
    "host",
    [
        elf_host({".nv_fatbin": simple_fatbin()}, with_table=False),
        elf_host({".rodata": b"abc" + simple_fatbin()}),
        b"MZ" + bytes(1022) + simple_fatbin() + b"overlay",
        b"\xcf\xfa\xed\xfe" + bytes(500) + simple_fatbin(),
        b"\x01\x02\x00unknown" + bytes(77) + simple_fatbin(),
        struct.pack("<IIQQ", 0x466243B1, 1, 0, 0) + simple_fatbin(),
    ],
    ids=["stripped", "odd-section", "pe", "macho", "unknown", "wrapper"],
)
def test_magic_numbers_are_found_without_sections(host: bytes) -> None:
    assert archs(host) == EXPECTED


def wrapper_versions(data: bytes) -> list[int | None]:
    """Version of the wrapper of each image's container."""
    found = list(images(data, name="x"))
    assert [image.error for image in found] == [None] * len(found)
    steps = [image.provenance[-2] for image in found]
    return [step.wrapper.version if step.wrapper else None for step in steps]


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("in_place", [True, False], ids=["in-place", "relocated"])
@pytest.mark.parametrize("table", [True, False], ids=["sections", "stripped"])
@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
def test_wrappers_name_their_containers(
    table: bool, in_place: bool, bits: int, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = container([entry_for(cubin())])
    # the second has no wrapper: a fatbin that the program loads by itself
    host = linked_host([one + one, one], [1, 2], table=table, in_place=in_place, bits=bits)
    if stream:
        monkeypatch.setattr(source, "MEMBER_IN_MEMORY_BYTES", 0)
        monkeypatch.setattr(source, "SEARCH_CHUNK_BYTES", 700)
        monkeypatch.setattr(source, "STREAM_WINDOW_BYTES", 1000)
        host = zip_of({"a.so": host})
    assert wrapper_versions(host) == [1, None, 2]
    image = list(images(host))[2]
    assert image.section == (".nv_fatbin" if table else "")
    step = image.provenance[-2]
    assert step.wrapper is not None
    assert step.wrapper.is_device_link
    assert step.as_dict()["wrapper"] == {"offset": step.wrapper.offset, "version": 2}


def test_wrappers_of_windows_libraries() -> None:
    host = pe_host(simple_fatbin())
    assert wrapper_versions(host) == [1, 1, 1]
    assert {image.section for image in images(host)} == {".nv_fatb"}


@pytest.mark.oracle("nvcc")
@pytest.mark.skipif(shutil.which("g++") is None, reason="no host compiler")
def test_wrappers_of_object_files_and_programs(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("__global__ void k(int *p) { *p = 1; }\n")
    tool = oracle.find("nvcc")
    words = ["-arch=sm_90", "-Xcompiler", "-fPIC", "k.cu"]
    tool.run(*words, "-c", "-o", "k.o", cwd=tmp_path).check()
    tool.run(*words, "-dc", "-o", "r.o", cwd=tmp_path).check()
    tool.run(*words[:3], "-dlink", "r.o", "-o", "d.o", cwd=tmp_path).check()
    library = [
        "g++",
        "-shared",
        "-o",
        "l.so",
        "k.o",
        "r.o",
        "d.o",
        "-Wl,--allow-multiple-definition",
    ]
    subprocess.run(library, cwd=tmp_path, check=True)
    found = {name: wrapper_versions((tmp_path / name).read_bytes()) for name in ("k.o", "r.o")}
    assert {v for versions in found.values() for v in versions} == {1}
    assert set(wrapper_versions((tmp_path / "d.o").read_bytes())) == {2}
    versions = {
        (image.section, image.provenance[-2].wrapper.version)  # type: ignore[union-attr]
        for image in images(tmp_path / "l.so")
    }
    assert versions == {(".nv_fatbin", 1), ("__nv_relfatbin", 1), (".nv_fatbin", 2)}


def test_the_magic_as_a_number_in_code_is_not_a_fatbin() -> None:
    host = elf_host({".text": b"\xb8\x50\xed\x55\xba\xc3" * 3, ".nv_fatbin": simple_fatbin()})
    assert archs(host) == EXPECTED


def test_bare_cubins_in_a_host_have_their_exact_length() -> None:
    one, two = cubin(), cubin("calls.sm_100.exe.cubin")
    host = elf_host({".rodata": b"##" + one + b"between" + two + b"after"})
    found = list(images(host))
    assert [image.data for image in found] == [one, two]
    assert [image.section for image in found] == [".rodata"] * 2
    assert [image.arch for image in found] == ["sm_90", "sm_100"]


def test_a_magic_number_across_two_chunks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from cubinspec.containers import walk

    monkeypatch.setattr(walk, "SEARCH_CHUNK_BYTES", 256)
    for shift in range(40):
        host = b"\x00\x01" + bytes(230 + shift) + simple_fatbin()
        assert archs(host) == EXPECTED, shift


@pytest.mark.parametrize(
    "data",
    [
        zip_of({"a/b.so": LIBRARY}),
        zip_of({"a/b.so": LIBRARY}, zipfile.ZIP_STORED),
        zip_of({"a/b.so": LIBRARY}, zipfile.ZIP_BZIP2),
        zip_of({"a/b.so": LIBRARY}, zipfile.ZIP_LZMA),
        tar_of({"a/b.so": LIBRARY}),
        tar_of({"a/b.so": LIBRARY}, "w:gz"),
        tar_of({"a/b.so": LIBRARY}, "w:bz2"),
        tar_of({"a/b.so": LIBRARY}, "w:xz"),
        zstd(tar_of({"a/b.so": LIBRARY})),
        ar_of({"a/b.so": LIBRARY}),
        ar_of({"a/" + "long" * 10 + ".o": LIBRARY, "z.o": b"\x00odd"}),
        gzip.compress(LIBRARY),
        bz2.compress(LIBRARY),
        lzma.compress(LIBRARY),
        zstd(LIBRARY),
        zip_of({"pkg-1.tar.zst": zstd(tar_of({"lib/b.so": LIBRARY}))}),
        zip_of({"x.whl": zip_of({"l.a": ar_of({"o.o": LIBRARY})})}),
    ],
    ids=[
        *("zip", "zip-stored", "zip-bzip2", "zip-lzma", "tar", "tar.gz", "tar.bz2", "tar.xz"),
        *("tar.zst", "ar", "ar-long-names", "gz", "bz2", "xz", "zst", "conda", "zip-zip-ar"),
    ],
)
@pytest.mark.parametrize("in_memory", [True, False], ids=["memory", "stream"])
def test_archives_of_every_kind(
    data: bytes, in_memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not in_memory:
        monkeypatch.setattr(source, "MEMBER_IN_MEMORY_BYTES", 0)
        monkeypatch.setattr(source, "SEARCH_CHUNK_BYTES", 700)
        monkeypatch.setattr(source, "STREAM_WINDOW_BYTES", 1000)
    found = list(images(data))
    assert [image.arch for image in found] == EXPECTED
    # read after the walk, in another order than the files have
    assert found[2].data.startswith(b".version")
    assert found[0].data == cubin()
    assert found[1].data == cubin("calls.sm_100.exe.cubin")


def test_the_way_through_archives_is_told() -> None:
    data = zip_of({"x.whl": zip_of({"l.a": ar_of({"o.o": LIBRARY})})})
    image = list(images(data, name="top.zip"))[1]
    assert str(image) == "top.zip → x.whl → l.a → o.o → fatbin 0 → entry 1"
    assert image.file == "top.zip → x.whl → l.a → o.o"
    kinds = [step.kind for step in image.provenance]
    assert kinds == ["file", "member", "member", "member", "fatbin", "entry"]


def test_stored_members_are_windows_on_the_archive() -> None:
    data = zip_of({"b.so": LIBRARY}, zipfile.ZIP_STORED)
    image = next(images(data))
    assert isinstance(image._source, source.PartSource)


def test_plain_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "k.cubin").write_bytes(cubin())
    (tmp_path / "a.ptx").write_bytes(b"// comment\n/* more */" + PTX)
    (tmp_path / "readme.txt").write_text("nothing here")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "link.so").symlink_to(tmp_path / "sub" / "k.cubin")
    found = list(images(tmp_path))
    assert [(image.kind, image.arch) for image in found] == [
        ("ptx", "compute_80"),
        ("cubin", "sm_90"),
    ]
    assert found[1].file.endswith("sub/k.cubin")


def test_links_in_archives_are_not_followed(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as book:
        for name, kind in (("s", tarfile.SYMTYPE), ("h", tarfile.LNKTYPE)):
            info = tarfile.TarInfo(name)
            info.type = kind
            info.linkname = "/etc/passwd"
            book.addfile(info)
    assert list(images(out.getvalue())) == []


def test_links_in_zip_archives_are_not_followed() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        info = zipfile.ZipInfo("link.cubin")
        info.external_attr = 0xA1FF << 16
        book.writestr(info, "../../etc/passwd")
        book.writestr("k.cubin", cubin())
    (image,) = images(out.getvalue())
    assert image.data == cubin()


def test_debug_information_is_not_searched_and_loaded_data_always_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wrappers, "_TABLE_BYTES", 64)
    hidden = simple_fatbin()
    plain = elf_host({".debug_str": hidden, ".nv_fatbin": simple_fatbin()})
    assert archs(plain) == EXPECTED * 2  # an object file has no segments that tell
    host = bytearray(linked_host([simple_fatbin()], [1]))
    # its section of strings, made large, and a container in it
    offset = int.from_bytes(host[40:48], "little")
    row = offset + 3 * 64
    struct.pack_into("<QQQQ", host, row + 8, 0, 0, len(host), len(hidden))
    assert archs(bytes(host) + hidden) == EXPECTED
    # a table that claims bytes which a segment loads hides nothing
    struct.pack_into("<QQQQ", host, row + 8, 0, 0, 64, len(host) - 64)
    assert archs(bytes(host)) == EXPECTED


def test_images_do_not_hold_what_they_were_found_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MEMBERS_IN_MEMORY_BYTES", 2 * len(LIBRARY))
    data = zip_of({f"{number}.so": LIBRARY for number in range(20)})
    found = list(images(data))
    assert len(found) == 60
    digests = {hashlib.sha256(image.data).hexdigest() for image in found}
    assert len(digests) == 3
    held = [s for s in source._loaded if s._whole is not None]
    assert sum(len(s._whole or b"") for s in held) <= 3 * len(LIBRARY)


def test_a_visitor_sees_every_file_and_member() -> None:
    seen: list[tuple[str, str]] = []
    data = zip_of({"a.txt": b"text", "l.a": ar_of({"o.o": LIBRARY})})
    list(images(data, name="z", visit=lambda steps, _, kind: seen.append((steps[-1].name, kind))))
    assert seen == [("z", "zip"), ("a.txt", "text"), ("l.a", "ar"), ("o.o", "elf")]


def test_an_entry_is_reached_without_reading_the_others() -> None:
    data = container([entry_for(cubin()) for _ in range(3)])
    image = list(images(data))[2]
    assert image.offset == data.rindex(b"\x7fELF")


def test_a_list_of_images_does_not_keep_its_files_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_OPEN_FILES", 4)
    for number in range(20):
        (tmp_path / f"{number:02}.so").write_bytes(LIBRARY)
    found = list(images(tmp_path))
    assert len(found) == 60
    assert len(source._open_paths) <= 4
    assert {image.data for image in found[::3]} == {cubin()}
    assert len(source._open_paths) <= 4
