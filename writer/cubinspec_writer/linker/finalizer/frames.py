"""`.debug_frame` of the SASS half: entries of functions that are not linked are removed.

The table is a sequence of entries in 64-bit DWARF: the escape 0xffffffff, a length of 8 bytes, then
a CIE (its id has all bits set) or an FDE (offset of its CIE, start of its code, size). ptxas writes
one CIE in front of every FDE, and both are removed together.

The finalizer writes the entry of a function where the table first names that function. When a weak
function has several copies, a replaced copy can come first. Then the entry is written there, and in
the place of the linked copy stay the CIE of the Mercury table and the head of its FDE
(rule D7).
"""

from __future__ import annotations

from bisect import bisect_right

from cubinspec_generated.codes import SHT_PROGBITS
from cubinspec_generated.codes_dwarf import (
    DW_CFA_ADVANCE_LOC,
    DW_CFA_ADVANCE_LOC1,
    DW_CFA_ADVANCE_LOC2,
    DW_CFA_ADVANCE_LOC4,
    DW_CFA_DEF_CFA,
    DW_CFA_DEF_CFA_OFFSET,
    DW_CFA_DEF_CFA_REGISTER,
    DW_CFA_EXPRESSION,
    DW_CFA_HIGH_MASK,
    DW_CFA_NOP,
    DW_CFA_OFFSET,
    DW_CFA_OFFSET_EXTENDED,
    DW_CFA_OFFSET_EXTENDED_SF,
    DW_CFA_REGISTER,
    DW_CFA_REMEMBER_STATE,
    DW_CFA_RESTORE_EXTENDED,
    DW_CFA_RESTORE_STATE,
    DW_CFA_SAME_VALUE,
    DW_CFA_UNDEFINED,
    DW_CFA_VAL_EXPRESSION,
    DWARF64_MARK,
)
from cubinspec_writer.linker.finalizer.kept import Kept
from cubinspec_writer.linker.finalizer.moved import UnknownCodeError
from cubinspec_writer.linker.finalizer.offsets import sass_offsets_and_end
from cubinspec_writer.linker.model import FRAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cubinspec_writer.linker.finalizer.moved import MovedPart
    from cubinspec_writer.linker.model import InputObject, OutSection

_MERCURY = ".nv.merc"
_CIE_ID = (1 << 64) - 1
_ID, _START = 12, 20
_ADDRESS = 8
#: A byte of a LEB128 number that is not its last has this bit.
_LEB_MORE = 0x80
#: Places in Mercury code can also go back: steps are unsigned numbers that wrap around.
_PLACE_MASK = (1 << 32) - 1
#: Length of an FDE without instructions: id, start, size, padding.
_LEN_BARE = 28
#: Offset of the instructions of an FDE, and of the factor of steps in the code in a CIE.
_INSTRUCTIONS, _FACTOR = _START + 2 * _ADDRESS, 22
#: Sizes of the operand of steps in the code.
_STEPS = {DW_CFA_ADVANCE_LOC1: 1, DW_CFA_ADVANCE_LOC2: 2, DW_CFA_ADVANCE_LOC4: 4}
#: Numbers of LEB128 operands.
_OPERANDS = {
    DW_CFA_NOP: 0,
    DW_CFA_OFFSET_EXTENDED: 2,
    DW_CFA_RESTORE_EXTENDED: 1,
    DW_CFA_UNDEFINED: 1,
    DW_CFA_SAME_VALUE: 1,
    DW_CFA_REGISTER: 2,
    DW_CFA_REMEMBER_STATE: 0,
    DW_CFA_RESTORE_STATE: 0,
    DW_CFA_DEF_CFA: 2,
    DW_CFA_DEF_CFA_REGISTER: 1,
    DW_CFA_DEF_CFA_OFFSET: 1,
    DW_CFA_OFFSET_EXTENDED_SF: 2,
    DW_CFA_EXPRESSION: 1,
    DW_CFA_VAL_EXPRESSION: 1,
}
#: Operations that end with a block of operations on a stack.
_WITH_BLOCK = frozenset((DW_CFA_EXPRESSION, DW_CFA_VAL_EXPRESSION))


def keep_frames(
    data: bytes, is_linked: Callable[[int], bool], other: Callable[[int], bytes] | None = None
) -> Kept | None:
    """Remove the entries of functions that are not linked; None for a table of another form.

    Rule D6.

    Args:
        is_linked: whether to keep an FDE, by the offset of its start address.
        other: gives, by the same offset, the CIE and the FDE to put in its place, or nothing.
    """
    kept = Kept()
    #: The last CIE of the old table, and where it was copied to.
    cie: tuple[int, int] | None = None
    cie_at: int | None = None
    for at, end, is_cie in _entries(data):
        if end > len(data):
            return None
        if is_cie:
            cie, cie_at = (at, end), None
        elif is_linked(at + _START):
            put = other(at + _START) if other is not None else b""
            if put:
                cie_at = len(kept.data)
                head = frame_length(put)
                kept.put(at, at, put[:head])
                new = kept.put(at, end, put[head:])
            else:
                if cie is not None and cie_at is None:
                    cie_at = kept.copy(data, *cie)
                new = kept.copy(data, at, end)
            if cie_at is not None:
                kept.pointers.append((new + _ID, cie_at))
    return kept


