"""``cubinspec roundtrip``: parse, forget the bytes, emit from the description, compare."""

from __future__ import annotations

from cubinspec.cli.options import JSON_OPTIONS, Arguments
from cubinspec.cli.output import printable
from cubinspec.cli.picking import PICK, for_each_picked_data
from cubinspec_writer.emitter.roundtrip import roundtrip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.cli.picking import Steps
    from cubinspec.reader.elf import Buffer

USAGE = "FILE... [--json|--jsonl]"
OPTIONS = (*PICK, *JSON_OPTIONS)


def run(arguments: Arguments) -> int:
    """One line or JSON record per file; status 1 when a file did not come back."""
    out = None
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records

        out = Records("roundtrip", arguments)
    differ = False

    def check(data: Buffer, file: str, steps: Steps) -> None:
        nonlocal differ
        result = roundtrip(data, file)
        record = {
            "file": steps[0]["name"],
            "provenance": steps,
            "identical": result.identical,
            "layout": result.layout,
            "reasons": list(result.reasons),
            "first_difference": result.first_difference,
        }
        differ = differ or not result.identical
        if out is None:
            print(printable(_line(file, record)))
        else:
            out.add(record)

    status = for_each_picked_data(arguments, arguments.files(), check)
    if out is not None:
        out.close()
    return status or int(differ)


def _line(file: str, record: dict[str, Any]) -> str:
    if record["identical"]:
        text = f"{file}: identical, {record['layout']}"
    else:
        text = f"{file}: DIFFERENT from offset {record['first_difference']:#x}"
    return text + (f" ({'; '.join(record['reasons'])})" if record["reasons"] else "")
