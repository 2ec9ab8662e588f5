"""The campaign itself: runs repeat, faults are found and kept, the page tells what was counted."""

from __future__ import annotations

import contextlib
import functools
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from cubinspec import cli, images
from cubinspec.containers.sniff import sniff
from cubinspec.errors import CubinError
from cubinspec.format import attributes
from cubinspec_writer.builder import CubinBuilder
from tools import oracle
from tools.corpus import samples
from tools.fuzz import agreement, built, corpus, nested, report, run, streams, targets
from tools.fuzz.oracle import OracleError
from tools.fuzz.seeds import containers, seeds
from tools.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_takes_what_its_seeds_make(name: str) -> None:
    runs, found = run.mutants(name, seed=1, first=0, runs=8, seconds=600, folder=None)
    assert (runs, found) == (8, {})


def test_a_planted_fault_is_found_once_and_its_run_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(data: bytes) -> None:
        if len(data) % 3:
            raise IndexError("planted")
        raise CubinError("a refusal is no finding, but no target lets it out")

    monkeypatch.setattr(run, "STORE", tmp_path)
    monkeypatch.setitem(TARGETS, "containers", broken)
    runs, found = run.mutants("containers", 0, 0, 40, 600, None)
    assert runs == 40
    assert {kind for kind, _, _ in found} == {"IndexError", "CubinError"}
    stories = [path.with_suffix(".txt").read_text() for path in found.values()]
    number = int(next(s for s in stories if "planted" in s).split("run ")[1].split(":")[0])
    _, again = run.mutants("containers", 0, number, 1, 600, None)
    assert set(again.values()) <= set(found.values())


def test_a_finding_shrinks_to_what_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(data: bytes) -> None:
        if b"bad" in data:
            raise IndexError("planted")
        if b"worse" in data:
            raise KeyError("another one")

    monkeypatch.setitem(TARGETS, "containers", broken)
    assert run.shrunk("containers", b"x" * 700 + b"bad" + b"worse" + b"y" * 90) == b"bad"
    with pytest.raises(ValueError, match="no finding"):
        run.shrunk("containers", b"good")


def test_targets_of_streams_see_readers_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    body = streams.bodies("attribute_stream")[0]
    streams.attribute_stream(body)
    monkeypatch.setattr(attributes, "split_records", lambda data: [data])
    with pytest.raises(OracleError):
        streams.attribute_stream(body)


def test_every_kind_of_stream_has_seeds() -> None:
    for target in streams.STREAMS:
        assert streams.bodies(target.__name__), target.__name__


@pytest.mark.parametrize("name", containers())
def test_a_container_is_put_together_as_it_was(name: str) -> None:
    for data in containers()[name]:
        parts = nested.take_apart(data)
        if sniff(data[:1024]) in ("zstd", "ptx"):
            assert parts is None
            continue
        assert parts is not None
        again = nested.take_apart(parts.join(parts.pieces))
        assert again is not None
        assert again.pieces == parts.pieces
        if name in ("ar_archive", "fatbin_file", "elf_host", "windows_host", "macho_host"):
            assert parts.join(parts.pieces) == data


@pytest.mark.parametrize("name", ["ar_archive", "tar_archive", "zip_archive"])
def test_damage_in_a_container_leaves_the_container_whole(name: str) -> None:
    inner = 0
    for number in range(40):
        data, story = seeds(name)[0].mutate(Random(number))
        if story.startswith("in piece"):
            inner += 1
            assert list(images(data)), story
    assert inner > 10


def test_every_command_that_reads_a_file_is_run() -> None:
    without_file = {"explain", "spec", "completion", "man"}
    assert {line.split()[0] for line in targets.COMMANDS} == set(cli.COMMANDS) - without_file


