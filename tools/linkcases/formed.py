"""Random link programs whose bodies have forms of PTX that ptxas takes for the target."""

from __future__ import annotations

import random
from functools import cache

from tools.linkcases.basic import HEAD, BasicProgram
from tools.linkcases.ptxforms import Family, block, families, head, needed, statement
from tools.linkcases.ptxsweep import accepted

#: What the link is asked for.
_OPTIONS = (
    *([[]] * 6),
    ["-g"],
    ["-r"],
    ["--preserve-relocs"],
    ["-v"],
    ["--dump-callgraph"],
    ["--kernels-used=k0"],
)


@cache
def drawable(arch: str) -> tuple[tuple[Family, tuple[str, ...]], ...]:
    """The families of which lines can stand in any body, with those that a target takes."""
    found = []
    for family in families():
        taken = accepted().get((family.name, arch))
        plain = not (family.data or family.entry or family.params or family.module)
        if taken is not None and plain and not (family.attribute or family.behind):
            lines = tuple(f for f, good in zip(family.forms, taken, strict=True) if good)
            if lines:
                found.append((family, lines))
    return tuple(found)


class FormProgram(BasicProgram):
    """A basic program for one target; every body has forms of the themes that the seed draws.

    Attributes:
        options: of the link.
    """

    def __init__(self, seed: int, arch: str) -> None:
        pick = random.Random(seed * 7 + 1)
        everything = drawable(arch)
        self.themes = pick.sample(everything, min(len(everything), pick.randint(2, 5)))
        self.forms = pick
        self.at = 0
        super().__init__(seed)
        self.options: list[str] = list(pick.choice(_OPTIONS))
        self.files = [head(arch) + needed(text) + text.removeprefix(HEAD) for text in self.files]

    def _body(self, name: str, file: int, callable_: list) -> str:  # type: ignore[type-arg]
        body = super()._body(name, file, callable_)
        lines = []
        for _, forms in self.themes:
            for form in self.forms.sample(forms, min(len(forms), self.forms.choice((0, 1, 2)))):
                self.at += 1
                lines.append(statement(form, self.at))
        if not lines:
            return body
        self.forms.shuffle(lines)
        return body + block(lines, "mov.u64 %d1,gv; cvta.global.u64 %d1,%d1;\n")
