"""Unified functions and data: the index file, what is refused, and the code of the table."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubinspec import Cubin
from cubinspec.errors import CubinError
from cubinspec_generated.codes import STB_LOCAL, STT_FUNC
from cubinspec_writer import link
from cubinspec_writer.linker import LinkError, UnsupportedLinkError, command
from cubinspec_writer.linker.finalizer import stubs
from cubinspec_writer.linker.model import Symbol
from tools.linkcases.index import index_file
from tools.oracle import Tool

#: Identifiers of `tests/data/src/unified.ptx`.
A = (0x1122334455667788, 0x99AABBCCDDEEFF00)
B = (0x0102030405060708, 0x1112131415161718)
DATA = (0x2122232425262728, 0x3132333435363738)
RIGHT = index_file([(*A, 128), (*B, 0)], [(*DATA, 0)], data_window=4)


SAMPLES = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture(scope="module")
def inputs() -> dict[str, bytes]:
    return {
        arch: next(SAMPLES.rglob(f"unified.{arch}.rel.cubin")).read_bytes()
        for arch in ("sm_90", "sm_100")
    }


@pytest.mark.parametrize("arch", ["sm_90", "sm_100"])
def test_an_index_places_functions_and_data(arch: str, inputs: dict[str, bytes]) -> None:
    with Cubin(link([inputs[arch]], arch=arch, uidx=RIGHT).bytes, arch) as cubin:
        sections = {section.name: section for section in cubin.sections}
        assert sections[".nv.uidx"].data == RIGHT
        rows = sections[".nv.uft.entry"].data
        assert [int.from_bytes(rows[at + 8 : at + 16], "little") for at in (0, 32)] == [128, 0]
        table = sections[".nv.uft"].data
        assert len(table) == (256 if arch == "sm_90" else 384)
        assert table[:64] == table[128:192]
        assert sections[".nv.udt"].data == bytes([5, 0, 0, 0])


#: What the index says of functions, of data, of their sizes; and what is wrong with it.
_WRONG = {
    "one place": ([(*A, 0), (*B, 0)], [(*DATA, 0)], 256, 4, "no room for 'unified_b'"),
    "no slot": ([(*A, 0), (*B, 130)], [(*DATA, 0)], 256, 4, "no room for 'unified_b'"),
    "far slot": ([(*A, 0), (*B, 1 << 50)], [(*DATA, 0)], 256, 4, "no room for 'unified_b'"),
    "no function": ([(*A, 128)], [(*DATA, 0)], 256, 4, "does not name 'unified_b'"),
    "no data": ([(*A, 0), (*B, 128)], [], 256, 0, "does not name 'unified_data'"),
    "data behind": ([(*A, 0), (*B, 128)], [(*DATA, 4)], 256, 8, "no room for 'unified_data'"),
    "far data": (
        *([(*A, 0), (*B, 128)], [(*DATA, 1 << 40)], 256, (1 << 40) + 4),
        "no room for 'unified_data'",
    ),
    "large window": ([(*A, 0), (*B, 128)], [], 1 << 63, 0, "size of uidx window != nv.uft"),
}


@pytest.mark.parametrize("arch", ["sm_90", "sm_100"])
@pytest.mark.parametrize("fault", list(_WRONG))
def test_what_nvlink_writes_over_its_memory_for_is_refused(
    arch: str, fault: str, inputs: dict[str, bytes]
) -> None:
    *index, text = _WRONG[fault]
    with pytest.raises(LinkError, match=re.escape(text)):
        link([inputs[arch]], arch=arch, uidx=index_file(*index))


_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
_FUNCTION = (
    "{linkage}.func .attribute(.unified({first},{second})) (.param .b32 r) f(.param .b32 a)\n"
    "{{ .reg .b32 %r<2>; ld.param.b32 %r1, [a]; st.param.b32 [r], %r1; ret; }}\n"
)
_KERNEL = (
    ".visible .entry {name}()\n{{ .reg .b64 %d<2>;"
    " mov.u64 %d1, f; {{ .param .b64 x; st.param.b64 [x], %d1; }} ret; }}\n"
)


@pytest.fixture
def assemble(ptxas: Tool, tmp_path: Path) -> Callable[[str], bytes]:
    def run(text: str) -> bytes:
        (tmp_path / "a.ptx").write_text(_HEAD + text)
        ptxas.run("-arch=sm_90", "-c", "a.ptx", "-o", "a.cubin", cwd=tmp_path).check()
        return (tmp_path / "a.cubin").read_bytes()

    return run


@pytest.mark.oracle("ptxas")
def test_static_functions_of_one_name_are_refused(assemble: Callable[[str], bytes]) -> None:
    """nvlink moves the second function instead of its stub."""
    made = [
        assemble(_FUNCTION.format(linkage="", first=n, second=2 * n) + _KERNEL.format(name=f"k{n}"))
        for n in (1, 2)
    ]
    index = index_file([(1, 2, 128), (2, 4, 0)], [])
    with pytest.raises(UnsupportedLinkError, match="several unified functions of one name"):
        link(made, arch="sm_90", uidx=index)


@pytest.mark.oracle("ptxas")
def test_an_index_that_moves_addresses_is_refused(assemble: Callable[[str], bytes]) -> None:
    """nvlink leaves the relocations where they were."""
    data = ".visible .global .attribute(.unified({0},{0})) .align 8 .u64 {1}[1] = {{{2}}};\n"
    made = assemble(
        _FUNCTION.format(linkage=".visible ", first=1, second=2)
        + data.format(5, "plain", 7)
        + data.format(6, "named", "f")
    )
    stays = index_file([(1, 2, 0)], [(5, 5, 0), (6, 6, 8)], data_window=16)
    assert stays in link([made], arch="sm_90", uidx=stays).bytes
    moves = index_file([(1, 2, 0)], [(5, 5, 8), (6, 6, 0)], data_window=16)
    with pytest.raises(UnsupportedLinkError, match="moves 'named', which has addresses"):
        link([made], arch="sm_90", uidx=moves)


@pytest.mark.parametrize(
    ("word", "status"), [("-uidx=/dev/zero", 1), ("--tkinfo-from=/dev/zero", 1), ("/dev/zero", 0)]
)
def test_a_file_without_an_end_is_not_read(word: str, status: int, tmp_path: Path) -> None:
    """As an input it is passed over, as nvlink passes over /dev/null."""
    sample = next(SAMPLES.rglob("small.sm_90.rel.cubin"))
    output = tmp_path / "out.cubin"
    assert command.run(["-arch=sm_90", str(sample), word, "-o", str(output)]) == status
    assert output.exists() == (status == 0)


@settings(max_examples=150, deadline=None)
@given(
    changes=st.lists(st.tuples(st.integers(0, len(RIGHT) - 1), st.integers(0, 255)), max_size=4),
    length=st.integers(0, len(RIGHT) + 20),
)
def test_a_damaged_index_is_an_error_or_harmless(
    inputs: dict[str, bytes], changes: list[tuple[int, int]], length: int
) -> None:
    data = bytearray(RIGHT + bytes(20))
    for at, value in changes:
        data[at] = value
    with contextlib.suppress(LinkError):
        result = link([inputs["sm_90"]], arch="sm_90", uidx=bytes(data[:length]))
        assert bytes(data[:length]) in result.bytes


@settings(max_examples=150, deadline=None)
@given(
    arch=st.sampled_from(["sm_90", "sm_100"]),
    table=st.sampled_from([".nv.uft.entry", ".nv.udt.entry", ".nv.capmerc.nv.uft.rel.unified_a"]),
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1),
)
def test_damaged_rows_and_stubs_are_errors_or_harmless(
    inputs: dict[str, bytes], arch: str, table: str, changes: list[tuple[float, int]]
) -> None:
    data = bytearray(inputs[arch])
    with Cubin(bytes(data), arch) as cubin:
        section = next((s for s in cubin.sections if s.name == table), None)
    if section is None:
        return
    for place, value in changes:
        data[section.sh_offset + int(place * len(section.data))] = value
    with contextlib.suppress(CubinError):
        link([bytes(data)], arch=arch, uidx=RIGHT)


#: As nvlink 13.0 lays out slots.
_WIDE = stubs.Slots(2, is_padded=False)


def test_a_capsule_of_another_form_is_refused() -> None:
    with pytest.raises(UnsupportedLinkError, match="stub"):
        stubs.capsule([bytes(22)], _WIDE)
    with pytest.raises(UnsupportedLinkError, match="stub"):
        stubs.finalized([bytes(64)], _WIDE)


def test_symbols_of_stubs_follow_the_code() -> None:
    """Of 12 slots; nvlink 13.0.88 for sm_100."""
    symbols = [Symbol("", STB_LOCAL, STT_FUNC, 0, value=128 * at) for at in range(12)]
    assert stubs.finalize_symbols(symbols, 0x680, _WIDE) == 0x60
    assert [hex(symbol.value) for symbol in symbols] == [
        *("0x0", "0x60", "0xc0", "0x120", "0x190", "0x200"),
        *("0x260", "0x2c0", "0x320", "0x390", "0x400", "0x460"),
    ]
    assert [symbol.size for symbol in symbols[:6]] == [0x680, 0x60, 0x60, 0x70, 0x70, 0x60]
    assert symbols[-1].size == 0x220
