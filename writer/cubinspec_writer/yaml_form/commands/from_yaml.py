"""``cubinspec from-yaml``: the file that a YAML document describes."""

from __future__ import annotations

import sys
from pathlib import Path

from cubinspec.cli.options import Arguments, Option, UsageError
from cubinspec.cli.output import for_each_file, printable, write_output
from cubinspec.errors import CubinError, FileAccessError
from cubinspec.files import read_file
from cubinspec_writer.checker import check, require_good
from cubinspec_writer.yaml_form import from_yaml

USAGE = "FILE -o OUT [--strict | --no-check]"
OPTIONS = (
    Option("-o", "--output", value="OUT", help="write the cubin to OUT"),
    Option("--strict", help="write nothing when the cubin breaks a rule of the spec"),
    Option("--no-check", help="do not compare the cubin with the rules of the spec"),
)

#: More warnings than this about one file help nobody.
_MOST_WARNINGS = 5


def run(arguments: Arguments) -> int:
    """Write one file."""
    file, *others = arguments.files()
    if others:
        raise UsageError("one FILE at a time")
    output = arguments.value("--output")
    if output is None:
        raise UsageError("say where to write: -o OUT")
    strict, unchecked = arguments.flag("--strict"), arguments.flag("--no-check")
    if strict and unchecked:
        raise UsageError("say --strict or --no-check")
    return for_each_file([file], lambda source: _convert(source, output, strict, unchecked))


def _convert(source: str, output: str, strict: bool, unchecked: bool) -> None:
    try:
        text = read_file(source).decode()
    except UnicodeDecodeError as error:
        raise FileAccessError(f"is no UTF-8 text: {error.reason}", file=source) from error
    data = from_yaml(text, source, Path(source).parent)
    if strict:
        require_good(data, source)
    write_output(output, data)
    if not (strict or unchecked):
        _warn(data, output)


def _warn(data: bytes, output: str) -> None:
    """Say what is wrong with a file that may have been described like that on purpose."""
    try:
        lines = [str(finding) for finding in check(data, output, spec_read=False)]
    except CubinError as error:
        lines = [str(error)]
    for line in lines[:_MOST_WARNINGS]:
        print(f"cubinspec: warning: {printable(line)}", file=sys.stderr)
    if len(lines) > _MOST_WARNINGS:
        more = f"{len(lines) - _MOST_WARNINGS} more (see cubinspec check)"
        print(f"cubinspec: warning: {printable(output)}: {more}", file=sys.stderr)
