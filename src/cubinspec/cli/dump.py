"""``cubinspec dump``: everything readable in the file, in file order."""

from __future__ import annotations

import sys

from cubinspec.cli.options import JSON_OPTIONS, Arguments, Option
from cubinspec.cli.output import complain, heading, printable
from cubinspec.cli.picking import PICK, for_each_picked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from cubinspec.cli.picking import Steps
    from cubinspec.model.cubin import Cubin

USAGE = "FILE... [--section PATTERN] [--json|--jsonl]"
OPTIONS = (
    *PICK,
    Option("--section", value="PATTERN", help="only sections whose name fits the shell pattern"),
    *JSON_OPTIONS,
)

_BYTES_PER_LINE = 16


def run(arguments: Arguments) -> int:
    """Print the text or the JSON list."""
    from cubinspec.report.dump import dump_record

    pattern = arguments.value("--section")
    found = 0
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records, with_way

        with Records("dump", arguments) as out:

            def take(cubin: Cubin, steps: Steps) -> None:
                nonlocal found
                record = dump_record(cubin, pattern)
                found += len(record["sections"])
                if not record["sections"]:
                    _say_none(cubin, pattern)
                out.add(with_way(record, steps))

            status = for_each_picked(arguments, arguments.files(), take, one=True)
    else:

        def show(cubin: Cubin, _: Steps) -> None:
            nonlocal found
            found += _print(cubin, pattern)

        status = for_each_picked(arguments, arguments.files(), show, one=True)
    return status or int(pattern is not None and not found)


def _print(cubin: Cubin, pattern: str | None) -> int:
    """Print the sections that fit, without a pattern the headers too; returns how many fit."""
    from cubinspec.report.dump import header_record, matching, section_record, segment_records

    if pattern is None:
        _print_header(cubin, header_record(cubin))
        for segment in segment_records(cubin):
            print("  " + _pairs(segment))
    chosen = matching(cubin, pattern)
    if not chosen:
        _say_none(cubin, pattern)
    for section in chosen:
        record = section_record(cubin, section)
        body = record.pop("content")
        print()
        print(heading(f"[{record.pop('index')}] {printable(record.pop('name')) or '(no name)'}"))
        print("  " + _pairs(record))
        sys.stdout.writelines(f"  {line}\n" for line in _lines(body))
    return len(chosen)


def _say_none(cubin: Cubin, pattern: str | None) -> None:
    what = "there are no sections" if pattern is None else f"no section's name fits {pattern!r}"
    complain(f"{cubin.name}: {what}")


def _print_header(cubin: Cubin, record: dict[str, Any]) -> None:
    print(heading(f"{printable(cubin.name)}: {cubin.arch}, {cubin.size:,} bytes"))
    flags = record.pop("flags")
    print("  " + _pairs(record))
    print("  e_flags: " + _pairs(flags))


def _pairs(record: dict[str, Any]) -> str:
    return " ".join(f"{key}={_value(key, value)}" for key, value in record.items() if value != [])


_HEXADECIMAL = frozenset(
    ("sh_type", "sh_flags", "sh_addr", "sh_offset", "sh_size", "p_offset", "p_filesz", "p_memsz")
) | {"e_flags", "e_type", "e_phoff", "e_shoff", "offset", "value", "code", "type", "other"}


def _value(key: str, value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "-" if value is None else str(value).lower()
    if isinstance(value, int):
        return hex(value) if key in _HEXADECIMAL else str(value)
    if isinstance(value, list):
        return ",".join(_value(key, item) for item in value)
    if isinstance(value, dict):
        return "{" + _pairs(value) + "}"
    return printable(str(value))


def _lines(content: dict[str, Any]) -> Iterator[str]:
    from cubinspec.cli.dump_debug import PRINTERS

    for kind, body in content.items():
        if kind == "bytes":
            yield from _hex_lines(bytes.fromhex(body))
        elif kind == "strings":
            for item in body:
                yield f"{item['offset']:#8x}  {printable(item['text'])}"
        elif kind == "symbols":
            yield from map(_symbol, body)
        elif kind == "relocations":
            yield from map(_relocation, body)
        elif kind == "records":
            yield from map(_record, body)
        elif kind == "callgraph":
            yield from _callgraph(body)
        elif kind == "prototypes":
            yield from map(_signature, body)
        elif kind == "notes":
            for note in body:
                yield _pairs({key: value for key, value in note.items() if key != "desc"})
        elif kind == "reason":
            yield f"this is not decoded: {printable(body)}"
        elif kind in PRINTERS:
            yield from PRINTERS[kind](body)
        else:
            for field in body:
                yield _pairs(field)


def _symbol(symbol: dict[str, Any]) -> str:
    other = [symbol["visibility"] or "?", symbol["space"] or "?", *symbol["other_names"]]
    return (
        f"{symbol['index']:5}  {symbol['value']:#10x} {symbol['size']:#10x}  "
        f"{symbol['type_name'] or symbol['type']:<18} {symbol['bind_name'] or symbol['bind']:<10} "
        f"{'|'.join(other)}  {printable(str(symbol['section']))}  {printable(symbol['name'])}"
    )


def _relocation(entry: dict[str, Any]) -> str:
    addend = "" if entry["addend"] is None else f" + {entry['addend']:#x}"
    return (
        f"{entry['offset']:#8x}  {entry['name'] or hex(entry['type']):<28} "
        f"{printable(entry['symbol'] or '?')} ({entry['symbol_index']}){addend}"
        f"  ; {entry['meaning'] or 'unknown type'}"
    )


def _record(entry: dict[str, Any]) -> str:
    name = entry["name"] or f"attribute {entry['code']:#x}"
    fields = entry["fields"]
    if fields is None:
        shown = entry["payload"] if entry["format"] == 4 else f"{entry['value']:#x}"
    elif "entries" in fields:
        shown = " ".join(
            _pairs(item) if len(item) > 1 else f"{next(iter(item.values())):#x}"
            for item in fields["entries"]
        )
    else:
        shown = _pairs(fields)
    found = [*(entry.get("symbols") or {}).values(), *entry.get("names", ())]
    # a parameter's record refers to symbol 0, which has no name; "?" is a symbol that is not there
    names = ["?" if name is None else printable(name) for name in found if name != ""]
    notes = f"  ; {', '.join(names)}" if names else ""
    form = entry["format_name"] or f"format {entry['format']}"
    return f"{entry['offset']:#8x}  {name:<34} {form}  {shown}{notes}"


def _callgraph(graph: dict[str, Any]) -> Iterator[str]:
    yield f"lists: {', '.join(map(str, graph['markers'])) or 'none'}"
    for part in ("calls", "references"):
        yield from (
            f"{part}: {printable(edge['caller'] or '?')} ({edge['caller_index']}) -> "
            f"{printable(edge['callee'] or '?')} ({edge['callee_index']})"
            for edge in graph[part]
        )
    for part in ("address_taken", "indirect_calls"):
        yield from (f"{part}: {_signature(item)}" for item in graph[part])
    yield from (f"outside any list: {pair}" for pair in graph["other"])


def _signature(item: dict[str, Any]) -> str:
    return (
        f"{printable(item['symbol'] or '?')} ({item['symbol_index']}) "
        f"{printable(item['signature'])}"
    )


def _hex_lines(data: bytes) -> Iterable[str]:
    for at in range(0, len(data), _BYTES_PER_LINE):
        yield f"{at:#8x}  {data[at : at + _BYTES_PER_LINE].hex(' ', 4)}"
