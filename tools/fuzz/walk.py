"""Ask a cubin for everything it can be asked, and accept only a value or a ``CubinError``.

The public properties are found by reflection, so that one added tomorrow is asked for as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cubinspec.errors import CubinError
from cubinspec.model.cubin import Cubin
from cubinspec.model.section import SectionList
from cubinspec.model.symbol import SymbolList
from cubinspec.report.coverage import coverage_record
from cubinspec.report.dump import dump_record
from cubinspec.report.kernels import kernel_records
from cubinspec.report.names import readable
from cubinspec.report.tree import tree_record

#: Every report there is, as a function of the cubin.
REPORTS: dict[str, Callable[[Cubin], Any]] = {
    "kernels": lambda cubin: kernel_records(cubin, every_function=True),
    "dump": dump_record,
    "tree": tree_record,
    "coverage": coverage_record,
    "names": lambda cubin: [readable(symbol.name) for symbol in cubin.symbols],
}

#: Objects that the cubin owns. Any other single object is a reference to somewhere else and is
#: asked for its name only, or the walk would go round in circles.
_OWNED = frozenset(("header", "callgraph", "sections", "symbols", "mercury_symbols"))
#: Attributes that are not visited: references back to the whole file, and methods that change
#: something.
_SKIPPED = frozenset(("cubin", "elf", "data", "strings", "open", "parse", "close", "tree"))
#: Methods that take the index of a section.
_BY_SECTION = (
    *("relocations_of", "relocation_rows", "info_records_of", "symbol_table"),
    *("notes_of", "callgraph_of", "prototypes_of"),
)
_MAX_MESSAGE = 2000

#: What a walk may yield per byte of the file. An intact empty module of 1 KB reaches 48, because
#: each of the five reports spells out every header field.
MAX_PRODUCED = 200


class UnexpectedError(AssertionError):
    """Something else than a value or a ``CubinError`` came out; the cause is chained."""


def check_error(error: CubinError, file: str, path: str) -> None:
    """Make sure that an error says what is wrong in which file, and where.

    Raises:
        UnexpectedError: it does not.
    """
    faults = {
        "is of no particular class": type(error) is CubinError,
        f"names the file {error.file!r}": error.file != file,
        "names no field": not error.field and error.offset != 0,
        f"gives the offset {error.offset!r}": error.offset is None or error.offset < 0,
        "does not say what was expected": not error.expected,
        "has a message that fills the screen": len(str(error)) > _MAX_MESSAGE,
    }
    for fault, found in faults.items():
        if found:
            raise UnexpectedError(f"{path}: the error {fault}: {error!r}") from error


class Walk:
    """One walk and what it met.

    Attributes:
        produced: characters, bytes and numbers in all values, as a measure of memory.
        errors: refusals, in the order met.
    """

    def __init__(self, cubin: Cubin) -> None:
        self.cubin = cubin
        self.produced = 0
        self.errors: list[CubinError] = []

    def ask(self, question: Callable[[], Any], path: str) -> Any:
        """The answer, or ``None`` after a ``CubinError``, which is checked and noted.

        Raises:
            UnexpectedError: any other exception, or an error that does not say where and what.
        """
        try:
            return question()
        except CubinError as error:
            check_error(error, self.cubin.name, path)
            self.errors.append(error)
            return None
        except Exception as error:
            raise UnexpectedError(f"{path}: {type(error).__name__}: {error}") from error

    def value(self, value: Any, path: str) -> None:
        """Go through a value and all it owns."""
        if value is None or isinstance(value, (int, float)):
            self.produced += 8
        elif isinstance(value, (str, bytes)):
            self.produced += len(value)
        elif isinstance(value, dict):
            for key, item in value.items():
                self.produced += len(key) if isinstance(key, str) else 8
                self.value(item, path)
        elif isinstance(value, (SectionList, SymbolList)):
            items = self.ask(lambda: list(value), f"iter({path})")
            self.value(items, path)
        elif isinstance(value, Iterable):
            for item in value:
                self.value(item, path)
        else:
            self.thing(value, path)

    def thing(self, thing: Any, path: str) -> None:
        """Ask an object of the model for every public property."""
        self.produced += len(self.ask(lambda: repr(thing), f"repr({path})") or "")
        for name in dir(type(thing)):
            if name.startswith("_") or name in _SKIPPED:
                continue
            here = f"{path}.{name}"
            found = self.ask(lambda name=name: getattr(thing, name), here)  # type: ignore[misc]
            if callable(found):
                continue
            if not _is_single(found) or (thing is self.cubin and name in _OWNED):
                self.value(found, here)
            elif hasattr(type(found), "name"):
                self.value(self.ask(lambda found=found: found.name, f"{here}.name"), here)  # type: ignore[misc]


def _is_single(value: Any) -> bool:
    """Whether a value is an object of the model; a list of them is not."""
    return type(value).__module__.startswith("cubinspec.model") and not isinstance(value, list)


def walk_everything(cubin: Cubin) -> Walk:
    """Every property of every object, every lookup, every report.

    Raises:
        UnexpectedError: something but a value or a well-formed ``CubinError`` came out.
    """
    walk = Walk(cubin)
    walk.thing(cubin, "cubin")
    for index in range(cubin.elf.num_sections):
        for name in _BY_SECTION:
            method = getattr(cubin, name)
            walk.ask(lambda method=method, index=index: method(index), f"cubin.{name}({index})")  # type: ignore[misc]
    for table in ("sections", "symbols", "mercury_symbols"):
        found = walk.ask(lambda table=table: getattr(cubin, table), table)  # type: ignore[misc]
        for name in ("", ".nv.info", "small", "\udcff") if found is not None else ():
            path = f"{table}.get({name!r})"
            walk.ask(lambda found=found, name=name: found.get(name), path)  # type: ignore[misc]
    for name, report in REPORTS.items():
        walk.value(walk.ask(lambda report=report: report(cubin), name), name)  # type: ignore[misc]
    return walk
