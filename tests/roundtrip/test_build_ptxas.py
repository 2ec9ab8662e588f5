"""The builder, given the code and the facts of a ptxas file, gives that file again."""

from __future__ import annotations

from pathlib import Path

import pytest

from cubinspec import Cubin
from tests.roundtrip.ptxas_facts import builder_of
from tests.roundtrip.symbolic import differences
from tools.corpus import samples as recipes
from tools.oracle import Tool

SOURCES = Path(__file__).parents[1] / "data" / "src"
ARCHES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120")
MODES = {
    "exe": [],
    "rel": ["-c"],
    "ewp": ["-ewp"],
    "pic": ["-c", "-pic", "true"],
    "line": ["-c", "-lineinfo"],
    "debug": ["-c", "-g"],
    "lineexe": ["-lineinfo"],
    "debugexe": ["-g"],
    "visible": ["-c", "-make-errors-visible-at-exit"],
    "preserve": ["-preserve-relocs"],
    "preserverel": ["-c", "-preserve-relocs"],
    "sanitize": ["-c", "-sanitize=memcheck"],
    "sanitizeexe": ["-sanitize=memcheck"],
    "steer": ["-c", "-sanitize=threadsteer"],
}
#: Modes that are built for every target, and for one of each family; the rest are carried.
EVERYWHERE, SOMEWHERE = ("exe", "rel"), ("ewp", "pic", "line", "debug")
#: Modes of which nvlink takes no file, or whose files are as those of another mode to other tools.
BUILT = ("lineexe", "debugexe", "preserve", "preserverel", "sanitize", "sanitizeexe", "steer")
#: One target of each family, for the modes that few files have.
FAMILIES = ("sm_80", "sm_90", "sm_100")
#: Sources of PTX that every target takes and that cover what the builder offers.
NAMES = ("small", "kernels", "params", "calls", "data", "samplers")


def compare(name: str, data: bytes, arch: str) -> None:
    built = builder_of(data, arch).to_bytes()
    assert differences(data, built) == set(), name
    assert data == built, name


def carried() -> list[Path]:
    """Every sample that ptxas 13.0 made."""
    names = []
    for row in recipes.load():
        name = row["name"].removesuffix(".cubin")
        _, _, mode, *tool = name.split(".")
        if not tool and not mode.startswith("link-"):
            names.append(recipes.CUBINS / row["name"])
    return names


def builds(*further: str) -> list[tuple[str, str]]:
    return [
        (arch, mode)
        for modes, arches in ((EVERYWHERE, ARCHES), ((*SOMEWHERE, *further), FAMILIES))
        for mode in modes
        for arch in arches
    ]


@pytest.mark.parametrize("file", carried(), ids=lambda file: file.stem)
def test_same_file_as_the_sample(file: Path) -> None:
    name = file.name.removesuffix(".cubin")
    compare(name, file.read_bytes(), name.split(".")[1])


@pytest.mark.oracle("ptxas")
@pytest.mark.parametrize(("arch", "mode"), builds(*BUILT))
@pytest.mark.parametrize("source", NAMES)
def test_same_file_as_ptxas(source: str, arch: str, mode: str, ptxas: Tool, tmp_path: Path) -> None:
    output = tmp_path / "out.cubin"
    ptxas.run(f"-arch={arch}", *MODES[mode], SOURCES / f"{source}.ptx", "-o", output).check()
    compare(f"{source}.{arch}.{mode}", output.read_bytes(), arch)


