"""Every public class is a value that the tools of dataclasses understand, or a documented view.

A public class is one that a package exports by ``__all__``, or that such a class is made of.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import cubinspec
import cubinspec_writer
from cubinspec.values import FrozenValue, ValueObject

#: Modules whose classes are public although no package exports them.
_FURTHER = (
    "cubinspec.model.info",
    "cubinspec.model.notes",
    "cubinspec.model.parameter",
    "cubinspec.report.archs",
    "cubinspec.scan.rows",
    "cubinspec_writer.builder.parts",
    "cubinspec_writer.emitter.model",
)
#: Classes that are no values: what they are instead.
VIEWS = {
    "cubinspec.containers.image.Image": "a view of a container",
    "cubinspec.containers.found.FoundKernel": "a view of a cubin in a container",
    "cubinspec.containers.found.FoundKernels": "an iterator",
    "cubinspec.model.cubin.Cubin": "a view of a file",
    "cubinspec.model.function.Function": "a view of a cubin",
    "cubinspec.model.section.Section": "a view of a cubin",
    "cubinspec.model.symbol.Symbol": "a view of a cubin",
    "cubinspec.report.archs.Inventory": "filled while a file is walked",
    "cubinspec.report.archs.Facts": "a table that is read when it is made",
    "cubinspec_writer.editor.session.Edit": "a session",
}

#: Classes whose objects refer to each other: each is equal to itself only, and can be a key.
REFERABLE = ("Section", "Symbol")


def packages() -> Iterator[ModuleType]:
    """Both packages and all packages below them."""
    for top in (cubinspec, cubinspec_writer):
        yield top
        for found in pkgutil.walk_packages(top.__path__, f"{top.__name__}."):
            if found.ispkg:
                yield importlib.import_module(found.name)


def public_classes() -> dict[str, type]:
    """The public classes but exceptions, by their place."""
    found: set[type] = set()
    for package in packages():
        exported = [getattr(package, name) for name in getattr(package, "__all__", ())]
        found.update(value for value in exported if isinstance(value, type))
    for name in _FURTHER:
        module = importlib.import_module(name)
        found.update(
            value
            for key, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == name and not key.startswith("_")
        )
    return {
        f"{cls.__module__}.{cls.__qualname__}": cls
        for cls in sorted(found, key=lambda cls: (cls.__module__, cls.__qualname__))
        if not issubclass(cls, BaseException)
    }


CLASSES = public_classes()
VALUES = {name: cls for name, cls in CLASSES.items() if name not in VIEWS}


def is_frozen(cls: type) -> bool:
    if issubclass(cls, ValueObject):
        return issubclass(cls, FrozenValue)
    return bool(cls.__dataclass_params__.frozen)  # type: ignore[attr-defined]


def check_value_class(cls: Any) -> None:
    """Everything that can be asked of a class of values, whatever its fields mean."""
    assert cls.__doc__, "it has no docstring"
    assert issubclass(cls, ValueObject) or dataclasses.is_dataclass(cls), "it is no value"
    names = cls.__match_args__
    assert [field.name for field in dataclasses.fields(cls)] == [*names]
    assert [*inspect.signature(cls).parameters] == [*names], "arguments are not the fields"
    values = {name: f"value of {name}" for name in names}
    value, same = cls(**values), cls(*values.values())
    assert {name: getattr(value, name) for name in names} == values
    assert dataclasses.asdict(value) == values
    for name in names:
        changed = dataclasses.replace(value, **{name: "another"})
        expected = values | {name: "another"}
        assert {name: getattr(changed, name) for name in names} == expected
        assert changed != value
    for copied in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert dataclasses.asdict(copied) == values
    with pytest.raises(TypeError):
        cls(**values, no_such_field=1)
    with pytest.raises(TypeError):
        dataclasses.replace(value, no_such_field=1)
    if cls.__name__ in REFERABLE:
        assert value != same
        assert {value: 1}[value] == 1
        return
    assert value == same
    if is_frozen(cls):
        assert hash(value) == hash(same)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, names[0], "another")
    else:
        with pytest.raises(TypeError):
            hash(value)
        setattr(value, names[0], "another")
        assert value != same


def test_there_are_public_classes_in_every_part() -> None:
    places = {name.rpartition(".")[0].split(".")[1] for name in CLASSES}
    assert {"containers", "model", "report", "builder", "editor", "emitter", "linker"} <= places


def test_every_exception_from_the_rule_is_there() -> None:
    assert set(VIEWS) <= set(CLASSES)


@pytest.mark.parametrize("name", VALUES)
def test_values_are_what_dataclasses_are(name: str) -> None:
    cls = VALUES[name]
    if importlib.import_module(cls.__module__).__file__ not in (None, inspect.getsourcefile(cls)):
        pytest.skip("compiled classes refuse values of other types")
    check_value_class(cls)


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in VALUES])
def test_views_are_documented_classes(name: str) -> None:
    cls = CLASSES[name]
    assert cls.__doc__
    assert "__init__" in vars(cls), "type checkers cannot see how it is made"


class _Drifted(ValueObject):
    """A class whose constructor was changed, but not its fields."""

    __match_args__ = ("x", "y")
    __slots__ = __match_args__

    def __init__(self, y: int, x: int = 0) -> None:
        self.x = x
        self.y = y


class _Mutable(FrozenValue):
    """A class that says it is frozen and is not."""

    __match_args__ = ("x",)
    __slots__ = __match_args__
    __setattr__ = object.__setattr__  # type: ignore[assignment]

    def __init__(self, x: int) -> None:
        self.x = x


class _Bare:
    """A class that is no value."""

    def __init__(self, x: int) -> None:
        self.x = x


@pytest.mark.parametrize("cls", [_Drifted, _Mutable, _Bare])
def test_a_class_that_is_no_proper_value_is_found(cls: type) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_value_class(cls)


def test_patterns_match_by_position_and_by_name() -> None:
    from cubinspec_writer.builder import Relocation
    from cubinspec_writer.editor import NoteChange

    match Relocation(8, "R_CUDA_64", "f"):
        case Relocation(offset, kind, symbol=name):
            assert (offset, kind, name) == (8, "R_CUDA_64", "f")
        case _:
            pytest.fail("it does not match its own class")
    match NoteChange(80):
        case NoteChange(virtual_sm, None):
            assert virtual_sm == 80
        case _:
            pytest.fail("it does not match its own class")
