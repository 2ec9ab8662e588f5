"""``cubinspec tree``: the file as the spec's fields, with byte ranges."""

from __future__ import annotations

from cubinspec.cli.options import JSON_OPTIONS, Arguments, UsageError, files_of
from cubinspec.cli.output import printable
from cubinspec.cli.picking import PICK, for_each_picked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.cli.picking import Steps
    from cubinspec.model.cubin import Cubin

USAGE = "FILE [FIELD.PATH] [--json|--jsonl]"
OPTIONS = (*PICK, *JSON_OPTIONS)

_LONGEST_VALUE = 64


def run(arguments: Arguments) -> int:
    """Print the fields below a path, in the order of the spec."""
    if not 1 <= len(arguments.positional) <= 2:
        raise UsageError("one FILE and at most one FIELD.PATH")
    file, *rest = arguments.positional
    path = rest[0] if rest else ""
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records, with_way

        with Records("tree", arguments) as out:

            def add(cubin: Cubin, steps: Steps) -> None:
                from cubinspec.report.tree import tree_record

                out.add(with_way(tree_record(cubin, path), steps))

            return for_each_picked(arguments, files_of([file]), add, one=True)

    def show(cubin: Cubin, _: Steps) -> None:
        from cubinspec.report.tree import tree_record

        for field in tree_record(cubin, path)["fields"]:
            place = f"{field['start']:#x}..{field['end']:#x}"
            print(f"{place:<24} {field['path']} = {_shown(field)}")

    return for_each_picked(arguments, files_of([file]), show, one=True)


def _shown(field: dict[str, Any]) -> str:
    value = field["value"]
    if field["name"]:
        return f"{value:#x} ({field['name']})"
    if isinstance(value, bool) or value is None:
        return "-" if value is None else str(value).lower()
    if isinstance(value, int):
        return f"{value} ({value:#x})" if abs(value) > 9 else str(value)
    text = printable(str(value))
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
