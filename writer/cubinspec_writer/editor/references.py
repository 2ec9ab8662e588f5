"""Symbol numbers, and how they are corrected when symbols move or are removed.

A description refers to sections by object but to symbols by number: in relocations, attributes,
call graph, prototypes, jump slots and in ``sh_info``. :class:`SymbolTables` remembers which symbol
had each number; after a change :meth:`SymbolTables.renumber` rewrites all numbers. A file with
Mercury capsules has two halves, each with a symbol table of its own.
"""

from __future__ import annotations

from struct import calcsize, unpack_from
from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec.format.sections import (
    CALLGRAPH_TYPES,
    INFO_TYPES,
    PROTOTYPE_TYPES,
    RELOCATION_TYPES,
    UNIFIED_ENTRY_TYPES,
)
from cubinspec_generated.codes import (
    EIFMT_SVAL,
    SHF_CUDA_MERCURY,
    SHI_SYMBOL_MASK,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_METADATA,
    SHT_CUDA_UFT,
    SHT_CUDA_UIDX,
    SHT_SYMTAB,
)
from cubinspec_generated.tables import eiattr
from cubinspec_writer.emitter import bodies, layout
from cubinspec_writer.emitter.model import Section, Symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec_generated.rows import Attribute
    from cubinspec_writer.emitter.bodies import AttributeRecord, MercurySymbol
    from cubinspec_writer.emitter.model import Description

    #: old number -> new number, ``None`` when the symbol was removed
    Mapping = list[int | None]

#: Types of sections whose records hold symbol numbers; undecoded bytes could not be renumbered.
_RECORD_TYPES = (
    INFO_TYPES - {SHT_CUDA_COMPAT_INFO}
    | RELOCATION_TYPES
    | CALLGRAPH_TYPES
    | PROTOTYPE_TYPES
    | UNIFIED_ENTRY_TYPES
    | {SHT_CUDA_MERC_SYMTAB, SHT_CUDA_METADATA, SHT_SYMTAB}
)
#: Types of sections whose symbol numbers, if there are any, cannot be found.
_OPAQUE_TYPES = frozenset((SHT_CUDA_UIDX,))
#: Bytes of a symbol number.
_WORD = 4


class SymbolTables:
    """The entries of ``.symtab`` and ``.nv.merc.symtab`` before a change.

    Attributes:
        entries: by index: a symbol, a section (for its section symbol), ``None`` at 0.
        mercury: the same for the Mercury half; only the null entry where there is none.
    """

    def __init__(self, description: Description) -> None:
        self.entries: list[Section | Symbol | None] = _entries(description)
        self.mercury: list[MercurySymbol | None] = [None, *mercury_symbols(description)]

    def index(self, symbol: Symbol) -> int:
        """Index of a symbol in ``.symtab``."""
        return self.entries.index(symbol)

    def name(self, index: int, *, mercury: bool = False) -> str:
        """Name of the symbol at an index, for messages."""
        table = self.mercury if mercury else self.entries
        entry = table[index] if 0 <= index < len(table) else None
        return entry.name if entry is not None else f"symbol {index}"

    def uses(self, sections: list[Section]) -> set[int]:
        """``.symtab`` indices that relocations and call graphs of ``sections`` refer to."""
        found: set[int] = set()
        for section in sections:
            if section.sh_flags & SHF_CUDA_MERCURY:
                continue
            body = section.body
            if isinstance(body, bodies.Relocations):
                found.update(symbol for _, symbol, _, _ in body.rows())
            elif isinstance(body, bodies.Pairs) and section.sh_type in CALLGRAPH_TYPES:
                for first, second in body.rows:
                    found.add(first)
                    if isinstance(second, int):
                        found.add(second)
        return found

    def renumber(self, description: Description) -> None:
        """Rewrite every symbol number after sections and symbols were removed.

        Attributes, call graph records, prototypes and jump slots of removed symbols are dropped.

        Raises:
            CubinError: a relocation that stays refers to a removed symbol, or a section that may
                refer to symbols is not understood.
        """
        sass = _mapping(self.entries, _entries(description))
        mercury = _mapping(self.mercury, [None, *mercury_symbols(description)])
        if _is_identity(sass) and _is_identity(mercury):
            return
        _require_understood(description)
        for section in description.sections:
            is_mercury = bool(section.sh_flags & SHF_CUDA_MERCURY)
            self._renumber(section, mercury if is_mercury else sass, mercury=is_mercury)

    def _renumber(self, section: Section, mapping: Mapping, *, mercury: bool) -> None:
        body = section.body
        if isinstance(body, bodies.Relocations):
            rows = []
            for offset, symbol, kind, addend in body.rows():
                new = _look_up(mapping, symbol, section)
                if new is None:
                    raise BadStructureError(
                        f"it refers to {self.name(symbol, mercury=mercury)!r}, which would go",
                        field=f"{section.name} offset {offset:#x}",
                    )
                rows.append((offset, new, kind, addend))
            section.body = bodies.Relocations.from_rows(rows, body.rela, body.is_64)
        elif isinstance(body, bodies.InfoRecords) and section.sh_type != SHT_CUDA_COMPAT_INFO:
            body.records = list(_info_records(section, body.records, mapping))
        elif isinstance(body, bodies.Pairs):
            body.rows = list(_pairs(section, body.rows, mapping))
        elif isinstance(body, bodies.UftEntries):
            moved = [(_look_up(mapping, symbol, section), rest) for symbol, *rest in body.rows]
            body.rows = [(new, *rest) for new, rest in moved if new is not None]
        if isinstance(section.info, int) and _info_is_symbol(section):
            owner = section.info & SHI_SYMBOL_MASK
            if owner < len(mapping):
                section.info += (mapping[owner] or 0) - owner


