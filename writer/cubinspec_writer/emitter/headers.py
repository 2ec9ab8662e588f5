"""The ELF header, the section headers and the program headers of a file laid out."""

from __future__ import annotations

from cubinspec.format import layout
from cubinspec.format.packing import align_up, is_far, with_note
from cubinspec.format.sections import CUDA_NOTES
from cubinspec_generated import records
from cubinspec_generated.codes import (
    ELFCLASS64,
    ELFOSABI_CUDA_V2,
    EM_CUDA,
    ET_EXEC,
    SHN_XINDEX,
)
from cubinspec_writer.emitter import links
from cubinspec_writer.emitter.plan import refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from cubinspec_generated.producers import Producer
    from cubinspec_writer.emitter.draft import Draft
    from cubinspec_writer.emitter.model import Exceptions
    from cubinspec_writer.emitter.symtab import Symtab

    Columns = list[Sequence[int]]


class Headers:
    """The headers of a file, once the sections have their places.

    Args:
        columns: the section headers field by field, in ELF64 order, without the null one.
        end: of the last section.
        shstrndx: index of ``.shstrtab``; 0 where it is not computed.

    Attributes:
        section_columns: the section headers with what contradicts the layout on purpose.
        null_section: the first section header.
        tables_at: where the section headers and the program headers stand.
        ehdr: the fields behind ``e_ident``.
        segment_rows: program headers, ELF64 field order.
        size: length of the file.
    """

    segment_rows: list[tuple[int, ...]]
    tables_at: tuple[int, int]
    section_columns: Columns
    ehdr: tuple[int, ...]
    size: int

    def __init__(self, draft: Draft, columns: Columns, end: int, shstrndx: int) -> None:
        self.draft = draft
        header, pins = draft.header, draft.pins
        is_64 = header.ei_class == ELFCLASS64
        if is_64:
            sizes = records.ELF_HEADER_64, records.SECTION_HEADER_64, records.PROGRAM_HEADER_64
        else:
            sizes = records.ELF_HEADER_32, records.SECTION_HEADER_32, records.PROGRAM_HEADER_32
        rest, section, segment = sizes
        self._sizes = ehsize, shentsize, phentsize = (
            records.ELF_IDENT.size + rest.size,
            section.size,
            segment.size,
        )
        count = len(draft.names) + 1
        shoff = header.pins.get(
            "e_shoff",
            ehsize if draft.producer.table_first else _table_start(end, is_64, draft.producer),
        )
        after_sections = shoff + count * shentsize
        self.segment_rows = (
            self._segments(columns, after_sections, phentsize, is_64)
            if pins.segments is None
            else pins.segments
        )
        num_segments = len(self.segment_rows)
        self.tables_at = shoff, header.pins.get("e_phoff", after_sections if num_segments else 0)
        # gABI extended numbering
        null = (0,) * 5 + (count if is_far(count) else 0, shstrndx if is_far(shstrndx) else 0)
        self.null_section: tuple[int, ...] = (
            (*null, 0, 0, 0) if pins.null_section is None else pins.null_section
        )
        self.section_columns = _overridden(columns, draft.exceptions)
        self.ehdr = self._file_header(num_segments, count, shstrndx)
        self.size = max(
            end,
            after_sections,
            self.tables_at[1] + num_segments * phentsize if num_segments else 0,
        )
        if pins.file_size is not None:
            self.size = pins.file_size

    def _segments(
        self, columns: Columns, at: int, phentsize: int, is_64: bool
    ) -> list[tuple[int, ...]]:
        """The program headers, which stand at ``at``."""
        draft = self.draft
        count = len(draft.names) + 1
        if draft.header.e_type != ET_EXEC or count == 1:
            return []
        style = layout.SEGMENT_STYLES[draft.producer.segments]
        rows = style(_loadable(columns), count, at, phentsize)
        if is_64:
            return [*rows]
        return [(*row[:-1], layout.P_ALIGN_32) for row in rows]

    def _file_header(self, num_segments: int, count: int, shstrndx: int) -> tuple[int, ...]:
        header = self.draft.header
        ehsize, shentsize, phentsize = self._sizes
        shoff, phoff = self.tables_at
        if not num_segments and not self.draft.producer.phentsize_when_none:
            phentsize = 0
        fields = {
            "e_type": header.e_type,
            "e_machine": EM_CUDA,
            "e_version": header.e_version,
            "e_entry": header.e_entry,
            "e_phoff": phoff,
            "e_shoff": shoff,
            "e_flags": self._flags(),
            "e_ehsize": ehsize,
            "e_phentsize": phentsize,
            "e_phnum": num_segments,
            "e_shentsize": shentsize,
            "e_shnum": 0 if is_far(count) else count,
            "e_shstrndx": SHN_XINDEX if is_far(shstrndx) else shstrndx,
        }
        fields.update(header.pins)
        return tuple([header.overrides.get(name, value) for name, value in fields.items()])

    def _flags(self) -> int:
        """``e_flags``, which hold the index of the note since ABI 8."""
        header, names = self.draft.header, self.draft.names
        if header.ei_osabi == ELFOSABI_CUDA_V2:
            for name in CUDA_NOTES:
                if name in names:
                    return with_note(header.e_flags, names.index(name) + 1)
        return header.e_flags


