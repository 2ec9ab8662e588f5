"""Synthetic inputs do here what they do to nvlink: attributes, sections and relocations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.linkcases.sweep import stored

#: How many links of the stored part are the same; all others have an exception.
SAME = {
    ("attributes", "80"): 332,
    ("attributes", "90"): 333,
    ("attributes", "100"): 310,
    ("sections", "80"): 409,
    ("sections", "90"): 403,
    ("sections", "100"): 35,
    ("relocations", "80"): 1589,
    ("symbols", "80"): 70,
    ("symbols", "90"): 64,
    ("symbols", "100"): 60,
}


@pytest.mark.parametrize(("kind", "arch"), SAME)
def test_stored_links_are_those_of_nvlink(kind: str, arch: str, tmp_path: Path) -> None:
    stored.unpack(tmp_path)
    wrong, num_same = stored.check(kind, arch, tmp_path)
    assert not wrong
    assert num_same == SAME[kind, arch]
