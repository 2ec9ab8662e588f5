"""The rules by which code runs on a GPU, one case each."""

from __future__ import annotations

import pytest

from cubinspec.report.archs import NO_RULES, RULES, devices, verdict

KNOWN = {device.sm: device for device in devices()}


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
        ("cubin", "sm_999", 90, False, "later"),
    ],
)
def test_rule(kind: str, arch: str, gpu: int, runs: bool, rule: str) -> None:
    assert verdict(kind, arch, KNOWN[gpu], KNOWN) == (runs, rule)
    assert rule in (RULES if runs else NO_RULES)
