"""``cubinspec explain``: what a name or a number of the format means."""

from __future__ import annotations

import sys

from cubinspec.cli.options import JSON_OPTIONS, Arguments, UsageError
from cubinspec.cli.output import heading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USAGE = "WORD... [--json|--jsonl]"
OPTIONS = JSON_OPTIONS

#: Shown first, in this order; other keys follow as the table has them.
_ORDER = ("meaning", "purpose", "code", "type", "value", "mask", "sm")
_HEXADECIMAL = frozenset(("code", "type", "value", "mask", "param_base"))


def run(arguments: Arguments) -> int:
    """Explain every word; 1 when one of them is unknown."""
    from cubinspec.report.anchors import page_of
    from cubinspec.report.explain import explain, similar
    from cubinspec.report.words import term_matches

    if not arguments.positional:
        raise UsageError("no WORD given")
    status = 0
    answers = []
    for word in arguments.positional:
        matches = explain(word)
        known = [*matches, *_link_rules(word), *term_matches(word)]
        matches = known if matches else _more(word)
        matches = [{**match, "page": page_of(match)} for match in matches]
        answers.append({"word": word, "matches": matches})
        if not matches:
            status = 1
            near = similar(word)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            print(f"cubinspec: nothing is known by the name {word!r}{hint}", file=sys.stderr)
        elif not arguments.wants_json:
            for match in matches:
                _print(word, match)
    if arguments.wants_json:
        from cubinspec.cli.json_output import Records

        with Records("explain", arguments) as out:
            for answer in answers:
                out.add(answer)
    return status


def _more(word: str) -> list[dict[str, Any]]:
    """What a word means that stands in no table: a field, a rule, a key, a column."""
    from cubinspec.report.words import word_matches

    return [
        *_rules(word),
        *_link_rules(word),
        *_commands(word),
        *word_matches(word),
        *_columns(word),
    ]


def _commands(word: str) -> list[dict[str, Any]]:
    """The command of this name."""
    from cubinspec.cli import COMMANDS

    if word not in COMMANDS:
        return []
    entry = {"name": word, "meaning": COMMANDS[word][1], "help": f"cubinspec {word} --help"}
    return [_match(f"cubinspec {word}", "commands", "command", entry)]


def _rules(word: str) -> list[dict[str, Any]]:
    """The rule of ``check`` with this number."""
    from cubinspec.cli import load
    from cubinspec.errors import MissingPackageError

    if not word.upper().startswith("CUB") or not word[3:].isdecimal():
        return []
    try:
        rules = load("check").RULES
    except MissingPackageError:
        return []
    return [
        _match(
            "check",
            "rules",
            "rule of 'cubinspec check'",
            {"name": r.id, "meaning": r.sentence, "rests on": r.evidence, "fix": r.fix},
        )
        for r in rules
        if r.id == word.upper()
    ]


def _link_rules(word: str) -> list[dict[str, Any]]:
    """The rule of ``link`` with this number, such as ``W7``."""
    from importlib.resources import files

    import yaml

    from cubinspec.cli import load
    from cubinspec.errors import MissingPackageError

    if not word[:1].isalpha() or not word[1:].isdecimal():
        return []
    try:
        package = load("link").__package__
    except MissingPackageError:
        return []
    text = files(str(package)).joinpath("rules.yaml").read_text("utf-8")
    loader = getattr(
        yaml, "CSafeLoader", yaml.SafeLoader
    )  # some installations of PyYAML lack the loader in C
    return [
        _match(
            "link",
            "rules",
            "rule of 'cubinspec link'",
            {"name": rule["id"], "meaning": rule["rule"].strip(), "topic": topic["topic"]}
            | {key: rule[key] for key in ("evidence", "measured") if key in rule},
        )
        for topic in yaml.load(text, loader)
        for rule in topic["rules"]
        if rule["id"] == word.upper()
    ]


def _columns(word: str) -> list[dict[str, Any]]:
    """The columns of this name in our tables."""
    from cubinspec.cli.help import HELP

    return [
        _match(command, "columns", "column", {"name": word, "meaning": more.columns[word]})
        for command, more in HELP.items()
        if word in more.columns
    ]


def _match(table: str, group: str, subject: str, entry: dict[str, Any]) -> dict[str, Any]:
    return {"table": table, "group": group, "subject": subject, "entry": entry}


def _print(word: str, match: dict[str, Any]) -> None:
    from cubinspec.report.explain import names_of

    entry = dict(match["entry"])
    names = names_of(entry)
    name = entry.pop("name", None) or entry.pop("pattern", None) or word
    # one bit of st_other has several names; show the one that was asked for
    name = next((other for other in names if other.lower() == word.lower()), name)
    print(heading(f"{name}: {match['subject']} ({_place(match)})"))
    for key in (*_ORDER, *(key for key in entry if key not in _ORDER)):
        if key in entry:
            for line in _lines(key, entry[key]):
                print(f"  {line}")
    if match["page"]:
        print(f"  page: {match['page']}")
    print()


def _place(match: dict[str, Any]) -> str:
    """Which file of the spec, or which command, says so."""
    from cubinspec.report.explain import TABLES

    table = f"{match['table']}.yaml" if match["table"] in TABLES else match["table"]
    return ", ".join(filter(None, (table, match["group"])))


def _lines(key: str, value: Any) -> list[str]:
    label = key.replace("_", " ")
    if key == "layout":
        return [f"layout: {value['kind']}", *(f"  {_field(f)}" for f in value.get("fields", ()))]
    if key == "actions":
        return [f"writes: {_action(action)}" for action in value] or ["writes: nothing"]
    if isinstance(value, list):
        if value and isinstance(value[0], dict):
            return [f"{label}:", *(f"  {_pairs(item)}" for item in value)]
        # the base variant of an architecture has an empty suffix
        return [f"{label}: {', '.join(str(item) or 'plain' for item in value) or 'none'}"]
    if isinstance(value, dict):
        return [f"{label}: {_pairs(value)}"]
    if key in _HEXADECIMAL and isinstance(value, int):
        return [f"{label}: {value:#x} ({value})"]
    return [f"{label}: {str(value).strip()}"]


def _field(field: dict[str, Any]) -> str:
    text = f"{field['type']} {field['name']}"
    for key in ("ref", "enum", "repeat"):
        if key in field:
            text += f", {key} {field[key]}"
    for part in field.get("bits", ()):
        last = part["bit"] + part["width"] - 1
        text += f"\n      bits {part['bit']}..{last} {part['name']}"
    return text


def _action(action: dict[str, Any]) -> str:
    last = action["bit"] + action["width"] - 1
    shift = f" >> {action['shift']}" if action["shift"] else ""
    return f"bits {action['bit']}..{last} = {action['value']}{shift} ({action['kind']})"


def _pairs(value: dict[str, Any]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {item}" for key, item in value.items())
