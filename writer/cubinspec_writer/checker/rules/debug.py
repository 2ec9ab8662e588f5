"""Rules about line tables."""

from __future__ import annotations

from struct import unpack_from

from cubinspec.errors import BadStructureError
from cubinspec.format.line_tables import VERSIONS, line_units
from cubinspec.format.sections import MERCURY_PREFIX
from cubinspec_writer.checker.rules.base import rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec.format.line_tables import LineSequence
    from cubinspec_writer.checker.rules.base import Found
    from cubinspec_writer.checker.view import View

_SOURCE, _PTX, _NAMES = ".debug_line", ".nv_debug_line_sass", ".debug_str"
#: Bytes of the length of a unit, and of its version behind it.
_LENGTH, _VERSION = 4, 2


@rule(
    "CUB036",
    "Line tables consist of whole units. A row names a file of its unit, a row before it as the "
    "call that was inlined, and a name in .debug_str.",
    "ptxas 11.8 to 13.5 and nvlink 13.0 with -lineinfo and -g, as nvdisasm reads them",
    "Write each unit with its length, and rows that refer only to what the unit has.",
)
def _line_tables(view: View) -> Iterator[Found]:
    for half in ("", MERCURY_PREFIX):
        for name in (_SOURCE, _PTX):
            index = view.index_of.get(half + name, 0)
            if index and _is_known(view.body(index)):
                yield from _units(view, index, view.index_of.get(half + _NAMES, 0))


def _is_known(data: bytes) -> bool:
    """Whether the first unit is of a version that we read; others are not judged."""
    if len(data) < _LENGTH + _VERSION:
        return bool(data)
    version: int = unpack_from("<H", data, _LENGTH)[0]
    return version in VERSIONS


def _units(view: View, index: int, names: int) -> Iterator[Found]:
    start, path = view.sections[index].sh_offset, view.path(index)
    try:
        units = line_units(view.body(index), start, "", path)
    except BadStructureError as error:
        where = start if error.offset is None else error.offset
        yield where, path, "a unit is cut off, or of another form"
        return
    size = len(view.body(names)) if names else 0
    for number, unit in enumerate(units):
        for at, sequence in enumerate(unit.sequences):
            place = f"{path}.units[{number}].sequences[{at}]"
            for what in _rows(sequence, len(unit.files), size - unit.ofs_names):
                yield start + unit.offset, place, what


def _rows(sequence: LineSequence, num_files: int, len_names: int) -> Iterator[str]:
    """What is wrong with the rows of a function.

    Args:
        num_files: how many files the unit has; tables of PTX in executables have none.
    """
    for _, file, _, _, caller, ofs_name in sequence.rows:
        if num_files and not 0 < file <= num_files:
            yield f"file {file} of {num_files}"
            return
        if caller > len(sequence.rows):
            yield f"row {caller} of {len(sequence.rows)}"
            return
        if caller and not 0 <= ofs_name < len_names:
            yield f"name at {ofs_name:#x} of {max(len_names, 0):#x}"
            return
