"""Edits change what they name, in all places, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cubinspec import Cubin
from cubinspec.errors import BadStructureError, CubinError
from cubinspec_writer.editor import Edit, NoteChange, Resources, functions
from cubinspec_writer.editor.values import attribute_code, parse_value
from cubinspec_writer.emitter import bodies, describe
from tools import oracle
from tools.corpus import samples as recipes
from tools.oracle import Tool

SOURCES = Path(__file__).parents[1] / "data" / "src"
MODES = {"exe": [], "rel": ["-c"]}
EXTERN_C = """
__device__ int counter;
__device__ __noinline__ int helper(int a) { return a * 3 + counter; }
extern "C" __global__ void plain(int *p, int n) { if (threadIdx.x < n) p[n] = helper(n) + n; }
extern "C" __global__ void other(int *p) { p[threadIdx.x] = threadIdx.x; }
"""


def sample(name: str) -> bytes:
    return (recipes.CUBINS / f"{name}.cubin").read_bytes()


def some_samples() -> list[Path]:
    return [recipes.CUBINS / row["name"] for row in recipes.load()][::5]


def kernel_names(data: bytes) -> list[str]:
    return [symbol.name for symbol in functions.kernels(describe(data))]


def changed(old: bytes, new: bytes) -> list[int]:
    assert len(old) == len(new)
    return [at for at, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]


def built(ptxas: Tool, folder: Path, source: str, arch: str, *options: str) -> bytes:
    (folder / "in.ptx").write_text(source)
    ptxas.run(f"-arch={arch}", *options, folder / "in.ptx", "-o", folder / "out.cubin").check()
    return (folder / "out.cubin").read_bytes()


# -- rename ------------------------------------------------------------------------------------


@pytest.mark.oracle("ptxas")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100"])
@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        ("calls", "direct", "a_longer_name"),
        ("calls", "table", "t"),
        ("kernels", "shared_static", "zz"),
        ("data", "spaces", "abc"),
    ],
)
def test_renamed_file_is_what_ptxas_makes_of_the_renamed_source(
    source: str, old: str, new: str, arch: str, mode: str, ptxas: Tool, tmp_path: Path
) -> None:
    text = (SOURCES / f"{source}.ptx").read_text()
    renamed = re.sub(rf"(?<![\w$]){old}(?!\w)", new, text)
    edit = Edit(built(ptxas, tmp_path, text, arch, *MODES[mode]))
    edit.rename(old, new)
    assert edit.to_bytes() == built(ptxas, tmp_path, renamed, arch, *MODES[mode])
    assert not edit.remarks


@pytest.mark.parametrize("file", some_samples(), ids=lambda file: file.stem)
def test_rename_there_and_back(file: Path) -> None:
    data = file.read_bytes()
    for name in kernel_names(data)[:1]:
        there = Edit(data)
        there.rename(name, "a_name_that_nobody_has")
        between = there.to_bytes()
        assert "a_name_that_nobody_has" in kernel_names(between)
        back = Edit(between)
        back.rename("a_name_that_nobody_has", name)
        assert back.to_bytes() == data


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("small.sm_90.debug", "small"),
        ("lines.sm_80.debug", "weights"),
        ("lines.sm_90.debug", "_Z8weightedfi"),
        ("lines.sm_120.debugexe", "_Z5saxpyifPKfPf"),
        ("textures.sm_90.exe", "sample"),
        ("textures.sm_35.exe.11.8.89", "tex_a"),
        ("calls.sm_100.pic", "local_leaf"),
    ],
)
@pytest.mark.parametrize("new", ["z", "much_longer_than_any_name_in_this_file"])
def test_rename_reaches_names_made_from_the_name(name: str, old: str, new: str) -> None:
    data = sample(name)
    there = Edit(data)
    there.rename(old, new)
    between = there.to_bytes()
    word = re.compile(rb"(?<![\w.])" + re.escape(old.encode()) + rb"(?!\w|\.(?:ptx|cubin))")
    # a word of the PTX text may be a directive, such as ".shared"; the tool note names files
    assert word.search(data)
    assert not word.search(between)
    back = Edit(between)
    back.rename(new, old)
    assert back.to_bytes() == data
    assert not there.remarks


@pytest.mark.oracle("ptxas", "nvcc")
def test_debug_data_after_a_rename_is_that_of_the_renamed_source(
    ptxas: Tool, tmp_path: Path
) -> None:
    outputs = []
    for name in ("plain", "another_name_of_it"):
        (tmp_path / "in.cu").write_text(EXTERN_C.replace("plain", name))
        oracle.find("nvcc").run(
            "-G", "-arch=sm_90", "-ptx", "-o", tmp_path / "in.ptx", "in.cu", cwd=tmp_path
        ).check()
        # nvcc names parameters after the function; a cubin does not hold those names as symbols
        ptx = (tmp_path / "in.ptx").read_text().replace(f"{name}_param_", "parameter_")
        # time and size of the source
        ptx = re.sub(r'(\.file\s+\d+ "[^"]*").*', r"\1, 1, 1", ptx)
        outputs.append(built(ptxas, tmp_path, ptx, "sm_90", "-g"))
    edit = Edit(outputs[0])
    edit.rename("plain", "another_name_of_it")
    assert edit.to_bytes() == outputs[1]


def test_rename_refuses_debug_data_that_it_cannot_read() -> None:
    edit = Edit(sample("lines.sm_90.debug"))
    section = edit.description.section(".debug_info")
    assert section is not None
    assert isinstance(section.body, bodies.Blob)
    damaged = bytearray(section.body.data)
    damaged[4] = 9
    section.body = bodies.Blob(bytes(damaged))
    with pytest.raises(BadStructureError, match="DWARF 9 is not understood"):
        edit.rename("_Z8weightedfi", "x")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nobody", "x", "no symbol 'nobody' is here"),
        ("", "x", "no symbol '' is here"),
        ("small", "", "'' is no symbol name"),
        ("small", "a\0b", "is no symbol name"),
        ("small", "factor", "the name 'factor' is taken"),
        ("small", "small", "the name 'small' is taken"),
    ],
)
def test_rename_refuses(old: str, new: str, message: str) -> None:
    with pytest.raises(BadStructureError, match=message):
        Edit(sample("small.sm_80.exe")).rename(old, new)


def test_rename_refuses_a_name_that_several_symbols_have() -> None:
    with pytest.raises(BadStructureError, match="symbols are named '_param'"):
        Edit(sample("calls.sm_75.rel")).rename("_param", "x")


# -- set ---------------------------------------------------------------------------------------


def test_registers_in_both_places_before_sm_90() -> None:
    data = sample("small.sm_75.exe")
    edit = Edit(data)
    edit.set("small", Resources(registers=40))
    new = edit.to_bytes()
    assert len(changed(data, new)) == 2
    cubin = Cubin.parse(new)
    assert cubin.kernels[0].registers == 40
    assert cubin.sections[".text.small"].sh_info >> 24 == 40


def test_registers_in_the_mercury_copy() -> None:
    data = sample("small.sm_100.exe")
    edit = Edit(data)
    edit.set("small", Resources(registers=40))
    assert len(changed(data, edit.to_bytes())) == 2
    assert edit.remarks == [
        ".nv.capmerc.text.small: opaque; finalizing it may count registers anew"
    ]


def test_registers_of_a_callee_leave_those_of_its_caller() -> None:
    edit = Edit(sample("calls.sm_75.rel"))
    edit.set("leaf", Resources(registers=30))
    cubin = Cubin.parse(edit.to_bytes())
    assert {f.name: f.registers for f in cubin.functions if f.registers != 24} == {"leaf": 30}


def test_barriers_stand_in_the_flags_of_abi_7() -> None:
    data = sample("kernels.sm_75.exe.11.8.89")
    edit = Edit(data)
    edit.set("shared_static", Resources(barriers=5))
    new = edit.to_bytes()
    assert len(changed(data, new)) == 1
    assert Cubin.parse(new).sections[".text.shared_static"].sh_flags == 0x500006


def test_barriers_are_put_where_ptxas_puts_them_and_taken_out() -> None:
    data = sample("kernels.sm_100.exe")
    edit = Edit(data)
    edit.set("empty", Resources(barriers=3))
    with_record = edit.to_bytes()
    for name in (".nv.info.empty", ".nv.merc.nv.info.empty"):
        section = describe(with_record).section(name)
        assert section is not None
        assert isinstance(section.body, bodies.InfoRecords)
        codes = [record[1] for record in section.body.records]
        at = codes.index(attribute_code("NUM_BARRIERS"))
        assert codes[at - 1] == attribute_code("MAXREG_COUNT")
        assert codes[at + 1] == attribute_code("MERCURY_ISA_VERSION")
    again = Edit(with_record)
    again.set("empty", Resources(barriers=0))
    assert again.to_bytes() == data


def test_threads_stack_and_frame() -> None:
    edit = Edit(sample("spills.sm_90.regs32exe"))
    edit.set("spills", Resources(max_threads=(64, 2, 1), stack=512, frame=256))
    kernel = Cubin.parse(edit.to_bytes()).kernels[0]
    assert kernel.max_ntid == (64, 2, 1)
    assert (kernel.min_stack_size, kernel.frame_size) == (512, 256)


def test_any_attribute_by_name_and_its_removal() -> None:
    data = sample("small.sm_90.exe")
    edit = Edit(data)
    attributes = {"CRS_STACK_SIZE": "64", "EIATTR_WMMA_USED": "", "0x77": "hex:01020304"}
    edit.set("small", Resources(attributes=dict(attributes)))
    with_them = edit.to_bytes()
    records = {a.code: a for a in Cubin.parse(with_them).kernels[0].attributes}
    assert records[attribute_code("CRS_STACK_SIZE")].payload == b"\x40\0\0\0"
    assert records[attribute_code("WMMA_USED")].payload == b""
    assert records[0x77].payload == b"\1\2\3\4"
    back = Edit(with_them)
    removed = {"WMMA_USED": None, "0x77": None, "CRS_STACK_SIZE": "0"}
    back.set("small", Resources(attributes=removed))
    assert back.to_bytes() == data


def test_instruction_offsets_are_set_in_the_half_they_count_in() -> None:
    edit = Edit(sample("small.sm_100.exe"))
    edit.set("small", Resources(attributes={"EXIT_INSTR_OFFSETS": "16,32"}))
    code = attribute_code("EXIT_INSTR_OFFSETS")
    cubin = Cubin.parse(edit.to_bytes())
    payloads = [
        record.payload
        for section in cubin.sections
        for record in section.info_records
        if record.code == code
    ]
    assert payloads[0] == bytes.fromhex("1000000020000000")
    assert payloads[1] != payloads[0]
    assert edit.remarks


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (Resources(registers=256), "registers 256 is out of range"),
        (Resources(registers=-1), "registers -1 is out of range"),
        (Resources(barriers=17), "barriers 17 is out of range"),
        (Resources(max_threads=(1024, 2, 1)), "max threads 2048 is out of range"),
        (Resources(max_threads=(0, 1, 1)), "at least one thread"),
        (Resources(stack=1 << 32), "stack 4294967296 is out of range"),
        (Resources(attributes={"NOPE": "1"}), "no attribute is named 'NOPE'"),
        (Resources(attributes={"0x177": "1"}), "out of range"),
        (Resources(attributes={"MAX_THREADS": "1,2"}), "does not fit its layout"),
        (Resources(attributes={"MAX_THREADS": "1,2,x"}), "'x' is no number"),
        (Resources(attributes={"NUM_BARRIERS": "300"}), "a value does not fit"),
        (Resources(attributes={"0x77": "hex:0g"}), "no hexadecimal text"),
        (Resources(attributes={"KPARAM_INFO": "0,0,0,0"}), "stands there 2 times"),
        (Resources(attributes={"KPARAM_INFO[2]": "0,0,0,0", "KPARAM_INFO[4]": ""}), "does not fit"),
        (Resources(attributes={"KPARAM_INFO[3]": "0,0,0,0"}), "stands there 2 times"),
        (Resources(attributes={"EXTERNS": "vprintf"}), "no symbol 'vprintf'"),
        (Resources(attributes={"MAX_STACK_SIZE": "1"}), "no EIATTR_MAX_STACK_SIZE"),
        (Resources(attributes={"REGCOUNT": None}), "it cannot be taken out"),
        (Resources(attributes={"WMMA_USED": None}), "no EIATTR_WMMA_USED is here"),
    ],
)
def test_set_refuses(new: Resources, message: str) -> None:
    with pytest.raises(BadStructureError, match=message):
        Edit(sample("small.sm_80.exe")).set("small", new)


def test_set_names_the_kernels_when_there_is_no_such_function() -> None:
    with pytest.raises(BadStructureError, match=r"no function 'x'") as caught:
        Edit(sample("small.sm_80.exe")).set("x", Resources(registers=8))
    assert caught.value.expected == "$small$scale, small"


def test_values_as_text() -> None:
    assert parse_value(attribute_code("NUM_BARRIERS"), "7") == (2, 0x4C, 7, b"")
    assert parse_value(attribute_code("MERCURY_ISA_VERSION"), "1,2") == (3, 0x5F, 0x201, b"")
    assert parse_value(attribute_code("EXIT_INSTR_OFFSETS"), "0x10,0x20")[2] == 8


# -- keep and remove ---------------------------------------------------------------------------


@pytest.mark.oracle("ptxas")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100"])
@pytest.mark.parametrize(
    ("source", "kernel"),
    [("params", "pointers"), ("calls", "never_returns"), ("kernels", "shared_static")],
)
def test_what_is_left_is_what_ptxas_makes_without_the_kernel(
    source: str, kernel: str, arch: str, mode: str, ptxas: Tool, tmp_path: Path
) -> None:
    text = (SOURCES / f"{source}.ptx").read_text()
    without = re.sub(
        rf"\.visible \.entry {kernel}\(.*?(?:\n}}\n|\{{ ret; \}}\n)", "", text, flags=re.DOTALL
    )
    assert without != text
    edit = Edit(built(ptxas, tmp_path, text, arch, *MODES[mode]))
    edit.remove([kernel])
    assert edit.to_bytes() == built(ptxas, tmp_path, without, arch, *MODES[mode])


@pytest.mark.parametrize("name", ["calls.sm_75.rel", "kernels.sm_90.rel", "calls.sm_100.exe"])
def test_keep_is_remove_of_the_others(name: str) -> None:
    data = sample(name)
    first, *rest = kernel_names(data)
    keep, remove = Edit(data), Edit(data)
    assert keep.keep([first]) == rest
    remove.remove(rest)
    assert keep.to_bytes() == remove.to_bytes()
    assert kernel_names(keep.to_bytes()) == [first]


@pytest.mark.parametrize("file", some_samples(), ids=lambda file: file.stem)
def test_what_stays_keeps_its_bytes_and_its_references(file: Path) -> None:
    """Every reference of what is left has the name that it had before."""
    data = file.read_bytes()
    names = kernel_names(data)
    if len(names) < 2:
        pytest.skip("one kernel")
    edit = Edit(data)
    try:
        edit.remove(names[1:2])
    except CubinError as error:
        pytest.skip(f"refused: {error}")
    old, new = Cubin.parse(data), Cubin.parse(edit.to_bytes())
    (code,) = [function.section for function in old.functions if function.name == names[1]]
    left = {function.name for function in old.functions if function.section != code}
    assert {function.name for function in new.functions} == left
    before = {function.name: function for function in old.functions}
    for function in new.functions:
        was = before[function.name]
        assert bytes(function.section.data) == bytes(was.section.data)
        assert (function.registers, function.stack, function.shared, function.param_offset) == (
            was.registers,
            was.stack,
            was.shared,
            was.param_offset,
        )
    kept = {section.name for section in new.sections}
    targets = [
        [
            (entry.r_offset, entry.r_type, entry.symbol.display_name if entry.symbol else "")
            for entry in cubin.relocations
            if entry.section.name in kept and "debug_frame" not in entry.section.name
        ]
        for cubin in (old, new)
    ]
    assert targets[0] == targets[1]


@pytest.mark.parametrize(
    ("name", "kernel", "message"),
    [
        ("launches.sm_90.rel", "_Z5childPii", "it refers to '_Z5childPii', which would go"),
        ("calls.sm_75.rel", "leaf", "'leaf' is a device function, not a kernel"),
        ("calls.sm_75.rel", "nobody", "no function 'nobody' is defined here"),
        ("lines.sm_90.debug", None, "debug data of single kernels cannot be removed"),
    ],
)
def test_remove_refuses(name: str, kernel: str | None, message: str) -> None:
    data = sample(name)
    edit = Edit(data, name)
    with pytest.raises(BadStructureError, match=message) as caught:
        edit.remove([kernel or kernel_names(data)[0]])
    assert caught.value.file == name


# -- strip -------------------------------------------------------------------------------------


@pytest.mark.oracle("ptxas")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_without_line_tables_it_is_the_plain_build(
    arch: str, mode: str, ptxas: Tool, tmp_path: Path
) -> None:
    text = (SOURCES / "small.ptx").read_text()
    plain = built(ptxas, tmp_path, text, arch, *MODES[mode])
    edit = Edit(built(ptxas, tmp_path, text, arch, "-lineinfo", *MODES[mode]))
    edit.strip(lineinfo=True)
    # the note quotes the command line
    tail = "-c  " if mode == "rel" else ""
    edit.retarget_note(NoteChange(arguments=f"-arch {arch} {tail}"))
    assert edit.to_bytes() == plain


@pytest.mark.parametrize("name", ["small.sm_75.debug", "lines.sm_90.debug", "small.sm_100.debug"])
def test_no_debug_section_is_left(name: str) -> None:
    edit = Edit(sample(name))
    removed = edit.strip(debug=True)
    cubin = Cubin.parse(edit.to_bytes())
    assert any(name.startswith(".nv_debug_ptx_txt") for name in removed)
    assert (".debug_info" in removed) == name.startswith("lines")
    left = [s.name for s in cubin.sections if "debug" in s.name]
    assert {name.split(".")[-1] for name in left} == {"debug_frame"}
    old = Cubin.parse(sample(name))
    for section in cubin.sections:
        if section.name.startswith(".text."):
            assert bytes(section.data) == bytes(old.sections[section.name].data)


def test_a_line_table_that_debug_data_uses_is_not_removed_alone() -> None:
    with pytest.raises(BadStructureError, match=r"it refers to '.debug_line'"):
        Edit(sample("lines.sm_90.debug")).strip(lineinfo=True)


def test_nothing_to_strip_changes_nothing() -> None:
    data = sample("small.sm_90.exe")
    edit = Edit(data)
    assert edit.strip(debug=True, lineinfo=True) == []
    assert edit.to_bytes() == data


def test_tool_note_goes_and_the_other_note_is_still_found() -> None:
    edit = Edit(sample("small.sm_90.exe"))
    assert edit.strip(tkinfo=True) == [".note.nv.tkinfo"]
    cubin = Cubin.parse(edit.to_bytes())
    index = cubin.sections[".note.nv.cuinfo"].index
    assert cubin.header.e_flags >> 24 == index
    assert cubin.sections[index].sh_link == 0


# -- notes -------------------------------------------------------------------------------------


def test_notes_change_and_come_back() -> None:
    data = sample("small.sm_90.exe")
    old = describe(data).section(".note.nv.tkinfo")
    assert old is not None
    arguments = old.body.notes[0].descriptor.arguments  # type: ignore[attr-defined]
    edit = Edit(data)
    edit.retarget_note(NoteChange(virtual_sm=80, toolkit=126, arguments="x" * 50, tool_name="me"))
    new = edit.to_bytes()
    assert new != data
    back = Edit(new)
    back.retarget_note(
        NoteChange(virtual_sm=35, toolkit=130, arguments=arguments, tool_name="ptxas")
    )
    assert back.to_bytes() == data


def test_abi_7_holds_the_target_in_its_header() -> None:
    edit = Edit(sample("small.sm_75.exe.11.8.89"))
    edit.retarget_note(NoteChange(virtual_sm=52, toolkit=120))
    cubin = Cubin.parse(edit.to_bytes())
    assert cubin.header.e_flags >> 16 & 0xFF == 52
    assert cubin.header.e_version == 120


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("small.sm_90.exe", NoteChange(virtual_sm=1 << 16), "does not fit into 16 bits"),
        ("small.sm_90.exe", NoteChange(arguments="a\0b"), "holds a NUL"),
        ("small.sm_75.exe.11.8.89", NoteChange(arguments="x"), "has no such note"),
        ("small.sm_75.exe.11.8.89", NoteChange(virtual_sm=300), "eight bits"),
        ("small.sm_100.exe.12.8.93", NoteChange(toolkit=130), "no note with toolkit"),
    ],
)
def test_notes_refuse(name: str, change: NoteChange, message: str) -> None:
    with pytest.raises(BadStructureError, match=message):
        Edit(sample(name)).retarget_note(change)


# -- acceptance --------------------------------------------------------------------------------


@pytest.mark.oracle("cuobjdump", "nvlink")
@pytest.mark.parametrize("name", ["calls.sm_75.rel", "calls.sm_100.rel"])
def test_vendor_tools_take_an_edited_file(
    name: str, cuobjdump: Tool, nvlink: Tool, tmp_path: Path
) -> None:
    edit = Edit(sample(name))
    edit.remove(["indirect"])
    edit.rename("direct", "renamed")
    edit.set("renamed", Resources(registers=44, barriers=5, max_threads=(64, 2, 1)))
    edit.strip(tkinfo=True)
    file = tmp_path / "edited.cubin"
    file.write_bytes(edit.to_bytes())
    usage = cuobjdump.run("-res-usage", file).check().stdout
    assert re.search(r"Function renamed:\s+REG:44 ", usage)
    assert not cuobjdump.run("-elf", file).check().stderr
    nvlink.run(f"-arch={name.split('.')[1]}", file, "-o", tmp_path / "out.cubin").check()
    linked = Cubin.open(tmp_path / "out.cubin")
    assert sorted(kernel.name for kernel in linked.kernels) == ["never_returns", "renamed"]