UNIFIED = """
.version 8.0
.target sm_90
.address_size 64
.visible .func (.param .b32 r) plain(.param .b32 a)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, 8; st.param.b32 [r], %r2; ret; }
.visible .func .attribute(.unified(0x11, 0x99)) (.param .b32 r) first(.param .b32 a)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }
.visible .func .attribute(.unified(0x01, 0x08)) (.param .b32 r) second(.param .b32 a)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; mul.lo.s32 %r2, %r1, 3; st.param.b32 [r], %r2; ret; }
.visible .entry k(.param .u64 p)
{ .reg .b32 %r<5>; .reg .b64 %d<4>; ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1];
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), second, (x);
    ld.param.b32 %r2, [y]; }
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; call.uni (y), plain, (x);
    ld.param.b32 %r2, [y]; }
  st.global.u32 [%d1], %r2; ret; }
"""
UNIFIED_DATA = """
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 8 .u64 plain = 7;
.visible .global .attribute(.unified(0x21, 0x31)) .align 4 .u32 first = 5;
.visible .global .attribute(.unified(0x29, 0x32)) .align 4 .b8 second[12];
.visible .entry k(.param .u64 p)
{ .reg .b32 %r<5>; .reg .b64 %d<4>; ld.param.u64 %d1, [p]; ld.global.u32 %r1, [first];
  ld.global.u32 %r2, [second+4]; st.global.u32 [%d1], %r1; st.global.u32 [plain], %r2; ret; }
.visible .entry other(.param .u64 p)
{ .reg .b32 %r<5>; .reg .b64 %d<4>; ld.param.u64 %d1, [p]; st.global.u32 [%d1], %r1;
  st.global.u32 [plain], %r2; ret; }
"""
#: Two kernels with an image parameter of one name, which have one symbol for it.
IMAGE_OF_TWO = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry a(.param .texref t, .param .u64 o)
{ .reg .f32 %f<5>; .reg .b64 %d<2>; .reg .b32 %r<2>; ld.param.u64 %d1, [o]; mov.u32 %r1, 0;
  tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [t, {%r1}]; st.global.f32 [%d1], %f1; ret; }
.visible .entry b(.param .texref t, .param .u64 o)
{ .reg .f32 %f<5>; .reg .b64 %d<2>; .reg .b32 %r<2>; ld.param.u64 %d1, [o]; mov.u32 %r1, 0;
  tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [t, {%r1}]; st.global.f32 [%d1], %f2; ret; }
"""
#: Attributes of one kernel whose order no sample shows.
TEXTURE_AND_BARRIER = """
.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.visible .entry a(.param .texref t, .param .u64 o)
{ .reg .f32 %f<5>; .reg .b64 %d<3>; .reg .b32 %r<4>; .reg .pred %p<3>; ld.param.u64 %d1, [o];
  mov.u32 %r1, %ctaid.x; bar.sync 0; mov.u64 %d2, 0;
  { .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %d2; st.param.b64 [y], %d2;
    call.uni (z), vprintf, (x, y); ld.param.b32 %r2, [z]; }
  shfl.sync.idx.b32 %r3, %r1, 0, 31, -1; atom.sys.global.add.u32 %r3, [%d1], %r3;
  tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [t, {%r1}]; st.global.f32 [%d1], %f1;
  st.global.u32 [%d1+4], %r3; ret; }
"""
#: Addresses of functions: with the function, or at once where its address is taken or unified.
ADDRESSES = """
.version 8.0
.target sm_75
.address_size 64
.visible .func (.param .b32 r) taken(.param .b32 a);
.visible .global .align 4 .u32 counter = 3;
.visible .global .align 8 .u64 table[1] = {taken};
.visible .func (.param .b32 r) early(.param .b32 a)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, 8; st.param.b32 [r], %r2; ret; }
.visible .func UNIFIED (.param .b32 r) middle(.param .b32 a)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }
.func (.param .b32 r) hidden(.param .b32 a)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, 9; st.param.b32 [r], %r2; ret; }
.visible .func (.param .b32 r) taken(.param .b32 a)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, 11; st.param.b32 [r], %r2; ret; }
.extern .func (.param .b32 r) elsewhere(.param .b32 a);
.visible .entry k(.param .u64 p)
{ .reg .b32 %r<5>; .reg .b64 %d<4>; ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1];
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), early, (x);
    ld.param.b32 %r2, [y]; }
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; call.uni (y), middle, (x);
    ld.param.b32 %r2, [y]; }
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; call.uni (y), hidden, (x);
    ld.param.b32 %r2, [y]; }
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; call.uni (y), elsewhere, (x);
    ld.param.b32 %r2, [y]; }
  mov.u64 %d2, taken; st.global.u64 [%d1], %d2; st.global.u32 [counter], %r2;
  st.global.u32 [%d1], %r2; ret; }
"""
PLAIN_ADDRESSES = ADDRESSES.replace("UNIFIED", "")
UNIFIED_ADDRESSES = ADDRESSES.replace("UNIFIED", ".attribute(.unified(0x11, 0x99))").replace(
    "sm_75", "sm_90"
)
#: Without kernels ptxas makes data first, and shared memory with the function that uses it.
LIBRARY = """
.version 7.8
.target sm_75
.address_size 64
.visible .global .align 4 .u32 counter = 17;
.shared .align 4 .b8 scratch[20];
.visible .func (.param .b32 r) one(.param .b32 a)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; st.global.u32 [counter], %r1; st.param.b32 [r], %r1;
  ret; }
