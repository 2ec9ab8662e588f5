"""cubinspec against NVIDIA's cuobjdump and binutils' readelf, field by field.

One test per tool over all carried samples, one over the fetched corpus. A difference that
accepted.yaml does not name fails; so does an entry of accepted.yaml that explains nothing.
"""

from __future__ import annotations

import concurrent.futures
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cubinspec import Cubin
from tests.differential import cuobjdump_elf, readelf, res_usage
from tests.differential.rows import Difference, View, compare, load_accepted, unexplained
from tools import oracle

Check = Callable[[Path], list[Difference]]


def _cuobjdump(option: str, theirs: Callable[[str], View], ours: Callable[[Cubin], View]) -> Check:
    def check(path: Path) -> list[Difference]:
        result = oracle.find("cuobjdump").run(option, path)
        refused = result.returncode != 0 or "does not contain device code" in result.stdout
        message = " ".join((result.stderr or result.stdout).split()).replace(str(path), path.name)
        with Cubin.open(str(path)) as cubin:
            view = ours(cubin)
        if refused:
            return [Difference(path.name, "refused", (), message, "read")]
        return list(compare(path.name, theirs(result.stdout), view))

    return check


def _readelf(path: Path) -> list[Difference]:
    result = oracle.run(["readelf", "-hSsrlW", str(path)]).check()
    with Cubin.open(str(path)) as cubin:
        return list(compare(path.name, readelf.theirs(result.stdout), readelf.ours(cubin)))


CHECKS: dict[str, Check] = {
    "elf": _cuobjdump("-elf", cuobjdump_elf.theirs, cuobjdump_elf.ours),
    "res-usage": _cuobjdump("-res-usage", res_usage.theirs, res_usage.ours),
    "readelf": _readelf,
}
TOOLS = [
    pytest.param("elf", marks=pytest.mark.oracle("cuobjdump")),
    pytest.param("res-usage", marks=pytest.mark.oracle("cuobjdump")),
    pytest.param(
        "readelf",
        marks=pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not here"),
    ),
]


def _agree(tool: str, files: list[Path], where: str) -> None:
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        differences = [d for found in pool.map(CHECKS[tool], files) for d in found]
    left, idle = unexplained(differences, load_accepted(tool, where))
    assert not left, f"{len(left)} differences:\n" + "\n".join(map(str, left[:40]))
    assert not idle, f"accepted.yaml: nothing differs as these say: {idle}"


@pytest.mark.parametrize("tool", TOOLS)
def test_samples_read_as_the_tool_reads_them(tool: str, samples: list[Path]) -> None:
    _agree(tool, samples, "samples")


@pytest.mark.corpus
@pytest.mark.parametrize("tool", TOOLS)
def test_corpus_reads_as_the_tool_reads_it(tool: str, corpus: list[Path]) -> None:
    _agree(tool, corpus, "corpus")


# -- the comparison itself sees what it should -------------------------------------------------


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not here")
def test_a_planted_symbol_value_is_seen(samples: list[Path]) -> None:
    text = oracle.run(["readelf", "-hSsrlW", str(samples[0])]).check().stdout
    view = readelf.theirs(text)
    key = next(key for key, row in view["symbols"].items() if row["name"] == "small")
    view["symbols"][key]["size"] = 1
    with Cubin.open(str(samples[0])) as cubin:
        (difference,) = compare("x", view, readelf.ours(cubin))
    assert difference.what == "symbols.size"


@pytest.mark.oracle("cuobjdump")
@pytest.mark.parametrize(
    ("option", "module", "old", "new", "what"),
    [
        ("-elf", cuobjdump_elf, "R_CUDA_ABS32_LO_32", "R_CUDA_ABS32_HI_32", "relocations.type"),
        ("-elf", cuobjdump_elf, "register count: ", "register count: 1", "attributes.value"),
        ("-elf", cuobjdump_elf, "EIATTR_EXIT_INSTR_OFFSETS", "EIATTR_X", "attributes.name"),
        ("-elf", cuobjdump_elf, "CUDA_CALLGRAPH", "CUDA_PROTOTYPE", "sections.type"),
        ("-elf", cuobjdump_elf, " <0,-4>", "", "pairs"),
        ("-res-usage", res_usage, "REG:", "REG:1", "usage.REG"),
    ],
)
def test_a_planted_difference_is_seen(
    option: str, module: object, old: str, new: str, what: str, samples: list[Path]
) -> None:
    sample = next(path for path in samples if path.name == "small.sm_90.rel.cubin")
    text = oracle.find("cuobjdump").run(option, sample).check().stdout
    assert old in text
    with Cubin.open(str(sample)) as cubin:
        view = module.ours(cubin)  # type: ignore[attr-defined]
    found = compare("x", module.theirs(text.replace(old, new)), view)  # type: ignore[attr-defined]
    assert what in {difference.what for difference in found}
