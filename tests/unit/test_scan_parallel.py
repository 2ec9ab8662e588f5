"""Several processes on one file: results come in order, early, and all of them."""

from __future__ import annotations

import functools
import os
import signal
import time
from pathlib import Path

import pytest

from cubinspec.containers import Image, images
from cubinspec.containers.arena import Arena
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec.errors import CubinError
from cubinspec.scan.parallel import work_on_file
from tools.corpus.containers import cubin, elf_host

NUM_IMAGES = 40


@pytest.fixture
def library(tmp_path: Path) -> str:
    """A library with many equal images, all but one readable."""
    entry = entry_for(cubin("calls.sm_90.exe.cubin"), compress_all=True)
    path = tmp_path / "lib.so"
    path.write_bytes(elf_host({".nv_fatbin": container([entry]) * NUM_IMAGES}))
    return str(path)


def _place(image: Image) -> int:
    return int(image.provenance[1].name.removeprefix("fatbin "))


def _await(flag: str, image: Image, arena: Arena) -> int:
    """Wait for a file before the last image is done."""
    place = _place(image)
    end = time.monotonic() + 20
    while place >= NUM_IMAGES - 2 and not os.path.exists(flag):
        assert time.monotonic() < end, "nothing was given before all was done"
        time.sleep(0.01)
    return place


def _die_elsewhere(parent: int, image: Image, arena: Arena) -> int:
    """Be killed in the middle, in other processes."""
    if os.getpid() != parent and _place(image) > NUM_IMAGES // 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return _place(image)


def _stay_elsewhere(parent: int, image: Image, arena: Arena) -> int:
    """Not be done in other processes, until they are ended."""
    if os.getpid() != parent:
        time.sleep(60)
    return _place(image)


def _refuse_every_third(image: Image, arena: Arena) -> int:
    if _place(image) % 3 == 0:
        raise CubinError("not this one", file=str(image))
    return _place(image)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_results_come_in_file_order(library: str, jobs: int) -> None:
    assert len([*images(library)]) == NUM_IMAGES
    found = [*work_on_file(library, _refuse_every_third, jobs)]
    assert [number for number, _, _ in found] == [*range(NUM_IMAGES)]
    for number, result, error in found:
        assert result == (number if number % 3 else None)
        assert (error is None) == bool(number % 3)


def test_results_are_given_before_all_is_done(library: str, tmp_path: Path) -> None:
    flag = tmp_path / "go"
    work = functools.partial(_await, str(flag))
    places = []
    for number, place, _ in work_on_file(library, work, 2):
        # Only now may the last images be done: with all results at the end nobody would get here.
        if number == 0:
            flag.touch()
        places.append(place)
    assert places == [*range(NUM_IMAGES)]


def test_a_killed_process_loses_nothing(library: str) -> None:
    steps = []
    work = functools.partial(_die_elsewhere, os.getpid())
    found = [*work_on_file(library, work, 3, step=lambda text, count: steps.append(count))]
    assert [place for _, place, _ in found] == [*range(NUM_IMAGES)]
    assert sum(steps) >= NUM_IMAGES


def test_processes_end_when_nobody_wants_more(library: str) -> None:
    from multiprocessing import active_children

    before = set(active_children())
    results = work_on_file(library, functools.partial(_stay_elsewhere, os.getpid()), 3)
    next(results)
    assert len(set(active_children()) - before) == 2
    results.close()  # type: ignore[attr-defined]
    assert set(active_children()) <= before
