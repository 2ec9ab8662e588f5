"""Unified functions and data: one slot for what has one identifier, in every program.

A unified function or variable has a row in `.nv.uft.entry` or `.nv.udt.entry`: its symbol, flags,
its offset, and the 128-bit identifier by which all programs of a process mean the same thing. A
unified function has a stub, too (`.nv.uft.rel.F`), unified variables lie in `.nv.udt`; `-r` merges
these like code and data and joins the tables.

An executable has all stubs in one table (`.nv.uft`). The index file (`--uidx-file`) says where in
the two tables each identifier has its place; a copy of it is linked as `.nv.uidx`. Without unified
names it is only checked and copied. Its form is that of `ksy/uidx.ksy`, which follows public notes;
all of it was seen to hold by links of made files (cases unified_*).
"""

from __future__ import annotations

from cubinspec.errors import BadStructureError
from cubinspec_generated import records
from cubinspec_generated.codes import SHT_CUDA_UFT_ENTRY
from cubinspec_writer.linker.model import STUB_CODE, UFT, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

    from cubinspec_writer.linker.inputs.rows import InSection
    from cubinspec_writer.linker.inputs.uidx import Identifier
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import Job, Reach, Unified


#: Attributes of all stubs of an executable.
STUB_ATTRIBUTES: Final = ".nv.info." + UFT
STUB: Final = "__cuda_uf_stub_"


def is_stub(section: InSection) -> bool:
    """Whether a section holds the stub of a unified function, as SASS or Mercury code."""
    return section.name.startswith(STUB_CODE)


def linked_stubs(objects: list[InputObject]) -> list[Symbol]:
    """The stubs of unified functions."""
    return [
        symbol
        for obj in objects
        for row in obj.functions
        if (symbol := obj.bound[row.index]) is not None
        and row.shndx < len(obj.sections)
        and is_stub(obj.sections[row.shndx])
    ]


def entered_stubs(reach: Reach, unified: Unified) -> Iterable[Symbol]:
    """Stubs that count as kernels: other programs enter there, which with one kernel is not told.

    Rules M9, M28.
    """
    return unified.stubs if len(reach.kernels()) != 1 else ()


def later_stubs(job: Job, unified: Unified, obj: InputObject) -> set[Symbol]:
    """The stubs of an input that are not the first one of the table.

    The finalizer looks for the frame of code that begins where its section does.
    """
    if job.index is None or job.options.relocatable:
        return set()
    first = {identifier for identifier, at in job.index.functions.offsets if at == 0}
    names = {
        STUB + symbol.name
        for source in obj.of_type(SHT_CUDA_UFT_ENTRY)
        for symbol, _, identifier in identifier_rows(obj, source)
        if identifier in first
    }
    return {s for s in obj.called.values() if s in unified.stubs and s.name not in names}


def identifier_rows(
    obj: InputObject, source: InSection
) -> Iterator[tuple[Symbol, int, Identifier]]:
    """Symbol, flags and identifier of the rows of one input."""
    if len(source.data) % records.UFT_ENTRY.size:
        raise BadStructureError(
            f"{len(source.data)} bytes of rows",
            file=obj.name,
            field=source.name,
            expected=f"a multiple of {records.UFT_ENTRY.size}",
        )
    for index, flags, _, first, second in records.UFT_ENTRY.iter_unpack(source.data):
        symbol = obj.bound[index] if index < len(obj.bound) else None
        if symbol is None:
            raise BadStructureError(
                f"row names symbol {index} of {len(obj.symbols)}", file=obj.name, field=source.name
            )
        yield symbol, flags, (first, second)
