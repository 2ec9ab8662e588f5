"""Writing cubins: describe a file, lay it out, serialise it.

``emit(describe(data)) == data`` for every cubin that the reader accepts; a :class:`Description`
holds what the file says and not how it is laid out, unless no rule is known (``reasons``).

    decode      bytes of a section -> its body (`bodies`; `runs`: of many neighbours at once)
    history     string tables -> the order in which things were made
    describe    both for a whole file, and which writer it was; checks what comes next against it
    layout      all numbers of the file (`producers`, `kinds`, `strings`, `segments`: the rules)
    serialise   the bytes

``describe`` decodes every section, guesses how the file was made, lets ``layout`` compute the file
from that alone, and compares. All of this is done in columns (``draft``): the objects of ``model``
are made when somebody looks at a description. One that nobody looked at is written as it was laid
out then, its records encoded anew; any other is laid out when it is written.
"""

from __future__ import annotations

from cubinspec_writer.emitter.describe import describe
from cubinspec_writer.emitter.model import Description
from cubinspec_writer.emitter.roundtrip import RoundtripResult, roundtrip
from cubinspec_writer.emitter.serialise import emit, emit_parts

__all__ = ["Description", "RoundtripResult", "describe", "emit", "emit_parts", "roundtrip"]
