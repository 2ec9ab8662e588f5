"""``cubinspec params``: the parameter block of every kernel, as data."""

from __future__ import annotations

from cubinspec.cli.options import JSON_OPTIONS, WIDE, Arguments, Option, pattern_of
from cubinspec.cli.output import table_width, title
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
from cubinspec.report.kernels import parameter_record
from cubinspec.report.names import matcher, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.containers import Image
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function

USAGE = "FILE... [--arch SM] [--match PATTERN] [--mangled] [--relocatable] [--json|--jsonl|--csv]"
OPTIONS = (
    CUBIN_ARCH,
    MATCH,
    RELOCATABLE,
    Option("--mangled", help="names as they are in the file"),
    WIDE,
    CSV,
    *JSON_OPTIONS,
)

_CSV_HEAD = ("path", "arch", "type", "kernel", "ordinal", "offset", "size")


def run(arguments: Arguments) -> int:
    """Print the list, the CSV or the JSON."""
    from cubinspec.containers.arena import Arena

    pattern = pattern_of(arguments)
    matches = matcher(pattern)
    relocatable = arguments.flag("--relocatable")
    name_of = str if arguments.flag("--mangled") else readable
    arena = Arena()
    records: list[dict[str, Any]] = []
    take = records.append
    out = None
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records

        out = Records("params", arguments)
        take = out.add
    count = 0

    def visit(image: Image) -> None:
        nonlocal count
        if image.superseded and not relocatable:
            return
        way: dict[str, Any] = {"path": str(image), "place": image.place}
        if out is not None:
            way = {"provenance": [step.as_dict() for step in image.provenance]}
        with image.cubin(arena) as cubin:
            for kernel in cubin.kernels:
                if matches(kernel.name):
                    count += 1
                    take({**way, **_record(cubin, kernel)})

    status = for_each_image(
        arguments.files(),
        visit,
        wanted=lambda image: image.kind == "cubin",
        targets=architecture_filter(arguments),
        expected="cubin",
    )
    if out is not None:
        out.close()
    elif arguments.flag("--csv"):
        write_csv(
            _CSV_HEAD,
            [
                (
                    r["path"],
                    r["arch"],
                    r["type"],
                    name_of(r["name"]),
                    p["ordinal"],
                    p["offset"],
                    p["size"],
                )
                for r in records
                for p in r["params"]
            ],
        )
    else:
        _print(records, name_of, table_width(arguments))
    return 1 if said_nothing_fits(pattern, count) else status


def _record(cubin: Cubin, kernel: Function) -> dict[str, Any]:
    return {
        "arch": cubin.arch,
        "type": cubin.header.type_word,
        "name": kernel.name,
        "demangled": readable(kernel.name),
        "param_offset": kernel.param_offset,
        "param_size": kernel.param_size,
        "params": [parameter_record(parameter) for parameter in kernel.params],
    }


def _print(records: list[dict[str, Any]], name_of: Any, width: int | None) -> None:
    facts = [_facts(record) for record in records]
    names = [shown(name_of(record["name"])) for record in records]
    if width is not None:
        from cubinspec.cli.fit import fit

        names = fit(names, width - max(map(len, facts), default=0) - 2)
    file = path = None
    for record, name, fact in zip(records, names, facts, strict=True):
        if record["path"] != path:
            path = record["path"]
            whole, place = record["place"]
            if (whole or place) != file:
                file = whole or place
                print(title(file, width))
            print(_image_line(place if whole else "", f"{record['arch']}  {record['type']}", width))
        print(f"  {name}{fact}")
        for parameter in record["params"]:
            print(
                f"    {parameter['ordinal']:>3}  offset {parameter['offset']:#06x}"
                f"  size {parameter['size']}"
            )


def _image_line(place: str, facts: str, width: int | None) -> str:
    """Which image of the file follows; a file that is the image has been named already."""
    if not place:
        return facts
    text = shown(place)
    if width is not None:
        from cubinspec.cli.fit import fit

        (text,) = fit([text], width - len(facts) - 2)
    return f"{text}  {facts}"


def _facts(record: dict[str, Any]) -> str:
    size, offset = record["param_size"], record["param_offset"]
    where = "" if offset is None else f" at c[0x0][{offset:#x}]"
    return f": {size or 0} bytes{where}"