def shared_frame(obj: InputObject, index: int, place: int, *, is_first: bool) -> bytes:
    """The entry to write for one copy of a weak function of which several copies have one.

    Rule D7. What `-r` made has an entry for every copy, too.

    Args:
        obj: the input with this copy.
        index: its symbol there.
        place: where the entry names it.
        is_first: whether no other copy has an entry in front of this one.
    """
    entries = _frames(obj, index, is_mercury=True)
    number = _places(obj, index).index(place)
    own = entries[number] if number < len(entries) else b""
    if not is_first:
        return _bare(own)
    symbol = obj.bound[index]
    if symbol is None or symbol.definition is None:
        return b""
    linked, row = symbol.definition
    entry = next(iter(_frames(linked, row.index, is_mercury=False)), b"")
    if not entry or not own:
        return entry
    others = [own, *(other for other in entries if other is not own)]
    for copy, replaced in symbol.replaced:
        if copy is not obj:
            others += _frames(copy, replaced.index, is_mercury=True)
    return _joined(entry, others, sass_offsets_and_end(linked, row.shndx))


def is_long_form(data: bytes) -> bool:
    """Whether all entries of a table begin as those of 64-bit DWARF do."""
    at = 0
    while at + 4 <= len(data):
        if not _is_marked(data, at):
            return False
        at += frame_length(data[at:])
    return True


def _is_marked(data: bytes, at: int) -> bool:
    return int.from_bytes(data[at : at + 4], "little") == DWARF64_MARK


def linked_places(data: bytes) -> list[int]:
    """Places of relocations: offset of the CIE, start and size of the code in every FDE."""
    return [
        at + field
        for at, end, is_cie in _entries(data)
        if not is_cie and end <= len(data)
        for field in (_ID, _START, _START + _ADDRESS)
    ]


def forget_heads(frames: OutSection, relocs: OutSection) -> None:
    """Move the relocations of CIEs to the start of the table (rule D8)."""
    entries = list(_entries(bytes(frames.content)))
    starts = [at for at, _, _ in entries]

    def is_in_head(offset: int) -> bool:
        at, end, is_cie = entries[max(bisect_right(starts, offset) - 1, 0)]
        return is_cie and at <= offset < end

    if entries:
        relocs.relocs = [r.at(0) if is_in_head(r.offset) else r for r in relocs.relocs]


def set_length(frames: OutSection, start: int, length: int) -> None:
    """Write the code length of an FDE.

    Args:
        start: offset of the FDE's start address.
    """
    frames.data[start + _ADDRESS : start + 2 * _ADDRESS] = length.to_bytes(_ADDRESS, "little")


def move_frames(data: bytes, moved: Callable[[int], MovedPart | None]) -> bytes:
    """The table with the new places of functions whose code moved.

    Rule F12.

    Args:
        moved: where the places of a function went, by the offset of its start address.

    Raises:
        UnknownCodeError: the table has another form.
    """
    table = bytearray(data)
    factor = 0
    for at, end, is_cie in _entries(data):
        if end > len(data) or (is_cie and data[at + _FACTOR] >= _LEB_MORE):
            raise UnknownCodeError("a table of frames of another form")
        if is_cie:
            factor = data[at + _FACTOR]
            continue
        new = moved(at + _START)
        if new is not None:
            place = at + _START + _ADDRESS
            length = int.from_bytes(data[place : place + _ADDRESS], "little")
            table[place : place + _ADDRESS] = new.start(length).to_bytes(_ADDRESS, "little")
            if any(table[at + _START : place]):  # that of a part of a function stands there, too
                table[at + _START : place] = new.base.to_bytes(_ADDRESS, "little")
            _move_steps(table, at + _INSTRUCTIONS, end, factor, new)
    return bytes(table)


def _joined(entry: bytes, others: list[bytes], offsets: dict[int, int]) -> bytes:
    """A CIE with its FDE, in which FDEs of other copies add places that are in this code, too.

    Args:
        others: CIE and FDE of each of them, with places in Mercury code.
        offsets: offset of a Mercury instruction of this copy -> offset of its SASS.
    """
    head = frame_length(entry)
    factor = entry[_FACTOR]
    try:
        rows = dict(_rows(entry[head + _INSTRUCTIONS :], factor))
        added = [_rows(o[frame_length(o) + _INSTRUCTIONS :], o[_FACTOR]) for o in others]
    except UnknownCodeError:
        return entry
    for more in added:
        for number, (place, operations) in enumerate(more):
            new = offsets.get(place)
            # A step that nothing follows counts only at the end.
            if new is not None and new not in rows and (operations or number == len(more) - 1):
                rows[new] = operations
    body = bytearray()
    at = 0
    for place in sorted(rows):
        if place > at:
            step = (place - at) // factor
            body += bytes((DW_CFA_ADVANCE_LOC4,)) + step.to_bytes(4, "little")
        body += rows[place]
        at = place
    fde = entry[head : head + _INSTRUCTIONS] + body
    fde += bytes(-len(fde) % _ADDRESS)
    other = others[0]
    cie = other[:_FACTOR] + entry[_FACTOR : _FACTOR + 1]
    cie += other[_FACTOR + 1 : frame_length(other)]
    return cie + fde[:4] + (len(fde) - _ID).to_bytes(8, "little") + fde[_ID:]


