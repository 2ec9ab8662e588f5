"""The frame of a note: sizes, type, owner and descriptor, both padded to four bytes.

* ``note_rows(body, …)``: the notes of a section, taken apart; a damaged one is refused
* ``split_notes(data)``: the notes of a section as the linker takes them, each with its frame
* ``frame(kind, descriptor)``: a whole note
* ``tool_note(tool, version, arguments)``: a whole note about the tool that made a file
* ``toolkit_in(note)``, ``virtual_in(note)``: what a CUDA note says
"""

from __future__ import annotations

from cubinspec.errors import TruncatedError
from cubinspec.format.packing import align_up
from cubinspec_generated.codes import NT_NV_TKINFO
from cubinspec_generated.records import NOTE_HEADER, TKINFO_HEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    #: offset in the body, type, owner, descriptor
    NoteRow = tuple[int, int, bytes, bytes]

#: Owner of NVIDIA's notes, with its NUL.
OWNER = b"NVIDIA Corp\0"
#: Header, owner and descriptor are each aligned to this.
NOTE_ALIGN = 4
#: The CUDA note, and its name before CUDA 13.
CUINFO, CUVER = ".note.nv.cuinfo", ".note.nv.cuver"


def note_rows(body: bytes, base: int, file: str, field: str) -> list[NoteRow]:
    """The entries of a note section; name and descriptor are padded to four bytes.

    The last descriptor may lack its padding (two public cubins end so).

    Raises:
        TruncatedError: an entry runs over the end of the section.
    """
    rows: list[NoteRow] = []
    at, end = 0, len(body)
    while at < end:
        if at + NOTE_HEADER.size > end:
            raise TruncatedError(
                f"{end - at} bytes are left for a note header",
                file=file,
                offset=base + at,
                field=f"{field}.notes[{len(rows)}]",
                expected=f"{NOTE_HEADER.size} bytes",
            )
        len_owner, len_description, kind = NOTE_HEADER.unpack_from(body, at)
        name_at = at + NOTE_HEADER.size
        desc_at = name_at + align_up(len_owner, NOTE_ALIGN)
        if desc_at + len_description > end:
            raise TruncatedError(
                f"note of {len_owner} + {len_description} bytes runs over the end of the section",
                file=file,
                offset=base + at,
                field=f"{field}.notes[{len(rows)}]",
                expected=f"at most {end - name_at} bytes",
            )
        rows.append(
            (
                at,
                kind,
                body[name_at : name_at + len_owner].rstrip(b"\0"),
                body[desc_at : desc_at + len_description],
            )
        )
        at = desc_at + align_up(len_description, NOTE_ALIGN)
    return rows


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


def tool_note(tool: str, version: str, arguments: str) -> bytes:
    """A whole note about the tool that made a file."""
    pool, offsets = bytearray(), []
    for text in ("", tool, version, "", arguments):
        offsets.append(len(pool))
        pool += text.encode() + b"\0"
    pool += bytes(-len(pool) % NOTE_ALIGN)
    return frame(NT_NV_TKINFO, TKINFO_HEAD.pack(2, *offsets) + pool)


def toolkit_in(note: bytes) -> int:
    """The CUDA version in ``.note.nv.cuinfo``, major * 10 + minor; 0 when it has none."""
    return int.from_bytes(note[28:30], "little")


def virtual_in(note: bytes) -> int | None:
    """The virtual architecture in a CUDA note; ``None`` when it is too short."""
    return int.from_bytes(note[26:28], "little") if len(note) >= 32 else None
