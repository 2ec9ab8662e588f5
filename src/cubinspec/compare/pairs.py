"""What differs between an image of the old file and one of the new.

Most functions of two builds are the same, bytes and all. These are told by a look at their bytes
where they lie; facts are read of the others only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cubinspec.compare.changes import function_changes, image_changes, noise_changes
from cubinspec.compare.facts import ImageFacts
from cubinspec.compare.match import pair_up
from cubinspec.compare.streams import is_same_but_bank, stream_of
from cubinspec.format.packing import registers_of
from cubinspec.format.sections import INFO_TYPES, occupies_file
from cubinspec_generated import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec.compare.changes import Change
    from cubinspec.compare.facts import FunctionFacts, ImageReader
    from cubinspec.model.function import Function
    from cubinspec.model.symbol import SymbolList

    #: Tells by the mangled name whether a function is wanted.
    Wants = Callable[[str], bool]


@dataclass(slots=True)
class PairChanges:
    """What was found.

    Attributes:
        compared: how many functions both images have.
        changed: functions of both that differ, old and new, and what differs.
        gone, new: functions that only one of the images has.
        changes: properties of the whole image that differ.
        noise: what differs and does not matter.
    """

    compared: int = 0
    changed: list[tuple[FunctionFacts, FunctionFacts, list[Change]]] = field(default_factory=list)
    gone: list[FunctionFacts] = field(default_factory=list)
    new: list[FunctionFacts] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    noise: list[Change] = field(default_factory=list)


def compare_facts(
    old: ImageFacts, new: ImageFacts, properties: frozenset[str] | None, wants: Wants
) -> PairChanges:
    """Compare two images by their facts.

    Args:
        properties: to compare; ``None``: all.
        wants: which functions are compared.
    """
    found = PairChanges()
    pairs, found.gone, found.new = pair_up(old.functions, new.functions, lambda each: each.name)
    for one, other in pairs:
        if wants(one.name):
            found.compared += 1
            changes = function_changes(one, other, properties)
            if changes:
                found.changed.append((one, other, changes))
    found.changes = image_changes(old.values, new.values, properties)
    found.noise = noise_changes(old.noise, new.noise)
    return found


def compare_images(
    old: ImageReader, new: ImageReader, properties: frozenset[str] | None, wants: Wants
) -> PairChanges:
    """As :func:`compare_facts`, with the facts read where they are needed.

    Raises:
        CubinError: a table that has to be read is broken.
    """
    found = PairChanges()
    olds = list(zip(old.names, old.functions, strict=True))
    news = list(zip(new.names, new.functions, strict=True))
    pairs, gone, fresh = pair_up(olds, news, lambda each: each[0])
    looks = _Looks(old, new)
    for (name, one), (_, other) in pairs:
        if not wants(name):
            continue
        found.compared += 1
        if looks.same(one, other):
            continue
        # of code of another size, or of the same, nobody asks for a digest
        _, _, _, _, _, size = one.row
        _, _, _, _, _, size_too = other.row
        code = size == size_too and not looks.same_code(one, other)
        parts = not looks.same_parts(one, other)
        before = old.facts_of(one, with_code=code, with_parts=parts)
        after = new.facts_of(other, with_code=code, with_parts=parts)
        changes = function_changes(before, after, properties)
        if changes:
            row = before.without_details(), after.without_details(), changes
            found.changed.append(row)
    found.gone = [old.facts_of(one) for _, one in gone]
    found.new = [new.facts_of(one) for _, one in fresh]
    found.changes = image_changes(old.values(), new.values(), properties)
    found.noise = noise_changes(old.noise(), new.noise())
    return found


class _Looks:
    """Looks at functions of two images that have the same name.

    Args:
        old, new: the images.
    """

    def __init__(self, old: ImageReader, new: ImageReader) -> None:
        self._readers = old, new
        self._rows = old.cubin.elf.section_rows, new.cubin.elf.section_rows
        self._data = old.cubin.elf.data, new.cubin.elf.data
        #: Whether a number means the same symbol in both.
        self._same_symbols = _have_same_symbols(old, new)
        self._sizes: list[tuple[dict[int, int], dict[int, int]]] = []
        if old.functions and new.functions:
            mine, theirs = old.functions[0].table.sizes, new.functions[0].table.sizes
            self._sizes = [(values, theirs[code]) for code, values in mine.items()]

    def same(self, one: Function, other: Function) -> bool:
        """Whether everything about two functions is the same; in doubt it says no."""
        _, info, visibility, code, start, size = one.row
        _, info_too, visibility_too, code_too, start_too, size_too = other.row
        if size != size_too or info != info_too or visibility != visibility_too:
            return False
        number, number_too = one.symbol_index, other.symbol_index
        for values, values_too in self._sizes:
            if values.get(number) != values_too.get(number_too):
                return False
        rows, rows_too = self._rows
        _, kind, flags, _, at, _, _, owner, _, _ = rows[code]
        _, _, _, _, at_too, _, _, owner_too, _, _ = rows_too[code_too]
        if registers_of(owner) != registers_of(owner_too):
            return False
        return (
            occupies_file(kind, flags)
            and self._same_bytes(at + start, at_too + start_too, size)
            and self._same_relocations(one, other)
            and self.same_parts(one, other)
            and (not one.owns_section or self._same_attributes(one, other))
            and self._same_capsule(one.name)
        )

    def same_code(self, one: Function, other: Function) -> bool:
        """Whether code of the same size is the same; in doubt it says no."""
        _, _, _, code, start, size = one.row
        _, _, _, code_too, start_too, _ = other.row
        rows, rows_too = self._rows
        _, kind, flags, _, at, whole, _, _, _, _ = rows[code]
        _, kind_too, flags_too, _, at_too, whole_too, _, _, _, _ = rows_too[code_too]
        return (
            occupies_file(kind, flags)
            and occupies_file(kind_too, flags_too)
            and start + size <= whole
            and start_too + size <= whole_too
            and self._same_bytes(at + start, at_too + start_too, size)
        )

    def _same_bytes(self, at: int, at_too: int, size: int) -> bool:
        one, other = self._data
        body = bytes(one[at : at + size])
        # reading the facts reports a section that is cut off
        return len(body) == size and body == bytes(other[at_too : at_too + size])

    def _same_relocations(self, one: Function, other: Function) -> bool:
        old, new = self._readers
        _, _, _, code, at, _ = one.row
        _, _, _, code_too, at_too, _ = other.row
        tables, tables_too = old.relocations.get(code), new.relocations.get(code_too)
        if tables is None and tables_too is None:
            return True
        if self._same_tables(tables, tables_too) and at == at_too:
            return True
        return old.code_relocations(one) == new.code_relocations(other)

    def _same_tables(self, tables: list[int] | None, tables_too: list[int] | None) -> bool:
        """Whether relocations are the same, symbols by their numbers."""
        if tables is None or tables_too is None or len(tables) != len(tables_too):
            return tables == tables_too
        return self._same_symbols and all(map(self._same_section, tables, tables_too))

    def _same_section(self, index: int, index_too: int) -> bool:
        _, kind, flags, _, at, size, _, _, align, entry = self._rows[0][index]
        _, kind_too, flags_too, _, at_too, size_too, _, _, align_too, entry_too = self._rows[1][
            index_too
        ]
        if (kind, flags, size, align, entry) != (
            kind_too,
            flags_too,
            size_too,
            align_too,
            entry_too,
        ):
            return False
        return not occupies_file(kind, flags) or self._same_bytes(at, at_too, size)

    def same_parts(self, one: Function, other: Function) -> bool:
        """Whether constants and the like are the same, and the headers of all other sections."""
        old, new = self._readers
        _, _, _, code, _, _ = one.row
        _, _, _, code_too, _, _ = other.row
        parts, parts_too = old.parts.get(code, ()), new.parts.get(code_too, ())
        if one.owns_section != other.owns_section or len(parts) != len(parts_too):
            return False
        rows, rows_too = self._rows
        _, kind, flags, _, _, _, _, _, align, _ = rows[code]
        _, kind_too, flags_too, _, _, _, _, _, align_too, _ = rows_too[code_too]
        if kind != kind_too or flags != flags_too or align != align_too:
            return False
        names, names_too = old.cubin.elf.section_names, new.cubin.elf.section_names
        for index, index_too in zip(parts, parts_too, strict=True):
            if names[index] != names_too[index_too]:
                return False
            if rows[index][1] in INFO_TYPES:
                _, kind, flags, _, _, _, _, _, align, _ = rows[index]
                _, kind_too, flags_too, _, _, _, _, _, align_too, _ = rows_too[index_too]
                if kind != kind_too or flags != flags_too or align != align_too:
                    return False
            elif not self._same_section(index, index_too) or not self._same_tables(
                old.relocations.get(index), new.relocations.get(index_too)
            ):
                return False
        return True

    def _same_attributes(self, one: Function, other: Function) -> bool:
        _, _, _, code, _, _ = one.row
        _, _, _, code_too, _, _ = other.row
        index, index_too = one.table.info.get(code), other.table.info.get(code_too)
        if index is None or index_too is None:
            return index is index_too
        body, body_too = self._info(0, index), self._info(1, index_too)
        if len(body) != len(body_too):
            return False
        if self._same_symbols and body == body_too:
            return True
        if is_same_but_bank(body, body_too, one.info_index):
            return True
        return stream_of(one.info_index, one.table.symbols) == stream_of(
            other.info_index, other.table.symbols
        )

    def _info(self, side: int, index: int) -> bytes:
        _, _, _, _, at, size, _, _, _, _ = self._rows[side][index]
        return bytes(self._data[side][at : at + size])

    def _same_capsule(self, name: str) -> bool:
        old, new = self._readers
        if not old.capsules and not new.capsules:
            return True
        one, other = old.capsule(name), new.capsule(name)
        if one is None or other is None:
            return one is other
        return len(one) == len(other) and bytes(one) == bytes(other)


def _have_same_symbols(old: ImageReader, new: ImageReader) -> bool:
    """Whether two images have the same names of symbols in the same order."""
    tables, tables_too = (
        (reader.cubin.symbols, reader.cubin.mercury_symbols) for reader in (old, new)
    )
    for symbols, symbols_too in zip(tables, tables_too, strict=True):
        if len(symbols.rows) != len(symbols_too.rows):
            return False
    return list(map(_symbol_names, (old, old), tables)) == list(
        map(_symbol_names, (new, new), tables_too)
    )


def _symbol_names(reader: ImageReader, symbols: SymbolList) -> list[str]:
    """The names of all symbols; those of sections stand for them."""
    sections = reader.cubin.elf.section_names
    names = symbols.names
    for number, (at, info, _, section, _, _) in enumerate(symbols.rows):
        if not at and info & codes.ST_TYPE_MASK == codes.STT_SECTION:
            names[number] = sections[section] if section < len(sections) else ""
    return names