.visible .func (.param .b32 r) two(.param .b32 a)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; st.shared.u32 [scratch+8], %r1; bar.sync 0;
  ld.shared.u32 %r2, [scratch+4]; st.param.b32 [r], %r2; ret; }
"""

#: Shared memory of dynamic size; a helper that stands in a kernel.
DYNAMIC = """
.version 7.8
.target sm_75
.address_size 64
.extern .shared .align 8 .b8 pool[];
.shared .align 4 .b8 own[24];
.visible .func (.param .b32 r) helper(.param .b32 a)
{ .reg .b32 %r<5>; ld.param.b32 %r1, [a]; st.shared.u32 [pool+4], %r1; bar.sync 0;
  ld.shared.u32 %r2, [pool]; st.param.b32 [r], %r2; ret; }
.visible .entry k(.param .u64 p)
{ .reg .b32 %r<5>; .reg .b64 %d<4>; ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1];
  st.shared.u32 [pool+8], %r1; st.shared.u32 [own+8], %r1; bar.sync 0;
  ld.shared.u32 %r2, [pool+4]; ld.shared.u32 %r3, [own+4]; add.s32 %r2, %r2, %r3;
  st.global.u32 [%d1], %r2; ret; }
.visible .entry second(.param .u64 p)
{ .reg .b32 %r<5>; .reg .b64 %d<4>; ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1];
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), helper, (x);
    ld.param.b32 %r2, [y]; }
  st.shared.u32 [pool+8], %r1; st.global.u32 [%d1], %r2; ret; }
.visible .entry third(.param .u64 p)
{ .reg .b32 %r<5>; .reg .b64 %d<4>; .shared .align 4 .b8 mine[7]; ld.param.u64 %d1, [p];
  st.shared.u32 [mine], %r1; bar.sync 0; ld.shared.u32 %r2, [mine]; st.global.u32 [%d1], %r2;
  ret; }
"""
#: A shared variable that two kernels use, so that the module keeps it, and two of dynamic size.
SHARED_BY_TWO = """
.version 7.8
.target sm_75
.address_size 64
.visible .global .align 4 .u32 counter = 17;
.extern .shared .align 64 .b8 pool[];
.extern .shared .align 8 .b8 other[];
.shared .align 4 .b8 own[24];
.visible .entry zero(.param .u64 p)
{ .reg .b64 %d<4>; ld.param.u64 %d1, [p]; st.global.u64 [%d1], %d1; ret; }
.visible .entry k(.param .u64 p)
{ .reg .b32 %r<5>; .reg .b64 %d<4>; .shared .align 4 .b8 mine[6]; ld.param.u64 %d1, [p];
  ld.global.u32 %r1, [%d1]; st.shared.u32 [pool+8], %r1; st.shared.u32 [own+8], %r1;
  st.shared.u32 [mine], %r1; bar.sync 0; ld.shared.u32 %r2, [pool+4]; ld.shared.u32 %r3, [own+4];
  add.s32 %r2, %r2, %r3; ld.shared.u32 %r3, [mine]; add.s32 %r2, %r2, %r3;
  st.global.u32 [%d1], %r2; ret; }
.visible .entry second(.param .u64 p)
{ .reg .b32 %r<5>; .reg .b64 %d<4>; ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1];
  st.shared.u32 [other+8], %r1; st.global.u32 [counter], %r2; ret; }
.visible .entry third(.param .u64 p)
{ .reg .b32 %r<5>; .reg .b64 %d<4>; ld.param.u64 %d1, [p]; st.shared.u32 [own+8], %r1;
  bar.sync 0; ld.shared.u32 %r2, [own]; st.global.u32 [%d1], %r2; ret; }
"""
#: Sizes that code asks the driver for, and that of the constants.
SIZES = """
.version 8.0
.target sm_75, texmode_independent
.address_size 64
.visible .const .align 4 .b8 table[20] = {1};
.visible .entry k(.param .u64 p, .param .u64 h)
{ .reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %d<3>; ld.param.u64 %d1, [p]; ld.param.u64 %d2, [h];
  suq.memory_layout.b32 %r1, [%d2]; txq.channel_order.b32 %r2, [%d2];
  txq.filter_mode.b32 %r3, [%d2]; isspacep.const %p1, %d2; selp.b32 %r4, 1, 2, %p1;
  add.s32 %r1, %r1, %r2; add.s32 %r1, %r1, %r3; add.s32 %r1, %r1, %r4; st.global.u32 [%d1], %r1;
  ret; }
