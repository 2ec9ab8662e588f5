"""Programs that have the forms of a family in one of the places that a link treats differently."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tools.linkcases.ptxforms import Family, body, head, needed, statement

_CALL = (
    "{ .param .b64 x; .param .b32 y; st.param.b64 [x],%d1; call.uni (y),f,(x);"
    " ld.param.b32 %r1,[y]; }\n"
)
_CALL_WITHOUT_RESULT = "{ .param .b64 x; st.param.b64 [x],%d1; call.uni f,(x); }\n"
_AGAIN = (
    "{ .param .b64 x; .param .b32 y; setp.ge.u32 %p1,%r2,99; @%p1 bra $again;"
    " st.param.b64 [x],%d1; call.uni (y),f,(x); ld.param.b32 %r1,[y]; $again: }\n"
)
_THROUGH_TABLE = (
    "{ .param .b64 x; .param .b32 y; mul.wide.u32 %d9,%r9,0; mov.u64 %d8,table;"
    " add.u64 %d9,%d8,%d9; ld.global.u64 %d9,[%d9]; st.param.b64 [x],%d1;"
    " $type: .callprototype (.param .b32 _) _ (.param .b64 _);"
    " call (y),%d9,(x),$type; ld.param.b32 %r1,[y]; }\n"
)
_PLAIN = "add.s32 %r1,%r1,1;\n"
#: A program part that every link has beside the family: two more functions, data, shared memory.
PARTNER = (
    ".visible .global .align 4 .b8 partner_data[20] = {7,6,5};\n"
    ".visible .func (.param .b32 r) partner(.param .b32 a) { .reg .b32 %r<4>;"
    " .shared .align 4 .b8 own[24]; ld.param.b32 %r1,[a]; st.shared.b32 [own],%r1; bar.sync 1;"
    " ld.shared.b32 %r2,[own+4]; st.param.b32 [r],%r2; ret; }\n"
    ".visible .entry partner_kernel(.param .u64 p) { .reg .b32 %r<4>; .reg .b64 %d<3>;"
    " .param .b32 x; .param .b32 y; ld.param.u64 %d1,[p]; ld.global.u32 %r1,[partner_data];"
    " st.param.b32 [x],%r1; call.uni (y),partner,(x); ld.param.b32 %r1,[y];"
    " st.global.u32 [%d1],%r1; ret; }\n"
)


def _statements(lines: Sequence[str], start: int = 0) -> list[str]:
    return [statement(line, start + number) for number, line in enumerate(lines)]


class _Writer:
    """The parts that places are made of, for some units of one family."""

    def __init__(self, family: Family, units: Sequence[str]) -> None:
        self.family = family
        self.units = list(units)
        varies = family.data or family.params or family.entry
        self.forms = list(family.forms) if varies else self.units
        self.module = "".join(f"{line}\n".replace("$", "$M_") for line in family.module)

    # -- parts

    def kernel(
        self,
        lines: Sequence[str],
        name: str = "k",
        link: str = ".visible",
        more: str = "",
        directives: str = "",
    ) -> str:
        start = "ld.param.u64 %d1,[p];\n"
        text = body(lines, start, "")
        return f"{link} .entry {name}(.param .u64 p{more})\n{directives}\n{text}"

    def function(
        self, lines: Sequence[str], link: str = ".visible", name: str = "f", plain: bool = False
    ) -> str:
        attribute = "" if plain else self.family.attribute.replace("{n}", f"{ord(name[-1]):x}")
        behind = "" if plain else self.family.behind
        if behind == ".noreturn":
            text = body(lines, "ld.param.u64 %d1,[a];\n", "").replace("ret;\n}\n", "exit;\n}\n")
            return f"{link} .func {attribute} {name}(.param .b64 a) {behind}\n{text}"
        text = body(lines, "ld.param.u64 %d1,[a];\n", "st.param.b32 [r],%r1; ")
        return f"{link} .func {attribute} (.param .b32 r) {name}(.param .b64 a) {behind}\n{text}"

    def declared(self) -> str:
        attribute = self.family.attribute.replace("{n}", f"{ord('f'):x}")
        behind = self.family.behind
        result = "" if behind == ".noreturn" else "(.param .b32 r) "
        return f".extern .func {attribute} {result}f(.param .b64 a) {behind};\n"

    @property
    def call(self) -> str:
        return _CALL_WITHOUT_RESULT if self.family.behind == ".noreturn" else _CALL

    def again(self) -> str:
        return _CALL_WITHOUT_RESULT if self.family.behind == ".noreturn" else _AGAIN

    # -- variables

    def variables(self, link: str) -> str:
        made = []
        for number, unit in enumerate(self.units):
            text = unit
            if link == ".extern":
                text = text.split("=")[0]
            if not unit.startswith("{link}") and link == ".extern":
                text = text.replace(".common", ".extern")
            text = text.replace("{link}", f"{link} " if link else "")
            made.append(text.replace("{v}", f"v{number}").replace("{n}", f"{number + 1:x}") + ";\n")
        return "".join(made)

    def uses(self) -> list[str]:
        found = [self.family.use.replace("{v}", f"v{i}") for i in range(len(self.units))]
        return _statements([part.strip() for use in found for part in use.split(";")])

    def finish(self, text: str) -> str:
        """A file: its parts, behind the variables that they name."""
        names = re.findall(r"(\w+)\(\.param", self.module)
        wanted = not names or any(re.search(rf"\b{name}\b", text) for name in names)
        module = self.module if wanted else ""
        return needed(text + module) + module + text


def _code(place: str, w: _Writer) -> list[str]:
    """Forms in a body, kept in functions."""
    lines = _statements(w.forms)
    texts: dict[str, Callable[[], list[str]]] = {
        "kernel": lambda: [w.kernel(lines)],
        "function": lambda: [w.function(lines) + w.kernel([w.call])],
        "other file": lambda: [w.declared() + w.kernel([w.call]), w.function(lines)],
        "weak": lambda: [
            w.function(lines, ".weak") + w.kernel([w.call]),
            w.function([*lines, _PLAIN], ".weak") + w.kernel([w.call], "k2"),
        ],
        "static": lambda: [
            w.function(lines, "") + w.kernel([w.call]),
            w.function([_PLAIN, *lines], "") + w.kernel([w.call], "k2"),
        ],
        "recursion": lambda: [
            w.declared() + w.kernel([w.call]),
            w.function([*lines, w.again()]),
        ],
        "pointer": lambda: [
            ".extern .global .u64 table[2];\n" + w.kernel([_THROUGH_TABLE]),
            w.function(lines) + ".visible .global .u64 table[2] = {f,f};\n",
        ],
        "unused": lambda: [
            w.kernel([_PLAIN]) + w.function(lines),
            w.function(lines, name="g"),
        ],
    }
    return texts[place]()


def _kernels(place: str, w: _Writer) -> list[str]:
    """Directives or parameters of kernels: one kernel for each."""
    forms = _statements(w.forms)
    units = w.units
    params = bool(w.family.params)

    def all_kernels(lines: list[str], link: str = ".visible") -> str:
        made = []
        for number, unit in enumerate(units):
            more = f", {unit}" if params else ""
            own = [*(forms if params else []), *lines]
            directives = "" if params else unit
            made.append(w.kernel(own, f"k{number}", link, more, directives))
        return "".join(made)

    plain = w.function([_PLAIN], plain=True)
    texts: dict[str, Callable[[], list[str]]] = {
        "kernel": lambda: [all_kernels([_PLAIN])],
        "function": lambda: [plain + all_kernels([_CALL])],
        "other file": lambda: [w.declared() + all_kernels([_CALL]), plain],
        "weak": lambda: [
            all_kernels([_PLAIN], ".weak"),
            all_kernels([_PLAIN, _PLAIN], ".weak"),
        ],
        "static": lambda: [
            w.function([_PLAIN], "", plain=True) + all_kernels([_CALL]),
            w.function([_PLAIN, _PLAIN], "", plain=True) + w.kernel([_CALL], "k"),
        ],
        "recursion": lambda: [
            w.declared() + all_kernels([_CALL]),
            w.function([_AGAIN], plain=True),
        ],
        "pointer": lambda: [
            all_kernels([_PLAIN]) + ".visible .global .u64 table[1] = {k0};\n",
            ".extern .global .u64 table[1];\n" + w.kernel(["ld.global.u64 %d0,[table];\n"], "k"),
        ],
        "unused": lambda: [all_kernels([_PLAIN]) + plain],
    }
    return texts[place]()


def _data(place: str, w: _Writer) -> list[str]:
    """Variables, used in all the ways."""
    uses = w.uses()
    names = ",".join(f"v{i}" for i in range(len(w.units)))
    texts: dict[str, Callable[[], list[str]]] = {
        "kernel": lambda: [w.variables(".visible") + w.kernel(uses)],
        "function": lambda: [
            w.variables(".visible") + w.function(uses) + w.kernel([w.call]),
        ],
        "other file": lambda: [
            w.variables(".extern") + w.kernel(uses),
            w.variables(".visible") + w.kernel(uses, "k2"),
        ],
        "weak": lambda: [
            w.variables(".weak") + w.kernel(uses),
            w.variables(".weak") + w.kernel(uses[::-1], "k2"),
        ],
        "static": lambda: [
            w.variables("") + w.kernel(uses),
            w.variables("") + w.kernel(uses, "k2"),
        ],
        "recursion": lambda: [
            w.declared() + w.kernel([w.call]),
            w.variables(".visible") + w.function([*uses, w.again()]),
        ],
        "pointer": lambda: [
            ".extern .global .u64 table[1];\n" + w.kernel(["ld.global.u64 %d0,[table];\n"]),
            w.variables(".visible") + f".visible .global .u64 table[] = {{{names}}};\n",
        ],
        "unused": lambda: [
            w.variables(".visible") + w.kernel([_PLAIN]),
            w.variables("") + w.function(uses),
        ],
    }
    return texts[place]()


PLACES = (
    "kernel",
    "function",
    "other file",
    "weak",
    "static",
    "recursion",
    "pointer",
    "unused",
)


def files(family: Family, units: Sequence[str], place: str, arch: str) -> list[str]:
    """The PTX texts of a program."""
    writer = _Writer(family, units)
    make = _data if family.data else _kernels if family.params or family.entry else _code
    return [head(arch, family.mode) + writer.finish(text) for text in make(place, writer)]
