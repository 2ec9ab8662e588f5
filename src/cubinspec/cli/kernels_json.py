"""The JSON texts of ``cubinspec kernels``, made where the cubin is read."""

from __future__ import annotations

from cubinspec.cli.json_output import CHUNK, encode, head_of, inner_text
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
    from cubinspec.model.functions import FunctionList

_texts = KernelTexts(encode)
#: Name -> text of both its forms; a library holds the same names once per architecture.
_names: dict[str, str] = {}
_MAX_NAMES = 1 << 10


class Texts:
    """The texts of the records of a cubin's functions, kernels first, by name.

    Args:
        file: as it was named on the command line.
        arch: the target, which only a fatbin knows in full.
        steps: the way from the file to the cubin; ``None`` when the file is the cubin.
        matches: tells which mangled names are wanted; ``None`` for all.
    """

    def __init__(
        self,
        cubin: Cubin,
        functions: FunctionList,
        file: str,
        arch: str,
        steps: tuple[Step, ...] | None,
        matches: Callable[[str], bool] | None,
    ) -> None:
        self._arch = arch
        self._reasons = _reasons(cubin, functions)
        way = only_step(file, cubin.size) if steps is None else [step.as_dict() for step in steps]
        head = head_of("kernels", {"file": file, "provenance": way})
        word = cubin.header.type_word
        kinds = {
            kind: inner_text({"kind": kind, "arch": arch, "type": word})
            for kind in ("kernel", "function")
        }
        found = []
        # in the order of the file, of which a large one is read piece by piece
        for place, (function, name) in enumerate(zip(functions, functions.names, strict=True)):
            if matches is None or matches(name):
                kind = function.kind
                reason = self._reasons.get(place)
                front = f"{head}{_name_text(name)},{kinds[kind]}"
                text = _texts.text_of(function, front, "null" if reason is None else encode(reason))
                found.append((kind != "kernel", name, place, function, text))
        found.sort()
        self._found = found

    def chunks(self, separator: str) -> list[str]:
        """The texts, many in one; they are given away, as they may take much memory.

        Args:
            separator: stands between two.
        """
        chunks: list[str] = []
        gathered: list[str] = []
        size = 0
        found = self._found
        found.reverse()
        while found:
            *_, text = found.pop()
            gathered.append(text)
            size += len(text)
            if size > CHUNK:
                chunks.append(separator.join(gathered))
                gathered.clear()
                size = 0
        if gathered:
            chunks.append(separator.join(gathered))
        return chunks

    def keyed(self, key: str) -> list[tuple[Any, str]]:
        """Each text behind the value of a key by which the records will be sorted."""
        return [
            (self._value(function, place, key), text) for _, _, place, function, text in self._found
        ]

    def _value(self, function: Function, place: int, key: str) -> Any:
        if key == "const0":
            return function.const0
        if key == "params":
            return function.num_params
        if key == "stack_unknown":
            reason = self._reasons.get(place)
            return None if reason is None else tuple(reason.values())
        return self._arch if key == "arch" else function.figures()[key]


def _name_text(name: str) -> str:
    found = _names.get(name)
    if found is None:
        if len(_names) >= _MAX_NAMES:
            _names.clear()
        # the name comes first
        found = _names[name] = inner_text({"name": name, "demangled": readable(name)})
    return found


def _reasons(cubin: Cubin, functions: FunctionList) -> dict[int, dict[str, Any]]:
    """The reasons why stacks are not known, by the places of the functions."""
    # before the device link, more stacks can be unknown than those that the file calls unknown
    is_open = cubin.header.is_relocatable and not cubin.knows_all_stacks()
    if not functions:
        return {}
    # all functions are of one half of the file, which one table is about
    stacks = functions[0].table.stacks([function.symbol_index for function in functions])
    if not is_open and None not in stacks:
        return {}
    from cubinspec.report.stack import reason_record, reasons_of

    found = reasons_of(cubin, functions)
    return {place: reason_record(reason) for place, reason in found.items()}
