"""``cubinspec to-yaml``: write a cubin as text, from which ``from-yaml`` makes the same file."""

from __future__ import annotations

import os

from cubinspec.cli.options import Arguments, Option, UsageError
from cubinspec.cli.output import write_output
from cubinspec.cli.picking import PICK, for_each_picked_data
from cubinspec.errors import CubinError
from cubinspec.output_files import write_file
from cubinspec_writer.yaml_form import to_yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

USAGE = "FILE [-o OUT] [--side-files DIR]"
OPTIONS = (
    *PICK,
    Option("-o", "--output", value="OUT", help="write to OUT instead of the standard output"),
    Option(
        "--side-files",
        value="DIR",
        help="put code and data of more than 64 bytes into files of DIR, below the folder of OUT",
    ),
)

#: Shorter bodies are easier to read where they stand.
_SIDE_FILE_BYTES = 64


def run(arguments: Arguments) -> int:
    """Write one document."""
    file, *others = arguments.files()
    if others:
        raise UsageError("one FILE at a time")
    output = arguments.value("--output")
    folder = arguments.value("--side-files")
    return for_each_picked_data(
        arguments,
        [file],
        lambda data, source, _: _convert(bytes(data), source, output, folder),
        one=True,
    )


def _convert(data: bytes, source: str, output: str | None, folder: str | None) -> None:
    text = to_yaml(data, source, None if folder is None else _side_file(output, folder))
    write_output(output or "-", text.encode())


def _side_file(output: str | None, folder: str) -> Callable[[str, bytes], str | None]:
    """A function that puts a long body into a file of ``folder`` and returns the file's path.

    Raises:
        CubinError: the folder stands outside of the document's folder.
    """
    base = os.path.dirname(os.path.abspath(output)) if output and output != "-" else os.getcwd()
    inside = os.path.relpath(os.path.abspath(folder), base)
    if inside.startswith(".."):
        raise CubinError("side files must stand below the folder of the document", file=folder)
    os.makedirs(folder, exist_ok=True)
    count = 0

    def put(name: str, body: bytes) -> str | None:
        nonlocal count
        if len(body) <= _SIDE_FILE_BYTES:
            return None
        count += 1
        stem = "".join(c if c.isalnum() or c in "._-" else "_" for c in name.strip("."))
        file = f"{count:05d}.{stem[:80]}.bin"
        write_file(os.path.join(folder, file), body)
        return os.path.join(inside, file)

    return put
