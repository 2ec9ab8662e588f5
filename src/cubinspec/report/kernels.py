"""The resource table: one record per function."""

from __future__ import annotations

from cubinspec.format.packing import words
from cubinspec.model.function import attribute_names, numbers_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function
    from cubinspec.model.function_table import Launch, Numbers
    from cubinspec.model.parameter import Parameter

    Key = TypeVar("Key")
    Text = TypeVar("Text")

#: Texts that are kept of resources, launches, parameters and attributes.
_MAX_KEPT = 1 << 12


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

    A library has tens of thousands of kernels with the same few parameters, attributes and
    resources, whose texts are kept.

    Args:
        encode: makes the JSON text of a value.
    """

    def __init__(self, encode: Callable[[Any], str]) -> None:
        self._encode = encode
        self._numbers: dict[Numbers, str] = {}
        self._launches: dict[Launch, tuple[str, str]] = {}
        #: Bytes that matter for a launch -> texts of it and of the parameters.
        self._params: dict[bytes, tuple[str, str]] = {}
        self._attributes: dict[tuple[int, ...], str] = {}

    def text_of(self, function: Function, front: str, reason: str) -> str:
        """The text of a function's record.

        Args:
            front: the text of the keys in front of ``registers``; a text is only made once, as
                those of a library have hundreds of megabytes.
            reason: text of ``stack_unknown``.
        """
        table, code = function.table, function.owned_code
        body = table.info_bytes(code)
        launch = table.launch_of(code, body)
        numbers = table.numbers(function.symbol_index, code, launch.barriers)
        first = self._numbers.get(numbers)
        if first is None:
            text = self._encode(numbers_dict(numbers))[1:-1]
            first = _keep(self._numbers, numbers, text)
        texts = self._launches.get(launch)
        if texts is None:
            texts = _keep(self._launches, launch, self._launch_texts(function, launch, body))
        middle, last = texts
        start, stop = launch.exits
        exits = str(words(body[start:stop])).replace(" ", "")
        return (
            f'{front},{first},{middle},"code_size":{function.row[5]},"exit_offsets":{exits},'
            f'"stack_unknown":{reason},{last}}}'
        )

    def _launch_texts(self, function: Function, launch: Launch, body: bytes) -> tuple[str, str]:
        """Texts of the launch, and of parameters and attributes.

        Many streams differ in one of these only, or in neither.
        """
        encode = self._encode
        said = launch.shape.launch_bytes(body)
        texts = self._params.get(said)
        if texts is None:
            params = encode([parameter_record(parameter) for parameter in function.params])
            texts = _keep(self._params, said, (encode(launch.as_dict())[1:-1], params))
        codes = tuple(launch.codes)
        attributes = self._attributes.get(codes)
        if attributes is None:
            attributes = _keep(self._attributes, codes, encode(attribute_names(codes)))
        launch_text, params_text = texts
        return launch_text, f'"params":{params_text},"attributes":{attributes}'


def _keep(texts: dict[Key, Text], key: Key, text: Text) -> Text:
    if len(texts) >= _MAX_KEPT:
        texts.clear()
    texts[key] = text
    return text
