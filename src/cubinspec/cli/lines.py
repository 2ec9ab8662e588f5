"""``cubinspec lines``: from machine code to the lines of PTX and source that it comes from."""

from __future__ import annotations

from cubinspec.cli.options import JSON_OPTIONS, WIDE, Arguments, Option, UsageError, files_of
from cubinspec.cli.output import complain, heading, print_table, printable, table_width
from cubinspec.cli.picking import PICK, for_each_picked
from cubinspec.errors import CubinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cubinspec.cli.picking import Steps
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function

USAGE = "FILE [FUNCTION] [--pc N] [--json|--jsonl]"
OPTIONS = (
    *PICK,
    Option("--pc", value="N", help="only what holds at this offset in the code, with registers"),
    WIDE,
    *JSON_OPTIONS,
)

_HEAD = ("code", "ptx", "source", "inlined into")
_LEFT = frozenset((0, 2, 3))
_REGISTER_HEAD = ("ptx register", "part", "register", "code")
_REGISTER_LEFT = frozenset((0, 2, 3))


def run(arguments: Arguments) -> int:
    """Print a table per function, or the JSON list; 1 when nothing is told."""
    if not 1 <= len(arguments.positional) <= 2:
        raise UsageError("one FILE and at most one FUNCTION")
    file, *rest = arguments.positional
    word = rest[0] if rest else None
    pc = arguments.integer("--pc")
    if pc is not None and word is None:
        raise UsageError("--pc needs a FUNCTION")
    told = 0
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records, with_way

        with Records("lines", arguments) as out:

            def add(cubin: Cubin, steps: Steps) -> None:
                nonlocal told
                for record in _records(cubin, word, pc):
                    told += 1
                    out.add(with_way(record, steps))

            return for_each_picked(arguments, files_of([file]), add, one=True) or int(not told)
    width = table_width(arguments)

    def show(cubin: Cubin, _: Steps) -> None:
        nonlocal told
        for record in _records(cubin, word, pc):
            if told:
                print()
            told += 1
            _print(record, width)

    return for_each_picked(arguments, files_of([file]), show, one=True) or int(not told)


def _records(cubin: Cubin, word: str | None, pc: int | None) -> Iterator[dict[str, Any]]:
    """The functions of a cubin that debug data tells of."""
    from cubinspec.report.lines import lines_record

    told = False
    for function in _chosen(cubin, word):
        record = lines_record(cubin, function, pc)
        if record["ranges"] or record["registers"]:
            told = True
            yield record
    if not told:
        where = "" if pc is None else f" at {pc:#x}"
        what = "no line is told" if word is None else f"no line of {word!r} is told"
        complain(f"{cubin.name}: {what}{where} (expected code of -lineinfo or -g)")


def _chosen(cubin: Cubin, word: str | None) -> list[Function]:
    functions = list(cubin.functions)
    if word is None:
        return functions
    from cubinspec.report.resolve import resolve

    try:
        name = resolve(word, [function.name for function in functions])
    except CubinError as error:
        error.file = cubin.name
        raise
    return [function for function in functions if function.name == name]


def _print(record: dict[str, Any], width: int | None) -> None:
    print(heading(f"{printable(record['demangled'])}: {record['size']} bytes"))
    rows = []
    for item in record["ranges"]:
        ptx, source = item["ptx"], item["source"]
        own, *callers = [f"{printable(line['file'])}:{line['line']}" for line in source] or ["-"]
        rows.append(
            (
                _range(item),
                "-" if ptx is None else str(ptx["line"]),
                own,
                ", ".join(callers) or "-",
            )
        )
    if rows:
        print_table(_HEAD, rows, _LEFT, width)
    if record["pc"] is None:
        return
    for item in record["ranges"]:
        ptx = item["ptx"]
        if ptx is not None and ptx["text"] is not None:
            print(f"ptx: {printable(' '.join(ptx['text'].split()))}")
    places = record["registers"]
    if places:
        print_table(
            _REGISTER_HEAD,
            [
                (
                    printable(place["ptx"]),
                    str(place["part"]),
                    place["register"] or hex(place["number"]),
                    _range(place),
                )
                for place in places
            ],
            _REGISTER_LEFT,
        )


def _range(item: dict[str, Any]) -> str:
    return f"{item['start']:#06x}..{item['end']:#06x}"
