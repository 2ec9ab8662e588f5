"""``cubinspec ptx``: the PTX in a file."""

from __future__ import annotations

import sys

from cubinspec.cli.options import JSON_OPTIONS, WIDE, Arguments, Option, UsageError
from cubinspec.cli.output import print_table, table_width, title
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

    #: The values of ``_HEAD``, unformatted.
    Row = tuple[Any, ...]

USAGE = "FILE... [--arch SM] [--print | -o DIR] [--json|--jsonl|--csv]"
OPTIONS = (
    ARCH,
    Option("--print", help="the text itself instead of a list"),
    Option("-o", "--output", value="DIR", help="write each PTX into this folder"),
    WIDE,
    CSV,
    *JSON_OPTIONS,
)

_HEAD = ("arch", "version", "entries", "size", "options", "image")
_LEFT = frozenset((0, 1, 4, 5))
#: Characters of the column "options" on a terminal.
_MOST_OPTIONS = 28


def run(arguments: Arguments) -> int:
    """List, print or extract."""
    from cubinspec.containers.embedded import with_embedded_ptx

    selected = architecture_filter(arguments)
    folder = arguments.value("--output")
    if folder is not None and arguments.flag("--print"):
        raise UsageError("--print and --output exclude each other")
    if folder is not None:
        from cubinspec.cli.extract import extract

        return extract(
            arguments.files(), folder, kinds=("ptx",), targets=selected, parts=with_embedded_ptx
        )

    def wanted(image: Image) -> bool:
        return image.kind == "ptx"

    if arguments.flag("--print"):
        return for_each_image(
            arguments.files(),
            _show,
            wanted=wanted,
            targets=selected,
            expected="PTX",
            parts=with_embedded_ptx,
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
                parts=with_embedded_ptx,
            )
    found: list[tuple[tuple[str, str], Row]] = []

    def visit(image: Image) -> None:
        r = _record(image)
        row = (r["arch"], r["version"], len(r["entries"]), r["size"], r["options"], str(image))
        found.append((image.place, row))

    status = for_each_image(
        arguments.files(),
        visit,
        wanted=wanted,
        targets=selected,
        expected="PTX",
        parts=with_embedded_ptx,
    )
    if arguments.flag("--csv"):
        write_csv(_HEAD, [row for _, row in found])
    else:
        _print(found, table_width(arguments))
    return status


def _print(found: list[tuple[tuple[str, str], Row]], width: int | None) -> None:
    """A table per file that holds PTX, with the file as its heading."""
    from itertools import groupby

    for heading, group in groupby(found, key=lambda item: item[0][0]):
        if heading:
            print(title(heading, width))
        items = list(group)
        options = [shown(row[4]) for _, row in items]
        if width is not None:
            from cubinspec.cli.fit import fit

            options = fit(options, _MOST_OPTIONS)
        print_table(
            _HEAD,
            [
                (arch, version, str(entries), bytes_text(size), how, shown(place))
                for ((_, place), (arch, version, entries, size, *_)), how in zip(
                    items, options, strict=True
                )
            ],
            _LEFT,
            width,
        )


def _show(image: Image) -> None:
    sys.stdout.write(f"// {shown(image)}\n")
    text = image.data.decode("utf-8", "replace")
    if sys.stdout.isatty():
        text = "\n".join(map(shown, text.split("\n")))
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
