"""The linker's own writer gives the bytes that the emitter gives for the same program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cubinspec.format import far, packing
from cubinspec_writer.emitter import symtab
from cubinspec_writer.linker import LinkOptions, LinkResult, Named, command, link
from cubinspec_writer.linker.write import described, direct
from tools.linkcases import build, compare, stored
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


def _of_today(unpacked: Path, arch: str) -> list[Path]:
    """The other writer knows today's form of files only, not those of other toolkits."""
    return sorted(f for f in unpacked.glob(f"*/{arch}") if "@" not in f.parent.name)


@pytest.mark.parametrize("arch", ARCHES)
def test_both_writers_agree_on_every_case(
    arch: str, unpacked: Path, results: list[LinkResult]
) -> None:
    folders = _of_today(unpacked, arch)
    expected = [r for r in stored.table().values() if r.arch == arch and "@" not in r.case]
    assert len(expected) * 0.9 <= len(folders) <= len(expected)
    for folder in folders:
        results.clear()
        _link(folder)
        for result in results:
            assert described.write(result.half) == result.bytes, folder.parent.name


def _with_libraries() -> list[build.Case]:
    """Cases that read NVIDIA's libraries, which are not stored for that reason."""
    arches = ("80", "90")
    return [c for c in build.find([build.CASES], arches) if stored.needs_libraries(c)]


def test_some_cases_need_libraries() -> None:
    assert len({case.name for case in _with_libraries()}) >= 5


@pytest.mark.oracle("ptxas", "nvlink", "nvcc")
@pytest.mark.parametrize("case", _with_libraries(), ids=lambda case: f"{case.name}-{case.arch}")
def test_both_writers_agree_on_cases_with_libraries(
    case: build.Case, tmp_path: Path, results: list[LinkResult]
) -> None:
    folder = build.build(case, tmp_path)
    words = json.loads((folder / "cmd.json").read_text(encoding="utf-8"))["argv"][1:]
    compare.link(words, folder / "inputs")
    (result,) = results
    assert described.write(result.half) == result.bytes


#: As many sections as fit into `.symtab` in place of 0xff00.
_FEW = 12


@pytest.mark.pure
@pytest.mark.parametrize("more", [(), ("-r",), ("--preserve-relocs",)])
@pytest.mark.parametrize("arch", ["80", "90"])
def test_both_writers_agree_where_section_indices_are_far(
    arch: str,
    more: tuple[str, ...],
    unpacked: Path,
    results: list[LinkResult],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Real files of 0xff00 sections are large, so every index from a small one on counts as far."""
    for module in (direct, far, packing, symtab):
        monkeypatch.setattr(module, "SHN_LORESERVE", _FEW)
    num_far = 0
    folders = _of_today(unpacked, arch)
    for folder in folders[::3]:
        results.clear()
        words = json.loads((folder / "command.json").read_text(encoding="utf-8"))["words"]
        compare.link([*words, *more], folder / "inputs")
        for result in results:
            num_far += result.bytes.count(b".symtab_shndx\0") and b".text." in result.bytes
            assert described.write(result.half) == result.bytes, folder.parent.name
    assert num_far > 20


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
