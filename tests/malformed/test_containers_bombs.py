"""Containers that lie: one image is lost with a reason, the others are not, nothing blows up."""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import cramjam
import pytest

from cubinspec import allowance
from cubinspec.cli import main
from cubinspec.containers import Image, fatbin, identify, images, source, wrappers
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec.errors import (
    BadStructureError,
    CubinError,
    FileAccessError,
    LimitError,
    TruncatedError,
)
from cubinspec.limits import MAX_CONTAINER_DEPTH, MAX_IMAGE_BYTES
from tools.corpus.containers import (
    BASE,
    PTX,
    ar_of,
    cubin,
    elf_host,
    header_at,
    linked_host,
    pe_host,
    raw_entry,
    simple_fatbin,
    tar_of,
    zip_of,
    zstd,
)

PEAK_BYTES = 48 << 20
GOOD = cubin()


@contextlib.contextmanager
def small_peak() -> Iterator[None]:
    """Nothing may take memory for what its input only claims."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < PEAK_BYTES


def faults(found: list[Image]) -> list[CubinError]:
    """What is wrong with images, their data included."""
    errors = []
    for image in found:
        try:
            _ = image.data
        except CubinError as error:
            errors.append(error)
    return errors


def patched(number: int, offset: int, layout: str, value: int) -> bytes:
    """The simple fatbin with one field of an entry header changed."""
    data = bytearray(simple_fatbin())
    struct.pack_into(layout, data, header_at(data, number) + offset, value)
    return bytes(data)


# -- fatbins ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "layout", "value", "kind", "left"),
    [
        # Where the next entry starts is lost; the plain cubin behind is found by its magic.
        (4, "<I", 8, BadStructureError, 1),  # header smaller than its fixed part
        (4, "<I", 0xFFFFFFF0, TruncatedError, 1),  # header larger than the container
        (8, "<Q", 1 << 40, TruncatedError, 1),
        (8, "<Q", (1 << 64) - 64, TruncatedError, 1),  # would wrap around in 64 bits
        (16, "<I", 0xFFFFFFFF, BadStructureError, 2),  # compressed size above the payload's
        (56, "<Q", 1 << 50, LimitError, 2),
        (56, "<Q", MAX_IMAGE_BYTES, LimitError, 2),
        (56, "<Q", 1, BadStructureError, 2),
        (56, "<Q", len(GOOD) + 1, BadStructureError, 2),
        (40, "<Q", 0x2011, BadStructureError, 2),  # zstd data that is called LZ4
        (40, "<Q", 0x1011, BadStructureError, 2),
        (40, "<Q", 0x4011, BadStructureError, 2),
    ],
)
def test_a_lying_entry_is_refused_and_the_others_stay(
    offset: int, layout: str, value: int, kind: type[CubinError], left: int
) -> None:
    data = patched(0, offset, layout, value)
    with small_peak():
        found = list(images(data, name="f"))
        errors = faults(found)
    assert len(errors) == 1
    assert type(errors[0]) is kind
    assert errors[0].file == "f"
    assert errors[0].offset is not None
    assert errors[0].field is not None
    assert errors[0].field.startswith("fatbin.entries[0]")
    assert len(found) - 1 == left


def test_wrappers_that_point_elsewhere_are_reported_and_the_rest_is_found() -> None:
    good = linked_host([simple_fatbin()], [1], table=False)
    place = good.index(struct.pack("<I", 0x466243B1)) + 8
    for address in (1, BASE + 0x10, BASE + len(good), (1 << 64) - 1):
        data = bytearray(good)
        struct.pack_into("<Q", data, place, address)
        *found, fault = images(bytes(data), name="x")
        assert [image.arch for image in found] == ["sm_90", "sm_100", "compute_80"]
        assert isinstance(fault.error, BadStructureError)
        assert "wrapper" in str(fault.error)


def test_a_host_full_of_wrappers_is_no_burden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrappers, "MAX_WRAPPERS", 100)
    data = linked_host([simple_fatbin()] + [b""] * 5000, [1] * 5001)
    found = list(images(data))
    assert len(found) < 200
    assert [image.arch for image in found][:3] == ["sm_90", "sm_100", "compute_80"]


def test_random_damage_of_linked_hosts_never_escapes() -> None:
    random.seed(6)
    for good in (
        linked_host([simple_fatbin()], [1], in_place=False),
        linked_host([simple_fatbin()], [2], table=False, bits=32),
        pe_host(simple_fatbin()),
    ):
        for _ in range(200):
            data = bytearray(good)
            for _ in range(random.randrange(1, 6)):
                data[random.choice((random.randrange(512), random.randrange(len(data))))] = (
                    random.randrange(256)
                )
            faults(list(images(bytes(data))))


@pytest.mark.parametrize("size", [0, 1, 15, 63, 64, 1 << 20, 1 << 62, (1 << 64) - 1])
def test_container_sizes_that_lie(size: int) -> None:
    data = bytearray(simple_fatbin())
    struct.pack_into("<Q", data, 8, size)
    found = list(images(bytes(data)))
    for error in faults(found):
        assert isinstance(error, TruncatedError)
    if size >= len(data):
        assert [image.arch for image in found][:3] == ["sm_90", "sm_100", "compute_80"]
        assert len(faults(found)) == 1


def test_a_zstd_frame_may_not_be_larger_than_its_entry_says() -> None:
    bomb = bytes(cramjam.zstd.compress(bytes(1 << 30)))
    data = container([raw_entry(2, bomb, flags=0x8011, plain_size=4096), entry_for(GOOD)])
    with small_peak():
        found = list(images(data))
        (error,) = faults(found)
    assert isinstance(error, BadStructureError)
    assert found[1].data == GOOD


def test_a_zlib_stream_may_not_be_larger_than_its_entry_says() -> None:
    import zlib

    bomb = zlib.compress(bytes(100 << 20), 9)
    data = container([raw_entry(2, bomb, flags=0x1011, plain_size=4096)])
    with small_peak():
        assert isinstance(faults(list(images(data)))[0], BadStructureError)


def test_every_prefix_of_a_host_gives_whole_images_or_one_error() -> None:
    data = elf_host({".text": b"t" * 99, ".nv_fatbin": simple_fatbin()})
    whole = [image.data for image in images(data)]
    for cut in range(0, len(data), 61):
        found = list(images(data[:cut]))
        good = [image.data for image in found if image.error is None]
        assert good == whole[: len(good)]
        # the entry that is cut, and the plain cubin in it, which its magic number betrays
        assert len(found) - len(good) <= 2


def test_extensions_outside_the_header_are_refused() -> None:
    data = patched(2, 20, "<I", 0x4000)
    image = list(images(data))[2]
    assert image.data.startswith(b".version")
    with pytest.raises(BadStructureError, match="entry header"):
        _ = image.options


def test_random_damage_never_escapes() -> None:
    random.seed(5)
    good = elf_host({".nv_fatbin": simple_fatbin("none"), ".rodata": b"x" * 40 + GOOD})
    for _ in range(400):
        data = bytearray(good)
        for _ in range(random.randrange(1, 6)):
            data[random.randrange(len(data))] = random.randrange(256)
        for image in images(bytes(data)):
            try:
                _ = image.data, image.size, image.arch, image.options
            except CubinError:
                continue
        identify(bytes(data))


# -- archives -----------------------------------------------------------------------------------


def test_names_that_leave_the_archive_are_told_and_nothing_is_written_there(
    tmp_path: Path,
) -> None:
    bad = zip_of({"../../evil.cubin": GOOD, "/abs.cubin": GOOD, "ok.cubin": GOOD})
    (tmp_path / "in" / "deep").mkdir(parents=True)
    path = tmp_path / "in" / "deep" / "x.zip"
    path.write_bytes(bad)
    found = list(images(path))
    assert sum(image.kind == "cubin" for image in found) == 3
    assert len([image for image in found if image.error is not None]) == 2
    out = tmp_path / "in" / "out"
    assert main(["extract", str(path), "-o", str(out)]) == 1
    written = list(tmp_path.rglob("*.cubin"))
    assert len(written) == 3
    assert {p.parent for p in written} == {out}


def test_a_deflate_bomb_is_stopped_by_its_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MEMBER_IN_MEMORY_BYTES", 1 << 20)
    bomb = gzip.compress(b"\1\0" + bytes(200 << 20), 9)
    data = zip_of({"bomb.so": b"\1\0" + bytes(80 << 20), "k.cubin": GOOD})
    with small_peak():
        (fault,) = images(bomb)
        found = list(images(data))
    assert isinstance(fault.error, LimitError)
    assert isinstance(found[0].error, LimitError)
    assert found[1].data == GOOD


def test_declared_member_sizes_that_lie() -> None:
    data = bytearray(zip_of({"a.so": elf_host({".nv_fatbin": simple_fatbin()}), "k.cubin": GOOD}))
    directory = data.index(b"PK\x01\x02")
    struct.pack_into("<I", data, directory + 24, 0x7FFFFFFF)
    found = list(images(bytes(data)))
    assert [image.kind for image in found].count("fault") >= 1
    assert found[-1].data == GOOD


def test_a_wrong_checksum_is_seen() -> None:
    data = bytearray(zip_of({"k.cubin": GOOD}))
    directory = data.index(b"PK\x01\x02")
    data[directory + 16] ^= 1
    (error,) = faults(list(images(bytes(data))))
    assert isinstance(error, TruncatedError)


def test_overlapping_members_are_refused() -> None:
    data = bytearray(zip_of({"a.cubin": GOOD, "b.cubin": GOOD}, zipfile.ZIP_STORED))
    second = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, second + 42, 0)  # both entries name the first local header
    found = list(images(bytes(data)))
    assert len(found) == 2
    assert len(faults(found)) == 1


def test_encrypted_members_are_refused() -> None:
    data = bytearray(zip_of({"a.cubin": GOOD, "b.cubin": GOOD}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    found = list(images(bytes(data)))
    assert isinstance(found[0].error, FileAccessError)
    assert found[1].data == GOOD


@pytest.mark.parametrize("wrap", [zip_of, tar_of, ar_of], ids=["zip", "tar", "ar"])
def test_archives_in_archives_end_at_the_depth_limit(wrap: object) -> None:
    data = GOOD
    for _ in range(MAX_CONTAINER_DEPTH + 2):
        data = wrap({"x": data})  # type: ignore[operator]
    (fault,) = images(data)
    assert isinstance(fault.error, LimitError)


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "ar", "zst"])
def test_truncated_archives_lose_only_what_is_cut(kind: str) -> None:
    members = {f"{number}.cubin": GOOD + bytes([number]) for number in range(6)}
    data = {
        "zip": lambda: zip_of(members),
        "tar": lambda: tar_of(members),
        "tar.gz": lambda: tar_of(members, "w:gz"),
        "ar": lambda: ar_of(members),
        "zst": lambda: zstd(tar_of(members)),
    }[kind]()
    cut = data[: len(data) * 3 // 5]
    found = list(images(cut))
    assert faults(found)
    if kind in ("tar", "ar"):
        assert sum(image.kind == "cubin" and image.error is None for image in found) >= 3


def test_every_prefix_of_every_archive_is_refused_cleanly() -> None:
    library = elf_host({".nv_fatbin": simple_fatbin()})
    for data in (
        zip_of({"a.so": library}),
        tar_of({"a.so": library}),
        tar_of({"a.so": library}, "w:gz"),
        tar_of({"a.so": library}, "w:xz"),
        ar_of({"a.so": library}),
        zstd(tar_of({"a.so": library})),
    ):
        for cut in range(0, len(data), 1 + len(data) // 60):
            found = list(images(data[:cut]))
            faults(found)
            str(identify(data[:cut]))


def test_random_damage_of_archives_never_escapes() -> None:
    random.seed(11)
    library = elf_host({".nv_fatbin": simple_fatbin()})
    kinds = [
        zip_of({"a.so": library, "b.txt": b"t"}),
        zip_of({"a.so": library}, zipfile.ZIP_LZMA),
        zip_of({"a.so": library}, zipfile.ZIP_BZIP2),
        tar_of({"a.so": library, "b.txt": b"t"}),
        tar_of({"a.so": library}, "w:gz"),
        tar_of({"a.so": library}, "w:bz2"),
        tar_of({"a.so": library}, "w:xz"),
        ar_of({"a.so": library, "long name of a member": b"t"}),
        zstd(tar_of({"a.so": library})),
    ]
    for good in kinds:
        for _ in range(60):
            data = bytearray(good)
            for _ in range(random.randrange(1, 8)):
                data[random.randrange(len(data))] = random.randrange(256)
            faults(list(images(bytes(data))))
            str(identify(bytes(data)))


def test_a_thin_archive_is_said_to_hold_nothing() -> None:
    (fault,) = images(b"!<thin>\n" + ar_of({"x.o": b"abc"})[8:])
    assert "thin archive" in str(fault.error)


def test_sparse_and_special_tar_members() -> None:
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as book:
        for kind in (tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE):
            info = tarfile.TarInfo("special")
            info.type = kind
            book.addfile(info)
        info = tarfile.TarInfo("k.cubin")
        info.size = len(GOOD)
        book.addfile(info, io.BytesIO(GOOD))
    (image,) = images(out.getvalue())
    assert image.data == GOOD


def test_more_members_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(allowance.LIMITS, "members", allowance.Limit(3, 0, False, "members"))
    members = {f"{number}.cubin": GOOD for number in range(5)}
    for data in (zip_of(members), tar_of(members), ar_of(members)):
        assert isinstance(list(images(data))[-1].error, LimitError)


@pytest.mark.parametrize("wrap", [zip_of, tar_of, ar_of], ids=["zip", "tar", "ar"])
def test_a_hundred_thousand_tiny_members(wrap: object) -> None:
    members = {f"m{number}": b"x" for number in range(100_000)}
    members["last.cubin"] = GOOD
    data = wrap(members)  # type: ignore[operator]
    start = time.process_time()
    found = list(images(data))
    assert [image.kind for image in found] == ["cubin"]
    assert time.process_time() - start < 60


# -- the commands -------------------------------------------------------------------------------


def test_a_scan_goes_on_and_says_so_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.fatbin").write_bytes(simple_fatbin())
    (tmp_path / "lying.fatbin").write_bytes(patched(0, 56, "<Q", 1 << 50))
    (tmp_path / "cut.fatbin").write_bytes(simple_fatbin()[:-100])
    out = str(tmp_path.with_name("extracted"))
    for command in (["kernels", "--jobs", "1"], ["params"], ["extract", "-o", out]):
        assert main([*command, str(tmp_path)]) == 1
        captured = capsys.readouterr()
        assert "lying.fatbin" in captured.err
        assert "could not be read" in captured.err
        assert "Traceback" not in captured.err
    assert len(list(Path(out).glob("*.cubin"))) == 5


def test_files_without_device_code_are_said_to_be_what_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, data, words in (
        ("t.txt", b"hello\n", "a text file"),
        ("e", b"", "the file is empty"),
        ("h.so", elf_host({".text": b"t"}), "an x86-64 ELF shared object without device code"),
        ("z.zip", zip_of({"a": b"b"}), "a zip archive with 1 files"),
        ("p.exe", b"MZ" + bytes(200), "a PE file"),
        ("k.ptx", PTX, "PTX text"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        assert main(["kernels", str(path)]) == 1
        error = capsys.readouterr().err
        assert words in error, (name, error)


def test_a_container_header_of_another_version_is_not_read_as_this_one() -> None:
    data = bytearray(simple_fatbin())
    struct.pack_into("<H", data, 4, 2)
    with pytest.raises(BadStructureError, match="version 2"):
        fatbin.container_size(source.BytesSource(bytes(data), "x"), 0)
    assert "unknown version" in str(identify(bytes(data)))
