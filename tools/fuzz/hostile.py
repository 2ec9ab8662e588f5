"""Files made to hurt a reader, each by one function: `n` says how large the trouble is.

The regression cases of `tests/hostile` and the scaling runs take their inputs from here.
"""

from __future__ import annotations

import ast
import io
import zipfile
from collections.abc import Callable, Iterable

from cubinspec.containers import fatbin
from cubinspec.containers.fatbin_write import NewEntry, container
from cubinspec.format.sections import CAPMERC_TEXT
from cubinspec.model.cubin import Cubin
from cubinspec_generated import record_fields, records
from cubinspec_generated.codes import (
    EI_NIDENT,
    EM_CUDA,
    EM_X86_64,
    ET_DYN,
    ET_EXEC,
    EV_CURRENT,
    FATBIN_KIND_PTX,
    SHF_ALLOC,
    SHT_PROGBITS,
    SHT_STRTAB,
    SHT_SYMTAB,
)
from tools.corpus import samples

_BLOCK = 512
_HEADER_64 = 64
PTX = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"
AR_MAGIC = b"!<arch>\n"


# -- ar ------------------------------------------------------------------------------------------


def ar_member(label: bytes, data: bytes) -> bytes:
    """One member of an `ar` archive, under a label of at most 16 bytes."""
    head = label.ljust(16) + b"0".ljust(12) + b"0".ljust(6) * 2 + b"644".ljust(8)
    return head + str(len(data)).encode().ljust(10) + b"`\n" + data + b"\n" * (len(data) % 2)


def ar_label(label: str, n: int = 1) -> bytes:
    """`n` members under one label."""
    return AR_MAGIC + ar_member(label.encode(), PTX) * n


