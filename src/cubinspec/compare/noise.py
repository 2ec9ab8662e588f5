"""Noise: what may differ between two builds of the same thing, and images that differ in it alone.

Noise is what notes say, and tables of the Mercury half that repeat those of the SASS half. Names of
debug sections are noise, too; :mod:`cubinspec.compare.image_reader` finds them.
"""

from __future__ import annotations

from operator import itemgetter

from cubinspec.compare.digest import digest
from cubinspec.errors import CubinError
from cubinspec.format.sections import RELOCATION_TYPES, occupies_file
from cubinspec.model.functions import function_symbols
from cubinspec_generated import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.symbol import SymbolList
    from cubinspec.reader.elf import Elf

#: Tables, which say what is compared in other ways, and notes.
_TABLES = RELOCATION_TYPES | {
    codes.SHT_STRTAB,
    codes.SHT_SYMTAB,
    codes.SHT_SYMTAB_SHNDX,
    codes.SHT_CUDA_MERC_SYMTAB,
    codes.SHT_NOTE,
}
#: Mercury code of functions, which the driver may finish again.
CAPSULES = frozenset((codes.SHT_CUDA_CAPMERC,))
#: Sections that are no part of a function, whatever they name.
NO_PARTS = _TABLES | CAPSULES
#: Of a section header: where the name is, and all but that and where the bytes lie.
_name_place, _numbers_of = itemgetter(0), itemgetter(1, 2, 5, 6, 7, 8, 9)
#: Bytes of small sections that are looked at together.
_RUN_BYTES = 1 << 16
#: What notes say, by names and bytes of their sections; a library has most many times.
_notes: dict[tuple[tuple[str, bytes], ...], dict[str, str]] = {}
_MAX_NOTES = 1 << 8


def differ_in_noise_only(old: Cubin, new: Cubin) -> bool:
    """Whether two images are the same apart from notes and tables of the Mercury half.

    All other sections have the same numbers, names and bytes then. In doubt it says no.
    """
    one, other = old.elf, new.elf
    if one.ident != other.ident or _said_by_header(one) != _said_by_header(other):
        return False
    table = one.find_section(codes.SHT_SYMTAB)
    if table is None or table != other.find_section(codes.SHT_SYMTAB):
        return False
    # most images that differ in more have another number of symbols
    if one.section_rows[table][5] != other.section_rows[table][5]:
        return False
    try:
        twins = twin_flag(old)
        lasting, lasting_too = _lasting(one, twins), _lasting(other, twins)
        if not _have_same_headers(one, lasting, other, lasting_too):
            return False
        if not _have_same_bytes(one, lasting, other, lasting_too):
            return False
        check_names(one)
        check_names(other)
        names, names_too = _names_in(one, lasting), _names_in(other, lasting_too)
        return names == names_too and all(are_named(each.mercury_symbols) for each in (old, new))
    except CubinError:  # told by who reads them
        return False


def _said_by_header(elf: Elf) -> tuple[int, ...]:
    """What the header says, but for places and numbers of tables."""
    kind, machine, version, entry, _, _, flags, _, _, _, _, _, _ = elf.ehdr
    return kind, machine, version, entry, flags, elf.shstrndx


def _lasting(elf: Elf, twins: int) -> list[int]:
    """The sections whose differences are no noise."""
    rows = elf.section_rows
    doubled = {index for index, row in enumerate(rows) if row[2] & twins}
    return [
        index
        for index, (_, kind, _, _, _, _, _, info, _, _) in enumerate(rows)
        if kind != codes.SHT_NOTE
        and (
            index not in doubled
            or kind in CAPSULES
            or (kind in RELOCATION_TYPES and info not in doubled)
        )
    ]


def _have_same_headers(one: Elf, indices: list[int], other: Elf, indices_too: list[int]) -> bool:
    """Whether sections have the same headers and numbers, wherever their names and bytes lie."""
    if len(indices) != len(indices_too):
        return False
    for index, index_too in zip(indices, indices_too, strict=True):
        row, row_too = one.section_rows[index], other.section_rows[index_too]
        if index == index_too and _numbers_of(row) == _numbers_of(row_too):
            continue
        _, kind, flags, _, _, size, link, info, align, entry = row
        _, kind_too, flags_too, _, _, size_too, link_too, info_too, align_too, entry_too = row_too
        if (kind, flags, align, entry) != (kind_too, flags_too, align_too, entry_too):
            return False
        # no number names Mercury code, and it names a table of the Mercury half
        if kind not in CAPSULES and (index, link, info) != (index_too, link_too, info_too):
            return False
        if size != size_too and index != one.shstrndx:  # it has the names of notes, too
            return False
    return True


