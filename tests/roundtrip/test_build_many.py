"""Files of ptxas with 65,280 sections and more, which have tables of indices, built again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cubinspec.reader.elf import Elf
from tests.roundtrip.ptxas_facts import builder_of
from tools.oracle import Tool

#: What ptxas takes for 21,800 kernels on a machine where others run, in seconds.
PATIENCE = 900


def empty(number: int) -> str:
    return f".visible .entry k{number}() {{ ret; }}"


def with_parameters(number: int) -> str:
    return (
        f".visible .entry k{number}(.param .u64 a, .param .u32 b)"
        " { .reg .b32 %r<3>; .reg .b64 %d<3>; ld.param.u64 %d1, [a]; ld.param.u32 %r1, [b];"
        " st.global.u32 [%d1], %r1; ret; }"
    )


def with_shared(number: int) -> str:
    return (
        f".visible .entry k{number}() {{ .reg .b32 %r<3>; .shared .align 4 .b8 s[64];"
        " mov.u32 %r1, %tid.x; st.volatile.shared.u32 [s], %r1; ret; }"
    )


def every_other_shared(number: int) -> str:
    return (with_shared if number % 2 else empty)(number)


@pytest.mark.oracle("ptxas")
@pytest.mark.parametrize(
    ("arch", "options", "kernel", "count", "num_tables"),
    [
        ("sm_80", [], empty, 13_060, 1),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in (
                ("sm_80", [], empty, 13_053, 0),
                ("sm_80", [], empty, 13_054, 1),
                ("sm_80", ["-c"], empty, 16_316, 0),
                ("sm_80", ["-c"], empty, 16_317, 1),
                ("sm_90", [], empty, 21_754, 0),
                ("sm_90", [], empty, 21_755, 1),
                ("sm_90", [], with_parameters, 21_800, 1),
                ("sm_90", [], with_shared, 16_330, 1),
                ("sm_90", [], every_other_shared, 18_700, 1),
                ("sm_90", ["-c"], empty, 21_800, 1),
                ("sm_90", ["-ewp"], with_parameters, 21_800, 1),
                ("sm_100", ["-c"], empty, 13_300, 2),
                ("sm_100", ["-c"], empty, 21_800, 2),
            )
        ),
    ],
)
def test_same_file_as_ptxas_makes_of_many_kernels(
    arch: str,
    options: list[str],
    kernel: Callable[[int], str],
    count: int,
    num_tables: int,
    ptxas: Tool,
    tmp_path: Path,
) -> None:
    source, output = tmp_path / "a.ptx", tmp_path / "out.cubin"
    head = f".version 9.0\n.target {arch}\n.address_size 64\n"
    source.write_text(head + "\n".join(map(kernel, range(count))), encoding="utf-8")
    ptxas.run(f"-arch={arch}", *options, source, "-o", output, timeout=PATIENCE).check()
    data = output.read_bytes()
    names = Elf(data, str(output)).section_names
    assert sum(name.endswith(".symtab_shndx") for name in names) == num_tables
    # not `==`: pytest would compare millions of bytes to tell what differs
    is_same = builder_of(data, arch).to_bytes() == data
    assert is_same
