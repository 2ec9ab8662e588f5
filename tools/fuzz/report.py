"""What campaigns counted, over days, and the page that shows it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from cubinspec.allowance import LIMITS
from cubinspec.output_files import write_file
from tools.fuzz import agreement
from tools.fuzz.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]
COUNTS = Path(__file__).with_name("campaign.yaml")
TEMPLATE = Path(__file__).with_name("robustness.md")
PAGE = ROOT / "docs" / "robustness.md"
_CASES = ROOT / "tests" / "hostile" / "cases.yaml"
_HEAD = "# What `python -m tools.fuzz --count` ran, all campaigns together.\n"


@dataclass
class Count:
    """What was run of one target.

    Attributes:
        runs, seconds: seeded mutants.
        guided_runs, guided_seconds: inputs that coverage guided.
        edges: branches of the package that those reached, at most.
        findings: different faults that were seen; what the page calls open is not mended yet.
    """

    runs: int = 0
    seconds: int = 0
    guided_runs: int = 0
    guided_seconds: int = 0
    edges: int = 0
    findings: int = 0


def counts() -> dict[str, Count]:
    """What was counted so far, by target."""
    known = yaml.safe_load(COUNTS.read_text()) if COUNTS.exists() else {}
    return {name: Count(**(known or {}).get(name, {})) for name in TARGETS}


def add(name: str, new: Count) -> None:
    """Add the runs of one target to the file."""
    found = counts()
    old = found[name]
    sums = {key: value + getattr(new, key) for key, value in asdict(old).items()}
    found[name] = Count(**sums | {"edges": max(old.edges, new.edges)})
    text = yaml.safe_dump({key: asdict(count) for key, count in found.items()}, sort_keys=False)
    write_file(COUNTS, (_HEAD + text).encode())


def page() -> str:
    """The text of docs/robustness.md."""
    found = counts()
    cases = yaml.safe_load(_CASES.read_text())["cases"]
    rows = [
        f"| {name} | {(TARGETS[name].__doc__ or '').splitlines()[0]} | {count.runs:,} | "
        f"{count.guided_runs:,} | {count.edges or '—'} | {count.findings} |"
        for name, count in found.items()
    ]
    limits = [
        f"| `{name}` | {limit.floor:,} | {limit.per_byte:g} | {limit.what} |"
        for name, limit in LIMITS.items()
    ]
    stories = [f"* `{case['make']}`: {case['story']}" for case in cases]
    total = sum(count.runs + count.guided_runs for count in found.values())
    beside = agreement.counts()
    outcomes = [f"| {outcome} | {beside[outcome]:,} |" for outcome in agreement.OUTCOMES]
    hours = sum(count.guided_seconds for count in found.values()) / 3600
    return TEMPLATE.read_text(encoding="utf-8").format(
        total=f"{total:,}",
        hours=f"{hours:.2f}",
        rows="\n".join(rows),
        limits="\n".join(limits),
        outcomes="\n".join(outcomes),
        cases=len(cases),
        stories="\n".join(stories),
    )


def write_page() -> None:
    """Write docs/robustness.md."""
    write_file(PAGE, page().encode())
