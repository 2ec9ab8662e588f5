"""`dataclass` and `NamedTuple` without their modules, whose import takes longer than a small link.

Type checkers see the ones of the standard library. At run time the classes of this package get the
part of them that it uses: constructors with positional and named arguments, defaults, `replace`.
Classes that are made by the thousand have a constructor of their own (model.py).
"""

from __future__ import annotations

from _collections import _tuplegetter  # type: ignore[import-not-found]  # as in `collections`

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

    def dataclass(cls=None, /, **_options):
        """Give a class a constructor over its annotations, in their order."""
        if cls is None:
            return dataclass
        names = tuple(cls.__annotations__)
        defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
        fresh = {name: d.make for name, d in defaults.items() if isinstance(d, _Fresh)}
        for name in fresh:
            del defaults[name]
            delattr(cls, name)
        known = frozenset(names)
        needed = known - defaults.keys() - fresh.keys()

        def __init__(self, *values, **named):
            if len(values) > len(names) or not named.keys() <= known:
                raise TypeError(f"{cls.__name__} has the fields {', '.join(names)}")
            fields = self.__dict__
            fields.update(defaults)
            fields.update(zip(names, values))  # noqa: B905 - fewer values than names
            fields.update(named)
            for name, make in fresh.items():
                if name not in fields:
                    fields[name] = make()
            if not needed <= fields.keys():
                raise TypeError(f"{cls.__name__} needs {', '.join(sorted(needed - fields.keys()))}")

        def __repr__(self):
            return f"{cls.__name__}({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"

        cls.__init__, cls.__repr__ = __init__, __repr__
        return cls

    def final(cls):
        """For type checkers: there are no classes below, so that `type(x) is C` is all of C."""
        return cls

    def replace(instance, **changes):
        return type(instance)(**{**instance.__dict__, **changes})

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


__all__ = ["NamedTuple", "dataclass", "field", "final", "replace"]
