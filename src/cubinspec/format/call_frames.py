"""Call frame tables: what ``.debug_frame`` says of how functions keep registers.

pyelftools does not read the 64-bit form of this section, which CUDA's tools write.
"""

from __future__ import annotations

from struct import error as StructError
from struct import unpack_from

from cubinspec.errors import BadStructureError
from cubinspec.format.debug_registers import register_name
from cubinspec.format.leb128 import sleb, uleb
from cubinspec.values import FrozenValue
from cubinspec_generated import codes_dwarf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Operation -> name and operands: r register, u unsigned, s signed, a address, b a block of bytes,
#: 1, 2 and 4 a number of so many bytes.
OPERATIONS = {
    getattr(codes_dwarf, f"DW_CFA_{name.upper()}"): (name, operands)
    for name, operands in (
        ("nop", ""),
        ("set_loc", "a"),
        ("advance_loc1", "1"),
        ("advance_loc2", "2"),
        ("advance_loc4", "4"),
        ("offset_extended", "ru"),
        ("restore_extended", "r"),
        ("undefined", "r"),
        ("same_value", "r"),
        ("register", "rr"),
        ("remember_state", ""),
        ("restore_state", ""),
        ("def_cfa", "ru"),
        ("def_cfa_register", "r"),
        ("def_cfa_offset", "u"),
        ("def_cfa_expression", "b"),
        ("expression", "rb"),
        ("offset_extended_sf", "rs"),
        ("def_cfa_sf", "rs"),
        ("def_cfa_offset_sf", "s"),
        ("val_offset", "ru"),
        ("val_offset_sf", "rs"),
        ("val_expression", "rb"),
    )
}
#: Operation whose operand stands in its low bits -> name and what follows.
SHORT_OPERATIONS = {
    codes_dwarf.DW_CFA_ADVANCE_LOC: ("advance_loc", ""),
    codes_dwarf.DW_CFA_OFFSET: ("offset", "u"),
    codes_dwarf.DW_CFA_RESTORE: ("restore", ""),
}
_LOW_BITS = 0xFF ^ codes_dwarf.DW_CFA_HIGH_MASK


class FrameEntry(FrozenValue):
    """A common entry, or the entry of one function.

    Attributes:
        offset: where in the section it starts.
        fields: what its head says, by name.
        ofs_cie: where the place of its common entry is written, or that it is one.
        ofs_start: where the address of the function is written; ``None`` in a common entry.
        instructions: as text.
    """

    __match_args__ = ("offset", "fields", "ofs_cie", "ofs_start", "instructions")
    __slots__ = __match_args__
    offset: int
    fields: dict[str, Any]
    ofs_cie: int
    ofs_start: int | None
    instructions: list[str]

    def __init__(
        self,
        offset: int,
        fields: dict[str, Any],
        ofs_cie: int,
        ofs_start: int | None,
        instructions: list[str],
    ) -> None:
        put = object.__setattr__
        put(self, "offset", offset)
        put(self, "fields", fields)
        put(self, "ofs_cie", ofs_cie)
        put(self, "ofs_start", ofs_start)
        put(self, "instructions", instructions)


def frame_entries(data: bytes, word: int, base: int, file: str, field: str) -> list[FrameEntry]:
    """All entries of a table.

    Args:
        data: the whole section.
        word: bytes of an address.
        base: offset of the section, for errors.
        file, field: what errors name.

    Raises:
        BadStructureError: an entry is cut off or has an operation that DWARF does not know.
    """
    found = []
    at = 0
    try:
        while at < len(data):
            (length,) = unpack_from("<I", data, at)
            size = 4
            if length == codes_dwarf.DWARF64_MARK:
                (length,) = unpack_from("<Q", data, at + 4)
                size = 8
            start = at + (12 if size == 8 else 4)
            if start + length > len(data):
                raise IndexError(at)
            found.append(_entry(data[start : start + length], at, start, size, word))
            at = start + length
    except (ValueError, IndexError, KeyError, StructError) as error:
        raise BadStructureError(
            "the frame table is cut off, or of another form",
            file=file,
            offset=base + at,
            field=field,
            expected="entries of DWARF, each with its operations",
        ) from error
    return found


def _entry(body: bytes, offset: int, start: int, size: int, word: int) -> FrameEntry:
    """One entry.

    Args:
        body: what follows its length.
        offset, start: where the entry and its body begin in the section.
        size: bytes of its length and of its CIE's place.
    """
    cie = _number(body, 0, size)
    fields: dict[str, Any]
    if cie == (1 << 8 * size) - 1:
        ofs_start = None
        version, end = body[size], body.index(b"\0", size + 1)
        augmentation = body[size + 1 : end].decode("latin-1")
        code, at = uleb(body, end + 1)
        factor, at = sleb(body, at)
        back, at = uleb(body, at)
        fields = {
            "kind": "CIE",
            "version": version,
            "augmentation": augmentation,
            "code_factor": code,
            "data_factor": factor,
            "return_register": _register(back),
        }
    else:
        ofs_start = start + size
        place, length = _number(body, size, word), _number(body, size + word, word)
        fields = {"kind": "FDE", "cie": cie, "start": place, "size": length}
        at = size + 2 * word
    return FrameEntry(offset, fields, start, ofs_start, _instructions(body, at, word))


def _number(data: bytes, at: int, size: int) -> int:
    """A number of fixed size.

    Raises:
        IndexError: it does not end before the data does.
    """
    if at + size > len(data):
        raise IndexError(at)
    return int.from_bytes(data[at : at + size], "little")


def _instructions(data: bytes, at: int, word: int) -> list[str]:
    found = []
    while at < len(data):
        code = data[at]
        at += 1
        words = []
        if code & codes_dwarf.DW_CFA_HIGH_MASK:
            high = code & codes_dwarf.DW_CFA_HIGH_MASK
            name, operands = SHORT_OPERATIONS[high]
            low = code & _LOW_BITS
            words.append(str(low) if high == codes_dwarf.DW_CFA_ADVANCE_LOC else _register(low))
        else:
            name, operands = OPERATIONS[code]
        for kind in operands:
            if kind in "ru":
                value, at = uleb(data, at)
                words.append(_register(value) if kind == "r" else str(value))
            elif kind == "s":
                value, at = sleb(data, at)
                words.append(str(value))
            elif kind == "b":
                value, at = uleb(data, at)
                if at + value > len(data):
                    raise IndexError(at)
                words.append(data[at : at + value].hex())
                at += value
            else:
                size = word if kind == "a" else int(kind)
                words.append(str(_number(data, at, size)))
                at += size
        found.append(" ".join([f"DW_CFA_{name}", *words]))
    return found


def _register(number: int) -> str:
    return register_name(number) or hex(number)
