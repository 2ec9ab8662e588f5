"""Random link programs with unified functions and data, and the index that places them.

A program is decided by its seed alone. What the index says is mostly right; in one program of six
something is wrong with it. Unified variables are multiples of 8 bytes, because nvlink leaves what
its memory held in the space between others.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tools.linkcases.index import SLOT, Place, index_file

_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
_FRAME = "mov.u64 %d3,frame; st.local.u32 [%d3],%r1; ld.local.u32 %r1,[%d3];\n"
_CALL = (
    "{{ .param .b32 x; .param .b32 y; st.param.b32 [x],%r1; call.uni (y),{name},(x);"
    " ld.param.b32 %r1,[y]; }}\n"
)
_INDIRECT = (
    "{{ .param .b32 x; .param .b32 y; st.param.b32 [x],%r1;\n"
    "p{number}: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
    "call (y),%d2,(x),p{number}; ld.param.b32 %r1,[y]; }}\n"
)
_SIGNATURE = "(.param .b32 r) {name}(.param .b32 a)"


@dataclass
class _Name:
    name: str
    file: int
    kind: str  # visible, weak, static
    identifier: tuple[int, int] | None
    #: Words of 8 bytes; 0: a function.
    words: int = 0
    after: str = ""

    @property
    def attribute(self) -> str:
        if self.identifier is None:
            return ""
        return ".attribute(.unified({:#x},{:#x})) ".format(*self.identifier)


class UnifiedProgram:
    """One program; `files` holds the PTX text of every file."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        pick = self.random
        self.num_files = pick.choice((1, 1, 2, 2, 3))
        self.functions = [self._name(f"f{i}", 0.6) for i in range(pick.randint(1, 7))]
        self.variables = [
            self._name(f"d{i}", 0.6, words=pick.randint(1, 4)) for i in range(pick.randint(0, 4))
        ]
        self.kernels = [
            (f"k{i}", pick.randrange(self.num_files)) for i in range(pick.choice((0, 1, 1, 2, 3)))
        ]
        self.number = 0
        self.files = [_HEAD + self._text(file) for file in range(self.num_files)]
        self.options = pick.choice(
            (
                [],
                [],
                [],
                ["-kernels-used=k1"],
                ["-kernels-used=zz"],
                ["-v"],
                ["-r"],
                ["-preserve-relocs"],
            )
        )
        self.index = self._index()

    def _name(self, name: str, share: float, words: int = 0) -> _Name:
        pick = self.random
        identifier = (pick.getrandbits(64), pick.getrandbits(64)) if pick.random() < share else None
        kind = pick.choice(("visible", "visible", "visible", "static", "weak"))
        if identifier is not None and pick.random() < 0.1:
            identifier = (pick.randrange(4), pick.randrange(4))  # two identifiers have one key
        return _Name(name, pick.randrange(self.num_files), kind, identifier, words)

    # -- text --------------------------------------------------------------------------------------

    def _text(self, file: int) -> str:
        declared: list[str] = []
        for name in (*self.functions, *self.variables):
            declared.append(self._declaration(name, file))
        bodies = [self._function(at, f) for at, f in enumerate(self.functions) if f.file == file]
        kernels = [self._kernel(name, file) for name, at in self.kernels if at == file]
        return "".join(declared + bodies[::-1] + kernels)

    def _declaration(self, name: _Name, file: int) -> str:
        here = name.file == file
        if name.kind == "static" and not here:
            return ""
        linkage = {"static": ""}.get(name.kind, f".{name.kind} ") if here else ".extern "
        if not name.words:
            attribute = name.attribute if here else ""
            return f"{linkage}.func {attribute}{_SIGNATURE.format(name=name.name)};\n"
        text = f"{linkage}.global {name.attribute}.align 8 .u64 {name.name}[{name.words}]"
        if here and self.random.random() < 0.6:
            named = [f.name for f in self.functions if self._is_seen(f, file)]
            if name.identifier is not None and self.random.random() < 0.9:
                named = []  # what has addresses must not be moved
            text += " = {" + ", ".join(self._value(named) for _ in range(name.words)) + "}"
        return text + ";\n"

    def _value(self, functions: list[str]) -> str:
        if functions and self.random.random() < 0.5:
            return self.random.choice(functions)
        return str(self.random.randrange(100))

    @staticmethod
    def _is_seen(name: _Name, file: int) -> bool:
        return name.file == file or name.kind != "static"

    def _function(self, at: int, function: _Name) -> str:
        linkage = {"static": ""}.get(function.kind, f".{function.kind} ")
        later = [f for f in self.functions[at + 1 :] if self._is_seen(f, function.file)]
        body = self._body(later, function.file)
        frame = touch = ""
        if self.random.random() < 0.2:
            frame = f".local .b8 frame[{8 * self.random.randint(1, 20)}];\n"
            touch = _FRAME
        signature = _SIGNATURE.format(name=function.name)
        return (
            f"{linkage}.func {function.attribute}{signature}\n"
            f"{{ .reg .b32 %r<9>; .reg .b64 %d<9>;\n{frame}"
            f"ld.param.b32 %r1,[a]; add.s32 %r1,%r1,{at}; mov.u64 %d1,64;\n{touch}{body}"
            "st.param.b32 [r],%r1; ret; }\n"
        )

    def _kernel(self, name: str, file: int) -> str:
        seen = [f for f in self.functions if self._is_seen(f, file)]
        return (
            f".visible .entry {name}(.param .u64 p)\n{{ .reg .b32 %r<9>; .reg .b64 %d<9>;\n"
            f"ld.param.u64 %d1,[p]; ld.global.u32 %r1,[%d1];\n{self._body(seen, file)}"
            "st.global.u32 [%d1],%r1; ret; }\n"
        )

    def _body(self, functions: list[_Name], file: int) -> str:
        pick = self.random
        text = ""
        for _ in range(pick.randint(0, 3)):
            what = pick.random()
            if what < 0.4 and functions:
                text += _CALL.format(name=pick.choice(functions).name)
            elif what < 0.6 and functions:
                self.number += 1
                text += f"mov.u64 %d2,{pick.choice(functions).name};\n"
                text += _INDIRECT.format(number=self.number)
            elif what < 0.9:
                seen = [v for v in self.variables if self._is_seen(v, file)]
                if seen:
                    text += f"ld.global.u32 %r2,[{pick.choice(seen).name}]; add.s32 %r1,%r1,%r2;\n"
            else:
                text += f"bar.sync {pick.randrange(1, 9)};\n"
        return text

    # -- index -------------------------------------------------------------------------------------

    def _index(self) -> bytes:
        pick = self.random
        functions = [f.identifier for f in self.functions if f.identifier is not None]
        pick.shuffle(functions)
        rows = [(*identifier, SLOT * at) for at, identifier in enumerate(functions)]
        pick.shuffle(rows)
        variables = [v for v in self.variables if v.identifier is not None]
        pick.shuffle(variables)
        places: list[Place] = []
        end = 0
        for variable in variables:
            assert variable.identifier is not None
            places.append((*variable.identifier, end))
            end += 8 * variable.words
        pick.shuffle(places)
        window, version = SLOT * len(rows), pick.choice((1, 1, 1, 0, 2))
        fault = pick.randrange(30)
        for number, table in enumerate((rows, places)):
            if not table:
                continue
            if fault == number:
                table[0] = (table[0][0] ^ 1, *table[0][1:])
            elif fault == number + 2:
                table.append(table[0])
        window += fault == 4
        return index_file(rows, places, window, end + (fault == 5), version)
