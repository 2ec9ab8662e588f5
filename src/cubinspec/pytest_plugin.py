"""A plugin for pytest: kernels stay within their budget.

``def test_kernels(cubin_budget): cubin_budget("build/libx.so")`` fails with the findings of
``cubinspec budget check``. The budget is ``kernels.toml`` beside the test, or what the marker
``cubin_budget`` or the call names. ``pytest --cubin-update`` makes or renews it instead.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cubinspec.compare.budget import KINDS, check_budget, with_unread
from cubinspec.compare.budget_edit import init_budget, update_budget
from cubinspec.compare.budget_file import budget_text, parse_budget
from cubinspec.compare.findings import message
from cubinspec.errors import CubinError
from cubinspec.output_files import write_file

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--cubin-update``."""
    group = parser.getgroup("cubinspec")
    text = "make or renew the budgets of kernels instead of checking them"
    group.addoption("--cubin-update", action="store_true", default=False, help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    text = "cubin_budget(budget=None, allow=()): which budget the fixture uses, and what it allows"
    config.addinivalue_line("markers", text)


@pytest.fixture
def cubin_budget(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Checks kernels of files against a budget.

    Call it with the files; ``budget`` names another TOML file, ``allow`` kinds of findings that
    are no fault, such as ``better``.
    """
    marker = request.node.get_closest_marker("cubin_budget")
    stated = {} if marker is None else marker.kwargs
    words = [*stated, *map(repr, () if marker is None else marker.args)]
    _refuse_unknown("the marker cubin_budget takes", words, ("budget", "allow"))
    folder = Path(request.path).parent

    def check(
        *files: str | os.PathLike[str],
        budget: str | os.PathLike[str] | None = None,
        allow: Iterable[str] = stated.get("allow", ()),
    ) -> None:
        __tracebackhide__ = True
        allowed = frozenset([allow] if isinstance(allow, str) else allow)
        _refuse_unknown("allow takes", allowed, KINDS)
        place = folder / (budget or stated.get("budget") or "kernels.toml")
        from cubinspec.cli.budget import images_of

        images, faults = images_of([str(file) for file in files])
        update = request.config.getoption("--cubin-update")
        if update and faults:
            pytest.fail("\n".join(map(str, faults)), pytrace=False)
        if update and not place.exists():
            write_file(str(place), init_budget(images).encode())
            return
        try:
            found = parse_budget(budget_text(str(place)), str(place))
        except CubinError as error:
            hint = "" if place.exists() else "; pytest --cubin-update makes it"
            raise pytest.fail.Exception(f"{error}{hint}", pytrace=False) from None
        findings = with_unread(check_budget(found, images, datetime.date.today()), faults)
        if update:
            try:
                text = update_budget(found, findings, images)
            except CubinError as error:
                raise pytest.fail.Exception(str(error), pytrace=False) from None
            write_file(str(place), text.encode())
            return
        lines = [
            f"{place}:{finding.line}: {finding.kind}: {message(finding)}"
            for finding in findings
            if finding.kind not in allowed
        ]
        if lines:
            pytest.fail("\n".join(lines), pytrace=False)

    return check


def _refuse_unknown(what: str, words: Iterable[str], known: Iterable[str]) -> None:
    """Fail where a word means nothing, which would else be passed over."""
    __tracebackhide__ = True
    wrong = sorted(set(words).difference(known))
    if wrong:
        pytest.fail(f"{what} {', '.join(known)}, not {', '.join(wrong)}", pytrace=False)
