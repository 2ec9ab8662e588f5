"""The resource table: one record per function."""

from __future__ import annotations

from cubinspec.format.packing import words
from cubinspec.model.function import attribute_names, numbers_dict
from cubinspec.model.function_table import exits_in
from cubinspec_generated.codes import EIATTR_EXIT_INSTR_OFFSETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function
    from cubinspec.model.function_table import Numbers
    from cubinspec.model.parameter import Parameter
    from cubinspec.reader.streams import Shape

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
        #: By what streams have alike: barriers, where the exits are, texts of launch and of
        #: parameters and attributes.
        self._streams: dict[tuple[Shape, int], tuple[int | None, int, int, str, str]] = {}
        #: Bytes that matter for a launch -> barriers, texts of the launch and of the parameters.
        self._launches: dict[bytes, tuple[int | None, str, str]] = {}
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
        shape, number = table.shape_of(code, body)
        key = shape, number & shape.launch_mask
        said = self._streams.get(key)
        if said is None:
            said = _keep(self._streams, key, self._read_stream(function, shape, body))
        stated, start, stop, middle, last = said
        numbers = table.numbers(function.symbol_index, code, stated)
        first = self._numbers.get(numbers)
        if first is None:
            text = self._encode(numbers_dict(numbers))[1:-1]
            first = _keep(self._numbers, numbers, text)
        exits = str(words(body[start:stop])).replace(" ", "")
        return (
            f'{front},{first},{middle},"code_size":{function.row[5]},"exit_offsets":{exits},'
            f'"stack_unknown":{reason},{last}}}'
        )

    def _read_stream(
        self, function: Function, shape: Shape, body: bytes
    ) -> tuple[int | None, int, int, str, str]:
        """What is kept of a stream.

        Many streams differ in the launch or in the attributes only, or in neither.
        """
        encode = self._encode
        said = shape.launch_bytes(body)
        launch = self._launches.get(said)
        if launch is None:
            params = encode([parameter_record(parameter) for parameter in function.params])
            text = encode(function.launch.as_dict())[1:-1]
            launch = _keep(self._launches, said, (function.launch.barriers, text, params))
        codes = tuple(shape.places)
        attributes = self._attributes.get(codes)
        if attributes is None:
            attributes = _keep(self._attributes, codes, encode(attribute_names(codes)))
        barriers, text, params = launch
        start, stop = exits_in(body, shape.places.get(EIATTR_EXIT_INSTR_OFFSETS))
        return barriers, start, stop, text, f'"params":{params},"attributes":{attributes}'


def _keep(texts: dict[Key, Text], key: Key, text: Text) -> Text:
    if len(texts) >= _MAX_KEPT:
        texts.clear()
    texts[key] = text
    return text
