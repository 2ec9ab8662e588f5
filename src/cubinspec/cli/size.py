"""``cubinspec size``: where the bytes of a file go."""

from __future__ import annotations

from cubinspec.cli.options import JSON_OPTIONS, WIDE, Arguments, Option, UsageError
from cubinspec.cli.output import for_each_file, print_table, report, table_width, title
from cubinspec.cli.progress import Progress
from cubinspec.cli.walking import CSV, bytes_text, nothing_in, shown, write_csv
from cubinspec.report.names import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec.report.size import SizeReport, View

USAGE = "FILE... [--by VIEW] [--top N] [--mangled] [--relocatable] [--json|--jsonl|--csv]"
OPTIONS = (
    Option("--by", value="VIEW", help="only file, content, arch, section, kernel or duplicates"),
    Option("--top", value="N", help="rows per view (default 15; 0 for all)"),
    Option("--mangled", help="names as they are in the file"),
    WIDE,
    Option("--relocatable", help="kernels of the inputs of a device link in rows of their own"),
    CSV,
    *JSON_OPTIONS,
)

_VIEWS = ("file", "content", "arch", "section", "kernel", "duplicates")
_TOP = 15


def run(arguments: Arguments) -> int:
    """Print the views, the CSV or the JSON list."""
    wanted = [name for text in arguments.values("--by") for name in text.split(",")]
    for name in wanted:
        if name not in _VIEWS:
            raise UsageError(f"--by takes {', '.join(_VIEWS)}, not {name!r}")
    top = arguments.integer("--top")
    top = _TOP if top is None else top
    name_of = str if arguments.flag("--mangled") else readable
    relocatable = arguments.flag("--relocatable")
    reports: list[SizeReport] = []

    def one(file: str) -> None:
        from cubinspec.report.size import measure

        with Progress("images") as progress:
            found = measure(file, progress.step, relocatable=relocatable)
        for error in found.faults:
            report(error)
        if not found.images and not found.faults:
            raise nothing_in(file, "device code")
        reports.append(found)

    status = for_each_file(arguments.files(), one)
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records
        from cubinspec.report.size import size_record

        with Records("size", arguments) as out:
            for found in reports:
                out.add(size_record(found))
    elif arguments.flag("--csv"):
        write_csv(
            ("file", "view", "name", "file_bytes", "bytes"),
            [
                (found.file, view.title, name_of(name), file_bytes, size)
                for found in reports
                for view in found.views
                if not wanted or view.title in wanted
                for name, file_bytes, size in view.table(found.total)
            ],
        )
    else:
        for found in reports:
            _print(found, wanted or list(_VIEWS), top, name_of, table_width(arguments))
    return 1 if any(found.faults for found in reports) else status


def _print(
    found: SizeReport,
    wanted: list[str],
    top: int,
    name_of: Callable[[str], str],
    width: int | None,
) -> None:
    count = f"{found.images} image{'' if found.images == 1 else 's'}"
    print(title(found.file, width, f" {bytes_text(found.total)} bytes, {count}"))
    for view in found.views:
        if view.title in wanted:
            print()
            _print_view(view, found.total, top, name_of, width)
    if "duplicates" in wanted:
        _print_duplicates(found, top, name_of, width)


def _print_view(
    view: View, total: int, top: int, name_of: Callable[[str], str], width: int | None
) -> None:
    rows = view.table(total)
    head = rows[:top] if top else rows
    rest = rows[len(head) :]
    if rest:
        file_bytes, size = _sums(rest)
        head.append((f"({len(rest)} more)", file_bytes, size))
    head.append(("total", total, _sums(rows)[1]))
    print_table(
        ("file bytes", "share", "bytes", f"by {view.title}"),
        [
            (
                bytes_text(file_bytes),
                f"{100 * file_bytes / total if total else 0:.2f} %",
                bytes_text(size),
                shown(name_of(name)),
            )
            for name, file_bytes, size in head
        ],
        frozenset((3,)),
        width,
    )


def _sums(rows: list[tuple[str, int, int]]) -> tuple[int, int]:
    """The sums of file bytes and of bytes of some rows."""
    return sum(file_bytes for _, file_bytes, _ in rows), sum(size for _, _, size in rows)


def _print_duplicates(
    found: SizeReport, top: int, name_of: Callable[[str], str], width: int | None
) -> None:
    for what, items in (
        ("duplicate images", found.duplicate_images),
        ("duplicate code", found.duplicate_code),
    ):
        wasted = sum(copies.wasted for _, _, copies in items)
        print(f"\n{what}: {len(items)}, {bytes_text(wasted)} file bytes could be saved")
        if not items:
            continue
        shortened = items[:top] if top else items
        print_table(
            ("saving", "copies", "bytes", "what"),
            [
                (
                    bytes_text(copies.wasted),
                    str(len(copies.places)),
                    bytes_text(copies.size),
                    f"{first} {shown(name_of(second))}",
                )
                for first, second, copies in shortened
            ],
            frozenset((3,)),
            width,
        )
