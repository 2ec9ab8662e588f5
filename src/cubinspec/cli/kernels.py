"""``cubinspec kernels``: what each kernel needs to be launched."""

from __future__ import annotations

import sys
from _operator import itemgetter

from cubinspec.cli import outlive
from cubinspec.cli.options import (
    JSON_OPTIONS,
    WIDE,
    Arguments,
    Option,
    UsageError,
    cubin_targets,
    pattern_of,
)
from cubinspec.cli.output import (
    SPACE,
    complain,
    for_each_file,
    printable,
    table_text,
    table_width,
    title,
)
from cubinspec.report.kernel_rows import COLUMNS, rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from cubinspec.containers import Step
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.functions import FunctionList
    from cubinspec.report.kernel_rows import Row

    Steps = tuple[Step, ...]
    #: Gets the file, the path to the image inside it, and what was read of the image.
    Take = Callable[[str, str, Any], None]

USAGE = (
    "FILE... [--arch SM] [--match PATTERN] [--sort COLUMN] [--all] [--relocatable]"
    " [--json|--jsonl|--csv]"
)
OPTIONS = (
    Option("--all", help="device functions too"),
    Option("--relocatable", help="inputs of a device link too, beside the image linked of them"),
    Option("--arch", value="SM", help="only images of this target (sm_90, 90a, …)"),
    Option(
        "--match",
        value="PATTERN",
        help="only names that have PATTERN, fit it (* ? [a-z]) or match re:EXPRESSION",
    ),
    Option("--sort", value="COLUMN", help="one table in this order, largest first (not for name)"),
    Option("--mangled", help="names as they are in the file"),
    WIDE,
    Option("-j", "--jobs", value="N", help="processes for a large library (default: all cores)"),
    Option("--csv", help="comma-separated values instead of text"),
    *JSON_OPTIONS,
)

_HEAD: tuple[str, ...] = (
    *("kind", "arch", "type", "reg", "stack", "shared", "local", "const0", "bar", "threads"),
    *("params", "name"),
)
_CSV_HEAD = (*COLUMNS, "path")
#: What ``--sort`` takes: the table's words and those of JSON and CSV.
_COLUMNS = {
    **{word: column for column, word in enumerate(COLUMNS)},
    "reg": COLUMNS.index("registers"),
    "bar": COLUMNS.index("barriers"),
    "threads": COLUMNS.index("max_threads"),
}
#: Columns of text, which are aligned to the left and sorted from A to Z.
_TEXT_WORDS = frozenset(("kind", "arch", "type", "name", "image"))
_NAME = COLUMNS.index("name")
_UNKNOWN = COLUMNS.index("stack_unknown")
#: Place of the stack among the numbers of a row, which follow kind, arch and type.
_STACK_NUMBER = COLUMNS.index("stack") - 3
_ABSENT = "-"
#: What ASCII prints as it is.
_PLAIN = bytes(range(0x20, 0x7F))
_ARROW = " → "
#: Characters of the column "image" on a terminal.
_MOST_PLACE = 28


def run(arguments: Arguments) -> int:
    """Print the table, the CSV or the JSON list."""
    files = arguments.files()
    if arguments.wants_json:
        return _json(arguments, files)
    table = _Table(arguments, titled=len(files) > 1)
    status = _for_each(arguments, files, table.reading, table.add)
    table.finish()
    return status


