"""Looks at what is the same in two images, byte for byte, without reading what it says.

Most functions of two builds are told to be the same like this. In doubt a look says that they are
not, and facts are read.
"""

from __future__ import annotations

from collections import deque
from itertools import repeat
from operator import itemgetter

from cubinspec.compare.noise import are_named
from cubinspec.compare.streams import SYMBOL_BYTES, bank_word, stream_of
from cubinspec.format.packing import registers_of
from cubinspec.format.sections import INFO_TYPES, UNIFIED_ENTRY_TYPES, occupies_file
from cubinspec_generated import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cubinspec.compare.image_reader import ImageReader
    from cubinspec.model.function import Function
    from cubinspec.model.symbol import SymbolList
    from cubinspec.reader.elf import Buffer, SectionRow

    #: A function of the old image and one of the new.
    Functions = tuple[Function, Function]

#: The parts of a function of which its code is all.
_NONE: list[int] = []
#: Sections whose bytes name symbols by their numbers, or texts by their places.
_NAMING_TYPES = UNIFIED_ENTRY_TYPES | {codes.SHT_CUDA_METADATA}
#: Of a symbol's row: where its name is, its type, and the section that may stand for a name.
_named = itemgetter(0, 1, 3)


class Looks:
    """Looks at functions of two images that are each other's counterpart.

    Args:
        old, new: the images.

    Attributes:
        readers: the same.
    """

    def __init__(self, old: ImageReader, new: ImageReader) -> None:
        self.readers: tuple[ImageReader, ImageReader] = old, new
        self._old_rows: list[SectionRow] = old.cubin.elf.section_rows
        self._new_rows: list[SectionRow] = new.cubin.elf.section_rows
        self._old_data: Buffer = old.cubin.elf.data
        self._new_data: Buffer = new.cubin.elf.data
        self._names = old.cubin.elf.shstrtab.data, new.cubin.elf.shstrtab.data
        self._same_texts = self._names[0] == self._names[1]
        self._old_moved: dict[int, list[int]] = old.relocations
        self._new_moved: dict[int, list[int]] = new.relocations
        self._old_parts: dict[int, list[int]] = old.parts
        self._new_parts: dict[int, list[int]] = new.parts
        self._has_capsules: bool = bool(old.capsules or new.capsules)
        #: Whether a number means the same symbol in both.
        self._same_symbols = _have_same_symbols(old, new)

    def unlike(self, pairs: list[Functions], *, renamed: bool = False) -> list[Functions]:
        """Those of which not everything is surely the same.

        Args:
            renamed: whether the names may differ, too.
        """
        if not pairs:
            return []
        heads, heads_too = [_heads([pair[side] for pair in pairs]) for side in (0, 1)]
        alike = [
            pair
            for pair, head, head_too in zip(pairs, heads, heads_too, strict=True)
            if head == head_too
        ]
        # one look at all of them after the other: most functions pass all
        for look in (self._of_same_code, self._of_same_relocations, self._of_same_attributes):
            alike = look(alike)
        alike = [pair for pair in alike if self._same_parts(*pair, renamed=renamed)]
        if self._has_capsules:
            alike = [pair for pair in alike if self._same_capsule(*pair, renamed)]
        # compiled code makes tuples anew; the functions stay what they are
        same = {id(one) for one, _ in alike}
        return [pair for pair in pairs if id(pair[0]) not in same]

    def _of_same_code(self, pairs: list[Functions]) -> list[Functions]:
        """Those with the same code, and sections of the same kind around it."""
        rows, rows_too = self._old_rows, self._new_rows
        data, data_too = self._old_data, self._new_data
        found = []
        for pair in pairs:
            one, other = pair
            _, _, _, code, start, size = one.row
            _, _, _, code_too, start_too, _ = other.row
            _, kind, flags, _, at, whole, _, _, align, _ = rows[code]
            _, kind_too, flags_too, _, at_too, whole_too, _, _, align_too, _ = rows_too[code_too]
            if kind != kind_too or flags != flags_too or align != align_too:
                continue
            if start + size > whole or start_too + size > whole_too:
                continue
            if not occupies_file(kind, flags):
                continue
            at += start
            at_too += start_too
            body, body_too = bytes(data[at : at + size]), data_too[at_too : at_too + size]
            # reading the facts reports a section that is cut off
            if len(body) == size == len(body_too) and body.startswith(body_too):
                found.append(pair)
        return found

    def _of_same_relocations(self, pairs: list[Functions]) -> list[Functions]:
        moved, moved_too = self._old_moved, self._new_moved
        if not moved and not moved_too:
            return pairs
        return [
            pair
            for pair in pairs
            if (pair[0].row[3] not in moved and pair[1].row[3] not in moved_too)
            or self._same_relocations(*pair)
        ]

    def _of_same_attributes(self, pairs: list[Functions]) -> list[Functions]:
        """Those with the same attributes; in doubt one is left out."""
        if not pairs:
            return pairs
        infos, infos_too = (function.table.info for function in pairs[0])
        rows, rows_too = self._old_rows, self._new_rows
        data, data_too = self._old_data, self._new_data
        found = []
        for pair in pairs:
            one, other = pair
            index, index_too = infos.get(one.owned_code), infos_too.get(other.owned_code)
            if not one.owned_code:
                found.append(pair)
            elif index is None or index_too is None:
                if index is index_too:
                    found.append(pair)
            else:
                _, _, _, _, at, size, _, _, _, _ = rows[index]
                _, _, _, _, at_too, size_too, _, _, _, _ = rows_too[index_too]
                body = bytes(data[at : at + size])
                body_too = bytes(data_too[at_too : at_too + size_too])
                if size == size_too and self._same_streams(one, other, body, body_too):
                    found.append(pair)
        return found

    def same_code(self, one: Function, other: Function) -> bool:
        """Whether code of the same size is the same; in doubt it says no."""
        _, _, _, code, start, size = one.row
        _, _, _, code_too, start_too, _ = other.row
        _, kind, flags, _, at, whole, _, _, _, _ = self._old_rows[code]
        _, kind_too, flags_too, _, at_too, whole_too, _, _, _, _ = self._new_rows[code_too]
        if start + size > whole or start_too + size > whole_too:
            return False
        at += start
        at_too += start_too
        body = bytes(self._old_data[at : at + size])
        return (
            # reading the facts reports a section that is cut off
            len(body) == size
            and body == bytes(self._new_data[at_too : at_too + size])
            and occupies_file(kind, flags)
            and occupies_file(kind_too, flags_too)
        )

    def _same_bytes(self, at: int, at_too: int, size: int) -> bool:
        body = bytes(self._old_data[at : at + size])
        # reading the facts reports a section that is cut off
        return len(body) == size and body == bytes(self._new_data[at_too : at_too + size])

    def _same_relocations(self, one: Function, other: Function) -> bool:
        old, new = self.readers
        _, _, _, code, at, _ = one.row
        _, _, _, code_too, at_too, _ = other.row
        tables, tables_too = old.relocations.get(code), new.relocations.get(code_too)
        if tables is None and tables_too is None:
            return True
        if self._same_tables(tables, tables_too) and at == at_too:
            return True
        if old.moves_of(one) == new.moves_of(other):
            return True
        return old.code_relocations(one) == new.code_relocations(other)  # in any order

    def _same_tables(self, tables: list[int] | None, tables_too: list[int] | None) -> bool:
        """Whether relocations are the same, symbols by their numbers."""
        if tables is None or tables_too is None or len(tables) != len(tables_too):
            return tables == tables_too
        return self._same_symbols and all(map(self._same_section, tables, tables_too))

    def _same_section(self, index: int, index_too: int) -> bool:
        _, kind, flags, _, at, size, _, _, align, entry = self._old_rows[index]
        row = self._new_rows[index_too]
        _, kind_too, flags_too, _, at_too, size_too, _, _, align_too, entry_too = row
        return (
            kind == kind_too
            and flags == flags_too
            and size == size_too
            and align == align_too
            and entry == entry_too
            and (not occupies_file(kind, flags) or self._same_bytes(at, at_too, size))
        )

    def same_parts(self, one: Function, other: Function) -> bool:
        """Whether constants and the like are the same, and the headers of all other sections."""
        _, _, _, code, _, _ = one.row
        _, _, _, code_too, _, _ = other.row
        return self._same_headers(code, code_too) and self._same_parts(one, other, renamed=True)

    def _same_parts(self, one: Function, other: Function, *, renamed: bool) -> bool:
        """Whether constants and the like are the same; the names of the functions may differ."""
        parts = self._old_parts.get(one.row[3], _NONE)
        parts_too = self._new_parts.get(other.row[3], _NONE)
        if len(parts) != len(parts_too) or bool(one.owned_code) != bool(other.owned_code):
            return False
        owners = self._owners(one, other) if renamed and parts else None
        if owners is None:
            return all(map(self._same_part, parts, parts_too))
        return all(map(self._same_part, parts, parts_too, repeat(owners)))

    def _same_part(
        self, index: int, index_too: int, owners: tuple[bytes, bytes] | None = None
    ) -> bool:
        """Whether one section beside the code is the same; attributes are looked at elsewhere."""
        name, kind, flags, _, at, size, _, _, align, entry = self._old_rows[index]
        row = self._new_rows[index_too]
        name_too, kind_too, flags_too, _, at_too, size_too, _, _, align_too, entry_too = row
        if kind != kind_too or flags != flags_too or align != align_too:
            return False
        if owners is not None:
            if not self._same_kind(name, name_too, owners):
                return False
        elif (name != name_too or not self._same_texts) and not self._same_name(name, name_too):
            return False
        if kind in INFO_TYPES:
            return True
        if size != size_too or entry != entry_too:
            return False
        if occupies_file(kind, flags):
            body = bytes(self._old_data[at : at + size])
            # reading the facts reports a section that is cut off
            if len(body) != size or body != bytes(self._new_data[at_too : at_too + size]):
                return False
        moved, moved_too = self._old_moved, self._new_moved
        return (index not in moved and index_too not in moved_too) or self._same_tables(
            moved.get(index), moved_too.get(index_too)
        )

    def _same_headers(self, index: int, index_too: int) -> bool:
        _, kind, flags, _, _, _, _, _, align, _ = self._old_rows[index]
        _, kind_too, flags_too, _, _, _, _, _, align_too, _ = self._new_rows[index_too]
        return kind == kind_too and flags == flags_too and align == align_too

    def _same_name(self, at: int, at_too: int) -> bool:
        """Whether the names of two sections are the same; in doubt it says no."""
        names, names_too = self._names
        end = names.find(0, at) + 1
        return end > 0 and names[at:end] == names_too[at_too : at_too + end - at]

    def _owners(self, one: Function, other: Function) -> tuple[bytes, bytes] | None:
        """How the names of sections of two functions end, if they end differently."""
        name, name_too = one.name, other.name
        if name == name_too:
            return None
        return _tail_of(name), _tail_of(name_too)

    def _same_kind(self, at: int, at_too: int, tails: tuple[bytes, bytes]) -> bool:
        """Whether names of sections are the same but for their ends; in doubt it says no."""
        names, names_too = self._names
        end, end_too = names.find(0, at), names_too.find(0, at_too)
        if min(end, end_too) < 0:
            return False
        tail, tail_too = tails
        return names[at:end].removesuffix(tail) == names_too[at_too:end_too].removesuffix(tail_too)

    def _same_streams(self, one: Function, other: Function, body: bytes, body_too: bytes) -> bool:
        if len(body) != len(body_too):  # one is cut off
            return False
        if self._same_symbols and body == body_too:
            return True
        shape, _ = one.table.shape_of(one.owned_code, body)
        at = bank_word(shape, body)
        if at is not None:  # nothing but the number of that symbol may differ
            end = at + SYMBOL_BYTES
            return body[:at] == body_too[:at] and body[end:] == body_too[end:]
        shape_too, _ = other.table.shape_of(other.owned_code, body_too)
        stream = stream_of(shape, body, one.table.symbols)
        return stream == stream_of(shape_too, body_too, other.table.symbols)

    def _same_capsule(self, one: Function, other: Function, renamed: bool) -> bool:
        old, new = self.readers
        name = one.name
        body, body_too = old.capsule(name), new.capsule(other.name if renamed else name)
        if body is None or body_too is None:
            return body is body_too
        return len(body) == len(body_too) and bytes(body) == bytes(body_too)

    # -- the image ------------------------------------------------------------------------------

    def settled(self) -> frozenset[str]:
        """Sections that belong to no function and whose bytes need no digest.

        They are the same, or their headers or sizes differ, which is a change of its own.
        """
        old, new = (reader.rest() for reader in self.readers)
        return frozenset(
            name
            for name in old.keys() | new.keys()
            if name not in old or name not in new or self._is_settled(old[name], new[name])
        )

    def _is_settled(self, index: int, index_too: int) -> bool:
        _, kind, _, _, _, size, _, _, _, _ = self._old_rows[index]
        _, _, _, _, _, size_too, _, _, _, _ = self._new_rows[index_too]
        if size != size_too or not self._same_headers(index, index_too):
            return True
        old, new = self.readers
        tables, tables_too = old.relocations.get(index), new.relocations.get(index_too)
        return (
            kind not in _NAMING_TYPES
            and self._same_section(index, index_too)
            and (self._same_tables(tables, tables_too) or old.moves(index) == new.moves(index_too))
        )

    def same_notes(self) -> bool:
        """Whether all notes are the same; in doubt it says no."""
        old, new = (reader.notes for reader in self.readers)
        return len(old) == len(new) and all(
            self._same_name(self._old_rows[index][0], self._new_rows[index_too][0])
            and self._same_section(index, index_too)
            for index, index_too in zip(old, new, strict=True)
        )


