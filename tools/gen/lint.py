"""Rules that the ``.ksy`` files keep beyond what the compiler checks.

Most rules stand for a fault of one of the fifteen targets, or for a way to make a reader loop or
allocate without bound. Each rule is a function over one spec and has a test that plants a fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tools.gen.reserved import RESERVED
from tools.gen.spec import Attr, Spec, Type

MAX_COLUMNS = 80
LICENSE = "CC0-1.0"

#: Counts up to this one may be written as a number; larger ones follow from the stream size.
MAX_CONSTANT_COUNT = 16

#: Order of the keys under ``meta`` in the style guide of the format gallery.
META_ORDER = (
    "id",
    "title",
    "application",
    "file-extension",
    "xref",
    "tags",
    "license",
    "ks-version",
    "imports",
    "encoding",
    "endian",
    "bit-endian",
)
SECTION_ORDER = ("meta", "-orig-id", "doc", "doc-ref", "-webide-representation", "params", "seq")
FORBIDDEN_META = ("ks-debug", "ks-opaque-types")

#: Ids of gABI fields are the C names themselves.
_GABI_NAME = re.compile(r"(e|ei|p|r|sh|st)_")

#: What other targets than Python make of a doc text: the ends of their comments and strings.
_DOC_BREAKERS = ('"""', "*/", "\\")


@dataclass(frozen=True)
class Fault:
    """One broken rule.

    Attributes:
        place: file and line, ``eiattr.ksy:12``.
        rule: name of the rule.
        text: what is wrong and what would be right.
    """

    place: str
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.rule}: {self.text}"


Found = Iterator[tuple[int, str]]
Rule = Callable[[Spec, dict[str, Spec]], Found]
RULES: dict[str, Rule] = {}