class Reading:
    """Reads a cubin: gives rows, records, or the finished text of its table.

    It is sent to other processes, so that the work is done where the cubin is.

    Args:
        form: ``rows`` for unformatted lines, ``json`` for JSON texts (with ``--sort`` behind what
            they are sorted by), ``text`` for the table.
    """

    __slots__ = (
        *("_every_function", "_form", "_mangled", "_pattern", "_separator", "_sort", "_width"),
    )

    def __init__(self, form: str, arguments: Arguments) -> None:
        self._form = form
        self._every_function = arguments.flag("--all")
        self._mangled = arguments.flag("--mangled")
        self._width = table_width(arguments)
        self._pattern = pattern_of(arguments)
        self._sort = arguments.value("--sort")
        self._separator = "\n" if arguments.flag("--jsonl") else ",\n"

    def __call__(self, file: str, cubin: Cubin, arch: str, steps: Steps | None = None) -> Any:
        """Read a cubin; the result is empty when nothing matches.

        Args:
            file: as it was named on the command line.
            arch: the target; only a fatbin says that it is one for a family.
            steps: the way from the file to the cubin; ``None`` when it is the file.
        """
        matches = None
        if self._pattern is not None:
            from cubinspec.report.names import matcher

            matches = matcher(self._pattern)
        if self._form == "json":
            from cubinspec.cli.kernels_json import Texts

            texts = Texts(cubin, self.functions_of(cubin), file, arch, steps, matches)
            if self._sort is None:
                return texts.chunks(self._separator)
            return texts.keyed(_json_key(self._sort))
        rows = rows_of(cubin, self.functions_of(cubin), arch, every=self._every_function)
        if matches is not None:
            rows = [row for row in rows if matches(row[_NAME])]
        if self._form == "rows" or not rows:
            return rows
        rows.sort(key=itemgetter(_NAME))
        return rows_text(rows, kinds=self._every_function, mangled=self._mangled, width=self._width)

    def functions_of(self, cubin: Cubin) -> FunctionList:
        """The functions that are read."""
        return cubin.functions if self._every_function else cubin.kernels


class Choice:
    """Which images are read, and what came of the choice. It is sent to other processes.

    Attributes:
        targets: of the images that are wanted; ``None`` for all.
        relocatable: inputs of a device link too, beside its result.
        met: targets of all images.
        chosen: how many images were wanted.
        rows: how many functions were found in them.
    """

    __slots__ = ("chosen", "met", "relocatable", "rows", "targets")

    def __init__(self, arguments: Arguments) -> None:
        self.targets = cubin_targets(arguments)
        self.relocatable = arguments.flag("--relocatable")
        self.met: set[str] = set()
        self.chosen = 0
        self.rows = 0

    def wants(self, arch: str) -> bool:
        """Whether images for this target are wanted."""
        return self.targets is None or arch in self.targets

    def note(self, pattern: str | None) -> str:
        """What to say when nothing fitted; empty when something did, or nothing was asked for."""
        if not self.met:
            return ""
        if not self.chosen:
            # all were asked for, and none could be read
            return "" if self.targets is None else _no_image_for(self.targets, self.met)
        if pattern is not None and not self.rows:
            return f"no name in {self.chosen} cubins has or matches {pattern!r}"
        return ""

    def remark(self) -> str:
        """What to say when only some of the targets were met; else empty."""
        unmet = (self.targets or frozenset()) - self.met
        return _no_image_for(unmet, self.met) if unmet and self.chosen else ""


def _no_image_for(targets: frozenset[str], met: set[str]) -> str:
    from cubinspec.cli.walking import no_image_for  # it loads all of `containers`

    return no_image_for(targets, met)


def _for_each(arguments: Arguments, files: list[str], reading: Reading, take: Take) -> int:
    """Read every cubin in the files; returns the exit status."""
    choice = Choice(arguments)
    jobs = arguments.integer("--jobs")
    if jobs is not None and jobs < 1:
        raise UsageError("--jobs needs a positive number")
    num_faults = 0

    def count(file: str, path: str, found: Any) -> None:
        choice.chosen += 1
        choice.rows += bool(found)
        take(file, path, found)

    def read_file(file: str) -> None:
        nonlocal num_faults
        if not _read_cubin(file, reading, choice, count, is_last=file == files[-1]):
            from cubinspec.cli.kernels_in import read_container

            num_faults += read_container(
                file, reading, choice, jobs, lambda path, found: count(file, path, found)
            )

    status = for_each_file(files, read_file)
    if num_faults:
        return 1
    note = choice.note(arguments.value("--match"))
    for text in filter(None, (note, choice.remark())):
        complain(text)
    return 1 if note else status


