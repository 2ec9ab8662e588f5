"""Damaged and forged files give a result or a `CubinError`, in proportion to their size."""

from __future__ import annotations

import functools
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from cubinspec import Cubin, CubinError
from cubinspec_generated import records
from tests.malformed.recipe import SAMPLES
from tools.fuzz.mutate import Mutator
from tools.fuzz.walk import MAX_PRODUCED, check_error, walk_everything

#: Both classes, both ABIs, every form of file, with and without the Mercury half.
STEMS = (
    *("small.sm_90.exe", "small.sm_90.rel", "small.sm_100.exe", "small.sm_100.ewp"),
    *("small.sm_35.exe.11.8.89", "params_32.sm_75.exe.11.8.89", "params_32.sm_35.rel.11.8.89"),
    *("data.sm_100.rel", "textures.sm_75.rel", "calls.sm_90.rel", "unified.sm_90.link-r"),
    *("jump_tables.sm_75.exe", "cluster_sm90.sm_90.exe", "tcgen05_sm100a.sm_100a.exe"),
    *("syscalls.sm_100.rel", "two_files.sm_90.link-exe", "small.sm_80.debug.11.8.89"),
)


@functools.cache
def mutator(stem: str) -> Mutator:
    return Mutator((SAMPLES / f"{stem}.cubin").read_bytes())


def look_at(data: bytes) -> None:
    try:
        cubin = Cubin.parse(data, "damaged.cubin")
    except CubinError as error:
        check_error(error, "damaged.cubin", "open")
        return
    assert walk_everything(cubin).produced <= MAX_PRODUCED * len(data)


@given(stem=st.sampled_from(STEMS), random=st.randoms(use_true_random=False))
def test_a_damaged_sample_gives_a_result_or_a_cubin_error(stem: str, random: Random) -> None:
    data, story = mutator(stem).mutate(random)
    try:
        look_at(data)
    except BaseException as error:
        error.add_note(f"{stem}: {story}")
        raise


@given(stem=st.sampled_from(STEMS), data=st.data())
def test_a_sample_cut_off_anywhere_gives_a_result_or_a_cubin_error(
    stem: str, data: st.DataObject
) -> None:
    whole = mutator(stem).data
    look_at(whole[: data.draw(st.integers(0, len(whole)), label="size")])


@given(
    bits=st.sampled_from((32, 64)), abi=st.sampled_from((b"\x33\x07", b"\x41\x08")), data=st.data()
)
def test_forged_tables_behind_a_good_ident_are_survived(
    bits: int, abi: bytes, data: st.DataObject
) -> None:
    small = st.integers(0, 600)
    section = getattr(records, f"SECTION_HEADER_{bits}")
    header = getattr(records, f"ELF_HEADER_{bits}")
    body = data.draw(st.binary(max_size=400), label="bodies")
    types = st.sampled_from(
        (
            *(1, 2, 3, 4, 7, 8, 9, 18, 0x70000000, 0x70000001, 0x70000002),
            *(0x70000016, 0x70000064, *range(0x70000082, 0x7000008C)),
        )
    )
    rows = data.draw(
        st.lists(
            st.tuples(small, types, small, small, small, small, st.integers(0, 12))
            .flatmap(lambda row: st.tuples(*map(st.just, row), st.integers(0, 12), small, small))
            .map(tuple),
            max_size=12,
        ),
        label="section headers",
    )
    table = b"".join(section.pack(*row) for row in rows)
    size = 16 + header.size
    fields = (2, 190, 1, 0, 0, size if rows else 0, 0x6005A04, size, 0, 0, section.size, len(rows))
    ident = b"\x7fELF" + bytes([bits // 32, 1, 1]) + abi + bytes(7)
    names = data.draw(st.integers(0, max(len(rows) - 1, 0)), label="e_shstrndx")
    look_at(ident + header.pack(*fields, names) + table + body)
