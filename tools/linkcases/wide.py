"""Random link programs of a second kind: wider than `programs`, a few themes per program.

A seed decides everything. Each program draws some of the themes below, so that rules meet in pairs
and a difference can be traced to few of them. Names are defined once (strong), in several files
with different bodies (weak, or weak under a strong one), or per file (static, equal names in two
files).
Every function is declared before it is used, so calls may go anywhere a theme allows.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from cubinspec.format.targets import family_of

THEMES = (
    "weak",
    "strong_over_weak",
    "statics",
    "commons",
    "tables",
    "indirect",
    "recursion",
    "barriers",
    "dynamic_shared",
    "shared",
    "frames",
    "system",
    "constants",
    "doubles",
    "jump_tables",
    "pointers",
    "managed",
    "signatures",
    "parameters",
    "weak_kernels",
    "many_kernels",
    "dead",
    "bounds",
    "textures",
    "link_options",
)
_REGISTERS = (
    ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f64 %f<4>; .reg .f32 %g<9>;\n"
)
#: How a copy is bound -> its linking directive.
_LINK = {"visible": ".visible ", "weak": ".weak ", "common": ".common ", "static": ""}
#: Signature -> (declaration, how to call it).
SIGNATURES = {
    "ii": ("(.param .b32 r) {name}(.param .b32 a)", "(.param .b32 _) _ (.param .b32 _)"),
    "iii": (
        "(.param .b32 r) {name}(.param .b32 a, .param .b32 b)",
        "(.param .b32 _) _ (.param .b32 _, .param .b32 _)",
    ),
    "ll": ("(.param .b64 r) {name}(.param .b64 a)", "(.param .b64 _) _ (.param .b64 _)"),
    "v": ("{name}()", "_ ()"),
    "s": (
        "(.param .align 8 .b8 r[16]) {name}(.param .align 8 .b8 a[16])",
        "(.param .align 8 .b8 _[16]) _ (.param .align 8 .b8 _[16])",
    ),
}


@dataclass
class Function:
    name: str
    kind: str  # visible, weak, static
    signature: str
    #: File -> linkage of the copy there.
    copies: dict[int, str] = field(default_factory=dict)
    level: int = 0


@dataclass
class Variable:
    name: str
    space: str
    kind: str  # visible, weak, static, common
    align: int
    size: int
    init: bool
    files: list[int] = field(default_factory=list)
    attribute: str = ""


class WideProgram:
    """One program for an architecture such as 90: `files` of PTX, `options` for the linker."""

    def __init__(self, seed: int, arch: int) -> None:
        self.pick = random.Random(f"wide {seed}")
        self.count = self.pick.choice((1, 2, 2, 2, 3, 3, 4))
        self.themes = {t for t in THEMES if self._chance(0.25)}
        self.head = f".version 8.0\n.target sm_{self.pick.choice((75, 75, 80))}\n.address_size 64\n"
        self.functions: list[Function] = []
        self.variables: list[Variable] = []
        self.kernels: list[Function] = []
        self.tables: list[tuple[str, int, int, str]] = []
        self.declared: list[dict[str, str]] = [{} for _ in range(self.count)]
        self.data: list[list[str]] = [[] for _ in range(self.count)]
        self.code: list[list[str]] = [[] for _ in range(self.count)]
        self.number = 0
        self._decide()
        self._write()
        self.files = [
            self.head
            + "".join(self.declared[i].values())
            + "".join(self.data[i])
            + "".join(self.code[i])
            for i in range(self.count)
        ]
        self.options = self._options(arch)

    def has(self, theme: str) -> bool:
        return theme in self.themes

    def _chance(self, part: float) -> bool:
        return self.pick.random() < part

    # -- what there is -------------------------------------------------------------------------

    def _decide(self) -> None:
        pick = self.pick
        for number in range(pick.randint(0, 8)):
            kinds = ["visible", "visible", "visible", "static"]
            kinds += ["weak"] * 4 * self.has("weak") + ["static"] * 3 * self.has("statics")
            kind = pick.choice(kinds)
            signature = pick.choice(tuple(SIGNATURES)) if self.has("signatures") else "ii"
            function = Function(f"f{number}", kind, signature, level=number)
            self._copies(function, "strong_over_weak")
            self.functions.append(function)
        for number in range(pick.randint(0, 8)):
            self.variables.append(self._decide_variable(number))
        most = 6 if self.has("many_kernels") else 3
        for number in range(pick.randint(0 if self.functions else 1, most)):
            kernel = Function(f"k{number}", "visible", "", level=99)
            if self.has("weak_kernels") and self._chance(0.6):
                kernel.kind = "weak"
            self._copies(kernel, "weak_kernels")
            self.kernels.append(kernel)

    def _copies(self, function: Function, override: str) -> None:
        """Decide which files have a copy, and how each is bound."""
        pick = self.pick
        home = pick.randrange(self.count)
        function.copies = {home: function.kind}
        for i in range(self.count):
            if i != home and function.kind in ("weak", "static") and self._chance(0.5):
                function.copies[i] = function.kind
        if function.kind == "weak" and self.has(override) and self._chance(0.5):
            function.copies[pick.choice(sorted(function.copies))] = "visible"
        function.copies = dict(sorted(function.copies.items()))

    def _decide_variable(self, number: int) -> Variable:
        pick = self.pick
        spaces = ["global", "global", "const"] + ["shared"] * (1 + 4 * self.has("shared"))
        space = pick.choice(spaces)
        kinds = ["visible", "visible", "static"]
        if space == "global":
            kinds += ["weak"] * 2 * self.has("weak") + ["common"] * 4 * self.has("commons")
        kind = pick.choice(kinds)
        align = pick.choice((1, 2, 4, 4, 8, 8, 16, 32, 64))
        size = pick.choice((1, 2, 4, 4, 4, 8, 8, 8, 12, 20, 33, 64, 100, 256))
        init = space != "shared" and kind != "common" and self._chance(0.5)
        variable = Variable(f"v{number}", space, kind, align, size, init)
        if space == "global" and kind == "visible" and self.has("managed") and self._chance(0.4):
            variable.attribute = ".attribute(.managed) "
        home = pick.randrange(self.count)
        several = kind in ("weak", "common", "static")
        variable.files = [
            i for i in range(self.count) if i == home or (several and self._chance(0.5))
        ]
        return variable

    def _options(self, arch: int) -> list[str]:
        if not self.has("link_options"):
            return []
        choices = [[], ["-r"], ["--kernels-used=k1"]]
        if not family_of(arch).warns_of_preserved_relocs:
            choices.append(["--preserve-relocs"])
        return self.pick.choice(choices)

    # -- text ----------------------------------------------------------------------------------

    def _write(self) -> None:
        for variable in self.variables:
            for file in variable.files:
                self.data[file].append(self._define(variable, file))
        for _ in range(self.pick.randint(1, 3) if self.has("tables") else 0):
            self._table()
        for _ in range(self.pick.randint(1, 4) if self.has("pointers") else 0):
            self._pointer()
        todo = [(f, file) for f in (*self.functions, *self.kernels) for file in f.copies]
        for function, file in todo:
            text = self._kernel if function in self.kernels else self._function
            self.code[file].append(text(function, file))
        if self.has("dead"):
            for number in range(self.pick.randint(1, 3)):
                dead = Function(f"dead{number}", "visible", "ii", level=50)
                file = self.pick.randrange(self.count)
                dead.copies = {file: "visible"}
                self.code[file].append(self._function(dead, file))

    def _define(self, v: Variable, file: int) -> str:
        link = _LINK[v.kind]
        size = v.size
        if v.kind == "common" and self._chance(0.3):
            size = self.pick.choice((4, 8, 64, 128))
        value = ", ".join(str((i * 7 + 1 + file * (v.kind == "weak")) % 251) for i in range(size))
        value = f" = {{{value}}}" if v.init else ""
        return f"{link}.{v.space} {v.attribute}.align {v.align} .b8 {v.name}[{size}]{value};\n"

    def _see_variable(self, v: Variable, file: int) -> bool:
        """Make a variable usable in a file; False when it cannot be."""
        if file in v.files:
            return True
        if v.kind != "visible":
            return False
        self.declared[file][v.name] = (
            f".extern .{v.space} {v.attribute}.align {v.align} .b8 {v.name}[{v.size}];\n"
        )
        return True

    def _see_function(self, function: Function, file: int) -> bool:
        """Declare a function in a file; False when the file cannot name it."""
        linkage = function.copies.get(file)
        if linkage is None and function.kind == "static":
            return False
        words = ".extern " if linkage is None else _LINK[linkage]
        head = SIGNATURES[function.signature][0].format(name=function.name)
        self.declared[file][function.name] = f"{words}.func {head};\n"
        return True

    def _nameable(self, file: int, below: int = 1000) -> list[Function]:
        """Functions that a file can name, of a level lower than the given one."""
        return [
            f
            for f in self.functions
            if f.level < below and (f.kind != "static" or file in f.copies)
        ]

    def _table(self) -> None:
        pick = self.pick
        file = pick.randrange(self.count)
        signature = pick.choice([f.signature for f in self.functions] or ["ii"])
        named = [f for f in self._nameable(file) if f.signature == signature]
        if not named:
            return
        chosen = [
            f for f in pick.choices(named, k=pick.randint(1, 4)) if self._see_function(f, file)
        ]
        names = ["0" if self._chance(0.1) else f.name for f in chosen]
        name, space = f"table{len(self.tables)}", pick.choice(("global", "global", "const"))
        self.data[file].append(
            f".visible .{space} .align 8 .u64 {name}[{len(names)}] = {{{', '.join(names)}}};\n"
        )
        self.tables.append((name, file, len(names), f"{space} {signature}"))

    def _pointer(self) -> None:
        """Data that holds addresses of other data, with and without an addend."""
        pick = self.pick
        file = pick.randrange(self.count)
        targets = [v for v in self.variables if v.space == "global" and self._see_variable(v, file)]
        if not targets:
            return
        values = []
        for _ in range(pick.randint(1, 3)):
            v = pick.choice(targets)
            at = pick.choice(("", "", f"+{pick.randrange(v.size)}"))
            values.append(f"generic({v.name}){at}" if self._chance(0.5) else f"{v.name}{at}")
        self.number += 1
        link, space = pick.choice((".visible ", "")), pick.choice(("global", "global", "const"))
        self.data[file].append(
            f"{link}.{space} .align 8 .u64 pointer{self.number}[{len(values) + 1}]"
            f" = {{{', '.join([*values, '5'])}}};\n"
        )

    def _call(self, function: Function) -> str:
        return self._call_with(function.signature, function.name)

    def _call_with(self, signature: str, target: str, prototype: str = "") -> str:
        if signature == "v":
            return f"{{ call {target}{prototype and ', ()'}{prototype}; }}\n"
        if signature == "s":
            return (
                "{ .param .align 8 .b8 x[16]; .param .align 8 .b8 y[16]; st.param.b32 [x+4],%r1;"
                f" call (y),{target},(x){prototype}; ld.param.b32 %r1,[y+4]; }}\n"
            )
        kind, register = ("b64", "%d1") if signature == "ll" else ("b32", "%r1")
        second = f" .param .{kind} z; st.param.{kind} [z],%r2;" if signature == "iii" else ""
        arguments = "x,z" if signature == "iii" else "x"
        return (
            f"{{ .param .{kind} x; .param .{kind} y; st.param.{kind} [x],{register};{second}"
            f" call (y),{target},({arguments}){prototype}; ld.param.{kind} %r1x,[y]; }}\n"
        ).replace("%r1x", "%d2" if kind == "b64" else "%r1")

    def _indirect(self, file: int) -> str:
        """A call through a table, or of a function whose address the code takes."""
        self.number += 1
        label = f"proto_{self.number}"
        usable = [t for t in self.tables if t[3].startswith("global") or t[1] == file]
        if usable and self._chance(0.7):
            name, owner, entries, kind = self.pick.choice(usable)
            space, signature = kind.split()
            if owner != file:
                self.declared[file][name] = f".extern .{space} .align 8 .u64 {name}[{entries}];\n"
            at = 8 * self.pick.randrange(entries)
            load = f"mov.u64 %d3,{name}; ld.{space}.u64 %d3,[%d3+{at}];\n"
        else:
            named = self._nameable(file)
            if not named:
                return ""
            function = self.pick.choice(named)
            self._see_function(function, file)
            signature, load = function.signature, f"mov.u64 %d3,{function.name};\n"
        text = f"{label}: .callprototype {SIGNATURES[signature][1]};\n"
        return (
            load
            + text
            + self._call_with(signature, "%d3", f", {label}").replace(", (), ", ", (), ")
        )

    def _load(self, file: int) -> str:
        usable = [v for v in self.variables if file in v.files or v.kind == "visible"]
        if not usable:
            return ""
        v = self.pick.choice(usable)
        self._see_variable(v, file)
        if self._chance(0.2):
            return f"mov.u64 %d4,{v.name}; cvt.u32.u64 %r2,%d4; add.s32 %r1,%r1,%r2;\n"
        text = f"ld.{v.space}.u8 %r2,[{v.name}]; add.s32 %r1,%r1,%r2;\n"
        if v.space != "const" and self._chance(0.5):
            text += f"st.{v.space}.u8 [{v.name}],%r1;\n"
        return text

    def _statements(self, function: Function, file: int) -> list[str]:
        pick, name = self.pick, function.name
        lines = [self._load(file) for _ in range(pick.choice((0, 1, 1, 2)))]
        own = (0, 1, 2, 3) if self.has("shared") else (0, 0, 0, 1)
        for i in range(pick.choice(own)):
            align, size = pick.choice((1, 4, 4, 8, 16, 32)), pick.choice((1, 4, 4, 8, 8, 40, 96))
            lines.append(
                f".shared .align {align} .b8 s_{name}_{i}[{size}]; st.shared.u8 [s_{name}_{i}],%r1;"
                f" ld.shared.u8 %r2,[s_{name}_{i}]; add.s32 %r1,%r1,%r2;\n"
            )
        if self.has("dynamic_shared") and self._chance(0.3):
            array = pick.choice(("dyn", "dyn", "dyn2"))
            align = 4 if array == "dyn" else 16
            self.declared[file][array] = f".extern .shared .align {align} .b8 {array}[];\n"
            lines.append(f"st.shared.u8 [{array}],%r1; ld.shared.u8 %r1,[{array}+1];\n")
        if self.has("barriers") and self._chance(0.4):
            lines.append(
                pick.choice(
                    (f"bar.sync {pick.randrange(16)};\n", "and.b32 %r3,%r1,7; bar.sync %r3;\n")
                )
            )
        if self.has("doubles") and self._chance(0.4):
            lines.append(self._doubles())
        if self.has("frames") and self._chance(0.3):
            lines.append(
                f".local .align 4 .b8 frame[{pick.choice((16, 64, 200))}]; and.b32 %r3,%r1,7;"
                " cvt.u64.u32 %d4,%r3; mov.u64 %d5,frame; add.u64 %d5,%d5,%d4;"
                " st.local.u8 [%d5],%r1; ld.local.u8 %r1,[%d5+1];\n"
            )
        if self.has("system") and self._chance(0.3):
            lines.append(self._system(file))
        if self.has("constants") and self._chance(0.4):
            lines.append(
                "cvt.rn.f32.s32 %g1,%r1; div.rn.f32 %g1,%g1,0f40490FDB; sqrt.rn.f32 %g2,%g1;"
                " cvt.rzi.s32.f32 %r1,%g2;\n"
            )
        if self.has("jump_tables") and self._chance(0.3):
            lines.append(self._switch())
        if self.has("textures") and self._chance(0.4):
            lines.append(self._texture(file))
        if self._chance(0.1):
            lines.append(self._registers())
        calls = self._nameable(file, function.level)
        for callee in pick.sample(calls, min(len(calls), pick.choice((0, 1, 1, 2)))):
            self._see_function(callee, file)
            lines.append(self._call(callee))
        if self.has("recursion") and self._chance(0.3):
            calls = self._nameable(file)
            if calls:
                callee = pick.choice(calls)
                self._see_function(callee, file)
                self.number += 1
                lines.append(
                    f"setp.eq.s32 %p1,%r1,{pick.randrange(9)}; @%p1 bra skip_{self.number};\n"
                    f"{self._call(callee)}skip_{self.number}:\n"
                )
        if self.has("indirect") and self._chance(0.4):
            lines.append(self._indirect(file))
        pick.shuffle(lines)
        return lines

    def _doubles(self) -> str:
        value = (
            f"0d{self.pick.randrange(0x3FE00000, 0x40100000):08X}66{self.pick.randrange(4)}F3BCD"
        )
        return (
            f"cvt.rn.f64.s32 %f1,%r1; fma.rn.f64 %f1,%f1,{value},0d3FE6A09E667F3BCD;"
            f"{self.pick.choice(('', f' div.rn.f64 %f1,%f1,{value};', ' sqrt.rn.f64 %f1,%f1;'))}"
            " cvt.rzi.s32.f64 %r1,%f1;\n"
        )

    def _system(self, file: int) -> str:
        which = self.pick.choice(("vprintf", "vprintf", "malloc", "free"))
        declared = {
            "vprintf": "(.param .b32 r) vprintf(.param .b64 f, .param .b64 v)",
            "malloc": "(.param .b64 r) malloc(.param .b64 n)",
            "free": "free(.param .b64 p)",
        }[which]
        self.declared[file][which] = f".extern .func {declared};\n"
        if which == "malloc":
            return (
                "{ .param .b64 x; .param .b64 y; st.param.b64 [x],%d1; call (y),malloc,(x);"
                " ld.param.b64 %d6,[y]; }\n"
            )
        if which == "free":
            return "{ .param .b64 x; st.param.b64 [x],%d1; call free,(x); }\n"
        text = f"text_{file}"
        self.declared[file][text] = f".global .align 1 .b8 {text}[3] = {{37, 100, 0}};\n"
        return (
            f"{{ .param .b64 f; .param .b64 v; .param .b32 y; mov.u64 %d2,{text};"
            " cvta.global.u64 %d2,%d2; st.param.b64 [f],%d2; st.param.b64 [v],%d1;"
            " call (y),vprintf,(f,v); ld.param.b32 %r1,[y]; }\n"
        )

    def _switch(self) -> str:
        self.number += 1
        n, arms = self.number, self.pick.randint(5, 9)
        labels = ",".join(f"L{n}_{i}" for i in range(arms))
        text = "".join(
            f"L{n}_{i}: {'mul.lo.s32' if i % 2 else 'xor.b32'} %r1,%r1,{i * 7 + 3};"
            f" bar.warp.sync -1; bra E{n};\n"
            for i in range(arms)
        )
        return (
            f"T{n}: .branchtargets {labels};\nsetp.gt.u32 %p1,%r1,{arms - 1}; @%p1 bra D{n};"
            f" brx.idx %r1,T{n};\n{text}D{n}: mov.u32 %r1,5;\nE{n}:\n"
        )

    def _texture(self, file: int) -> str:
        kind, name = self.pick.choice(
            (("texref", "tex0"), ("texref", "tex1"), ("surfref", "surf0"))
        )
        owner = sum(map(ord, name)) % self.count
        link = ".visible" if owner == file else ".extern"
        self.declared[owner].setdefault(name, f".visible .global .{kind} {name};\n")
        self.declared[file].setdefault(name, f"{link} .global .{kind} {name};\n")
        if kind == "surfref":
            return f"sust.b.1d.b32.trap [{name},{{%r1}}],%r1;\n"
        return (
            f"cvt.rn.f32.s32 %g1,%r1; tex.1d.v4.f32.f32 {{%g2,%g3,%g4,%g5}},[{name},{{%g1}}];"
            " cvt.rzi.s32.f32 %r1,%g2;\n"
        )

    def _registers(self) -> str:
        count = self.pick.choice((8, 16, 24, 32))
        self.number += 1
        name = f"%q{self.number}_"
        loads = "".join(f"ld.volatile.global.u32 {name}{i},[%d1+{4 * i}];\n" for i in range(count))
        sums = "".join(
            f"add.s32 %r1,%r1,{name}{i}; mul.lo.s32 %r1,%r1,{name}{count - 1 - i};\n"
            for i in range(count)
        )
        return f".reg .b32 {name}<{count}>;\n{loads}{sums}"

    def _function(self, function: Function, file: int) -> str:
        link = _LINK[function.copies[file]]
        head = SIGNATURES[function.signature][0].format(name=function.name)
        entry = {
            "v": "mov.u32 %r1,%tid.x; mov.u64 %d1,0;\n",
            "ll": "ld.param.b64 %d1,[a]; cvt.u32.u64 %r1,%d1;\n",
            "s": "ld.param.b32 %r1,[a+4]; mov.u64 %d1,0;\n",
            "iii": (
                "ld.param.b32 %r1,[a]; ld.param.b32 %r2,[b]; add.s32 %r1,%r1,%r2; mov.u64 %d1,0;\n"
            ),
        }.get(function.signature, "ld.param.b32 %r1,[a]; mov.u64 %d1,0;\n")
        leave = {
            "v": "",
            "ll": "cvt.u64.u32 %d1,%r1; st.param.b64 [r],%d1; ",
            "s": "st.param.b32 [r+4],%r1; ",
        }.get(function.signature, "st.param.b32 [r],%r1; ")
        self._see_if_listed(function, file)
        body = "".join(self._statements(function, file))
        return f"{link}.func {head} {{\n{_REGISTERS}{entry}{body}{leave}ret;\n}}\n"

    def _see_if_listed(self, function: Function, file: int) -> None:
        if function in self.functions:
            self._see_function(function, file)

    def _kernel(self, kernel: Function, file: int) -> str:
        pick = self.pick
        link = _LINK[kernel.copies[file]]
        more = ""
        if self.has("parameters"):
            kinds = (
                ".param .u32 q{}",
                ".param .u64 q{}",
                ".param .align 16 .b8 q{}[48]",
                ".param .u8 q{}",
            )
            more = "".join(", " + pick.choice(kinds).format(i) for i in range(pick.randint(0, 4)))
        bounds = ""
        if self.has("bounds"):
            bounds = pick.choice(
                (
                    "",
                    ".maxntid 128,1,1\n",
                    ".reqntid 64,1,1\n",
                    ".maxntid 256,1,1\n.minnctapersm 2\n",
                )
            )
        body = "".join(self._statements(kernel, file))
        return (
            f"{link}.entry {kernel.name}(.param .u64 p{more})\n{bounds}{{\n{_REGISTERS}"
            f"ld.param.u64 %d1,[p]; ld.global.u32 %r1,[%d1];\n{body}"
            "st.global.u32 [%d1],%r1; ret;\n}\n"
        )
