"""Parts of the linker by themselves, its interface, and its messages."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

from cubinspec.errors import CubinError
from cubinspec.format.notes import frame, split_notes, tool_note
from cubinspec.reader.elf import Elf
from cubinspec_writer.linker import (
    LinkError,
    LinkOptions,
    Named,
    UnsupportedLinkError,
    link,
)
from cubinspec_writer.linker.command import linker_note, run
from cubinspec_writer.linker.inputs.options import TOOL_VERSION
from cubinspec_writer.linker.library.sorting import split_sort
from cubinspec_writer.linker.model import Symbol
from tools.oracle import Tool

PTX = """.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) f(.param .b32 a);
.visible .entry k(.param .u64 p) {
.reg .b32 %r<3>; .reg .b64 %d<2>; .shared .align 4 .b8 s[8];
ld.param.u64 %d1,[p]; ld.global.u32 %r1,[%d1]; st.shared.u32 [s+4],%r1;
{ .param .b32 x; .param .b32 y; st.param.b32 [x],%r1; call (y),f,(x); ld.param.b32 %r1,[y]; }
st.global.u32 [%d1],%r1; ret; }
"""
CALLEE = """.version 8.0
.target sm_75
.address_size 64
.visible .func (.param .b32 r) f(.param .b32 a) {
.reg .b32 %r<3>; ld.param.b32 %r1,[a]; add.s32 %r2,%r1,7; st.param.b32 [r],%r2; ret; }
"""


@pytest.fixture
def objects(ptxas: Tool, tmp_path: Path) -> dict[str, list[Path]]:
    """Architecture -> a kernel and its device function, each in a file."""
    made: dict[str, list[Path]] = {}
    for arch in ("80", "90", "100"):
        for name, text in (("kernel", PTX), ("callee", CALLEE)):
            source = tmp_path / f"{name}.ptx"
            source.write_text(text)
            out = tmp_path / f"{name}.{arch}.cubin"
            ptxas.run(f"-arch=sm_{arch}", "-c", source, "-o", out).check()
            made.setdefault(arch, []).append(out)
    return made


def _variable(name: str, size: int) -> Symbol:
    return Symbol(name, 0, 1, 0, size=size)


@pytest.mark.parametrize(
    ("count", "order"), [(1, "a"), (2, "ba"), (3, "bac"), (4, "bdac")], ids=lambda v: str(v)
)
def test_equal_items_change_places_as_in_the_merge_sort(count: int, order: str) -> None:
    items = [_variable("abcd"[i], 4) for i in range(count)]
    assert "".join(s.name for s in split_sort(items, lambda a, b: a.size > b.size)) == order


def test_sort_is_a_sort() -> None:
    pick = random.Random(1)
    items = [_variable(str(i), pick.randrange(9)) for i in range(50)]
    done = split_sort(items, lambda a, b: a.size > b.size)
    assert [s.size for s in done] == sorted((s.size for s in items), reverse=True)
    assert {id(s) for s in done} == {id(s) for s in items}


def test_notes_are_split_where_they_were_joined() -> None:
    parts = [frame(1, b"abc"), tool_note("cubinspec", TOOL_VERSION, "-arch sm_90"), frame(2, b"")]
    assert split_notes(b"".join(parts)) == parts


def test_own_tool_note_names_this_linker(objects: dict[str, list[Path]]) -> None:
    linked = link(map(str, objects["90"]), "sm_90").bytes
    assert TOOL_VERSION.encode() in linked
    assert b"nvlink" not in linked


@pytest.mark.parametrize("arch", ["80", "90", "100"])
def test_paths_bytes_and_names_give_the_same_file(
    arch: str, objects: dict[str, list[Path]]
) -> None:
    paths = objects[arch]
    first = link(paths, arch=f"sm_{arch}")
    again = link([p.read_bytes() for p in paths], LinkOptions(f"sm_{arch}"))
    named = link([Named("x", p.read_bytes()) for p in paths], f"sm_{arch}")
    assert first.bytes == again.bytes == named.bytes
    assert first.messages == []


def test_tool_note_can_be_taken_from_a_cubin(
    objects: dict[str, list[Path]], nvlink: Tool, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs.cubin"
    nvlink.run("-arch=sm_90", *objects["90"], "-o", theirs).check()
    note = linker_note(theirs.read_bytes(), "theirs")
    assert link(objects["90"], arch="sm_90", tkinfo=note).bytes == theirs.read_bytes()


def test_undefined_name_is_an_error(objects: dict[str, list[Path]]) -> None:
    with pytest.raises(LinkError) as caught:
        link([Named("kernel.cubin", objects["90"][0].read_bytes())], arch="sm_90")
    assert ("error", "Undefined reference to 'f' in 'kernel.cubin'") in caught.value.messages


EQUAL = """.version 8.0
.target sm_75
.address_size 64
.const .align 4 .b8 data[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
.visible .entry %s(.param .u64 p) {
.reg .b32 %%r<2>; .reg .b64 %%d<2>;
ld.param.u64 %%d1,[p]; ld.const.u32 %%r1,[data]; st.global.u32 [%%d1],%%r1; ret; }
"""


@pytest.mark.oracle("ptxas")
def test_equal_constants_stay_when_kernels_are_removed(ptxas: Tool, tmp_path: Path) -> None:
    # nvlink leaves the second block out, and code reads behind the section.
    for name in ("k1", "k2"):
        (tmp_path / f"{name}.ptx").write_text(EQUAL % name)
        ptxas.run("-arch=sm_80", "-c", f"{name}.ptx", "-o", name, cwd=tmp_path).check()
    inputs = [tmp_path / "k1", tmp_path / "k2"]
    elf = Elf(link(inputs, arch="sm_80", kernels_used=["k"]).bytes, "linked")
    constants = elf.section_bytes(elf.section_names.index(".nv.constant3"))
    assert constants == bytes(range(1, 13)) * 2


def test_what_cannot_be_linked_right_is_refused() -> None:
    with pytest.raises(UnsupportedLinkError, match="link-time optimisation"):
        link([Named("code.o", b"BC\xc0\xde" + bytes(60))], arch="sm_100")


@pytest.mark.parametrize("arch", ["80", "90", "100"])
def test_broken_inputs_end_in_typed_errors(arch: str, objects: dict[str, list[Path]]) -> None:
    pick = random.Random(7)
    whole = objects[arch][0].read_bytes()
    callee = objects[arch][1]
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(pick.choice((1, 2, 4))):
            if pick.random() < 0.5:
                data[pick.randrange(len(data))] = pick.choice((0, 1, 0x7F, 0xFF))
            else:
                at = pick.randrange(len(data) // 8) * 8
                data[at : at + 8] = pick.choice((b"\xff" * 8, pick.randbytes(8)))
        if pick.random() < 0.1:
            del data[pick.randrange(len(data)) :]
        with contextlib.suppress(LinkError, CubinError):
            link([bytes(data), callee], arch=f"sm_{arch}")


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["-m32", "-arch=sm_90", "a.cubin"], 1, "Value '32' is not defined for option 'machine'"),
        (["--no-such-option", "a.cubin"], 1, "Unknown option '-no-such-option'"),
        (
            ["-arch=sm_90", "--dlto", "-nvvmpath=x", "-o", "o", "a.cubin"],
            1,
            "not supported by this linker: link-time optimisation",
        ),
    ],
    ids=["machine", "unknown", "unsupported"],
)
def test_command_line_errors(
    words: list[str], status: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == status
    assert text in capsys.readouterr().err


def test_command_line_writes_the_file(objects: dict[str, list[Path]], tmp_path: Path) -> None:
    out = tmp_path / "out.cubin"
    assert run(["-arch=sm_80", *map(str, objects["80"]), "-o", str(out)]) == 0
    assert out.read_bytes() == link(objects["80"], arch="sm_80", arguments="-arch sm_80").bytes


def test_help_names_all_our_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    ours = capsys.readouterr().out.partition("Options that nvlink does not have:")[2]
    for name in ("--check-output", "--tkinfo-from", "--ptxas", "--map", "--why", "--callgraph-dot"):
        assert f"\n  {name}" in ours
