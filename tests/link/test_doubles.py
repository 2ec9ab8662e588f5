"""Code for sm_100 with arithmetic of 64 bits that is linked for another target (rule X23)."""

from __future__ import annotations

import pytest

from cubinspec_generated.codes_sass import (
    SASS_ALWAYS,
    SASS_EXIT,
    SASS_FIRST_CONVERSION_64,
    SASS_GUARD_SHIFT,
    SASS_NO_BARRIER,
    SASS_READ_BARRIER_SHIFT,
    SASS_WRITE_BARRIER_SHIFT,
)
from cubinspec_generated.tables.sass import SLOW
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.finalizer.doubles import doubt
from cubinspec_writer.linker.finalizer.flow import encode

_PLAIN = (
    SASS_ALWAYS << SASS_GUARD_SHIFT
    | SASS_NO_BARRIER << SASS_READ_BARRIER_SHIFT
    | SASS_NO_BARRIER << SASS_WRITE_BARRIER_SHIFT
)
_CONVERSION = (_PLAIN | SASS_FIRST_CONVERSION_64) & ~(SASS_NO_BARRIER << SASS_WRITE_BARRIER_SHIFT)
_SUM = _PLAIN | min(SLOW)
_EXIT = _PLAIN | SASS_EXIT
_MAYBE_EXIT = _EXIT & ~(SASS_ALWAYS << SASS_GUARD_SHIFT)


def test_conversions_in_one_block_are_told() -> None:
    code = encode([_CONVERSION, _CONVERSION, _EXIT])
    assert "between conversions" in doubt(code, "k", 100, 103)


def test_conversions_in_blocks_of_their_own_are_alike() -> None:
    assert not doubt(encode([_CONVERSION, _MAYBE_EXIT, _CONVERSION, _EXIT]), "k", 100, 103)


@pytest.mark.parametrize(("made_for", "target"), [(100, 100), (103, 103), (120, 121)])
def test_other_targets_have_the_same_units(made_for: int, target: int) -> None:
    assert not doubt(encode([_SUM, _CONVERSION, _CONVERSION, _EXIT]), "k", made_for, target)


def test_arithmetic_without_barriers_is_refused() -> None:
    with pytest.raises(UnsupportedLinkError, match="arithmetic of 64 bits in code for sm_100"):
        doubt(encode([_SUM, _EXIT]), ".text.k", 100, 103)
