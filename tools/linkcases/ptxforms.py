"""The forms of PTX in `ptx_families.yaml`, and programs that have them in different places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).with_name("ptx_families.yaml")
_CHOICE = re.compile(r"<([^<>]*)>")
_REGISTERS = (
    ".reg .pred %p<4>; .reg .b16 %h<9>; .reg .b32 %r<17>; .reg .b64 %d<13>; .reg .b128 %q<3>;\n"
)
#: %d1 is an address that the optimiser does not know; all others are read from there.
_LOADS = (
    "ld.volatile.global.v4.b32 {%r1,%r2,%r3,%r4},[%d1]; ld.volatile.global.v4.b32"
    " {%r5,%r6,%r7,%r8},[%d1+16]; mov.b32 {%h1,%h2},%r5; mov.b32 {%h3,%h4},%r6; mov.u32 %r0,0;"
    " mov.b32 {%h5,%h6},%r7; mov.u64 %d0,0; mov.u16 %h0,0; and.b32 %r9,%r8,7;"
    " ld.volatile.global.v2.b64 {%d3,%d4},[%d1+32]; ld.volatile.global.v2.b64 {%d5,%d6},[%d1+48];"
    " ld.volatile.global.v2.b64 {%d7,%d8},[%d1+64]; ld.volatile.global.v2.b64 {%d9,%d10},[%d1+80];"
    " ld.volatile.global.v2.b32 {%r12,%r13},[%d1+96];"
    " setp.lt.s32 %p1,%r1,%r2; setp.lt.s32 %p2,%r3,%r4; setp.lt.s32 %p3,%r5,%r6;\n"
)
_STORES = (
    "cvt.u64.u32 %d11,%r0; xor.b64 %d0,%d0,%d11; cvt.u64.u16 %d11,%h0; xor.b64 %d0,%d0,%d11;"
    " st.volatile.global.b64 [%d1+8],%d0;\n"
)
#: How a result is kept, so that what computes it stays.
_KEEP = {
    "r": "xor.b32 %r0,%r0,{};",
    "d": "xor.b64 %d0,%d0,{};",
    "h": "xor.b16 %h0,%h0,{};",
    "p": "@{} add.s32 %r0,%r0,1;",
    "q": "mov.b128 {{%d11,%d12}},{}; xor.b64 %d0,%d0,%d11; xor.b64 %d0,%d0,%d12;",
}
_WIDE = re.compile(r"%q\d|b128")


@dataclass(frozen=True)
class Family:
    """One row of the table, with its forms written out.

    Attributes:
        forms: lines of a body.
        entry: directives of a kernel.
        params: further parameters of a kernel, one list for each form.
        attribute: what stands in front of the name of a function.
        behind: what stands behind the head of a function.
        data: declarations of a variable.
        use: how a body uses that variable.
        module: lines of a module.
        mode: a word behind the target.
    """

    name: str
    forms: tuple[str, ...]
    entry: tuple[str, ...]
    params: tuple[str, ...]
    attribute: str
    behind: str
    data: tuple[str, ...]
    use: str
    module: tuple[str, ...]
    mode: str

    @property
    def units(self) -> tuple[str, ...]:
        """What varies: declarations, kernel directives, parameters, or lines of a body."""
        return self.data or self.params or self.entry or self.forms


def expand(text: str) -> list[str]:
    """All lines that a form with choices stands for."""
    parts = _CHOICE.split(text)
    choices = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(words) for words in product(*choices)]


@cache
def families(file: Path = _FILE) -> tuple[Family, ...]:
    """The table, or another one of its form."""
    rows = yaml.safe_load(file.read_text(encoding="utf-8"))["families"]
    return tuple(map(_family, rows))


def _family(row: dict[str, Any]) -> Family:
    def lines(key: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line for text in row.get(key, ()) for line in expand(text)))

    function = row.get("func", {})
    return Family(
        row["family"],
        lines("forms"),
        lines("entry"),
        tuple(row.get("params", ())),
        function.get("attribute", ""),
        function.get("behind", ""),
        lines("data"),
        row.get("use", ""),
        tuple(row.get("module", ())),
        row.get("mode", ""),
    )


# -- bodies and modules ------------------------------------------------------------------------


def _results(form: str) -> list[str]:
    """The registers that a form writes: those of its first operand."""
    last = form.split(";")[-1].strip() or form
    words = re.sub(r"^[.@!%\w]*:", "", last).split(None, 1)
    if len(words) < 2 or words[0].startswith(
        ("@", "{", "}", "$", ".", "st", "red.", "sust", "mbarrier.init")
    ):
        return []
    first = words[1]
    head = first[: first.index("}")] if first.startswith("{") else first.split(",")[0]
    if head.startswith("["):
        return []
    return re.findall(r"%[rdhpq]\d+", head)


def statement(form: str, number: int) -> str:
    """A form as a line of a body; its results are kept."""
    text = form.replace("$", f"$L{number}_")
    keep = " ".join(_KEEP[name[1]].format(name) for name in dict.fromkeys(_results(form)))
    end = "" if text.startswith(("{", "@%p1 call")) or text.endswith(":") else ";"
    return f"{text}{end} {keep}\n"


def body(statements: Sequence[str], start: str, end: str) -> str:
    """A whole body."""
    return block(statements, start).removesuffix("}\n") + f"{end}ret;\n}}\n"


def block(statements: Sequence[str], start: str) -> str:
    """Statements with what they need, one line each (`ptxas` tells the line of an error).

    Args:
        start: gives %d1 its value.
    """
    text = "".join(statements)
    registers = _REGISTERS if _WIDE.search(text) else _REGISTERS.replace(" .reg .b128 %q<3>;", "")
    local = ".local .align 16 .b8 lc[64];\n" if re.search(r"\blc\b", text) else ""
    shared = ".shared .align 128 .b8 sm[1024];\n" if re.search(r"\bsm\b", text) else ""
    wide = "mov.b128 %q1,{%d3,%d4}; mov.b128 %q2,{%d5,%d6};\n" if "%q" in text else ""
    return f"{{\n{registers}{local}{shared}{start}{_LOADS}{wide}{text}{_STORES}}}\n"


def head(arch: str, mode: str = "") -> str:
    """What every file begins with.

    Args:
        mode: a word behind the target.
    """
    more = f", {mode}" if mode else ""
    return f".version 9.0\n.target sm_{arch}{more}\n.address_size 64\n"


def needed(texts: str) -> str:
    """The module's variables that some texts name."""
    return "".join(
        line
        for name, line in (
            ("gv", ".weak .global .align 16 .b8 gv[32] = {1,2,3,4};\n"),
            ("cb", ".const .align 8 .b8 cb[16] = {9,8,7};\n"),
        )
        if re.search(rf"\b{name}\b", texts)
    )
