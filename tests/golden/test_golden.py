"""Outputs kept beside the tests; `make bless` rewrites them, the difference is read in review."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cubinspec.cli import main
from tests.malformed.recipe import SAMPLES

FOLDER = Path(__file__).parent / "expected"
BLESS = bool(os.environ.get("BLESS"))

#: Every writer, class, ABI and form once, each as small as it comes.
DUMPED = (
    *("small.sm_35.exe.11.8.89", "small.sm_75.exe", "small.sm_90.rel", "small.sm_100.exe"),
    *("params_32.sm_75.rel.11.8.89", "empty_module.sm_90.ewp", "data_only.sm_100.rel"),
    *(
        "callee.sm_90.rel",
        "partial.sm_80.link-r",
        "two_files.sm_90.link-exe",
        "unified.sm_90.link-r",
    ),
    *("clusters.sm_90.link-exe", "two_files.sm_50.link-jit.nvjitlink-12.9.86"),
)
TABLES = {
    "kernels.all_generations": (
        *("small.sm_35.exe.11.8.89", "kernels.sm_61.rel.11.8.89", "kernels.sm_75.exe"),
        *("cluster_sm90.sm_90.exe", "tcgen05_sm100a.sm_100a.exe", "kernels.sm_120.exe"),
    ),
    "kernels.devices": ("calls.sm_90.rel", "calls.sm_90.exe", "names.sm_100.exe"),
}
WORDS = (
    *("EIATTR_KPARAM_INFO", "0x2f", "R_CUDA_ABS32_LO_32", "R_MERCURY_ABS64", ".nv.compat"),
    *("STO_CUDA_ENTRY", "sm_100a", ".nv.info.kernel", "ET_EWP", "EICOMPAT_ATTR_ISA_CLASS"),
)

CASES: dict[str, list[str]] = {
    **{f"dump.{stem}.txt": ["dump", f"{stem}.cubin"] for stem in DUMPED},
    "dump.small.sm_100.exe.json": ["dump", "small.sm_100.exe.cubin", "--json"],
    **{
        f"{name}.txt": ["kernels", "--all", *(f"{stem}.cubin" for stem in stems)]
        for name, stems in TABLES.items()
    },
    "kernels.params.json": ["kernels", "--json", "params.sm_90.exe.cubin"],
    "coverage.txt": ["coverage", *(f"{stem}.cubin" for stem in DUMPED)],
    "tree.header.txt": ["tree", "small.sm_100.exe.cubin", "header"],
    "tree.empty.txt": ["tree", "empty_module.sm_90.ewp.cubin"],
    "explain.txt": ["explain", *WORDS],
    "lines.inlined.txt": ["lines", "inlined.sm_90.lineexe.cubin", "nested"],
    "lines.registers.txt": ["lines", "lines.sm_90.debug.cubin", "weighted", "--pc", "0x2b0"],
    "dump.debug.txt": ["dump", "--section", ".nv_debug_*_[srt]*", "small.sm_90.debug.cubin"],
    "dump.lines.txt": ["dump", "--section", ".debug_[ls]*", "lines.sm_100.lineexe.cubin"],
    "dump.dwarf.txt": ["dump", "--section", ".debug_[ail]*", "inlined.sm_110.debugexe.cubin"],
    "ptx.embedded.txt": ["ptx", "lines.sm_75.lineexe.cubin", "small.sm_90.debug.cubin"],
}


@pytest.mark.parametrize("name", CASES)
def test_the_output_is_the_one_kept(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(SAMPLES)
    assert main(CASES[name]) == 0
    out = capsys.readouterr().out
    if name.endswith(".json"):  # a record is one line there; this shows what differs
        out = json.dumps(json.loads(out), indent=2) + "\n"
    kept = FOLDER / name
    if BLESS:
        FOLDER.mkdir(exist_ok=True)
        kept.write_text(out, encoding="utf-8")
    assert out == kept.read_text(encoding="utf-8"), (
        f"make bless, then read the difference of {name}"
    )


def test_nothing_is_kept_that_nobody_compares() -> None:
    if BLESS:
        for stale in {file.name for file in FOLDER.iterdir()} - set(CASES):
            (FOLDER / stale).unlink()
    assert {file.name for file in FOLDER.iterdir()} == set(CASES)
