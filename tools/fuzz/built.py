"""Builder input out of bytes: its methods and fields, with values of the kinds that they take.

Both are found by their annotations, so that what is added tomorrow is used as well.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from cubinspec.errors import CubinError
from cubinspec_writer.builder import builder, parts
from cubinspec_writer.builder.builder import CubinBuilder
from cubinspec_writer.checker import check
from cubinspec_writer.emitter.model import Description
from tools.fuzz.mutate import EDGES
from tools.fuzz.oracle import OracleError

_NOP = bytes.fromhex("18790000000000000000000000c00f00")
_EXIT = bytes.fromhex("4d790000000000000000800300ea0f00")
_ARCHES = ("sm_90", "sm_75", "sm_80", "sm_90a", "sm_100", "sm_103a", "sm_120", "sm_0", "")
#: Names that parts share, what arguments mean, and texts that hurt.
_TEXTS = (
    *("k", "f", "g", "v", "w", "global", "constant", "shared", "weak", "local", "texture", "#ii"),
    *("R_CUDA_32", "R_CUDA_64", "R_CUDA_ABS32_LO_32", "R_CUDA_NONE", "R_MERCURY_ABS64", "sampler"),
    *(
        ".debug_line",
        ".text.k",
        ".nv.info.k",
        "$k$f",
        "",
        "a\0b",
        "\udce9",
        "\ud800",
        "n" * 300,
        "surface",
    ),
)
_NUMBERS = (24, 32, 64, 100, 128, 255, 256, 4096, *EDGES, -1, -(1 << 31))
#: Most values are ordinary, or nothing would ever be built.
_USUAL_TEXTS, _USUAL_NUMBERS = 9, 17
_HINTS = {
    "Sequence": Sequence,
    "Description": Description,
    "AttributeRecord": tuple[int, int, int, bytes],
    "Target": object,
    "Toolkit": object,
}
_LONGEST = 3
_MOST_CALLS = 12
#: Methods that end the building.
_LAST = ("description", "to_bytes")


class Choices:
    """Decisions that the bytes of an input make; when they are used up, always the first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def below(self, most: int) -> int:
        """A number below `most`."""
        self._at += 1
        return self._data[self._at - 1] % most if self._at <= len(self._data) else 0

    def of(self, values: Sequence[Any]) -> Any:
        """One of some values."""
        return values[self.below(len(values))]

    def blob(self) -> bytes:
        """Code that ends, or bytes of the input."""
        if self.below(4):
            return _NOP * self.below(16) + _EXIT + 15 * _NOP
        size = self.below(64)
        taken = self._data[self._at : self._at + size]
        self._at += size
        return taken

    def value(self, kind: Any) -> Any:
        """A value that an annotation allows."""
        origin, inside = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            return self.value(self.of(inside))
        if origin is tuple and inside[-1] is not ...:
            return tuple(self.value(one) for one in inside)
        if origin in (tuple, list, Sequence):
            found = [self.value(inside[0]) for _ in range(self.below(_LONGEST))]
            return tuple(found) if origin is tuple else found
        if origin is dict:
            return {self.value(inside[0]): self.value(inside[1]) for _ in range(self.below(2))}
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            return self.made(kind)
        simple: dict[Any, Callable[[], Any]] = {
            bool: lambda: bool(self.below(2)),
            int: lambda: self.below(_USUAL_NUMBERS) if self.below(8) else self.of(_NUMBERS),
            str: lambda: self.of(_TEXTS[:_USUAL_TEXTS] if self.below(4) else _TEXTS),
            bytes: self.blob,
            types.NoneType: lambda: None,
        }
        return simple[kind]()

    def made(self, kind: Any) -> Any:
        """An object of a class of parts: what it needs, and some of what it has beside that."""
        given = {}
        for field, hint in _fields(kind).items():
            if not _has_default(kind, field) or not self.below(6):
                given[field] = self.value(hint)
        return kind(**given)


@cache
def _hints(what: Any) -> dict[str, Any]:
    return typing.get_type_hints(what, {**vars(parts), **vars(builder)}, _HINTS)


@cache
def _fields(kind: Any) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(kind) if field.init]
    return {name: _hints(kind)[name] for name in names}


@cache
def _has_default(kind: Any, name: str) -> bool:
    field = kind.__dataclass_fields__[name]
    missing = dataclasses.MISSING
    return field.default is not missing or field.default_factory is not missing


@cache
def _methods() -> list[Callable[..., Any]]:
    found = inspect.getmembers(CubinBuilder, inspect.isfunction)
    return [made for name, made in found if not name.startswith("_") and name not in _LAST]


def built(data: bytes) -> None:
    """Builder input: any calls and fields; what is built keeps the rules of the spec."""
    choices = Choices(data)
    cubin = CubinBuilder(choices.of(_ARCHES), relocatable=bool(choices.below(2)))
    made: list[Any] = [cubin]
    try:
        for _ in range(1 + choices.below(_MOST_CALLS)):
            method = choices.of(_methods())
            hints = {key: kind for key, kind in _hints(method).items() if key != "return"}
            made.append(method(cubin, **{key: choices.value(kind) for key, kind in hints.items()}))
        for part in made:
            if dataclasses.is_dataclass(part) and not choices.below(3):
                field, hint = choices.of(list(_fields(part.__class__).items()))
                setattr(part, field, choices.value(hint))
        out = cubin.to_bytes()
    except CubinError:
        return
    if errors := check(out, "<built>"):
        raise OracleError(f"the builder made what breaks rules: {errors[0]}")
