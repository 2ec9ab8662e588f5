"""Metadata of the module as `cuobjdump -elf` prints it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cubinspec import Cubin
from cubinspec.report.dump import content
from cubinspec_generated import codes, records
from tools import oracle
from tools.linkcases.sweep.objects import Object, Section

NODE = re.compile(r"\t<0x([0-9a-f]+)>\tName:\t(.*)")
VALUE = re.compile(r"\t\tFormat: (EMFMT_\w+) *: (.*)")


def theirs(file: Path) -> list[tuple[object, ...]]:
    """Number and name of each node, format and text of each value."""
    text = oracle.find("cuobjdump").run("-elf", file).check().stdout
    block = text.split("\n.nv.metadata\n", 1)[1].split("\n\n\n", 1)[0]
    found: list[tuple[object, ...]] = []
    for line in block.splitlines():
        if node := NODE.fullmatch(line):
            found.append((int(node[1], 16), node[2]))
        elif value := VALUE.fullmatch(line):
            found.append((value[1], value[2]))
    return found


def ours(file: Path) -> list[tuple[object, ...]]:
    with Cubin.open(file) as cubin:
        fields = content(cubin, cubin.sections[".nv.metadata"])["fields"]
    rows: list[tuple[object, ...]] = []
    for field in fields:
        first, second = field.values()
        rows.append((first, second if "name" in field or isinstance(second, str) else hex(second)))
    return rows


@pytest.mark.oracle("cuobjdump")
def test_nodes_are_those_of_cuobjdump(samples: list[Path]) -> None:
    files = [file for file in samples if file.name.startswith("metadata.")]
    assert len(files) == 8
    for file in files:
        rows = ours(file)
        assert len(rows) == 8
        assert rows == theirs(file), file.name


@pytest.mark.oracle("cuobjdump")
def test_all_formats_are_those_of_cuobjdump(samples: list[Path], tmp_path: Path) -> None:
    """No PTX makes an index, so the section is made here; a planted number is seen."""
    base = next(file for file in samples if file.name == "small.sm_90.rel.cubin").read_bytes()
    values = [(codes.EMFMT_WORD, 9), (codes.EMFMT_INDEX, 3), (codes.EMFMT_STRING, 5)]
    node = records.METADATA_NODE.pack(6, 1, len(values))
    data = node + b"".join(records.METADATA_VALUE.pack(*value) for value in values)
    changed = Object(base)
    section = Section(".nv.metadata", codes.SHT_CUDA_METADATA, data=data)
    changed.add_section(section)
    file = tmp_path / "made.cubin"
    file.write_bytes(changed.bytes())
    rows = ours(file)
    assert [first for first, _ in rows] == [6, "EMFMT_WORD", "EMFMT_INDEX", "EMFMT_STRING"]
    assert rows == theirs(file)
    section.data = data.replace(records.METADATA_VALUE.pack(codes.EMFMT_INDEX, 3), bytes(8))
    file.write_bytes(changed.bytes())
    assert ours(file) != rows
