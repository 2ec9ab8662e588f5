"""The API reference, docs/api: what the packages export, with its docstrings."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

FOLDER = Path("docs/api")
#: The public packages by page: one ``__all__`` each.
PAGES = {
    "cubinspec": (
        "cubinspec",
        "cubinspec.containers",
        "cubinspec.errors",
        "cubinspec.reader",
        "cubinspec.scan",
    ),
    "cubinspec_writer": (
        "cubinspec_writer",
        "cubinspec_writer.linker",
        "cubinspec_writer.builder",
        "cubinspec_writer.editor",
        "cubinspec_writer.emitter",
        "cubinspec_writer.emitter.model",
        "cubinspec_writer.emitter.bodies",
        "cubinspec_writer.checker",
        "cubinspec_writer.yaml_form",
    ),
}
#: Bases that have no entry; what a class has of them stands in its own.
_MIXED_IN = ("FunctionRows",)
_HEAD = "<!-- Made from the docstrings by `make gen`; do not edit. -->\n"


def emit() -> dict[Path, str]:
    """The pages, by their place."""
    pages = {
        FOLDER / f"{name}.md": _HEAD + "\n\n".join(_module(module) for module in modules) + "\n"
        for name, modules in PAGES.items()
    }
    lines = [_HEAD + "# API reference", ""]
    lines += ["A name is public when it is in the `__all__` of one of these modules.", ""]
    for name, modules in PAGES.items():
        lines += [f"- [{name}]({name}.md): " + ", ".join(f"`{module}`" for module in modules)]
    pages[FOLDER / "README.md"] = "\n".join(lines) + "\n"
    return pages


def exported(module: str) -> list[tuple[str, Any]]:
    """The public names of a module, in alphabetical order, with what they are."""
    found = importlib.import_module(module)
    return [(name, getattr(found, name)) for name in sorted(found.__all__) if name[0] != "_"]


def _module(module: str) -> str:
    found = importlib.import_module(module)
    parts = [f"# {module}", _text(found, 0)]
    for name, value in exported(module):
        parts.append(_entry(module, name, value))
    return "\n\n".join(parts)


def _entry(module: str, name: str, value: Any) -> str:
    if inspect.isclass(value):
        return _class(module, name, value)
    if callable(value):
        return f"## {name}\n\n```text\n{name}{_signature(value)}\n```\n\n{_text(value, 0)}"
    return f"## {name}\n\nA `{type(value).__name__}`."


def _class(module: str, name: str, cls: type) -> str:
    parts = [f"## {name}"]
    home = importlib.import_module(module)
    seen = {id(value) for other, value in exported(PAGES_FIRST[module]) if other != name}
    if home.__name__ != PAGES_FIRST[module] and id(cls) in seen:
        return f"## {name}\n\nSee [above](#{name.lower()})."
    bases = [base.__name__ for base in cls.__bases__ if base.__name__[0] != "_"]
    bases = [base for base in bases if base not in ("object", "ValueObject", "FrozenValue")]
    if not issubclass(cls, BaseException):
        parts.append(f"```text\n{name}{_signature(cls)}\n```")
    elif bases:
        parts.append(f"A kind of `{', '.join(bases)}`.")
    parts.append(_text(cls, 0))
    kinds = [cls, *(base for base in cls.__bases__ if base.__name__ in _MIXED_IN)]
    known = {key: value for kind in kinds for key, value in vars(kind).items() if key[0] != "_"}
    members = [_member(key, value) for key, value in known.items()]
    parts += ["\n".join(part for part in members if part)] if any(members) else []
    return "\n\n".join(parts)


def _member(name: str, value: Any) -> str:
    if isinstance(value, property):
        return f"- **`{name}`**: {_returns(value.fget)}{_text(value, 2)}"
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if inspect.isfunction(function):
        return f"- **`{name}{_signature(function)}`**: {_text(function, 2)}"
    return ""


def _returns(function: Any) -> str:
    kind = function.__annotations__.get("return")
    return f"`{kind}`. " if kind else ""


def _signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except ValueError:
        return "(…)"
    kept = [p for p in found.parameters.values() if p.name not in ("self", "cls")]
    # annotations are text, and text is shown with quotes
    return str(found.replace(parameters=kept)).replace("'", "")


def _text(value: Any, indent: int) -> str:
    """A docstring: its sections become lists, its roles code."""
    doc = inspect.getdoc(value)
    if not doc:
        return "No description."
    for role in (":class:", ":meth:", ":func:", ":attr:", ":data:"):
        doc = doc.replace(role, "")
    lines: list[str] = []
    in_section = False
    for line in doc.replace("``", "`").splitlines():
        if line in ("Attributes:", "Args:", "Returns:", "Raises:", "Yields:"):
            in_section = True
            lines += [f"**{line}**", ""]
        elif in_section and line.startswith("    ") and line[4:5] != " ":
            lines.append(f"- {line.strip()}")
        elif in_section and line.startswith("     "):
            lines.append(f"  {line.strip()}")
        else:
            in_section = in_section and (not line or line.startswith(" "))
            lines.append(line)
    space = " " * indent
    return "\n".join([lines[0], *(f"{space}{line}".rstrip() for line in lines[1:])])


#: The first module of the page of each module.
PAGES_FIRST = {module: modules[0] for modules in PAGES.values() for module in modules}