def _rule(name: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES[name] = function
        return function

    return register


def check(specs: dict[str, Spec]) -> list[Fault]:
    """All faults of all specs, in file and line order."""
    faults = []
    for spec in specs.values():
        for name, rule in RULES.items():
            for line, text in rule(spec, specs):
                faults.append((spec.file.name, line, name, text))
    return [Fault(f"{file}:{line}", name, text) for file, line, name, text in sorted(faults)]


def _attrs(spec: Spec) -> Iterator[tuple[Type, Attr]]:
    for kind in spec.root.walk():
        for attr in kind.attrs():
            yield kind, attr


def _enums(spec: Spec) -> Iterator[tuple[Type, str, dict[Any, Any]]]:
    for kind in spec.root.walk():
        for name, members in (kind.raw.get("enums") or {}).items():
            yield kind, name, members


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


# --- the file -----------------------------------------------------------------------------------


@_rule("id-is-file-name")
def _id_is_file_name(spec: Spec, specs: dict[str, Spec]) -> Found:
    if spec.id != spec.file.stem:
        yield 1, f"meta/id is {spec.id!r}, the file is {spec.file.name}"


@_rule("meta")
def _meta(spec: Spec, specs: dict[str, Spec]) -> Found:
    if spec.meta.get("license") != LICENSE:
        yield 1, f"meta/license must be {LICENSE}"
    for key in ("title", "application", "ks-version"):
        if not spec.meta.get(key):
            yield 1, f"meta/{key} is missing"
    for key in FORBIDDEN_META:
        if key in spec.meta:
            yield 1, f"meta/{key} is for tests of the compiler only"


@_rule("key-order")
def _key_order(spec: Spec, specs: dict[str, Spec]) -> Found:
    keys = [key for key in spec.meta if key in META_ORDER]
    if keys != sorted(keys, key=META_ORDER.index):
        yield 1, f"meta keys stand in the order {', '.join(META_ORDER)}"
    for key in spec.meta:
        if key not in (*META_ORDER, *FORBIDDEN_META):
            yield 1, f"meta/{key} has no place in the style guide"
    for kind in spec.root.walk():
        order = [key for key in kind.raw if key in SECTION_ORDER]
        if order != sorted(order, key=SECTION_ORDER.index):
            yield kind.line, f"{kind.name}: sections stand in the order {', '.join(SECTION_ORDER)}"
    for kind, attr in _attrs(spec):
        keys = list(attr.raw)
        lead = [key for key in ("id", "-orig-id") if key in keys]
        if keys[: len(lead)] != lead:
            yield attr.line, f"{kind.name}.{attr.id}: id and -orig-id come first"
        tail = [key for key in ("doc", "doc-ref") if key in keys]
        if tail and keys[-len(tail) :] != tail:
            yield attr.line, f"{kind.name}.{attr.id}: doc comes last"


@_rule("form")
def _form(spec: Spec, specs: dict[str, Spec]) -> Found:
    for number, line in enumerate(spec.text.split("\n"), 1):
        if "\t" in line or line.endswith((" ", "\r")):
            yield number, "no tabs, no blanks at line ends, LF only"
        if len(line) > MAX_COLUMNS and len(line.split()) > 2 and not line.startswith("# "):
            yield number, f"longer than {MAX_COLUMNS} columns"
    if not spec.text.endswith("\n"):
        yield spec.text.count("\n") + 1, "no newline at the end"


@_rule("doc")
def _doc(spec: Spec, specs: dict[str, Spec]) -> Found:
    for kind in spec.root.walk():
        if not kind.raw.get("doc"):
            yield kind.line or 1, f"type {kind.name} has no doc"
    for kind, attr in _attrs(spec):
        if "contents" not in attr.raw and not attr.raw.get("doc"):
            yield attr.line, f"{kind.name}.{attr.id} has no doc"
    for kind, name, members in _enums(spec):
        for value, member in members.items():
            if not isinstance(member, dict) or not member.get("doc"):
                yield kind.line or 1, f"{name}: {value} has no doc"


@_rule("doc-escapes")
def _doc_escapes(spec: Spec, specs: dict[str, Spec]) -> Found:
    holders: list[tuple[int, str, dict[str, Any]]] = [
        (kind.line or 1, kind.name, kind.raw) for kind in spec.root.walk()
    ]
    holders += [(attr.line, f"{kind.name}.{attr.id}", attr.raw) for kind, attr in _attrs(spec)]
    for kind, name, members in _enums(spec):
        holders += [
            (kind.line or 1, f"{name}: {value}", member)
            for value, member in members.items()
            if isinstance(member, dict)
        ]
    for line, where, raw in holders:
        doc = str(raw.get("doc") or "")
        for breaker in _DOC_BREAKERS:
            if breaker in doc:
                yield line, f"{where}: the doc holds {breaker}, which ends a comment or a string"
        if doc.rstrip().endswith('"'):
            yield line, f"{where}: the doc ends with a quotation mark"


@_rule("orig-id")
def _orig_id(spec: Spec, specs: dict[str, Spec]) -> Found:
    for kind in spec.root.walk():
        if not str(kind.raw.get("-orig-id", "")).startswith("Elf"):
            continue
        for attr in kind.seq:
            if "-orig-id" not in attr.raw and not _GABI_NAME.match(attr.id):
                yield attr.line, f"{kind.name}.{attr.id} stands for a C field: name it in -orig-id"
    for kind, name, members in _enums(spec):
        named = {value: isinstance(m, dict) and "-orig-id" in m for value, m in members.items()}
        for value, is_named in named.items():
            if not is_named and any(named.values()):
                yield kind.line or 1, f"{name}: {value} has no -orig-id, its neighbours do"


@_rule("doc-ref")
def _doc_ref(spec: Spec, specs: dict[str, Spec]) -> Found:
    for kind in spec.root.walk():
        if not kind.raw.get("doc-ref"):
            yield kind.line or 1, f"{kind.name}: name in doc-ref where it is described"


@_rule("representation")
def _representation(spec: Spec, specs: dict[str, Spec]) -> Found:
    """The Web IDE shows a record's values beside its name when the spec says which."""
    listed = {
        attr.type_name for kind in spec.root.walk() for attr in kind.attrs() if "repeat" in attr.raw
    }
    for kind in spec.root.walk():
        shown = kind.raw.get("-webide-representation")
        values = [attr for attr in kind.seq if _is_value(attr)]
        if not shown and (values or (kind.name in listed and kind.seq)):
            yield kind.line or 1, f"{kind.name}: say in -webide-representation what to show"
        members = {attr.id: attr for attr in kind.attrs()}
        for name in re.findall(r"\{(\w+)", str(shown or "")):
            attr = members.get(name)
            if attr is None:
                if name != "this":
                    yield kind.line or 1, f"{kind.name}: -webide-representation names no {name}"
            elif attr.kind == "instance" and not _is_eager(attr):
                yield attr.line, f"{kind.name}.{name} is shown: it needs parse mode eager"


def _is_eager(attr: Attr) -> bool:
    """Whether the Web IDE reads an instance with its record: values unless told otherwise."""
    mode = attr.raw.get("-webide-parse-mode", "eager" if attr.is_value else "lazy")
    return bool(mode == "eager")


@_rule("helpers")
def _helpers(spec: Spec, specs: dict[str, Spec]) -> Found:
    """What only the spec itself asks for is marked lazy and stands last: people read the rest.

    A list of 12,000 sections opens in less time, too: the Web IDE copies what is not lazy.
    """
    for kind in spec.root.walk():
        shown = re.findall(r"\{(\w+)", str(kind.raw.get("-webide-representation") or ""))
        asked = {name for attr in kind.attrs() for name in _asked(attr.raw)} - {*shown}
        last = ""
        for attr in kind.instances:
            if attr.raw.get("-webide-parse-mode") == "lazy":
                last = attr.id
                continue
            if attr.is_value and attr.id in asked:
                yield attr.line, f"{kind.name}.{attr.id} is a helper: it needs parse mode lazy"
            if last:
                yield attr.line, f"{kind.name}.{attr.id}: helpers such as {last} stand last"


def _asked(raw: dict[str, Any]) -> list[str]:
    """The names in a field's place, size, count and switch."""
    kind = raw.get("type")
    switch = kind["switch-on"] if isinstance(kind, dict) else ""
    asked = (raw.get("pos", ""), raw.get("size", ""), raw.get("repeat-expr", ""), switch)
    return re.findall(r"(?<![.\w])[a-z_]\w*", " ".join(map(str, asked)))


def _is_value(attr: Attr) -> bool:
    """True for a field that is one number, one bit or one text."""
    return (
        "repeat" not in attr.raw
        and "if" not in attr.raw
        and bool(re.fullmatch(r"[us][1248]|f[48]|b\d+|strz?", str(attr.raw.get("type"))))
    )


# --- names --------------------------------------------------------------------------------------


@_rule("reserved-word")
def _reserved_word(spec: Spec, specs: dict[str, Spec]) -> Found:
    for kind in spec.root.walk():
        if kind.name in RESERVED:
            yield kind.line or 1, _is_reserved(kind.name)
    for _, attr in _attrs(spec):
        if attr.id in RESERVED:
            yield attr.line, _is_reserved(attr.id)
    for kind, name, members in _enums(spec):
        if name in RESERVED:
            yield kind.line or 1, _is_reserved(name)
        for member in members.values():
            word = str(member["id"] if isinstance(member, dict) else member)
            if word in RESERVED:
                yield kind.line or 1, _is_reserved(f"{name}::{word}", word)


def _is_reserved(where: str, word: str | None = None) -> str:
    return f"{where} is a reserved word of {', '.join(RESERVED[word or where])}"


@_rule("name-clash")
def _name_clash(spec: Spec, specs: dict[str, Spec]) -> Found:
    # C# and Java: a member, a nested type and the type itself must have different names
    for kind in spec.root.walk():
        own = {_camel(kind.name)}
        nested = {_camel(name) for name in (*kind.types, *(kind.raw.get("enums") or {}))}
        for attr in kind.attrs():
            if _camel(attr.id) in own | nested:
                yield attr.line, f"{kind.name}.{attr.id} is also the name of a type there"
        for sub in kind.types.values():
            if sub.name in kind.path:
                yield sub.line, f"type {sub.name} is named like a type around it"
    # Rust keeps unknown values in a variant of that name
    for kind, name, members in _enums(spec):
        for member in members.values():
            if (member["id"] if isinstance(member, dict) else member) == "unknown":
                yield kind.line or 1, f"{name}: a member named unknown clashes in Rust"


@_rule("enum-value")
def _enum_value(spec: Spec, specs: dict[str, Spec]) -> Found:
    for kind, name, members in _enums(spec):
        for value in members:
            if value > 0x7FFFFFFF:
                yield kind.line or 1, f"{name}: {value} does not fit into a C# enum"


# --- expressions that some target cannot express ------------------------------------------------


@_rule("expression")
def _expression(spec: Spec, specs: dict[str, Spec]) -> Found:
    for kind, attr in _attrs(spec):
        where = f"{kind.name}.{attr.id}"
        raw = attr.raw
        text = " ".join(str(value) for key, value in raw.items() if key not in ("doc", "id"))
        if re.search(r"(?:^|[(?:,=])\s*-\s*_io\.pos\s*%", text):
            yield attr.line, f"{where}: write (n - _io.pos % n) % n (Rust)"
        if attr.kind == "instance" and "repeat" in raw and "_index" in str(raw.get("pos", "")):
            yield attr.line, f"{where}: _index in pos: use a type with a parameter"
        if ".to_i" in text:
            yield attr.line, f"{where}: to_i of a value without a name fails in Java"
        if raw.get("type") == "any":
            yield attr.line, f"{where}: type any is missing in C++, PHP and Rust"
        if "process" in raw:
            yield attr.line, f"{where}: process is missing in some targets"
        if attr.is_value and "::" in str(raw.get("enum", "")):
            yield attr.line, f"{where}: a value instance cannot have an imported enum"
        switch = raw.get("type")
        if isinstance(switch, dict) and _is_wide(str(switch.get("switch-on")), kind):
            yield attr.line, f"{where}: switch on a u4 or u8 without enum (Java): map it first"
        if (
            isinstance(switch, dict)
            and ("size" in raw or "size-eos" in raw)
            and "_" not in switch.get("cases", {})
        ):
            yield attr.line, f"{where}: a sized switch needs a default (Nim, Rust)"


@_rule("portable")
def _portable(spec: Spec, specs: dict[str, Spec]) -> Found:
    for kind, attr in _attrs(spec):
        where = f"{kind.name}.{attr.id}"
        raw = attr.raw
        text = " ".join(str(value) for key, value in raw.items() if key not in ("doc", "id"))
        if raw.get("type") == "io":
            yield attr.line, f"{where}: give a type instead of a stream (Go, Rust, the Web IDE)"
        if "_root" in text:
            yield attr.line, f"{where}: an imported spec has no _root of its own: use a parameter"
        if re.search(r"\]\s*\.as<(?![su][1248]>)", text):
            yield attr.line, f"{where}: C++11 cannot cast an element of a list"
        if any("::" in name for name in _type_names(raw.get("type"))):
            yield attr.line, f"{where}: a type nested in another spec fails in Rust: its own spec"
        if attr.kind == "instance" and "repeat" in raw and isinstance(raw.get("type"), dict):
            yield attr.line, f"{where}: a repeated instance cannot switch its type (C++, Nim)"


def _type_names(value: object) -> list[str]:
    """The types that a field can have, without their arguments."""
    names = list(value.get("cases", {}).values()) if isinstance(value, dict) else [value]
    return [str(name).partition("(")[0] for name in names if name is not None]


def _is_wide(name: str, kind: Type) -> bool:
    """True for a field that Java holds in a ``long``, on which it cannot switch."""
    return any(
        attr.id == name and attr.raw.get("type") in ("u4", "u8", "s8") and "enum" not in attr.raw
        for attr in kind.attrs()
    )


# --- bounded work -------------------------------------------------------------------------------


@_rule("progress")
def _progress(spec: Spec, specs: dict[str, Spec]) -> Found:
    for kind, attr in _attrs(spec):
        if attr.raw.get("repeat") not in ("eos", "until"):
            continue
        where = f"{kind.name}.{attr.id}"
        if _least_size(attr, kind, spec, specs, (), item=True) < 1:
            yield attr.line, f"{where}: a round of the loop may read nothing"
        if "_index" in str(attr.raw.get("repeat-until", "")):
            # one too many in some targets, missing in Perl
            yield attr.line, f"{where}: _index means different rounds in repeat-until"
        if attr.raw["repeat"] == "until" and "_io.eof" not in str(attr.raw.get("repeat-until")):
            yield attr.line, f"{where}: the loop must also end with the stream (or _io.eof)"


@_rule("count-guard")
def _count_guard(spec: Spec, specs: dict[str, Spec]) -> Found:
    for kind, attr in _attrs(spec):
        if attr.raw.get("repeat") != "expr":
            continue
        count = attr.raw.get("repeat-expr")
        if isinstance(count, int) and count <= MAX_CONSTANT_COUNT:
            continue
        if "_io.pos" in str(count):
            # JavaScript evaluates the count again in every round
            yield attr.line, f"{kind.name}.{attr.id}: the count depends on _io.pos: use until"
        if not _is_guarded(str(count), kind, ()):
            yield attr.line, f"{kind.name}.{attr.id}: the count does not depend on _io.size"


def _is_guarded(expression: str, kind: Type, seen: tuple[str, ...]) -> bool:
    if "_io.size" in expression:
        return True
    values = {attr.id: str(attr.raw["value"]) for attr in kind.instances if attr.is_value}
    names = [name for name in re.findall(r"[a-z_][a-z0-9_]*", expression) if name in values]
    return any(_is_guarded(values[name], kind, (*seen, name)) for name in names if name not in seen)


_INTEGER = re.compile(r"[su]([1248])(?:le|be)?|f([48])(?:le|be)?")
_BITS = re.compile(r"b(\d+)(?:le|be)?")


def _least_size(
    attr: Attr,
    kind: Type,
    spec: Spec,
    specs: dict[str, Spec],
    seen: tuple[tuple[str, ...], ...],
    *,
    item: bool = False,
) -> float:
    """Fewest bytes that reading a field takes when the stream is not at its end."""
    raw = attr.raw
    if not item and ("if" in raw or raw.get("repeat") in ("expr", "eos")):
        return 0
    if "contents" in raw:
        return 1
    size = raw.get("size")
    if size is not None:
        return size if isinstance(size, int) else 0
    name = raw.get("type")
    if raw.get("size-eos") or name in ("strz", "str") or (name is None and "terminator" in raw):
        return 1
    if isinstance(name, dict):
        cases = list(name.get("cases", {}).values())
        return min((_least_type(str(c), kind, spec, specs, seen) for c in cases), default=0)
    return _least_type(str(name), kind, spec, specs, seen)


def _least_type(
    name: str,
    kind: Type,
    spec: Spec,
    specs: dict[str, Spec],
    seen: tuple[tuple[str, ...], ...],
) -> float:
    name = name.split("(")[0].strip()
    number = _INTEGER.fullmatch(name)
    if number:
        return int(number[1] or number[2])
    bits = _BITS.fullmatch(name)
    if bits:
        return int(bits[1]) / 8
    if name in ("strz", "str"):
        return 1
    found = _find_type(name, kind, spec, specs)
    if found is None or found.path in seen:
        return 0
    owner = specs.get(found.path[0], spec)
    return sum(_least_size(a, found, owner, specs, (*seen, found.path)) for a in found.seq)


def _find_type(name: str, kind: Type, spec: Spec, specs: dict[str, Spec]) -> Type | None:
    """The type a name means inside ``kind``: nested there, further out, or imported."""
    first, *rest = name.split("::")
    found: Type | None = None
    for depth in range(len(kind.path), 0, -1):
        scope = spec.root
        for part in kind.path[1:depth]:
            scope = scope.types[part]
        if first in scope.types:
            found = scope.types[first]
            break
    if found is None and first in specs:
        found = specs[first].root
    for part in rest:
        if found is None:
            return None
        found = found.types.get(part)
    return found
