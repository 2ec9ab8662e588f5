"""The rules: what every cubin of every known producer satisfies.

A rule is a function that yields findings. Its decorator holds the sentence, what the sentence
rests on, and what to do about a violation. A real file that breaks a rule means that the rule is
wrong: all of the development corpus passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from struct import calcsize, iter_unpack
from typing import TYPE_CHECKING

from cubinspec.errors import CubinError
from cubinspec.reader import elf, streams
from cubinspec_generated.tables import eiattr, relocations
from cubinspec_writer.check.view import (
    STB_GLOBAL,
    STB_LOCAL,
    STT_FUNC,
    STT_SECTION,
    View,
)
from cubinspec_writer.emit import bodies, layout
from cubinspec_writer.emit.bodies import CALLGRAPH_MARKERS
from cubinspec_writer.emit.layout import PF_R, PT_LOAD, PT_PHDR
from cubinspec_writer.emit.profiles import twin_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: offset in the file (or None), field path, what is wrong
Found = tuple[int | None, str, str]

#: No architecture has a larger number; the field has 16 bits.
MAX_SM = 0x1FF


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        id: stable number, ``CUB001`` and so on.
        sentence: what holds in every good file.
        evidence: where that is known from.
        fix: what to do about a file that breaks it.
        check: yields what is wrong.
    """

    id: str
    sentence: str
    evidence: str
    fix: str
    check: Callable[[View], Iterator[Found]]


RULES: list[Rule] = []


def _rule(
    id: str, sentence: str, evidence: str, fix: str
) -> Callable[[Callable[[View], Iterator[Found]]], Callable[[View], Iterator[Found]]]:
    def add(check: Callable[[View], Iterator[Found]]) -> Callable[[View], Iterator[Found]]:
        RULES.append(Rule(id, sentence, evidence, fix, check))
        return check

    return add


_CENSUS = "4,000 public cubins, CUDA 8 to 13.5"
_CORPUS = "the development corpus and the samples"


def _header_at(view: View, index: int) -> int:
    return view.elf.ehdr[5] + index * (64 if view.elf.is_64 else 40)


def _section(view: View, index: int) -> str:
    return f"sections[{index}] {view.names[index]}"


@_rule(
    "CUB001",
    "The generated reader reads the whole file and every valid clause of the spec holds.",
    "ksy/*.ksy",
    "The structure at the given place is broken; compare it with the reference of its type.",
)
def _spec_read(view: View) -> Iterator[Found]:
    from cubinspec.reader.kaitai import parse, walk

    try:
        for _ in walk(parse(view.data, view.file)):
            pass
    except CubinError as error:
        yield error.offset, error.field or "file", error.reason


def _has_stale_links(view: View) -> bool:
    """CUDA 12.0 to 12.3 wrote the links to .symtab before they dropped .nv.uft.entry."""
    return 0x78 <= view.elf.ehdr[2] <= 0x7B


@_rule(
    "CUB002",
    "Section indices in section headers and symbols name sections of the file.",
    _CENSUS,
    "Renumber the reference; a removed section leaves stale indices in sh_link, sh_info, st_shndx.",
)
def _indices(view: View) -> Iterator[Found]:
    count = len(view.rows)
    for index, row in enumerate(view.rows[1:], 1):
        if row[6] >= count and not _has_stale_links(view):
            yield _header_at(view, index), _section(view, index), f"sh_link is {row[6]}"
        name, kind = view.names[index], row[1]
        if layout.info_target_of(name, kind) is not None and row[7] >= count:
            yield _header_at(view, index), _section(view, index), f"sh_info is {row[7]}"
    for table, symbols in (
        (view.symtab, view.symbols),
        (view.mercury_symtab, view.mercury_symbols),
    ):
        for at, symbol in enumerate(symbols):
            shndx = symbol[3]
            if count <= shndx and not 0xFF00 <= shndx <= 0xFFFF:
                where = view.rows[table][4]
                yield where, f"{view.names[table]}[{at}].st_shndx", f"section {shndx}"


