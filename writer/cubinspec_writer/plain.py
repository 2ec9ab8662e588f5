"""`dataclass`, `NamedTuple` and parts of `operator` without the modules that define them.

Their import takes longer than a small link. Type checkers see the ones of the standard library. At
run time classes get the part of them that this package uses: slots, constructors with positional
and named arguments and defaults, comparison, `replace`. Whether a class is frozen is left to type
checkers. Classes that are made by the thousand have a constructor of their own.
"""

from __future__ import annotations

from _collections import _tuplegetter  # type: ignore[import-not-found]  # as in `collections`
from _operator import add, attrgetter, eq, itemgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
    from typing import NamedTuple, final
else:

    class _Fresh:
        """A default that is made anew for every object."""

        def __init__(self, make):
            self.make = make

    def field(*, default_factory):
        return _Fresh(default_factory)

    def final(cls):
        """For type checkers: there are no classes below, so that `type(x) is C` is all of C."""
        return cls

    def dataclass(*, slots, eq=True, frozen=False):
        """Make a class with the annotated names as its slots."""
        return _WithEquality._make if eq else _Plain._make

    class _Plain:
        """What the classes have in common."""

        __slots__ = ()
        #: Values of what is not given.
        _defaults = {}  # noqa: RUF012 - every class has its own

        @classmethod
        def _make(cls, body):
            names = tuple(body.__annotations__)
            space = {k: v for k, v in body.__dict__.items() if k not in ("__dict__", "__weakref__")}
            space["_defaults"] = {name: space.pop(name) for name in names if name in space}
            return type(body.__name__, (cls,), {**space, "__slots__": names})

        def __init__(self, *values, **named):
            names = self.__slots__
            if len(values) > len(names) or not named.keys() <= set(names):
                raise TypeError(f"{type(self).__name__} has the fields {', '.join(names)}")
            given = dict(zip(names, values))  # noqa: B905 - fewer values than names
            for name, value in {**self._defaults, **given, **named}.items():
                setattr(self, name, value.make() if value.__class__ is _Fresh else value)
            if len(given) + len(named) < len(names):
                missing = [name for name in names if not hasattr(self, name)]
                if missing:
                    raise TypeError(f"{type(self).__name__} needs {', '.join(missing)}")

        def _values(self):
            return [getattr(self, name) for name in self.__slots__]

        def __repr__(self):
            values = zip(self.__slots__, self._values(), strict=True)
            return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in values)})"

    class _WithEquality(_Plain):
        """Objects with the same values are equal."""

        __slots__ = ()
        __hash__ = None

        def __eq__(self, other):
            if other.__class__ is not self.__class__:
                return NotImplemented
            return self._values() == other._values()

    def replace(instance, /, **changes):
        """A copy with other values."""
        return type(instance)(**{n: getattr(instance, n) for n in instance.__slots__} | changes)

    class NamedTuple(tuple):
        """Fields by name and by position; the values are given by position."""

        __slots__ = ()

        def __init_subclass__(cls):
            for at, name in enumerate(cls.__annotations__):
                setattr(cls, name, _tuplegetter(at, name))

        def __new__(cls, *values):
            return tuple.__new__(cls, values)

        def _replace(self, **changes):
            names = type(self).__annotations__
            return type(self)(*[changes.get(n, v) for n, v in zip(names, self)])  # noqa: B905


__all__ = [
    "NamedTuple",
    "add",
    "attrgetter",
    "dataclass",
    "eq",
    "field",
    "final",
    "itemgetter",
    "replace",
]
