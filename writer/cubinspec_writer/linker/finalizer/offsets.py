"""Where the SASS of a Mercury instruction is: needed for what tells places of other copies.

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
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.finalizer import capsules
from cubinspec_writer.linker.finalizer.flow import UNIT, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import InputObject

_SYMBOLS = ".nv.merc.symtab"
_WORD, _OPCODE = 4, 0xFFF
#: Opcodes, with the kinds of their operands, of one and of two units of Mercury code.
_ONE_UNIT = (
    "202 207 208 209 20a 20b 213 216 219 21a 220 221 228 229 22a 230 232 238 23a 23e "
    "240 245 248 287 291 299 2a4 2bd 2bf 2ca 300 301 304 305 306 307 308 309 310 311 "
    "312 3c4 802 806 882 886 918 941 945 946 94d 95c 95d 9af c02 c20 c28 c36 c45 c82 "
    "d00 d09 d12 "
)
_TWO_UNITS = (
    "211 215 21f 223 225 227 22b 231 233 234 276 2a5 343 381 388 421 423 424 431 4a4 "
    "547 589 807 808 80b 80c 812 816 819 81a 81c 820 823 825 827 831 836 83b 887 88c "
    "892 896 899 902 942 944 947 949 958 981 984 988 c11 c23 c25 c2b e2b f89 "
)
_UNITS = {
    int(text, 16): units
    for units, texts in ((1, _ONE_UNIT), (2, _TWO_UNITS))
    for text in texts.split()
}
#: Sums: the long form adds a carry (a bit). Comparisons: it has a predicate (4 bits) that is not
#: true. Logic: it has a third register (8 bits) that is not zero. First bit, mask, short value.
_SUMS, _COMPARISONS, _LOGIC = (74, 1, 0), (87, 15, 7), (64, 0xFF, 0xFF)
_FORMS = {
    **dict.fromkeys((0x210, 0x290, 0x224, 0xC10, 0xC24, 0xE24), _SUMS),
    **dict.fromkeys((0x20C, 0x28C, 0xC0C), _COMPARISONS),
    **dict.fromkeys((0x212, 0x292, 0xC12), _LOGIC),
}
_LONG_FORMS = frozenset((0x810, 0x824, 0x890))


def sass_offsets(obj: InputObject, code: int) -> dict[int, int]:
    """Offset of every Mercury instruction of a function -> offset of its SASS; empty: not known.

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
        return {}
    words = words_of(obj.sections[code].data)
    found: dict[int, int] = {}
    units = 0
    try:
        items = capsules.items(capsule.data)
    except UnsupportedLinkError:
        return {}
    for item in items:
        if item.is_padding or item.number + item.count > len(words):
            break
        found[units * CAPSULE_UNIT] = item.number * UNIT
        length = _units(capsule.data, item, words[item.number])
        if not length:
            return {}
        units += length
    return found if units * CAPSULE_UNIT == _mercury_size(obj, capsule.index) else {}


def _units(capsule: bytes, item: capsules.Item, word: int) -> int:
    """The length of a Mercury instruction; 0: not known."""
    if item.start < item.end:
        return capsule[item.start] & CAPSULE_UNITS_MASK
    opcode = word & _OPCODE
    form = _FORMS.get(opcode)
    if form is not None:
        first, mask, short = form
        return 1 if word >> first & mask == short else 2
    return 2 if opcode in _LONG_FORMS else _UNITS.get(opcode, 0)


def _mercury_size(obj: InputObject, capsule: int) -> int:
    """The size of the Mercury symbol of a function."""
    table = next((section.data for section in obj.sections if section.name == _SYMBOLS), b"")
    record = records.SYMBOL_64
    for at in range(0, len(table) - record.size + 1, record.size):
        _, info, _, section, _, size = record.unpack_from(table, at)
        if section == capsule and info & ST_TYPE_MASK == STT_FUNC and size:
            return int(size)
    return 0
