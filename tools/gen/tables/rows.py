"""The classes of table rows: one slot class each, written out, so that importing them is cheap."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

FILE = Path("generated/python/cubinspec_generated/rows.py")


class Field(NamedTuple):
    """One field of a row.

    Attributes:
        name: its name.
        kind: its type in Python.
        doc: what it says.
        default: literal of the value that it has when a table leaves it out; empty for none.
    """

    name: str
    kind: str
    doc: str
    default: str = ""


class RowClass(NamedTuple):
    """A class of rows."""

    name: str
    doc: str
    fields: tuple[Field, ...]


class Literal(str):
    """Text that is already Python source; its ``repr`` is the text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


BIT_FIELD = RowClass(
    "BitField",
    "Some bits of a word.",
    (
        Field("name", "str", "name of the part"),
        Field("bit", "int", "first bit"),
        Field("width", "int", "number of bits"),
        Field("enum", "str", "its values in the ENUMS of the table, or nothing", "''"),
    ),
)
TAIL = RowClass(
    "Tail",
    "The repeated last field of a payload.",
    (
        Field("count", "str", "field with the number of items; empty: up to the end"),
        Field("name", "str", "name of the field"),
        Field("format", "str", "``struct`` format of an item"),
        Field("reference", "str", "as in ``Layout.references``"),
    ),
)
LAYOUT = RowClass(
    "Layout",
    "The payload of an attribute record.",
    (
        Field(
            "kind",
            "str",
            "none, inline (in the two bytes after the code), struct, array (of the struct), "
            "records (structs, each followed by as many items as one of its fields says), list "
            "(a struct, then items to the end), opaque (bytes without known parts) or unknown",
        ),
        Field("format", "str", "``struct`` format of the fixed fields"),
        Field("names", "tuple[str, ...]", "names of the fixed fields"),
        Field(
            "references",
            "tuple[str, ...]",
            "what each field means: symbol (symbol table index), code (byte offset of an "
            "instruction), enum:<name> (see ENUMS) or nothing",
        ),
        Field("tail", "Tail | None", "the repeated field of records and lists"),
        Field(
            "bits", "tuple[tuple[str, tuple[BitField, ...]], ...]", "fields and their parts", "()"
        ),
    ),
)
TAGGED_CASE = RowClass(
    "TaggedCase",
    "What follows one value of the tag.",
    (
        Field("format", "str", "``struct`` format of the fixed fields"),
        Field("names", "tuple[str, ...]", "names of the fixed fields"),
        Field("references", "tuple[str, ...]", "as in ``Layout.references``"),
        Field("text", "str", "name of the text that follows, or nothing"),
        Field("size", "str", "field with the size of that text"),
    ),
)
TAGGED = RowClass(
    "Tagged",
    "A payload made of records that start with a u4 tag.",
    (
        Field("tag", "str", "name of the tag"),
        Field("enum", "str", "its values in ENUMS"),
        Field("align", "int", "alignment of a record"),
        Field("cases", "dict[int, TaggedCase]", "tag -> what follows it"),
    ),
)
ATTRIBUTE = RowClass(
    "Attribute",
    "An attribute of ``.nv.info`` (EIATTR).",
    (
        Field("code", "int", "its code"),
        Field("name", "str | None", "its name"),
        Field("category", "str", "what it is about"),
        Field("formats", "tuple[int, ...]", "format bytes that real files use"),
        Field("layout", "Layout", "its payload; a tagged one is opaque here"),
        Field("tagged", "Tagged | None", "its payload, when that is made of tagged records"),
        Field(
            "symbol_fields",
            "tuple[int, ...]",
            "byte offsets of symbol indices inside a payload (inside each element of an array)",
        ),
        Field(
            "places",
            "tuple[str, ...]",
            "where it stands: module (.nv.info), function (.nv.info.<f>); empty: not known",
        ),
        Field(
            "mercury",
            "str",
            "whether the Mercury copy of a section has it too: copied, never or only (there); "
            "empty: not known",
        ),
        Field("min_sm", "int", "first architecture with the instructions that it is about, or 0"),
    ),
)
COMPAT_ATTRIBUTE = RowClass(
    "CompatAttribute",
    "A record of ``.nv.compat`` (EICOMPAT_ATTR).",
    (
        Field("code", "int", "its code"),
        Field("name", "str", "its name"),
        Field("layout", "Layout", "its payload"),
        Field("merge", "str", "rule by which a link merges the values of its inputs"),
        Field("missing", "int | None", "value that an input without the record stands for"),
        Field(
            "variant_values",
            "dict[str, int]",
            "value of a linked file by the variant of its target",
        ),
        Field(
            "architecture_values",
            "dict[int, int]",
            "value of a linked file by the sm of its target",
        ),
    ),
)
ACTION = RowClass(
    "Action",
    "One field that applying a relocation writes.",
    (
        Field("kind", "str", "data, byte, field, clear or opcode"),
        Field("bit", "int", "first bit from r_offset on"),
        Field("width", "int", "number of bits"),
        Field("value", "str", "name of the value"),
        Field("shift", "int", "right shift of the value"),
    ),
)
RELOCATION = RowClass(
    "RelocationType",
    "A relocation type.",
    (
        Field("type", "int", "its number"),
        Field("name", "str", "its name"),
        Field("actions", "tuple[Action, ...]", "what applying it does, in order"),
        Field("resolver", "str", "who applies it"),
        Field(
            "keep",
            "tuple[str, ...]",
            "target kinds for which a final link leaves the entry in the executable",
        ),
        Field(
            "errors",
            "tuple[str, ...]",
            "target kinds for which a final link ends with an internal error",
        ),
        Field("retype", "int", "type that a kept entry gets"),
        Field("apply", "str", "rule by which the actions run"),
        Field(
            "handle",
            "bool",
            "whether S of a texture, sampler or surface reference is the offset of its handle in "
            "constant bank 0; for others it is 0",
        ),
    ),
)
SECTION_KIND = RowClass(
    "SectionKind",
    "What a section of a given name is.",
    (
        Field("pattern", "str", "its name; one that ends in * is a prefix"),
        Field("kind", "str", "name of the kind"),
        Field("body", "str", "what its bytes are"),
        Field("opaque", "bool", "whether no .ksy describes its bytes"),
        Field("relocatable", "int", "sh_type in relocatable files"),
        Field("executable", "int", "sh_type in executables"),
        Field("flags", "int", "sh_flags"),
        Field("link", "str", "meaning of sh_link"),
        Field("info", "str", "meaning of sh_info"),
        Field("aligns", "tuple[int, ...]", "values of sh_addralign, the usual one first"),
        Field("entsize", "int", "sh_entsize"),
        Field("twin", "str", "kind of its Mercury twin"),
        Field("optional_flags", "int", "flags that some files lack or have in addition", "0"),
        Field("other_types", "tuple[int, ...]", "values of sh_type that some files have", "()"),
    ),
)
REGISTER_COUNT = RowClass(
    "RegisterCount",
    "How many registers an operand has, as a field of the instruction says.",
    (
        Field("shift", "int", "first bit of the field"),
        Field("mask", "int", "bits of the field in place"),
        Field("flag", "int", "bit with which the second half of the numbers counts; 0: none"),
        Field("registers", "tuple[int, ...]", "number of registers, by the field's value"),
    ),
)
OPERAND = RowClass(
    "Operand",
    "An operand of a SASS instruction that can be a register.",
    (
        Field(
            "name",
            "str",
            "d (the result), e (a second result), f (read in place of d), a to c, g or h",
        ),
        Field("registers", "int", "number of registers, at most"),
        Field("count", "RegisterCount | None", "what tells the number exactly"),
        Field("is_uniform", "bool", "whether it is a uniform register"),
        Field("forms", "tuple[int, ...]", "forms in which it is a register; empty: all", "()"),
        Field("flag", "int", "bit that is set where it is a register; 0: it always is one", "0"),
    ),
)
LENGTH = RowClass(
    "MercuryLength",
    "The fields of a SASS instruction that tell the length of its Mercury instruction.",
    (
        Field("mask", "int", "bits of the fields in place"),
        Field("values", "int", "values of these fields, in place"),
        Field("units", "int", "length in units where the fields have these values"),
        Field("other", "int", "length in units where they have not"),
    ),
)
CLASSES = (
    BIT_FIELD,
    TAIL,
    LAYOUT,
    TAGGED_CASE,
    TAGGED,
    ATTRIBUTE,
    COMPAT_ATTRIBUTE,
    ACTION,
    RELOCATION,
    SECTION_KIND,
    REGISTER_COUNT,
    OPERAND,
    LENGTH,
)

