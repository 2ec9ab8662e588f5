"""``cubinspec spec``: the files of the spec that this installation carries."""

from __future__ import annotations

from cubinspec.cli.options import Arguments, Option, UsageError
from cubinspec.cli.output import print_table, report, write_json
from cubinspec.errors import CubinError

USAGE = "[--list | --path | --copy DIR | --json NAME]"
OPTIONS = (
    Option("--list", help="name, kind and size of every file; the default"),
    Option("--path", help="the folder with the .ksy files"),
    Option("--copy", value="DIR", help="copy all files to a new or empty folder"),
    Option("--json", value="NAME", help="print a table, type or schema (eiattr, elf_cuda, …)"),
)


def run(arguments: Arguments) -> int:
    """List, show or copy the files."""
    given = [option.key for option in OPTIONS if arguments.flag(option.key)]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} exclude each other")
    if arguments.positional:
        raise UsageError(f"{arguments.positional[0]!r} is not expected; a NAME follows --json")
    try:
        _show(arguments)
    except CubinError as error:
        report(error)
        return 1
    return 0


def _show(arguments: Arguments) -> None:
    from cubinspec.report import spec_files as spec

    name = arguments.value("--json")
    folder = arguments.value("--copy")
    if name is not None:
        write_json(spec.spec_document(spec.find_spec_file(name)))
    elif folder is not None:
        from pathlib import Path

        spec.copy_spec(Path(folder))
    elif arguments.flag("--path"):
        print(spec.spec_folder())
    else:
        rows = [(str(file.path.stat().st_size), file.kind, file.name) for file in spec.spec_files()]
        print_table(("bytes", "kind", "name"), rows, frozenset((1, 2)))
