"""Removing sections from a file, with everything that only they need.

Together with a section go the relocation and attribute sections that describe it, the symbols that
it defines, the records of those symbols, and undefined symbols that nothing else uses. If a section
that stays refers to one that goes, the change is refused, and the error names both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec.format.sections import CALLGRAPH_TYPES, MERCURY_PREFIX, info_target
from cubinspec.values import listed
from cubinspec_generated.codes import SHT_NOTE, ST_BIND_SHIFT, ST_TYPE_MASK, STB_GLOBAL, STT_SECTION
from cubinspec_writer.editor import frame, functions
from cubinspec_writer.editor.references import SymbolTables, mercury_table, metadata_texts
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.model import Dropped, Section, Symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cubinspec_writer.emitter.bodies import MercurySymbol
    from cubinspec_writer.emitter.model import Description


def keep_kernels(description: Description, names: str | Iterable[str]) -> list[str]:
    """Remove all kernels but the named ones; device functions and data stay.

    Returns:
        the names of the removed kernels.

    Raises:
        CubinError: a name is no kernel of this file, or a kernel cannot be removed.
    """
    kept = set(listed(names))
    _find_kernels(description, kept)
    rest = [s.name for s in functions.kernels(description) if s.name not in kept]
    remove_kernels(description, rest)
    return rest


def remove_kernels(description: Description, names: str | Iterable[str]) -> None:
    """Remove kernels with their sections, relocations, call graph records and symbols.

    Raises:
        CubinError: a name is no kernel of this file; something else refers to one of them.
    """
    gone = _find_kernels(description, listed(names))
    if not gone:
        return
    code = {symbol.section for symbol in gone.values() if isinstance(symbol.section, Section)}
    for symbol in functions.kernels(description):
        if symbol.section in code and symbol.name not in gone:
            raise BadStructureError(
                f"its code stands in the same section as that of kernel {symbol.name!r}",
                field=next(name for name, s in gone.items() if s.section is symbol.section),
            )
    _refuse_debug(description)
    owned = [s for s in description.sections if s in code or functions.owner(s.name) in gone]
    remove_sections(description, owned, lambda name: functions.owner(name) in gone)


def _find_kernels(description: Description, names: Iterable[str]) -> dict[str, Symbol]:
    known: dict[str, list[Symbol]] = {}
    for symbol in functions.symbols(description):
        known.setdefault(symbol.name, []).append(symbol)
    found: dict[str, Symbol] = {}
    for name in names:
        symbol = functions.find_function(description, name, known.get(name, ()))
        if not functions.is_kernel(symbol):
            raise BadStructureError(f"{name!r} is a device function, not a kernel")
        found[name] = symbol
    return found


def _refuse_debug(description: Description) -> None:
    """Refuse a file with debug data: DWARF describes all functions together and cannot be cut."""
    for section in description.sections:
        name = section.name.removeprefix(MERCURY_PREFIX)
        if is_debug(name) and name != ".debug_frame":
            raise BadStructureError(
                "debug data of single kernels cannot be removed",
                field=section.name,
                expected="a file without it: strip --debug first",
            )


def is_debug(name: str) -> bool:
    """Whether a section of this name, without the prefix of Mercury twins, holds debug data."""
    if name == ".nv_debug.shared":  # memory for a debugger, not data
        return False
    return name.startswith((".debug_", ".nv_debug"))


def remove_sections(
    description: Description, sections: list[Section], drops_name: Callable[[str], bool]
) -> None:
    """Remove sections from a description, with everything that only they need.

    Args:
        drops_name: tells of a name in the string tables that names nothing whether it goes too.

    Raises:
        CubinError: a section that stays refers to one that would go.
    """
    tables = SymbolTables(description)
    gone = _closure(description, sections)
    stays = [s for s in description.sections if id(s) not in gone]
    dead = {
        id(entry)
        for entry in tables.entries
        if isinstance(entry, Symbol)
        and isinstance(entry.section, Section)
        and id(entry.section) in gone
    }
    _cut_frames(tables, stays, gone, dead)
    indices = {at for at, entry in enumerate(tables.entries) if at and _is_gone(entry, gone, dead)}
    unused = _unused(tables, description.sections, stays, indices)
    dead |= {id(tables.entries[at]) for at in unused}
    table = mercury_table(description)
    if table is not None:
        table.symbols = _mercury_left(tables, gone, unused)
    _forget_order(description, tables, gone, dead)
    texts = metadata_texts(description)
    description.history = [
        entry
        for entry in description.history
        if not (isinstance(entry, Section) and id(entry) in gone)
        and id(entry) not in dead
        and not (isinstance(entry, Dropped) and entry.name not in texts and drops_name(entry.name))
    ]
    description.symbols = [
        entry
        for entry in description.symbols
        if id(entry) not in dead and not (isinstance(entry, Dropped) and drops_name(entry.name))
    ]
    _check_section_references(stays, gone)
    tables.renumber(description)


def _is_gone(entry: Section | Symbol | None, gone: set[int], dead: set[int]) -> bool:
    return id(entry) in gone or id(entry) in dead


def _closure(description: Description, sections: list[Section]) -> set[int]:
    """The ids of ``sections`` and of all sections that describe one of them by ``sh_info``."""
    by_name = {section.name: section for section in reversed(description.sections)}
    gone = {id(section) for section in sections}
    has_grown = True
    while has_grown:
        has_grown = False
        for section in description.sections:
            if id(section) in gone:
                continue
            target = section.info
            if target is None:
                name = info_target(section.name, section.sh_type)
                target = None if name is None else by_name.get(name)
            # the note that names .nv.compat by sh_info does not describe it
            describes = section.sh_type != SHT_NOTE
            if isinstance(target, Section) and id(target) in gone and describes:
                gone.add(id(section))
                has_grown = True
    return gone


def _unused(
    tables: SymbolTables, before: list[Section], after: list[Section], gone: set[int]
) -> set[int]:
    """Numbers of the undefined symbols whose only users go.

    Args:
        before, after: the sections of the file.
        gone: numbers of the symbols that go.
    """
    used_before = tables.uses(before)
    used_after = tables.uses([s for s in after if isinstance(s.body, bodies.Relocations)])
    for section in after:
        body = section.body
        if isinstance(body, bodies.Pairs) and section.sh_type in CALLGRAPH_TYPES:
            for pair in body.rows:
                # the second word of a pair may be a signature
                symbols = {word for word in pair if isinstance(word, int)}
                if gone.isdisjoint(symbols):
                    used_after |= symbols
    return {
        at
        for at in used_before - used_after
        if 0 < at < len(tables.entries)
        and isinstance(entry := tables.entries[at], Symbol)
        and entry.section == 0
        and entry.name
        and entry.st_info >> ST_BIND_SHIFT == STB_GLOBAL
    }


def _mercury_left(tables: SymbolTables, gone: set[int], unused: set[int]) -> list[MercurySymbol]:
    """The entries of ``.nv.merc.symtab`` that stay."""
    left = []
    for at, symbol in enumerate(tables.mercury):
        if symbol is None or id(symbol.section) in gone:
            continue
        if at in unused and symbol.name == tables.name(at):
            continue
        left.append(symbol)
    return left


def _cut_frames(tables: SymbolTables, stays: list[Section], gone: set[int], dead: set[int]) -> None:
    """Remove the entries of functions that go from ``.debug_frame`` of both halves."""
    by_name = {section.name: section for section in stays}
    for prefix in ("", MERCURY_PREFIX):
        section = by_name.get(prefix + ".debug_frame")
        if section is None:
            continue
        relocations = [
            by_name[name]
            for kind in (".rel", ".rela")
            if (name := f"{prefix}{kind}.debug_frame") in by_name
        ]
        if prefix:
            indices = {
                at
                for at, twin in enumerate(tables.mercury)
                if twin is not None and id(twin.section) in gone
            }
            itself = _mercury_section_symbol(tables, section)
        else:
            entries = tables.entries
            indices = {at for at, entry in enumerate(entries) if at and _is_gone(entry, gone, dead)}
            itself = next((at for at, entry in enumerate(entries) if entry is section), None)
        frame.remove_functions(section, relocations, indices, itself)


def _mercury_section_symbol(tables: SymbolTables, section: Section) -> int | None:
    """Number of the section symbol of a Mercury section."""
    for at, twin in enumerate(tables.mercury):
        if twin is None or twin.section is not section:
            continue
        if twin.st_info & ST_TYPE_MASK == STT_SECTION:
            return at
    return None


def _check_section_references(stays: list[Section], gone: set[int]) -> None:
    """Refuse a change after which a section would refer to one that is not there."""
    for section in stays:
        for target in (section.link, section.info, section.shares):
            if isinstance(target, Section) and id(target) in gone:
                raise BadStructureError(
                    f"it refers to section {target.name}, which would go", field=section.name
                )


def _forget_order(
    description: Description, tables: SymbolTables, gone: set[int], dead: set[int]
) -> None:
    """Restrict pinned orders to the sections and symbols that are left."""
    pins = description.pins
    if pins.index_order is not None:
        creation = description.sections
        left = [at for at, section in enumerate(creation) if id(section) not in gone]
        place = {at: new for new, at in enumerate(left)}
        pins.index_order = [place[at] for at in pins.index_order if at in place]
    if pins.symbol_order is not None:
        # positions in the computed order, in table order: entries stand in table order here
        computed: list[Section | Symbol | None] = [None] * len(tables.entries)
        for at, entry in zip(pins.symbol_order, tables.entries, strict=True):
            computed[at] = entry
        left = [
            at for at, entry in enumerate(computed) if not at or not _is_gone(entry, gone, dead)
        ]
        place = {at: new for new, at in enumerate(left)}
        pins.symbol_order = [place[at] for at in pins.symbol_order if at in place]
