"""``cubinspec callgraph``: who calls whom, and what the deepest path takes."""

from __future__ import annotations

from cubinspec.cli.options import JSON_OPTIONS, Arguments, Option, keep_inputs
from cubinspec.cli.output import complain, write_output
from cubinspec.cli.walking import (
    CUBIN_ARCH,
    RELOCATABLE,
    architecture_filter,
    for_each_image,
    said_nothing_fits,
    shown,
)
from cubinspec.report.callgraph import call_graph, graph_record
from cubinspec.report.callgraph_text import dot_text, drawing, tree_lines
from cubinspec.report.names import matcher, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import ExitStack
    from typing import Any

    from cubinspec.containers import Image
    from cubinspec.model.cubin import Cubin
    from cubinspec.report.callgraph import JoinedCalls, Node

USAGE = (
    "FILE... [--arch SM] [--match PATTERN] [--together] [--dot OUT] [--svg OUT] [--json|--jsonl]"
)
OPTIONS = (
    CUBIN_ARCH,
    Option(
        "--match",
        value="PATTERN",
        help="only below functions whose name has PATTERN, fits it (* ? [a-z]) or matches"
        " re:EXPRESSION",
    ),
    RELOCATABLE,
    Option("--together", help="all images of a target as if they were linked"),
    Option("--dot", value="OUT", help="write the graph for Graphviz"),
    Option("--svg", value="OUT", help="write a drawing"),
    Option("--mangled", help="names as they are in the file"),
    *JSON_OPTIONS,
)


class _Output:
    """Shows one graph after another, in the form that was asked for."""

    def __init__(self, arguments: Arguments) -> None:
        pattern = arguments.value("--match")
        self._arguments = arguments
        self._is_chosen = pattern is not None
        self._matches = matcher(pattern)
        self._name_of = str if arguments.flag("--mangled") else readable
        self._pictures: list[tuple[str, JoinedCalls]] = []
        self.matched = 0
        self._records = None
        if arguments.wants_json:
            from cubinspec.cli.json_output import Records

            self._records = Records("callgraph", arguments)

    def show(self, title: str, arch: str, steps: list[Any], calls: JoinedCalls) -> None:
        """Print a graph, or keep it for the pictures."""
        roots = self._roots(calls)
        self.matched += len(roots)
        if not roots and (calls.nodes or self._is_chosen):
            return
        if self._is_chosen:
            calls = calls.below(roots)
        self._pictures.append((f"{shown(title)}  {arch}", calls))
        if self._records is not None:
            self._records.add({"images": steps, "arch": arch, **graph_record(calls)})
            return
        if self._arguments.streams:
            return
        print(f"{shown(title)}  {arch}")
        for line in tree_lines(calls, roots, self._name_of):
            print(f"  {shown(line)}")

    def _roots(self, calls: JoinedCalls) -> list[Node]:
        if not self._is_chosen:
            return calls.roots
        return [node for node in calls.nodes if self._matches(node.name)]

    def finish(self) -> None:
        """End the JSON, write the pictures."""
        if self._records is not None:
            self._records.close()
        for option, make in (("--dot", dot_text), ("--svg", drawing)):
            out = self._arguments.value(option)
            if out is not None and self._pictures:
                text = make(self._pictures)
                write_output(out, text.encode("utf-8", "backslashreplace"))


def run(arguments: Arguments) -> int:
    """Print the trees or the JSON, write the pictures."""
    from contextlib import ExitStack

    keep_inputs(arguments, ("--dot", "--svg"), arguments.positional)
    output = _Output(arguments)
    together = arguments.flag("--together")
    groups: dict[str, tuple[list[Any], list[Cubin]]] = {}
    linked: list[Image] = []
    relocatable = arguments.flag("--relocatable")
    with ExitStack() as opened:

        def visit(image: Image) -> None:
            if image.superseded and not (relocatable or together):
                return
            if together:
                if not _gather(image, groups, opened):
                    linked.append(image)
                return
            with image.cubin() as cubin:
                graph = call_graph([cubin])
                output.show(str(image), image.arch, [_steps(image)], graph)

        status = for_each_image(
            arguments.files(),
            visit,
            wanted=lambda image: image.kind == "cubin",
            targets=architecture_filter(arguments),
            expected="cubin",
        )
        for arch, (steps, cubins) in groups.items():
            count = f"{len(cubins)} image{'s' if len(cubins) > 1 else ''}"
            output.show(f"{count} together", arch, steps, call_graph(cubins))
    output.finish()
    if together and _left_out(linked, groups) and not groups:
        return 1
    return 1 if said_nothing_fits(arguments.value("--match"), output.matched) else status


def _gather(
    image: Image, groups: dict[str, tuple[list[Any], list[Cubin]]], opened: ExitStack
) -> bool:
    """Keep a relocatable image for the graph of its target; a linked one is complete."""
    cubin = opened.enter_context(image.cubin())
    if not cubin.header.is_relocatable:
        return False
    steps, cubins = groups.setdefault(image.arch, ([], []))
    steps.append(_steps(image))
    cubins.append(cubin)
    return True


def _left_out(linked: list[Image], groups: dict[str, tuple[list[Any], list[Cubin]]]) -> bool:
    """Tell of linked images whose parts are not among those that were joined."""
    homes = {(steps[0]["name"], arch) for arch, (joined, _) in groups.items() for steps in joined}
    left = [image for image in linked if (image.provenance[0].name, image.arch) not in homes]
    for image in left:
        complain(f"{image}: left out: it is linked, and --together joins relocatable images")
    return bool(left)


def _steps(image: Image) -> list[dict[str, object]]:
    return [step.as_dict() for step in image.provenance]
