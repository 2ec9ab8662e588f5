"""The frame of a note: sizes, type, owner and descriptor, both padded to four bytes.

* ``frame(kind, descriptor)``: a whole note
* ``split_notes(data)``: the notes of a section, each with its frame
"""

from __future__ import annotations

from cubinspec.format.packing import align_up
from cubinspec_generated.records import NOTE_HEADER

#: Owner of NVIDIA's notes, with its NUL.
OWNER = b"NVIDIA Corp\0"
#: Header, owner and descriptor are each aligned to this.
NOTE_ALIGN = 4


def frame(kind: int, descriptor: bytes, owner: bytes = OWNER) -> bytes:
    """One note.

    Args:
        owner: with its NUL.
    """
    head = NOTE_HEADER.pack(len(owner), len(descriptor), kind)
    return b"".join(
        (
            head,
            owner.ljust(align_up(len(owner), NOTE_ALIGN), b"\0"),
            descriptor.ljust(align_up(len(descriptor), NOTE_ALIGN), b"\0"),
        )
    )


def split_notes(data: bytes) -> list[bytes]:
    """The single notes of a section, each with its frame; the last one may be cut off."""
    notes: list[bytes] = []
    at = 0
    while at + NOTE_HEADER.size <= len(data):
        len_owner, len_descriptor, _ = NOTE_HEADER.unpack_from(data, at)
        end = at + NOTE_HEADER.size
        end += align_up(len_owner, NOTE_ALIGN) + align_up(len_descriptor, NOTE_ALIGN)
        notes.append(data[at:end])
        at = end
    return notes
