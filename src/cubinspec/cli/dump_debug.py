"""``cubinspec dump``: the lines of debug sections."""

from __future__ import annotations

from cubinspec.cli.output import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Record = dict[str, Any]


#: What the head of a frame entry says in bytes.
_PLACES = frozenset(("offset", "cie", "start", "size"))


def _ptx(lines: list[str]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        yield f"{number:>6}  {printable(line.expandtabs())}"


def _line_tables(units: list[Record]) -> Iterator[str]:
    for unit in units:
        yield f"unit at {unit['offset']:#x}: DWARF {unit['version']}"
        for number, folder in enumerate(unit["folders"], 1):
            yield f"  folder {number}: {printable(folder)}"
        for number, file in enumerate(unit["files"], 1):
            yield f"  file {number}: {printable(file['name'])} (folder {file['folder']})"
        for sequence in unit["sequences"]:
            yield f"  {printable(sequence['symbol'] or '?')}"
            for row in sequence["rows"]:
                caller = ""
                if row.get("context"):
                    caller = f"  inlined, called by row {row['context']}"
                yield f"    {row['address']:#8x}  file {row['file']} line {row['line']}{caller}"


def _register_places(tables: list[Record]) -> Iterator[str]:
    for table in tables:
        yield printable(table["function"])
        for place in table["places"]:
            register = place["register"] or hex(place["number"])
            yield (
                f"  {place['start']:#8x}..{place['end']:#x}  {printable(place['ptx'])}"
                f" part {place['part']} in {register}"
            )


def _register_types(tables: list[Record]) -> Iterator[str]:
    for table in tables:
        yield f"{printable(table['function'])}: {' '.join(map(str, table['types']))}"


def _units(units: list[Record]) -> Iterator[str]:
    for unit in units:
        yield f"unit at {unit['offset']:#x}: DWARF {unit['version']}"
        for entry in unit["entries"]:
            space = "  " * (entry["depth"] + 1)
            yield f"{entry['offset']:#8x}{space}{entry['tag']}"
            for value in entry["attributes"]:
                yield f"{'':8}{space}  {value['name']} = {_value(value)}"


def _value(attribute: Record) -> str:
    value = attribute["value"]
    if attribute.get("expression"):
        text = ", ".join(attribute["expression"])
    elif isinstance(value, bool):
        text = str(value).lower()
    else:
        text = f"{value} ({value:#x})" if isinstance(value, int) and value > 9 else str(value)
    symbol = attribute.get("symbol")
    return printable(f"{text}  ; {symbol}" if symbol else text)


def _abbreviations(entries: list[Record]) -> Iterator[str]:
    for entry in entries:
        children = "with children" if entry["has_children"] else "no children"
        yield f"{entry['table']:#8x}  {entry['code']}: {entry['tag']}, {children}"
        for value in entry["attributes"]:
            yield f"{'':10}{value['name']} {value['form']}"


def _frames(entries: list[Record]) -> Iterator[str]:
    for entry in entries:
        *facts, (_, instructions) = entry.items()
        yield " ".join(f"{key}={_fact(key, value)}" for key, value in facts if value != "")
        for instruction in instructions:
            yield f"  {instruction}"


def _fact(key: str, value: object) -> str:
    return f"{value:#x}" if key in _PLACES and isinstance(value, int) else printable(str(value))


def _locations(lists: list[Record]) -> Iterator[str]:
    for item in lists:
        yield f"list at {item['offset']:#x}"
        for entry in item["entries"]:
            if "base" in entry:
                yield f"  base {entry['base']:#x}"
                continue
            text = ", ".join(entry["expression"])
            yield f"  {entry['start']:#8x}..{entry['end']:#x}  {printable(text)}"


def _names(names: list[Record]) -> Iterator[str]:
    for entry in names:
        yield f"{entry['unit']:#8x} {entry['entry']:#8x}  {printable(entry['name'])}"


#: Key of a body -> its lines.
PRINTERS: dict[str, Callable[[Any], Iterator[str]]] = {
    "ptx": _ptx,
    "line_tables": _line_tables,
    "register_places": _register_places,
    "register_types": _register_types,
    "units": _units,
    "abbreviations": _abbreviations,
    "frames": _frames,
    "locations": _locations,
    "names": _names,
}
