"""Symbols that say of their code what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from cubinspec import Cubin
from cubinspec_generated import records
from cubinspec_generated.codes import ST_TYPE_MASK, STT_FUNC
from cubinspec_writer.linker import UnsupportedLinkError, link

SAMPLE = Path(__file__).parents[1] / "data" / "cubins" / "tcgen05_sm100a.sm_100a.rel.cubin"


def test_a_function_of_a_terabyte_is_refused() -> None:
    """Guided runs found it: as many zeros were made (MemoryError)."""
    data = bytearray(SAMPLE.read_bytes())
    layout = records.SYMBOL_64
    with Cubin.parse(bytes(data), "x") as cubin:
        tables = [s for s in cubin.sections if s.name in (".symtab", ".nv.merc.symtab")]
        places = [(s.sh_offset, s.sh_size) for s in tables]
    for start, size in places:
        for at in range(start, start + size, layout.size):
            row = list(layout.unpack_from(data, at))
            if row[1] & ST_TYPE_MASK == STT_FUNC and row[5]:
                row[5] = 1 << 40
                layout.pack_into(data, at, *row)
    with pytest.raises(UnsupportedLinkError, match="of Mercury code"):
        link([bytes(data)], "sm_100a")
