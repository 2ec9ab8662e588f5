# Generated from ksy/tables/notes.yaml (sha256 4585f83fc0e5bb07) by tools.gen; do not edit.
"""Notes."""

from cubinspec_generated.rows import (
    Layout,
    NoteType,
)

OWNER: str = 'NVIDIA Corp'
"""Owner of NVIDIA's notes."""

TYPES: dict[tuple[str, int], NoteType] = {
    ('.note.nv.tkinfo', 2000): NoteType('.note.nv.tkinfo', 2000, 'NT_NV_TKINFO', Layout('struct', '<IIIIII', ('note_version', 'object_file', 'tool_name', 'tool_version', 'tool_branch', 'arguments'), ('', '', '', '', '', ''), None)),
    ('.note.nv.cuinfo', 1000): NoteType('.note.nv.cuinfo', 1000, 'NT_NV_CUINFO', Layout('struct', '<HHHH', ('note_version', 'virtual_sm', 'toolkit_version', 'reserved'), ('', '', '', ''), None)),
    ('.note.nv.cuver', 1000): NoteType('.note.nv.cuver', 1000, 'NT_NV_CUVER', Layout('struct', '<HHII', ('note_version', 'virtual_sm', 'unknown_1', 'unknown_2'), ('', '', '', ''), None)),
}
"""The notes by section and type."""
