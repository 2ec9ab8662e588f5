"""The resource table: one record per function."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function
    from cubinspec.model.parameter import Parameter


def kernel_records(cubin: Cubin, *, every_function: bool = False) -> list[dict[str, Any]]:
    """One JSON-ready object per kernel, sorted by name (schema ``kernels.schema.json``).

    Args:
        every_function: device functions too.
    """
    from cubinspec.report.stack import reason_record, reasons_of

    functions = cubin.functions if every_function else cubin.kernels
    records = []
    for function, reason in zip(functions, reasons_of(cubin, functions), strict=True):
        record = function_record(cubin, function)
        record["stack_unknown"] = reason_record(reason)
        records.append(record)
    records.sort(key=lambda record: (record["kind"] != "kernel", record["name"]))
    return records


def function_record(cubin: Cubin, function: Function) -> dict[str, Any]:
    """Everything known about one function; sizes in bytes, ``None`` where the file is silent."""
    return function.as_dict()


def parameter_record(parameter: Parameter) -> dict[str, Any]:
    """One kernel parameter."""
    return {**parameter.as_dict()}
