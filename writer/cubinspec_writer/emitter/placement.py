"""The offsets of sections.

Sections stand in index order from the end of the ELF header on, aligned; sections without bytes are
aligned too and move the position by their padding. A Mercury section whose bytes equal those of its
SASS twin has the twin's offset.
"""

from __future__ import annotations

from itertools import accumulate

from cubinspec.format.packing import align_up
from cubinspec.format.sections import (
    INFO_TYPES,
    LINK_TO_MERC_SYMTAB,
    UNIFIED_ENTRY_TYPES,
    sass_twin,
)
from cubinspec_generated import records
from cubinspec_generated.codes import (
    ELFCLASS64,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_UDT,
    SHT_CUDA_UIDX,
    SHT_STRTAB,
)
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.strings import shstrtab_hole, strtab_hole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cubinspec_writer.emitter.draft import Draft
    from cubinspec_writer.emitter.kinds import Kind

#: Mercury types that never share bytes with a SASS section.
_NEVER_SHARED = (
    LINK_TO_MERC_SYMTAB
    | frozenset((SHT_CUDA_MERC_SYMTAB, SHT_CUDA_RESERVED_SHARED, SHT_CUDA_UDT, SHT_CUDA_UIDX))
    | UNIFIED_ENTRY_TYPES
    | INFO_TYPES
)
#: The second writer aligns string tables and what follows them to this.
_STRINGS_ALIGN = 8


