# Generated from ksy/tables/notes.yaml (sha256 4585f83fc0e5bb07) by tools.gen; do not edit.
"""Notes."""

OWNER: str = 'NVIDIA Corp'
"""Owner of NVIDIA's notes."""
