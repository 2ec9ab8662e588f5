"""Writing cubins: describe a file, lay it out, serialise it.

``emit(describe(data)) == data`` for every cubin that the reader accepts; a :class:`Description`
holds what the file says and not how it is laid out, unless no rule is known (``reasons``).

    model       a description: plain objects (`bodies`, `notes`, `symbols`: contents of sections)
    draft       the same in columns, for what looks at all sections of a big file
                (`entries`: its history; `packed`, `runs`: contents as they were read)

    describe    bytes -> draft -> description. `source` and `contents` read the file (`decode`),
                `detect` says which writer made it (`producers`), `history` in which order; then
                what follows from the draft is compared with the file
    layout      draft -> plan: all numbers of the file (`kinds`, `strings`, `symtab`, `links`,
                `placement`, `headers`: the rules)
    serialise   plan -> bytes

A draft is internal. It becomes a description by ``Draft.to_description()``, a description becomes a
draft by ``Draft.of()``; neither changes because somebody looks at it.
"""

from __future__ import annotations

from cubinspec_writer.emitter.describe import describe
from cubinspec_writer.emitter.model import Description
from cubinspec_writer.emitter.roundtrip import RoundtripResult, roundtrip
from cubinspec_writer.emitter.serialise import emit, emit_parts

__all__ = ["Description", "RoundtripResult", "describe", "emit", "emit_parts", "roundtrip"]
