"""Taking sections out of a file, with everything that only they need.

From the removed sections follow the relocation and attribute sections that describe them, the
symbols defined in them, the records of those symbols, and undefined symbols that nothing else
uses. What stays must not refer to what goes: that is refused by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec.format.sections import info_target
from cubinspec_generated.codes import SHT_NOTE
from cubinspec_writer.editor import frame, functions
from cubinspec_writer.editor.references import SymbolTables, mercury_table
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.model import Dropped, Section, Symbol

if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec_writer.emitter.bodies import MercurySymbol
    from cubinspec_writer.emitter.model import Description

STB_GLOBAL = 1


def keep_kernels(description: Description, names: list[str]) -> list[str]:
    """Remove all kernels but the named ones; device functions and data stay.

    Returns:
        the names of the removed kernels.

    Raises:
        CubinError: a name is no kernel of this file, or a kernel cannot be removed.
    """
    for name in names:
        _find_kernel(description, name)
    rest = [s.name for s in functions.kernels(description) if s.name not in names]
    remove_kernels(description, rest)
    return rest


def remove_kernels(description: Description, names: list[str]) -> None:
    """Remove kernels with their sections, relocations, call graph records and symbols.

    Raises:
        CubinError: a name is no kernel of this file; something else refers to one of them.
    """
    gone = {name: _find_kernel(description, name) for name in names}
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


def _find_kernel(description: Description, name: str) -> Symbol:
    symbol = functions.find_function(description, name)
    if not functions.is_kernel(symbol):
        raise BadStructureError(f"{name!r} is a device function, not a kernel")
    return symbol


def _refuse_debug(description: Description) -> None:
    """DWARF describes all functions of a file together; it cannot be cut."""
    for section in description.sections:
        plain = section.name.removeprefix(".nv.merc")
        if is_debug(plain) and plain != ".debug_frame":
            raise BadStructureError(
                "debug data of single kernels cannot be removed",
                field=section.name,
                expected="a file without it: strip --debug first",
            )


def is_debug(name: str) -> bool:
    """Whether a section of this (plain) name holds debug data."""
    if name == ".nv_debug.shared":  # memory for a debugger, not data
        return False
    return name.startswith((".debug_", ".nv_debug"))


def remove_sections(
    description: Description, sections: list[Section], drops_name: Callable[[str], bool]
) -> None:
    """Take sections out of a description, with everything that only they need.

    Args:
        drops_name: which names of the string tables that name nothing go too.

    Raises:
        CubinError: what stays refers to what would go.
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
    description.history = [
        entry
        for entry in description.history
        if not (isinstance(entry, Section) and id(entry) in gone)
        and id(entry) not in dead
        and not (isinstance(entry, Dropped) and drops_name(entry.name))
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
    """The ids of ``sections`` and of everything that describes one of them by ``sh_info``."""
    by_name = {section.name: section for section in reversed(description.sections)}
    gone = {id(section) for section in sections}
    found = True
    while found:
        found = False
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
                found = True
    return gone


def _unused(
    tables: SymbolTables, before: list[Section], after: list[Section], gone: set[int]
) -> set[int]:
    """Undefined symbols whose only users go."""
    used_before, used_after = tables.uses(before), set()
    for section in after:
        body = section.body
        if isinstance(body, bodies.Pairs) and section.sh_type in bodies.CALLGRAPH_TYPES:
            for a, b in body.rows:
                if a not in gone and isinstance(b, int) and b not in gone:
                    used_after |= {a, b}
                elif a not in gone and not isinstance(b, int):
                    used_after.add(a)
    used_after |= tables.uses([s for s in after if isinstance(s.body, bodies.Relocations)])
    return {
        at
        for at in used_before - used_after
        if 0 < at < len(tables.entries)
        and isinstance(entry := tables.entries[at], Symbol)
        and entry.section == 0
        and entry.name
        and entry.st_info >> 4 == STB_GLOBAL
    }


def _mercury_left(tables: SymbolTables, gone: set[int], unused: set[int]) -> list[MercurySymbol]:
    left = []
    for at, symbol in enumerate(tables.mercury):
        if symbol is None or id(symbol.section) in gone:
            continue
        if at in unused and symbol.name == tables.name(at):
            continue
        left.append(symbol)
    return left


def _cut_frames(tables: SymbolTables, stays: list[Section], gone: set[int], dead: set[int]) -> None:
    by_name = {section.name: section for section in stays}
    for prefix, relocation_prefix, mercury in (
        ("", ".", False),
        (".nv.merc", ".nv.merc.", True),
    ):
        section = by_name.get(prefix + ".debug_frame")
        if section is None:
            continue
        relocations = [
            by_name[name]
            for kind in ("rel", "rela")
            if (name := f"{relocation_prefix}{kind}.debug_frame") in by_name
        ]
        indices: set[int] = set()
        itself = None
        if mercury:
            for at, twin in enumerate(tables.mercury):
                if twin is not None and id(twin.section) in gone:
                    indices.add(at)
                if twin is not None and twin.section is section and twin.st_info & 0xF == 3:
                    itself = at
        else:
            for at, entry in enumerate(tables.entries):
                if at and _is_gone(entry, gone, dead):
                    indices.add(at)
                if entry is section:
                    itself = at
        frame.remove_functions(section, relocations, indices, itself)


def _check_section_references(stays: list[Section], gone: set[int]) -> None:
    for section in stays:
        for target in (section.link, section.info, section.shares):
            if isinstance(target, Section) and id(target) in gone:
                raise BadStructureError(
                    f"it refers to section {target.name}, which would go", field=section.name
                )


def _forget_order(
    description: Description, tables: SymbolTables, gone: set[int], dead: set[int]
) -> None:
    """Carry orders that no rule gives over to what is left."""
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
