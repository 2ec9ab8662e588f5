"""Register tables: where ``.nv_debug_info_reg_sass`` says that PTX registers are kept.

The table has for every function its name, a count and so many places: which part of the register,
its name, the register that holds it, and first and last offset of the code.
"""

from __future__ import annotations

from struct import error as StructError
from struct import unpack_from

from cubinspec.errors import BadStructureError
from cubinspec_generated import codes_enums
from cubinspec_generated.codes_enums import (
    DEBUG_REGISTER_CONDITION,
    DEBUG_REGISTER_GENERAL,
    DEBUG_REGISTER_PREDICATE,
    DEBUG_REGISTER_UNIFORM,
    DEBUG_REGISTER_UNIFORM_PREDICATE,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    #: part, name of the PTX register, register, start and end of the code
    Place = tuple[int, str, int, int, int]

_LETTERS = {
    DEBUG_REGISTER_CONDITION: "C",
    DEBUG_REGISTER_PREDICATE: "P",
    DEBUG_REGISTER_GENERAL: "R",
    DEBUG_REGISTER_UNIFORM_PREDICATE: "UP",
    DEBUG_REGISTER_UNIFORM: "UR",
}
#: Code of a type in PTX -> its name there.
REGISTER_TYPES = {
    code: name.replace("REGISTER_TYPE_", ".").lower()
    for name, code in vars(codes_enums).items()
    if name.startswith("REGISTER_TYPE_")
}
_CLASS_SHIFT = 24
#: Digits of the highest number of a register.
_MOST_DIGITS = 8
#: Shortest row: a part, an empty name, a register and two offsets.
_SHORTEST_PLACE = 17


def register_name(number: int) -> str | None:
    """The name of a register of the machine; ``None`` for a class that nobody has named."""
    letters = _LETTERS.get(number >> _CLASS_SHIFT)
    return None if letters is None else f"{letters}{number & (1 << _CLASS_SHIFT) - 1}"


def register_number(name: str) -> int | None:
    """The number of a register; ``None`` when no register of the machine has that name."""
    digits = name.lstrip("CPRU")
    number = int(digits) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else -1
    for kind, letters in _LETTERS.items():
        found = kind << _CLASS_SHIFT | number
        if number >= 0 and name == f"{letters}{number}" and register_name(found) == name:
            return found
    return None


def ptx_register_name(number: int) -> str | None:
    """The PTX register that a number of DWARF stands for: its bytes are the name, first one last.

    ``None`` when they are no name of one.
    """
    text = number.to_bytes((number.bit_length() + 7) // 8, "big").decode("latin-1")
    return text if text.startswith("%") and text.isascii() and text.isprintable() else None


def register_places(data: bytes, base: int, file: str, field: str) -> list[tuple[str, list[Place]]]:
    """The functions of a table with their places.

    Args:
        data: the whole section.
        base: offset of the section, for errors.
        file, field: what errors name.

    Raises:
        BadStructureError: a text or a row does not end before the section does.
    """
    found = []
    at = 0
    try:
        while at < len(data):
            name, at = _text(data, at)
            (count,) = unpack_from("<I", data, at)
            at += 4
            if count * _SHORTEST_PLACE > len(data) - at:
                raise IndexError(at)
            places: list[Place] = []
            for _ in range(count):
                (part,) = unpack_from("<I", data, at)
                register, at = _text(data, at + 4)
                places.append((part, register, *unpack_from("<III", data, at)))
                at += 12
            found.append((name, places))
    except (IndexError, StructError) as error:
        raise BadStructureError(
            "the register table is cut off",
            file=file,
            offset=base + at,
            field=field,
            expected="a name, a count and so many places",
        ) from error
    return found


def register_types(data: bytes, base: int, file: str, field: str) -> list[tuple[str, bytes]]:
    """The functions of ``.nv_debug_info_reg_type`` with the types of their registers.

    Raises:
        BadStructureError: a text or a list does not end before the section does.
    """
    found = []
    at = 0
    try:
        while at < len(data):
            name, at = _text(data, at)
            (count,) = unpack_from("<I", data, at)
            at += 4
            if count > len(data) - at:
                raise IndexError(at)
            found.append((name, data[at : at + count]))
            at += count
    except (IndexError, StructError) as error:
        raise BadStructureError(
            "the table of register types is cut off",
            file=file,
            offset=base + at,
            field=field,
            expected="a name, a count and so many types",
        ) from error
    return found


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = data.find(b"\0", at)
    if end < 0:
        raise IndexError(at)
    return data[at:end].decode("utf-8", "surrogateescape"), end + 1
