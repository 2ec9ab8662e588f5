"""PTX of programs in several files, for the rows about linking."""

from __future__ import annotations

from collections.abc import Iterator

_HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
_SIGNATURE = "(.param .b32 r) {name}(.param .b32 a)"
_CALL = (
    " {{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), {name}, (x);"
    " ld.param.b32 %r1, [y]; }}\n"
)


def pair() -> Iterator[str]:
    """A kernel, and the device function in another file that it calls."""
    yield _HEADER + _declare("scaled") + _kernel("scale", "scaled")
    yield _HEADER + _function("scaled", 7, None)


def chain(files: int, functions: int, end: str | None = None) -> Iterator[str]:
    """Files that need each other: every function calls one of the next file.

    A quarter of each file's functions are kernels, which call the device functions of their file.
    A variable of each file is stored to by its kernels.

    Args:
        end: what the functions of the last file call; it is in a file of its own behind that.
    """
    kernels = functions // 4
    for file in range(files):
        after = file + 1 if file + 1 < files else None
        state = f"state_{file:03d}"
        parts = [_HEADER, f".visible .global .align 4 .b8 {state}[64];\n"]
        if after is None and end is not None:
            parts.append(_declare(end))
        for i in range(kernels, functions):
            callee = end
            if after is not None:
                callee = f"work_{after:03d}_{i:02d}"
                parts.append(_declare(callee))
            parts.append(_function(f"work_{file:03d}_{i:02d}", i, callee))
        for i in range(kernels):
            callee = f"work_{file:03d}_{kernels + i:02d}"
            parts.append(_kernel(f"kernel_{file:03d}_{i:02d}", callee, state))
        yield "".join(parts)
    if end is not None:
        yield _HEADER + _function(end, 1, None)


def _declare(name: str) -> str:
    return f".extern .func {_SIGNATURE.format(name=name)};\n"


def _function(name: str, factor: int, callee: str | None) -> str:
    return (
        f".visible .func {_SIGNATURE.format(name=name)} {{\n"
        f" .reg .b32 %r<3>; ld.param.b32 %r2, [a]; mad.lo.s32 %r1, %r2, %r2, {factor};\n"
        f"{_CALL.format(name=callee) if callee else ''} st.param.b32 [r], %r1; ret; }}\n"
    )


def _kernel(name: str, callee: str, state: str | None = None) -> str:
    keep = f" mov.u64 %d1, {state}; st.global.u32 [%d1], %r1;\n" if state else ""
    return (
        f".visible .entry {name}(.param .u64 out, .param .u32 n) {{\n"
        " .reg .b32 %r<2>; .reg .b64 %d<2>; ld.param.u64 %d1, [out]; ld.param.u32 %r1, [n];\n"
        f"{_CALL.format(name=callee)} st.global.u32 [%d1], %r1;\n{keep} ret; }}\n"
    )
