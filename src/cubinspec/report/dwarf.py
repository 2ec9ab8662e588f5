"""DWARF sections as plain data, read with pyelftools.

pyelftools reads what a unit consists of and knows the names of DWARF; NVIDIA's numbers of registers
are named here. A section that cannot be read gives its bytes and the reason.
"""

from __future__ import annotations

import re
from io import BytesIO
from itertools import pairwise

from cubinspec.format.call_frames import frame_entries
from cubinspec.format.debug_registers import ptx_register_name, register_name
from cubinspec.format.leb128 import uleb
from cubinspec.format.sections import MERCURY_PREFIX
from cubinspec.limits import MAX_DWARF_READS, MAX_LEB128_RUN
from cubinspec.model.debug import addends_in, symbols_placed_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.section import Section

    Record = dict[str, Any]

_PREFIX = ".debug_"
#: Sections that pyelftools knows and that are read otherwise, or that no CUDA tool writes.
_NOT_READ = (
    *("aranges", "frame", "loc", "ranges", "line", "addr", "str_offsets", "line_str", "loclists"),
    *("rnglists", "sup", "types"),
)
#: What operations of an expression take a register.
_REGISTER_OPERATIONS = frozenset(("DW_OP_regx", "DW_OP_bregx"))


class UnreadableError(Exception):
    """A section that would take too long to read."""


class _Stream(BytesIO):
    """The bytes of a section, which refuses to be read many times over.

    Tables can refer to each other so that every byte of one is read for every byte of another.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._left = MAX_DWARF_READS * (len(data) + 1)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read; each call counts as one byte at least."""
        found = super().read(size)
        self._left -= len(found) + 1
        if self._left < 0:
            raise UnreadableError("it refers to the same bytes too often")
        return found


def dwarf_content(cubin: Cubin, section: Section) -> Record:
    """The decoded body of a ``.debug_*`` section: one key that says what it is.

    ``bytes`` (hex) for a section of another name; beside it ``reason`` when it cannot be read.
    """
    data = section.data
    read = _READERS.get(section.name.removeprefix(MERCURY_PREFIX))
    if read is None:
        return {"bytes": data.hex()}
    try:
        return read(cubin, section)
    # pyelftools raises its own errors, those of its parser and of Python for the same faults
    except Exception as error:
        return {"bytes": data.hex(), "reason": f"{type(error).__name__}: {error}"[:200]}


def _stream(cubin: Cubin, section: Section, name: str) -> Any:
    """A section of the same half, as pyelftools wants it; ``None`` when it is not there."""
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor

    prefix = MERCURY_PREFIX if section.is_mercury else ""
    found = cubin.sections.get(prefix + _PREFIX + name)
    if found is None or not found.has_bytes:
        return None
    data = found.data
    if re.search(rb"[\x80-\xff]{%d}" % MAX_LEB128_RUN, data):
        raise UnreadableError(f"a number in {found.name} has {MAX_LEB128_RUN} bytes or more")
    return DebugSectionDescriptor(_Stream(data), found.name, 0, len(data), 0)


def dwarf_info(cubin: Cubin, section: Section) -> Any:
    """All of a half's DWARF, as pyelftools sees it.

    Raises:
        UnreadableError: a section would take too long to read.
    """
    from elftools.dwarf.dwarfinfo import DwarfConfig, DWARFInfo

    names = ("info", "abbrev", "str", "pubnames", "pubtypes")
    found = {f"debug_{name}_sec": _stream(cubin, section, name) for name in names}
    found |= {f"debug_{name}_sec": None for name in _NOT_READ}
    config = DwarfConfig(
        little_endian=True,
        machine_arch="",
        default_address_size=_word(cubin),
    )
    return DWARFInfo(config=config, eh_frame_sec=None, gnu_debugaltlink_sec=None, **found)


def _word(cubin: Cubin) -> int:
    """Bytes of an address."""
    return 8 if cubin.header.is_64 else 4


def _info(cubin: Cubin, section: Section) -> Record:
    dwarf = dwarf_info(cubin, section)
    symbols = symbols_placed_in(cubin, section)
    return {
        "units": [
            {
                "offset": unit.cu_offset,
                "version": unit["version"],
                "ofs_abbreviations": unit["debug_abbrev_offset"],
                "address_size": unit["address_size"],
                "entries": list(_entries(unit, symbols)),
            }
            for unit in dwarf.iter_CUs()
        ]
    }


def entries_of(unit: Any) -> Iterator[tuple[int, Any]]:
    """Depth and entry, for the entries of a unit in the order of the file."""
    from elftools.dwarf.die import DIE

    at, end = unit.cu_die_offset, unit.cu_offset + unit.size
    stream = unit.dwarfinfo.debug_info_sec.stream
    depth = 0
    while at < end:
        entry = DIE(cu=unit, stream=stream, offset=at)
        at += entry.size
        if entry.is_null():
            depth = max(depth - 1, 0)
            continue
        yield depth, entry
        depth += bool(entry.has_children)


def _entries(unit: Any, symbols: dict[int, str | None]) -> Iterator[Record]:
    for depth, entry in entries_of(unit):
        values = list(entry.attributes.values())
        places = [*(value.offset for value in values), entry.offset + entry.size]
        yield {
            "offset": entry.offset,
            "depth": depth,
            "tag": entry.tag,
            "attributes": [
                _attribute(unit, value, symbols, range(*place))
                for value, place in zip(values, pairwise(places), strict=True)
            ],
        }


