"""``cubinspec host``: which names of device code host files register and use."""

from __future__ import annotations

from cubinspec.cli.options import JSON_OPTIONS, WIDE, Arguments
from cubinspec.cli.output import print_table, report, table_width, title
from cubinspec.cli.walking import for_each_image, nothing_in, shown
from cubinspec.errors import CubinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.containers import Image
    from cubinspec.containers.host_names import HostNames
    from cubinspec.containers.image import Step
    from cubinspec.containers.source import Source
    from cubinspec.report.host import DeviceName

USAGE = "FILE... [--json|--jsonl]"
OPTIONS = (WIDE, *JSON_OPTIONS)

_HEAD = ("kind", "registered", "used", "code for", "name")
_LEFT = frozenset(range(len(_HEAD)))
#: What a file without any is said to lack.
_EXPECTED = "host file with device code"
_WORDS = {True: "yes", False: "no", None: "-"}


class _Host:
    """One host file.

    Attributes:
        file: as the command line names it, or the folder or archive around it.
        defined: names of device code.
        said: those of the names that stand in its data.
        images: start and end of the device code in it.
    """

    def __init__(self, file: str, steps: tuple[Step, ...], names: HostNames) -> None:
        self.file = file
        self.steps = steps
        self.names = names
        self.images: set[tuple[int, int]] = set()
        self.defined: dict[str, DeviceName] = {}
        self.said: set[str] = set()


def run(arguments: Arguments) -> int:
    """Print a table per host file, or the JSON list."""
    from cubinspec.containers.arena import Arena
    from cubinspec.containers.host_names import KINDS, host_names, texts_among

    hosts: dict[tuple[Step, ...], _Host] = {}
    arena = Arena()
    current = ""

    def begin(file: str) -> None:
        nonlocal current
        current = file

    def meet(steps: tuple[Step, ...], source: Source, kind: str) -> None:
        if kind in KINDS:
            hosts[steps] = _Host(current, steps, host_names(source, kind))

    def visit(image: Image) -> None:
        from cubinspec.report.host import add_names

        host = _around(hosts, image)
        if host is None:
            return
        for part in image.provenance[len(host.steps) :][:1]:
            host.images.add((part.offset, part.offset + part.size))
        if image.kind != "cubin":
            return
        with image.cubin(arena) as cubin:
            add_names(cubin, host.defined)

    def search(steps: tuple[Step, ...], source: Source, kind: str) -> None:
        host = hosts.get(steps)
        if host is not None and not host.names.is_object and host.defined:
            host.said = texts_among(source, host.defined, kind, host.images)

    files = arguments.files()
    status = for_each_image(files, visit, on_file=begin, visit=meet, expected=_EXPECTED)
    if any(not host.names.is_object for host in hosts.values()):
        from cubinspec.containers import images

        for file in files:
            try:
                for _ in images(file, visit=search):
                    pass
            except CubinError:
                continue  # the first walk has reported it
    found = [host for host in hosts.values() if host.defined or host.names.registered]
    _show(arguments, found)
    return _report_others(files, {host.file for host in found}) or status


def _report_others(files: list[str], hosts: set[str]) -> int:
    """Say which files hold no host file; returns the exit status."""
    others = [file for file in files if file not in hosts]
    for file in others:
        try:
            report(nothing_in(file, _EXPECTED))
        except CubinError:
            continue  # it cannot be opened, which the walk has reported
    return int(bool(others))


def _around(hosts: dict[tuple[Step, ...], _Host], image: Image) -> _Host | None:
    """The innermost host file around an image."""
    for end in range(len(image.provenance), 0, -1):
        host = hosts.get(image.provenance[:end])
        if host is not None:
            return host
    return None


def _show(arguments: Arguments, hosts: list[_Host]) -> None:
    from cubinspec.report.host import host_record

    if arguments.wants_json:
        from cubinspec.cli.json_output import Records

        with Records("host", arguments) as out:
            for host in hosts:
                way = {"provenance": [step.as_dict() for step in host.steps]}
                out.add(way | host_record(host.names, host.defined, host.said))
        return
    width = table_width(arguments)
    for host in hosts:
        record = host_record(host.names, host.defined, host.said)
        module = record["module"]
        more = "" if module is None else f" registers its code as {shown(module)}"
        print(title(" → ".join(step.name for step in host.steps), width, more))
        print_table(_HEAD, [_row(item) for item in record["names"]], _LEFT, width)


def _row(item: dict[str, Any]) -> tuple[str, ...]:
    return (
        item["kind"],
        _WORDS[item["registered"]],
        _WORDS[item["used"]],
        " ".join(item["archs"]) or "-",
        shown(item["demangled"]),
    )
