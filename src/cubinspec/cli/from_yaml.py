"""``cubinspec from-yaml``: the file that a YAML document describes."""

from __future__ import annotations

from cubinspec.cli.options import Arguments, Option, UsageError
from cubinspec.cli.output import for_each_file
from cubinspec.errors import FileAccessError

SUMMARY = "make a cubin from YAML"
USAGE = "FILE -o OUT"
OPTIONS = (Option("-o", "--output", value="OUT", help="write the cubin to OUT"),)


def run(arguments: Arguments) -> int:
    """Write one file."""
    file, *others = arguments.files()
    if others:
        raise UsageError("one FILE at a time")
    output = arguments.value("--output")
    if output is None:
        raise UsageError("say where to write: -o OUT")
    return for_each_file([file], lambda source: _convert(source, output))


def _convert(source: str, output: str) -> None:
    from pathlib import Path

    from cubinspec.cli.write import write_file
    from cubinspec_writer.yaml_form import from_yaml

    path = Path(source)
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise FileAccessError(f"cannot be read: {error.strerror or error}", file=source) from error
    except UnicodeDecodeError as error:
        raise FileAccessError(f"is no UTF-8 text: {error.reason}", file=source) from error
    write_file(output, from_yaml(text, source, path.parent))
