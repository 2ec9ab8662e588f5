"""The small programs whose objects a sweep changes: two files, one kernel or several."""

from __future__ import annotations

from pathlib import Path

from tools import oracle

_HEAD = ".version 9.0\n.target sm_{arch}\n.address_size 64\n"
_CALL = """{{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), {name}, (x);
  ld.param.b32 %r1, [y]; }}
"""


def _function(name: str, body: str, visible: bool = True) -> str:
    head = f"{'.visible ' if visible else ''}.func (.param .b32 r) {name}(.param .b32 a)"
    return f"""{head}
{{ .reg .b32 %r<4>; ld.param.b32 %r1, [a];
{body} add.s32 %r2, %r1, 7; st.param.b32 [r], %r2; ret; }}
"""


def _kernel(name: str, body: str) -> str:
    return f""".visible .entry {name}(.param .u64 p)
{{ .reg .b32 %r<4>; .reg .b64 %d<3>; ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x;
{body} st.global.b32 [%d1], %r1; ret; }}
"""


_FIRST = (
    _HEAD
    + """.extern .func (.param .b32 r) f(.param .b32 a);
.visible .global .align 4 .b32 gv = 5;
.global .align 4 .b32 gl;
.visible .const .align 4 .b32 cv = 7;
.shared .align 4 .b32 sv;
"""
    + _function("g", "", visible=False)
)
_SECOND = (
    _HEAD
    + ".visible .global .align 4 .b32 gb;\n.global .align 4 .b32 gl = 6;\n"
    + _function("h", "", visible=False)
    + _function("f", "ld.global.b32 %r3, [gl]; add.s32 %r1, %r1, %r3;\n" + _CALL.format(name="h"))
)
_ONE = _kernel(
    "k1",
    _CALL.format(name="f")
    + _CALL.format(name="g")
    + "ld.global.b32 %r2, [gv]; add.s32 %r1, %r1, %r2; ld.const.b32 %r2, [cv];\n"
    + "add.s32 %r1, %r1, %r2; st.shared.b32 [sv], %r1; bar.sync 0; ld.shared.b32 %r1, [sv];\n"
    + "st.global.b32 [gl], %r1;\n",
)
_TWO = _ONE + _kernel("k2", _CALL.format(name="g"))
#: Program -> its sources. `one` has one kernel, `two` has three in both files.
SOURCES = {
    "one": (_FIRST + _ONE, _SECOND),
    "two": (_FIRST + _TWO, _SECOND + _kernel("k3", _CALL.format(name="h"))),
}


def bases(arch: str, program: str, folder: Path) -> tuple[bytes, bytes]:
    """The two objects of a program, made by ptxas.

    Args:
        arch: without its `sm_`.
        folder: where objects are kept.
    """
    found = []
    for number, text in enumerate(SOURCES[program]):
        path = folder / f"{program}{number}.sm_{arch}.cubin"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            source = path.with_suffix(".ptx")
            source.write_text(text.replace("{arch}", arch), encoding="utf-8")
            oracle.find("ptxas").run("-c", f"-arch=sm_{arch}", str(source), "-o", str(path)).check()
        found.append(path.read_bytes())
    return found[0], found[1]
