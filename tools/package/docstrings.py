"""Docstrings for compiled modules: mypyc leaves all of them out, and ``help`` would say nothing.

The C source that mypyc writes has a place for each, where it puts a signature or NULL. What the
Python source says is put there before that is compiled. It lies in the library then, and nothing
is done with it at a start.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

#: Where the definition of a module ends its part of the C source, and what it is called.
_MODULE = re.compile(r'PyModuleDef_HEAD_INIT,\s*"([\w.]+)",\s*(?=NULL, /\* docstring \*/)')
#: What leads to the place of a docstring: tables, the struct of a class, names of entries; places.
_STEP = re.compile(
    r"static PyGetSetDef (?P<fields>\w+)_getseters\[\]"
    r"|static PyMethodDef (?P<methods>\w+)_methods\[\]"
    r"|PyTypeObject CPyType_(?P<type>\w+)_template_ = "
    r'|\{"(?P<entry>\w+)",'
    r'|PyDoc_STR\((?:NULL|"(?P<signature>(?:[^"\\]|\\.)*)")\)'
    r"|(?P<field>NULL, NULL\},)"
)
#: By class and name; a function has no class, a class no name of its own, the module has neither.
Docstrings = Mapping[tuple[str, str], str]


def docstrings(tree: ast.Module) -> dict[tuple[str, str], str]:
    """The docstrings of a module, of its functions and classes, and of their methods."""
    found: dict[tuple[str, str], str | None] = {("", ""): ast.get_docstring(tree)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found["", node.name] = ast.get_docstring(node)
        elif isinstance(node, ast.ClassDef):
            found[node.name, ""] = ast.get_docstring(node)
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    # a property may have several functions, the first of which is documented
                    found.setdefault((node.name, method.name), ast.get_docstring(method))
    return {place: text for place, text in found.items() if text}


def documented(source: str, modules: Mapping[str, Docstrings]) -> str:
    """C source of mypyc with the docstrings of modules, by their names."""
    parts: list[str] = []
    at = 0
    for module in _MODULE.finditer(source):
        texts = modules.get(module[1], {})
        parts.append(_documented(source[at : module.end()], texts))
        at = module.end()
        if ("", "") in texts:
            parts.append(_literal(texts["", ""]))
            at += len("NULL")
    return "".join([*parts, source[at:]])


def _documented(part: str, texts: Docstrings) -> str:
    """The part of one module."""
    classes = sorted({owner for owner, _ in texts if owner}, key=len, reverse=True)
    place = ("", "")

    def step(match: re.Match[str]) -> str:
        nonlocal place
        owner = match["fields"] or match["methods"] or match["type"]
        if owner is not None:
            # in C a class has the name of its module, or the end of that, in front of its own
            place = next((name for name in classes if owner.endswith(f"___{name}")), owner), ""
            if match["methods"] and owner.endswith("module"):
                place = "", ""
        elif match["entry"]:
            place = place[0], match["entry"]
        elif place in texts:
            if match["field"]:
                return f"{_literal(texts[place])}, NULL}},"
            return f"PyDoc_STR({_literal(texts[place], match['signature'] or '')})"
        return match[0]

    return _STEP.sub(step, part)


def _literal(text: str, signature: str = "") -> str:
    """A string of C, behind what is one already."""
    plain = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("?"): "\\?"}
    escaped = "".join(
        char if char.isascii() else "".join(f"\\{byte:03o}" for byte in char.encode())
        for char in text.translate(plain)
    )
    return f'"{signature}{escaped}"'


def document(folder: Path, names: list[str], source: Path) -> None:
    """Put the docstrings of modules into the C source that mypyc has written.

    Args:
        folder: holds the packages.
        names: of the modules, as paths below it.
    """
    modules: dict[str, Docstrings] = {}
    for name in names:
        words = name.removesuffix(".py").removesuffix("/__init__").split("/")
        tree = ast.parse((folder / name).read_text(encoding="utf-8"))
        modules[".".join(words)] = docstrings(tree)
    source.write_text(documented(source.read_text(encoding="utf-8"), modules), encoding="utf-8")