class Placement:
    """Finds the offset of every section.

    Args:
        sizes: bytes of each section.
        actual: offsets that the file has. Where the rule gives another one, the section is pinned
            and the rule goes on from there.

    Attributes:
        offsets: of the sections that have been placed.
        end: of the last one.
    """

    __slots__ = ("_hole", "_holes", "actual", "draft", "end", "offsets", "sizes")
    end: int

    def __init__(
        self, draft: Draft, sizes: Sequence[int], actual: Sequence[int] | None = None
    ) -> None:
        self.draft: Draft = draft
        self.sizes: Sequence[int] = sizes
        self.actual: Sequence[int] | None = actual
        is_64 = draft.header.ei_class == ELFCLASS64
        self.offsets: list[int] = []
        self.end = records.ELF_IDENT.size
        self.end += (records.ELF_HEADER_64 if is_64 else records.ELF_HEADER_32).size
        if draft.producer.table_first:
            header = records.SECTION_HEADER_64 if is_64 else records.SECTION_HEADER_32
            self.end += header.size * (len(draft.names) + 1)
        #: Free bytes behind the string tables.
        first = 0 if draft.producer.names_by_index else shstrtab_hole(draft)
        self._holes = {".shstrtab": first, ".strtab": strtab_hole(draft)}
        #: Free bytes behind the section that was placed last.
        self._hole = 0

    def run(self) -> tuple[list[int], int]:
        """The offset of every section, and the end of the last one."""
        draft = self.draft
        is_usual = self.actual is None and not draft.producer.table_first
        is_usual = is_usual and not draft.exceptions and not draft.shares
        for kind, start, stop in draft.kind_runs:
            if is_usual and kind.is_sequential:
                self._place_neighbours(start, stop)
            else:
                for number in range(start, stop):
                    self._place(kind, number)
        return self.offsets, self.end

    def _place_neighbours(self, start: int, stop: int) -> None:
        """Place sections that stand one behind the other."""
        draft = self.draft
        at = self.end + self._hole
        self._hole = 0
        sizes, aligns = self.sizes[start:stop], draft.aligns[start:stop]
        contents = draft.bodies[start:stop]
        alignment, *others = {*aligns}
        below = max(alignment - 1, 0)
        is_even = not others and not alignment & below and not any(map(below.__and__, sizes))
        if is_even and bodies.NoBytes not in map(type, contents):
            # no padding stands between them
            self.offsets += accumulate(sizes[:-1], initial=align_up(at, alignment))
            self.end = self.offsets[-1] + sizes[-1]
            return
        for size, alignment, body in zip(sizes, aligns, contents, strict=True):
            at = align_up(at, alignment)
            self.offsets.append(at)
            if body.__class__ is not bodies.NoBytes:
                at += size
        self.end = at

    def _place(self, kind: Kind, number: int) -> None:
        """Place one section."""
        draft = self.draft
        self.end += self._hole
        self._hole = 0
        pinned = None
        if number in draft.exceptions:
            pinned = draft.exceptions[number].pins.get("sh_offset")
        may_share = kind.is_mercury or draft.shares.get(number, False) is not False
        if pinned is None and may_share and self._place_at_twin(number):
            return
        offset = align_up(self.end, draft.aligns[number])
        is_strings = draft.types[number] == SHT_STRTAB
        is_table_first = draft.producer.table_first
        if is_strings and is_table_first:
            offset = align_up(offset, _STRINGS_ALIGN)
        if self.actual is not None and self.actual[number] != offset:
            offset = self.actual[number]
            if self._pin(number, offset):
                return
        elif pinned is not None:
            offset = pinned
        self.offsets.append(offset)
        self.end = offset
        if kind.is_stored and not isinstance(draft.bodies[number], bodies.NoBytes):
            self.end += self.sizes[number]
        if is_strings:
            if is_table_first:
                self.end = align_up(self.end, _STRINGS_ALIGN)
            self._hole = self._holes.get(draft.names[number], 0)

    # -- sharing ---------------------------------------------------------------------------------

    def _place_at_twin(self, number: int) -> bool:
        """Place a section at the twin whose bytes it uses; false if there is no such twin."""
        twin = self._shared_twin(number)
        if twin is None or twin >= number:
            return False
        offset = self.offsets[twin]
        if self.actual is not None and self.actual[number] != offset:
            self.draft.shares[number] = False
            return False
        self.offsets.append(offset)
        return True

    def _shared_twin(self, number: int) -> int | None:
        """The section whose bytes a Mercury section uses instead of its own."""
        draft = self.draft
        if number in draft.shares:
            shared = draft.shares[number]
            if not isinstance(shared, bool):
                return shared
            if not shared:
                return None
        if not draft.kinds[number].is_mercury or draft.types[number] in _NEVER_SHARED:
            return None
        name = draft.names[number]
        if name == ".nv.merc.debug_info" and not self._only_addresses():
            return None
        twin = draft.number_of(sass_twin(name))
        if twin is None:
            return None
        ours, theirs = draft.raw(number), draft.raw(twin)
        return twin if ours is not None and ours == theirs else None

    def _only_addresses(self) -> bool:
        """Whether ``.debug_info`` has no references to other debug sections (R_CUDA_32).

        Its Mercury twin shares its bytes exactly when there are none (22 of 22 files of ptxas and
        nvlink 13.0 and 13.2).
        """
        from cubinspec_generated.codes_relocation import R_CUDA_32  # few files ask

        number = self.draft.number_of(".rela.debug_info")
        body = None if number is None else self.draft.body(number)
        if not isinstance(body, bodies.Relocations):
            return True
        return all(kind != R_CUDA_32 for _, _, kind, _ in body.rows())

    def _pin(self, number: int, offset: int) -> bool:
        """Keep an offset that no rule gives; true if it is that of a twin of equal size."""
        draft = self.draft
        twin = draft.number_of(sass_twin(draft.names[number]))
        if (
            twin is not None
            and draft.kinds[number].is_mercury
            and twin < len(self.offsets)
            and self.offsets[twin] == offset
            and self.sizes[number] == self.sizes[twin]
        ):
            draft.shares[number] = twin
            draft.pins_of(number).pop("sh_offset", None)
            self.offsets.append(offset)
            return True
        draft.pins_of(number)["sh_offset"] = offset
        return False