@_rule(
    "CUB003",
    "sh_link of relocations and attributes is a symbol table, of a symbol table a string table.",
    _CENSUS + " (CUDA 12.0 to 12.3 leave a stale index after dropping .nv.uft.entry)",
    "Set sh_link to .symtab (.nv.merc.symtab in the Mercury half), .strtab for symbol tables.",
)
def _links(view: View) -> Iterator[Found]:
    if _has_stale_links(view):
        return
    tables = (elf.SHT_SYMTAB, bodies.SHT_CUDA_MERC_SYMTAB)
    for index, row in enumerate(view.rows):
        if row[6] >= len(view.rows):
            continue
        target = view.rows[row[6]][1]
        wrong = (row[1] in tables and target != elf.SHT_STRTAB) or (
            row[1] in bodies.RELOCATION_TYPES and target not in tables
        )
        if wrong:
            yield _header_at(view, index), _section(view, index), f"sh_link is section {row[6]}"


@_rule(
    "CUB004",
    "sh_info of .nv.info.<f>, constant banks and relocations is the section they belong to.",
    _CENSUS,
    "Set sh_info to the index of the section whose name follows the prefix.",
)
def _owners(view: View) -> Iterator[Found]:
    for index, row in enumerate(view.rows):
        name = view.names[index]
        target = layout.info_target_of(name, row[1])
        if target is None or name.startswith((".note.", ".nv.constant0")):
            continue
        if target not in view.names or row[7] >= len(view.rows):
            continue
        if view.names[row[7]] != target:
            # two files of an early sm_100 compiler mix the halves
            if view.is_mercury(index) and view.names[row[7]].startswith(".text."):
                continue
            yield (
                _header_at(view, index),
                _section(view, index),
                f"sh_info is {view.names[row[7]] or row[7]}, expected {target}",
            )


@_rule(
    "CUB005",
    "Section contents lie inside the file, outside of the header tables.",
    _CENSUS,
    "Correct sh_offset and sh_size; sections without bytes need a type that says so.",
)
def _inside(view: View) -> Iterator[Found]:
    shoff, width = view.elf.ehdr[5], 64 if view.elf.is_64 else 40
    tables = ((0, view.elf.ehdr[7]), (shoff, shoff + width * len(view.rows)))
    for index, row in enumerate(view.rows):
        # CUDA 13.4 gives the Mercury window of reserved shared memory a size and no bytes
        reserved = row[1] == elf.SHT_CUDA_RESERVED_SHARED
        if reserved or not elf.occupies_file(row[1], row[2]) or not row[5]:
            continue
        start, end = row[4], row[4] + row[5]
        if end > len(view.data):
            yield _header_at(view, index), _section(view, index), f"ends at {end:#x}"
        for low, high in tables:
            if start < high and low < end:
                yield start, _section(view, index), f"overlaps the table at {low:#x}"


@_rule(
    "CUB006",
    "Sections overlap only where a Mercury section shares all bytes of its plain twin.",
    "735 of 4,000 public cubins share, all of them whole sections",
    "Give the section a place of its own, or both the same offset and size.",
)
def _overlaps(view: View) -> Iterator[Found]:
    spans = sorted(
        (row[4], row[4] + row[5], index)
        for index, row in enumerate(view.rows)
        if elf.occupies_file(row[1], row[2]) and row[5]
    )
    for (start, end, one), (start_2, end_2, two) in pairwise(spans):
        if start_2 >= end:
            continue
        mercury = [index for index in (one, two) if view.is_mercury(index)]
        if len(mercury) == 1 and (start, end) == (start_2, end_2):
            other = two if mercury[0] == one else one
            if twin_of(view.names[mercury[0]]) == view.names[other]:
                continue
        yield start_2, _section(view, two), f"overlaps {_section(view, one)}"


@_rule(
    "CUB007",
    "sh_addralign is 0 or a power of two and sh_offset a multiple of it.",
    _CENSUS + " (Mercury sections of CUDA 12.8 without content excepted)",
    "Move the section to the next multiple of its alignment.",
)
def _alignment(view: View) -> Iterator[Found]:
    for index, row in enumerate(view.rows):
        align = row[8]
        if align & (align - 1):
            yield _header_at(view, index), _section(view, index), f"sh_addralign is {align}"
        elif align > 1 and row[4] % align and row[5] and elf.occupies_file(row[1], row[2]):
            yield row[4], _section(view, index), f"offset {row[4]:#x} is not aligned to {align}"


