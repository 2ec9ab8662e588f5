"""Attribute records from text, as users write them on a command line.

The layouts come from ``ksy/tables/eiattr.yaml``. Numbers are separated by commas; instead of the
number of a symbol its name may be given.
"""

from __future__ import annotations

import re
from struct import calcsize, pack
from struct import error as StructError
from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec.model.info import CODE
from cubinspec_generated.codes import EIFMT_BVAL, EIFMT_NVAL
from cubinspec_generated.tables import eiattr
from cubinspec_writer.builder import attributes
from cubinspec_writer.editor.references import attribute_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec_writer.emitter.bodies import AttributeRecord

    #: name of a symbol -> its number
    Resolve = Callable[[str], int]

#: First field of an attribute whose record is found by the function it is for.
OF_FUNCTION = "function"
_MAX_CODE = 0xFF
_INDEXED = re.compile(r"(.*)\[(\d+)\]", re.DOTALL)


def split_index(text: str) -> tuple[str, int | None]:
    """``KPARAM_INFO[1]`` as name and number of the record; ``None`` when no number is given."""
    match = _INDEXED.fullmatch(text)
    return (text, None) if match is None else (match[1], int(match[2]))


def attribute_code(text: str) -> int:
    """An attribute's code from its name (with or without ``EIATTR_``) or number.

    Raises:
        CubinError: no attribute has that name.
    """
    name = text.upper()
    for candidate in (name, f"EIATTR_{name}"):
        if candidate in CODE:
            return CODE[candidate]
    try:
        code = int(text, 0)
    except ValueError:
        raise BadStructureError(f"no attribute is named {text!r}") from None
    if not 0 <= code <= _MAX_CODE:
        raise BadStructureError(f"attribute {code:#x} is out of range", expected="0 to 0xff")
    return code


def fields_of(code: int) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Kind of an attribute's layout, the names of its fields, and what they refer to."""
    layout = eiattr.ATTRIBUTES.get(code, eiattr.UNKNOWN).layout
    return layout.kind, layout.names, layout.references


def parse_value(
    code: int, text: str, resolve: Resolve | None = None, function: int | None = None
) -> AttributeRecord:
    """An attribute record from its value as text.

    Args:
        text: numbers by the layout of the attribute, such as ``128,1,1`` for
            ``EIATTR_MAX_THREADS``; the elements of an array one after the other; empty for a flag;
            ``hex:`` and the bytes of the payload for any attribute.
        resolve: gives the number of a symbol that the text names.
        function: symbol number of the record's function, its first field, which the text omits.

    Raises:
        CubinError: the value does not fit the attribute.
    """
    name = attribute_name(code)
    if text.startswith("hex:"):
        try:
            return attributes.sized(code, bytes.fromhex(text[4:]))
        except ValueError:
            raise BadStructureError(f"{text[4:]!r} is no hexadecimal text", field=name) from None
    references = eiattr.ATTRIBUTES.get(code, eiattr.UNKNOWN).layout.references
    count = len(references)
    numbers = [] if function is None else [function]
    for at, part in enumerate(text.split(",") if text else [], len(numbers)):
        is_symbol = bool(count) and references[at % count] == "symbol"
        numbers.append(_symbol(part, name, resolve) if is_symbol else number(part, name))
    try:
        record = _packed(code, numbers)
    except StructError as error:
        raise BadStructureError(f"a value does not fit: {error}", field=name) from None
    if record is None:
        raise BadStructureError(
            f"{text!r} does not fit its layout", field=name, expected=_form(code)
        )
    return record


def _packed(code: int, numbers: list[int]) -> AttributeRecord | None:
    """The record with these numbers; ``None`` when their count does not fit the layout."""
    layout = eiattr.ATTRIBUTES.get(code, eiattr.UNKNOWN).layout
    kind, form, count = layout.kind, layout.format, len(layout.names)
    if kind == "none" and not numbers:
        return attributes.flag(code)
    if kind == "inline" and len(numbers) == count:
        value = int.from_bytes(pack(form, *numbers), "little")
        is_byte = calcsize(form) == 1
        return attributes.byte(code, value) if is_byte else attributes.half(code, value)
    if kind == "struct" and len(numbers) == count:
        return attributes.sized(code, pack(form, *numbers))
    if kind == "array" and numbers and len(numbers) % count == 0:
        rows = [numbers[at : at + count] for at in range(0, len(numbers), count)]
        return attributes.sized(code, b"".join([pack(form, *row) for row in rows]))
    return None


def is_same(one: AttributeRecord, other: AttributeRecord) -> bool:
    """Whether two records say the same; only the low byte of a byte value counts."""
    form, code, value, _ = one
    other_form, other_code, other_value, _ = other
    if (form, code) != (other_form, other_code):
        return False
    if form == EIFMT_NVAL:
        return True
    if form == EIFMT_BVAL:
        return value & 0xFF == other_value & 0xFF
    return one == other


def number(text: str, name: str) -> int:
    """A number, decimal or with one of Python's prefixes (``0x``, ``0o``, ``0b``).

    Raises:
        CubinError: it is none; ``name`` is the attribute that the message is about.
    """
    try:
        return int(text, 0)
    except ValueError:
        raise BadStructureError(f"{text!r} is no number", field=name) from None


def _symbol(text: str, name: str, resolve: Resolve | None) -> int:
    try:
        return int(text, 0)
    except ValueError:
        if resolve is None:
            raise BadStructureError(f"{text!r} is no number", field=name) from None
        return resolve(text)


def _form(code: int) -> str:
    kind, names, _ = fields_of(code)
    shown = names[1:] if names[:1] == (OF_FUNCTION,) else names
    if kind == "none":
        return "no value"
    if kind in ("inline", "struct"):
        return ",".join(shown)
    if kind == "array":
        return ",".join(shown) + " once or more"
    return "hex:BYTES"