def ar_endless_name(n: int) -> bytes:
    """A name table without a newline, and `n` members whose names begin in it."""
    table = b"x" * n
    members = [ar_member(f"/{at}".encode(), PTX[:2]) for at in range(n // 16)]
    return AR_MAGIC + ar_member(b"//", table) + b"".join(members)


# -- tar -----------------------------------------------------------------------------------------


def tar_header(name: bytes, size: int, kind: bytes = b"0", extra: bytes = b"") -> bytes:
    """A header of the GNU dialect with the right checksum; `extra` stands from byte 345 on."""
    head = bytearray(_BLOCK)
    head[: min(len(name), 100)] = name[:100]
    head[100:108] = b"0000644\0"
    head[124:136] = f"{size:011o}\0".encode()
    head[136:148] = b"00000000000\0"
    head[156:157] = kind
    head[257:265] = b"ustar\x0000"
    head[345 : 345 + len(extra)] = extra
    head[148:156] = b"%06o\0 " % (sum(head) + 8 * 0x20)
    return bytes(head)


def tar_member(name: bytes, data: bytes, kind: bytes = b"0") -> bytes:
    """A header and its data in whole blocks."""
    return tar_header(name, len(data), kind) + data + bytes(-len(data) % _BLOCK)


def pax_record(key: str, value: str) -> bytes:
    """One record of a PAX header; its length counts itself."""
    rest = f" {key}={value}\n".encode()
    size = len(rest) + 1
    while len(str(size)) + len(rest) != size:
        size = len(str(size)) + len(rest)
    return str(size).encode() + rest


def tar_sparse_pax() -> bytes:
    """A first header with a PAX sparse map that is no list of numbers."""
    records_ = pax_record("GNU.sparse.map", "1,x,y") + pax_record("GNU.sparse.size", "9")
    return tar_member(b"p", records_, b"x") + tar_member(b"a.ptx", PTX) + bytes(2 * _BLOCK)


def tar_chain(n: int, kind: str = "L") -> bytes:
    """`n` headers that say something about the next one, and then a member."""
    told = pax_record("path", "a.ptx") if kind == "x" else b"a.ptx\0"
    return tar_member(b"@", told, kind.encode()) * n + tar_member(b"a", PTX) + bytes(2 * _BLOCK)


def tar_pax_without_length() -> bytes:
    """A second record of a PAX header that does not say how long it is."""
    told = pax_record("path", "a.ptx") + b"x=y\n"
    return tar_member(b"p", told, b"x") + tar_member(b"a.ptx", PTX) + bytes(2 * _BLOCK)


def tar_pax_digits(n: int) -> bytes:
    """A PAX header of digits only."""
    return tar_member(b"p", b"1" * n, b"x") + tar_member(b"a.ptx", PTX) + bytes(2 * _BLOCK)


def tar_pax_globals(n: int) -> bytes:
    """`n` keys for every member, and `n` members."""
    told = b"".join(pax_record(f"k{number}", "v") for number in range(n))
    members = tar_member(b"a.ptx", PTX) * n
    return tar_member(b"g", told, b"g") + members + bytes(2 * _BLOCK)


def tar_global_path(n: int) -> bytes:
    """One long path for every member."""
    told = pax_record("path", "p" * n)
    return tar_member(b"g", told, b"g") + tar_member(b"a", PTX) * (n // 64) + bytes(2 * _BLOCK)


def tar_plain(n: int) -> bytes:
    """`n` members."""
    return b"".join(tar_member(b"%d.ptx" % at, PTX) for at in range(n)) + bytes(2 * _BLOCK)


# -- zip -----------------------------------------------------------------------------------------


def zip_of(members: Iterable[tuple[str, bytes]]) -> bytes:
    """A deflated zip archive, the same at every time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as book:
        for name, data in members:
            book.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def zip_fan(width: int, depth: int, data: bytes = PTX) -> bytes:
    """A zip in a zip in a zip …: `width` times the same in each, `data` at the bottom."""
    for level in range(depth):
        suffix = "zip" if level else "ptx"
        data = zip_of((f"{number}.{suffix}", data) for number in range(width))
    return data


# -- ELF -----------------------------------------------------------------------------------------


def elf_header(
    machine: int, shoff: int, shnum: int, *, e_type: int = ET_DYN, shstrndx: int = 0
) -> bytes:
    """A little-endian ELF64 header."""
    ident = b"\x7fELF\x02\x01\x01" + (b"\x33\x07" if machine == EM_CUDA else b"\0\0") + bytes(7)
    layout = records.ELF_HEADER_64
    row = (e_type, machine, EV_CURRENT, 0, 0, shoff, 0, _HEADER_64, 0, 0)
    return ident + layout.pack(*row, records.SECTION_HEADER_64.size, shnum, shstrndx)


def _section(name: int, kind: int, flags: int, offset: int, size: int) -> bytes:
    return records.SECTION_HEADER_64.pack(name, kind, flags, 0, offset, size, 0, 0, 1, 0)


def elf_host(sections: dict[str, bytes]) -> bytes:
    """A shared object for x86-64 with these sections."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in sections)
    body = bytearray(_HEADER_64) + names
    rows = [_section(0, 0, 0, 0, 0), _section(0, SHT_STRTAB, 0, _HEADER_64, len(names))]
    at = 1
    for name, data in sections.items():
        body += bytes(-len(body) % 16)
        rows.append(_section(at, SHT_PROGBITS, SHF_ALLOC, len(body), len(data)))
        body += data
        at += len(name) + 1
    body[:_HEADER_64] = elf_header(EM_X86_64, len(body), len(rows), shstrndx=1)
    return bytes(body) + b"".join(rows)


def elf_one_name(n: int) -> bytes:
    """A host file of `n` sections that share one name of `64 * n` bytes."""
    names = b"\0" + b"n" * (64 * n) + b"\0"
    shoff = _HEADER_64 + len(names)
    rows = [_section(0, 0, 0, 0, 0), _section(1, SHT_STRTAB, 0, _HEADER_64, len(names))]
    rows += [_section(1, SHT_PROGBITS, SHF_ALLOC, _HEADER_64, 1)] * n
    table = b"".join(rows)
    return elf_header(EM_X86_64, shoff, len(rows), shstrndx=1) + names + table


def elf_shared_table(n: int) -> bytes:
    """A host file of `n` heads of cubins that all name one table of `n` sections."""
    heads = (n + 1) * _HEADER_64
    out = bytearray(elf_header(EM_X86_64, 0, 0))
    for number in range(n):
        shoff = heads - (number + 1) * _HEADER_64
        out += elf_header(EM_CUDA, shoff, n, e_type=ET_EXEC)
    # what the last section says makes every one of them longer than the file
    rows = [_section(0, 0, 0, 0, 0)] * (n - 1) + [_section(0, SHT_PROGBITS, 0, 0, 1 << 40)]
    return bytes(out) + b"".join(rows)


def elf_lazy_faults(field: int) -> bytes:
    """A cubin whose header is right and whose tables are not: one kind of fault for each `field`.

    0: a section behind the end; 1: no string table where one is linked; 2: a name outside of its
    table; 3: a section of no whole rows; 4: bodies that overlap too often.
    """
    names = b"\0.symtab\0.strtab\0"
    at = _HEADER_64
    rows = [[0, 0, 0, 0, 0], [1, SHT_SYMTAB, 0, at, 24], [9, SHT_STRTAB, 0, at, len(names)]]
    if field == 0:
        rows[1][3] = 1 << 40
    elif field == 1:
        rows[2][1] = SHT_PROGBITS
    elif field == 2:
        rows[1][0] = 1 << 20
    elif field == 3:
        rows[1][4] = 23
    else:
        rows += [[1, SHT_PROGBITS, 0, 0, 100]] * 20
    body = names.ljust(24, b"\0")
    table = b"".join(_section(*row) for row in rows)
    head = elf_header(EM_CUDA, at + len(body), len(rows), e_type=ET_EXEC, shstrndx=2)
    return head + body + table


def elf_patched(sample: str, field: str, value: int) -> bytes:
    """A sample with another value in a field of its header."""
    data = bytearray((samples.CUBINS / f"{sample}.cubin").read_bytes())
    layout, names = records.ELF_HEADER_64, record_fields.ELF_HEADER_64_FIELDS
    row = list(layout.unpack_from(data, EI_NIDENT))
    row[names.index(field)] = value
    layout.pack_into(data, EI_NIDENT, *row)
    return bytes(data)


def elf_without_sections(sample: str) -> bytes:
    """A sample whose header says that there are no sections."""
    data = bytearray((samples.CUBINS / f"{sample}.cubin").read_bytes())
    layout = records.ELF_HEADER_64
    row = dict(
        zip(record_fields.ELF_HEADER_64_FIELDS, layout.unpack_from(data, EI_NIDENT), strict=True)
    )
    row |= {"e_shoff": 0, "e_shnum": 0, "e_shstrndx": 0}
    layout.pack_into(data, EI_NIDENT, *row.values())
    return bytes(data)


def elf_capsules(sample: str, word: int) -> bytes:
    """A sample whose Mercury capsules all say to belong to another section."""
    data = bytearray((samples.CUBINS / f"{sample}.cubin").read_bytes())
    with Cubin.parse(bytes(data), sample) as cubin:
        for section in cubin.sections:
            if section.name.startswith(CAPMERC_TEXT):
                data[section.sh_offset : section.sh_offset + 4] = word.to_bytes(4, "little")
    return bytes(data)


def elf_renamed(sample: str, section: str) -> bytes:
    """A sample in which a section has another name."""
    data = (samples.CUBINS / f"{sample}.cubin").read_bytes()
    return data.replace(section.encode(), section[:-1].encode() + b"_")


def universal_head() -> bytes:
    """The magic number of a universal file, or of a Java class, and nothing behind it."""
    return b"\xca\xfe\xba\xbe"


def elf_magics(n: int) -> bytes:
    """A host file full of beginnings of cubins."""
    return elf_header(EM_X86_64, 0, 0) + elf_header(EM_CUDA, 0, 0)[:20].ljust(24, b"\0") * n


# -- fatbins -------------------------------------------------------------------------------------


def fatbin_entries(n: int) -> bytes:
    """A container of `n` small PTX entries."""
    entry = NewEntry(FATBIN_KIND_PTX, 80, PTX, flags=0x11, code_version=(8, 0))
    return container([entry] * n)


def fatbin_containers(n: int) -> bytes:
    """`n` containers without entries in a host file."""
    empty = fatbin.CONTAINER.pack(int.from_bytes(fatbin.MAGIC_BYTES, "little"), 1, 16, 0)
    return elf_header(EM_X86_64, 0, 0) + empty * n


# -- text ----------------------------------------------------------------------------------------


YAML_HEAD = "cubin: 1\nheader: {type: ET_REL, arch: sm_90}\n"


def yaml_section(text: str) -> bytes:
    """A document about one section, of which `text` says more."""
    return f"{YAML_HEAD}contents:\n- {{section: .text.k, {text}}}\n".encode()


def yaml_file_size(size: int) -> bytes:
    """A document that says how long its file is."""
    return f"{YAML_HEAD}contents: []\nfile_size: {size}\n".encode()


#: What a line of a case may call.
GENERATORS: dict[str, Callable[..., bytes]] = {
    made.__name__: made
    for made in (
        *(
            ar_label,
            ar_endless_name,
            elf_capsules,
            tar_pax_without_length,
            elf_lazy_faults,
            elf_magics,
            elf_one_name,
            elf_patched,
        ),
        *(elf_shared_table, fatbin_containers, fatbin_entries, tar_chain, tar_global_path),
        *(tar_pax_digits, tar_pax_globals, tar_plain, tar_sparse_pax, yaml_file_size),
        *(elf_renamed, elf_without_sections, universal_head, yaml_section, zip_fan),
    )
}


def made_by(line: str) -> bytes:
    """The file that a call of a generator makes, such as `zip_fan(8, 5)`.

    Raises:
        KeyError: there is no such generator.
        ValueError: the arguments are no plain values.
    """
    call = ast.parse(line, mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError(f"not a call: {line}")
    return GENERATORS[call.func.id](*map(ast.literal_eval, call.args))
