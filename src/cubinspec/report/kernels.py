"""The resource table: one record per function."""

from __future__ import annotations

from cubinspec.model.function import attribute_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function
    from cubinspec.model.parameter import Parameter

    Key = TypeVar("Key")

#: Texts that are kept of parameters, and of lists of attributes.
_MAX_KEPT = 1 << 14


def kernel_records(cubin: Cubin, *, every_function: bool = False) -> list[dict[str, Any]]:
    """One JSON-ready object per kernel, sorted by name (schema ``kernels.schema.json``).

    Args:
        every_function: device functions too.
    """
    from cubinspec.report.stack import reason_record, reasons_of

    functions = cubin.functions if every_function else cubin.kernels
    records = [function_record(cubin, function) for function in functions]
    reasons = reasons_of(cubin, functions)
    for place, record in enumerate(records):
        reason = reasons.get(place)
        record["stack_unknown"] = None if reason is None else reason_record(reason)
    records.sort(key=lambda record: (record["kind"] != "kernel", record["name"]))
    return records


def function_record(cubin: Cubin, function: Function) -> dict[str, Any]:
    """Everything known about one function; sizes in bytes, ``None`` where the file is silent."""
    return function.as_dict()


def parameter_record(parameter: Parameter) -> dict[str, Any]:
    """One kernel parameter."""
    return {**parameter.as_dict()}


class KernelTexts:
    """Makes the JSON texts of functions: the records of :func:`kernel_records`, much faster.

    A library has tens of thousands of kernels with the same few parameters and attributes, whose
    texts are kept.

    Args:
        encode: makes the JSON text of a value.
    """

    def __init__(self, encode: Callable[[Any], str]) -> None:
        self._encode = encode
        self._parameters: dict[bytes, str] = {}
        self._attributes: dict[tuple[int, ...], str] = {}

    def lists_of(self, function: Function) -> dict[str, str]:
        """Texts of the lists in a function's record."""
        index = function.info_index
        run = index.parameter_run
        parameters = self._parameters.get(run)
        if parameters is None:
            found = [parameter_record(parameter) for parameter in function.params]
            parameters = _keep(self._parameters, run, self._encode(found))
        codes = tuple(index.codes)
        attributes = self._attributes.get(codes)
        if attributes is None:
            text = self._encode(attribute_names(codes))
            attributes = _keep(self._attributes, codes, text)
        return {"params": parameters, "attributes": attributes}


def _keep(texts: dict[Key, str], key: Key, text: str) -> str:
    if len(texts) >= _MAX_KEPT:
        texts.clear()
    texts[key] = text
    return text
