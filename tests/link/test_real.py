"""Links of real code: programs of many files, and what somebody linked years ago."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cubinspec_writer.linker import Named, link
from cubinspec_writer.linker.command import linker_note
from tools.linkcases import (
    outcomes,
    programs,
    ptxforms,
    ptxpage,
    ptxsweep,
    real,
    realpage,
    rules,
    wheels,
)

WHEELS = real.ROOT / ".cache" / "wheels"


@pytest.mark.corpus
@pytest.mark.oracle("nvlink")
@pytest.mark.parametrize(("version", "arch"), [("10.2", "sm_75"), ("11.1", "sm_80")])
def test_bitsandbytes(version: str, arch: str) -> None:
    wheel = next(WHEELS.glob(real.WHEELS[version]), None)
    if wheel is None:
        pytest.skip("the wheels are not fetched (make corpus)")
    first, second, result = real.cases(wheel)[arch]
    inputs = [Named("ops.cubin", first), Named("kernels.cubin", second)]
    reference = real.with_nvlink(inputs, arch)
    assert reference is not None
    ours = link(inputs, arch=arch, tkinfo=linker_note(reference, "nvlink")).bytes
    assert ours == reference
    same, other, _, single = real.compare(result, ours)
    assert single == 0
    assert other[".text.*"] == 0 < same[".text.*"]


def test_at_least_sixty_programs_of_two_to_ten_files() -> None:
    found = programs.load()
    assert len({program.folder for program in found}) >= 60
    assert all(2 <= len(program.sources) <= 10 for program in found)
    assert len({program.name for program in found}) == len(found)


@pytest.mark.oracle("nvcc", "nvlink")
@pytest.mark.parametrize("name", ["recursion", "weak_copies_lineinfo"])
def test_a_program_is_linked_as_nvlink_does(name: str, tmp_path: Path) -> None:
    program = next(program for program in programs.load() if program.name == name)
    found = programs.run(replace(program, targets=("75", "90a")), None, tmp_path)
    assert [outcome.kind for outcome in found] == [outcomes.IDENTICAL] * 2


def test_the_page_is_that_of_the_tables() -> None:
    assert realpage.PAGE.read_text(encoding="utf-8") == programs.page()


def test_every_program_has_a_result_that_is_kept() -> None:
    wanted = {(program.name, arch) for program in programs.load() for arch in program.targets}
    assert set(programs.table()) == wanted


def test_public_links_are_the_same() -> None:
    kept = {row[1]: row[5] for row in wheels.table() if row[0] == "nvshmem-3.4.5"}
    assert kept == dict.fromkeys(("75", "80", "89", "90", "100", "120"), outcomes.IDENTICAL)


@pytest.mark.oracle("ptxas", "nvlink")
@pytest.mark.parametrize("family", ["sub.cc", "atom spaces", "constant data", ".maxntid"])
def test_forms_of_ptx_are_linked_as_nvlink_does(family: str, tmp_path: Path) -> None:
    number = [row.name for row in ptxforms.families()].index(family)
    job = ptxsweep.Job(number, "80", ptxsweep.PLACES, None, tmp_path, single=False)
    known, found = ptxsweep.run_job(job)
    assert known == ptxsweep.accepted()[family, "80"]
    assert {result.kind for result in found} <= outcomes.ACCEPTED, found
    assert len(found) >= len(ptxsweep.PLACES)


@pytest.mark.oracle("ptxas", "nvlink")
@pytest.mark.parametrize(
    ("family", "arch", "place", "option"),
    [
        ("sampler references", "100", "kernel", "-O0"),
        ("shared data", "120a", "weak", "-r"),
        ("constant data", "86", "weak", "-r"),
        ("unified data", "90", "weak", "-r"),
        ("dynamic shared data", "100", "recursion", "-g"),
        (".attribute(.unified)", "90a", "recursion", "none"),
    ],
)
def test_forms_with_an_option(
    family: str, arch: str, place: str, option: str, tmp_path: Path
) -> None:
    number = [row.name for row in ptxforms.families()].index(family)
    job = ptxsweep.Job(number, arch, (place,), (option,), tmp_path, single=False)
    _, found = ptxsweep.run_job(job)
    assert {result.kind for result in found} <= outcomes.ACCEPTED, found
    assert len(found) == 1


def test_differences_are_named_by_rules_that_exist() -> None:
    known = {rule.id for rule in rules.load()}
    assert {row[0] for row in ptxpage.NAMED} <= known


def test_families_and_their_forms() -> None:
    rows = ptxforms.families()
    assert len(rows) >= 150
    assert len({row.name for row in rows}) == len(rows)
    assert ptxforms.expand("a<b|c>.<d|>") == ["ab.d", "ab.", "ac.d", "ac."]
    taken = {name for (name, _), bits in ptxsweep.accepted().items() if any(bits)}
    assert taken == {row.name for row in rows}
    assert {arch for _, arch in ptxsweep.accepted()} == set(ptxsweep.TARGETS)


def test_the_page_of_the_sweep_has_every_family() -> None:
    text = ptxsweep.PAGE.read_text(encoding="utf-8")
    assert all(f"| `{row.name}` |" in text for row in ptxforms.families())
