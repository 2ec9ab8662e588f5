"""PTX texts that are too long to be written by hand: many names, and very long ones."""

from __future__ import annotations

from tools.linkcases import fences
from tools.linkcases.basic import HEAD

_FILES = 12


def text(name: str) -> str:
    """The text of a generated source, `kind` or `kind:argument`."""
    kind, _, argument = name.partition(":")
    if kind == "many_files":
        return _one_of_many(int(argument))
    if kind == "fences":
        return fences.program(argument)
    if kind == "long_names":
        return _long_names(argument)
    whole = {"many_funcs": _many_functions, "many_kernels": _many_kernels, "heavy": _heavy}
    return whole[kind]()


def _call(name: str) -> str:
    return (
        "{.param .b32 x; .param .b32 y; st.param.b32 [x],%r1;"
        f" call (y),{name},(x); ld.param.b32 %r1,[y];}}\n"
    )


def _kernel(name: str, body: str) -> str:
    return (
        f".visible .entry {name}(.param .u64 p){{.reg .b32 %r<4>;.reg .b64 %d<4>;"
        f"ld.param.u64 %d1,[p];ld.global.u32 %r1,[%d1];\n{body}st.global.u32 [%d1],%r1; ret;}}\n"
    )


def _adds(name: str, number: int) -> str:
    return (
        f".visible .func (.param .b32 r) {name}(.param .b32 a){{.reg .b32 %r<3>;"
        f" ld.param.b32 %r1,[a]; add.s32 %r2,%r1,{number}; st.param.b32 [r],%r2; ret;}}\n"
    )


def _many_functions(count: int = 1200) -> str:
    functions = "".join(_adds(f"f{i}", i) for i in range(count))
    return HEAD + functions + _kernel("k", "".join(_call(f"f{i}") for i in range(0, count, 7)))


def _many_kernels(count: int = 300) -> str:
    parts = [HEAD]
    for i in range(count):
        value = f" = {{{i & 255}}}" if i % 3 == 0 else ""
        parts.append(f".visible .global .align {1 << (i % 6)} .b8 g{i}[{i * 7 % 53 + 1}]{value};\n")
        parts.append(
            f".visible .entry k{i}(.param .u64 p, .param .u32 q){{.reg .b32 %r<3>;.reg .b64 %d<3>;"
            f"ld.param.u64 %d1,[p]; mov.u64 %d2,g{i}; ld.global.u8 %r1,[%d2];"
            " st.global.u32 [%d1],%r1; ret;}\n"
        )
    return "".join(parts)


def _heavy() -> str:
    """Functions that hold many values at a time: `f` about 40, `heavy` about 80."""
    return HEAD + _holds("f", 40) + _holds("heavy", 80)


def _holds(name: str, count: int) -> str:
    table = f"values_{name}"
    loads = "".join(f"ld.global.u32 %v{i},[{table}+{4 * i}];\n" for i in range(count))
    turns = "".join(f"mad.lo.s32 %v{i},%v{(i + 1) % count},%r1,%v{i};\n" for i in range(count))
    adds = "".join(f"xor.b32 %r1,%r1,%v{i};\n" for i in range(count))
    return (
        f".global .align 4 .b8 {table}[{4 * count}];\n"
        f".visible .func (.param .b32 r) {name}(.param .b32 a){{.reg .b32 %r<3>,%v<{count}>;"
        f" .reg .pred %p;\nld.param.b32 %r1,[a];\n{loads}again:\n{turns}"
        f"shr.u32 %r1,%r1,1; setp.ne.s32 %p,%r1,0; @%p bra again;\n"
        f"{adds}st.param.b32 [r],%r1; ret;}}\n"
    )


def _one_of_many(number: int) -> str:
    last = number == _FILES - 1
    following = f"m{number + 1}"
    extern = "" if last else f".extern .func (.param .b32 r) {following}(.param .b32 a);\n"
    function = (
        f".visible .global .align 4 .u32 mg{number} = {number};\n"
        f".visible .func (.param .b32 r) m{number}(.param .b32 a){{.reg .b32 %r<4>;.reg .b64 %d<2>;"
        f"ld.param.b32 %r1,[a];mov.u64 %d1,mg{number};ld.global.u32 %r2,[%d1];"
        f"add.s32 %r1,%r1,%r2;\n{'' if last else _call(following)}st.param.b32 [r],%r1; ret;}}\n"
    )
    return HEAD + extern + function + (_kernel("k", _call("m0")) if number == 0 else "")


def _long_names(tag: str) -> str:
    kernel = "_Z" + "Q" * 1500 + tag
    function = "_ZN" + "".join(f"4ab{i:02d}" for i in range(90)) + "E" + tag
    body = _call(function) + (
        f"mov.u64 %d2,{kernel}v; ld.global.u32 %r2,[%d2]; add.s32 %r1,%r1,%r2;\n"
    )
    return (
        f"{HEAD}.visible .global .align 8 .u64 {kernel}v = 7;\n"
        f".visible .global .align 8 .u64 $odd${tag}_x_1;\n{_adds(function, 5)}"
        + _kernel(kernel, body)
    )
