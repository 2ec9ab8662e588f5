"""The ELF header: target, variant, form, in both ABIs and both classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cubinspec import Cubin
from tests.malformed.recipe import SAMPLES, Recipe


def opened(stem: str) -> Cubin:
    return Cubin.open(str(SAMPLES / f"{stem}.cubin"))


def test_every_sample_tells_the_target_it_was_built_for(
    samples: list[Path], sample_rows: dict[str, dict[str, Any]]
) -> None:
    """An `f` target leaves no mark in a cubin; `a` targets do."""
    for file in samples:
        arch = next(o for o in sample_rows[file.name]["options"] if o.startswith("-arch="))
        with Cubin.open(str(file)) as cubin:
            assert cubin.arch == arch.removeprefix("-arch=").removesuffix("f"), file.name
            assert f"sm_{cubin.header.sm}" == cubin.arch.removesuffix("a"), file.name


def test_every_sample_tells_its_form(samples: list[Path]) -> None:
    relocatable = {"rel", "pic", "debug", "line", "sanitize", "o0", "canary", "visible"}
    relocatable |= {"regs32", "link-r"}
    for file in samples:
        variant = file.name.split(".")[2]
        with Cubin.open(str(file)) as cubin:
            if variant == "ewp":
                assert cubin.header.type_name == "ET_EWP", file.name
            else:
                assert cubin.header.is_relocatable is (variant in relocatable), file.name


@pytest.mark.parametrize(
    ("stem", "os_abi", "abi_version", "bits"),
    [
        ("small.sm_35.exe.11.8.89", 0x33, 7, 64),
        ("params_32.sm_75.exe.11.8.89", 0x33, 7, 32),
        ("small.sm_90.exe.12.8.93", 0x33, 7, 64),
        ("small.sm_100.exe.12.8.93", 0x41, 8, 64),
        ("small.sm_75.exe", 0x41, 8, 64),
    ],
)
def test_abi_and_class_are_told(stem: str, os_abi: int, abi_version: int, bits: int) -> None:
    header = opened(stem).header
    assert (header.os_abi, header.abi_version) == (os_abi, abi_version)
    assert header.is_64 is (bits == 64)


def test_the_virtual_target_stands_in_abi_7_flags_only() -> None:
    assert opened("small.sm_90.exe.12.8.93").header.virtual_sm == 35  # .target sm_35
    assert opened("small.sm_90.exe").header.virtual_sm is None


def test_the_kind_of_code_stands_in_abi_8_flags_only() -> None:
    assert opened("small.sm_90.exe.12.8.93").header.kind is None
    assert opened("small.sm_90.exe").header.has_capsule is False
    assert opened("small.sm_100.exe").header.has_capsule is True


def test_the_flags_name_the_cuinfo_section() -> None:
    cubin = opened("small.sm_90.exe")
    assert cubin.header.cuinfo_section is not None
    assert cubin.sections[cubin.header.cuinfo_section].name == ".note.nv.cuinfo"
    assert opened("small.sm_90.exe.12.8.93").header.cuinfo_section is None


@pytest.mark.parametrize("stem", ["wgmma_sm90a.sm_90a.exe.12.0.140", "small.sm_90a.exe"])
def test_both_marks_of_an_accelerated_target_are_read(stem: str) -> None:
    """CUDA 12 marks `a` in e_flags, CUDA 13 in .nv.compat."""
    assert opened(stem).arch == "sm_90a"


def test_segments_cover_what_is_loaded() -> None:
    cubin = opened("small.sm_90.exe")
    assert [segment.name for segment in cubin.segments][:2] == ["PT_PHDR", "PT_LOAD"]
    code = cubin.sections[".text.small"]
    assert any(
        segment.p_flags & 1
        and segment.p_offset <= code.sh_offset
        and code.sh_offset + code.sh_size <= segment.p_offset + segment.p_filesz
        for segment in cubin.segments
    )
    assert opened("small.sm_90.rel").segments == []


def test_a_cubin_shows_its_name_and_target() -> None:
    assert repr(Cubin.parse((SAMPLES / "small.sm_90a.exe.cubin").read_bytes(), "k")) == (
        "<Cubin 'k' sm_90a>"
    )


def test_opening_reads_nothing_but_the_header() -> None:
    data = Recipe("small.sm_90.exe").apply(
        [{"section": n, "field": "sh_offset", "set": 1 << 60} for n in range(1, 18)]
    )
    cubin = Cubin.parse(data)
    assert cubin.header.sm == 90
    assert len(cubin.sections) == 18


def test_a_closed_cubin_has_released_its_file(tmp_path: Path) -> None:
    path = tmp_path / "k.cubin"
    path.write_bytes((SAMPLES / "small.sm_90.exe.cubin").read_bytes())
    with Cubin.open(str(path)) as cubin:
        assert cubin.size == path.stat().st_size
    cubin.close()  # a second time does no harm
    with pytest.raises(ValueError, match="closed"):
        cubin.data[0]
