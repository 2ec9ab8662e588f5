"""Random link programs that mix how objects are made, packed and linked.

The texts are those of the kind `wide` with further themes; beside them a seed draws the options of
ptxas for every file, what holds each object (a cubin, a fatbin, a host object, an archive, the
result of `-r`), their order, and the options of the link. A program is a recipe as in `case.json`.
"""

from __future__ import annotations

from typing import Any

from tools.linkcases.wide import SIGNATURES, Function, Variable, WideProgram

THEMES = (
    "alias",
    "spaces",
    "pragmas",
    "noreturn",
    "limits",
    "clusters",
    "lines",
    "parameter_address",
    "stack",
    "masks",
    "kernel_table",
    "asynchronous",
    "atomics",
    "debug_section",
    "special",
)
#: Options of ptxas for one file.
_PTXAS: tuple[tuple[str, ...], ...] = (
    ("-O0",),
    ("-O1",),
    ("-O2",),
    ("-g",),
    ("-g", "-O0"),
    ("-lineinfo",),
    ("-lineinfo", "-O1"),
    ("-g", "-suppress-debug-info"),
    ("-maxrregcount", "32"),
    ("-func-maxrregcount", "24"),
    ("-preserve-relocs",),
    ("-disable-optimizer-consts",),
    ("-ret-end",),
    ("-no-bb-merge",),
    ("-dlcm", "cg"),
    ("-flcm", "cv"),
    ("-O3", "-lineinfo", "-suppress-debug-info"),
    ("-sp-bounds-check",),
    ("-regUsageLevel", "2"),
    ("-legacy-bar-warp-wide-behavior",),
    ("-make-errors-visible-at-exit",),
    ("-Ofc", "max"),
    ("-sanitize", "memcheck"),
    ("-fmad", "false"),
    ("-g", "-lineinfo", "-preserve-relocs"),
)
#: Options of the link, of which a few are taken.
_LINK: tuple[tuple[str, ...], ...] = (
    ("-r",),
    ("-g",),
    ("-g", "--suppress-debug-info"),
    ("-v",),
    ("--kernels-used=k1",),
    ("--kernels-used=k0,k2",),
    ("--variables-used=v1",),
    ("--preserve-relocs",),
    ("--dump-callgraph",),
    ("-dot", "graph.dot"),
    ("-Werror",),
    ("--extra-warnings",),
    ("--disable-infos",),
    ("--suppress-stack-size-warning",),
    ("--allow-undefined-globals",),
    ("--report-arch",),
    ("--ignore-host-info",),
    ("--use-host-info",),
    ("--keep-system-libraries",),
)
_SPECIAL = ("%smid", "%laneid", "%clock", "%nctaid.z", "%ctaid.y", "%ctaid.z", "%lanemask_lt")
#: Lines of bodies.
_STACK = (
    "{ .reg .u64 %sp; .reg .b64 %sa; stacksave.u64 %sp; cvt.u64.u32 %sa,%r1;"
    " and.b64 %sa,%sa,0xf0; alloca.u64 %sa,%sa,16; st.local.u32 [%sa],%r1;"
    " ld.local.u32 %r1,[%sa]; stackrestore.u64 %sp; }\n"
)
_COPY = (
    ".shared .align 16 .b8 {name}[64]; mov.u64 %d4,{name}; cvt.u32.u64 %r3,%d4;"
    " cp.async.ca.shared.global [%r3],[%d1],16; cp.async.commit_group;"
    " cp.async.wait_group 0; ld.shared.u32 %r2,[%r3]; add.s32 %r1,%r1,%r2;\n"
)
_CLUSTER = (
    ".shared .align 8 .b8 {name}[16]; mov.u64 %d4,{name}; cvt.u32.u64 %r3,%d4;"
    " mapa.shared::cluster.u32 %r3,%r3,1; barrier.cluster.arrive;"
    " barrier.cluster.wait; ld.shared::cluster.u32 %r2,[%r3];"
    " add.s32 %r1,%r1,%r2;\n"
)
_ATOMICS = (
    "atom.global.add.u32 %r2,[%d1],%r1; add.s32 %r1,%r1,%r2;\n",
    "red.global.add.f32 [%d1],0f3F800000;\n",
    "membar.gl; atom.acq_rel.gpu.global.cas.b32 %r2,[%d1],%r1,5;\n",
    "fence.sc.cta; ld.acquire.sys.global.u32 %r2,[%d1];\n",
)
#: Limits of kernels, also of clusters.
_LIMITS = (".maxnreg 32\n", ".maxnreg 64\n", ".maxntid 96,2,1\n.minnctapersm 3\n")
_CLUSTERS = (
    ".explicitcluster\n.reqnctapercluster 2,1,1\n",
    ".reqnctapercluster 1,2,2\n",
    ".maxclusterrank 4\n",
)
#: What nvcc puts around a fatbin in a host object.
_HOST = """.section __nv_relfatbin,"a"
.align 8
.incbin "{fatbin}"
.section .nvFatBinSegment,"aw"
.align 8
.long 0x466243b1
.long 1
.quad __nv_relfatbin
.quad 0
"""


