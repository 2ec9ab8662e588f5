"""Barriers of real code are predicted from those in front of them."""

from __future__ import annotations

from pathlib import Path

from cubinspec_writer.linker.finalizer.barriers import choices
from cubinspec_writer.linker.finalizer.flow import decode, encode, with_barriers
from tools.linkcases.choices import FOUND, MISSED, count, functions

SAMPLE = Path(__file__).parents[1] / "data/cubins/groups.sm_100.exe.cubin"


def test_all_barriers_of_a_sample_are_found() -> None:
    codes = [*functions([str(SAMPLE)], {"100"})]
    outcomes, kinds = count(codes)
    assert outcomes == {FOUND: len(codes)}
    assert len(codes) > 0
    assert kinds.total() > len(codes)


def test_another_number_is_not_the_expected_one() -> None:
    (instructions, *_) = functions([str(SAMPLE)], {"100"})
    last = [life for life, _ in choices(instructions) if life.is_result][-1]
    # The places of lifetimes are in the order of the finalizer; here that is the order of the code.
    one = instructions[last.at]
    assert one.write == last.number
    other = with_barriers(one.word, 1 + last.number, one.read, one.wait)
    words = [each.word for each in instructions]
    words[last.at] = other
    outcomes, _ = count([decode(encode(words))])
    assert outcomes == {MISSED: 1}


def test_other_targets_are_left_out() -> None:
    assert not [*functions([str(SAMPLE)], {"120"})]
