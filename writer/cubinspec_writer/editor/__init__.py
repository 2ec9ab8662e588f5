"""Changing cubins: resources, names, notes; removing kernels and debug data.

Everything that a change does not name stays byte for byte as it was; offsets, numbers and sizes
that follow from it are computed again. What is not understood is refused by name.
"""

from __future__ import annotations

from cubinspec_writer.editor.notes import NoteChange
from cubinspec_writer.editor.resources import Resources
from cubinspec_writer.editor.session import Edit

__all__ = ["Edit", "NoteChange", "Resources"]