def _rows(data: bytes, factor: int) -> list[tuple[int, bytes]]:
    """(place, operations) of every step of an FDE.

    Raises:
        UnknownCodeError: an operation is not known.
    """
    rows: list[tuple[int, bytes]] = []
    place = at = first = 0
    while at < len(data) and data[at] != DW_CFA_NOP:
        size = _STEPS.get(data[at], 0)
        if size:
            if first < at or place:
                rows.append((place, data[first:at]))
            step = int.from_bytes(data[at + 1 : at + 1 + size], "little")
            place = place + step * factor & _PLACE_MASK
            at += 1 + size
            first = at
        else:
            at = _behind(data, at)
    rows.append((place, data[first:at]))
    return rows


def _behind(data: bytes | bytearray, at: int) -> int:
    """The end of an operation that does not advance the place.

    Raises:
        UnknownCodeError: it is not known, or a short step.
    """
    code = data[at]
    if code & DW_CFA_HIGH_MASK == DW_CFA_ADVANCE_LOC:
        raise UnknownCodeError("a short step in a table of frames")
    if code & DW_CFA_HIGH_MASK:
        operands = int(code & DW_CFA_HIGH_MASK == DW_CFA_OFFSET)
    elif code in _OPERANDS:
        operands = _OPERANDS[code]
    else:
        raise UnknownCodeError(f"operation {code:#x} in a table of frames")
    at += 1
    for _ in range(operands):
        while at < len(data) and data[at] >= _LEB_MORE:
            at += 1
        at += 1
    if code in _WITH_BLOCK:
        if at >= len(data) or data[at] >= _LEB_MORE:
            raise UnknownCodeError("a long expression in a table of frames")
        at += 1 + data[at]
    return at


def _move_steps(table: bytearray, at: int, end: int, factor: int, moved: MovedPart) -> None:
    """Write the new steps of one FDE."""
    old = new = 0
    while at < end:
        size = _STEPS.get(table[at], 0)
        if not size:
            at = _behind(table, at)
            continue
        at += 1
        old += int.from_bytes(table[at : at + size], "little") * factor
        step = moved.start(old) - new
        new += step
        if step % factor or step // factor >= 1 << 8 * size:
            raise UnknownCodeError("a step in a table of frames that has no room")
        table[at : at + size] = (step // factor).to_bytes(size, "little")
        at += size


def _places(obj: InputObject, index: int) -> list[int]:
    """Where the table of an input names a function, in order."""
    table = obj.find(SHT_PROGBITS, FRAMES)
    if table is None:
        return []
    starts = {at + _START for at, _, is_cie in _entries(table.data) if not is_cie}
    return sorted(
        offset
        for relocs in obj.relocs
        if relocs.target == table.index
        for offset, _, named, _ in relocs.rows
        if named == index and offset in starts
    )


def _frames(obj: InputObject, index: int, *, is_mercury: bool) -> list[bytes]:
    """The CIE and the FDE of every entry of a function, in the table of either half."""
    name = _MERCURY + FRAMES if is_mercury else FRAMES
    data = next((section.data for section in obj.sections if section.name == name), b"")
    if is_mercury:
        named = {at for at, of in obj.mercury_debug.get(FRAMES, {}).items() if of == index}
    else:
        named = set(_places(obj, index))
    found = []
    cie = b""
    for at, end, is_cie in _entries(data):
        if is_cie:
            cie = data[at:end]
        elif at + _START in named:
            found.append(cie + data[at:end])
    return found


def _bare(entry: bytes) -> bytes:
    """A CIE with its FDE, from which the instructions are removed."""
    if not entry:
        return b""
    head = frame_length(entry)
    fde = entry[head : head + _ID + _LEN_BARE - 4] + bytes(4)
    return entry[:head] + fde[:4] + _LEN_BARE.to_bytes(8, "little") + fde[_ID:]


def frame_length(data: bytes) -> int:
    """Length of the first entry."""
    return _ID + int.from_bytes(data[4:_ID], "little")


def _entries(data: bytes) -> Iterator[tuple[int, int, bool]]:
    """(first byte, end, whether it is a CIE) of every entry.

    An entry that is not 64-bit DWARF has an end beyond the table.
    """
    at = 0
    while at + _START <= len(data):
        end = at + _ID + int.from_bytes(data[at + 4 : at + _ID], "little")
        if not _is_marked(data, at):
            end = len(data) + 1
        yield at, end, int.from_bytes(data[at + _ID : at + _START], "little") == _CIE_ID
        at = end
