"""The page docs/link-coverage.md, from what `tools.linkcases.ptxsweep` found."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from tools.linkcases import outcomes
from tools.linkcases.ptxforms import families

#: What a difference is called that has a rule in linker/rules.yaml: rule, pattern of the detail,
#: first target, option. The first that fits counts.
NAMED = (
    # The fields of barriers begin in the last three bytes of an instruction.
    ("X1", re.compile(r"^bytes of \.text\.[^:]*: .* first at 0x[0-9a-f]*[def]:"), 100, ""),
    ("X9", re.compile(r"^header of \.nv\.constant3"), 0, "--kernels-used=k"),
    ("X15", re.compile(r"^bytes of \.nv\.resolvedrela\."), 100, "--preserve-relocs"),
    ("X21", re.compile(r"^exit 1, .*: code without optimisation with textures"), 100, ""),
    # Lengths of Mercury instructions of the winning copy that are not known.
    ("F14", re.compile(r"^header of \.(debug_frame|(nv_)?debug_line)"), 100, ""),
)
_HEAD = """\
# What of PTX has been linked by both

Written by `python -m tools.linkcases.ptxsweep --page`; do not edit. The forms of the families in
`tools/linkcases/ptx_families.yaml` that ptxas 13.0.88 takes for a target
(`tests/link/ptx_accepted.tsv`) make programs in eight places; nvlink 13.0.88 and `cubinspec link`
link them beside a partner with other code, and files, messages and exit statuses are compared.

* *forms*: lines of PTX, all of which stand in each program; *targets*: how many of {targets} take
  some of them.
* *links*: {places} places, and options that change from place to place and target to target
  ({options}).
* *rule*: links that differ as a rule of [linking.md](linking.md#rules) says; *different*: the rest.

"""


def rule_of(row: Mapping[str, str]) -> str | None:
    """The rule that explains a difference."""
    number = int(row["arch"].rstrip("af"))
    for rule, pattern, first, option in NAMED:
        if number >= first and option in ("", row["option"]) and pattern.search(row["detail"]):
            return rule
    return None


def load(folder: Path) -> list[dict[str, str]]:
    """All results of a sweep."""
    return [
        json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def _kind(row: Mapping[str, str]) -> str:
    if row["kind"] == outcomes.DIFFERENT and rule_of(row):
        return "rule"
    return row["kind"]


_COLUMNS = (outcomes.IDENTICAL, outcomes.SAME_ERROR, "rule", outcomes.DIFFERENT)


def _table(rows: Iterable[Mapping[str, str]], key: str, title: str) -> list[str]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        found[row[key]][_kind(row)] += 1
    lines = [f"| {title} | links | " + " | ".join(_COLUMNS) + " |", "|---" * 6 + "|"]
    for name, tally in found.items():
        cells = " | ".join(str(tally[kind]) for kind in _COLUMNS)
        shown = f"sm_{name}" if key == "arch" else f"`{name}`"
        lines.append(f"| {shown} | {sum(tally[kind] for kind in _COLUMNS)} | {cells} |")
    return [*lines, ""]


def _families(
    rows: list[dict[str, str]], accepted: Mapping[tuple[str, str], tuple[bool, ...]]
) -> list[str]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        found[row["family"]][_kind(row)] += 1
    heads = ("family", "forms", "targets", "links", *_COLUMNS)
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for family in families():
        masks = [bits for (name, _), bits in accepted.items() if name == family.name]
        forms = sum(any(bits) for bits in zip(*masks, strict=True)) if masks else 0
        targets = sum(any(bits) for bits in masks)
        tally = found[family.name]
        cells = " | ".join(str(tally[kind]) for kind in _COLUMNS)
        links = sum(tally[kind] for kind in _COLUMNS)
        lines.append(f"| `{family.name}` | {forms} | {targets} | {links} | {cells} |")
    return [*lines, ""]


def _differences(rows: Iterable[Mapping[str, str]]) -> list[str]:
    """What differs without a rule, by what differs first."""
    classes: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for row in rows:
        if _kind(row) == outcomes.DIFFERENT:
            classes[_class_of(row["detail"])].append(row)
    lines = []
    for name, found in sorted(classes.items(), key=lambda item: -len(item[1])):
        first = found[0]
        arches = ", ".join(dict.fromkeys(row["arch"] for row in found))
        example = f"sm_{first['arch']}, {first['family']}, {first['place']}, {first['option']}"
        lines.append(f"* {name}: {len(found)} links ({arches}), such as {example}.")
    return [*(lines or ["Nothing."]), ""]


def _class_of(detail: str) -> str:
    if "Undefined reference" in detail:
        return "undefined names"
    found = re.match(r"(header|bytes) of (\.[a-z_]+(?:\.[a-z0-9_]+)?)", detail)
    if found:
        section = re.sub(r"^(\.text|\.nv\.info|\.rela?)\..*", r"\1.*", found.group(2))
        return f"{found.group(1)} of `{section}`"
    return detail.split(":")[0].split(",")[0][:60]


def render(rows: list[dict[str, str]], accepted: Mapping[tuple[str, str], tuple[bool, ...]]) -> str:
    """The text of the page."""
    linked = [row for row in rows if row["kind"] in (*outcomes.ALL,)]
    options = ", ".join(f"`{name}`" for name in dict.fromkeys(row["option"] for row in linked))
    places = len({row["place"] for row in linked})
    targets = list(dict.fromkeys(row["arch"] for row in linked))
    targets.sort(key=lambda arch: (int(arch.rstrip("af")), arch))
    linked.sort(key=lambda row: targets.index(row["arch"]))
    total = Counter(_kind(row) for row in linked)
    rules = Counter(rule_of(row) for row in linked if _kind(row) == "rule")
    sums = ", ".join(f"{total[kind]:,} {kind}" for kind in _COLUMNS)
    by_rule = ", ".join(f"{rule} {count}" for rule, count in sorted(rules.items(), key=str))
    parts = [
        _HEAD.format(targets=len(targets), places=places, options=options),
        f"{len(linked):,} links: {sums}. By rule: {by_rule or 'none'}.\n",
        "## Targets\n",
        *_table(linked, "arch", "target"),
        "## Places\n",
        *_table(linked, "place", "place"),
        "## Options\n",
        *_table(linked, "option", "option"),
        "## Families\n",
        *_families(linked, accepted),
        "## Differences without a rule\n",
        *_differences(linked),
    ]
    return "\n".join(parts).rstrip("\n") + "\n"