def _tail_of(name: str) -> bytes:
    """How names of sections of a function end."""
    return b"." + name.encode("utf-8", "surrogateescape")


def _heads(functions: list[Function]) -> list[tuple[Any, ...]]:
    """The numbers that symbols, code sections and tables say of functions of one image."""
    table = functions[0].table
    rows = table.section_rows
    numbers = [function.symbol_index for function in functions]
    heads = []
    for function in functions:
        _, info, visibility, code, _, size = function.row
        heads.append((info, visibility, size, registers_of(rows[code][7])))
    columns = [[*map(values.get, numbers)] for _, values in sorted(table.sizes.items())]
    return list(zip(heads, *columns, strict=True))


def _have_same_symbols(old: ImageReader, new: ImageReader) -> bool:
    """Whether two images have the same names of symbols in the same order; in doubt it says no."""
    tables, tables_too = (
        (reader.cubin.symbols, reader.cubin.mercury_symbols) for reader in (old, new)
    )
    for reader, several in ((old, tables), (new, tables_too)):
        if not all(map(are_named, several)):
            read_symbols(reader)  # raises
    return all(
        len(one.rows) == len(two.rows)
        and one.strings.data == two.strings.data
        and list(map(_named, one.rows)) == list(map(_named, two.rows))
        for one, two in zip(tables, tables_too, strict=True)
    ) and _have_same_sections(old, new)


def _have_same_sections(old: ImageReader, new: ImageReader) -> bool:
    """Whether two images have the same sections by number and name."""
    one, other = old.cubin.elf, new.cubin.elf
    names, names_too = ([row[0] for row in elf.section_rows] for elf in (one, other))
    return names == names_too and one.shstrtab.data == other.shstrtab.data


def read_symbols(reader: ImageReader) -> None:
    """Read the names of all symbols of an image.

    Raises:
        CubinError: one of them, or a table of them, is broken.
    """
    for symbols in (reader.cubin.symbols, reader.cubin.mercury_symbols):
        deque(_symbol_names(reader, symbols), maxlen=0)


def _symbol_names(reader: ImageReader, symbols: SymbolList) -> Iterator[str]:
    """The names of all symbols; those of sections stand for them."""
    elf, text_of = reader.cubin.elf, symbols.strings.get
    for at, info, _, section, _, _ in symbols.rows:
        if at or info & codes.ST_TYPE_MASK != codes.STT_SECTION:
            yield text_of(at)
        else:
            yield elf.section_name(section) if section < elf.num_sections else ""
