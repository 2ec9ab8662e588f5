"""Watches what the passes of the linker do with the state, and refuses what they do not declare.

While a `Watch` is active, every access to a field of the state, of its symbols, of its sections and
of its inputs is seen. Changes inside of lists, dicts and bytes are found by comparing them before
and after every pass. A pass may fill what it makes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

from cubinspec_generated.codes import (
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_INFO,
    SHT_CUDA_UDT_ENTRY,
    SHT_CUDA_UFT_ENTRY,
    SHT_NOTE,
)
from cubinspec_writer.linker import graph, model, pipeline, program, state

#: What is watched -> the name of its fields in declarations.
PARTS = {
    state.Names: "names",
    state.Symbols: "symbols",
    state.Sections: "sections",
    state.Relocations: "relocations",
    state.Constants: "constants",
    state.SharedMemory: "shared",
    state.Handles: "handles",
    state.Unified: "unified",
    state.Attributes: "attributes",
    state.Debug: "debug",
    graph.Graph: "graph",
}
ROWS = {
    model.Symbol: "symbol",
    model.OutSection: "section",
    model.UnifiedRow: "row",
    model.InputObject: "object",
}
#: Contents of sections that tables are, by type: each kind has a pass that writes it last. All else
#: is `section.content`.
CONTENTS = {
    SHT_CUDA_INFO: "content.attributes",
    SHT_CUDA_UFT_ENTRY: "content.identifiers",
    SHT_CUDA_UDT_ENTRY: "content.identifiers",
    SHT_NOTE: "content.notes",
    SHT_CUDA_COMPAT_INFO: "content.compat",
}
#: Of inputs, what passes fill; all else is given.
_FILLED = {"bound", "called", "placed", "repeats"}
#: Caches: their values follow from other fields, and whoever asks first makes them.
_CACHES = {"graph.callees_of", "graph.by_signature", "section.made_symbol"}
#: What every symbol and every section has from the start, though a pass may change it.
_FROM_THE_START = {"symbol.name", "section.reserved"}
#: What the writers set: the number of a section.
_WRITERS = {"section.index"}
_PACKAGE = "cubinspec_writer.linker."


class PassError(AssertionError):
    """A pass does something that it does not declare, or that an earlier one forbids."""


def declared(module: str, name: str) -> set[str]:
    """`READS`, `WRITES` or `FREEZES` of a pass."""
    return set(getattr(import_module(_PACKAGE + module), name, "").split())


def frozen_copy(value: Any) -> Any:
    """Something equal as long as nothing inside of the value changes; None: cannot change."""
    if isinstance(value, list):
        return tuple(tuple(x) if isinstance(x, list) else x for x in value)
    if isinstance(value, dict):
        return {k: tuple(v) if isinstance(v, list) else v for k, v in value.items()}
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    return None


def _narrowed(item: Any, field: str) -> str:
    """The field, with contents told apart by the type of their section."""
    if field != "section.content":
        return field
    return CONTENTS.get(object.__getattribute__(item, "sh_type"), field)


class Watch:
    """What the passes of all links did since it was made.

    Attributes:
        refuses: raise at the first violation; otherwise only `reads` and `writes` are filled.
        also: what a pass does beside its work, by module: a fault that has to be seen.
        reads, writes: what every pass did, by module.
    """

    def __init__(
        self,
        *,
        refuses: bool = True,
        also: dict[str, Callable[[state.LinkState], None]] | None = None,
    ) -> None:
        self.refuses = refuses
        self.also = also or {}
        self.steps = [step.module for step in pipeline.PASSES]
        self.reads: dict[str, set[str]] = {step: set() for step in self.steps}
        self.writes: dict[str, set[str]] = {step: set() for step in self.steps}
        self.allowed = {step: declared(step, "WRITES") for step in self.steps}
        self.readable = {step: declared(step, "READS") for step in self.steps}
        self.frozen_after = {step: declared(step, "FREEZES") for step in self.steps}
        #: The first pass that writes a field, as a number.
        self.first_writer: dict[str, int] = {}
        for number, step in reversed(list(enumerate(self.steps))):
            self.first_writer |= dict.fromkeys(self.allowed[step], number)
        self.now: str | None = None
        self.half: state.LinkState | None = None
        self.frozen: set[str] = set()
        self._owner: dict[int, state.LinkState | None] = {}
        self._fields: dict[type, dict[str, str]] = {}
        self._kept: list[Any] = []
        self._fresh: set[int] = set()
        self._making: set[int] = set()
        for cls, prefix in {**PARTS, **ROWS}.items():
            slots = [n for n in cls.__slots__ if not n.startswith("_")]
            fields = {n: f"{prefix}.{n}" for n in slots}
            if prefix == "object":
                fields = {n: f for n, f in fields.items() if n in _FILLED}
            self._fields[cls] = {n: f for n, f in fields.items() if f not in _CACHES}

    # -- events --------------------------------------------------------------------------------

    def read(self, item: Any, field: str) -> None:
        """A pass reads a field."""
        if self.now is None or id(item) in self._fresh:
            return
        field = _narrowed(item, field)
        if self._is_twin(item):
            field = "mercury." + field
        self.reads[self.now].add(field)
        if not self.refuses or field in self.allowed[self.now]:
            return
        if field not in self.readable[self.now]:
            raise PassError(f"{self.now} reads {field}, which it does not declare")
        is_early = self.first_writer.get(field, -1) > self.steps.index(self.now)
        if is_early and field not in _FROM_THE_START:
            raise PassError(f"{self.now} reads {field} before it is written")

    def write(self, item: Any, field: str) -> None:
        """A pass, or what comes behind the passes, writes a field."""
        if id(item) in self._making:
            return
        field = _narrowed(item, field)
        if self.now is None:
            if self.refuses and field not in _WRITERS and id(item) in self._owner:
                raise PassError(f"{field} is written after all passes")
            return
        if self._is_twin(item):
            field = "mercury." + field
        self.writes[self.now].add(field)
        if not self.refuses:
            return
        if field not in self.allowed[self.now]:
            raise PassError(f"{self.now} writes {field}, which it does not declare")
        if field in self.frozen and id(item) not in self._fresh:
            raise PassError(f"{self.now} writes {field}, which is frozen")

    def _is_twin(self, item: Any) -> bool:
        return self._owner.get(id(item), self.half) is not self.half

    def make(self, item: Any) -> None:
        """Something is made; who makes it may fill it."""
        self._kept.append(item)
        if self.now is not None:
            self._owner[id(item)] = self.half
            self._fresh.add(id(item))

    # -- passes --------------------------------------------------------------------------------

    def run(self, half: state.LinkState) -> None:
        """Run all passes of one program as `pipeline.run_passes` does."""
        self.half, self.frozen = half, set()
        for item in (*(getattr(half, name) for name in PARTS.values()), *half.objects):
            self._owner[id(item)] = half
        for step in pipeline.PASSES:
            if step.when is None or pipeline.call(step.when, half):
                self.run_pass(step.module, import_module(_PACKAGE + step.module).run)
            self.frozen |= self.frozen_after[step.module]

    def run_pass(self, module: str, run: Callable[..., None]) -> None:
        """Run one pass."""
        assert self.half is not None
        before = self._contents()
        self.now = module
        try:
            pipeline.call(run, self.half)
            if module in self.also:
                self.also[module](self.half)
            if model.NO_ROWS:
                model.NO_ROWS.clear()
                raise PassError(f"{module} adds a row to all sections that have none")
            changed = [key for key, value in self._contents(before).items() if before[key] != value]
            for key, name in changed:
                item = next(x for x in self._kept if id(x) == key)
                self.write(item, self._fields[type(item)][name])
        finally:
            self.now = None
            self._fresh.clear()

    def _contents(self, only: Any = None) -> dict[tuple[int, str], Any]:
        """What is inside of all lists, dicts, sets and bytes (only: of those in this dict)."""
        found = {}
        for item in self._kept:
            if id(item) not in self._owner:
                continue
            for name in self._fields[type(item)]:
                if only is None or (id(item), name) in only:
                    copy = frozen_copy(object.__getattribute__(item, name))
                    if copy is not None:
                        found[id(item), name] = copy
        return found

    # -- the classes ---------------------------------------------------------------------------

    @contextmanager
    def active(self) -> Iterator[Watch]:
        """Watch all links inside of the block."""
        with pytest.MonkeyPatch.context() as patch:
            for cls, fields in self._fields.items():
                self._instrument(patch, cls, fields)
            patch.setattr(program, "run_passes", self.run)
            yield self

    def forget(self) -> None:
        """Let go of everything seen in the links so far."""
        self._kept.clear()
        self._owner.clear()

    def _instrument(self, patch: pytest.MonkeyPatch, cls: type, fields: dict[str, str]) -> None:
        watch, make = self, cls.__init__  # type: ignore[misc]

        def init(item: Any, *values: Any, **named: Any) -> None:
            watch.make(item)
            watch._making.add(id(item))
            make(item, *values, **named)
            watch._making.discard(id(item))

        def get(item: Any, name: str) -> Any:
            if name in fields:
                watch.read(item, fields[name])
            return object.__getattribute__(item, name)

        def put(item: Any, name: str, value: Any) -> None:
            if name in fields:
                watch.write(item, fields[name])
            object.__setattr__(item, name, value)

        patch.setattr(cls, "__init__", init)
        patch.setattr(cls, "__getattribute__", get)
        patch.setattr(cls, "__setattr__", put)
