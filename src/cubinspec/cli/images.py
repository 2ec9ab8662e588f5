"""``cubinspec images``: what device code a file holds, without decompressing any of it."""

from __future__ import annotations

from cubinspec.cli.options import JSON_OPTIONS, WIDE, Arguments
from cubinspec.cli.output import print_table, table_width, title
from cubinspec.cli.walking import (
    ARCH,
    CSV,
    architecture_filter,
    bytes_text,
    for_each_image,
    require_arch,
    shown,
    write_csv,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.cli.walking import Targets
    from cubinspec.containers import Image

USAGE = "FILE... [--arch SM] [--json|--jsonl|--csv]"
OPTIONS = (ARCH, WIDE, CSV, *JSON_OPTIONS)

_HEAD = ("kind", "arch", "size", "stored", "compression", "section", "image")
_LEFT = frozenset((0, 1, 4, 5, 6))


def run(arguments: Arguments) -> int:
    """Print the table, the CSV or the JSON list."""
    targets = architecture_filter(arguments)
    if arguments.wants_json:
        return _json(arguments, targets)
    found: list[Image] = []

    def visit(image: Image) -> None:
        found.append(image)
        require_arch(image)

    status = for_each_image(arguments.files(), visit, targets=targets)
    if arguments.flag("--csv"):
        write_csv(
            (*_HEAD, "error"),
            [
                (*_facts(image), str(image), "" if image.error is None else str(image.error))
                for image in found
            ],
        )
    else:
        _print(found, table_width(arguments))
    return status


def _facts(image: Image) -> tuple[str, str, int, int, str, str]:
    """All columns but the last."""
    return (
        *(image.kind, image.arch, image.size, image.stored_size),
        *(image.compression, image.section),
    )


def _print(found: list[Image], width: int | None) -> None:
    """A table per file that holds images, with the file as its heading."""
    from itertools import groupby

    lines: list[tuple[str, tuple[str, ...]]] = []
    for image in found:
        heading, place = image.place
        kind, arch, size, stored, how, section = _facts(image)
        sizes = bytes_text(size), bytes_text(stored)
        lines.append((heading, (kind, arch, *sizes, how, shown(section), shown(place))))
    for heading, group in groupby(lines, key=lambda line: line[0]):
        if heading:
            print(title(heading, width))
        print_table(_HEAD, [row for _, row in group], _LEFT, width)


def _json(arguments: Arguments, targets: Targets | None) -> int:
    from cubinspec.cli.json_output import Records

    with Records("images", arguments) as out:

        def visit(image: Image) -> None:
            out.add(image.as_dict())
            require_arch(image)

        return for_each_image(arguments.files(), visit, targets=targets)
