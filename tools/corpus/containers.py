"""Containers made by hand for tests and the campaign: hosts, archives, fatbins of every kind."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile

import cramjam

from cubinspec.containers import fatbin
from cubinspec.containers.fatbin_write import NewEntry
from cubinspec.containers.fatbin_write import container as container
from cubinspec.containers.fatbin_write import entry_for as entry_for
from cubinspec_generated.codes import EM_X86_64, FATBIN_WRAPPER_MAGIC
from tools.corpus.samples import CUBINS as CUBINS

PTX = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"


def cubin(name: str = "calls.sm_90.exe.cubin") -> bytes:
    """A carried sample."""
    return (CUBINS / name).read_bytes()


def zstd(data: bytes) -> bytes:
    """One zstd frame."""
    return bytes(cramjam.zstd.compress(data))


def simple_fatbin(mode: str = "default") -> bytes:
    """Two cubins and a PTX."""
    return container(
        [
            entry_for(cubin(), mode=mode, compress_all=True),
            entry_for(cubin("calls.sm_100.exe.cubin"), mode=mode),
            entry_for(PTX, mode=mode),
        ]
    )


def raw_entry(
    kind: int, payload: bytes, *, flags: int = 0x11, plain_size: int = 0, sm: int = 80
) -> NewEntry:
    """An entry with any kind and flags."""
    return NewEntry(
        kind, sm, payload, flags=flags, code_version=(8, 1), uncompressed_size=plain_size
    )


def elf_host(
    sections: dict[str, bytes],
    *,
    with_table: bool = True,
    machine: int = EM_X86_64,
    tail: bytes = b"",
) -> bytes:
    """A little-endian ELF64 shared object with these sections; stripped without a table."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*sections, ".shstrtab"))
    body = bytearray(64)
    rows = [bytes(64)]
    for name, data in (*sections.items(), (".shstrtab", names)):
        body += bytes(-len(body) % 16)
        rows.append(
            struct.pack(
                "<IIQQQQIIQQ",
                names.index(b"\0" + name.encode() + b"\0") + 1,
                3 if name == ".shstrtab" else 1,
                *(2, 0, len(body), len(data), 0, 0, 8, 0),
            )
        )
        body += data
    body += bytes(-len(body) % 8)
    offset = len(body) if with_table else 0
    count = len(rows) if with_table else 0
    body[:64] = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack(
            "<HHIQQQIHHHHHH",
            *(3, machine, 1, 0, 0, offset, 0, 64, 56, 0, 64, count, count - 1 if count else 0),
        )
    )
    return bytes(body) + (b"".join(rows) if with_table else b"") + tail


#: Where :func:`linked_host` is loaded.
BASE = 0x400000


