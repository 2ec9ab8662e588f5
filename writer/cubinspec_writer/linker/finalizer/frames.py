"""`.debug_frame` of the SASS half: entries of functions that are not linked are left out.

The table is a row of entries in the 64-bit DWARF form: 0xffffffff, length (8 bytes), then a CIE
(id all ones) or an FDE (offset of its CIE, start of its code, size). ptxas writes one CIE for every
FDE, in front of it; both go together.

The finalizer writes the entry of a function into the first place that names it. A copy of a weak
function that gave way may have left such a place; then the place of the linked copy keeps the CIE
of the Mercury table and the head of its FDE (`weak_parameters`).
"""

from __future__ import annotations

from cubinspec_writer.linker.finalizer.kept import Kept
from cubinspec_writer.linker.model import FRAMES, SHT_PROGBITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cubinspec_writer.linker.model import InputObject, OutSection

_MERCURY = ".nv.merc"
_ESCAPE = 0xFFFFFFFF
_CIE_ID = (1 << 64) - 1
_ID, _START = 12, 20
_ADDRESS = 8
#: An FDE without instructions: id, start, size, padding.
_BARE = 28


def keep_frames(
    data: bytes, is_linked: Callable[[int], bool], other: Callable[[int], bytes] | None = None
) -> Kept | None:
    """Drop the entries of functions that are not linked; None when the form is another one.

    Args:
        is_linked: told the offset of an FDE's start address.
        other: told the same, gives the CIE and the FDE that stand in its place, if any do.
    """
    kept = Kept()
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
    """What stands where a copy of a weak function has its entry, when another copy has one, too.

    Args:
        obj: the input with this copy.
        index: its symbol there.
        is_first: no other copy has an entry in front.
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
    """Write the length of the code of an FDE.

    Args:
        start: place of the FDE's start address.
    """
    frames.data[start + _ADDRESS : start + 2 * _ADDRESS] = length.to_bytes(_ADDRESS, "little")


def _number(obj: InputObject, index: int) -> int:
    """Which FDE of an input is that of a symbol; -1: none."""
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
    """The CIE and the FDE of the given number; empty when there is none."""
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
    """A CIE and an FDE without the instructions of the latter."""
    if not entry:
        return b""
    head = frame_length(entry)
    fde = entry[head : head + _ID + _BARE - 4] + bytes(4)
    return entry[:head] + fde[:4] + _BARE.to_bytes(8, "little") + fde[_ID:]


def frame_length(data: bytes) -> int:
    """Length of the first entry."""
    return _ID + int.from_bytes(data[4:_ID], "little")


def _entries(data: bytes) -> Iterator[tuple[int, int, bool]]:
    """Place, end and whether it is a CIE, of every entry.

    An entry of another form ends behind the table.
    """
    at = 0
    while at + _START <= len(data):
        end = at + _ID + int.from_bytes(data[at + 4 : at + _ID], "little")
        if int.from_bytes(data[at : at + 4], "little") != _ESCAPE:
            end = len(data) + 1
        yield at, end, int.from_bytes(data[at + _ID : at + _START], "little") == _CIE_ID
        at = end