def metadata_texts(description: Description) -> frozenset[str]:
    """Texts in ``.strtab`` that are of metadata, whatever else has them for a name."""
    return frozenset(
        text
        for section in description.sections
        if isinstance(section.body, bodies.Metadata)
        for text in section.body.texts()
    )


def mercury_table(description: Description) -> bodies.MercurySymbols | None:
    """The contents of ``.nv.merc.symtab``."""
    for section in description.sections:
        if isinstance(section.body, bodies.MercurySymbols):
            return section.body
    return None


def mercury_symbols(description: Description) -> list[MercurySymbol]:
    """The entries of ``.nv.merc.symtab`` without the null entry."""
    table = mercury_table(description)
    return [] if table is None else table.symbols


def _entries(description: Description) -> list[Section | Symbol | None]:
    planner = layout.Planner(description)
    planner.number_symbols()
    return planner.symbol_entries


def _mapping(
    before: list[Section | Symbol | None] | list[MercurySymbol | None],
    after: list[Section | Symbol | None] | list[MercurySymbol | None],
) -> Mapping:
    new = {id(entry): at for at, entry in enumerate(after) if at}
    return [0, *(new.get(id(entry)) for entry in before[1:])]


def _is_identity(mapping: Mapping) -> bool:
    return all(new == old for old, new in enumerate(mapping))


def _look_up(mapping: Mapping, index: int, section: Section) -> int | None:
    if index >= len(mapping):
        raise BadStructureError(
            f"symbol {index} of {len(mapping)} is referred to", field=section.name
        )
    return mapping[index]


def _info_is_symbol(section: Section) -> bool:
    return section.name.startswith(".text") or section.sh_type in (SHT_CUDA_UFT, SHT_CUDA_CAPMERC)


def _require_understood(description: Description) -> None:
    for section in description.sections:
        body = section.body
        if section.sh_type in _OPAQUE_TYPES:
            raise BadStructureError(
                "no layout is known for this kind of section; it may hold symbol numbers",
                field=section.name,
            )
        if isinstance(body, bodies.Metadata) and body.has_indices:
            raise BadStructureError(
                "what its values of format EMFMT_INDEX count is not known", field=section.name
            )
        if section.sh_type in _RECORD_TYPES and isinstance(body, bodies.Blob) and body.data:
            raise BadStructureError(
                "its records are malformed, so symbols cannot be renumbered", field=section.name
            )


def _info_records(
    section: Section, records: list[AttributeRecord], mapping: Mapping
) -> Iterator[AttributeRecord]:
    """The records with new symbol numbers, without those of removed symbols."""
    for form, code, value, payload in records:
        attribute = eiattr.ATTRIBUTES.get(code, eiattr.UNKNOWN)
        if form != EIFMT_SVAL or not payload:
            yield form, code, value, payload
            continue
        if not attribute.symbol_fields:
            if attribute.layout.kind == "unknown":
                raise BadStructureError(
                    f"attribute {attribute_name(code)} is not understood; it may hold symbol "
                    "numbers",
                    field=section.name,
                )
            yield form, code, value, payload
            continue
        kept = b"".join(_elements(section, attribute, payload, mapping))
        if kept:
            yield form, code, len(kept), kept


def _elements(
    section: Section, attribute: Attribute, payload: bytes, mapping: Mapping
) -> Iterator[bytes]:
    """The elements of a payload with new symbol numbers, without those of removed symbols."""
    least = calcsize(attribute.layout.format)
    size = least if attribute.layout.kind == "array" else len(payload)
    if len(payload) % size or len(payload) < least:
        raise BadStructureError(
            f"attribute {attribute.name} has {len(payload)} bytes", field=section.name
        )
    for at in range(0, len(payload), size):
        element = bytearray(payload[at : at + size])
        for field in attribute.symbol_fields:
            (symbol,) = unpack_from("<I", element, field)
            new = _look_up(mapping, symbol, section)
            if new is None:
                break
            element[field : field + _WORD] = new.to_bytes(_WORD, "little")
        else:
            yield bytes(element)


def _pairs(
    section: Section, rows: list[tuple[int, int | str]], mapping: Mapping
) -> Iterator[tuple[int, int | str]]:
    is_graph = section.sh_type in CALLGRAPH_TYPES
    for first, second in rows:
        if is_graph and first == 0 and second in bodies.CALLGRAPH_MARKERS:
            yield first, second
            continue
        new_first = _look_up(mapping, first, section)
        new_second = _look_up(mapping, second, section) if isinstance(second, int) else second
        if new_first is not None and new_second is not None:
            yield new_first, new_second


def attribute_name(code: int) -> str:
    """``EIATTR_…`` or the number."""
    return eiattr.NAMES.get(code, f"{code:#x}")
