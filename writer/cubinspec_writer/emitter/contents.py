"""The contents of all sections of a file, decoded where the spec has a layout for them.

A big file takes little more memory than its bytes: numbers stand in columns, pages of a mapped file
are given back once they were read, and bytes that are not decoded are read last.
"""

from __future__ import annotations

from itertools import groupby
from struct import error as StructError

from cubinspec.errors import CubinError
from cubinspec.format.sections import NO_BYTES_TYPES, occupies_file
from cubinspec_generated import records
from cubinspec_generated.codes import (
    SHF_CUDA_MERCURY,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_RESERVED_SHARED,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
)
from cubinspec_writer.emitter import bodies, decode
from cubinspec_writer.emitter.runs import BlobRun
from cubinspec_writer.emitter.source import check_null_symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cubinspec_writer.emitter.decode import Decoder
    from cubinspec_writer.emitter.draft import Content
    from cubinspec_writer.emitter.model import Body
    from cubinspec_writer.emitter.runs import Run
    from cubinspec_writer.emitter.source import Source

#: Types of sections without bytes in the file, and of tables made from the rest.
_SPECIAL_TYPES = NO_BYTES_TYPES | frozenset(
    (
        SHT_CUDA_RESERVED_SHARED,
        SHT_STRTAB,
        SHT_SYMTAB,
        SHT_SYMTAB_SHNDX,
        SHT_CUDA_MERC_SYMTAB,
    )
)
#: Bytes of a large section that are read at once.
PIECE = 1 << 20


class Contents:
    """Reads the contents of the sections of a file.

    Attributes:
        starts, sizes: of each section, by number.
        bodies: of each section.
        runs: neighbouring sections that were decoded together.
    """

    starts: Sequence[int]
    sizes: Sequence[int]

    def __init__(self, source: Source) -> None:
        self.source = source
        self.starts, self.sizes = source.sh_offset[1:], source.sh_size[1:]
        self.bodies: list[Content] = []
        self.runs: list[Run] = []
        #: Sections and runs whose bytes are read last.
        self._unread: list[int | BlobRun] = []

    def read(self) -> None:
        """Decode every section but those whose bytes are kept as they are."""
        source, found = self.source, self.bodies
        names, types = source.names[1:], source.sh_type[1:]
        file, size, is_64 = source.data, len(source.data), source.elf.is_64
        if isinstance(file, memoryview):
            file = bytes(file)  # whose slices are bytes
        info = decode.InfoReader()
        for kind, run in groupby(types):
            first = len(found)
            last = first + len([*run])
            starts, sizes = self.starts[first:last], self.sizes[first:last]
            ends = [*map(int.__add__, starts, sizes)]
            if kind in _SPECIAL_TYPES or max(ends) > size:
                found += [self._special_body(index) for index in range(first + 1, last + 1)]
                continue
            decoder = decode.decoder(kind, source.strtab, is_64, info)
            for at, stop in decode.neighbours(starts, sizes):
                number, some = first + at, sizes[at:stop]
                if decoder is None:
                    found += self._unread_blobs(number, some)
                    continue
                together = decode.record_run(file, kind, number, starts[at], some, is_64, info)
                if together is not None:
                    self.runs.append(together)
                    found += [together] * len(some)
                    continue
                base = starts[at]
                group = file[base : ends[stop - 1]]  # one read for all of them
                found += [
                    self._body(
                        decoder,
                        group[starts[of_one] - base : ends[of_one] - base],
                        names[first + of_one],
                    )
                    for of_one in range(at, stop)
                ]

    def _body(self, decoder: Decoder, content: bytes, name: str) -> Content:
        """The records of a section, or its bytes if they are no whole records."""
        what, read = decoder
        try:
            body = read(content, name)
            if body.size == len(content):
                return body
        except (CubinError, StructError):
            what = "records"
        self.source.reasons.append(f"malformed {what}")
        return bodies.Blob(content)

    def _special_body(self, index: int) -> Body:
        """The body of a section without bytes in the file, or of a table made from the rest."""
        source = self.source
        kind, flags = source.sh_type[index], source.sh_flags[index]
        if not occupies_file(kind, flags) or self._is_window(index):
            return bodies.NoBytes(source.sh_size[index])
        if index == source.elf.shstrndx and kind == SHT_STRTAB:
            return bodies.Computed("shstrtab")
        if index == source.strtab_index:
            return bodies.Computed("strtab")
        if index == source.symtab:
            return bodies.Computed("symtab")
        if kind == SHT_SYMTAB_SHNDX:
            is_mercury = flags & SHF_CUDA_MERCURY
            return bodies.Computed("merc_symtab_shndx" if is_mercury else "symtab_shndx")
        return bodies.Blob(source.elf.section_bytes(index))

    def _is_window(self, index: int) -> bool:
        """Whether reserved shared memory has no bytes although its Mercury flag says so.

        Up to CUDA 13.3 ``.nv.merc.nv.shared.reserved.0`` has bytes; from 13.4 on the section
        headers stand where they would be.
        """
        source = self.source
        start, shoff = source.sh_offset[index], source.shoff
        is_over_table = start <= shoff < start + source.sh_size[index]
        return is_over_table and source.sh_type[index] == SHT_CUDA_RESERVED_SHARED

    def mercury_symbols(self, index: int) -> bodies.MercurySymbols:
        """The records of ``.nv.merc.symtab``, which refer to sections by index.

        Raises:
            CubinError: it is malformed.
        """
        source = self.source
        rows = source.elf.symbol_rows(index)
        check_null_symbol(rows)
        symbols = [
            bodies.MercurySymbol(source.strtab.get(name), info, other, shndx, value, size)
            for name, info, other, shndx, value, size in rows[1:]
        ]
        entry = records.SYMBOL_64 if source.elf.is_64 else records.SYMBOL_32
        return bodies.MercurySymbols(symbols, entry.size)

    # -- bytes that are not decoded --------------------------------------------------------------

    def _unread_blobs(self, number: int, sizes: Sequence[int]) -> list[Content]:
        """Neighbours that are not decoded, to be read later: ``number`` is that of the first."""
        if len(sizes) == 1 and sizes[0] < decode.LARGE:
            self._unread.append(number)
            return [b""]
        together = BlobRun(number, sizes)
        self._unread.append(together)
        self.runs.append(together)
        return [together] * len(sizes)

    def read_blobs(self) -> None:
        """Read the bytes that are not decoded, after the memory of names was freed."""
        source = self.source
        for what in self._unread:
            if isinstance(what, int):
                start, size = self.starts[what], self.sizes[what]
                self.bodies[what] = bytes(source.data[start : start + size])
            else:
                start, size = self.starts[what.first], sum(what.sizes)
                what.pieces = self._pieces(start, size)
        self._unread = []

    def _pieces(self, start: int, size: int) -> list[bytes]:
        """A part of the file, in pieces that a writer can hand on one by one."""
        data, end = self.source.data, start + size
        return [bytes(data[at : min(at + PIECE, end)]) for at in range(start, end, PIECE)]
