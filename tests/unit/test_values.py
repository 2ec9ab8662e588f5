"""Value objects behave as dataclasses do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from cubinspec.values import FrozenValue, ValueObject
from cubinspec_writer.linker import Library, LinkOptions, Named, link

CUBINS = Path(__file__).resolve().parents[1] / "data" / "cubins"


class Point(ValueObject):
    __match_args__ = ("x", "y")
    __slots__ = __match_args__

    def __init__(self, x: int, y: int = 0) -> None:
        self.x = x
        self.y = y


class Name(FrozenValue):
    __match_args__ = ("text", "number")
    __slots__ = __match_args__
    text: str
    number: int

    def __init__(self, text: str, number: int = 1) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "number", number)


@pytest.mark.parametrize("value", [Point(1, y=2), Name("a", number=2)])
def test_tools_of_dataclasses_work(value: Point | Name) -> None:
    first, second = type(value).__match_args__
    assert dataclasses.is_dataclass(value)
    assert [f.name for f in dataclasses.fields(value)] == [first, second]
    assert dataclasses.asdict(value) == {first: getattr(value, first), second: 2}
    assert dataclasses.astuple(value) == (getattr(value, first), 2)
    changed = dataclasses.replace(value, **{second: 3})
    assert getattr(changed, second) == 3
    assert getattr(changed, first) == getattr(value, first)
    assert changed == value.__replace__(**{second: 3})
    assert changed != value
    for made in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert made == value
        assert made is not value
    with pytest.raises(TypeError):
        dataclasses.replace(value, nothing=1)


def test_values_match_and_show_their_fields() -> None:
    match Point(1, 2):
        case Point(1, y):
            assert y == 2
    assert repr(Point(1, 2)) == "Point(x=1, y=2)"
    assert Point(1, 2) != Name("a")


def test_only_frozen_values_can_be_hashed() -> None:
    with pytest.raises(TypeError):
        hash(Point(1))
    assert {Name("a"): 1}[Name("a")] == 1
    name = Name("a")
    with pytest.raises(AttributeError):
        name.text = "b"
    with pytest.raises(AttributeError):
        del name.text
    assert name.text == "a"


def test_dataclasses_are_loaded_when_asked_for() -> None:
    code = "import sys, cubinspec.values; sys.exit('dataclasses' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_classes_of_the_linker_are_values() -> None:
    options = LinkOptions("sm_90", library_paths=["a"])
    assert options == LinkOptions(arch="sm_90", library_paths=["a"])
    assert options != dataclasses.replace(options, debug=True)
    assert LinkOptions(**dataclasses.asdict(options)) == options
    assert tuple(inspect.signature(LinkOptions).parameters) == LinkOptions.__match_args__
    assert LinkOptions("sm_90").library_paths is not LinkOptions("sm_90").library_paths
    assert {Named("a", b"x"), Named(name="a", data=b"x"), Library("a")} == {
        Library(name="a"),
        Named("a", b"x"),
    }
    result = link([CUBINS / "calls.sm_90.rel.cubin"], options)
    changed = dataclasses.replace(result, messages=[("warning", "x")])
    assert (changed.warnings, changed.bytes) == (["x"], result.bytes)
    assert dataclasses.asdict(result).keys() == {"parts", "messages", "hosts", "half", "mercury"}
