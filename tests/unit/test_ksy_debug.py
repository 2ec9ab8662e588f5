"""NVIDIA's debug sections, against the PTX that they were made from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cubinspec_generated.kaitai.elf_cuda import ElfCuda


def debug_sections(sample: Path) -> dict[str, Any]:
    tree = ElfCuda.from_bytes(sample.read_bytes())
    return {
        re.sub(r"\.\d+$", "", section.plain_name): section.body.content
        for section in tree.sections
        if section.body_kind == 17 and not section.is_mercury
    }


@pytest.fixture(scope="module")
def debug_files(samples: list[Path]) -> list[Path]:
    return [file for file in samples if ".debug" in file.name]


def test_each_place_has_a_type(debug_files: list[Path]) -> None:
    checked = 0
    for file in debug_files:
        found = debug_sections(file)
        if ".nv_debug_info_reg_sass" not in found:
            continue
        places = found[".nv_debug_info_reg_sass"].functions
        types = found[".nv_debug_info_reg_type"].functions
        assert [(f.name, f.num_places) for f in places] == [(f.name, f.num_types) for f in types]
        checked += len(places)
    assert checked


def test_types_are_those_of_the_ptx_declarations(debug_files: list[Path]) -> None:
    """`.reg .f32 %f<4>` gives %f1 the type f32, and so on for every register that is placed."""
    checked: set[str] = set()
    for file in debug_files:
        found = debug_sections(file)
        if ".nv_debug_info_reg_sass" not in found:
            continue
        text = "\n".join(found[".nv_debug_ptx_txt"].lines)
        declared = {
            prefix: kind
            for kind, names in re.findall(r"\.reg\s+\.(\w+)\s+([^;]+);", text)
            for prefix in re.findall(r"(%\w*?)<\d+>", names)
        }
        for where, what in zip(
            found[".nv_debug_info_reg_sass"].functions,
            found[".nv_debug_info_reg_type"].functions,
            strict=True,
        ):
            for place, kind in zip(where.places, what.types, strict=True):
                prefix = place.ptx_register.rstrip("0123456789")
                if prefix in declared:
                    assert kind.name == declared[prefix], (file.name, place.ptx_register)
                    checked.add(kind.name)
                assert place.ofs_start <= place.ofs_end
                assert place.part in (0, 1)
    assert len(checked) >= 3


def test_line_tables_name_the_ptx_section(samples: list[Path]) -> None:
    checked = 0
    for file in samples:
        tree = ElfCuda.from_bytes(file.read_bytes())
        names = {section.plain_name for section in tree.sections}
        for section in tree.sections:
            if section.body_kind != 17 or section.plain_name != ".nv_debug_line_sass":
                continue
            for unit in section.body.content.units:
                files = [entry.name for entry in unit.unit.header.files if entry.name]
                assert files or tree.header.e_type != 1, file.name
                assert set(files) <= names, file.name
                last = unit.unit.program[-1]
                assert last.extended.body.code.name == "end_sequence"
                checked += 1
    assert checked
