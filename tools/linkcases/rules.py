"""The rules of nvlink (`linker/rules.yaml`), and docs/linking.md, which is made from them.

    python -m tools.linkcases.rules    write the page; print what does not fit

`linking.template.md` has the page's other text; the line `{rules}` in it stands for all rules, by
topic.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from tools.linkcases import exceptions
from tools.linkcases.build import CASES, SEEDS

ROOT = Path(__file__).resolve().parents[2]
LINKER = ROOT / "writer" / "cubinspec_writer" / "linker"
FILE = LINKER / "rules.yaml"
SCHEMA = LINKER / "rules.schema.json"
TEMPLATE = Path(__file__).with_name("linking.template.md")
PAGE = Path("docs") / "linking.md"
_PLACE = "{rules}\n"
#: Sweeps (tools/linkcases/sweep, tools/linkcases/ptxsweep.py) that may show a rule.
SWEEPS = frozenset(("attributes", "options", "ptx", "sections", "symbols"))
#: How a comment cites rules: "rule W7", "(rules W7, C3)".
CITATION = re.compile(r"\b[Rr]ules?\s+((?:#\s*)?[A-Z]\d+(?:,\s+(?:#\s*)?[A-Z]\d+)*)")
ID = re.compile(r"[A-Z]\d+")
_WIDTH = 100


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        module: the module below `cubinspec_writer.linker` that follows it.
        measured: how often it was seen, if somebody counted.
        toolkits: the toolkits whose linkers link the cases, too, as it is about these.
    """

    id: str
    topic: str
    text: str
    evidence: str
    measured: str
    module: str
    cases: tuple[str, ...]
    seeds: tuple[str, ...]
    sweeps: tuple[str, ...] = ()
    toolkits: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        """The module's file."""
        path = LINKER.joinpath(*self.module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


class RuleError(Exception):
    """`rules.yaml` contradicts its schema or itself."""


def load(text: str | None = None) -> list[Rule]:
    """All rules, in the order of the file.

    Args:
        text: the file's contents; None: those on disk.

    Raises:
        RuleError: the file is wrong.
    """
    topics = yaml.safe_load(FILE.read_text(encoding="utf-8") if text is None else text)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for error in jsonschema.Draft202012Validator(schema).iter_errors(topics):
        place = "/".join(str(part) for part in error.absolute_path)
        raise RuleError(f"rules.yaml: {place}: {error.message}")
    rules = [_rule(topic, entry) for topic in topics for entry in topic["rules"]]
    ids = [rule.id for rule in rules]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise RuleError(f"rules.yaml: {', '.join(twice)}: this id is there twice")
    return rules


def _rule(topic: dict[str, Any], entry: dict[str, Any]) -> Rule:
    name, letter = entry["id"], topic["letter"]
    if name[0] != letter:
        raise RuleError(f"rules.yaml: {name}: ids of this topic begin with {letter}")
    return Rule(
        name,
        topic["topic"],
        entry["rule"].strip(),
        entry["evidence"],
        entry.get("measured", "").strip(),
        entry["pass"],
        tuple(entry.get("cases", ())),
        tuple(entry.get("seeds", ())),
        tuple(entry.get("sweeps", ())),
        tuple(entry.get("toolkits", ())),
    )


def citations(text: str) -> Iterator[str]:
    """The ids that a module's comments cite."""
    for found in CITATION.finditer(text):
        yield from ID.findall(found.group(1))


def cited() -> dict[str, set[Path]]:
    """Id -> the files of the linker that cite it."""
    found: dict[str, set[Path]] = {}
    for path in sorted(LINKER.rglob("*.py")):
        for name in citations(path.read_text(encoding="utf-8")):
            found.setdefault(name, set()).add(path)
    return found


@dataclass(frozen=True)
class Evidence:
    """What rules are held against.

    Attributes:
        cases: names of all cases.
        seeds: names of all random programs that are kept.
        cited: id -> files whose comments cite it.
    """

    cases: frozenset[str]
    seeds: frozenset[str]
    cited: Mapping[str, Set[Path]]


def evidence() -> Evidence:
    """What this checkout has."""
    cases, seeds = (
        frozenset(path.parent.name for path in folder.glob("*/case.json"))
        for folder in (CASES, SEEDS)
    )
    return Evidence(cases, seeds, cited())


def problems(rules: list[Rule], have: Evidence) -> Iterator[str]:
    """Everything that does not fit: rules, cases, seeds and citations need each other."""
    ids = {rule.id for rule in rules}
    for rule in rules:
        if not (rule.cases or rule.seeds or rule.sweeps):
            yield f"{rule.id}: no case shows this rule"
        for name in sorted({*rule.cases} - have.cases):
            yield f"{rule.id}: there is no case '{name}'"
        for name in sorted({*rule.seeds} - have.seeds):
            yield f"{rule.id}: there is no random program '{name}' in tests/link/seeds"
        for name in sorted({*rule.sweeps} - SWEEPS):
            yield f"{rule.id}: there is no sweep '{name}'"
        if not rule.file.exists():
            yield f"{rule.id}: there is no module '{rule.module}'"
        elif rule.file not in have.cited.get(rule.id, ()):
            yield f"{rule.id}: '{rule.module}' does not cite it"
    for name in sorted(have.cases.difference(*(rule.cases for rule in rules))):
        yield f"case '{name}': no rule names it"
    for name in sorted(have.seeds.difference(*(rule.seeds for rule in rules))):
        yield f"random program '{name}': no rule names it"
    for name in sorted(have.cited.keys() - ids):
        files = ", ".join(sorted(path.name for path in have.cited[name]))
        yield f"{name}: cited in {files}, but there is no such rule"
    for exception in exceptions.load():
        if exception.rule not in ids:
            yield f"{exception.rule}: named in exceptions.yaml, but there is no such rule"


def render() -> str:
    """The page docs/linking.md."""
    text = TEMPLATE.read_text(encoding="utf-8")
    head, found, tail = text.partition(_PLACE)
    if not found:
        raise RuleError(f"{TEMPLATE.name}: there is no line {_PLACE.strip()}")
    return head + "".join(_lines(load())) + tail


def _lines(rules: list[Rule]) -> Iterator[str]:
    topic = ""
    for rule in rules:
        if rule.topic != topic:
            yield f"{'' if not topic else chr(10)}### {rule.topic}\n\n"
            topic = rule.topic
        names = [f"`{name}`" for name in (*rule.cases, *rule.seeds)]
        shown = ", ".join((*names, *(f"sweep of {name}" for name in rule.sweeps)))
        parts = [part for part in (_evidence(rule), shown, f"in `{rule.module}`") if part]
        text = f"* **{rule.id}** {rule.text} ({'; '.join(parts)})"
        wrapped = textwrap.wrap(
            text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        yield "\n".join(wrapped) + "\n"


def _evidence(rule: Rule) -> str:
    """Nothing where links were compared, which is what most rules rest on."""
    kind = "" if rule.evidence == "observed" else rule.evidence
    return ", ".join(part for part in (kind, rule.measured) if part)


def main() -> int:
    """Write the page; 1 when rules, cases and citations do not fit."""
    (ROOT / PAGE).write_text(render(), encoding="utf-8")
    found = list(problems(load(), evidence()))
    print("\n".join(found) or "every rule has a case and a citation, every case a rule")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