@_rule(
    "CUB008",
    "Tables hold a whole number of entries.",
    _CENSUS,
    "The section is cut off or its type is wrong.",
)
def _entries(view: View) -> Iterator[Found]:
    word = 8 if view.elf.is_64 else 4
    sizes = dict.fromkeys(bodies.RELOCATION_TYPES, 3 * word)
    sizes[elf.SHT_REL] = 2 * word
    sizes.update(dict.fromkeys(bodies.CALLGRAPH_TYPES | bodies.PROTOTYPE_TYPES, 8))
    sizes.update(dict.fromkeys(bodies.UFT_TYPES, 32))
    symbol = 24 if view.elf.is_64 else 16
    sizes.update({elf.SHT_SYMTAB: symbol, bodies.SHT_CUDA_MERC_SYMTAB: symbol})
    for index, row in enumerate(view.rows):
        size = sizes.get(row[1])
        if size and row[5] % size:
            yield row[4], _section(view, index), f"{row[5]} bytes, entries have {size}"


@_rule(
    "CUB009",
    "Attribute streams end with a whole record.",
    _CENSUS,
    "The size word of the last record is wrong or the section is cut off.",
)
def _streams(view: View) -> Iterator[Found]:
    for index in view.of_type(*bodies.INFO_TYPES):
        try:
            streams.info_rows(view.body(index), view.rows[index][4], view.file, "")
        except CubinError as error:
            yield error.offset, _section(view, index), error.reason


@_rule(
    "CUB010",
    "Every attribute has a format that its code is known with.",
    "ksy/tables/eiattr.yaml, formats",
    "Write the record in the format of the table; loaders dispatch on it.",
)
def _formats(view: View) -> Iterator[Found]:
    for index, records in view.infos.items():
        if view.rows[index][1] == bodies.SHT_CUDA_COMPAT:
            continue
        for at, (offset, form, code, _, _) in enumerate(records):
            seen = eiattr.FORMATS_SEEN.get(code)
            if seen is not None and form not in seen:
                where = view.rows[index][4] + offset
                yield where, f"{_section(view, index)}.records[{at}]", f"format {form}"


def _symbol_fields(record: tuple[int, int, int, int, bytes]) -> Iterator[int]:
    """The symbol indices in one attribute."""
    _, form, code, _, payload = record
    layout_ = eiattr.LAYOUTS.get(code)
    if form != streams.EIFMT_SVAL or layout_ is None or layout_[0] not in ("struct", "array"):
        return
    shape, packed, _, semantics, _ = layout_
    size = calcsize(packed)
    if not size or len(payload) % size or (shape == "struct" and len(payload) != size):
        return
    for row in iter_unpack(packed, payload):
        for value, semantic in zip(row, semantics, strict=True):
            if semantic == "symbol":
                yield value


@_rule(
    "CUB011",
    "Symbols named by attributes exist.",
    _CENSUS,
    "Renumber the attribute; symbol indices change when symbols are added or removed.",
)
def _attribute_symbols(view: View) -> Iterator[Found]:
    for index, records in view.infos.items():
        count = len(view.symbols_for(index))
        if view.rows[index][1] == bodies.SHT_CUDA_COMPAT or not count:
            continue
        for at, record in enumerate(records):
            for symbol in _symbol_fields(record):
                if symbol >= count:
                    where = view.rows[index][4] + record[0]
                    path = f"{_section(view, index)}.records[{at}]"
                    yield where, path, f"symbol {symbol} of {count}"


@_rule(
    "CUB012",
    "Register counts and frame sizes in .nv.info are given for functions.",
    _CENSUS,
    "Point the record at the function symbol (STT_FUNC), not at its section.",
)
def _function_attributes(view: View) -> Iterator[Found]:
    wanted = {0x11, 0x12, 0x23, 0x2F}  # FRAME_SIZE, MIN_STACK_SIZE, MAX_STACK_SIZE, REGCOUNT
    for index, records in view.infos.items():
        if view.rows[index][1] == bodies.SHT_CUDA_COMPAT:
            continue
        symbols = view.symbols_for(index)
        for at, (offset, form, code, _, payload) in enumerate(records):
            if code not in wanted or form != streams.EIFMT_SVAL or len(payload) < 4:
                continue
            symbol = int.from_bytes(payload[:4], "little")
            if 0 < symbol < len(symbols) and symbols[symbol][1] & 15 != STT_FUNC:
                where = view.rows[index][4] + offset
                path = f"{_section(view, index)}.records[{at}]"
                yield where, path, f"symbol {symbol} is no function"