def _have_same_bytes(one: Elf, indices: list[int], other: Elf, indices_too: list[int]) -> bool:
    """Whether sections with the same headers have the same bytes; in doubt it says no.

    Sections that follow each other in both files are looked at together.
    """
    rows, rows_too = one.section_rows, other.section_rows
    start = stop = moved = last = 0
    for index, index_too in zip(indices, indices_too, strict=True):
        _, kind, flags, _, at, size, _, _, _, _ = rows[index]
        if index == one.shstrndx:
            continue
        if size and occupies_file(kind, flags):
            _, _, _, _, at_too, _, _, _, _, _ = rows_too[index_too]
            is_next = index == last + 1 and at >= stop and at_too - at == moved
            if not stop or not is_next or at + size - start > _RUN_BYTES:
                if not _are_same(one, start, other, start + moved, stop - start):
                    return False
                start, moved = at, at_too - at
            stop = at + size
        last = index
    return _are_same(one, start, other, start + moved, stop - start)


def _are_same(one: Elf, at: int, other: Elf, at_too: int, size: int) -> bool:
    body, body_too = bytes(one.data[at : at + size]), other.data[at_too : at_too + size]
    return len(body) == size == len(body_too) and body.startswith(body_too)


def _names_in(elf: Elf, indices: list[int]) -> list[str]:
    rows = elf.section_rows
    return elf.shstrtab.get_many([rows[index][0] for index in indices])


def twin_flag(cubin: Cubin) -> int:
    """The flag of sections of the Mercury half; 0 where this half is all there is."""
    _, functions = function_symbols(cubin)
    rows = cubin.elf.section_rows
    is_alone = functions and rows[functions[0][3]][2] & codes.SHF_CUDA_MERCURY
    return 0 if is_alone else codes.SHF_CUDA_MERCURY


def noise_of(cubin: Cubin) -> dict[str, Any]:
    """:meth:`ImageReader.noise` without the names of debug sections."""
    flag, notes, twins = twin_flag(cubin), [], []
    for index, (_, kind, flags, _, _, _, _, _, _, _) in enumerate(cubin.elf.section_rows):
        if kind == codes.SHT_NOTE:
            notes.append(index)
        elif flags & flag and kind not in NO_PARTS:
            twins.append(index)
    tables = digest_of_sections(cubin.elf, twins)
    return {"notes": notes_in(cubin, notes), "mercury_tables": tables}


def digest_of_sections(elf: Elf, sections: list[int]) -> str | None:
    """Of the bytes of all of them; ``None`` for none."""
    return digest(*map(elf.section_view, sections)) if sections else None


def notes_in(cubin: Cubin, sections: list[int]) -> dict[str, str]:
    """What the notes of an image say, by their names."""
    elf = cubin.elf
    key = tuple([(elf.section_name(index), elf.section_bytes(index)) for index in sections])
    notes = _notes.get(key)
    if notes is None:
        if len(_notes) >= _MAX_NOTES:
            _notes.clear()
        notes = _notes[key] = _read_notes(cubin)
    return notes


def _read_notes(cubin: Cubin) -> dict[str, str]:
    notes = {}
    for note in cubin.notes:
        words = (note.tool_name, note.tool_version, note.tool_branch, note.arguments)
        text = " ".join(filter(None, words))
        if note.toolkit_version is not None:
            text = f"toolkit {note.toolkit_version} virtual sm_{note.virtual_sm}"
        notes[note.name] = text or digest(note.desc)
    return notes


def check_names(elf: Elf) -> None:
    """See that all sections have names, though few of them are read."""
    names = elf.shstrtab.data
    last = max(map(_name_place, elf.section_rows), default=0)
    if not names.endswith(b"\0") or last >= len(names):
        _ = elf.section_names  # raises


def are_named(symbols: SymbolList) -> bool:
    """Whether the names of all symbols can be read; in doubt it says no."""
    last, *_ = max(symbols.rows, default=(0,))
    text = symbols.strings.data
    return not symbols.rows or (last < len(text) and text.endswith(b"\0"))
