"""The JSON texts of ``cubinspec kernels``, made where the cubin is read."""

from __future__ import annotations

from cubinspec.cli.json_output import encode, head_of, text_of
from cubinspec.cli.picking import only_step
from cubinspec.report.kernels import KernelTexts
from cubinspec.report.names import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cubinspec.containers import Step
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function

_lists = KernelTexts(encode)


def texts_of(
    cubin: Cubin,
    functions: list[Function],
    file: str,
    arch: str,
    steps: tuple[Step, ...] | None,
    matches: Callable[[str], bool] | None,
    key: str | None,
) -> list[tuple[Any, str]]:
    """Texts of the records of a cubin's functions, each behind its value of ``key``.

    Args:
        file: as it was named on the command line.
        arch: the target, which only a fatbin knows in full.
        steps: the way from the file to the cubin; ``None`` when the file is the cubin.
        matches: tells which mangled names are wanted; ``None`` for all.
        key: of the records, by which they will be sorted; ``None`` if they will not be.
    """
    way = only_step(file, cubin.size) if steps is None else [step.as_dict() for step in steps]
    head = head_of("kernels", {"file": file, "provenance": way})
    found = []
    for name, function, reason in _with_reasons(cubin, functions):
        if matches is None or matches(name):
            # the name comes first
            record = {"name": name, "demangled": readable(name), **function.figures(), "arch": arch}
            record["stack_unknown"] = reason
            text = text_of(head, record, _lists.lists_of(function))
            found.append((None if key is None else _value(record, function, key), text))
    return found


def _with_reasons(
    cubin: Cubin, functions: list[Function]
) -> list[tuple[str, Function, dict[str, Any] | None]]:
    """Name and function, kernels first, with the reason why a stack is not known."""
    reasons: dict[int, dict[str, Any]] = {}
    # before the device link, more stacks can be unknown than those that the file calls unknown
    is_open = cubin.header.is_relocatable and not cubin.knows_all_stacks()
    if is_open or None in [function.stack for function in functions]:
        from cubinspec.report.stack import reason_record, reasons_of

        found = reasons_of(cubin, functions)
        reasons = {place: reason_record(reason) for place, reason in found.items()}
    order = sorted([(not each.is_kernel, each.name, place) for place, each in enumerate(functions)])
    return [(name, functions[place], reasons.get(place)) for _, name, place in order]


def _value(record: dict[str, Any], function: Function, key: str) -> Any:
    if key == "const0":
        return function.const0
    return function.num_params if key == "params" else record[key]
