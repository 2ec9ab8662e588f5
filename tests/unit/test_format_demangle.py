"""Readable names: of real templates, and of names that were made to explode."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from cubinspec.format import demangle as module
from cubinspec.format.demangle import demangle
from cubinspec.limits import MAX_READABLE_NAME

pytest.importorskip("pycxxfilt")


@pytest.fixture(autouse=True)
def fresh_budget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "_asked", 0)
    monkeypatch.setattr(module, "_given", 0)
    yield
    if module._child is not None:
        module._child.kill()
        module._child.wait()
        module._child = None


def reference(number: int) -> str:
    """The `number`-th substitution of the Itanium ABI: S_, S0_, … SZ_, S10_ …"""
    if number == 0:
        return "S_"
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text, number = "", number - 1
    while True:
        number, rest = divmod(number, 36)
        text = digits[rest] + text
        if not number:
            return f"S{text}_"


def bomb(levels: int) -> str:
    """f(A<int, int>, A<A<int, int>, A<int, int>>, …): each parameter holds the last one twice."""
    parts = [f"S_I{2 * reference(level + 1)}E" for level in range(levels)]
    return f"_Z1f1AIiiE{''.join(parts)}"


def test_a_template_kernel_is_readable() -> None:
    name = "_Z6kernelIfLi4EEvPT_S1_i"
    assert demangle(name) == "void kernel<float, 4>(float*, float*, int)"


def test_what_only_starts_like_a_mangled_name_is_none() -> None:
    for name in ("_Z", "_Zkernel", "_Z6kernelI", "_Z\n", "_Z6k\udcff", f"_Z{'P' * 70000}i"):
        assert demangle(name) is None


PLAIN = f"_Z4TESTILi1EEv1S{'S_' * 60}"
READABLE = f"void TEST<1>(S{', TEST' * 60})"


def test_a_name_with_many_references_is_asked_of_the_child() -> None:
    assert demangle(PLAIN) == READABLE
    assert module._child is not None
    assert demangle(f"{PLAIN}S") is None
    assert demangle(PLAIN) == READABLE  # an answer of none leaves the child in step


@pytest.mark.parametrize("levels", [4, 10, 14, 18, 30, 200])
def test_a_name_that_explodes_costs_little(levels: int) -> None:
    start = time.perf_counter()
    found = demangle(bomb(levels))
    assert time.perf_counter() - start < 20
    if levels > 10:
        assert found is None
    else:
        assert found is not None
        assert len(found) <= MAX_READABLE_NAME


def test_a_file_full_of_exploding_names_costs_little() -> None:
    start = time.perf_counter()
    given = sum(len(demangle(bomb(10).replace("1f", f"4f{n:03}")) or "") for n in range(1000))
    assert time.perf_counter() - start < 20
    assert given < 32 << 20
    assert demangle("_Z1kv") is None  # for the rest of the run names stay as they are


def test_a_dead_child_is_replaced() -> None:
    assert demangle(PLAIN)
    assert module._child is not None
    module._child.kill()
    module._child.wait()
    demangle(PLAIN)
    module._given = 0
    assert demangle(PLAIN)


def test_a_forked_process_gets_a_child_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert demangle(PLAIN)
    first = module._child
    monkeypatch.setattr(module, "_owner", os.getpid() + 1)
    assert demangle(PLAIN)
    assert module._child is not first
    assert first is not None
    first.kill()
    first.wait()
