"""What a rule is, and the register of all of them."""

from __future__ import annotations

from dataclasses import dataclass

from cubinspec_writer.checker.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    #: Offset in the file (``None`` when there is no single place), field path, what is wrong.
    Found = tuple[int | None, str, str]
    Check = Callable[[View], Iterator[Found]]

#: What most rules rest on.
CENSUS = "4,000 public cubins, CUDA 8 to 13.5"
CORPUS = "the development corpus and the samples"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        id: stable number, ``CUB001`` and so on.
        sentence: what holds in every good file.
        evidence: where that is known from.
        fix: what to do about a file that breaks it.
        check: yields what is wrong.
    """

    id: str
    sentence: str
    evidence: str
    fix: str
    check: Check


#: The rules in the order in which their modules are imported.
REGISTERED: list[Rule] = []


def rule(id: str, sentence: str, evidence: str, fix: str) -> Callable[[Check], Check]:
    """Make the decorated function the check of a new rule."""

    def add(check: Check) -> Check:
        REGISTERED.append(Rule(id, sentence, evidence, fix, check))
        return check

    return add