def _read_cubin(file: str, reading: Reading, choice: Choice, take: Take, *, is_last: bool) -> bool:
    """Read a file that is itself a cubin, without loading the code for containers.

    Args:
        is_last: nothing is read after it, so that its tables need not be freed.

    Returns:
        False when the file is something else.
    """
    import os

    from cubinspec.errors import NotCubinError
    from cubinspec.model.cubin import Cubin

    if os.path.isdir(file):
        return False
    try:
        cubin = Cubin.open(file)
    except (NotCubinError, IsADirectoryError):
        return False
    with cubin:
        choice.met.add(cubin.arch)
        if choice.wants(cubin.arch):
            take(file, file, reading(file, cubin, cubin.arch))
            if is_last:
                outlive((cubin.elf, reading.functions_of(cubin)))
    return True


def _json(arguments: Arguments, files: list[str]) -> int:
    from cubinspec.cli.json_output import Records

    key = arguments.value("--sort")
    if key is not None:
        _column(key)
    kept: list[tuple[Any, str]] = []
    with Records("kernels", arguments) as out:

        def take(file: str, path: str, found: Any) -> None:
            if key is None:
                out.add_texts(found)
            else:
                kept.extend(found)

        status = _for_each(arguments, files, Reading("json", arguments), take)
        if key is not None:
            largest_first = _json_key(key) not in _TEXT_WORDS
            kept.sort(key=lambda item: _order(item[0]), reverse=largest_first)
            out.add_texts(text for _, text in kept)
    return status


def _json_key(word: str) -> str:
    """The key of a record that ``--sort`` names with a word of the table."""
    return {"reg": "registers", "bar": "barriers", "threads": "max_threads"}.get(word, word)


def _order(value: Any) -> tuple[bool, Any]:
    """A sort key; what the file does not say counts as less than any value."""
    return (value is not None, value if value is not None else 0)


def _column(word: str) -> int:
    if word not in _COLUMNS:
        raise UsageError(f"--sort takes one of {', '.join(_COLUMNS)}, not {word!r}")
    return _COLUMNS[word]


class _Table:
    """Prints each image when it has been read, with ``--sort`` or ``--csv`` all at the end."""

    def __init__(self, arguments: Arguments, *, titled: bool) -> None:
        key = arguments.value("--sort")
        self._sort = None if key is None else _column(key)
        self._csv = arguments.flag("--csv")
        self._titled = titled
        self._kinds = arguments.flag("--all")
        self._mangled = arguments.flag("--mangled")
        self._kept: list[tuple[str, Row]] = []
        self._width = table_width(arguments)
        self._file = ""
        self._whole = self._csv or self._sort is not None
        self.reading = Reading("rows" if self._whole else "text", arguments)

    def add(self, file: str, path: str, found: Any) -> None:
        """Take what was read of one cubin."""
        if self._whole:
            self._kept.extend((path, row) for row in found)
            return
        if self._titled or path != file:
            if not found:
                return
            self._title(path)
        sys.stdout.write(found or rows_text([], kinds=self._kinds, mangled=self._mangled))

    def _title(self, path: str) -> None:
        """Say which image follows; the file that it is in, only before its first one."""
        file, _, place = path.partition(_ARROW)
        if file != self._file or not place:
            print(title(file, self._width))
        self._file = file
        if place:
            print(title(place, self._width))

    def finish(self) -> None:
        """Print what was kept."""
        column = self._sort
        if column is not None:
            self._kept.sort(
                key=lambda item: _order(item[1][column]),
                reverse=COLUMNS[column] not in _TEXT_WORDS,
            )
        if self._csv:
            from cubinspec.cli.walking import write_csv
            from cubinspec.report.names import readable

            name = str if self._mangled else readable
            write_csv(
                _CSV_HEAD,
                [
                    (*row[:_UNKNOWN], _reason_cell(row, self._mangled), name(row[_NAME]), path)
                    for path, row in self._kept
                ],
            )
        elif column is not None:
            rows = [row for _, row in self._kept]
            more = self._places() if len({path for path, _ in self._kept}) > 1 else None
            sys.stdout.write(
                rows_text(
                    rows,
                    kinds=self._kinds,
                    mangled=self._mangled,
                    paths=more,
                    width=self._width,
                )
            )

    def _places(self) -> list[str]:
        """Which image every row is of; a file that is the same for all is printed as a heading."""
        first, arrow = self._kept[0][0].partition(_ARROW)[:2]
        head = first + arrow
        if arrow and all(path.startswith(head) for path, _ in self._kept):
            print(title(first, self._width))
        else:
            head = ""
        places = [printable(path[len(head) :]) for path, _ in self._kept]
        if self._width is None:
            return places
        from cubinspec.cli.fit import fit

        return fit(places, _MOST_PLACE)


