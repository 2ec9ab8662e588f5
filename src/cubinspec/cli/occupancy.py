"""``cubinspec occupancy``: how full kernels make an SM, what limits them, what would help."""

from __future__ import annotations

from cubinspec.cli.options import (
    JSON_OPTIONS,
    WIDE,
    Arguments,
    Option,
    UsageError,
    keep_inputs,
    pattern_of,
)
from cubinspec.cli.output import print_table, table_width, write_output
from cubinspec.cli.walking import (
    CSV,
    CUBIN_ARCH,
    MATCH,
    RELOCATABLE,
    architecture_filter,
    for_each_image,
    said_nothing_fits,
    shown,
    write_csv,
)
from cubinspec.report.names import matcher, readable
from cubinspec.report.occupancy import known_gpus, limits_of, occupancy, occupancy_curve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cubinspec.containers import Image
    from cubinspec.report.occupancy import Occupancy

USAGE = (
    "FILE... [--arch SM] [--match PATTERN] [--block THREADS] [--dynamic-shared BYTES] [--gpu SM]"
    " [--curve] [--json|--jsonl|--csv]"
)
OPTIONS = (
    CUBIN_ARCH,
    MATCH,
    RELOCATABLE,
    Option("--block", value="THREADS", help="threads per block (default: what the kernel states)"),
    Option("--dynamic-shared", value="BYTES", help="shared memory that the launch asks for"),
    Option("--gpu", value="SM", help="on this GPU (default: the target of the code); may repeat"),
    Option("--curve", help="a bar for every block size"),
    Option("--svg", value="OUT", help="the curves as a picture"),
    Option("--mangled", help="names as they are in the file"),
    WIDE,
    CSV,
    *JSON_OPTIONS,
)

_HEAD = (
    *("gpu", "block", "from", "reg", "shared", "bar", "blocks", "warps", "occupancy"),
    *("limited by", "next step", "name"),
)
_LEFT = frozenset((0, 2, 9, 10, 11))
_CSV_HEAD = (
    *("path", "arch", "name", "gpu", "block", "block_source", "registers", "shared", "barriers"),
    *("blocks_per_sm", "warps_per_sm", "max_warps_per_sm", "occupancy", "limited_by", "next_step"),
)
#: Characters of a full bar.
_BAR = 40
_ABSENT = "-"


class Row:
    """What was computed for a kernel on one GPU.

    Attributes:
        path: the file, or the way to the image in it.
        steps: the same as JSON knows it.
        arch: the target of the code.
        name: of the kernel, mangled.
        cluster: blocks of a cluster in x, y, z, which are not counted.
        found: the result; ``None``: the file does not tell the number of registers.
    """

    __slots__ = ("arch", "cluster", "found", "name", "path", "steps")

    def __init__(
        self, image: Image, name: str, cluster: list[int] | None, found: Occupancy | None
    ) -> None:
        self.path = str(image)
        self.steps: list[dict[str, object]] = [step.as_dict() for step in image.provenance]
        self.arch: str = image.arch
        self.name = name
        self.cluster = cluster
        self.found = found

    def record(self) -> dict[str, Any]:
        """The row as JSON knows it (``occupancy.schema.json``)."""
        return {
            "provenance": self.steps,
            "arch": self.arch,
            "name": self.name,
            "demangled": readable(self.name),
            "cluster": self.cluster,
            **({"gpu": None} if self.found is None else self.found.as_dict()),
        }


def run(arguments: Arguments) -> int:
    """Print the table, the curves, the CSV or the JSON."""
    pattern = pattern_of(arguments)
    keep_inputs(arguments, ("--svg",), arguments.positional)
    picture = arguments.value("--svg")
    rows: list[Row] = []
    count = 0
    out = None
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records

        out = Records("occupancy", arguments)

    def take(row: Row) -> None:
        nonlocal count
        count += 1
        if out is None or picture is not None:
            rows.append(row)
        if out is not None:
            out.add(row.record())

    status = _visit(arguments, take)
    if out is not None:
        out.close()
    elif arguments.flag("--csv"):
        write_csv(_CSV_HEAD, map(_csv_row, rows))
    elif not arguments.streams:
        (_print_curves if arguments.flag("--curve") else _print)(rows, arguments)
    if picture is not None:
        from cubinspec.report.occupancy_chart import svg

        curves = [(readable(row.name), row.found) for row in rows if row.found is not None]
        write_output(picture, svg(curves).encode())
    return 1 if said_nothing_fits(pattern, count) else status


