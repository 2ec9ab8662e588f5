"""Rules about what a file says of itself: e_flags, notes, .nv.compat."""

from __future__ import annotations

from struct import calcsize

from cubinspec.errors import CubinError
from cubinspec.format.notes import note_rows
from cubinspec.format.targets import family_of, is_later, is_plausible
from cubinspec_generated.codes import (
    EF_CUDA_V2_CAPSULE,
    EF_CUDA_V2_CUINFO_SECTION_MASK,
    EF_CUDA_V2_CUINFO_SECTION_SHIFT,
    EI_NIDENT,
    NT_NV_CUINFO,
    NT_NV_CUVER,
    NT_NV_TKINFO,
    SHT_CUDA_CAPMERC,
    SHT_NOTE,
)
from cubinspec_generated.records import CUINFO, ELF_HEADER_32, ELF_HEADER_64, NOTE_HEADER
from cubinspec_writer.checker.rules.base import CENSUS, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from struct import Struct

    from cubinspec_writer.checker.rules.base import Found
    from cubinspec_writer.checker.view import View

_OWNER = b"NVIDIA Corp"
_NOTE_TYPES = {
    ".note.nv.tkinfo": NT_NV_TKINFO,
    ".note.nv.cuinfo": NT_NV_CUINFO,
    ".note.nv.cuver": NT_NV_CUVER,
}
#: Index of a note that is too large for e_flags, or not stated.
_NO_INDEX = EF_CUDA_V2_CUINFO_SECTION_MASK >> EF_CUDA_V2_CUINFO_SECTION_SHIFT


def _offset_in(record: Struct, field: int) -> int:
    """Offset of a field in a record, by the field's number."""
    byte_order = 1
    return calcsize(record.format[: byte_order + field])


#: Number of e_flags among the fields of the ELF header behind e_ident.
_E_FLAGS = 6
#: Where the virtual architecture stands in the section of a cuinfo or cuver note.
_VIRTUAL_SM_AT = NOTE_HEADER.size + len(_OWNER) + 1 + _offset_in(CUINFO, 1)
_VIRTUAL_SM_END = NOTE_HEADER.size + len(_OWNER) + 1 + _offset_in(CUINFO, 2)


@rule(
    "CUB021",
    "e_flags, the notes, .nv.compat and the capsules agree about the file.",
    "420 of 420 files of CUDA 13.0 and the census: bits 24-31 (ABI 8) are the index of the note, "
    "the virtual architecture is not above the real one, no .nv.compat before sm_90, a file with "
    "capsules says so in bit 1",
    "Set bits 24-31 of e_flags to the index of .note.nv.cuinfo (.note.nv.cuver), bit 1 where there "
    "are .nv.capmerc sections, and the virtual architecture to that of the PTX.",
)
def _flags(view: View) -> Iterator[Found]:
    header = view.header
    layout = ELF_HEADER_64 if header.is_64 else ELF_HEADER_32
    place = EI_NIDENT + _offset_in(layout, _E_FLAGS), "header.e_flags"
    virtual_sm = header.virtual_sm
    if virtual_sm is not None:  # ABI 7 has neither notes nor capsules
        if is_later(virtual_sm, view.sm):
            yield *place, f"compute_{virtual_sm} in sm_{view.sm}"
        return
    kind = header.kind or 0
    if not kind & EF_CUDA_V2_CAPSULE and view.of_type(SHT_CUDA_CAPMERC):
        yield *place, f"bits 0-7 are {kind}, but there are capsules"
    note = view.find(".note.nv.cuinfo") or view.find(".note.nv.cuver")
    stated = header.cuinfo_section
    if note and stated not in (note, _NO_INDEX):
        yield *place, f"bits 24-31 are {stated}, the note is section {note}"
    if not is_plausible(view.sm):
        yield *place, f"architecture sm_{view.sm}"
    if note:
        yield from _note_target(view, note)
    compat = view.find(".nv.compat")
    if compat and not family_of(view.sm).compat_section:
        yield *view.header_place(compat), f"in a file for sm_{view.sm}"


def _note_target(view: View, note: int) -> Iterator[Found]:
    """A virtual architecture in the note that is above the real one."""
    body = view.body(note)
    if len(body) >= _VIRTUAL_SM_END:
        virtual_sm = int.from_bytes(body[_VIRTUAL_SM_AT:_VIRTUAL_SM_END], "little")
        if is_later(virtual_sm, view.sm):
            where = view.sections[note].sh_offset + _VIRTUAL_SM_AT
            yield where, view.names[note], f"compute_{virtual_sm} in sm_{view.sm}"


@rule(
    "CUB022",
    "Notes are NVIDIA's, of the type that their section is for.",
    CENSUS,
    "Owner 'NVIDIA Corp', type 2000 in .note.nv.tkinfo, 1000 in .note.nv.cuinfo and cuver.",
)
def _notes(view: View) -> Iterator[Found]:
    for index in view.of_type(SHT_NOTE):
        wanted = _NOTE_TYPES.get(view.names[index])
        if wanted is None:
            continue
        start = view.sections[index].sh_offset
        try:
            notes = note_rows(view.body(index), start, view.file, "")
        except CubinError as error:
            yield error.offset, view.path(index), error.reason
            continue
        for offset, note_type, owner, _ in notes:
            if note_type != wanted or owner != _OWNER:
                message = f"type {note_type} of {owner.decode('latin-1')!r}"
                yield start + offset, view.path(index), message