def _table_start(end: int, is_64: bool, producer: Producer) -> int:
    """Where section headers stand behind the last section."""
    return align_up(end, 8 if is_64 else 4) if producer.headers_aligned else end


def _loadable(columns: Columns) -> Iterator[layout.Loaded]:
    """What program headers are made from: type, flags, offset, size and alignment of sections."""
    _, types, flags, _, offsets, sizes, _, _, aligns, _ = columns
    return zip(types, flags, offsets, sizes, aligns, strict=True)


def _overridden(columns: Columns, exceptions: dict[int, Exceptions]) -> Columns:
    """Section headers that contradict the layout on purpose."""
    if not exceptions:
        return [*columns]
    from cubinspec_generated import record_fields  # names of fields, which few files need

    changed: dict[int, list[int]] = {}
    for number, of_section in exceptions.items():
        for name, value in of_section.overrides.items():
            if name not in record_fields.SECTION_HEADER_64_FIELDS:
                refuse(f"a section header has no field {name!r}", name)
            field = record_fields.SECTION_HEADER_64_FIELDS.index(name)
            if field not in changed:
                changed[field] = [*columns[field]]
            changed[field][number] = value
    return [changed.get(field, column) for field, column in enumerate(columns)]


def section_columns(
    draft: Draft,
    symtab: Symtab,
    name_places: Sequence[int | None],
    offsets: Sequence[int],
    sizes: Sequence[int],
) -> Columns:
    """The section headers field by field, in ELF64 order, without the null one.

    Raises:
        BadStructureError: a name is missing from ``.shstrtab``, or a section that something refers
            to is not part of the file.
    """
    places: list[Any] = [*name_places]
    all_sizes = [*sizes]
    for number, exceptions in draft.exceptions.items():
        pins, overrides = exceptions.pins, exceptions.overrides
        if "sh_name" in pins or "sh_name" in overrides:
            places[number] = pins.get("sh_name", overrides.get("sh_name"))
        all_sizes[number] = pins.get("sh_size", all_sizes[number])
    if None in places:
        name = draft.names[places.index(None)]
        refuse(f"the name {name!r} is missing from .shstrtab", name)
    sh_link, sh_info = links.links(draft), links.infos(draft, symtab)
    for column, given in ((sh_link, draft.links), (sh_info, draft.infos)):
        for number, section in given.items():
            column[number] = draft.index(section)
    return [
        places,
        draft.types,
        draft.flags,
        draft.addrs,
        offsets,
        all_sizes,
        sh_link,
        sh_info,
        draft.aligns,
        draft.entsizes,
    ]