def rows_text(
    rows: list[Row],
    *,
    kinds: bool,
    mangled: bool,
    paths: list[str] | None = None,
    width: int | None = None,
) -> str:
    """The table of some rows.

    Args:
        kinds: with a column that tells kernels from device functions.
        mangled: names as they are in the file.
        paths: another column before the name.
        width: of a line; ``None`` for any.
    """
    head = _HEAD if kinds else _HEAD[1:]
    if paths is not None:
        head = (*head[:-1], "image", head[-1])
    if not rows:
        return table_text(head, [()] * len(head), _left(head), width)
    # few differ in more than the name
    heads = [row[:_NAME] for row in rows]
    distinct = list(dict.fromkeys(heads))
    cells = [_cells(row, kinds) for row in distinct]
    words = head[: len(cells[0])]
    columns = zip(words, *cells, strict=True)
    layout = SPACE.join(
        f"%{'-' if word in _TEXT_WORDS else ''}{max(map(len, column))}s"
        for word, column in zip(words, columns, strict=True)
    )
    line_of = {row: layout % texts for row, texts in zip(distinct, cells, strict=True)}
    first = layout % words
    numbers = [line_of[row] for row in heads]
    names = _all_shown([row[_NAME] for row in rows], mangled)
    rest = [names] if paths is None else [paths, names]
    head = (first, *head[len(words) :])
    text = table_text(head, [numbers, *rest], _left(head), width)
    if any(row[_UNKNOWN] for row in distinct):
        text += _reasons_text(rows, mangled, width)
    return text


def _left(head: Sequence[str]) -> frozenset[int]:
    return frozenset(i for i, word in enumerate(head) if word in _TEXT_WORDS)


def _cells(row: Row, kinds: bool) -> tuple[str, ...]:
    """The cells of a row in front of image and name."""
    kind, arch, word, *numbers, params, size, reason = row
    texts = [_ABSENT if number is None else str(number) for number in numbers]
    if reason is not None:
        texts[_STACK_NUMBER] = reason[0]
    texts.append(f"{params}:{size or 0}" if params else "0")
    return (kind, arch, word, *texts) if kinds else (arch, word, *texts)


def _reason_cell(row: Row, mangled: bool) -> str:
    if row[_UNKNOWN] is None:
        return ""
    from cubinspec.report.stack import reason_text

    return reason_text(row[_UNKNOWN], mangled=mangled)


def _reasons_text(rows: list[Row], mangled: bool, width: int | None) -> str:
    """Lines under the table that say why a stack is not known."""
    from cubinspec.report.stack import reason_text

    found = {
        f"stack of {_shown(row[_NAME], mangled)}: unknown, "
        f"{printable(reason_text(row[_UNKNOWN], mangled=mangled))}": None
        for row in rows
        if row[_UNKNOWN] is not None
    }
    lines = list(found)
    if width is not None:
        from cubinspec.cli.fit import fit

        lines = fit(lines, width)
    return "\n".join((*lines, ""))


#: Shown forms of (name, mangled); a library holds the same names once per architecture.
_shown_names: dict[tuple[str, bool], str] = {}
_MAX_SHOWN = 1 << 16


def _all_shown(names: list[str], mangled: bool) -> list[str]:
    # a tenth of the time that `isprintable` takes
    if mangled and not "".join(names).encode("utf-8", "surrogatepass").translate(None, _PLAIN):
        return names
    return [_shown(name, mangled) for name in names]


def _shown(name: str, mangled: bool) -> str:
    cached = _shown_names.get((name, mangled))
    if cached is not None:
        return cached
    text = name
    if not mangled and name.startswith(("_Z", "_R")):
        from cubinspec.report.names import readable

        text = readable(name)
    if len(_shown_names) >= _MAX_SHOWN:
        _shown_names.clear()
    shown = _shown_names[name, mangled] = printable(text)
    return shown
