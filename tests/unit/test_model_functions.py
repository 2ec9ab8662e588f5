"""Resources of kernels against what their sources ask for (tests/data/src/*.ptx)."""

from __future__ import annotations

import pytest

from cubinspec import Cubin
from cubinspec.errors import BadIndexError
from cubinspec.model.function import Function
from tests.malformed.recipe import SAMPLES

#: One per generation, both ABIs, executable and relocatable, with and without a Mercury half.
KERNELS = (
    *("kernels.sm_35.exe.11.8.89", "kernels.sm_61.rel.11.8.89", "kernels.sm_75.exe"),
    *("kernels.sm_75.rel", "kernels.sm_90.exe", "kernels.sm_90.rel", "kernels.sm_100.rel"),
    *("kernels.sm_100.exe", "kernels.sm_120.exe", "kernels.sm_101f.exe.12.9.86"),
)
PARAMS = (
    *("params.sm_37.exe.11.8.89", "params.sm_60.exe.11.8.89", "params.sm_75.rel"),
    *("params.sm_90.exe", "params.sm_103.rel", "params.sm_110f.rel.13.2.86"),
)
#: What executables from sm_90 on reserve for the system at the start of shared memory.
RESERVED = 1024


def opened(stem: str) -> Cubin:
    return Cubin.open(str(SAMPLES / f"{stem}.cubin"))


def function(cubin: Cubin, name: str) -> Function:
    return next(function for function in cubin.functions if function.name == name)


def reserved(cubin: Cubin) -> int:
    return 0 if cubin.header.is_relocatable or cubin.header.sm < 90 else RESERVED


@pytest.mark.parametrize("stem", KERNELS)
def test_every_entry_of_the_source_is_a_kernel(stem: str) -> None:
    assert {kernel.name for kernel in opened(stem).kernels} == {
        *("empty", "bounded", "required", "few_registers", "shared_static", "shared_dynamic"),
        *("named_barriers", "any_barrier", "exits"),
    }


@pytest.mark.parametrize("stem", KERNELS)
def test_maxntid_bounds_the_block(stem: str) -> None:
    bounded = opened(stem).kernel("bounded")
    assert bounded.max_ntid == (256, 2, 1)
    assert bounded.reqntid is None
    assert bounded.max_threads == 512


@pytest.mark.parametrize("stem", KERNELS)
def test_reqntid_fixes_the_block(stem: str) -> None:
    required = opened(stem).kernel("required")
    assert required.reqntid == (64, 2, 2)
    assert required.max_ntid is None
    assert required.max_threads == 256


@pytest.mark.parametrize("stem", KERNELS)
def test_a_kernel_without_directives_has_no_bound(stem: str) -> None:
    empty = opened(stem).kernel("empty")
    assert (empty.max_ntid, empty.reqntid, empty.max_threads) == (None, None, None)
    assert (empty.cluster, empty.max_cluster_rank) == (None, None)
    assert empty.max_registers == 255


@pytest.mark.parametrize("stem", KERNELS)
def test_maxnreg_caps_the_registers(stem: str) -> None:
    few = opened(stem).kernel("few_registers")
    assert few.max_registers == 24
    assert few.registers is not None
    assert 0 < few.registers <= 24


@pytest.mark.parametrize("stem", KERNELS)
def test_minnctapersm_lowers_the_register_cap(stem: str) -> None:
    """512 threads twice on one multiprocessor of 65,536 registers leave 64 for each."""
    assert opened(stem).kernel("bounded").max_registers == 64


@pytest.mark.parametrize("stem", KERNELS)
def test_static_shared_memory_is_the_sum_of_its_arrays(stem: str) -> None:
    cubin = opened(stem)
    assert cubin.kernel("shared_static").shared == 1040 + 48 + reserved(cubin)
    assert cubin.kernel("few_registers").shared == reserved(cubin)


@pytest.mark.parametrize("stem", KERNELS)
def test_named_barriers_are_counted_to_the_highest(stem: str) -> None:
    cubin = opened(stem)
    assert cubin.kernel("empty").barriers == 0
    assert cubin.kernel("shared_static").barriers == 1  # barrier 0
    assert cubin.kernel("named_barriers").barriers == 8  # 1, 3, 5 and 7
    assert cubin.kernel("any_barrier").barriers == 16  # a register says which


