"""Writing cubins: describe a file, lay it out, serialise it.

``emit(describe(data)) == data`` for every cubin that the reader accepts; a :class:`Description`
holds what the file says and not how it is laid out, unless no rule is known (``reasons``).
"""

from __future__ import annotations

from cubinspec_writer.emit.describe import describe
from cubinspec_writer.emit.model import Description
from cubinspec_writer.emit.roundtrip import RoundtripResult, roundtrip
from cubinspec_writer.emit.serialise import emit, emit_parts

__all__ = ["Description", "RoundtripResult", "describe", "emit", "emit_parts", "roundtrip"]
