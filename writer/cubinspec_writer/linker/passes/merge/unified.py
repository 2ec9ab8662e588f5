"""Merges stubs of unified functions, and the tables of identifiers."""

from __future__ import annotations

from cubinspec_generated.codes import SHF_INFO_LINK, SHT_CUDA_INFO
from cubinspec_generated.codes_sass import SASS_STUB_BYTES
from cubinspec_writer.linker.library.unified import STUB, STUB_ATTRIBUTES, identifier_rows
from cubinspec_writer.linker.model import UFT, Symbol, UnifiedRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.inputs.rows import InSection
    from cubinspec_writer.linker.passes.merge.one_input import OneInput

#: Flags that a link adds to a row.
_LINKED: Final = 6


def merge_stub(one: OneInput, stub: Symbol, source: InSection, info: InSection | None) -> None:
    """Enter the stub of a unified function, and its attributes, into those of the table.

    Rule U2.
    """
    obj, section = one.obj, one.sections.find(UFT)
    if section is None:
        section = one.maker.create_section(
            UFT, source.sh_type, source.flags, source.align, entsize=SASS_STUB_BYTES
        )
    stub.section, stub.value = section, SASS_STUB_BYTES * len(one.unified.stubs)
    one.unified.stubs[stub] = obj, source
    obj.placed[source.index] = (section, stub.value)
    if info is None:
        return
    attributes = one.sections.find(STUB_ATTRIBUTES)
    if attributes is None:
        attributes = one.maker.create_section(
            STUB_ATTRIBUTES, SHT_CUDA_INFO, SHF_INFO_LINK, info.align, with_symbol=False
        )
        attributes.info_section, attributes.records = section, []
    attributes.records += obj.records(info.index)
    obj.placed[info.index] = (attributes, 0)


def merge_entries(one: OneInput, source: InSection) -> None:
    """Append one input's rows to the table of the same name.

    Rule U9.

    Raises:
        CubinError: a row names a symbol that the input does not have.
    """
    obj = one.obj
    section = one.sections.find(source.name) or one.maker.create_section(
        source.name, source.sh_type, source.flags, source.align, entsize=source.entsize
    )
    stubs = {s.name: s for s in obj.called.values() if s in one.unified.stubs}
    one.unified.rows.setdefault(section, []).extend(
        UnifiedRow(symbol, flags | _LINKED, identifier, stubs.get(STUB + symbol.name))
        for symbol, flags, identifier in identifier_rows(obj, source)
    )
