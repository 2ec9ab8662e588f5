"""The linker's own writer gives the bytes that the emitter gives for the same program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cubinspec_writer.linker import LinkOptions, LinkResult, Named, command, link
from cubinspec_writer.linker.write import described
from tools.linkcases import compare, stored
from tools.linkcases.basic import BasicProgram
from tools.oracle import Tool

#: All targets below sm_100, whose programs have one half.
ARCHES = ("75", "80", "86", "88", "89", "90", "90a")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    stored.unpack(folder, ARCHES)
    return folder


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> list[LinkResult]:
    """The results of all links by the command."""
    made: list[LinkResult] = []

    def recorded(*words: Any) -> LinkResult:
        made.append(link(*words))
        return made[-1]

    monkeypatch.setattr(command, "link", recorded)
    return made


def _link(folder: Path) -> None:
    words = json.loads((folder / "command.json").read_text(encoding="utf-8"))["words"]
    compare.link(words, folder / "inputs")


@pytest.mark.parametrize("arch", ARCHES)
def test_both_writers_agree_on_every_case(
    arch: str, unpacked: Path, results: list[LinkResult]
) -> None:
    folders = sorted(unpacked.glob(f"*/{arch}"))
    expected = [row for row in stored.table().values() if row.arch == arch]
    assert len(expected) * 0.9 <= len(folders) <= len(expected)
    for folder in folders:
        results.clear()
        _link(folder)
        for result in results:
            assert described.write(result.half) == result.bytes, folder.parent.name


@pytest.mark.oracle("ptxas")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("seed", [1, 5, 9, 14, 86])
def test_both_writers_agree(seed: int, arch: str, ptxas: Tool, tmp_path: Path) -> None:
    inputs = []
    for number, text in enumerate(BasicProgram(seed).files):
        source, target = tmp_path / f"{number}.ptx", tmp_path / f"{number}.cubin"
        source.write_text(text, encoding="utf-8")
        ptxas.run(f"-arch={arch}", "-c", source, "-o", target).check()
        inputs.append(Named(target.name, target.read_bytes()))
    for preserve in (False, True):
        result = link(inputs, LinkOptions(arch, preserve_relocs=preserve))
        assert described.write(result.half) == result.bytes


@pytest.mark.parametrize("name", ["symbol_fields", "reloc_bytes", "output_type", "callgraph_bytes"])
def test_a_writer_with_another_rule_is_seen(
    name: str, unpacked: Path, results: list[LinkResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    _link(unpacked / "weak_late" / "80")
    (result,) = results
    assert described.write(result.half) == result.bytes
    rule = getattr(described, name)

    def wrong(*arguments: Any) -> Any:
        found = rule(*arguments)
        if isinstance(found, bytes):
            return bytes(len(found))
        return (found[0], found[1], found[2] + 1) if isinstance(found, tuple) else found + 1

    monkeypatch.setattr(described, name, wrong)
    assert described.write(result.half) != result.bytes