_HEAD = '''\
# Generated by tools.gen; do not edit.
"""Classes of the rows of the tables. Rows are data: nothing changes them."""

from __future__ import annotations

from cubinspec_generated.targets import Row as Row
'''

#: It stands in ``targets.py``, which most commands load: a module of its own costs start-up.
BASE_CLASS = '''\


class Row:
    """A row of a table: equal to another one when all fields are."""

    __slots__: tuple[str, ...] = ()
    __match_args__: tuple[str, ...] = ()

    def _values(self) -> tuple[object, ...]:
        """The fields in order."""
        return tuple([getattr(self, name) for name in self.__match_args__])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row) or other.__class__ is not self.__class__:
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        fields = zip(self.__match_args__, self._values(), strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in fields)})"
'''


def row(kind: RowClass, *values: object) -> Literal:
    """The literal of a row; trailing values that are the defaults are left out."""
    given = [repr(value) for value in values]
    while given and given[-1] == kind.fields[len(given) - 1].default:
        del given[-1]
    return Literal(f"{kind.name}({', '.join(given)})")


def rows_literal(rows: Iterable[Literal]) -> Literal:
    """The literal of a tuple of rows."""
    items = list(rows)
    return Literal("(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")")


def mapping_literal(items: Iterable[tuple[object, object]]) -> Literal:
    """The literal of a dict whose values may be rows."""
    return Literal("{" + ", ".join(f"{key!r}: {value!r}" for key, value in items) + "}")


def emit_rows() -> dict[Path, str]:
    """``rows.py``."""
    return {FILE: _HEAD + "".join(class_text(kind) for kind in CLASSES)}


def class_text(kind: RowClass) -> str:
    """The class in Python, with two empty lines before it."""
    names = ", ".join(f'"{field.name}"' for field in kind.fields)
    lines = ["", "", f"class {kind.name}(Row):", f'    """{kind.doc}', "", "    Attributes:"]
    for field in kind.fields:
        lines += _wrap(f"{field.name}: {field.doc}.")
    lines += ['    """', "", f"    __slots__ = ({names})", f"    __match_args__ = ({names})", ""]
    lines += ["    def __init__(", "        self,"]
    for field in kind.fields:
        default = f" = {field.default}" if field.default else ""
        lines.append(f"        {field.name}: {field.kind}{default},")
    lines.append("    ) -> None:")
    lines += [f"        self.{field.name}: {field.kind} = {field.name}" for field in kind.fields]
    return "\n".join(lines) + "\n"


def _wrap(text: str) -> list[str]:
    lines = [" " * 8]
    for word in text.split():
        if len(lines[-1]) + 1 + len(word) > 100:
            lines.append(" " * 12)
        lines[-1] += word if lines[-1].isspace() else f" {word}"
    return lines
