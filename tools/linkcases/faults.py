"""Plants a fault in the code of every rule of nvlink and looks whether a case sees it.

    python -m tools.linkcases.faults [--rule W7,S2] [--jobs N]

`faults.yaml` has at least one fault for each rule: some text of a module, what stands there
instead, and a stored link of one of the rule's cases. Every fault is planted alone, in a process of
its own, and the link is made again. The fault is seen when the link is no longer what is stored, as
`make link-stored` would tell. A fault that only ends in an exception of Python proves nothing and
counts as not seen.

The exit status is 1 when a fault is not seen.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import pickle
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import jsonschema
import yaml

from tools.linkcases import outcomes, rules, stored
from tools.linkcases.rules import LINKER, Rule
from tools.linkcases.sweep import stored as sweep_stored

FILE = Path(__file__).with_name("faults.yaml")
SCHEMA = Path(__file__).with_name("faults.schema.json")
_PACKAGE = "cubinspec_writer.linker"
#: What a process imports anew with a planted fault.
_ANEW = (_PACKAGE, "tools.linkcases")
_SECONDS = 120
_SWEEP = "sweep"
SEEN, NOT_SEEN, EXCEPTION = "seen", "not seen", "exception"


@dataclass(frozen=True)
class Fault:
    """One fault in the code that follows a rule.

    Attributes:
        module: the module below `cubinspec_writer.linker` that gets the fault.
        code: text that is there once.
        wrong: the text that takes its place.
        link: the stored link that sees it: a case and a target; or a sweep, a target and the name
            of a variation.
    """

    rule: str
    module: str
    code: str
    wrong: str
    link: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The module's file."""
        path = LINKER.joinpath(*self.module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")

    def text(self) -> str:
        """The module with the fault.

        Raises:
            FaultError: the text is not there once.
        """
        text = self.path.read_text(encoding="utf-8")
        if text.count(self.code) != 1:
            raise FaultError(f"{self.module} has {text.count(self.code)} x {self.code!r}")
        return text.replace(self.code, self.wrong)


class FaultError(Exception):
    """`faults.yaml` does not fit the code, the rules or the stored links."""


def load(known: list[Rule]) -> list[Fault]:
    """All faults, in the order of the file.

    Raises:
        FaultError: the file is wrong.
    """
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for error in jsonschema.Draft202012Validator(schema).iter_errors(content):
        place = "/".join(str(part) for part in error.absolute_path)
        raise FaultError(f"{FILE.name}: {place}: {error.message}")
    modules = {rule.id: rule.module for rule in known}
    unknown = sorted(content.keys() - modules.keys())
    if unknown:
        raise FaultError(f"{FILE.name}: there is no rule {', '.join(unknown)}")
    return [_fault(name, modules[name], row) for name, rows in content.items() for row in rows]


def _fault(name: str, module: str, row: dict[str, Any]) -> Fault:
    link = tuple(row["seen by"].split(maxsplit=2))
    return Fault(name, row.get("in", module), row["code"], row["fault"], link)


def problems(known: list[Rule], faults: list[Fault]) -> Iterator[str]:
    """Everything that does not fit, without a link: every rule has a fault that can be planted."""
    planted = {fault.rule for fault in faults}
    for rule in known:
        if rule.id not in planted:
            yield f"{rule.id}: no fault was planted in the code of this rule"
    by_id = {rule.id: rule for rule in known}
    for fault in faults:
        rule = by_id[fault.rule]
        if stored.base(fault.link[0]) not in (*rule.cases, *rule.seeds, *rule.sweeps):
            yield f"{fault.rule}: '{fault.link[0]}' is none of its cases"
        elif fault.link[0] not in rules.SWEEPS and fault.link not in stored.table():
            yield f"{fault.rule}: the link {' '.join(fault.link)} is not stored"
        try:
            compile(fault.text(), str(fault.path), "exec")
        except (FaultError, SyntaxError) as error:
            yield f"{fault.rule}: {error}"


# -- links -----------------------------------------------------------------------------------------


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads one module with other code than its file has."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:
        return self.code


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module that has a fault."""

    def __init__(self, fault: Fault) -> None:
        parts = fault.path.relative_to(LINKER).with_suffix("").parts
        self.name = ".".join([_PACKAGE, *parts]).removesuffix(".__init__")
        self.path = fault.path
        self.code = compile(fault.text(), str(fault.path), "exec")

    def find_spec(
        self, fullname: str, path: object, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        loader = _Loader(fullname, str(self.path), self.code)
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)


def look(fault: Fault, folder: Path) -> tuple[str, str]:
    """What became of a fault, and how its link differs then.

    Args:
        folder: the stored inputs, unpacked.
    """
    found = _in_child(partial(_look_here, fault, folder), _SECONDS)()
    return found if found is not None else (EXCEPTION, "it does not end")


def _in_child(work: Callable[[], Any], seconds: int) -> Callable[[], Any]:
    """Start some work in a process of its own; returns what waits for its result, None: it died."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            signal.alarm(seconds)
            with open(writing, "wb") as pipe:
                pickle.dump(work(), pipe)
        finally:
            os._exit(0)
    os.close(writing)

    def wait() -> Any:
        with open(reading, "rb") as pipe:
            data = pipe.read()
        os.waitpid(child, 0)
        return pickle.loads(data) if data else None

    return wait


def _look_here(fault: Fault, folder: Path) -> tuple[str, str]:
    for name in [name for name in sys.modules if name.startswith(_ANEW)]:
        del sys.modules[name]
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        try:
            sys.meta_path.insert(0, _Finder(fault))
            detail = _difference(fault.link, folder)
        except Exception as error:
            return EXCEPTION, f"{type(error).__name__}: {error}"
    return (SEEN, detail) if detail else (NOT_SEEN, "")


def _difference(link: tuple[str, ...], folder: Path) -> str:
    """How a stored link differs from what is stored, by the modules that have the fault."""
    with tempfile.TemporaryDirectory() as temporary:  # other processes may make the same link
        own = Path(temporary)
        if link[0] in rules.SWEEPS:
            sweep = importlib.import_module("tools.linkcases.sweep.stored")
            shutil.copytree(folder / _SWEEP, own, dirs_exist_ok=True)
            kind, arch, name = link
            wrong, _ = sweep.check(kind, arch, own, name)
            return ", ".join(wrong)
        cases = importlib.import_module("tools.linkcases.__main__")
        shutil.copytree(folder.joinpath(*link), own.joinpath(*link))
        outcome = cases.run_stored(*link, own)
        return "" if outcome.kind in outcomes.ACCEPTED else str(outcome.detail)


def unpack(folder: Path) -> None:
    """Unpack all stored inputs."""
    stored.unpack(folder)
    sweep_stored.unpack(folder / _SWEEP)


def main() -> int:
    """Plant all faults, or those in some rules."""
    parser = argparse.ArgumentParser(description="Plant faults in the rules of the linker.")
    parser.add_argument("--rule", help="only these, such as W7,S2")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    known = rules.load()
    faults = load(known)
    found = list(problems(known, faults))
    if options.rule:
        faults = [fault for fault in faults if fault.rule in options.rule.split(",")]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        unpack(folder)
        shares = [faults[number :: options.jobs] for number in range(options.jobs)]
        waiting = [_in_child(partial(_look_at_all, share, folder), 0) for share in shares]
        results = [wait() for wait in waiting]
        died = [EXCEPTION]
        outcomes_found = [o for result in results for o in (died if result is None else result)]
    print("\n".join(found), dict(Counter(outcomes_found)))
    return int(bool(found) or set(outcomes_found) != {SEEN})


def _look_at_all(faults: list[Fault], folder: Path) -> list[str]:
    """The outcomes of some faults; tells of those that are not seen."""
    found = []
    for fault in faults:
        outcome, detail = look(fault, folder)
        found.append(outcome)
        if outcome != SEEN:
            print(f"{fault.rule}\t{outcome}\t{fault.code}\t{detail}", flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
