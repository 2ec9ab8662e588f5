"""The carried samples are what their list says, and the oracle makes the same bytes again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.corpus import samples as recipes


def test_every_sample_is_listed_and_unchanged(sample_rows: dict[str, dict[str, Any]]) -> None:
    found = {path.name: path.read_bytes() for path in recipes.CUBINS.iterdir()}
    assert found.keys() == sample_rows.keys()
    for name, row in sample_rows.items():
        assert len(found[name]) == row["bytes"], name
        assert hashlib.sha256(found[name]).hexdigest() == row["sha256"], name


def test_the_samples_stay_small(sample_rows: dict[str, dict[str, Any]]) -> None:
    assert sum(row["bytes"] for row in sample_rows.values()) <= recipes.LIMIT


def test_the_list_follows_from_the_recipes(sample_rows: dict[str, dict[str, Any]]) -> None:
    expanded = list(recipes.expand(yaml.safe_load(recipes.RECIPES.read_text(encoding="utf-8"))))
    assert [sample.name for sample in expanded] == list(sample_rows)
    for sample in expanded:
        assert sample_rows[sample.name]["source"] == list(sample.sources)
        assert sample_rows[sample.name]["options"] == [f"-arch={sample.arch}", *sample.options]


def test_every_source_is_used(sample_rows: dict[str, dict[str, Any]]) -> None:
    used = {source for row in sample_rows.values() for source in row["source"]}
    options = {word for row in sample_rows.values() for word in row["options"]}
    used |= {word.partition("../")[2] for word in options if "../" in word}
    assert {path.name for path in recipes.SOURCES.iterdir()} == used


@pytest.mark.oracle("ptxas", "nvlink")
def test_the_oracle_builds_the_same_bytes_again(sample_rows: dict[str, dict[str, Any]]) -> None:
    expanded = recipes.expand(yaml.safe_load(recipes.RECIPES.read_text(encoding="utf-8")))
    chosen = [
        sample
        for sample in expanded
        if sample.tool == recipes.DEFAULT
        and sample.arch in ("sm_75", "sm_100")
        and all(source.endswith(".ptx") for source in sample.sources)
    ]
    assert len(chosen) > 50
    built, failed = recipes.build_all(chosen)
    assert not failed
    for sample in chosen:
        assert recipes.record(sample, built[sample.name]) == sample_rows[sample.name]


def test_a_scratch_folder_with_too_long_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(recipes.OracleError, match="too long a name"):
        recipes.Workshop(tmp_path / ("x" * len(recipes.NEUTRAL)))