"""
#: What kernels for debuggers state of functions that they reach, and of those that they do not.
CALL_TREE = """
.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.extern .func (.param .b64 r) malloc(.param .b64 a);
.extern .func free(.param .b64 a);
.visible .func gives(.param .b64 a)
{ .reg .b64 %d<3>; ld.param.b64 %d1, [a]; call free, (%d1); ret; }
.visible .func takes(.param .b64 a)
{ .reg .b64 %d<3>; ld.param.b64 %d1, [a];
  { .param .b64 x; .param .b64 y; st.param.b64 [x], %d1; call.uni (y), malloc, (x);
    ld.param.b64 %d2, [y]; }
  st.global.u64 [%d1], %d2; ret; }
.visible .func nested(.param .b64 a)
{ .reg .b64 %d<3>; .reg .b32 %r<3>; ld.param.b64 %d1, [a]; call takes, (%d1);
  { .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %d1; st.param.b64 [y], %d1;
    call.uni (z), vprintf, (x, y); ld.param.b32 %r1, [z]; }
  st.global.u32 [%d1], %r1; ret; }
.visible .func waits(.param .b64 a)
{ .reg .b64 %d<3>; .reg .b32 %r<3>; ld.param.b64 %d1, [a]; bar.sync 3; mov.u32 %r1, %ctaid.z;
  st.global.u32 [%d1], %r1; ret; }
.visible .func waits_longer(.param .b64 a)
{ .reg .b64 %d<3>; ld.param.b64 %d1, [a]; bar.sync 5; st.global.u64 [%d1], %d1; ret; }
.visible .entry one(.param .u64 p)
{ .reg .b64 %d<3>; ld.param.u64 %d1, [p]; call waits, (%d1); ret; }
"""
CALL_TREES = (
    CALL_TREE
    + """
.visible .entry two(.param .u64 p)
{ .reg .b64 %d<3>; ld.param.u64 %d1, [p]; call nested, (%d1); call gives, (%d1); ret; }
.visible .entry three(.param .u64 p)
{ .reg .b64 %d<3>; ld.param.u64 %d1, [p]; bar.sync 1; call waits_longer, (%d1); ret; }
"""
)
#: Shared variables of the module that take no more bytes than they are aligned to.
FEW_SHARED = """
.version 8.0
.target sm_75
.address_size 64
.shared .align 16 .b8 small[4];
.shared .align 32 .b8 larger[8];
.visible .entry k(.param .u64 p)
{ .reg .b32 %r<3>; .reg .b64 %d<3>; ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x;
  st.shared.u8 [small], %r1; st.shared.u8 [larger], %r1; bar.sync 0; ld.shared.u8 %r2, [small];
  st.global.u32 [%d1], %r2; ret; }
.visible .func device(.param .b64 a)
{ .reg .b32 %r<3>; .reg .b64 %d<3>; .shared .align 4 .b8 own[12]; ld.param.b64 %d1, [a];
  mov.u32 %r1, %tid.x; st.shared.u8 [own], %r1; bar.sync 0; ld.shared.u8 %r2, [own+4];
  st.global.u32 [%d1], %r2; ret; }
