"""Noise: what may differ between two builds of the same thing, and images that differ in it alone.

Noise is what notes say, and tables of the Mercury half that repeat those of the SASS half. Names of
debug sections are noise, too; :mod:`cubinspec.compare.image_reader` finds them.
"""

from __future__ import annotations

from operator import itemgetter

from cubinspec.compare.digest import digest
from cubinspec.errors import CubinError
from cubinspec.format.sections import RELOCATION_TYPES, occupies_file
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
#: Of a section header: where the name is.
_name_place = itemgetter(0)
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
    twins = twin_flag(old)
    lasting, lasting_too = _lasting(one, twins), _lasting(other, twins)
    if len(lasting) != len(lasting_too):
        return False
    for index, index_too in zip(lasting, lasting_too, strict=True):
        if not _is_same_section(one, index, other, index_too):
            return False
    try:
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


def _is_same_section(one: Elf, index: int, other: Elf, index_too: int) -> bool:
    _, kind, flags, _, at, size, link, info, align, entry = one.section_rows[index]
    row = other.section_rows[index_too]
    _, kind_too, flags_too, _, at_too, size_too, link_too, info_too, align_too, entry_too = row
    if (kind, flags, align, entry) != (kind_too, flags_too, align_too, entry_too):
        return False
    # no number names Mercury code, and it names a table of the Mercury half
    if kind not in CAPSULES and (index, link, info) != (index_too, link_too, info_too):
        return False
    if index == one.shstrndx:  # it has the names of notes, too
        return True
    if size != size_too:
        return False
    if not occupies_file(kind, flags):
        return True
    body = bytes(one.data[at : at + size])
    return len(body) == size and body == bytes(other.data[at_too : at_too + size])


def _names_in(elf: Elf, indices: list[int]) -> list[str]:
    rows = elf.section_rows
    return elf.shstrtab.get_many([rows[index][0] for index in indices])


def twin_flag(cubin: Cubin) -> int:
    """The flag of sections of the Mercury half; 0 where this half is all there is."""
    functions = cubin.functions
    rows = cubin.elf.section_rows
    is_alone = functions and rows[functions[0].row[3]][2] & codes.SHF_CUDA_MERCURY
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
