"""The table of `make link-crossed`, and the words of its variants."""

from __future__ import annotations

import pytest

from tools.linkcases import build, crossed, outcomes

WORDS = ["-arch=sm_90", "a.cubin", "-L", "dir", "b.cubin", "-o", "out"]


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ("-r -g", ["-r", "-g", *WORDS]),
        ("inputs reversed", ["b.cubin", "a.cubin", "-arch=sm_90", "-L", "dir", "-o", "out"]),
        (
            "inputs reversed, -r",
            ["b.cubin", "a.cubin", "-arch=sm_90", "-L", "dir", "-o", "out", "-r"],
        ),
        ("inputs twice", [*["a.cubin", "b.cubin"] * 2, "-arch=sm_90", "-L", "dir", "-o", "out"]),
    ],
)
def test_words_of_a_variant(variant: str, words: list[str]) -> None:
    assert crossed.VARIANTS[variant](WORDS) == words


def test_what_says_nothing_new_is_no_variant() -> None:
    assert crossed.VARIANTS["-g"](["-g", *WORDS]) is None
    assert crossed.VARIANTS["--kernels-used=k"](["--kernels-used=x", "a.cubin"]) is None
    assert crossed.VARIANTS["inputs reversed"](["a.cubin", "-o", "out"]) is None


def test_named_causes_are_of_cases_targets_and_variants() -> None:
    cases = {case.name for case in build.find((build.CASES, build.SEEDS))}
    assert len(crossed.VARIANTS) == 36
    for case, arch, variant in crossed.causes():
        assert case in cases
        assert arch.rstrip("a").isdecimal()
        assert variant in crossed.VARIANTS


def test_the_page_counts_and_tells_causes() -> None:
    (case, arch, variant), why = next(iter(crossed.causes().items()))
    named = crossed.Crossed(case, arch, outcomes.EXCEPTION, variant=variant)
    same = crossed.Crossed("two_file_call", arch, outcomes.IDENTICAL, variant=variant)
    text = crossed.render(crossed.count([named, same]))
    assert f"| sm_{arch} | 2 | 1 | 0 | 1 | 0 |" in text
    assert f"* 1 links: {' '.join(why.split())} (`{case}`)" in text


def test_a_row_of_the_table_is_read_as_it_was_written() -> None:
    links = [
        crossed.Crossed("two_file_call", "80", kind, variant="-g")
        for kind in (outcomes.IDENTICAL, outcomes.DIFFERENT)
    ]
    same, other = crossed.count(links)
    assert [crossed.Counted.parse(row.line()) for row in (same, other)] == [same, other]
    assert (same.cases, other.cases) == ((), ("two_file_call",))


def test_the_page_is_that_of_the_table() -> None:
    assert crossed.PAGE.read_text(encoding="utf-8") == crossed.render(crossed.table())
