"""Writes the tables of identifiers of unified functions and data."""

from __future__ import annotations

from cubinspec_generated import records
from cubinspec_writer.linker.model import UFT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.state import Sections, Unified

READS = (
    "row.flags row.identifier row.offset row.symbol sections.unowned symbol.index symbol.value "
    "unified.rows unified.stubs"
)
WRITES = "content.identifiers section.info_value"
FREEZES = "content.identifiers"


def run(sections: Sections, unified: Unified) -> None:
    """Write the tables; symbols are numbered and have their place."""
    for section, rows in unified.rows.items():
        section.data += b"".join(
            records.UFT_ENTRY.pack(
                row.symbol.index,
                row.flags,
                row.symbol.value if row.offset is None else row.offset,
                *row.identifier,
            )
            for row in rows
        )
    table = sections.find(UFT)
    if table is not None and unified.stubs:
        table.info_value = next(iter(unified.stubs)).index
