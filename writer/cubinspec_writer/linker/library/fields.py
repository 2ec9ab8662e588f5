"""The bit fields that relocations write, as the table of relocation types has them."""

from __future__ import annotations

from cubinspec_generated import columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import OutSection


class Action:
    """One bit field of a relocation type, as the table has it."""

    __slots__ = ("bit", "kind", "shift", "value", "width")

    def __init__(self, kind: str, bit: int, width: int, value: str, shift: int) -> None:
        self.kind: str = kind
        self.bit: int = bit
        self.width: int = width
        self.value: str = value
        self.shift: int = shift


#: The bit fields of types that were met; most links have few.
_met: dict[int, tuple[Action, ...]] = {}


def actions_of(r_type: int) -> tuple[Action, ...]:
    """The bit fields that relocations of a type write."""
    found = _met.get(r_type)
    if found is None:
        found = _met[r_type] = tuple(Action(*row) for row in columns.ACTIONS.get(r_type, ()))
    return found


def clear(target: OutSection, offset: int, r_type: int) -> None:
    """Clear the field of a relocation whose target was dropped."""
    for action in actions_of(r_type):
        write_field(target.data, offset, action, 0)


def field_value(action: Action, value: int) -> int:
    """What stands in the field for a value."""
    return value >> action.shift


def read_field(data: bytes | bytearray, offset: int, action: Action) -> int:
    first, bit = offset + action.bit // 8, action.bit % 8
    word = int.from_bytes(data[first : first + (bit + action.width + 7) // 8], "little")
    return (word >> bit) & ((1 << action.width) - 1)


def write_field(data: bytearray, offset: int, action: Action, value: int) -> None:
    first, bit = offset + action.bit // 8, action.bit % 8
    count = (bit + action.width + 7) // 8
    mask = ((1 << action.width) - 1) << bit
    word = int.from_bytes(data[first : first + count], "little") & ~mask
    word |= (value << bit) & mask
    data[first : first + count] = word.to_bytes(count, "little")
