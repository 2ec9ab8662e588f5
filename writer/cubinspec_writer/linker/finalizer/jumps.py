"""Jump tables of functions that several inputs define.

A jump table is a list of compiler constants. Each has a relocation whose addend is an offset in
Mercury code, and the finalizer writes the matching offset in SASS (rule F3). When a function has
several copies, constants of copies that are not linked can still be in the output. The finalizer
looks their offsets up in the linked copy: an offset that is a jump target there, too, gets the
target's SASS offset, and every other one gets 0. Entries are written in file order, so those of a
replaced copy can overwrite those of the copy that replaced it (rule F4).
"""

from __future__ import annotations

from collections import defaultdict

from cubinspec_generated.codes import SHT_CUDA_CONSTANT_B2
from cubinspec_writer.linker.library.copies import code_owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.model import InputObject, OutSection, Symbol
    from cubinspec_writer.linker.state import Constants, Relocations

_CONSTANT2 = SHT_CUDA_CONSTANT_B2
_ENTRY = 4


def fill(
    objects: list[InputObject],
    constants: Constants,
    relocations: Relocations,
    twins: dict[OutSection, OutSection],
) -> None:
    """Write the jump tables of the SASS half that also hold entries of copies not linked.

    Args:
        objects, constants, relocations: of the linked Mercury half.
        twins: Mercury section -> section of the SASS half.
    """
    mixed = {
        bank
        for section in constants.mixed
        for bank, _ in constants.copies.get(section, [(section, 0)])
        if bank in twins
    }
    if not mixed:
        return
    places = _places(objects, constants, twins)
    for bank in mixed:
        rows = relocations.find(bank, is_rela=True)
        data = twins[bank].data
        for row in reversed(rows.relocs if rows is not None else ()):
            if row.offset + _ENTRY > len(data):
                continue
            place = places[row.symbol].get(row.addend, 0)
            data[row.offset : row.offset + _ENTRY] = place.to_bytes(_ENTRY, "little")


def _places(
    objects: list[InputObject], constants: Constants, twins: dict[OutSection, OutSection]
) -> dict[Symbol, dict[int, int]]:
    """Function -> offset in Mercury code -> offset in SASS, for all jumps of linked copies."""
    found: dict[Symbol, dict[int, int]] = defaultdict(dict)
    for obj in objects:
        owners = code_owners(obj)
        for relocs in obj.relocs:
            source = obj.sections[relocs.target]
            owner = owners.get(source.info)
            place = obj.placed[relocs.target]
            if source.sh_type != _CONSTANT2 or owner is None or place is None:
                continue
            section, base = place
            bank, shift = constants.copies.get(section, [(section, 0)])[0]
            if bank not in twins:
                continue
            content = twins[bank].content
            for offset, _, _, addend in relocs.rows:
                at = shift + base + offset
                value = int.from_bytes(content[at : at + _ENTRY], "little")
                found[owner][addend] = value
    return found