def _attribute(unit: Any, value: Any, symbols: dict[int, str | None], place: range) -> Record:
    from elftools.dwarf.locationlists import LocationParser

    found: Record = {"name": value.name, "form": value.form, "value": value.value}
    if isinstance(value.value, bytes):
        found["value"] = value.value.decode("utf-8", "surrogateescape")
    elif isinstance(value.value, list):
        data = bytes(value.value)
        found["value"] = data.hex()
        if LocationParser.attribute_has_location(value, unit["version"]):
            found["expression"] = _expression(data, unit.structs)
    names = [symbols[at] for at in place if at in symbols]
    if names:
        found["symbol"] = names[0]
    return found


def _expression(data: bytes, structs: Any) -> list[str]:
    """The operations of an expression as text, with names of registers."""
    from elftools.dwarf.dwarf_expr import DWARFExprParser

    found = []
    for operation in DWARFExprParser(structs).parse_expr(data):
        first, *rest = [*operation.args, None][:-1] or [None]
        words = [operation.op_name]
        if first is not None:
            is_register = operation.op_name in _REGISTER_OPERATIONS
            words.append(_register(first) if is_register else _number(first))
        found.append(" ".join([*words, *map(_number, rest)]))
    return found


def _number(value: Any) -> str:
    return hex(value) if isinstance(value, int) else str(value)


def _register(number: int) -> str:
    """A register of the machine, or a PTX register by its name."""
    return register_name(number) or ptx_register_name(number) or hex(number)


def _abbreviations(cubin: Cubin, section: Section) -> Record:
    """The tables, each ended by a zero; entries have the offset of their table's start."""
    from elftools.dwarf.enums import ENUM_DW_AT, ENUM_DW_FORM, ENUM_DW_TAG

    tags, names, forms = (
        {number: name for name, number in table.items() if isinstance(number, int)}
        for table in (ENUM_DW_TAG, ENUM_DW_AT, ENUM_DW_FORM)
    )
    data = section.data
    found: list[Record] = []
    at = table = 0
    while at < len(data):
        code, at = uleb(data, at)
        if not code:
            table = at
            continue
        tag, at = uleb(data, at)
        has_children, at = data[at], at + 1
        attributes = []
        while True:
            name, at = uleb(data, at)
            form, at = uleb(data, at)
            if not name and not form:
                break
            attributes.append({"name": names.get(name, name), "form": forms.get(form, form)})
        found.append(
            {
                "table": table,
                "code": code,
                "tag": tags.get(tag, tag),
                "has_children": bool(has_children),
                "attributes": attributes,
            }
        )
    return {"abbreviations": found}


def _frames(cubin: Cubin, section: Section) -> Record:
    symbols = symbols_placed_in(cubin, section)
    addends = addends_in(cubin, section)
    place = (section.sh_offset, cubin.name, f"sections[{section.index}]")
    found: list[Record] = []
    for entry in frame_entries(section.data, _word(cubin), *place):
        record: Record = {"offset": entry.offset, **entry.fields}
        if entry.ofs_start is not None:
            record["cie"] = addends.get(entry.ofs_cie, record["cie"])
            record["symbol"] = symbols.get(entry.ofs_start)
        found.append(record | {"instructions": entry.instructions})
    return {"frames": found}


def _locations(cubin: Cubin, section: Section) -> Record:
    """The lists, one after the other; the last entry of each is left out."""
    structs = dwarf_info(cubin, section).structs
    data, word = section.data, _word(cubin)
    symbols = symbols_placed_in(cubin, section)
    found: list[Record] = []
    at = 0
    while at < len(data):
        entries: list[Record] = []
        found.append({"offset": at, "entries": entries})
        while True:
            start, end = (
                int.from_bytes(data[place : place + word], "little") for place in (at, at + word)
            )
            if at + 2 * word > len(data):
                raise UnreadableError("a list does not end")
            symbol = symbols.get(at)
            at += 2 * word
            if not start and not end:
                break
            if start == (1 << 8 * word) - 1:
                entries.append({"base": end})
                continue
            size = int.from_bytes(data[at : at + 2], "little")
            expression = _expression(data[at + 2 : at + 2 + size], structs)
            at += 2 + size
            entries.append({"start": start, "end": end, "symbol": symbol, "expression": expression})
    return {"locations": found}


def _names(cubin: Cubin, section: Section) -> Record:
    dwarf = dwarf_info(cubin, section)
    is_types = section.name.endswith("types")
    table = dwarf.get_pubtypes() if is_types else dwarf.get_pubnames()
    return {
        "names": [
            {"name": name, "unit": entry.cu_ofs, "entry": entry.die_ofs}
            for name, entry in table.items()
        ]
    }


_READERS: dict[str, Callable[[Cubin, Section], Record]] = {
    ".debug_info": _info,
    ".debug_abbrev": _abbreviations,
    ".debug_frame": _frames,
    ".debug_loc": _locations,
    ".debug_pubnames": _names,
    ".debug_pubtypes": _names,
}
