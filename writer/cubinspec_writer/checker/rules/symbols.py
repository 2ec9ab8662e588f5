"""Rules about symbol tables."""

from __future__ import annotations

from cubinspec.format.sections import mercury_name
from cubinspec_generated.codes import (
    SHN_UNDEF,
    STB_GLOBAL,
    STB_LOCAL,
    STT_CUDA_OBJECT,
    STT_FUNC,
    STT_NOTYPE,
    STT_OBJECT,
    STT_SECTION,
)
from cubinspec_writer.checker.rules.base import CENSUS, rule
from cubinspec_writer.checker.rules.sections import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec_writer.checker.rules.base import Found
    from cubinspec_writer.checker.view import SymbolEntry, View

#: Types of symbols that have bytes of a section.
_PLACED_TYPES = (STT_FUNC, STT_OBJECT, STT_CUDA_OBJECT)
#: Kinds of sections that hold shared memory.
_SHARED_KINDS = ("shared", "debug_shared", "reserved_shared", "merc_reserved_shared")


@rule(
    "CUB018",
    "A symbol table begins with the null symbol; locals stand before sh_info, globals behind it, "
    "and behind these only the section symbols that were made last.",
    CENSUS + " (weak symbols stand among the locals; CUDA 13 counts all symbols in sh_info; one "
    "that ptxas 13.4 dropped stays behind the globals, without a name)",
    "Put locals and weak symbols first and set sh_info to the first global.",
)
def _symbol_order(view: View) -> Iterator[Found]:
    for table, symbols in view.symbol_tables():
        if not symbols:
            continue
        header, name = view.sections[table], view.names[table]
        # nvlink writes a place of lost constants into the value of the null symbol
        if any(symbols[0]._replace(st_value=0)):
            yield header.sh_offset, f"{name}[0]", "the first symbol is not the null symbol"
        first_global = header.sh_info
        if first_global > len(symbols):
            where, _ = view.header_place(table)
            yield where, name, f"sh_info {first_global} of {len(symbols)}"
        elif first_global != len(symbols):
            for number, message in _misplaced(symbols, first_global):
                where = header.sh_offset + header.sh_entsize * number
                yield where, f"{name}[{number}]", message


def _misplaced(symbols: list[SymbolEntry], first_global: int) -> Iterator[tuple[int, str]]:
    """Symbols on the wrong side of ``sh_info``, with what is wrong."""
    for number in range(1, first_global):
        symbol = symbols[number]
        # a weak function that a strong one replaced keeps its place (nvlink)
        if symbol.st_bind == STB_GLOBAL and symbol.st_type != STT_FUNC:
            yield number, "a global among the locals"
    for number in range(max(first_global, 1), len(symbols)):
        symbol = symbols[number]
        # a symbol that ptxas 13.4 and later dropped keeps its place, without a name
        is_dropped = not symbol.st_name and symbol.st_type == STT_NOTYPE
        if symbol.st_bind == STB_LOCAL and symbol.st_type != STT_SECTION and not is_dropped:
            yield number, "a local among the globals"


@rule(
    "CUB019",
    "Functions and variables lie inside the section that defines them. An undefined function has "
    "no value and no size.",
    CENSUS + " (shared memory excepted: its sections say less than a launch reserves); undefined "
    "functions: 2,000 in relocatable files of ptxas and nvlink 11.8 to 13.5, and nvlink keeps the "
    "value",
    "Correct st_value and st_size; both count bytes of the section.",
)
def _functions(view: View) -> Iterator[Found]:
    for number, symbol in enumerate(view.symbols):
        st_type, st_shndx = symbol.st_type, symbol.st_shndx
        if st_shndx == SHN_UNDEF and st_type == STT_FUNC and (symbol.st_value or symbol.st_size):
            message = f"{symbol.st_value:#x} + {symbol.st_size:#x} in no section"
            yield *_symbol_place(view, number), message
        if st_type not in _PLACED_TYPES or not SHN_UNDEF < st_shndx < len(view.sections):
            continue
        if st_type != STT_FUNC and kind_of(view, st_shndx).kind in _SHARED_KINDS:
            continue
        room = view.sections[st_shndx].sh_size
        if symbol.st_value + symbol.st_size > room:
            message = f"{symbol.st_value:#x} + {symbol.st_size:#x} in {room:#x} bytes"
            yield *_symbol_place(view, number), message


@rule(
    "CUB020",
    "Section symbols are local, have no value, and carry the name of their section or none.",
    CENSUS + " (ptxas 13.5 keeps the names under which the Mercury half made some)",
    "Renumber st_shndx; section symbols are made from the section list.",
)
def _section_symbols(view: View) -> Iterator[Found]:
    for number, symbol in enumerate(view.symbols):
        if symbol.st_type != STT_SECTION or symbol.st_shndx >= len(view.sections):
            continue
        name, section = view.string(symbol.st_name), view.names[symbol.st_shndx]
        if symbol.st_bind != STB_LOCAL or symbol.st_value:
            yield *_symbol_place(view, number), "a section symbol is local and has value 0"
        elif name and name not in (section, mercury_name(section)):
            yield *_symbol_place(view, number), f"{name} names section {section}"


def _symbol_place(view: View, number: int) -> tuple[int, str]:
    """Where an entry of ``.symtab`` stands, and its path."""
    where = view.sections[view.symtab].sh_offset + number * view.symbol_size
    return where, f".symtab[{number}]"


@rule(
    "CUB034",
    "Names of symbols begin and end inside .strtab.",
    CENSUS,
    "Correct st_name; string offsets change when names are added or removed.",
)
def _symbol_names(view: View) -> Iterator[Found]:
    for table, symbols in view.symbol_tables():
        if not symbols:
            continue
        header, name = view.sections[table], view.names[table]
        for number, symbol in enumerate(symbols):
            if symbol.st_name > view.last_string:
                where = header.sh_offset + header.sh_entsize * number
                yield where, f"{name}[{number}].st_name", f"no name at {symbol.st_name:#x}"
