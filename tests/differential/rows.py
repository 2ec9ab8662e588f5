"""What both sides of a comparison are turned into, and how two of them are compared.

A view of a file is a mapping from a table's name to its rows; a row is a mapping from field name
to a string or number. Rows have a key: where it stands in the file. Fields of our rows that start
with `_` are not compared; they say more about the row, for the list of accepted differences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Row = dict[str, object]
View = dict[str, dict[tuple[object, ...], Row]]

ACCEPTED = Path(__file__).with_name("accepted.yaml")


@dataclass(frozen=True)
class Difference:
    """One field in which a tool and cubinspec disagree about a file."""

    file: str
    what: str
    """`refused`, or `table.field`; `table` alone when one side lacks the row."""
    key: tuple[object, ...]
    theirs: object
    ours: object
    context: Row = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        key = " ".join(map(str, self.key))
        return f"{self.file}: {self.what} [{key}]: theirs {self.theirs!r}, ours {self.ours!r}"


def compare(file: str, theirs: View, ours: View) -> Iterator[Difference]:
    """Every row and field in which the two views differ."""
    for table in sorted(theirs.keys() | ours.keys()):
        left, right = theirs.get(table, {}), ours.get(table, {})
        for key in [*left, *(key for key in right if key not in left)]:
            row = right.get(key, {})
            context = {name: value for name, value in row.items() if name.startswith("_")}
            if key not in left or key not in right:
                yield Difference(file, table, key, left.get(key), right.get(key), context)
                continue
            for name in left[key].keys() | row.keys() - context.keys():
                a, b = left[key].get(name), row.get(name)
                if a != b:
                    yield Difference(file, f"{table}.{name}", key, a, b, context)


@dataclass
class Accepted:
    """One accepted kind of difference, from accepted.yaml."""

    id: str
    tool: str
    what: str
    reason: str
    where: list[str]
    file: str = ""
    """Regular expression searched in the file's name."""
    theirs: str = ".*"
    ours: str = ".*"
    """Regular expressions for the whole of both values."""
    context: dict[str, str] = field(default_factory=dict)
    """What the context of our row has to say: field without `_`, regular expression."""
    used: int = field(default=0, init=False)

    def covers(self, difference: Difference) -> bool:
        """Whether this is the difference meant."""
        return (
            self.what == difference.what
            and re.search(self.file, difference.file) is not None
            and re.fullmatch(self.theirs, str(difference.theirs), re.DOTALL) is not None
            and re.fullmatch(self.ours, str(difference.ours), re.DOTALL) is not None
            and all(
                re.fullmatch(pattern, str(difference.context.get(f"_{name}"))) is not None
                for name, pattern in self.context.items()
            )
        )


def load_accepted(tool: str, where: str) -> list[Accepted]:
    """The listed exceptions for a tool on the samples or on the corpus."""
    rows: list[dict[str, Any]] = yaml.safe_load(ACCEPTED.read_text(encoding="utf-8"))
    exceptions = [Accepted(**row) for row in rows]
    return [e for e in exceptions if e.tool == tool and where in e.where]


def unexplained(
    differences: list[Difference], exceptions: list[Accepted]
) -> tuple[list[Difference], list[str]]:
    """Differences that no exception covers, and the ids of exceptions that covered nothing."""
    left = []
    for difference in differences:
        covering = next((e for e in exceptions if e.covers(difference)), None)
        if covering is None:
            left.append(difference)
        else:
            covering.used += 1
    return left, [e.id for e in exceptions if not e.used]