"""


@pytest.mark.oracle("ptxas")
@pytest.mark.parametrize(
    ("text", "arch", "options"),
    [
        *((UNIFIED, arch, ["-c"]) for arch in ("sm_90", "sm_100", "sm_120")),
        *((UNIFIED_DATA, arch, ["-c"]) for arch in ("sm_90", "sm_100", "sm_120")),
        *((UNIFIED_DATA, arch, ["-c", "-pic", "true"]) for arch in ("sm_90", "sm_100")),
        *((UNIFIED, arch, ["-c", "-pic", "true"]) for arch in ("sm_90", "sm_100")),
        *((UNIFIED_ADDRESSES, arch, ["-c", "-pic", "true"]) for arch in ("sm_90", "sm_100")),
        *((PLAIN_ADDRESSES, arch, ["-c", "-pic", "true"]) for arch in ("sm_75", "sm_89", "sm_90")),
        *((LIBRARY, arch, ["-c"]) for arch in ("sm_75", "sm_80", "sm_90", "sm_100")),
        *(
            (text, arch, [*kind, "-preserve-relocs"])
            for text in (DYNAMIC, SHARED_BY_TWO)
            for arch in ("sm_75", "sm_89", "sm_90", "sm_100")
            for kind in ((), ("-ewp",))
        ),
        *(
            ((SOURCES / f"{name}.ptx").read_text(encoding="utf-8"), arch, ["-ewp", mode])
            for name, arches in (
                ("samplers", ("sm_75", "sm_90", "sm_100")),
                ("textures", ("sm_75", "sm_90", "sm_100")),
                ("queries", ("sm_75", "sm_89")),
            )
            for arch in arches
            for mode in ("-g", "-preserve-relocs")
        ),
        *(
            ((SOURCES / f"{name}.ptx").read_text(encoding="utf-8"), arch, [*kind, mode])
            for name, mode, arches, kinds in (
                ("jump_tables", "-g", ("sm_75", "sm_89", "sm_90", "sm_100"), ((), ("-ewp",))),
                ("jump_tables", "-preserve-relocs", ("sm_75", "sm_90", "sm_100"), ((), ("-ewp",))),
                ("queries", "-preserve-relocs", ("sm_75", "sm_89", "sm_90"), ((),)),
                ("calls", "-preserve-relocs", ("sm_75", "sm_89", "sm_90", "sm_100"), (("-ewp",),)),
            )
            for arch in arches
            for kind in kinds
        ),
        *((SHARED_BY_TWO, arch, ["-g"]) for arch in ("sm_75", "sm_90", "sm_100")),
        *(
            (text, arch, options)
            for text in (SIZES, CALL_TREE, CALL_TREES, FEW_SHARED)
            for arch in ("sm_75", "sm_90", "sm_100")
            for options in (["-c"], ["-g"])
        ),
        *(
            (text, arch, kind)
            for text in (IMAGE_OF_TWO, TEXTURE_AND_BARRIER)
            for arch in ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
            for kind in ([], ["-c"], ["-ewp"])
        ),
    ],
)
def test_same_file_as_ptxas_makes_of_small_programs(
    text: str, arch: str, options: list[str], ptxas: Tool, tmp_path: Path
) -> None:
    source, output = tmp_path / "a.ptx", tmp_path / "out.cubin"
    source.write_text(text, encoding="utf-8")
    ptxas.run(f"-arch={arch}", *options, source, "-o", output).check()
    data = output.read_bytes()
    assert differences(data, builder_of(data, arch).to_bytes()) == set()


@pytest.mark.oracle("ptxas", "cuobjdump", "nvdisasm", "nvlink")
@pytest.mark.parametrize(("arch", "mode"), builds())
def test_vendor_tools_take_a_file_with_the_builders_own_frames(
    arch: str,
    mode: str,
    ptxas: Tool,
    cuobjdump: Tool,
    nvdisasm: Tool,
    nvlink: Tool,
    tmp_path: Path,
) -> None:
    """Same code and same resources as in the file of ptxas, before and behind nvlink."""
    original, built = tmp_path / "original.cubin", tmp_path / "built.cubin"
    source = SOURCES / "kernels.ptx"
    ptxas.run(f"-arch={arch}", *MODES[mode], source, "-o", original).check()
    built.write_bytes(builder_of(original.read_bytes(), arch, frames=False).to_bytes())
    for option in ("-sass", "-res-usage"):
        expected = cuobjdump.run(option, original).check().stdout
        assert cuobjdump.run(option, built).check().stdout == expected
    dump = cuobjdump.run("-elf", built).check()
    assert ".debug_frame" in dump.stdout
    assert not dump.stderr
    assert "EXIT" in nvdisasm.run(built).check().stdout
    if mode not in ("exe", "debug"):
        # of debug files nvlink reads the frames
        linked = [file.with_suffix(".linked") for file in (original, built)]
        for file, output in zip((original, built), linked, strict=True):
            nvlink.run(f"-arch={arch}", file, "-o", output).check()
        assert _code(linked[0]) == _code(linked[1]) != {}


def _code(file: Path) -> dict[str, bytes]:
    with Cubin.open(str(file)) as cubin:
        return {s.name: bytes(s.data) for s in cubin.sections if s.name.startswith(".text.")}
