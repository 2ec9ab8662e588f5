"""The rules: what every cubin of every known producer satisfies.

A rule is a function that yields findings. Its decorator holds the sentence, what the sentence
rests on, and what to do about a violation. A real file that breaks a rule means that the rule is
wrong: all of the development corpus passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from struct import calcsize, iter_unpack
from typing import TYPE_CHECKING

from cubinspec.errors import CubinError
from cubinspec.model.info import CODE
from cubinspec.model.section import kind_row
from cubinspec.reader import elf, streams
from cubinspec_generated.tables import eiattr, relocations
from cubinspec_generated.tables import sections as section_table
from cubinspec_writer.checker.view import (
    STB_GLOBAL,
    STB_LOCAL,
    STT_CUDA_OBJECT,
    STT_FUNC,
    STT_OBJECT,
    STT_SECTION,
    View,
)
from cubinspec_writer.emitter import bodies, kinds, segments
from cubinspec_writer.emitter.bodies import CALLGRAPH_MARKERS
from cubinspec_writer.emitter.producers import twin_of
from cubinspec_writer.emitter.segments import PF_R, PT_LOAD, PT_PHDR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: offset in the file (or None), field path, what is wrong
Found = tuple[int | None, str, str]

_PARAM_CBANK, _CBANK_PARAM_SIZE = CODE["EIATTR_PARAM_CBANK"], CODE["EIATTR_CBANK_PARAM_SIZE"]
_LEN_PARAM_CBANK = 8
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


_NO_KIND = ("", "", "", True, 0, 0, 0, "", "", (), 0, "")


def _kind(
    view: View, index: int
) -> tuple[str, str, str, bool, int, int, int, str, str, tuple[int, ...], int, str]:
    """The row of the section table for a section; one without demands for an unknown name."""
    found = kind_row(view.names[index])
    return _NO_KIND if found is None else section_table.KINDS[found[1]]


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
        if kinds.info_target_of(name, kind) is not None and row[7] >= count:
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


_SYMBOL_TABLES = (elf.SHT_SYMTAB, bodies.SHT_CUDA_MERC_SYMTAB)
#: Meaning of sh_link in ksy/tables/sections.yaml -> section types that it may name.
_LINKED_TYPES = {
    "symtab": _SYMBOL_TABLES,
    "merc_symtab": _SYMBOL_TABLES,
    "strtab": (elf.SHT_STRTAB,),
    "tkinfo": (elf.SHT_NOTE,),
}


@_rule(
    "CUB003",
    "sh_link is what the kind of section asks for: a symbol table, a string table, the other note.",
    _CENSUS + " (CUDA 12.0 to 12.3 leave a stale index after dropping .nv.uft.entry; the second "
    "writer links .nv.info and .nv.callgraph to nothing)",
    "Set sh_link to .symtab (.nv.merc.symtab in the Mercury half), .strtab for symbol tables, "
    ".note.nv.tkinfo for .note.nv.cuinfo.",
)
def _links(view: View) -> Iterator[Found]:
    if _has_stale_links(view):
        return
    for index, row in enumerate(view.rows):
        if row[6] >= len(view.rows):
            continue
        meaning = _kind(view, index)[7]
        wanted = _LINKED_TYPES.get(meaning)
        if wanted is None or view.rows[row[6]][1] in wanted:
            continue
        # nvlink makes the rows of a table of functions before there are symbols
        if not row[6] and row[1] == bodies.SHT_CUDA_UFT_ENTRY and kinds.UFT in view.places:
            continue
        # a file without tool note has a plain one that links to nothing
        if not row[6] and (view.is_table_first or meaning == "tkinfo"):
            continue
        yield _header_at(view, index), _section(view, index), f"sh_link is section {row[6]}"


@_rule(
    "CUB004",
    "sh_info of .nv.info.<f>, constant banks and relocations is the section they belong to, that "
    "of code the symbol of its function.",
    _CENSUS + " (two files of an early sm_100 compiler mix the halves)",
    "Set sh_info to the index of the section whose name follows the prefix, for .text.<f> and its "
    "capsule to the index of the function symbol.",
)
def _owners(view: View) -> Iterator[Found]:
    for index, row in enumerate(view.rows):
        name = view.names[index]
        if _kind(view, index)[8] == "function_symbol":
            yield from _code_owner(view, index, row[7] & 0xFFFFFF)
            continue
        target = kinds.info_target_of(name, row[1])
        if target is None or name.startswith((".note.", ".nv.constant0")):
            continue
        if target not in view.places or row[7] >= len(view.rows):
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


def _code_owner(view: View, index: int, symbol: int) -> Iterator[Found]:
    """``symbol`` is zero in files of the second writer."""
    symbols = view.symbols_for(index)
    where, path = _header_at(view, index), _section(view, index)
    if symbol >= max(len(symbols), 1):
        yield where, path, f"sh_info names symbol {symbol} of {len(symbols)}"
    elif symbol and symbols[symbol][1] & 15 != STT_FUNC:
        yield where, path, f"sh_info names symbol {symbol}, which is no function"
    elif symbol and symbols[symbol][3] != index and not view.is_mercury(index):
        yield where, path, f"sh_info names a function of section {symbols[symbol][3]}"


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
    "Tables hold a whole number of entries, of the size that sh_entsize says.",
    _CENSUS,
    "The section is cut off, or its type or sh_entsize is wrong.",
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
        if size and row[9] != size:
            yield (
                _header_at(view, index),
                _section(view, index),
                f"sh_entsize is {row[9]}, entries have {size} bytes",
            )


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
    for index, records in view.attributes():
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
    for index, records in view.attributes():
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
    "A call graph has its four lists in order, of functions of the file and, in the second and "
    "third, their signatures.",
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
        yield from _edges(view, index, pairs)


def _edges(view: View, index: int, pairs: list[tuple[int, int]]) -> Iterator[Found]:
    symbols = view.symbols_for(index)
    marker = CALLGRAPH_MARKERS[0]
    for at, (a, b) in enumerate(pairs):
        if a == 0 and b in CALLGRAPH_MARKERS:
            marker = b
            continue
        where = view.rows[index][4] + 8 * at
        path = f"{_section(view, index)}[{at}]"
        has_signature = marker in CALLGRAPH_MARKERS[1:3]
        for symbol in (a,) if has_signature else (a, b):
            if symbol >= len(symbols):
                yield where, path, f"symbol {symbol} of {len(symbols)}"
            elif symbols[symbol][1] & 15 != STT_FUNC:
                yield where, path, f"symbol {symbol} is no function"
        if has_signature and not _is_signature(view, b):
            yield where + 4, path, f"no signature at {b:#x}"


def _is_signature(view: View, offset: int) -> bool:
    text = view.string(offset)
    return text is not None and (not text or text.startswith("#"))


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
            if not _is_signature(view, offset):
                yield where + 4, path, f"no signature at {offset:#x}"


@_rule(
    "CUB016",
    "Relocations name symbols of their table and fields inside the section they apply to, in code "
    "those of whole instruction words.",
    _CENSUS + "; bit fields of ksy/tables/relocations.yaml",
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
        for at, (offset, kind, symbol, _) in enumerate(rows):
            where, path = row[4] + at * width, f"{_section(view, index)}[{at}]"
            if symbol >= count:
                yield where, path, f"symbol {symbol} of {count}"
            if target is None or (mercury and target[1] == bodies.SHT_CUDA_CAPMERC):
                continue
            # a type that writes nothing still has a place
            end = offset + max(_field_bytes(kind), 1)
            if end > target[5]:
                yield where, path, f"field at {offset:#x} to {end:#x} of {target[5]:#x}"
            elif target[2] & segments.SHF_EXECINSTR and offset % _CODE_WORD:
                yield where, path, f"offset {offset:#x} is inside an instruction word"


#: Instructions are made of words of this many bytes on every architecture.
_CODE_WORD = 8


@lru_cache(maxsize=1024)
def _field_bytes(kind: int) -> int:
    """Bytes from the place of a relocation to the end of the last field that it writes."""
    actions = relocations.ACTIONS.get(kind, ())
    return max(((bit + width + 7) // 8 for _, bit, width, _, _ in actions), default=0)


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
    "A symbol table begins with the null symbol; locals stand before sh_info, globals behind it, "
    "and behind these only the section symbols that were made last.",
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
        # nvlink writes a place of lost constants into the value of the null symbol
        if any(symbols[0][:4]) or symbols[0][5]:
            yield row[4], f"{view.names[table]}[0]", "the first symbol is not the null symbol"
        info = row[7]
        if info > len(symbols):
            yield _header_at(view, table), view.names[table], f"sh_info {info} of {len(symbols)}"
        elif info != len(symbols):
            for at in range(1, info):
                # a weak function that a strong one replaced keeps its place (nvlink)
                if symbols[at][1] >> 4 == STB_GLOBAL and symbols[at][1] & 15 != STT_FUNC:
                    where = row[4] + row[9] * at
                    yield where, f"{view.names[table]}[{at}]", "a global among the locals"
            for at in range(max(info, 1), len(symbols)):
                if symbols[at][1] >> 4 == STB_LOCAL and symbols[at][1] & 15 != STT_SECTION:
                    where = row[4] + row[9] * at
                    yield where, f"{view.names[table]}[{at}]", "a local among the globals"


_PLACED_TYPES = (STT_FUNC, STT_OBJECT, STT_CUDA_OBJECT)
_SHARED_KINDS = ("shared", "debug_shared", "reserved_shared", "merc_reserved_shared")


@_rule(
    "CUB019",
    "Functions and variables lie inside the section that defines them.",
    _CENSUS + " (shared memory excepted: its sections say less than a launch reserves)",
    "Correct st_value and st_size; both count bytes of the section.",
)
def _functions(view: View) -> Iterator[Found]:
    for at, symbol in enumerate(view.symbols):
        shndx, value, size = symbol[3], symbol[4], symbol[5]
        kind = symbol[1] & 15
        if kind not in _PLACED_TYPES or not 0 < shndx < len(view.rows):
            continue
        if kind != STT_FUNC and _kind(view, shndx)[1] in _SHARED_KINDS:
            continue
        room = view.rows[shndx][5]
        if value + size > room:
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


_HAS_CAPSULES = 2


def _flags_at(view: View) -> int:
    return 48 if view.elf.is_64 else 36


@_rule(
    "CUB021",
    "e_flags, the notes, .nv.compat and the capsules agree about the file.",
    "420 of 420 files of CUDA 13.0 and the census: bits 24-31 (ABI 8) are the index of the note, "
    "the virtual architecture is not above the real one, no .nv.compat before sm_90, a file with "
    "capsules says so in bit 1",
    "Set bits 24-31 of e_flags to the index of .note.nv.cuinfo (.note.nv.cuver), bit 1 where there "
    "are .nv.capmerc sections, and the virtual architecture to that of the PTX.",
)
def _flags(view: View) -> Iterator[Found]:
    flags = view.elf.ehdr[6]
    if not view.is_abi_8:
        virtual = flags >> 16 & 0xFF
        if virtual > view.sm:
            yield _flags_at(view), "header.e_flags", f"compute_{virtual} in sm_{view.sm}"
        return
    if not flags & _HAS_CAPSULES and view.of_type(bodies.SHT_CUDA_CAPMERC):
        kind = f"bits 0-7 are {flags & 0xFF}, but there are capsules"
        yield _flags_at(view), "header.e_flags", kind
    note = view.index(".note.nv.cuinfo") or view.index(".note.nv.cuver")
    if note and flags >> 24 not in (note, 0xFF):
        index = f"bits 24-31 are {flags >> 24}, the note is section {note}"
        yield _flags_at(view), "header.e_flags", index
    if view.sm > MAX_SM:
        yield _flags_at(view), "header.e_flags", f"architecture sm_{view.sm}"
    body = view.body(note) if note else b""
    if len(body) >= 28:
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
        if offset + filesz > len(view.data) or memsz + segments.P_ALIGN <= filesz:
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
        for at, (offset, _, code, _, payload) in enumerate(records):
            if code != _PARAM_CBANK or len(payload) != _LEN_PARAM_CBANK:
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
    needed = segments.SHF_ALLOC | segments.SHF_EXECINSTR
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


@_rule(
    "CUB030",
    "A section has a type and the flags of its kind.",
    "ksy/tables/sections.yaml; " + _CENSUS,
    "Give sh_type and sh_flags the values of the table; tools find sections by type.",
)
def _section_kinds(view: View) -> Iterator[Found]:
    for index, row in enumerate(view.rows):
        _, kind, _, _, relocatable, executable, flags, *_ = _kind(view, index)
        if not kind:
            continue
        if row[1] not in (relocatable, executable, *section_table.OTHER_TYPES.get(kind, ())):
            yield _header_at(view, index), _section(view, index), f"sh_type {row[1]:#x}"
        missing = flags & ~row[2] & ~section_table.OPTIONAL_FLAGS.get(kind, 0)
        if missing:
            yield _header_at(view, index), _section(view, index), f"sh_flags lacks {missing:#x}"


_MODULE_INFO = (".nv.info", ".nv.merc.nv.info")


@_rule(
    "CUB031",
    "An attribute stands where it belongs: with its function or with the module, in the Mercury "
    "half if it is copied there.",
    "ksy/tables/eiattr.yaml, places and mercury; " + _CENSUS,
    "Move the record to .nv.info or .nv.info.<f>, or take it out of the wrong half.",
)
def _attribute_places(view: View) -> Iterator[Found]:
    for index, records in view.attributes():
        place = "module" if view.names[index] in _MODULE_INFO else "function"
        wrong_half = "never" if view.is_mercury(index) else "only"
        for at, (offset, _, code, _, _) in enumerate(records):
            where = view.rows[index][4] + offset
            path = f"{_section(view, index)}.records[{at}]"
            name = eiattr.NAMES.get(code)
            if place not in eiattr.PLACES.get(code, (place,)):
                yield where, path, f"{name} is no attribute of a {place}"
            if eiattr.MERCURY.get(code) == wrong_half:
                yield where, path, f"{name} does not belong into this half"


@_rule(
    "CUB032",
    "An attribute about certain instructions stands only in files for architectures that have "
    "them.",
    "ksy/tables/eiattr.yaml, min_sm: the targets that the PTX documentation gives; " + _CENSUS,
    "Remove the attribute, or correct the architecture in e_flags.",
)
def _attribute_architectures(view: View) -> Iterator[Found]:
    for index, records in view.attributes():
        for at, (offset, _, code, _, _) in enumerate(records):
            least = eiattr.MIN_SM.get(code, 0)
            if view.sm < least:
                where = view.rows[index][4] + offset
                path = f"{_section(view, index)}.records[{at}]"
                name = eiattr.NAMES.get(code)
                yield where, path, f"{name} in sm_{view.sm}, it needs sm_{least}"


@_rule(
    "CUB033",
    "The two attributes with the size of a kernel's parameters agree.",
    "16,025 of 16,025 kernels of " + _CORPUS,
    "Give EIATTR_CBANK_PARAM_SIZE and the last field of EIATTR_PARAM_CBANK the same value.",
)
def _parameter_sizes(view: View) -> Iterator[Found]:
    for index, records in view.attributes():
        sizes = [value for _, _, code, value, _ in records if code == _CBANK_PARAM_SIZE]
        for at, (offset, _, code, _, payload) in enumerate(records):
            if code != _PARAM_CBANK or len(payload) != _LEN_PARAM_CBANK or not sizes:
                continue
            stated = int.from_bytes(payload[6:8], "little")
            if stated != sizes[0]:
                where = view.rows[index][4] + offset
                path = f"{_section(view, index)}.records[{at}]"
                yield where, path, f"{stated} bytes, EIATTR_CBANK_PARAM_SIZE says {sizes[0]}"


@_rule(
    "CUB034",
    "Names of symbols begin and end inside .strtab.",
    _CENSUS,
    "Correct st_name; string offsets change when names are added or removed.",
)
def _symbol_names(view: View) -> Iterator[Found]:
    for table, symbols in (
        (view.symtab, view.symbols),
        (view.mercury_symtab, view.mercury_symbols),
    ):
        for at, symbol in enumerate(symbols):
            if symbol[0] > view.last_string:
                where = view.rows[table][4] + view.rows[table][9] * at
                yield where, f"{view.names[table]}[{at}].st_name", f"no name at {symbol[0]:#x}"
