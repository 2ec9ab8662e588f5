"""Reports and the command line: invariants that hold for any input."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cubinspec.cli.options import Arguments, Option, UsageError, parse
from cubinspec.cli.output import printable
from cubinspec.reader.kaitai import FIELD
from cubinspec.report.coverage import attribute
from cubinspec.report.explain import explain, similar
from cubinspec.report.names import readable

SIZE = 60
claim = st.tuples(
    st.integers(0, SIZE), st.integers(0, SIZE + 5), st.sampled_from((FIELD, "SASS", "data", ""))
).map(lambda c: (min(c[0], c[1]), max(c[0], c[1]), c[2]))


@given(st.lists(claim, max_size=12))
def test_every_byte_is_attributed_once(claims: list[tuple[int, int, str]]) -> None:
    spans = attribute(SIZE, claims)
    assert [start for start, _, _ in spans] == [0, *(end for _, end, _ in spans)][: len(spans)]
    assert (spans[-1][1] if spans else 0) == SIZE
    assert all(end > start for start, end, _ in spans)


@given(st.lists(claim, max_size=12))
def test_a_field_wins_over_a_body_and_a_body_over_nothing(
    claims: list[tuple[int, int, str]],
) -> None:
    owner = {at: kind for start, end, kind in attribute(SIZE, claims) for at in range(start, end)}
    for at in range(SIZE):
        kinds = {kind for start, end, kind in claims if start <= at < end}
        if FIELD in kinds:
            assert owner[at] == FIELD
        elif kinds:
            assert owner[at] in kinds
        else:
            assert owner[at] == ""


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_printable_text_can_be_printed_anywhere(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    shown.encode("utf-8")
    assert shown == text or not text.isprintable()


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_any_name_is_readable(text: str) -> None:
    assert isinstance(readable(text), str)
    assert isinstance(readable(f"_Z{text}"), str)


@settings(max_examples=25)
@given(st.one_of(st.text(max_size=12), st.integers().map(str), st.integers().map(hex)))
def test_any_word_is_explained_or_unknown(word: str) -> None:
    for match in explain(word):
        assert set(match) >= {"table", "group", "subject", "entry"}
    assert all(isinstance(name, str) for name in similar(word))


OPTIONS = (Option("--flag", help=""), Option("-v", "--value", value="V", help=""))
words = st.lists(
    st.sampled_from(("--flag", "--value", "-v", "--value=x", "--flag=x", "--", "-", "a", "--b", ""))
)


@given(words)
def test_a_command_line_is_understood_or_a_usage_error(line: list[str]) -> None:
    try:
        arguments = parse(OPTIONS, line)
    except UsageError:
        return
    assert isinstance(arguments, Arguments)
    assert all(word in line for word in arguments.positional)
    end = line.index("--") if "--" in line else len(line)
    assert arguments.flag("--flag") == ("--flag" in _unconsumed(line[:end]))


def _unconsumed(line: list[str]) -> list[str]:
    """Words that are not the value of the option before them."""
    found = []
    words_left = iter(line)
    for word in words_left:
        if word in ("--value", "-v"):
            next(words_left, None)
        else:
            found.append(word)
    return found
