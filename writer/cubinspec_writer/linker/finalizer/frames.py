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

from cubinspec_generated.codes import DWARF64_MARK, SHT_PROGBITS
from cubinspec_writer.linker.finalizer.kept import Kept
from cubinspec_writer.linker.model import FRAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cubinspec_writer.linker.model import InputObject, OutSection

_MERCURY = ".nv.merc"
_CIE_ID = (1 << 64) - 1
_ID, _START = 12, 20
_ADDRESS = 8
#: Length of an FDE without instructions: id, start, size, padding.
_LEN_BARE = 28


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


def shared_frame(obj: InputObject, index: int, *, is_first: bool) -> bytes:
    """The entry to write for one copy of a weak function of which several copies have one.

    Rule X6.

    Args:
        obj: the input with this copy.
        index: its symbol there.
        is_first: whether no other copy has an entry in front of this one.
    """
    number = _number(obj, index)
    if not is_first:
        return _bare(_frame(obj, _MERCURY + FRAMES, number))
    symbol = obj.bound[index]
    if symbol is None or symbol.definition is None:
        return b""
    linked, row = symbol.definition
    return _frame(linked, FRAMES, _number(linked, row.index))


def set_length(frames: OutSection, start: int, length: int) -> None:
    """Write the code length of an FDE.

    Args:
        start: offset of the FDE's start address.
    """
    frames.data[start + _ADDRESS : start + 2 * _ADDRESS] = length.to_bytes(_ADDRESS, "little")


def _number(obj: InputObject, index: int) -> int:
    """The number of a symbol's FDE in the table of an input; -1: it has none."""
    table = obj.find(SHT_PROGBITS, FRAMES)
    if table is None:
        return -1
    starts = [at + _START for at, _, is_cie in _entries(table.data) if not is_cie]
    for relocs in obj.relocs:
        if relocs.target == table.index:
            for offset, _, named, _ in relocs.rows:
                if named == index and offset in starts:
                    return starts.index(offset)
    return -1


def _frame(obj: InputObject, name: str, number: int) -> bytes:
    """The CIE and the FDE of a number; empty when there is none."""
    data = next((section.data for section in obj.sections if section.name == name), b"")
    cie = b""
    for at, end, is_cie in _entries(data):
        if is_cie:
            cie = data[at:end]
        elif number:
            number -= 1
        else:
            return cie + data[at:end]
    return b""


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
        if int.from_bytes(data[at : at + 4], "little") != DWARF64_MARK:
            end = len(data) + 1
        yield at, end, int.from_bytes(data[at + _ID : at + _START], "little") == _CIE_ID
        at = end