def test_builder_input_reaches_all_methods_and_sees_a_file_that_breaks_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: set[str] = set()

    def spy(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def call(*args: Any, **kwargs: Any) -> Any:
            called.add(name)
            return real(*args, **kwargs)

        return call

    names = [method.__name__ for method in built._methods()]
    monkeypatch.setattr(
        built, "_methods", lambda: [spy(name, getattr(CubinBuilder, name)) for name in names]
    )
    made = 0

    def check(data: bytes, file: str) -> list[str]:
        nonlocal made
        made += 1
        return ["planted"]

    monkeypatch.setattr(built, "check", check)
    for number in range(600):
        with contextlib.suppress(OracleError):
            built.built(Random(number).randbytes(100))
    assert called == set(names)
    assert made > 3


def test_a_run_that_takes_too_long_is_seen_behind_every_boundary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def endless(*_: object) -> None:
        raise run.TooSlowError("planted")

    monkeypatch.setattr(zipfile, "ZipFile", endless)
    with pytest.raises(run.TooSlowError):
        TARGETS["containers"](containers()["zip_archive"][0])


def test_mutants_are_the_same_each_time() -> None:
    for name in ("containers", "cubin", "documents", "budgets", "zip_archive", "built"):
        made = [[seed.mutate(Random(5))[0] for seed in seeds(name)[:3]] for _ in range(2)]
        assert made[0] == made[1]


def test_a_corpus_that_grew_is_what_the_next_machine_begins_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "STORE", tmp_path / "fuzz")
    monkeypatch.setattr(corpus, "ARCHIVE", tmp_path / "corpus.tar.xz")
    corpus.grown("name").mkdir(parents=True)
    (corpus.grown("name") / "seed0").write_bytes(b"first")
    (corpus.grown("name") / "twice").write_bytes(b"first")
    assert corpus.keep() == 1
    corpus._kept.cache_clear()
    assert (corpus.kept("name"), corpus.kept("cubin")) == ([b"first"], [])
    (corpus.grown("cubin")).mkdir()
    (corpus.grown("cubin") / "more").write_bytes(b"second")
    (corpus.grown("name") / "seed0").unlink()
    (corpus.grown("name") / "twice").unlink()
    corpus.grown("name").rmdir()
    assert corpus.keep() == 2, "what did not grow here stays"
    corpus._kept.cache_clear()
    assert (corpus.kept("name"), corpus.kept("cubin")) == ([b"first"], [b"second"])
    corpus._kept.cache_clear()


def test_counts_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "COUNTS", tmp_path / "campaign.yaml")
    report.add("cubin", report.Count(runs=3, edges=7))
    report.add("cubin", report.Count(runs=4, edges=5, findings=1))
    assert report.counts()["cubin"] == report.Count(runs=7, edges=7, findings=1)
    assert "| 7 |" in report.page()


def test_the_page_is_what_the_tool_writes() -> None:
    assert report.PAGE.read_text(encoding="utf-8") == report.page()


def test_a_case_is_small_and_tells_its_story() -> None:
    cases = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text())["cases"]
    assert len({case["name"] for case in cases}) == len(cases)
    for case in cases:
        assert case["story"]
        assert len(case["make"]) < 200


def test_programs_are_never_run_through_a_shell() -> None:
    """SECURITY.md says so, and names the programs."""
    root = Path(__file__).parents[2]
    told = (root / "SECURITY.md").read_text()
    for folder in ("src", "writer"):
        for path in (root / folder).rglob("*.py"):
            text = path.read_text()
            assert "shell=True" not in text
            assert "os.system" not in text
    assert all(f"`{program}`" in told for program in ("ptxas", "gcc", "dot"))


@pytest.mark.skipif(bool(oracle.missing("nvlink")), reason="nvlink is not here")
def test_agreement_sees_a_difference_a_refusal_and_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvlink = oracle.find("nvlink")
    data = (samples.CUBINS / "callee.sm_90.rel.cubin").read_bytes()
    assert agreement.compare(data, "sm_90", nvlink, tmp_path) == (agreement.SAME, "")
    assert agreement.compare(data[:40], "sm_90", nvlink, tmp_path)[0] == agreement.BOTH_REFUSE
    monkeypatch.setattr(agreement, "link", lambda words, folder: (0, "", data))
    outcome, detail = agreement.compare(data, "sm_90", nvlink, tmp_path)
    assert outcome == agreement.DIFFERENT
    assert agreement.kind_of(detail) != detail
    assert agreement.compare(data[:40], "sm_90", nvlink, tmp_path)[0] == agreement.NVLINK_REFUSES
