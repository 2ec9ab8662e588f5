# Generated from ksy/tables/notes.yaml (sha256 5cfae71695d39662) by tools.gen; do not edit.
"""Notes."""

OWNER: str = 'NVIDIA Corp'
"""Owner of NVIDIA's notes."""

TYPES: dict[tuple[str, int], str] = {
    ('.note.nv.tkinfo', 2000): 'NT_NV_TKINFO',
    ('.note.nv.cuinfo', 1000): 'NT_NV_CUINFO',
    ('.note.nv.cuver', 1000): 'NT_NV_CUVER',
}
"""Names of notes by section and type."""