def _visit(arguments: Arguments, take: Callable[[Row], None]) -> int:
    """Compute all rows; returns the exit status."""
    from cubinspec.containers.arena import Arena

    gpus = _gpus(arguments)
    block = arguments.integer("--block")
    dynamic = arguments.integer("--dynamic-shared") or 0
    most = max(limits_of(gpu)["max_threads_per_block"] for gpu in gpus or known_gpus())
    if block is not None and not 0 < block <= most:
        raise UsageError(f"--block needs 1 to {most} threads, not {block}")
    if dynamic < 0:
        raise UsageError("--dynamic-shared needs a number that is not negative")
    matches = matcher(pattern_of(arguments))
    relocatable = arguments.flag("--relocatable")
    arena = Arena()

    def visit(image: Image) -> None:
        if image.superseded and not relocatable:
            return
        with image.cubin(arena) as cubin:
            for kernel in cubin.kernels:
                if not matches(kernel.name):
                    continue
                cluster = None if kernel.cluster is None else list(kernel.cluster)
                for gpu in gpus or (None,):
                    found = occupancy(kernel, block=block, dynamic_shared=dynamic, gpu=gpu)
                    take(Row(image, kernel.name, cluster, found))

    return for_each_image(
        arguments.files(),
        visit,
        wanted=lambda image: image.kind == "cubin",
        targets=architecture_filter(arguments),
        expected="cubin",
    )


def _gpus(arguments: Arguments) -> list[str]:
    words = [word for text in arguments.values("--gpu") for word in text.split(",") if word]
    names = ["sm_" + word.removeprefix("sm_") for word in words]
    for name in names:
        try:
            limits_of(name)
        except ValueError as error:
            raise UsageError(f"--gpu {name}: {error}") from None
    return names


def _cells(row: Row) -> list[str]:
    found = row.found
    if found is None:
        return [row.arch, *[_ABSENT] * 8, "the number of registers is not known", ""]
    launch, reached, step = found.launch, found.residency, found.step
    better = "" if step is None else f"{step.text} → {_percent(step.occupancy)}"
    return [
        found.arch,
        str(launch.block),
        found.source,
        str(launch.registers),
        str(launch.shared),
        str(launch.barriers),
        str(reached.blocks),
        f"{reached.warps}/{reached.max_warps}",
        _percent(reached.occupancy),
        ", ".join(reached.limited_by),
        better,
    ]


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def _print(rows: list[Row], arguments: Arguments) -> None:
    """A table per file that holds kernels, with the file as its heading."""
    from itertools import groupby

    name_of = str if arguments.flag("--mangled") else readable
    width = table_width(arguments)
    for path, group in groupby(rows, key=lambda row: row.path):
        print(f"{shown(path)}:")
        cells = [(*_cells(row), shown(name_of(row.name))) for row in group]
        print_table(_HEAD, cells, _LEFT, width)


def _csv_row(row: Row) -> list[object]:
    found = row.found
    if found is None:
        return [row.path, row.arch, row.name, *[None] * 12]
    record = found.as_dict()
    numbers = [record[key] for key in _CSV_HEAD[3:-2]]
    step = "" if found.step is None else found.step.text
    return [row.path, row.arch, row.name, *numbers, " ".join(record["limited_by"]), step]


def _print_curves(rows: list[Row], arguments: Arguments) -> None:
    """A line for every block size of every kernel."""
    name_of = str if arguments.flag("--mangled") else readable
    for row in rows:
        print(f"{shown(name_of(row.name))}  {row.arch}  {shown(row.path)}")
        found = row.found
        if found is None:
            print("  the number of registers is not known")
            continue
        for size, reached in occupancy_curve(found.launch, limits_of(found.arch)):
            bar = "█" * round(_BAR * reached.occupancy)
            mark = "<" if size == found.launch.block else ""
            limited = ", ".join(reached.limited_by)
            line = f"  {size:>5} {_percent(reached.occupancy):>5} {bar:<{_BAR}} {limited} {mark}"
            print(line.rstrip())
