"""Rules about what only compilers with ``-g`` write: register tables, entries, locations."""

from __future__ import annotations

from cubinspec.errors import CubinError
from cubinspec.format.debug_registers import register_places, register_types
from cubinspec.format.sections import MERCURY_PREFIX
from cubinspec_generated.codes import PLACE_UNKNOWN, STT_FUNC
from cubinspec_writer.checker.rules.base import rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec.format.debug_registers import Place
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.section import Section
    from cubinspec_writer.checker.rules.base import Found
    from cubinspec_writer.checker.view import View

_PLACES, _TYPES = ".nv_debug_info_reg_sass", ".nv_debug_info_reg_type"
_INFO, _LOCATIONS, _LINES = ".debug_info", ".debug_loc", ".debug_line"
_ABBREVIATIONS = ".debug_abbrev"
#: Forms of references to an entry of the same unit.
_REFERENCES = frozenset(f"DW_FORM_ref{size}" for size in ("1", "2", "4", "8", "_udata"))
#: Attributes whose value, as a number, is a place in another section.
_TABLES = {"DW_AT_location": _LOCATIONS, "DW_AT_stmt_list": _LINES}
_OFFSETS = frozenset(("DW_FORM_data4", "DW_FORM_data8", "DW_FORM_sec_offset"))


@rule(
    "CUB037",
    "Register tables consist of whole rows. In inputs of a link they name functions of the file; "
    "places of PTX registers are inside their code.",
    "ptxas 11.8 to 13.5 and nvlink 13.0 with -g, as cuobjdump reads them",
    "Write whole rows for functions that the file has, with offsets inside of their code.",
)
def _registers(view: View) -> Iterator[Found]:
    for half in ("", MERCURY_PREFIX):
        for name in (_PLACES, _TYPES):
            index = view.index_of.get(half + name, 0)
            if index:
                yield from _register_table(view, index, is_places=name == _PLACES)


def _register_table(view: View, index: int, *, is_places: bool) -> Iterator[Found]:
    start, path = view.sections[index].sh_offset, view.path(index)
    body = view.body(index)
    places: dict[int, list[Place]] = {}
    try:
        if is_places:
            found = register_places(body, start, "", path)
            places = {number: rows for number, (_, rows) in enumerate(found)}
            functions = [name for name, _ in found]
        else:
            functions = [name for name, _ in register_types(body, start, "", path)]
    except CubinError as error:
        yield start if error.offset is None else error.offset, path, error.reason
        return
    sizes = {
        view.string(symbol.st_name): symbol.st_size
        for symbol in view.symbols_for(index)
        if symbol.st_type == STT_FUNC
    }
    for number, function in enumerate(functions):
        field = f"{path}.functions[{number}]"
        if function not in sizes:
            # nvlink leaves the rows of kernels that --kernels-used removes
            if not view.is_executable:
                yield start, field, f"no function {function!r} is here"
            continue
        for at, (_, _, _, first, end) in enumerate(places.get(number, ())):
            # some places of ptxas end in front of their start, or have none
            start_of = 0 if first == PLACE_UNKNOWN else first
            if max(start_of, end) > sizes[function]:
                what = f"{first:#x} to {end:#x} of {sizes[function]:#x}"
                yield start, f"{field}.places[{at}]", what


@rule(
    "CUB038",
    "DWARF units are whole, and their entries have abbreviations. What an entry names is "
    "there: another entry of its unit, a list of locations, a line table. Lists of locations and "
    "tables of abbreviations end.",
    "ptxas 11.8 to 13.5 and nvlink 13.0 with -g, as readelf reads them",
    "Write units with their length, with the abbreviations and lists that they refer to.",
)
def _entries(view: View) -> Iterator[Found]:
    names = (_INFO, _ABBREVIATIONS, _LOCATIONS)
    if not any(half + name in view.index_of for half in ("", MERCURY_PREFIX) for name in names):
        return
    from cubinspec.model.cubin import Cubin

    with Cubin.parse(view.data, view.file) as cubin:
        for half in ("", MERCURY_PREFIX):
            for name in names:
                index = view.index_of.get(half + name, 0)
                if index and view.body(index):
                    yield from _dwarf(view, cubin, index, half)


def _dwarf(view: View, cubin: Cubin, index: int, half: str) -> Iterator[Found]:
    from cubinspec.report.dwarf import dwarf_content

    section = cubin.sections[index]
    start, path = section.sh_offset, view.path(index)
    reason = dwarf_content(cubin, section).get("reason")
    if reason is not None:
        yield start, path, reason
        return
    if section.name != half + _INFO:
        return
    sizes = {name: len(view.body(view.index_of.get(half + name, 0))) for name in _TABLES.values()}
    for at, field, what in _units(cubin, section, sizes):
        yield start + at, f"{path}.{field}", what


def _units(cubin: Cubin, section: Section, sizes: dict[str, int]) -> Iterator[tuple[int, str, str]]:
    """What is wrong with units and their entries.

    Args:
        sizes: of the sections that entries refer to.
    """
    from cubinspec.model.debug import addends_in
    from cubinspec.report.dwarf import dwarf_info, entries_of

    addends = addends_in(cubin, section)
    for number, unit in enumerate(dwarf_info(cubin, section).iter_CUs()):
        field = f"units[{number}]"
        end = unit.cu_offset + unit.size
        if end > len(section.data):
            yield unit.cu_offset, field, f"a unit up to {end:#x} of {len(section.data):#x}"
            return
        entries = [entry for _, entry in entries_of(unit)]
        places = {entry.offset - unit.cu_offset for entry in entries}
        for entry in entries:
            for value in entry.attributes.values():
                if value.form in _REFERENCES and value.value not in places:
                    yield entry.offset, field, f"{value.name}: no entry at {value.value:#x}"
                table = _TABLES.get(value.name)
                if table is None or value.form not in _OFFSETS:
                    continue
                place = addends.get(value.offset, value.value)
                if place >= sizes[table]:
                    what = f"{value.name}: {place:#x} of the {sizes[table]:#x} bytes of {table}"
                    yield entry.offset, field, what
