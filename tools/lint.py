"""``python -m tools.lint``: finds numbers of the spec that hand-written code states by literal.

Every number of the format has a name in ``cubinspec_generated.codes``, and what differs between
targets and toolkits is asked of ``cubinspec.format.targets``. A literal in code cannot be found
again, is not checked against the tables, and drifts. The rules:

    name      a name of the spec is given to a literal: ``SHT_NOTE = 7``
    value     a field of the format is compared with, set to, or masked by a literal:
              ``sh_type == 7``, ``match r_type: case 2``, ``st_other & 0x10``
    number    a literal that is unmistakably a number of the spec: ``0x70000000``
    target    an sm number decides something: ``sm >= 90``, ``{75: ..., 80: ...}``
    toolkit   a version of the toolkit decides something: ``toolkit >= 130``, ``_CUDA_12_0 = 120``
    bits      code that looks at instructions states an opcode, a mask or a place of bits:
              ``word >> 110 & 7``, ``{0x147, 0x14D}``, ``_WAIT = 116``

A literal that only looks like one keeps its place with a comment on its line, or alone on the line
before: ``# not a spec number: <why>``.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from cubinspec_generated import (
    codes,
    codes_dwarf,
    codes_enums,
    codes_relocation,
    codes_sass,
    codes_sizes,
)
from tools.gen.tables.load import load_table

ROOT = Path(__file__).resolve().parents[1]

#: Folders with hand-written code; the generator and its own numbers are no part of it.
FOLDERS = ("src", "writer", "tools")
NOT_CHECKED = ("tools/gen", "tools/lint.py")
#: The only module that compares sm numbers and versions of toolkits.
TARGETS = "src/cubinspec/format/targets.py"

#: Modules that look at instructions, and those beside them that read DWARF instead.
INSTRUCTIONS = "writer/cubinspec_writer/linker/finalizer/"
_DWARF = (INSTRUCTIONS + "frames.py", INSTRUCTIONS + "line_tables.py")

CODES: dict[str, int] = {
    name: value
    for module in (codes, codes_dwarf, codes_enums, codes_relocation, codes_sass, codes_sizes)
    for name, value in vars(module).items()
    if name.isupper() and type(value) is int
}
SMS = frozenset(
    entry["sm"] for entry in load_table(ROOT, "arch").data["architectures"] if entry["sm"] >= 30
)

#: What the names of fields of the format end in -> beginnings of the names of their values.
_FIELDS: dict[str, tuple[str, ...]] = {
    "sh_type": ("SHT_",),
    "section_type": ("SHT_",),
    "sh_flags": ("SHF_",),
    "flags": ("SHF_", "FATBIN_FLAG_", "EF_CUDA_"),
    "kind": ("STT_", "FATBIN_KIND_"),
    "sh_info": ("SHI_",),
    "st_type": ("STT_",),
    "st_bind": ("STB_",),
    "bind": ("STB_",),
    "binding": ("STB_",),
    "st_info": ("STT_", "STB_", "ST_"),
    "st_other": ("STO_CUDA_", "STV_"),
    "other": ("STO_CUDA_", "STV_"),
    "visibility": ("STV_",),
    "st_shndx": ("SHN_",),
    "shndx": ("SHN_",),
    "r_type": ("R_CUDA_", "R_MERCURY_"),
    "p_type": ("PT_",),
    "p_flags": ("PF_",),
    "e_type": ("ET_",),
    "e_machine": ("EM_",),
    "machine": ("EM_",),
    "e_flags": ("EF_CUDA_",),
    "os_abi": ("ELFOSABI_",),
    "osabi": ("ELFOSABI_",),
    "ei_osabi": ("ELFOSABI_",),
    "abi_version": ("ABI_",),
    "ei_abiversion": ("ABI_",),
    "ei_class": ("ELFCLASS",),
    "elf_class": ("ELFCLASS",),
    "ei_data": ("ELFDATA2",),
    "note_type": ("NT_",),
    "code": ("EIATTR_", "EICOMPAT_"),
    "attribute_code": ("EIATTR_",),
    "opcode": ("SASS_",),
    "operation": ("SASS_",),
}
#: Fields that are sets of bits or parts, or whose 0 has no meaning of its own.
_ZERO_SAYS_NOTHING = frozenset(
    (
        "sh_flags",
        "flags",
        "sh_info",
        "st_info",
        "st_other",
        "other",
        "p_flags",
        "e_flags",
        "code",
        "kind",
    )
)
#: Beginnings of names that only numbers of the spec have.
_PREFIXES = re.compile(
    r"_*(SHT|SHF|SHI|SHN|STT|STB|STV|STO|R_CUDA|R_MERCURY|PT|PF|ET|EM|EF|EI|NT|DT|DW|ELFCLASS|"
    r"ELFOSABI|ELFDATA2|EIATTR|EIFMT|EICOMPAT|PN)_[A-Z0-9_]+|_*(ELFCLASS|ELFDATA2)[A-Z0-9]+"
)
#: Beginnings that code may leave out when it names a number again: ``FRAME_SIZE = 0x11``.
_OMITTED = (
    "EIATTR_",
    "EIFMT_",
    "EICOMPAT_ATTR_",
    "SHT_CUDA_",
    "STO_CUDA_",
    "ELFOSABI_",
    "FATBIN_",
    "SASS_",
)
#: Numbers that stand for something else more often than for a code.
_COMMON = frozenset((0x10000, 0xFFFF, 0xFFFFFFFF, 0x1000000, 0x10000000, 0x100000, 0x200000))
_SM = re.compile(r"(^|_)(sm|arch)s?$")
_SM_CONSTANT = re.compile(r"(^|_)(SM|SMS|ARCH|TARGET)($|_)")
_TOOLKIT = re.compile(r"(^|_)(toolkit|e_version|toolkit_version|cuda|cuda_version)$")
_TOOLKIT_CONSTANT = re.compile(r"(?<!R_)CUDA_\d+|(^|_)TOOLKIT($|_)")
#: Largest number that modules of instructions give a name to: a number of bytes.
_LARGEST_SIZE = 16
_ALLOWED = re.compile(r"#\s*not a spec number:\s*\S")


class Fault(NamedTuple):
    """One literal that should be a name.

    Attributes:
        file: path as given to :func:`check`.
        line: its line.
        rule: name of the rule, see the top of the module.
        text: what is wrong and what to write.
    """

    file: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.text}"


def check(text: str, file: str) -> list[Fault]:
    """All faults of one module.

    Args:
        text: the module.
        file: its path in the project; decides which rules hold.
    """
    allowed = _allowed_lines(text)
    tree = ast.parse(text)
    found = {*_Visitor(file).faults(tree)}
    if file.startswith(INSTRUCTIONS) and file not in _DWARF:
        found.update(_instruction_bits(tree, text.splitlines(), file))
    return sorted(fault for fault in found if fault.line not in allowed)


def check_project(root: Path = ROOT) -> list[Fault]:
    """All faults of the hand-written modules of a project."""
    faults = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            file = path.relative_to(root).as_posix()
            if not file.startswith(NOT_CHECKED) and "node_modules" not in path.parts:
                faults += check(path.read_text(encoding="utf-8"), file)
    return faults


def _allowed_lines(text: str) -> set[int]:
    """Lines whose literals a comment explains."""
    lines = text.splitlines()
    allowed = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and _ALLOWED.match(token.string):
            line = token.start[0]
            alone = lines[line - 1].lstrip().startswith("#")
            while alone and line < len(lines) and lines[line - 1].lstrip().startswith("#"):
                line += 1
            allowed.add(line)
    return allowed


def _last_name(node: ast.expr) -> str:
    """``sh_type`` of ``section.sh_type`` and of ``sh_type``; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_int(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _ints(node: ast.expr | ast.pattern | None) -> Iterator[tuple[int, int]]:
    """(value, line) of the integers that an expression consists of: itself, or its elements."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield node.value, node.lineno
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for item in node.elts:
            yield from _ints(item)
    elif isinstance(node, ast.Dict):
        for key in node.keys:
            yield from _ints(key)
    elif isinstance(node, ast.Call) and _last_name(node.func) in ("frozenset", "set", "tuple"):
        for item in node.args:
            yield from _ints(item)
    elif isinstance(node, ast.MatchValue):
        yield from _ints(node.value)
    elif isinstance(node, ast.MatchOr):
        for pattern in node.patterns:
            yield from _ints(pattern)
    elif isinstance(node, ast.IfExp):
        yield from _ints(node.body)
        yield from _ints(node.orelse)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _ints(node.left)
        yield from _ints(node.right)


def _called(value: int, prefixes: Iterable[str], ending: str = "") -> str:
    """The names that a number may have."""
    names = [
        name
        for name, number in CODES.items()
        if number == value and name.startswith(tuple(prefixes)) and name.endswith(ending)
    ]
    names.sort(key=lambda name: name.endswith(("_SHIFT", "_MASK")))
    return " or ".join(names[:3]) or "a name of cubinspec_generated.codes"


class _Visitor:
    """Applies the rules to every node of one module."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.decides_targets = file == TARGETS

    def faults(self, tree: ast.Module) -> Iterator[Fault]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    yield from self._assignment(target, node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                yield from self._assignment(node.target, node.value)
            elif isinstance(node, ast.AugAssign):
                yield from self._field(node.target, node.value)
            elif isinstance(node, ast.Compare):
                yield from self._comparison([node.left, *node.comparators])
            elif isinstance(node, ast.BinOp):
                yield from self._operation(node)
            elif isinstance(node, ast.Match):
                for case in node.cases:
                    yield from self._field(node.subject, case.pattern)
                    yield from self._decision(node.subject, case.pattern)
            elif isinstance(node, ast.keyword) and node.arg is not None:
                yield from self._field(ast.Name(node.arg), node.value)
            elif isinstance(node, ast.arguments):
                yield from self._defaults(node)
            elif isinstance(node, ast.Constant) and type(node.value) is int:
                yield from self._number(node)
            elif isinstance(node, ast.Dict | ast.Set | ast.Tuple | ast.List):
                yield from self._table(node)
            elif isinstance(node, ast.Call):
                yield from self._call(node)

    def _fault(self, line: int, rule: str, text: str) -> Fault:
        return Fault(self.file, line, rule, text)

    def _assignment(self, target: ast.expr, value: ast.expr) -> Iterator[Fault]:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, other in zip(target.elts, value.elts, strict=False):
                yield from self._assignment(one, other)
            return
        name = _last_name(target)
        yield from self._field(target, value)
        if not name.isupper() or not _is_int(value):
            return
        ((number, line),) = _ints(value)
        bare = name.lstrip("_")
        known = [bare, *(prefix + bare for prefix in _OMITTED)]
        if _PREFIXES.fullmatch(name) or bare in CODES:
            yield self._fault(line, "name", f"{name} is {number:#x}; import {bare} from codes")
        elif any(CODES.get(full) == number for full in known[1:]):
            full = next(full for full in known[1:] if CODES.get(full) == number)
            yield self._fault(line, "name", f"{name} is {number:#x}; import {full} from codes")
        if self.decides_targets:
            return
        if _SM_CONSTANT.search(name) and number in SMS:
            yield self._fault(line, "target", f"{name} is an sm number; ask a target's property")
        if _TOOLKIT_CONSTANT.search(name):
            yield self._fault(line, "toolkit", f"{name} is a version; ask a toolkit's property")

    def _defaults(self, node: ast.arguments) -> Iterator[Fault]:
        named = [*node.posonlyargs, *node.args][-len(node.defaults) or None :]
        pairs = [
            *zip(named if node.defaults else [], node.defaults, strict=True),
            *zip(node.kwonlyargs, node.kw_defaults, strict=True),
        ]
        for argument, value in pairs:
            if value is not None:
                yield from self._field(ast.Name(argument.arg), value)

    def _comparison(self, sides: list[ast.expr]) -> Iterator[Fault]:
        for one, other in pairwise(sides):
            for subject, value in ((one, other), (other, one)):
                yield from self._field(subject, value)
                yield from self._decision(subject, value)

    def _field(self, subject: ast.expr, value: ast.expr | ast.pattern) -> Iterator[Fault]:
        """A field of the format beside literals."""
        if isinstance(subject, ast.BinOp) and isinstance(subject.op, ast.BitAnd):
            subject = subject.left
        name = _last_name(subject)
        prefixes = _FIELDS.get(name)
        if prefixes is None:
            return
        for number, line in _ints(value):
            if _is_value(name, number):
                called = _called(number, prefixes)
                yield self._fault(line, "value", f"{name} and {number:#x}: write {called}")

    def _operation(self, node: ast.BinOp) -> Iterator[Fault]:
        """Bits taken from a field by a literal."""
        if not isinstance(node.op, ast.BitAnd | ast.BitOr | ast.RShift):
            return
        for subject, value in ((node.left, node.right), (node.right, node.left)):
            name = _last_name(subject)
            if name in _FIELDS and name != "code" and _is_int(value):
                ((number, line),) = _ints(value)
                if number not in (0xFF, 0xFFFF, 0xFFFFFFFF):
                    is_shift = isinstance(node.op, ast.RShift)
                    called = _called(number, _FIELDS[name], "_SHIFT" if is_shift else "")
                    yield self._fault(line, "value", f"bits {number:#x} of {name}: write {called}")

    def _decision(self, subject: ast.expr, value: ast.expr | ast.pattern) -> Iterator[Fault]:
        """An sm number or a toolkit version beside literals."""
        if self.decides_targets:
            return
        if isinstance(subject, ast.BinOp) and isinstance(subject.op, ast.FloorDiv):
            subject = subject.left
        name = _last_name(subject)
        if _SM.search(name):
            for number, line in _ints(value):
                if number >= 2:
                    text = f"{name} and {number}: ask a property of the target or its family"
                    yield self._fault(line, "target", text)
        elif _TOOLKIT.search(name):
            for number, line in _ints(value):
                if number:
                    text = f"{name} and {number}: ask a property of the toolkit"
                    yield self._fault(line, "toolkit", text)
            for word, line in _versions(value):
                text = f"{name} and {word!r}: ask a property of the toolkit"
                yield self._fault(line, "toolkit", text)

    def _number(self, node: ast.Constant) -> Iterator[Fault]:
        number = node.value
        assert isinstance(number, int)
        if number > 0xFFFF and number not in _COMMON and number in CODES.values():
            called = _called(number, ("",))
            yield self._fault(node.lineno, "number", f"{number:#x}: write {called}")

    def _table(self, node: ast.Dict | ast.Set | ast.Tuple | ast.List) -> Iterator[Fault]:
        """A table of targets: three sm numbers or more, and nothing else."""
        numbers = [number for number, _ in _ints(node)]
        count = len(node.keys) if isinstance(node, ast.Dict) else len(node.elts)
        distinct = set(numbers)
        least = 2 if isinstance(node, ast.Dict) else 3
        if self.decides_targets or len(distinct) < least or len(numbers) != count:
            return
        if distinct <= SMS and distinct != set(range(min(distinct), max(distinct) + 1)):
            text = "a table of sm numbers: it belongs into ksy/tables/arch.yaml"
            yield self._fault(node.lineno, "target", text)

    def _call(self, node: ast.Call) -> Iterator[Fault]:
        """``toolkit.startswith("12.")``."""
        function = node.func
        if not isinstance(function, ast.Attribute) or self.decides_targets:
            return
        if function.attr in ("startswith", "endswith") and _TOOLKIT.search(
            _last_name(function.value)
        ):
            text = f"{_last_name(function.value)}.{function.attr}: ask a property of the toolkit"
            yield self._fault(node.lineno, "toolkit", text)


def _is_value(field: str, number: int) -> bool:
    """Whether a number is one that the field can have by the tables."""
    if number == 0 and field in _ZERO_SAYS_NOTHING:
        return False
    prefixes = _FIELDS[field]
    return any(value == number and name.startswith(prefixes) for name, value in CODES.items())


def _versions(node: ast.expr | ast.pattern) -> Iterator[tuple[str, int]]:
    """(text, line) of texts that are versions, such as ``13.0``, in an expression."""
    for item in ast.walk(node):
        match item:
            case ast.Constant(value=str(text)) if re.match(r"\d+(\.\d+)*$", text):
                yield text, item.lineno


def _instruction_bits(tree: ast.Module, lines: list[str], file: str) -> Iterator[Fault]:
    """Numbers of instructions: hexadecimal ones, operands of bit operations, large named ones."""
    advice = "write a name of cubinspec_generated that ksy/tables/sass.yaml has"
    for node in ast.walk(tree):
        numbers: list[tuple[int, int]] = []
        match node:
            case ast.Constant(value=int(), lineno=row, col_offset=column):
                is_hexadecimal = lines[row - 1].lower().startswith("0x", column)
                numbers = [*_ints(node)] if is_hexadecimal else []
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr() | ast.BitXor()):
                numbers = [*_ints(node.left), *_ints(node.right)]
            case ast.BinOp(op=ast.LShift() | ast.RShift()):
                numbers = [*_ints(node.right)]
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                if all(name.isupper() for name in _all_names(target)) and node.value is not None:
                    numbers = [pair for pair in _ints(node.value) if pair[0] > _LARGEST_SIZE]
        for number, line in numbers:
            if number not in (0, 1):
                yield Fault(file, line, "bits", f"{number:#x} in code of instructions: {advice}")


def _all_names(target: ast.expr) -> list[str]:
    """The names that an assignment gives."""
    return [_last_name(item) for item in getattr(target, "elts", [target])]


def main(argv: list[str] | None = None) -> int:
    """List the faults; 1 when there are any."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.lint", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--report", action="store_true", help="list faults, but exit with 0")
    parser.add_argument("prefix", nargs="*", help="only files whose path starts so")
    options = parser.parse_args(argv)
    faults = [f for f in check_project() if f.file.startswith(tuple(options.prefix) or "")]
    for fault in faults:
        print(fault)
    print(f"{len(faults)} literals that should be names" if faults else "no literal of the spec")
    return 1 if faults and not options.report else 0


if __name__ == "__main__":
    sys.exit(main())