@_rule(
    "CUB013",
    "Instruction offsets in attributes lie inside the code of their function.",
    _CENSUS,
    "Offsets count from the start of .text.<f> (of the Mercury code in the Mercury half).",
)
def _instruction_offsets(view: View) -> Iterator[Found]:
    for index, records in view.infos.items():
        owner = view.rows[index][7]
        if view.is_mercury(index) or not 0 < owner < len(view.rows):
            continue
        size = view.rows[owner][5]
        for at, (offset, form, code, _, payload) in enumerate(records):
            shape, packed, fields, semantics, _ = eiattr.LAYOUTS.get(code, ("", "", (), (), ()))
            if form != streams.EIFMT_SVAL or shape != "array" or semantics != ("code",):
                continue
            if len(payload) % calcsize(packed):
                continue
            for (value,) in iter_unpack(packed, payload):
                if value >= size:
                    where = view.rows[index][4] + offset
                    path = f"{_section(view, index)}.records[{at}].{fields[0]}"
                    yield where, path, f"{value:#x}, the code has {size:#x} bytes"


@_rule(
    "CUB014",
    "A call graph has its four lists in order, and names symbols of the file.",
    _CENSUS + " (up to CUDA 11.0 the first three lists, in CUDA 8 once per input)",
    "Write the markers <0,-1> <0,-2> <0,-3> <0,-4>, also for empty lists.",
)
def _callgraph(view: View) -> Iterator[Found]:
    for index in view.of_type(*bodies.CALLGRAPH_TYPES):
        pairs = view.pairs(index)
        markers = [b for a, b in pairs if a == 0 and b in CALLGRAPH_MARKERS]
        lists = 4 if CALLGRAPH_MARKERS[3] in markers else 3
        expected = [*CALLGRAPH_MARKERS[:lists]] * max(len(markers) // lists, 1)
        if pairs and markers != expected:
            found = ", ".join(f"{marker:#x}" for marker in markers)
            yield view.rows[index][4], _section(view, index), f"markers {found or 'missing'}"
        count = len(view.symbols_for(index))
        for at, (a, _) in enumerate(pairs):
            if a >= count:
                where = view.rows[index][4] + 8 * at
                yield where, f"{_section(view, index)}[{at}]", f"symbol {a} of {count}"


@_rule(
    "CUB015",
    "Prototypes are pairs of a function and a signature, a string that starts with '#'.",
    _CENSUS,
    "The second word is the offset of the signature in .strtab.",
)
def _prototypes(view: View) -> Iterator[Found]:
    for index in view.of_type(bodies.SHT_CUDA_PROTOTYPE):
        for at, (symbol, offset) in enumerate(view.pairs(index)):
            where = view.rows[index][4] + 8 * at
            path = f"{_section(view, index)}[{at}]"
            if symbol >= len(view.symbols) or view.symbols[symbol][1] & 15 != STT_FUNC:
                yield where, path, f"symbol {symbol} is no function"
            signature = view.string(offset)
            if signature is None or (signature and not signature.startswith("#")):
                yield where + 4, path, f"no signature at {offset:#x}"


@_rule(
    "CUB016",
    "Relocations name symbols of their table and fields inside the section they apply to.",
    _CENSUS,
    "Renumber r_info, or correct r_offset; Mercury offsets count in Mercury code.",
)
def _relocations(view: View) -> Iterator[Found]:
    for index in view.of_type(*bodies.RELOCATION_TYPES):
        try:
            rows = view.elf.relocation_rows(index)
        except CubinError:
            continue
        row = view.rows[index]
        mercury = view.is_mercury(index)
        count = len(view.symbols_for(index))
        target = view.rows[row[7]] if row[7] < len(view.rows) else None
        width = row[5] // len(rows) if rows else 0
        for at, (offset, _, symbol, _) in enumerate(rows):
            path = f"{_section(view, index)}[{at}]"
            if symbol >= count:
                yield row[4] + at * width, path, f"symbol {symbol} of {count}"
            code = mercury and target is not None and target[1] == bodies.SHT_CUDA_CAPMERC
            if target is not None and not code and offset >= target[5]:
                yield row[4] + at * width, path, f"offset {offset:#x} of {target[5]:#x}"


@_rule(
    "CUB017",
    "Relocation types belong to the half they stand in: R_CUDA below 0x10000, R_MERCURY above.",
    "ksy/tables/relocations.yaml; 1,084 Mercury cubins",
    "Use the numbers of the right table.",
)
def _relocation_types(view: View) -> Iterator[Found]:
    for index in view.of_type(*bodies.RELOCATION_TYPES):
        if view.rows[index][1] == bodies.SHT_CUDA_MERC_RESOLVED_RELA:
            continue
        mercury = view.is_mercury(index)
        try:
            rows = view.elf.relocation_rows(index)
        except CubinError:
            continue
        for at, (_, kind, _, _) in enumerate(rows):
            if (kind >= relocations.MERCURY_OFFSET) != mercury:
                yield view.rows[index][4], f"{_section(view, index)}[{at}]", f"type {kind:#x}"


@_rule(
    "CUB018",
    "A symbol table begins with the null symbol, and no global stands before sh_info.",
    _CENSUS + " (weak symbols stand among the locals; CUDA 13 counts all symbols in sh_info)",
    "Put locals and weak symbols first and set sh_info to the first global.",
)
def _symbol_order(view: View) -> Iterator[Found]:
    for table, symbols in (
        (view.symtab, view.symbols),
        (view.mercury_symtab, view.mercury_symbols),
    ):
        if not symbols:
            continue
        row = view.rows[table]
        if any(symbols[0]):
            yield row[4], f"{view.names[table]}[0]", "the first symbol is not the null symbol"
        info = row[7]
        if info > len(symbols):
            yield _header_at(view, table), view.names[table], f"sh_info {info} of {len(symbols)}"
        elif info != len(symbols):
            for at in range(1, info):
                # a weak function that a strong one replaced keeps its place (nvlink)
                if symbols[at][1] >> 4 == STB_GLOBAL and symbols[at][1] & 15 != STT_FUNC:
                    where = row[4] + 24 * at
                    yield where, f"{view.names[table]}[{at}]", "a global among the locals"


@_rule(
    "CUB019",
    "Functions lie inside the section that defines them.",
    _CENSUS,
    "Correct st_value and st_size; both count bytes of the code section.",
)
def _functions(view: View) -> Iterator[Found]:
    for at, symbol in enumerate(view.symbols):
        shndx, value, size = symbol[3], symbol[4], symbol[5]
        if symbol[1] & 15 != STT_FUNC or not 0 < shndx < len(view.rows):
            continue
        room = view.rows[shndx][5]
        if value + size > room and view.rows[shndx][2] & layout.SHF_EXECINSTR:
            where = view.rows[view.symtab][4] + at * (24 if view.elf.is_64 else 16)
            yield where, f".symtab[{at}]", f"{value:#x} + {size:#x} in {room:#x} bytes"


@_rule(
    "CUB020",
    "Section symbols are local, have no value, and carry the name of their section or none.",
    _CENSUS,
    "Renumber st_shndx; section symbols are made from the section list.",
)
def _section_symbols(view: View) -> Iterator[Found]:
    for at, symbol in enumerate(view.symbols):
        if symbol[1] & 15 != STT_SECTION or symbol[3] >= len(view.rows):
            continue
        name = view.symbol_name(symbol)
        path = f".symtab[{at}]"
        where = view.rows[view.symtab][4] + at * (24 if view.elf.is_64 else 16)
        if symbol[1] >> 4 != STB_LOCAL or symbol[4]:
            yield where, path, "a section symbol is local and has value 0"
        elif name and name != view.names[symbol[3]]:
            yield where, path, f"{name} names section {view.names[symbol[3]]}"


@_rule(
    "CUB021",
    "e_flags, the notes and .nv.compat agree about the file (ABI 8).",
    "420 of 420 files of CUDA 13.0 and the census: bits 24-31 are the index of the note, the "
    "virtual architecture is not above the real one, .nv.compat exists from sm_90 on",
    "Set bits 24-31 of e_flags to the index of .note.nv.cuinfo (.note.nv.cuver).",
)
def _flags(view: View) -> Iterator[Found]:
    if not view.is_abi_8:
        return
    flags = view.elf.ehdr[6]
    note = view.index(".note.nv.cuinfo") or view.index(".note.nv.cuver")
    if note and flags >> 24 not in (note, 0xFF):
        yield 48, "header.e_flags", f"bits 24-31 are {flags >> 24}, the note is section {note}"
    if view.sm > MAX_SM:
        yield 48, "header.e_flags", f"architecture sm_{view.sm}"
    body = view.body(note) if note else b""
    if view.names[note] == ".note.nv.cuinfo" and len(body) >= 28:
        virtual = int.from_bytes(body[26:28], "little")
        if virtual > view.sm:
            yield view.rows[note][4] + 26, view.names[note], f"compute_{virtual} in sm_{view.sm}"
    if view.sm < 90 and view.index(".nv.compat"):
        at = view.index(".nv.compat")
        yield _header_at(view, at), _section(view, at), f"in a file for sm_{view.sm}"


@_rule(
    "CUB022",
    "Notes are NVIDIA's, of the type that their section is for.",
    _CENSUS,
    "Owner 'NVIDIA Corp', type 2000 in .note.nv.tkinfo, 1000 in .note.nv.cuinfo and cuver.",
)
def _notes(view: View) -> Iterator[Found]:
    kinds = {".note.nv.tkinfo": 2000, ".note.nv.cuinfo": 1000, ".note.nv.cuver": 1000}
    for index in view.of_type(elf.SHT_NOTE):
        kind = kinds.get(view.names[index])
        if kind is None:
            continue
        try:
            notes = streams.note_rows(view.body(index), view.rows[index][4], view.file, "")
        except CubinError as error:
            yield error.offset, _section(view, index), error.reason
            continue
        for offset, found, owner, _ in notes:
            if found != kind or owner != b"NVIDIA Corp":
                where = view.rows[index][4] + offset
                yield where, _section(view, index), f"type {found} of {owner.decode('latin-1')!r}"


_RELOCATABLE_ONLY = {
    elf.SHT_CUDA_GLOBAL: "NOBITS",
    elf.SHT_CUDA_SHARED: "NOBITS",
    0x70000008: "PROGBITS",
    0x70000064: "PROGBITS",
    0x70000066: "PROGBITS",
    0x70000067: "PROGBITS",
}


@_rule(
    "CUB023",
    "Executables hold data as PROGBITS and NOBITS; the CUDA data types are for relocatable files.",
    _CENSUS,
    "Change sh_type (Mercury sections keep theirs).",
)
def _data_types(view: View) -> Iterator[Found]:
    if not view.is_executable:
        return
    for index, row in enumerate(view.rows):
        if row[1] in _RELOCATABLE_ONLY and not view.is_mercury(index):
            what = _RELOCATABLE_ONLY[row[1]]
            yield _header_at(view, index), _section(view, index), f"{row[1]:#x}, expected {what}"


@_rule(
    "CUB024",
    "Program headers: none in relocatable files; PT_PHDR covers the table, segments the file.",
    _CENSUS,
    "Compute the program headers from the final section headers.",
)
def _segments(view: View) -> Iterator[Found]:
    rows = view.elf.segment_rows
    ehdr = view.elf.ehdr
    if rows and ehdr[0] in (1, 0xFF00):
        yield ehdr[4], "program_headers", "in a relocatable file"
    for at, (kind, flags, offset, _, _, filesz, memsz, _) in enumerate(rows):
        path = f"program_headers[{at}]"
        if kind not in (PT_LOAD, PT_PHDR):
            yield ehdr[4], path, f"type {kind}"
            continue
        if kind == PT_PHDR and (offset, filesz) != (ehdr[4], ehdr[8] * len(rows)):
            yield ehdr[4], path, "PT_PHDR is not the program header table"
        # CUDA 8 counts the padding behind the last section in the file size only
        if offset + filesz > len(view.data) or memsz + layout.P_ALIGN <= filesz:
            yield ehdr[4], path, f"{filesz:#x} bytes at {offset:#x}, {memsz:#x} in memory"
        if not flags & PF_R:
            yield ehdr[4], path, "cannot be read"


@_rule(
    "CUB025",
    "Word 0 of a capsule is the index of its text section.",
    "745 of 745 capsules of CUDA 13.0, 22,321 of the census",
    "Set it to the section index of .text.<f>.",
)
def _capsules(view: View) -> Iterator[Found]:
    for index in view.of_type(bodies.SHT_CUDA_CAPMERC):
        body = view.body(index)
        if len(body) < 4:
            continue
        text = int.from_bytes(body[:4], "little")
        wanted = view.names[index].removeprefix(".nv.capmerc")
        if text >= len(view.names) or view.names[text] != wanted:
            yield view.rows[index][4], _section(view, index), f"section {text}, expected {wanted}"


@_rule(
    "CUB026",
    "Mercury sections carry SHF_CUDA_MERCURY and stand only in files for sm_100 and later.",
    _CENSUS,
    "Remove the sections or set the flag 0x10000000.",
)
def _mercury(view: View) -> Iterator[Found]:
    for index, row in enumerate(view.rows):
        named = view.names[index].startswith((".nv.merc.", ".nv.capmerc."))
        flagged = bool(row[2] & elf.SHF_CUDA_MERCURY)
        if named != flagged:
            yield _header_at(view, index), _section(view, index), f"sh_flags {row[2]:#x}"
        elif named and view.is_abi_8 and view.sm < 100:
            yield _header_at(view, index), _section(view, index), f"in a file for sm_{view.sm}"


@_rule(
    "CUB027",
    "The parameters of a kernel lie inside its constant bank 0.",
    _CENSUS,
    "sh_size of .nv.constant0.<k> is the parameter offset plus the parameter bytes.",
)
def _parameters(view: View) -> Iterator[Found]:
    for index, records in view.infos.items():
        if view.is_mercury(index):
            continue
        for at, (offset, form, code, _, payload) in enumerate(records):
            if code != 0x0A or form != streams.EIFMT_SVAL or len(payload) != 8:
                continue
            symbol = int.from_bytes(payload[:4], "little")
            start, size = (int.from_bytes(payload[n : n + 2], "little") for n in (4, 6))
            if symbol >= len(view.symbols) or not 0 < view.symbols[symbol][3] < len(view.rows):
                continue
            bank = view.rows[view.symbols[symbol][3]]
            if start + size > bank[5]:
                where = view.rows[index][4] + offset
                path = f"{_section(view, index)}.records[{at}]"
                yield where, path, f"{start:#x} + {size:#x} in {bank[5]:#x} bytes"


@_rule(
    "CUB028",
    "Code is loadable, executable and linked to the symbol table.",
    _CENSUS,
    "sh_flags SHF_ALLOC and SHF_EXECINSTR, type PROGBITS.",
)
def _code(view: View) -> Iterator[Found]:
    needed = layout.SHF_ALLOC | layout.SHF_EXECINSTR
    for index, row in enumerate(view.rows):
        code = view.names[index].startswith(".text.") and row[1] == elf.SHT_PROGBITS
        if code and row[2] & needed != needed:
            yield _header_at(view, index), _section(view, index), f"sh_flags {row[2]:#x}"


@_rule(
    "CUB029",
    "Bytes outside of headers and sections are zero.",
    _CENSUS + " (stale section headers behind the second writer's files excepted)",
    "Clear them, or give them a section.",
)
def _padding(view: View) -> Iterator[Found]:
    if view.is_table_first:
        return
    ehdr = view.elf.ehdr
    width = 64 if view.elf.is_64 else 40
    spans = [(0, ehdr[7]), (ehdr[5], ehdr[5] + width * len(view.rows))]
    spans.append((ehdr[4], ehdr[4] + ehdr[8] * len(view.elf.segment_rows)))
    spans.extend(
        (row[4], row[4] + row[5]) for row in view.rows if elf.occupies_file(row[1], row[2])
    )
    at = 0
    for start, end in sorted(spans):
        gap = view.data[at:start] if start > at else b""
        if gap.count(0) != len(gap):
            yield at, "file", f"{len(gap)} bytes up to {start:#x}"
        at = max(at, end)
