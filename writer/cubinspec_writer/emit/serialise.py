"""Phase two: a laid out file becomes bytes; nothing is decided here any more."""

from __future__ import annotations

from struct import error as StructError

from cubinspec.errors import BadStructureError
from cubinspec.reader import elf
from cubinspec_generated import records
from cubinspec_writer.emit import bodies
from cubinspec_writer.emit.layout import Plan, plan
from cubinspec_writer.emit.model import Description


def emit(description: Description) -> bytes:
    """The file that a description stands for.

    Args:
        description: from ``describe``, from the YAML form, or built by hand.

    Raises:
        CubinError: the description contradicts itself, or a number does not fit its field.
    """
    laid_out = plan(description)
    try:
        pieces = _pieces(description, laid_out)
    except StructError as error:
        raise BadStructureError(f"a number does not fit its field: {error}") from error
    return _assemble(pieces, laid_out.size)


def _pieces(description: Description, laid_out: Plan) -> list[tuple[int, bytes]]:
    """Offset and bytes of everything in the file."""
    header = description.header
    record = records.ELF_HEADER_64 if laid_out.is_64 else records.ELF_HEADER_32
    ident = records.ELF_IDENT.pack(
        b"\x7fELF",
        header.ei_class,
        elf.ELFDATA2LSB,
        header.ei_version,
        header.ei_osabi,
        header.ei_abiversion,
        header.ei_pad,
    )
    pieces = [(0, ident + record.pack(*laid_out.ehdr))]
    for section, row in zip(laid_out.sections, laid_out.section_rows, strict=True):
        if section is None or not elf.occupies_file(row[1], row[2]):
            continue
        body = section.body
        if isinstance(body, bodies.Computed):
            data = laid_out.tables[body.kind]
        else:
            data = body.encode(laid_out.context)
        if len(data) != row[5] and "sh_size" not in section.pins:
            raise BadStructureError(
                f"{len(data)} bytes were written where {row[5]} were laid out", field=section.name
            )
        if data:
            pieces.append((row[4], data))
    table = records.SECTION_HEADER_64 if laid_out.is_64 else records.SECTION_HEADER_32
    rows = laid_out.section_rows
    if len(rows) > 1 or laid_out.ehdr[5]:
        pieces.append((laid_out.ehdr[5], b"".join([table.pack(*row) for row in rows])))
    if laid_out.segment_rows:
        pieces.append((laid_out.ehdr[4], _segments(laid_out)))
    pieces.extend((fill.offset, fill.data) for fill in description.fills)
    return pieces


def _segments(laid_out: Plan) -> bytes:
    if laid_out.is_64:
        return b"".join([records.PROGRAM_HEADER_64.pack(*row) for row in laid_out.segment_rows])
    pack = records.PROGRAM_HEADER_32.pack
    return b"".join(
        [
            pack(kind, offset, vaddr, paddr, filesz, memsz, flags, align)
            for kind, flags, offset, vaddr, paddr, filesz, memsz, align in laid_out.segment_rows
        ]
    )


def _assemble(pieces: list[tuple[int, bytes]], size: int) -> bytes:
    """One byte string; zeros between the pieces."""
    ordered = sorted(pieces, key=lambda piece: piece[0])
    parts: list[bytes] = []
    at = 0
    for offset, data in ordered:
        if offset < at:
            return _overlay(pieces, size)
        if offset > at:
            parts.append(bytes(offset - at))
        parts.append(data)
        at = offset + len(data)
    if at < size:
        parts.append(bytes(size - at))
    result = b"".join(parts)
    return result if at <= size else result[:size]


def _overlay(pieces: list[tuple[int, bytes]], size: int) -> bytes:
    """For files whose sections overlap: later pieces win over earlier ones.

    Section headers and program headers come last, as a reader trusts them most.
    """
    whole = bytearray(max(size, max(offset + len(data) for offset, data in pieces)))
    for offset, data in pieces[1:]:
        whole[offset : offset + len(data)] = data
    whole[: len(pieces[0][1])] = pieces[0][1]
    return bytes(whole[:size])
