"""The rules by which code runs on a GPU, one case each."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cubinspec.report.archs import Facts

FACTS = Facts()
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("kind", "arch", "gpu", "runs", "rule"),
    [
        ("cubin", "sm_80", 80, True, "native"),
        ("cubin", "sm_80", 86, True, "same-major"),
        ("cubin", "sm_86", 80, False, "later"),
        ("cubin", "sm_80", 90, False, "other-major"),
        ("cubin", "sm_100", 120, False, "other-major"),
        ("cubin", "sm_80", 87, False, "embedded"),
        ("cubin", "sm_87", 89, False, "embedded"),
        ("cubin", "sm_87", 87, True, "native"),
        ("cubin", "sm_90a", 90, True, "native"),
        ("cubin", "sm_100a", 100, True, "native"),
        ("cubin", "sm_100a", 103, False, "specific"),
        ("cubin", "sm_100", 103, True, "same-major"),
        ("cubin", "sm_100f", 103, True, "family"),
        ("cubin", "sm_103f", 100, False, "later"),
        ("cubin", "sm_100f", 120, False, "other-family"),
        ("cubin", "sm_120f", 121, True, "family"),
        ("cubin", "sm_110f", 100, False, "embedded"),
        ("ptx", "compute_75", 75, True, "ptx"),
        ("ptx", "compute_75", 121, True, "ptx"),
        ("ptx", "compute_75", 87, True, "ptx"),
        ("ptx", "compute_80", 75, False, "later"),
        ("ptx", "compute_90a", 90, True, "ptx-specific"),
        ("ptx", "compute_90a", 100, False, "specific"),
        ("ptx", "compute_100f", 103, True, "ptx-family"),
        ("ptx", "compute_100f", 120, False, "other-family"),
        ("ptx", "compute_103f", 100, False, "later"),
        ("ptx", "compute_103f", 103, True, "ptx-family"),
        ("cubin", "sm_999f", 90, False, "other-family"),
        ("ptx", "compute_999", 90, False, "later"),
        ("cubin", "sm_999", 90, False, "later"),
    ],
)
def test_rule(kind: str, arch: str, gpu: int, runs: bool, rule: str) -> None:
    found = FACTS.verdict(kind, arch, FACTS.devices[gpu])
    assert (found.runs, found.name) == (runs, rule)


def test_every_pair_is_decided_by_a_rule_of_the_table() -> None:
    table = yaml.safe_load((ROOT / "ksy" / "tables" / "arch.yaml").read_text("utf-8"))
    sentences = {row["id"]: row["meaning"] for row in table["running"]}
    used = set()
    for device in FACTS.devices.values():
        for own in FACTS.devices.values():
            for kind in ("cubin", "ptx"):
                for variant in ("", "a", "f"):
                    rule = FACTS.verdict(kind, f"sm_{own.sm}{variant}", device)
                    assert rule.sentence == sentences[rule.name]
                    used.add(rule.name)
    assert used == set(sentences)
