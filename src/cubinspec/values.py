"""Base classes of public objects: what `dataclasses` gives, without its import at start-up.

Importing `dataclasses` takes longer than a small link. A class with one of these bases writes out
its slots, its constructor and `__match_args__`, so that type checkers check the code that runs. It
gets comparison, `repr` and `copy.replace` from here. `dataclasses.replace`, `asdict` and `fields`
work, too: what they look for is made when they first ask.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from dataclasses import Field
    from typing import Any, ClassVar, Self
    from typing import final as final

    #: A path of a file; where contents are taken as well, bytes are the contents.
    PathName = str | os.PathLike[str]
else:

    def final(cls):
        """Tell type checkers and mypyc that a class has no subclasses; `typing` costs start-up."""
        return cls


def listed(given: PathName | Iterable[PathName] | None) -> list[str]:
    """Names or paths as a list; a single text is one name."""
    if given is None:
        return []
    import os

    if isinstance(given, str | os.PathLike):
        return [os.fspath(given)]
    return [os.fspath(one) for one in given]


def _names_of(value: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = value.__match_args__
    return names


class _FieldTable:
    """Makes the table that marks a class as a dataclass, and puts it in its own place."""

    def __get__(self, instance: object, owner: type[ValueObject]) -> dict[str, Field[Any]]:
        from dataclasses import make_dataclass

        made: Any = make_dataclass(owner.__name__, _names_of(owner))
        fields: dict[str, Field[Any]] = made.__dataclass_fields__
        owner.__dataclass_fields__ = fields
        return fields


class ValueObject:
    """An object that is what its fields say: two with equal fields are equal.

    Fields can be changed, so objects cannot be hashed.

    Attributes:
        __match_args__: names of the fields, which are the parameters of the constructor in order.
    """

    __slots__ = ()
    if not TYPE_CHECKING:
        # type checkers take the names of each class as they stand there
        __match_args__ = ()
    __hash__: ClassVar[None]  # type: ignore[assignment]  # as in any class with `__eq__` only
    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:
        __dataclass_fields__ = _FieldTable()

    def __init_subclass__(cls) -> None:
        cls.__dataclass_fields__ = _FieldTable()  # type: ignore[assignment]  # until it is read

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in _names_of(self)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueObject) or other.__class__ is not self.__class__:
            return NotImplemented
        return self._values() == other._values()

    def __repr__(self) -> str:
        values = zip(_names_of(self), self._values(), strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={v!r}' for name, v in values)})"

    def __replace__(self, **changes: Any) -> Self:
        """A copy with other values; serves `copy.replace`."""
        fields = dict(zip(_names_of(self), self._values(), strict=True))
        return type(self)(**(fields | changes))


class FrozenValue(ValueObject):
    """A value object that stays as it was made, and can be hashed when its fields can.

    Constructors set fields with `object.__setattr__`.
    """

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]  # the base cannot be hashed
        return hash(self._values())

    def __setattr__(self, name: str, value: object) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        """Copies and pickles are made by the constructor, as nothing can be set afterwards."""
        return type(self), self._values()