class MixedProgram(WideProgram):
    """One program for a target.

    Attributes:
        sources: name of a file -> its text.
        steps: how the inputs are made, as in `case.json`.
        inputs: of the link, in their order.
    """

    def __init__(self, seed: int, arch: str) -> None:
        self.number_of_target = int(arch.rstrip("af"))
        super().__init__(seed, self.number_of_target)
        self.sources: dict[str, str] = {}
        self.steps: list[dict[str, Any]] = []
        self._pack()

    # -- texts ---------------------------------------------------------------------------------

    def _decide(self) -> None:
        for theme in THEMES:
            if self._chance(0.2):
                self.themes.add(theme)
        versions = ["8.0 75"] + ["8.0 80"] * (self.number_of_target >= 80)
        if self.number_of_target >= 90:
            versions += ["8.0 90"] * (1 + 6 * self.has("clusters"))
        version, target = self.pick.choice(versions).split()
        self.target = int(target)
        self.head = f".version {version}\n.target sm_{target}\n.address_size 64\n"
        if self._chance(0.2):
            self.count = self.pick.choice((1, 5, 6, 8))
            self.declared = [{} for _ in range(self.count)]
            self.data = [[] for _ in range(self.count)]
            self.code = [[] for _ in range(self.count)]
        super()._decide()

    def _write(self) -> None:
        super()._write()
        pick = self.pick
        if self.has("alias"):
            self._aliases()
        if self.has("lines"):
            for file in range(self.count):
                if self._chance(0.7):
                    self.data[file].insert(0, f'.file 1 "source{file}.cu"\n.file 2 "shared.h"\n')
                    self.code[file] = [self._with_lines(text) for text in self.code[file]]
        if self.has("debug_section"):
            file = pick.randrange(self.count)
            word = pick.choice((".debug_str", ".debug_macinfo", ".debug_pubnames", ".debug_loc"))
            self.code[file].append(f".section {word}\n{{\n.b8 1,2,3,4\n}}\n")
        if self.has("kernel_table") and self.kernels:
            self._kernel_table()
        if self.has("masks"):
            self._masks()

    def _aliases(self) -> None:
        for function in self.functions:
            homes = [f for f, linkage in function.copies.items() if linkage == "visible"]
            if not homes or not self._chance(0.5):
                continue
            name = f"alias_{function.name}"
            head = SIGNATURES[function.signature][0].format(name=name)
            link = self.pick.choice((".visible ", ".visible ", ".weak "))
            self.declared[homes[0]][name] = f"{link}.func {head};\n"
            self.code[homes[0]].append(f".alias {name}, {function.name};\n")
            user = self.pick.randrange(self.count)
            if user != homes[0]:
                self.declared[user][name] = f".extern .func {head};\n"
            body = self._call(Function(name, "visible", function.signature))
            self.code[user].append(
                f".visible .entry use_{name}(.param .u64 p)\n{{\n"
                ".reg .b32 %r<9>; .reg .b64 %d<9>;\n"
                f"ld.param.u64 %d1,[p]; ld.global.u32 %r1,[%d1];\n{body}"
                "st.global.u32 [%d1],%r1; ret;\n}\n"
            )

    def _with_lines(self, text: str) -> str:
        lines, depth, made = text.splitlines(True), 0, []
        for number, line in enumerate(lines):
            if depth == 1 and self._chance(0.4) and not line.startswith((".reg", "}", ")")):
                made.append(f".loc {self.pick.choice((1, 1, 2))} {number + 1} {depth}\n")
            depth += line.count("{") - line.count("}")
            made.append(line)
        return "".join(made)

    def _kernel_table(self) -> None:
        pick = self.pick
        kernel = pick.choice(self.kernels)
        file = pick.choice(sorted(kernel.copies))
        space, link = pick.choice(("global", "const")), pick.choice((".visible ", ""))
        self.code[file].append(
            f"{link}.{space} .align 8 .u64 kernel_table{file}[2] = {{{kernel.name}, 0}};\n"
        )

    def _masks(self) -> None:
        file = self.pick.randrange(self.count)
        targets = [v for v in self.variables if v.space == "global" and self._see_variable(v, file)]
        if targets:
            v = self.pick.choice(targets)
            values = ", ".join(f"{0xFF << shift:#x}({v.name})" for shift in (0, 8, 16))
            self.data[file].append(
                f".visible .global .align 1 .u8 bytes{file}[3] = {{{values}}};\n"
            )

    def _decide_variable(self, number: int) -> Variable:
        v = super()._decide_variable(number)
        if self.has("spaces") and v.space in ("const", "shared") and self._chance(0.5):
            v.kind = "weak"
            v.files = [i for i in range(self.count) if i in v.files or self._chance(0.5)]
        return v

    def _statements(self, function: Function, file: int) -> list[str]:
        lines = super()._statements(function, file)
        pick = self.pick
        extra: list[str] = []
        if self.has("pragmas") and self._chance(0.3):
            extra.append('.pragma "nounroll";\n')
        if self.has("noreturn") and self._chance(0.3):
            extra.append(self._stop(file))
        if self.has("stack") and self._chance(0.3):
            extra.append(_STACK)
        if self.has("asynchronous") and self.target >= 80 and self._chance(0.4):
            extra.append(_COPY.replace("{name}", f"copy_{function.name}"))
        if self.has("atomics") and self._chance(0.4):
            extra.append(pick.choice(_ATOMICS))
        if self.has("special") and self._chance(0.5):
            extra.append(f"mov.u32 %r2,{pick.choice(_SPECIAL)}; add.s32 %r1,%r1,%r2;\n")
        if self.has("clusters") and self.target >= 90 and self._chance(0.4):
            extra.append(_CLUSTER.replace("{name}", f"far_{function.name}"))
        pick.shuffle(extra)
        return lines + extra

    def _stop(self, file: int) -> str:
        """A call that does not come back."""
        self.declared[file]["stop"] = ".extern .func stop(.param .b32 a) .noreturn;\n"
        self.number += 1
        return (
            f"setp.ne.s32 %p2,%r1,77; @%p2 bra go_{self.number};\n{{ .param .b32 x;"
            f" st.param.b32 [x],%r1; call stop,(x); }}\ngo_{self.number}:\n"
        )

    def _kernel(self, kernel: Function, file: int) -> str:
        text = super()._kernel(kernel, file)
        pick = self.pick
        if self.has("limits") and self._chance(0.6) and "\n." not in text.split("{")[0]:
            text = text.replace("\n{", "\n" + pick.choice(_LIMITS) + "{", 1)
        if self.has("clusters") and self.target >= 90 and self._chance(0.5):
            word = pick.choice(_CLUSTERS)
            text = text.replace("\n{", "\n" + word + "{", 1)
        if self.has("parameter_address") and self._chance(0.5):
            text = text.replace("(.param .u64 p", "(.param .u64 p, .param .align 8 .b8 big[32]", 1)
            text = text.replace(
                "st.global.u32 [%d1],%r1; ret;",
                "mov.b64 %d4,big; cvta.param.u64 %d4,%d4; and.b32 %r2,%r1,24;"
                " cvt.u64.u32 %d5,%r2; add.u64 %d4,%d4,%d5; ld.u32 %r2,[%d4];"
                " add.s32 %r1,%r1,%r2; st.global.u32 [%d1],%r1; ret;",
            )
        return text

    # -- packing -------------------------------------------------------------------------------

    def _pack(self) -> None:
        """Decide how inputs are made and linked."""
        pick = self.pick
        if self.has("noreturn"):
            stop = ".visible .func stop(.param .b32 a) .noreturn\n{\ntrap;\nexit;\n}\n"
            self.files.append(self.head + stop)
        style = pick.choice(("plain", "plain", "options", "options", "each", "each"))
        common = self._ptxas()
        inputs: list[str] = []
        how = pick.choice(("cubin", "cubin", "mixed", "host"))
        for number, text in enumerate(self.files):
            self.sources[f"p{number}.ptx"] = text
            words = {"plain": [], "options": common, "each": self._ptxas()}[style]
            step: dict[str, Any] = {"out": f"p{number}.cubin", "ptx": f"p{number}.ptx"}
            if words:
                step["ptxas"] = list(words)
            self.steps.append(step)
            kind = {"cubin": "cubin", "host": "host"}.get(how) or pick.choice(
                ("cubin", "fatbin", "host", "member", "joined")
            )
            inputs.append(self._hold(kind, number))
        inputs = self._groups(inputs)
        if self._chance(0.15):
            pick.shuffle(inputs)
        if self._chance(0.04):
            inputs.append(pick.choice(inputs))
        if self._chance(0.05) and len(inputs) > 1:
            inputs.remove(pick.choice(inputs))
        self.inputs = inputs
        self.options = []
        for _ in range(pick.choice((0, 0, 1, 1, 2, 3))):
            self.options += [w for w in pick.choice(_LINK) if w not in self.options]

    def _ptxas(self) -> tuple[str, ...]:
        return self.pick.choice(_PTXAS) if self._chance(0.7) else ()

    def _hold(self, kind: str, number: int) -> str:
        """The input that holds an object."""
        cubin = f"p{number}.cubin"
        if kind == "cubin":
            return cubin
        if kind == "joined":
            return f"joined {cubin}"
        fatbin = f"p{number}.fatbin"
        words = [f"--image3=kind=elf,sm={{arch}},file={cubin}"]
        if self._chance(0.3):
            words.append("--compress=false")
        words = ["--64", "--cmdline=--compile-only", "-c", *words]
        self.steps.append({"out": fatbin, "fatbin": words})
        if kind == "fatbin":
            return fatbin
        source = f"h{number}.s"
        self.sources[source] = _HOST.format(fatbin=fatbin)
        self.steps.append({"out": f"h{number}.o", "assembly": source})
        return f"h{number}.o" if kind == "host" else f"member h{number}.o"

    def _groups(self, inputs: list[str]) -> list[str]:
        """Join members of the archive and of the link with `-r`."""
        made = [name for name in inputs if " " not in name]
        members = [name.split()[1] for name in inputs if name.startswith("member ")]
        joined = [name.split()[1] for name in inputs if name.startswith("joined ")]
        if members:
            self.steps.append({"out": "libm.a", "ar": members})
            made.insert(self.pick.randint(0, len(made)), "libm.a")
        if joined:
            words = ["-r", *joined]
            if self._chance(0.2):
                words.insert(0, "-g")
            self.steps.append({"out": "joined.cubin", "link": words})
            made.insert(self.pick.randint(0, len(made)), "joined.cubin")
        return made
