"""Debug data against nvdisasm, cuobjdump and readelf: every sample that has some."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cubinspec import Cubin
from tests.differential import debug_views as views
from tools import oracle

NEWEST_REFUSED = ("sm_35", "sm_50", "sm_61")
"""Targets that nvdisasm 13.5 does not know."""


@pytest.fixture(scope="module")
def debug_files(samples: list[Path]) -> list[Path]:
    """Every sample with a section of debug data that is not only frames."""
    found = []
    for file in samples:
        with Cubin.open(str(file)) as cubin:
            names = {section.name for section in cubin.sections} - {"", ".debug_frame"}
        if any(name.startswith((".debug_", ".nv_debug_")) for name in names):
            found.append(file)
    assert len(found) > 30
    return found


@pytest.mark.oracle("nvdisasm")
def test_lines_are_those_of_nvdisasm(debug_files: list[Path]) -> None:
    compared = inlined = 0
    for file in debug_files:
        if any(f".{target}." in file.name for target in NEWEST_REFUSED):
            continue
        text = oracle.find("nvdisasm").run("-g", "-gi", "-gp", "-c", file).check().stdout
        with Cubin.open(str(file)) as cubin:
            ours = views.our_lines(cubin)
        for place, lines in views.nvdisasm_lines(text).items():
            assert ours.get(place, ((), None)) == lines, (file.name, place)
            compared += lines != ((), None)
            inlined += len(lines[0]) > 2
    assert compared > 3000
    assert inlined > 50


@pytest.mark.oracle("nvdisasm")
def test_a_planted_line_is_seen(debug_files: list[Path]) -> None:
    file = next(file for file in debug_files if file.name == "inlined.sm_90.lineexe.cubin")
    text = oracle.find("nvdisasm").run("-g", "-gi", "-gp", "-c", file).check().stdout
    planted = text.replace(", line 15", ", line 16", 1)
    assert planted != text
    with Cubin.open(str(file)) as cubin:
        ours = views.our_lines(cubin)
    assert any(ours[place] != lines for place, lines in views.nvdisasm_lines(planted).items())


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not here")
def test_entries_are_those_of_readelf(debug_files: list[Path]) -> None:
    compared = listed = 0
    for file in debug_files:
        with Cubin.open(str(file)) as cubin:
            ours = views.our_entries(cubin)
        if not ours:
            continue
        text = oracle.run(["readelf", "--debug-dump=info", str(file)]).stdout
        theirs = views.readelf_entries(text)
        assert [entry[:3] for entry in theirs] == [entry[:3] for entry in ours], file.name
        for left, right in zip(theirs, ours, strict=True):
            for (name, value), (our_name, our_value) in zip(left[3], right[3], strict=True):
                assert name == our_name, (file.name, hex(left[0]))
                assert views.same_value(value, our_value), (file.name, hex(left[0]), name)
                compared += 1
        text = oracle.run(["readelf", "--debug-dump=loc", str(file)]).stdout
        with Cubin.open(str(file)) as cubin:
            locations = views.our_locations(cubin)
        # lists that only a relocation refers to are not printed
        found = views.readelf_locations(text)
        assert found == locations[: len(found)], file.name
        listed += len(found)
    assert compared > 900
    assert listed > 20


@pytest.mark.oracle("cuobjdump")
def test_debug_sections_are_those_of_cuobjdump(debug_files: list[Path]) -> None:
    compared = dict.fromkeys(("lines", "ptx", "places", "types", "locations", "frames"), 0)
    for file in debug_files:
        text = oracle.find("cuobjdump").run("-elf", file).check().stdout
        parts = views.cuobjdump_parts(text)
        with Cubin.open(str(file)) as cubin:
            pairs = {
                "lines": (
                    list(views.cuobjdump_rows(parts.get(".debug_line", ""))),
                    list(views.our_rows(cubin, ".debug_line")),
                ),
                "ptx": (
                    list(views.cuobjdump_rows(parts.get(".nv_debug_line_sass", ""))),
                    list(views.our_rows(cubin, ".nv_debug_line_sass")),
                ),
                "places": (
                    views.cuobjdump_places(parts.get(".nv_debug_info_reg_sass", "")),
                    views.our_places(cubin),
                ),
                "types": (
                    views.cuobjdump_types(parts.get(".nv_debug_info_reg_type", "")),
                    views.our_types(cubin),
                ),
                "locations": (
                    views.cuobjdump_locations(parts.get(".debug_loc", "")),
                    views.our_locations(cubin),
                ),
                "frames": (
                    views.cuobjdump_frames(parts.get(".debug_frame", "")),
                    views.our_frames(cubin),
                ),
            }
        for what, (theirs, ours) in pairs.items():
            # cuobjdump stops at a location that starts at address 0
            wanted = ours[: len(theirs)] if what == "locations" else ours
            assert wanted == theirs, (file.name, what)
            compared[what] += len(theirs)
    assert min(compared.values()) > 20, compared
