"""Containers made by hand for the tests: hosts, archives, fatbins of every kind."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from pathlib import Path

from cubinspec.containers import fatbin
from cubinspec.containers.fatbin_write import Entry, container, entry_for

CUBINS = Path(__file__).resolve().parents[1] / "data" / "cubins"
PTX = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"


def cubin(name: str = "calls.sm_90.exe.cubin") -> bytes:
    """A carried sample."""
    return (CUBINS / name).read_bytes()


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
) -> Entry:
    """An entry with any kind and flags."""
    return Entry(kind, sm, payload, flags=flags, code_version=(8, 1), uncompressed_size=plain_size)


def elf_host(
    sections: dict[str, bytes], *, with_table: bool = True, machine: int = 62, tail: bytes = b""
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
