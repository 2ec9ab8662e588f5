"""``cubinspec ptx``: the PTX in a file."""

from __future__ import annotations

import sys

from cubinspec.cli.options import JSON_OPTIONS, Arguments, Option, UsageError
from cubinspec.cli.output import print_table
from cubinspec.cli.walking import (
    ARCH,
    CSV,
    architecture_filter,
    bytes_text,
    for_each_image,
    shown,
    write_csv,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.containers import Image

USAGE = "FILE... [--arch SM] [--print | -o DIR] [--json|--jsonl|--csv]"
OPTIONS = (
    ARCH,
    Option("--print", help="the text itself instead of a list"),
    Option("-o", "--output", value="DIR", help="write each PTX into this folder"),
    CSV,
    *JSON_OPTIONS,
)

_HEAD = ("arch", "version", "entries", "size", "options", "image")
_LEFT = frozenset((0, 1, 4, 5))


def run(arguments: Arguments) -> int:
    """List, print or extract."""
    selected = architecture_filter(arguments)
    folder = arguments.value("--output")
    if folder is not None and arguments.flag("--print"):
        raise UsageError("--print and --output exclude each other")
    if folder is not None:
        from cubinspec.cli.extract import extract

        return extract(arguments.files(), folder, kinds=("ptx",), targets=selected)

    def wanted(image: Image) -> bool:
        return image.kind == "ptx"

    if arguments.flag("--print"):
        return for_each_image(
            arguments.files(), _show, wanted=wanted, targets=selected, expected="PTX"
        )
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records

        with Records("ptx", arguments) as out:
            return for_each_image(
                arguments.files(),
                lambda image: out.add({**_way(image), **_record(image)}),
                wanted=wanted,
                targets=selected,
                expected="PTX",
            )
    records: list[dict[str, Any]] = []
    status = for_each_image(
        arguments.files(),
        lambda image: records.append({"path": str(image), **_record(image)}),
        wanted=wanted,
        targets=selected,
        expected="PTX",
    )
    rows = [
        (r["arch"], r["version"], len(r["entries"]), r["size"], r["options"], r["path"])
        for r in records
    ]
    if arguments.flag("--csv"):
        write_csv(_HEAD, rows)
    elif rows:
        print_table(
            _HEAD,
            [
                (arch, version, str(entries), bytes_text(size), shown(options), shown(path))
                for arch, version, entries, size, options, path in rows
            ],
            _LEFT,
        )
    return status


def _show(image: Image) -> None:
    sys.stdout.write(f"// {image}\n")
    text = image.data.decode("utf-8", "replace")
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def _way(image: Image) -> dict[str, Any]:
    return {"provenance": [step.as_dict() for step in image.provenance]}


def _record(image: Image) -> dict[str, Any]:
    from cubinspec.containers.ptx import entry_names, ptx_version

    text = image.data
    return {
        "arch": image.arch,
        "version": ptx_version(text),
        "entries": entry_names(text),
        "size": len(text),
        "options": image.options,
    }
