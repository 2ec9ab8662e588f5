"""Random link programs: PTX for several files that use each other's names in every way we link.

A program is decided by its seed alone. Every file has device functions, kernels and data; names
are defined once (strong), in several files (weak) or per file (static). Calls go upwards in the
order of functions, so that there is no recursion unless it is asked for.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

#: What every PTX file begins with.
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
_CALL = (
    "{{ .param .b32 x; .param .b32 y; st.param.b32 [x],%r1; call.uni (y),{name},(x);"
    " ld.param.b32 %r1,[y]; }}\n"
)
_PRINT = (
    "{{ .param .b64 f; .param .b64 v; .param .b32 y; mov.u64 %d2,{text}; cvta.global.u64 %d2,%d2;"
    " st.param.b64 [f],%d2; st.param.b64 [v],%d1; call.uni (y),vprintf,(f,v);"
    " ld.param.b32 %r1,[y]; }}\n"
)
_TABLE_CALL = (
    "{{ mov.u64 %d3,{table}; ld.global.u64 %d3,[%d3+{at}];\n"
    ".param .b32 x; .param .b32 y; st.param.b32 [x],%r1;\n"
    "proto_{number}: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
    "call (y),%d3,(x),proto_{number}; ld.param.b32 %r1,[y]; }}\n"
)


@dataclass
class _Function:
    name: str
    file: int
    kind: str  # visible, weak, static
    uses: list[str] = field(default_factory=list)
    shared: list[tuple[str, int, int]] = field(default_factory=list)


@dataclass
class _Variable:
    name: str
    file: int
    kind: str
    space: str  # global, const, shared
    align: int
    size: int
    init: bool


class BasicProgram:
    """One program; `files` holds the PTX text of every file."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = self.random.choice((1, 2, 2, 2, 3))
        self.functions: list[_Function] = []
        self.variables: list[_Variable] = []
        self.texts: list[list[str]] = [[] for _ in range(self.count)]
        self.externs: list[dict[str, str]] = [{} for _ in range(self.count)]
        self.number = 0
        self._decide()
        self._write()
        self.files = [
            HEAD + "".join(self.externs[i].values()) + "".join(self.texts[i])
            for i in range(self.count)
        ]

    def _chance(self, part: float) -> bool:
        return self.random.random() < part

    def _decide(self) -> None:
        pick = self.random
        for i in range(pick.randint(0, 6)):
            kind = pick.choice(("visible", "visible", "visible", "static", "weak"))
            self.functions.append(_Function(f"f{i}", pick.randrange(self.count), kind))
        for i in range(pick.randint(0, 6)):
            space = pick.choice(("global", "global", "global", "const", "shared"))
            kind = pick.choice(("visible", "visible", "static"))
            if space == "global" and self._chance(0.15):
                kind = "weak"
            align = pick.choice((1, 2, 4, 4, 8, 16, 32))
            size = pick.choice((1, 4, 4, 8, 12, 20, 33, 64, 100))
            init = space != "shared" and self._chance(0.5)
            file = pick.randrange(self.count)
            self.variables.append(_Variable(f"v{i}", file, kind, space, align, size, init))

    def _write(self) -> None:
        for variable in self.variables:
            files = [variable.file]
            if variable.kind == "weak":
                files = [i for i in range(self.count) if i == variable.file or self._chance(0.5)]
            for file in files:
                self.texts[file].append(self._variable(variable))
        done: list[_Function] = []
        for function in self.functions:
            files = [function.file]
            if function.kind == "weak":
                files = [i for i in range(self.count) if i == function.file or self._chance(0.5)]
            state = self.random.getstate()
            for file in files:
                self.random.setstate(state)
                self._function(function, file, done)
            done.append(function)
        tables = self._tables(done)
        for i in range(self.random.randint(0 if done else 1, 4)):
            self._kernel(f"k{i}", self.random.randrange(self.count), done, tables)

    def _variable(self, v: _Variable) -> str:
        link = {"visible": ".visible ", "weak": ".weak ", "static": ""}[v.kind]
        value = (
            f" = {{{', '.join(str((i * 7 + 1) % 251) for i in range(v.size))}}}" if v.init else ""
        )
        return f"{link}.{v.space} .align {v.align} .b8 {v.name}[{v.size}]{value};\n"

    def _need_function(self, file: int, function: _Function) -> bool:
        """Make a function callable from a file; False when it cannot be."""
        if function.file == file:
            return True
        if function.kind == "static":
            return False
        if function.kind == "weak" and f"func {function.name}(" in "".join(self.texts[file]):
            return True
        self.externs[file][function.name] = (
            f".extern .func (.param .b32 r) {function.name}(.param .b32 a);\n"
        )
        return True

    def _use_variable(self, file: int) -> str:
        usable = [v for v in self.variables if v.file == file or v.kind == "visible"]
        if not usable:
            return ""
        v = self.random.choice(usable)
        if v.file != file:
            self.externs[file][v.name] = (
                f".extern .{v.space} .align {v.align} .b8 {v.name}[{v.size}];\n"
            )
        load = f"ld.{v.space}.u8 %r2,[{v.name}]; add.s32 %r1,%r1,%r2;\n"
        if v.space != "const" and self._chance(0.5):
            load += f"st.{v.space}.u8 [{v.name}],%r1;\n"
        return load

    def _body(self, name: str, file: int, callable_: list[_Function]) -> str:
        pick = self.random
        lines = []
        for i in range(pick.choice((0, 0, 0, 1, 2))):
            align, size = pick.choice((1, 4, 4, 8, 16)), pick.choice((1, 4, 8, 8, 40, 96))
            own = f"s_{name}_{i}"
            lines.append(
                f".shared .align {align} .b8 {own}[{size}];\nst.shared.u8 [{own}],%r1;"
                f" ld.shared.u8 %r2,[{own}]; add.s32 %r1,%r1,%r2;\n"
            )
        if self._chance(0.12):
            self.externs[file]["dyn"] = ".extern .shared .align 4 .b8 dyn[];\n"
            lines.append("st.shared.u8 [dyn],%r1; ld.shared.u8 %r2,[dyn]; add.s32 %r1,%r1,%r2;\n")
        for _ in range(pick.choice((0, 1, 1, 2))):
            lines.append(self._use_variable(file))
        if self._chance(0.12):
            lines.append(f"bar.sync {pick.randrange(4)};\n")
        if self._chance(0.15):
            lines.append(
                "cvt.rn.f64.s32 %f1,%r1; fma.rn.f64 %f1,%f1,0d400921FB54442D18,"
                "0d3FE6A09E667F3BCD; cvt.rzi.s32.f64 %r1,%f1;\n"
            )
        if self._chance(0.08):
            self.externs[file]["vprintf"] = (
                ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n"
            )
            text = f"text_{file}"
            self.externs[file][text] = f".global .align 1 .b8 {text}[3] = {{37, 100, 0}};\n"
            lines.append(_PRINT.format(text=text))
        for function in pick.sample(callable_, min(len(callable_), pick.choice((0, 1, 1, 2)))):
            if self._need_function(file, function):
                lines.append(_CALL.format(name=function.name))
        pick.shuffle(lines)
        if self._chance(0.1):
            size = pick.choice((16, 64, 200))
            lines.insert(
                0,
                f".local .align 4 .b8 frame[{size}]; and.b32 %r3,%r1,7; cvt.u64.u32 %d4,%r3;"
                " mov.u64 %d5,frame; add.u64 %d5,%d5,%d4; st.local.u8 [%d5],%r1;"
                " ld.local.u8 %r1,[%d5+1];\n",
            )
        return "".join(lines)

    def _function(self, function: _Function, file: int, done: list[_Function]) -> None:
        link = {"visible": ".visible ", "weak": ".weak ", "static": ""}[function.kind]
        # copies of a weak function must not differ in what they can reach
        callable_ = [] if function.kind == "weak" else done
        body = self._body(f"{function.name}", file, callable_)
        self.texts[file].append(
            f"{link}.func (.param .b32 r) {function.name}(.param .b32 a) {{\n"
            ".reg .b32 %r<6>; .reg .b64 %d<8>; .reg .f64 %f<3>;\n"
            f"ld.param.b32 %r1,[a]; mov.u64 %d1,0;\n{body}st.param.b32 [r],%r1; ret;\n}}\n"
        )

    def _tables(self, done: list[_Function]) -> list[tuple[str, int, int]]:
        """Tables of function pointers: (name, file, entries)."""
        tables = []
        for i in range(self.random.choice((0, 0, 1))):
            file = self.random.randrange(self.count)
            named = [f for f in done if self._need_function(file, f)]
            if named:
                chosen = self.random.sample(named, min(len(named), self.random.randint(1, 3)))
                names = ", ".join(f.name for f in chosen)
                self.texts[file].append(
                    f".visible .global .align 8 .u64 table{i}[{len(chosen)}] = {{{names}}};\n"
                )
                tables.append((f"table{i}", file, len(chosen)))
        return tables

    def _kernel(
        self, name: str, file: int, done: list[_Function], tables: list[tuple[str, int, int]]
    ) -> None:
        body = self._body(name, file, done)
        if tables and self._chance(0.5):
            table, owner, entries = self.random.choice(tables)
            if owner != file:
                self.externs[file][table] = f".extern .global .align 8 .u64 {table}[{entries}];\n"
            at = 8 * self.random.randrange(entries)
            self.number += 1
            body += _TABLE_CALL.format(table=table, at=at, number=self.number)
        self.texts[file].append(
            f".visible .entry {name}(.param .u64 p) {{\n"
            ".reg .b32 %r<6>; .reg .b64 %d<8>; .reg .f64 %f<3>;\n"
            f"ld.param.u64 %d1,[p]; ld.global.u32 %r1,[%d1];\n{body}"
            "st.global.u32 [%d1],%r1; ret;\n}\n"
        )
