"""Every name that tools give to symbols and sections by themselves is known to `explain`."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from cubinspec import Cubin
from cubinspec.report import explain as module
from cubinspec.report.explain import explain

GIVEN = (".nv.", "__nv_reservedSMEM", "__UFT", "__UDT", "__cuda_", "__cudaCDP2")
"""How names start that no source has. (`__nv_static…` has the name of a static function in it.)"""


@pytest.fixture(autouse=True)
def tables_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "load_table", functools.cache(module.load_table))


def test_symbols_that_tools_name_are_known(samples: list[Path]) -> None:
    names: set[str] = set()
    for file in samples:
        with Cubin.open(str(file)) as cubin:
            names |= {symbol.name for symbol in cubin.symbols if symbol.name.startswith(GIVEN)}
            for symbol in cubin.mercury_symbols:
                if symbol.name.startswith(GIVEN):
                    names.add(symbol.name)
    assert len(names) > 20
    assert sorted(name for name in names if not explain(name)) == []


def test_sections_of_all_samples_are_known(samples: list[Path]) -> None:
    names: set[str] = set()
    for file in samples:
        with Cubin.open(str(file)) as cubin:
            names |= {section.name for section in cubin.sections if section.name}
    assert sorted(name for name in names if not explain(name)) == []


def test_names_of_system_functions_and_host_sections_are_known() -> None:
    for name in (
        *("vprintf", "__assertfail", "malloc", "free", "__cuda_syscall_32f3056bbb"),
        *("cnpGetParameterBufferCooperative", ".nvHRKE", ".nvHRCI", "__nv_module_id"),
        *(".nv.unified.texrefDescSize", ".nv.surfrefDescSize", "__cudaRegisterFunction"),
        "__nv_reservedSMEM_allocation_phase",
    ):
        assert explain(name), name
    assert not explain("__nv_module_idx")
