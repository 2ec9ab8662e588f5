"""Every name that tools give to symbols and sections by themselves is known to `explain`."""

from __future__ import annotations

from pathlib import Path

import pytest

from cubinspec import Cubin
from cubinspec.report.explain import explain
from tools.corpus.names import fixed_names, names_in_text, unknown

NOTES = Path(__file__).resolve().parents[1] / "data" / "names_of_notes.txt"
"""Names in third-party notes on ptxas and nvlink, as `tools.corpus.names --text` finds them."""


def names_in(files: list[Path]) -> set[str]:
    found: set[str] = set()
    for file in files:
        with Cubin.open(str(file)) as cubin:
            found |= set(fixed_names(cubin))
    return found


def test_names_of_all_samples_are_known(samples: list[Path]) -> None:
    names = names_in(samples)
    assert len(names) > 1400
    assert unknown(names) == []


@pytest.mark.corpus
def test_names_of_the_corpus_are_known(corpus: list[Path]) -> None:
    names = names_in(corpus)
    assert len(names) > 9000
    assert unknown(names) == []


def test_names_of_the_notes_are_known() -> None:
    names = NOTES.read_text(encoding="utf-8").split("\n")[:-1]
    assert len(names) > 200
    assert unknown(names) == []


def test_an_unknown_name_is_seen(tmp_path: Path, samples: list[Path]) -> None:
    file = next(file for file in samples if file.name == "small.sm_90.exe.cubin")
    assert file.read_bytes().count(b".nv.constant0.small") == 2
    changed = tmp_path / "changed.cubin"
    changed.write_bytes(file.read_bytes().replace(b".nv.constant0.small", b".nv.sonstant0.small"))
    assert unknown(names_in([changed])) == [".nv.sonstant0.small"]
    assert unknown(names_in_text("a section .nv.sonstant0 and .nv.constant0SHT_PROGBITS")) == [
        ".nv.sonstant0"
    ]


def test_only_names_that_sources_cannot_give_count(samples: list[Path]) -> None:
    file = next(file for file in samples if file.name == "calls.sm_90.rel.cubin")
    names = names_in([file])
    assert "leaf" not in names
    assert ".text.leaf" in names


def test_the_start_of_a_name_shows_one_entry_for_each_kind() -> None:
    kinds = [
        match["entry"]["kind"] for match in explain(".nv.constant") if "kind" in match["entry"]
    ]
    assert kinds == ["constant_bank", "function_constant_bank", "named_constant"]
    assert explain(".nv.constant<N>.<func>") == explain(".nv.constant")
    assert not explain(".nv.con")


def test_names_of_system_functions_and_host_sections_are_known() -> None:
    for name in (
        *("vprintf", "__assertfail", "malloc", "free", "__cuda_syscall_32f3056bbb"),
        *("cnpGetParameterBufferCooperative", ".nvHRKE", ".nvHRCI", "__nv_module_id"),
        *(".nv.unified.texrefDescSize", ".nv.surfrefDescSize", "__cudaRegisterFunction"),
        "__nv_reservedSMEM_allocation_phase",
    ):
        assert explain(name), name
    assert not explain("__nv_module_idx")
