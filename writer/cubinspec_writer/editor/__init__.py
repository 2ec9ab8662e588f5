"""Changing cubins: resources, names, notes; removing kernels and debug data.

Whatever a change does not name stays as it was, byte for byte; only offsets, indices and sizes that
follow from the change are computed anew. A file with parts that are not understood and would have
to change is refused, and the error names the part.
"""

from __future__ import annotations

from cubinspec_writer.editor.notes import NoteChange
from cubinspec_writer.editor.resources import Resources
from cubinspec_writer.editor.session import Edit

__all__ = ["Edit", "NoteChange", "Resources"]
