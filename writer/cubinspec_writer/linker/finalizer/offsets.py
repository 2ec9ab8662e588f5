"""Finds the SASS of Mercury instructions, for debug data of copies that are not linked.

Debug data of a copy that is not linked has places in that copy's Mercury code. The finalizer looks
them up in the linked copy. A capsule tells the lengths of Mercury instructions that have records;
those of the others follow from the SASS instruction, as far as is known (rule F14): lines of code
that ptxas compiled with line tables for both halves gave the lengths of 105 opcodes, and sizes of
functions the rest. The lengths of a function must add up to the size of its Mercury symbol;
otherwise nothing is known of it.
"""

from __future__ import annotations

from cubinspec.format.sections import CAPSULE_PREFIX
from cubinspec_generated import records
from cubinspec_generated.codes import CAPSULE_UNIT, CAPSULE_UNITS_MASK, ST_TYPE_MASK, STT_FUNC
from cubinspec_generated.codes_sass import SASS_BYTES, SASS_OPERATION_MASK
from cubinspec_generated.tables.sass import MERCURY_LENGTHS, MERCURY_UNITS
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.finalizer import capsules
from cubinspec_writer.linker.finalizer.flow import words_of
from cubinspec_writer.linker.inputs.mercury import is_unmarked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import InputObject

_SYMBOLS = ".nv.merc.symtab"
_WORD = 4


class MercuryCode:
    """The Mercury code of a function, as far as its instructions can be told apart.

    Attributes:
        capsule: in today's form.
        words: the SASS instructions.
        items: offset of a Mercury instruction -> what it becomes; empty: not known.
        size: of the Mercury code.
    """

    __slots__ = ("capsule", "items", "size", "words")

    def __init__(self, capsule: bytes, words: list[int], size: int) -> None:
        self.capsule = capsule
        self.words = words
        self.items: dict[int, capsules.Item] = {}
        self.size = size


def mercury_code(obj: InputObject, code: int) -> MercuryCode | None:
    """The Mercury code of a function; None: it has none.

    Args:
        obj: the SASS half of an input, which also has the Mercury sections as they were read.
        code: number of the code section.
    """
    capsule = next(
        (
            section
            for section in obj.sections
            if section.name.startswith(CAPSULE_PREFIX)
            and int.from_bytes(section.data[:_WORD], "little") == code
        ),
        None,
    )
    if capsule is None:
        return None
    words = words_of(obj.sections[code].data)
    data = _marked(capsule.data, obj.sections[code].data)
    made = MercuryCode(data, words, _mercury_size(obj, capsule.index))
    found: dict[int, capsules.Item] = {}
    units = 0
    try:
        items = capsules.items(data)
    except UnsupportedLinkError:
        return made
    for item in items[:-1]:
        if item.is_padding:
            continue  # NOPs that let time pass come from no Mercury instruction
        if item.number + max(1, item.count) > len(words):
            break
        found[units * CAPSULE_UNIT] = item
        length = _units(data, item, words[item.number])
        if not length:
            return made
        units += length
    if units * CAPSULE_UNIT == made.size:
        made.items = found
    return made


def sass_offsets(obj: InputObject, code: int) -> dict[int, int]:
    """Offset of every Mercury instruction of a function -> offset of its SASS; empty: not known.

    Args:
        obj, code: as for `mercury_code`.
    """
    made = mercury_code(obj, code)
    return _starts(made) if made is not None else {}


def sass_offsets_and_end(obj: InputObject, code: int) -> dict[int, int]:
    """The same, and the end of the Mercury code with the place behind the last SASS instruction."""
    made = mercury_code(obj, code)
    if made is None or not made.items:
        return {}
    last = made.items[max(made.items)]
    return {**_starts(made), made.size: (last.number + last.count) * SASS_BYTES}


def _starts(code: MercuryCode) -> dict[int, int]:
    return {start: item.number * SASS_BYTES for start, item in code.items.items()}


def _marked(capsule: bytes, code: bytes) -> bytes:
    """A capsule in today's form, as the other half of the input has it (rule O7)."""
    if not is_unmarked(capsule):
        return capsule
    from cubinspec_writer.linker.inputs.old_capsules import renewed

    return renewed(capsule, code)


def _units(capsule: bytes, item: capsules.Item, word: int) -> int:
    """The length of a Mercury instruction; 0: not known."""
    if item.start < item.end:
        return capsule[item.start] & CAPSULE_UNITS_MASK
    operation = word & SASS_OPERATION_MASK
    length = MERCURY_LENGTHS.get(operation)
    if length is not None:
        return length.units if word & length.mask == length.values else length.other
    return MERCURY_UNITS.get(operation, 0)


def _mercury_size(obj: InputObject, capsule: int) -> int:
    """The size of the Mercury code of a function, with those that lie behind it (rule A5)."""
    table = next((section.data for section in obj.sections if section.name == _SYMBOLS), b"")
    record = records.SYMBOL_64
    end = 0
    for at in range(0, len(table) - record.size + 1, record.size):
        _, info, _, section, value, size = record.unpack_from(table, at)
        if section == capsule and info & ST_TYPE_MASK == STT_FUNC:
            end = max(end, value + size)
    return end