@pytest.mark.parametrize("stem", KERNELS)
def test_exits_lie_in_the_code_one_instruction_apart(stem: str) -> None:
    cubin = opened(stem)
    size = 8 if cubin.header.sm < 70 else 16
    exits = cubin.kernel("exits")
    assert len(exits.exit_offsets) >= 2
    for kernel in cubin.kernels:
        assert kernel.exit_offsets
        assert all(at % size == 0 and 0 <= at < kernel.code_size for at in kernel.exit_offsets)


@pytest.mark.parametrize("stem", KERNELS)
def test_the_parameter_block_starts_and_ends_in_constant_bank_0(stem: str) -> None:
    cubin = opened(stem)
    start = {35: 320, 61: 320, 75: 352, 90: 528}.get(cubin.header.sm, 896)
    for kernel in cubin.kernels:
        assert kernel.constant[0] == start + (kernel.param_size or 0)
        assert kernel.param_offset in (None, start)


@pytest.mark.parametrize("stem", PARAMS)
def test_scalars_are_aligned_to_their_size(stem: str) -> None:
    scalars = opened(stem).kernel("scalars")
    assert [(p.ordinal, p.offset, p.size) for p in scalars.params] == [
        *((0, 0, 1), (1, 1, 1), (2, 2, 2), (3, 4, 2), (4, 8, 4), (5, 12, 4), (6, 16, 8)),
        *((7, 24, 8), (8, 32, 4), (9, 40, 8), (10, 48, 1), (11, 50, 2), (12, 52, 4), (13, 56, 8)),
    ]
    assert scalars.param_size == 64


@pytest.mark.parametrize("stem", PARAMS)
def test_structs_are_aligned_as_they_ask(stem: str) -> None:
    structs = opened(stem).kernel("structs")
    assert [(p.offset, p.size) for p in structs.params] == [
        *((0, 80), (80, 3), (88, 16), (104, 12), (120, 8))
    ]
    assert structs.param_size == 128


@pytest.mark.parametrize("stem", PARAMS)
def test_pointers_say_how_their_target_is_aligned(stem: str) -> None:
    pointers = opened(stem).kernel("pointers")
    assert [p.pointee_log_alignment for p in pointers.params] == [4, 2, 3, 0]
    to_global, to_const, to_shared, generic = (p.pointee_space for p in pointers.params)
    assert len({to_global, to_shared, generic}) == 3
    # from sm_90 on a pointer to constants is told as one to global memory
    assert (to_const == to_global) is (opened(stem).header.sm >= 90)


@pytest.mark.parametrize("stem", PARAMS)
def test_a_block_of_four_kilobytes_is_one_parameter(stem: str) -> None:
    block = opened(stem).kernel("block_of_4k")
    assert [(p.offset, p.size) for p in block.params] == [(0, 4096)]
    assert block.param_size == 4096


@pytest.mark.parametrize("stem", ["big_params_sm70.sm_75.exe", "big_params_sm70.sm_100.rel"])
def test_a_block_beyond_four_kilobytes_uses_the_second_form(stem: str) -> None:
    kernels = opened(stem).kernels
    assert kernels
    for kernel in kernels:
        assert (kernel.param_size or 0) > 4096
        assert sum(p.size for p in kernel.params) <= (kernel.param_size or 0)
        assert all(p.constant_bank is None for p in kernel.params)


@pytest.mark.parametrize("stem", PARAMS)
def test_a_kernel_without_parameters_has_none(stem: str) -> None:
    none = opened(stem).kernel("no_params")
    assert none.params == []
    assert none.num_params == 0
    assert none.param_size is None


def test_elf32_parameters_and_pointers_are_narrow() -> None:
    narrow = opened("params_32.sm_75.rel.11.8.89").kernel("narrow")
    assert [(p.offset, p.size) for p in narrow.params] == [(0, 4), (8, 8), (16, 24), (40, 1)]
    assert (narrow.param_size, narrow.shared, narrow.barriers) == (41, 512, 1)
    assert narrow.max_threads == 128


@pytest.mark.parametrize(
    "stem", ["cluster_sm90.sm_90.exe", "cluster_sm90.sm_100.rel", "cluster_sm90.sm_120.exe"]
)
def test_cluster_directives_are_told(stem: str) -> None:
    cubin = opened(stem)
    assert cubin.kernel("fixed_cluster").cluster == (2, 2, 1)
    assert cubin.kernel("fixed_cluster").reqntid == (128, 1, 1)
    assert cubin.kernel("explicit_cluster").max_cluster_rank == 8
    assert cubin.kernel("explicit_cluster").cluster is None
    assert cubin.kernel("bulk").mbarriers == 1
    assert cubin.kernel("dependent").cluster is None


