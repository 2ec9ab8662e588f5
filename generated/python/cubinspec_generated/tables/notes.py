# Generated from ksy/tables/notes.yaml (sha256 4585f83fc0e5bb07) by tools.gen; do not edit.
"""Notes."""

OWNER: str = 'NVIDIA Corp'
"""Owner of NVIDIA's notes."""

TYPES: dict[tuple[str, int], str] = {
    ('.note.nv.tkinfo', 2000): 'NT_NV_TKINFO',
    ('.note.nv.cuinfo', 1000): 'NT_NV_CUINFO',
    ('.note.nv.cuver', 1000): 'NT_NV_CUVER',
}
"""Names of notes by section and type."""

LAYOUTS: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    '.note.nv.tkinfo': ('struct', '<IIIIII', ('note_version', 'object_file', 'tool_name', 'tool_version', 'tool_branch', 'arguments'), ('', '', '', '', '', ''), ()),
    '.note.nv.cuinfo': ('struct', '<HHHH', ('note_version', 'virtual_sm', 'toolkit_version', 'reserved'), ('', '', '', ''), ()),
    '.note.nv.cuver': ('struct', '<HHII', ('note_version', 'virtual_sm', 'unknown_1', 'unknown_2'), ('', '', '', ''), ()),
}
"""Start of the descriptor by section, in the form of the LAYOUTS of the eiattr table."""