def linked_host(
    containers: list[bytes],
    versions: list[int],
    *,
    table: bool = True,
    in_place: bool = True,
    bits: int = 64,
) -> bytes:
    """A linked ELF host whose wrappers point to ``containers``, one after the other.

    Args:
        table: with a section table.
        in_place: addresses stand in the wrappers; else in the addends of dynamic relocations.
    """
    word, form = (8, "Q") if bits == 64 else (4, "I")
    head, segment = (64, 56) if bits == 64 else (52, 32)
    body = bytearray(head + 3 * segment)
    body += bytes(-len(body) % 8)
    places = []
    for data in containers:
        places.append(len(body))
        body += data + bytes(-len(data) % 8)
    wrappers = len(body)
    record = 8 + 2 * word
    for place, version in zip(places, versions, strict=True):
        address = BASE + place if in_place else 0
        body += struct.pack(f"<II{form}{form}", FATBIN_WRAPPER_MAGIC, version, address, 0)
    relocations = len(body)
    if not in_place:
        for number, place in enumerate(places):
            info = 8  # R_X86_64_RELATIVE
            where = BASE + wrappers + number * record + 8
            body += struct.pack(f"<{form}{form}{form}", where, info, BASE + place)
    dynamic = len(body)
    size = dynamic - relocations
    body += struct.pack(f"<6{form}", 7, BASE + relocations, 8, size, 0, 0)
    end = len(body)
    rows = [
        (1, 5, 0, BASE, wrappers),
        (1, 6, wrappers, BASE + wrappers, end - wrappers),
        (2, 6, dynamic, BASE + dynamic, end - dynamic),
    ]
    for number, (kind, flags, offset, address, length) in enumerate(rows):
        row = (
            struct.pack("<IIQQQQQQ", kind, flags, offset, address, address, length, length, 8)
            if bits == 64
            else struct.pack("<8I", kind, offset, address, address, length, length, flags, 8)
        )
        body[head + number * segment : head + (number + 1) * segment] = row
    offset = 0
    if table:
        names = b"\0.nvFatBinSegment\0.nv_fatbin\0.shstrtab\0"
        strings = len(body)
        body += names + bytes(-len(names) % 8)
        offset = len(body)
        first = places[0] if places else wrappers
        body += bytes(64 if bits == 64 else 40)
        for name, kind, at, length in (
            (1, 1, wrappers, relocations - wrappers),
            (18, 1, first, wrappers - first),
            (29, 3, strings, len(names)),
        ):
            layout = "<IIQQQQIIQQ" if bits == 64 else "<10I"
            body += struct.pack(layout, name, kind, 3, BASE + at, at, length, 0, 0, 8, 0)
    count = 4 if table else 0
    fields = (3, 62 if bits == 64 else 3, 1, 0, head, offset, 0, head, segment, 3)
    ident = b"\x7fELF" + bytes((bits // 32, 1, 1)) + bytes(9)
    layout = "<HHIQQQIHHHHHH" if bits == 64 else "<HHIIIIIHHHHHH"
    section = 64 if bits == 64 else 40
    body[:head] = ident + struct.pack(layout, *fields, section, count, 3 if table else 0)
    return bytes(body)


def pe_host(fatbin_data: bytes, texts: bytes = b"") -> bytes:
    """A 64-bit Windows library with a container and its wrapper, and texts in its data."""
    base, address = 0x180000000, 0x1000
    head = bytearray(b"MZ" + bytes(62))
    struct.pack_into("<I", head, 0x3C, 64)
    head += b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 3, 0, 0, 0, 112, 0x2022)
    head += struct.pack("<H22xQ80x", 0x20B, base)
    wrapper = struct.pack("<IIQQ", FATBIN_WRAPPER_MAGIC, 1, base + address, 0)
    start = 512
    for name, where, at, size in (
        (b".nv_fatb", address, start, len(fatbin_data)),
        (b".nvFatBi", 0x900000, start + len(fatbin_data), len(wrapper)),
        (b".rdata", 0xA00000, start + len(fatbin_data) + len(wrapper), len(texts)),
    ):
        head += struct.pack("<8sIIII16x", name, size, where, size, at)
    return bytes(head) + bytes(start - len(head)) + fatbin_data + wrapper + texts


def macho_host(data: bytes, *, wide: bool = True) -> bytes:
    """A Mach-O library with one section, ``__NV_CUDA,__nv_fatbin``."""
    segment, section, form = (72, 80, "QQQQ") if wide else (56, 68, "IIII")
    start = 512
    head = struct.pack("<IIIIIII", 0xFEEDFACF if wide else 0xFEEDFACE, 7, 3, 6, 2, 0, 0)
    head += bytes(4) if wide else b""
    head += struct.pack("<II16x", 0x1B, 24)  # LC_UUID, which holds no sections
    size = segment + section
    head += struct.pack(
        f"<II16s{form}IIII", 0x19 if wide else 1, size, b"__NV_CUDA", 0, 0, 0, 0, 7, 7, 1, 0
    )
    head += struct.pack(
        f"<16s16s{form[:2]}II", b"__nv_fatbin", b"__NV_CUDA", 0x1000, len(data), start, 4
    )
    return head.ljust(start, b"\0") + data


def universal_host(parts: list[bytes]) -> bytes:
    """A universal Mach-O file, which holds one file per machine."""
    at, rows, body = 4096, b"", b""
    for number, part in enumerate(parts):
        rows += struct.pack(">IIIII", 7 + number, 3, at + len(body), len(part), 12)
        body += part + bytes(-len(part) % 4096)
    return (struct.pack(">II", 0xCAFEBABE, len(parts)) + rows).ljust(at, b"\0") + body


def zip_of(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as book:
        for name, data in members.items():
            book.writestr(name, data)
    return out.getvalue()


def tar_of(members: dict[str, bytes], mode: str = "w") -> bytes:
    """A tar archive; ``w:gz``, ``w:bz2`` and ``w:xz`` compress it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as book:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            book.addfile(info, io.BytesIO(data))
    return out.getvalue()


def ar_of(members: dict[str, bytes]) -> bytes:
    """A GNU ar archive; names above 15 characters go into the name table."""
    table = b"".join(name.encode() + b"/\n" for name in members if len(name) > 15)
    out = bytearray(b"!<arch>\n")

    def add(label: str, data: bytes) -> None:
        out.extend(f"{label:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(data):<10}`\n".encode())
        out.extend(data + (b"\n" if len(data) & 1 else b""))

    add("/", bytes(4))
    if table:
        add("//", table)
    for name, data in members.items():
        label = f"{name}/" if len(name) <= 15 else f"/{table.index(name.encode() + b'/')}"
        add(label, data)
    return bytes(out)


def header_at(data: bytes | bytearray, number: int = 0) -> int:
    """Offset of an entry header in a container at offset 0."""
    at = fatbin.CONTAINER.size
    for _ in range(number):
        size, payload = struct.unpack_from("<IQ", data, at + 4)
        at += size + payload
    return at
