"""Merging: debug tables of the SASS half lose the entries of functions that are not linked."""

from __future__ import annotations

from cubinspec_writer.linker.finalizer.frames import keep_frames, shared_frame
from cubinspec_writer.linker.finalizer.line_tables import keep_lines
from cubinspec_writer.linker.finalizer.registers import clear_places
from cubinspec_writer.linker.library.copies import accepted_here, defined_here
from cubinspec_writer.linker.library.unified import later_stubs
from cubinspec_writer.linker.model import FRAMES, OutSection, Symbol
from cubinspec_writer.linker.passes.merge.one_input import OneInput, is_dead, is_forgotten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.inputs.rows import InSection


def table_of_code(one: OneInput, source: InSection, section: OutSection) -> int:
    """Append the entries of linked functions only."""
    starts = {
        offset: index
        for relocs in one.obj.relocs
        if relocs.target == source.index
        for offset, _, index, _ in relocs.rows
    }

    def is_linked(offset: int) -> bool:
        index = starts.get(offset)
        if index is None:
            return True
        here = defined_here(one.obj, index) or (
            source.name == FRAMES and accepted_here(one.obj, index) and not is_forgotten(one, index)
        )
        return here and not is_dead(one, index)

    def other(offset: int) -> bytes:
        index = starts.get(offset)
        symbol = one.obj.bound[index] if index is not None else None
        if index is not None and (symbol in behind_alias or symbol in behind_first):
            return shared_frame(one.obj, index, is_first=False)
        if index is None or symbol is None or not symbol.replaced:
            return b""
        is_first = symbol not in one.debug.framed
        one.debug.framed.add(symbol)
        if is_first and defined_here(one.obj, index):
            return b""
        return shared_frame(one.obj, index, is_first=is_first)

    behind_alias = _behind_alias(one)
    behind_first = later_stubs(one.job, one.unified, one.obj)
    if source.name == FRAMES:
        kept = keep_frames(source.data, is_linked, other)
    else:
        kept = keep_lines(source.data, is_linked)
    if kept is None:
        return section.append(source.data, source.size, source.align)
    if source.size and not kept.data:
        one.debug.emptied.add(section)
    base = section.append(kept.data, len(kept.data), source.align)
    for place, cie in kept.pointers:
        section.data[base + place : base + place + 8] = (base + cie).to_bytes(8, "little")
    one.cut[source.index] = kept
    return base


def _behind_alias(one: OneInput) -> set[Symbol]:
    """Functions with an alias in front of them; the finalizer looks for that one's entry.

    Rule A4.
    """
    if not one.aliases:
        return set()
    order = {symbol: at for at, symbol in enumerate(one.symbols.globals)}
    pairs = [(alias, one.owner.get(row.shndx)) for alias, row in one.aliases]
    return {
        owner
        for alias, owner in pairs
        if owner in order and order.get(alias, len(order)) < order[owner]
    }


def register_table(one: OneInput, source: InSection) -> bytes:
    linked = {symbol.name for symbol in one.owner.values()}
    return clear_places(source.data, linked.__contains__)
