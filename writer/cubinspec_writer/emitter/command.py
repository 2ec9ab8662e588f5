"""``cubinspec roundtrip``: parse, forget the bytes, emit from the description, compare."""

from __future__ import annotations

from cubinspec.cli.options import JSON, Arguments
from cubinspec.cli.output import write_json
from cubinspec.cli.picking import PICK, for_each_picked_data
from cubinspec_writer.emitter.roundtrip import roundtrip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.reader.elf import Buffer

USAGE = "FILE... [--json]"
OPTIONS = (*PICK, JSON)


def run(arguments: Arguments) -> int:
    """One line or JSON record per file; status 1 when a file did not come back."""
    as_json = arguments.flag("--json")
    records: list[dict[str, Any]] = []

    def check(data: Buffer, file: str) -> None:
        result = roundtrip(data, file)
        records.append(
            {
                "file": file,
                "identical": result.identical,
                "layout": result.layout,
                "reasons": list(result.reasons),
                "first_difference": result.first_difference,
            }
        )
        if not as_json:
            print(_line(file, records[-1]))

    status = for_each_picked_data(arguments, arguments.files(), check)
    if as_json:
        write_json(records)
    return status or int(any(not record["identical"] for record in records))


def _line(file: str, record: dict[str, Any]) -> str:
    if record["identical"]:
        text = f"{file}: identical, {record['layout']}"
    else:
        text = f"{file}: DIFFERENT from offset {record['first_difference']:#x}"
    return text + (f" ({'; '.join(record['reasons'])})" if record["reasons"] else "")
