"""Plants faults in the code of every rule of nvlink and looks whether the rule's cases see one.

    python -m tools.linkcases.faults [--rule W7,S2] [--most N]

A rule is cited where code follows it. The fault is planted there: in the statement behind the
comment, or in the function whose docstring cites the rule. Statements are left out, conditions
turned round, parts of them and entries of tables left out, numbers and words changed, one at a
time. The rule's stored cases are linked with each of these until one of them gives another file,
other messages or another status. A fault that only ends in an exception of Python does not count.

The exit status is 1 when a rule is left of which no fault was seen.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import pickle
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

from tools.linkcases import rules
from tools.linkcases.rules import LINKER, Rule

_PACKAGE = "cubinspec_writer.linker"
#: What a process imports anew with a planted fault.
_ANEW = (_PACKAGE, "tools.linkcases.stored", "tools.linkcases.compare")
_SECONDS = 60
#: Targets that are linked first; most rules show on each of them.
_FIRST = ("80", "90", "100")
_MOST_LINKS = 8
#: So many statements at once may be what a comment is about.
_NEXT = 4

Result = tuple[str, str]
Link = tuple[str, str]
"""A case and a target."""


@dataclass(frozen=True)
class Site:
    """Code that follows a rule.

    Attributes:
        path: the module's file.
        line: where the citation stands.
        places: numbers of the statements, in the order of `ast.walk`, the nearest first.
    """

    path: Path
    line: int
    places: tuple[int, ...]


@dataclass(frozen=True)
class Seen:
    """What became of a rule.

    Attributes:
        outcome: "seen", "only exceptions", "not seen", "no stored case".
        detail: the fault that was seen, and the case.
        planted: how many faults were planted.
    """

    rule: str
    outcome: str
    detail: str
    planted: int


# -- where rules are followed --------------------------------------------------------------------


def sites(rule: Rule) -> list[Site]:
    """All places that cite a rule, those of its own module first."""
    found = []
    for path in sorted(rules.cited()[rule.id], key=lambda path: path != rule.file):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        for line in _lines(text, rule.id):
            places = tuple(_places(tree, line))
            if places:
                found.append(Site(path, line, places))
    return found


def _lines(text: str, name: str) -> Iterator[int]:
    for match in rules.CITATION.finditer(text):
        if name in rules.ID.findall(match.group(1)):
            yield text.count("\n", 0, match.start()) + 1


def _places(tree: ast.Module, line: int) -> Iterator[int]:
    """Statements that a citation is about."""
    nodes = list(ast.walk(tree))
    documented = [
        node
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and ast.get_docstring(node) is not None
        and node.body[0].lineno <= line <= (node.body[0].end_lineno or 0)
    ]
    numbers = {id(node): number for number, node in enumerate(nodes)}
    if documented:
        inside = [n for n in ast.walk(documented[0]) if isinstance(n, ast.stmt)]
        inside = [n for n in inside if not _is_text(n)]
        # Of a module its functions, then its constants.
        of_module = set(map(id, documented[0].body)) if documented[0] is tree else set()
        inside.sort(key=lambda n: (id(n) in of_module and not hasattr(n, "args"), n.lineno))
        yield from (numbers[id(n)] for n in inside)
        return
    statements = [n for n in nodes if isinstance(n, ast.stmt)]
    around = [
        n for n in statements if n.lineno <= line <= (n.end_lineno or 0) and not hasattr(n, "body")
    ]
    behind = [n for n in statements if n.lineno >= line]
    above = [n for n in statements if n.lineno <= line <= (n.end_lineno or 0)]
    nearest = around or [min(behind, key=lambda n: (n.lineno, n.col_offset))]
    # Then what follows in the same block, and what holds it: an `elif`, or the function.
    above.sort(key=lambda n: -n.lineno)
    wanted = (*nearest, *_following(nodes, nearest[0]), *above)
    yield from (numbers[id(n)] for n in wanted if not isinstance(n, ast.ClassDef))


def _following(nodes: list[ast.AST], statement: ast.stmt) -> list[ast.stmt]:
    """The next statements of the block that a statement is in."""
    for node in nodes:
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and statement in block:
                at = block.index(statement)
                return block[at + 1 : at + _NEXT]
    return []


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, an import, or for type checkers only."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef):
        return True
    return isinstance(node, ast.If | ast.Assign) and "TYPE_CHECKING" in ast.unparse(node)


# -- faults ----------------------------------------------------------------------------------------


def faults(site: Site) -> Iterator[tuple[str, ast.Module]]:
    """The module with one fault, and what the fault is."""
    tree = ast.parse(site.path.read_text(encoding="utf-8"))
    done: set[str] = set()
    for place in site.places:
        statement = list(ast.walk(tree))[place]
        assert isinstance(statement, ast.stmt)
        for what, change in _changes(statement):
            broken = copy.deepcopy(tree)
            node = list(ast.walk(broken))[place]
            change(broken, node)
            text = ast.dump(broken)
            if text in done:
                continue
            done.add(text)
            yield f"{site.path.name}:{statement.lineno}: {what}", ast.fix_missing_locations(broken)


Change = Callable[[ast.Module, ast.AST], None]


def _changes(statement: ast.AST) -> Iterator[tuple[str, Change]]:
    """Ways in which a statement can be wrong; inner statements come by themselves."""
    if not isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AnnAssign | ast.Assign):
        yield "left out", _left_out
    if isinstance(statement, ast.FunctionDef):
        for value in ("None", "False", "True", "0", "()"):
            yield f"{statement.name} gives {value}", _gives(value)
        return
    if isinstance(statement, ast.If | ast.While):
        yield "the condition turned round", _turned
    if isinstance(statement, ast.Return) and statement.value is not None:
        for value in ("False", "True", "None", "0"):
            yield f"returns {value}", _returns(value)
    inner = [
        number
        for number, node in enumerate(ast.walk(statement))
        if not _is_in_inner_statement(statement, node)
    ]
    nodes = list(ast.walk(statement))
    for number in inner:
        for what, change in _of_expression(nodes[number]):
            yield what, _at(number, change)


def _is_in_inner_statement(statement: ast.AST, node: ast.AST) -> bool:
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt | ast.ExceptHandler) and any(
            found is node for found in ast.walk(child)
        ):
            return True
    return False


def _at(number: int, change: Callable[[ast.AST], None]) -> Change:
    def apply(tree: ast.Module, statement: ast.AST) -> None:
        change(list(ast.walk(statement))[number])

    return apply


def _of_expression(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], None]]]:
    """Ways in which an expression can be wrong."""
    if isinstance(node, ast.BoolOp):
        for at, value in enumerate(node.values):
            yield f"without `{ast.unparse(value)}`", _neutral(at)
    if isinstance(node, ast.IfExp):
        yield "the choice turned round", _turned
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OPPOSITE:
        yield f"`{ast.unparse(node)}` turned round", _opposite
    if isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) > 1:
        for at, value in enumerate(node.elts):
            yield f"without {ast.unparse(value)}", _without("elts", at)
    if isinstance(node, ast.Call):
        for name in ("args", "keywords"):
            for at, value in enumerate(getattr(node, name)):
                yield f"without the argument `{ast.unparse(value)}`", _without(name, at)
        if node.args and isinstance(node.func, ast.Name):
            yield f"the first argument in place of what `{node.func.id}` gives", _unwrapped
    if isinstance(node, ast.BinOp):
        yield f"only `{ast.unparse(node.left)}`", _as_zero("right")
        yield f"only `{ast.unparse(node.right)}`", _as_zero("left")
    if isinstance(node, ast.UnaryOp):
        yield f"without `{ast.unparse(node)}`", _as_plus
    if isinstance(node, ast.comprehension) and node.ifs:
        for at, value in enumerate(node.ifs):
            yield f"without the filter `{ast.unparse(value)}`", _without("ifs", at)
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield f"{not node.value}", _set("value", not node.value)
        elif isinstance(node.value, int):
            yield f"{node.value + 1}", _set("value", node.value + 1)
        elif isinstance(node.value, str | bytes) and node.value:
            yield f"{node.value[:-1]!r}", _set("value", node.value[:-1])


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE,
    ast.LtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


def _left_out(tree: ast.Module, old: ast.AST) -> None:
    """Never run a statement; what it makes of its function, such as a generator, stays."""
    assert isinstance(old, ast.stmt)
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            for at, item in enumerate(value if isinstance(value, list) else ()):
                if item is old:
                    value[at] = ast.If(ast.Constant(False), [old], [])
                    return


def _gives(value: str) -> Change:
    def apply(tree: ast.Module, node: ast.AST) -> None:
        assert isinstance(node, ast.FunctionDef)
        node.body = [ast.Return(ast.parse(value, mode="eval").body)]

    return apply


def _returns(value: str) -> Change:
    def apply(tree: ast.Module, node: ast.AST) -> None:
        assert isinstance(node, ast.Return)
        node.value = ast.parse(value, mode="eval").body

    return apply


def _turned(*nodes: ast.AST) -> None:
    node = nodes[-1]
    assert isinstance(node, ast.If | ast.While | ast.IfExp)
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _opposite(node: ast.AST) -> None:
    assert isinstance(node, ast.Compare)
    node.ops[0] = _OPPOSITE[type(node.ops[0])]()


def _without(name: str, at: int) -> Callable[[ast.AST], None]:
    def apply(node: ast.AST) -> None:
        del getattr(node, name)[at]

    return apply


def _neutral(at: int) -> Callable[[ast.AST], None]:
    """An operand of `and` or `or` that decides nothing."""

    def apply(node: ast.AST) -> None:
        assert isinstance(node, ast.BoolOp)
        node.values[at] = ast.Constant(isinstance(node.op, ast.And))

    return apply


def _unwrapped(node: ast.AST) -> None:
    assert isinstance(node, ast.Call)
    node.func = ast.parse("(lambda x, *_, **__: x)", mode="eval").body


def _as_zero(name: str) -> Callable[[ast.AST], None]:
    def apply(node: ast.AST) -> None:
        assert isinstance(node, ast.BinOp)
        node.op = ast.Add()
        setattr(node, name, ast.Constant(0))

    return apply


def _as_plus(node: ast.AST) -> None:
    assert isinstance(node, ast.UnaryOp)
    if isinstance(node.op, ast.Not):
        node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
    else:
        node.op = ast.UAdd()


def _set(name: str, value: object) -> Callable[[ast.AST], None]:
    return lambda node: setattr(node, name, value)


# -- links -----------------------------------------------------------------------------------------


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads one module with other code than its file has."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:
        return self.code


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module that has a fault."""

    def __init__(self, path: Path, code: CodeType) -> None:
        parts = path.relative_to(LINKER).with_suffix("").parts
        self.name = ".".join([_PACKAGE, *parts]).removesuffix(".__init__")
        self.path = path
        self.code = code

    def find_spec(
        self, fullname: str, path: object, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        loader = _Loader(fullname, str(self.path), self.code)
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)


