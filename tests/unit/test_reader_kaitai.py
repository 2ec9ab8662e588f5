"""The authoritative reader: byte ranges, paths, and errors of this package."""

from __future__ import annotations

from pathlib import Path

import pytest

from cubinspec import Cubin, CubinError
from cubinspec.errors import BadIndexError
from cubinspec.reader.kaitai import FIELD, Code, walk
from cubinspec.report.coverage import coverage_record
from cubinspec.report.tree import tree_record
from tests.malformed.recipe import SAMPLES, Recipe


def opened(stem: str) -> Cubin:
    return Cubin.open(str(SAMPLES / f"{stem}.cubin"))


@pytest.mark.parametrize(
    "stem", ["small.sm_100.exe", "params_32.sm_35.rel.11.8.89", "data.sm_90.rel"]
)
def test_ranges_lie_in_the_file_and_hold_the_value(stem: str) -> None:
    cubin = opened(stem)
    paths = set()
    for path, start, end, value, kind in walk(cubin.tree()):
        assert 0 <= start < end <= cubin.size
        assert path not in paths
        paths.add(path)
        if isinstance(value, bytes):
            assert bytes(cubin.data[start:end]) == value, path
        elif isinstance(value, int) and kind == FIELD:
            size = end - start
            assert value % (1 << 8 * size) == int.from_bytes(cubin.data[start:end], "little"), path


def test_the_spec_says_what_the_model_says() -> None:
    cubin = opened("small.sm_90.exe")
    fields = {path: value for path, _, _, value, _ in walk(cubin.tree())}
    assert fields["header.e_shoff"] == cubin.header.e_shoff
    for section in cubin.sections:
        assert fields[f"section_headers[{section.index}].sh_offset"] == section.sh_offset
        assert fields[f"section_headers[{section.index}].sh_type"] == section.sh_type


def test_codes_carry_their_name() -> None:
    ((_, _, _, value, _),) = walk(opened("small.sm_90.exe").tree(), "header.e_type")
    assert isinstance(value, Code)
    assert (value, value.name) == (2, "et_exec")


@pytest.mark.parametrize("path", ["header", "sections[9]", "header.e_flags", "gaps", "gaps[0]"])
def test_a_path_gives_the_part_of_the_whole_tree_below_it(path: str) -> None:
    cubin = opened("small.sm_100.exe")
    below = (path, f"{path}.", f"{path}[")
    expected = [
        field
        for field in tree_record(cubin)["fields"]
        if field["path"] == path or field["path"].startswith(below[1:])
    ]
    assert expected
    assert tree_record(cubin, path)["fields"] == expected


def test_only_the_part_asked_for_is_read() -> None:
    data = Recipe("small.sm_90.exe").apply(
        [{"section": ".nv.info", "field": "sh_offset", "set": 1 << 40}]
    )
    cubin = Cubin.parse(data)
    assert tree_record(cubin, "header.e_type")["fields"][0]["value"] == 2
    with pytest.raises(CubinError):
        tree_record(cubin)


def test_a_path_that_does_not_exist_is_a_bad_index() -> None:
    for path in ("nothing", "header.nothing", "sections[999]", "gaps[999]", "head"):
        with pytest.raises(BadIndexError):
            tree_record(opened("small.sm_90.exe"), path)


def test_every_byte_of_every_sample_is_claimed(samples: list[Path]) -> None:
    for file in samples[::7]:
        with Cubin.open(str(file)) as cubin:
            record = coverage_record(cubin)
        claimed = record["named"] + record["padding"] + sum(record["opaque"].values())
        assert (record["unclaimed"], claimed) == (0, record["size"]), file.name


def test_bytes_behind_the_tables_are_unclaimed_unless_zero() -> None:
    data = (SAMPLES / "small.sm_90.exe.cubin").read_bytes()
    plain = coverage_record(Cubin.parse(data))
    zeros = coverage_record(Cubin.parse(data + bytes(32)))
    other = coverage_record(Cubin.parse(data + b"\0\0junk!\0"))
    assert zeros["padding"] == plain["padding"] + 32
    assert zeros["unclaimed"] == 0
    assert other["unclaimed"] == 8
    assert other["named"] == plain["named"]