@pytest.mark.parametrize(
    ("stem", "registers"),
    [
        *(("spills.sm_35.regs32exe.11.8.89", 32), ("spills.sm_75.regs32", 32)),
        *(("spills.sm_90.regs32exe", 32), ("spills.sm_100.regs32", 32)),
    ],
)
def test_spilled_values_take_stack(stem: str, registers: int) -> None:
    spills = opened(stem).kernel("spills")
    assert spills.registers == registers
    assert spills.max_registers == registers
    # 64 values are alive, so at least 32 of four bytes leave the registers
    assert (spills.frame_size or 0) >= 128
    assert spills.stack == spills.frame_size


@pytest.mark.parametrize("stem", ["data.sm_35.rel.11.8.89", "data.sm_90.rel", "data.sm_120.rel"])
def test_local_arrays_take_stack_of_their_own_function(stem: str) -> None:
    cubin = opened(stem)
    assert (function(cubin, "address_of_local").frame_size or 0) >= 512
    assert 64 <= (function(cubin, "spaces").frame_size or 0) < 512


@pytest.mark.parametrize("stem", ["data.sm_35.exe.11.8.89", "data.sm_90.exe", "data.sm_120.exe"])
def test_the_linked_stack_counts_callees(stem: str) -> None:
    assert (opened(stem).kernel("spaces").stack or 0) >= 512 + 64


def test_relocatable_files_keep_device_functions_apart() -> None:
    kinds = {f.name: f.kind for f in opened("calls.sm_90.rel").functions}
    assert kinds == {
        **dict.fromkeys(("leaf", "weak_leaf", "local_leaf", "recursive"), "function"),
        **dict.fromkeys(("direct", "indirect", "never_returns"), "kernel"),
    }


def test_a_function_inside_a_kernel_owns_none_of_its_resources() -> None:
    cubin = opened("small.sm_90.exe")
    kernel, inner = cubin.kernel("small"), function(cubin, "$small$scale")
    assert inner.section == kernel.section
    assert (kernel.shared, kernel.max_threads, len(kernel.params)) == (RESERVED + 512, 128, 2)
    assert (inner.shared, inner.max_threads, inner.params, inner.attributes) == (0, None, [], [])
    assert inner.code_offset + inner.code_size <= kernel.code_size


def test_a_file_without_code_has_no_functions() -> None:
    for stem in (
        "data_only.sm_90.exe",
        "empty_module.sm_100.rel",
        "empty_module.sm_35.ewp.11.8.89",
    ):
        assert opened(stem).functions == []


def test_the_whole_program_form_has_its_kernels() -> None:
    for stem in ("small.sm_100.ewp", "small.sm_75.ewp", "params_32.sm_61.ewp.11.8.89"):
        cubin = opened(stem)
        assert cubin.header.type_name == "ET_EWP"
        (kernel,) = cubin.kernels
        assert (kernel.shared, kernel.barriers, kernel.max_threads) == (512, 1, 128)


def test_a_file_stripped_of_sass_shows_its_mercury_half() -> None:
    whole = opened("small.sm_100.exe")
    data = bytearray(whole.data)
    # the plain symbol table becomes an unknown section, as if only Mercury were there
    at = whole.header.e_shoff + 64 * whole.sections[".symtab"].index
    data[at + 4 : at + 8] = (0x6FFFFFFF).to_bytes(4, "little")
    (kernel,) = Cubin.parse(bytes(data)).kernels
    assert kernel.name == "small"
    assert kernel.section.name == ".nv.capmerc.text.small"
    assert (kernel.max_threads, kernel.barriers, kernel.registers) == (128, 1, 10)
    assert [(p.offset, p.size) for p in kernel.params] == [(0, 8), (8, 4)]


def test_a_kernel_that_is_not_there_is_a_bad_index() -> None:
    with pytest.raises(BadIndexError, match="no kernel is named 'absent'"):
        opened("small.sm_90.exe").kernel("absent")


def test_attributes_are_told_in_file_order() -> None:
    kernel = opened("small.sm_90.exe").kernel("small")
    offsets = [record.offset for record in kernel.attributes]
    assert offsets == sorted(offsets)
    assert "EIATTR_MAX_THREADS" in [record.name for record in kernel.attributes]
    assert kernel.info_rows[0][1:] == (
        *(kernel.attributes[0].format, kernel.attributes[0].code),
        *(kernel.attributes[0].value, kernel.attributes[0].payload),
    )
