"""The four lists of ``.nv.callgraph``, each behind a pair ``<0, marker>``.

* ``MARKERS``: the second word of the pair that starts each list, in the order of the file
* ``SIGNATURE_MARKERS``: those of the lists whose second words are offsets of signatures
"""

from __future__ import annotations

from cubinspec_generated.codes import (
    CALLGRAPH_ADDRESS_TAKEN,
    CALLGRAPH_CALLS,
    CALLGRAPH_INDIRECT_CALLS,
    CALLGRAPH_REFERENCES,
)

MARKERS = (
    CALLGRAPH_CALLS,
    CALLGRAPH_ADDRESS_TAKEN,
    CALLGRAPH_INDIRECT_CALLS,
    CALLGRAPH_REFERENCES,
)
SIGNATURE_MARKERS = frozenset((CALLGRAPH_ADDRESS_TAKEN, CALLGRAPH_INDIRECT_CALLS))