def linked(folder: Path, links: list[Link], fault: tuple[Path, ast.Module] | None) -> list[Result]:
    """Outcome and detail of some links, in a process of their own.

    Args:
        fault: a module of the linker, and what is in it instead.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        signal.alarm(_SECONDS)
        with open(writing, "wb") as pipe:
            pickle.dump(_linked_here(folder, links, fault), pipe)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else [("exception", "it does not end")]


def _linked_here(
    folder: Path, links: list[Link], fault: tuple[Path, ast.Module] | None
) -> list[Result]:
    for name in [name for name in sys.modules if name.startswith(_ANEW)]:
        del sys.modules[name]
    found: list[Result] = []
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        try:
            if fault is not None:
                path, tree = fault
                sys.meta_path.insert(0, _Finder(path, compile(tree, str(path), "exec")))
            stored = importlib.import_module("tools.linkcases.stored")
        except Exception as error:
            return [_exception(error)]
        for case, arch in links:
            try:
                found.append(stored.compare(folder / case / arch, stored.table()[case, arch]))
            except Exception as error:
                found.append(_exception(error))
    return found


def _exception(error: Exception) -> Result:
    return "exception", f"{type(error).__name__}: {error}"


# -- rules -----------------------------------------------------------------------------------------


def look(rule: Rule, folder: Path, most: int) -> Seen:
    """Plant faults in one rule until its cases see one."""
    links = _links(rule, folder)
    if not links:
        return Seen(rule.id, "no stored case", ", ".join((*rule.cases, *rule.seeds)), 0)
    right = linked(folder, links, None)
    planted = exceptions = 0
    for site in sites(rule):
        for what, tree in faults(site):
            if planted >= most:
                break
            planted += 1
            for link, before, after in zip(
                links, right, linked(folder, links, (site.path, tree)), strict=False
            ):
                if after[0] == "exception":
                    exceptions += 1
                elif after != before:
                    return Seen(rule.id, "seen", f"{what}: {' '.join(link)}", planted)
    outcome = "only exceptions" if exceptions else "not seen"
    return Seen(rule.id, outcome, f"{len(links)} links", planted)


def _links(rule: Rule, folder: Path) -> list[Link]:
    found = []
    for case in (*rule.cases, *rule.seeds):
        arches = sorted(
            (path.name for path in (folder / case).iterdir()) if (folder / case).is_dir() else (),
            key=lambda arch: (arch not in _FIRST, arch),
        )
        found += [(case, arch) for arch in arches]
    found.sort(key=lambda link: link[1] not in _FIRST)
    return found[:_MOST_LINKS]


def main() -> int:
    """Look at all rules, or at some."""
    parser = argparse.ArgumentParser(description="Plant faults in the rules of the linker.")
    parser.add_argument("--rule", help="only these, such as W7,S2")
    parser.add_argument("--most", type=int, default=200, help="faults for one rule")
    options = parser.parse_args()
    wanted = options.rule.split(",") if options.rule else None
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        importlib.import_module("tools.linkcases.stored").unpack(Path(temporary))
        for rule in rules.load():
            if wanted is None or rule.id in wanted:
                found.append(look(rule, Path(temporary), options.most))
                one = found[-1]
                print(f"{one.rule}\t{one.outcome}\t{one.planted}\t{one.detail}", flush=True)
    print(dict(Counter(one.outcome for one in found)))
    return int(any(one.outcome not in ("seen", "no stored case") for one in found))


if __name__ == "__main__":
    sys.exit(main())
