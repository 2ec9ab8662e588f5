"""The script that tries the package as a new user tells what does not work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.malformed.recipe import SAMPLES
from tools.corpus.containers import simple_fatbin, zip_of
from tools.newuser import public
from tools.newuser.__main__ import (
    Failed,
    call,
    claimed_versions,
    interpreters,
    version_of,
    wanted,
)

CHECKS = dict(public.CHECKS)


@pytest.mark.parametrize("what", CHECKS)
def test_a_good_wheel_passes(what: str, tmp_path: Path) -> None:
    wheel = tmp_path / "good-1-py3-none-any.whl"
    wheel.write_bytes(zip_of({"good/lib.fatbin": simple_fatbin()}))
    assert CHECKS[what](sys.executable, wheel) is None


@pytest.mark.parametrize("what", [what for what in CHECKS if "runtime" not in what])
def test_a_damaged_wheel_does_not(what: str, tmp_path: Path) -> None:
    cubin = (SAMPLES / "small.sm_90.exe.cubin").read_bytes()
    wheel = tmp_path / "bad-1-py3-none-any.whl"
    wheel.write_bytes(zip_of({"bad/lib.cubin": cubin[: len(cubin) // 2]}))
    fault = CHECKS[what](sys.executable, wheel)
    assert fault is not None
    assert "exit status 1" in fault


def test_a_static_library_that_does_not_link_is_a_fault(tmp_path: Path) -> None:
    wheel = tmp_path / "bad-1-py3-none-any.whl"
    wheel.write_bytes(zip_of({"lib/libcudadevrt.a": b"no archive"}))
    fault = public.CHECKS[-1][1](sys.executable, wheel)
    assert fault is not None
    assert fault.startswith("link: exit status 1")


def test_ci_tries_fewer_wheels() -> None:
    assert set(wanted(only_small=True)) < set(wanted(only_small=False))


def test_a_program_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="no such sample"):
        call([sys.executable, "-c", "raise SystemExit('no such sample')"], tmp_path)


def test_claimed_pythons_are_found_and_stubs_are_not(tmp_path: Path) -> None:
    own = ".".join(map(str, sys.version_info[:2]))
    assert own in claimed_versions()
    stub = tmp_path / "python3.12"
    stub.write_text("#!/bin/sh\nexit 127\n")
    stub.chmod(0o755)
    assert version_of(str(stub)) is None
    assert version_of(str(tmp_path / "absent")) is None
    assert interpreters([str(stub), sys.executable])[own] == sys.executable
