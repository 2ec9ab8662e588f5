"""`--share-constants`: equal constants of the compiler take their place once.

ptxas gives every literal that code cannot hold (bank 2, sm_75 to sm_89) a symbol of its own and
reaches it through relocations, so a constant may stand anywhere in the banks of the kernels that
run the code. Of two with the same bytes one is left out when

* they have 4, 8, 12, 16, 20, 24, 32, 48 or 64 bytes, and not all are zero;
* the one that stays is in the bank of every kernel that the other one is needed in, at one offset
  for all of them, and this offset has the alignment of the other one;
* no relocation writes into either of them.

A section where that wins nothing, or where something is not reached through such symbols, stays as
it is. nvlink has the same idea but does not use it by default.
"""

from __future__ import annotations

from cubinspec.format.packing import align_up
from cubinspec_generated.codes import SHT_CUDA_CONSTANT_B2, STT_SECTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.model import OutSection, Reloc, Symbol
    from cubinspec_writer.linker.state import Constants, Maker, Relocations, Sections

_WIDTHS: Final = frozenset((4, 8, 12, 16, 20, 24, 32, 48, 64))
_CONSTANT2: Final = SHT_CUDA_CONSTANT_B2


class Sharing:
    """The constants that have their place already, by value."""

    named: set[Symbol]

    def __init__(
        self,
        diagnostics: Diagnostics,
        sections: Sections,
        relocations: Relocations,
        constants: Constants,
        maker: Maker,
    ) -> None:
        self.constants = constants
        self.diagnostics = diagnostics
        self.sections = sections
        self.relocations = relocations
        self.maker = maker
        #: Bytes -> places: the kernels that have them, and the offset in the banks of all of them.
        self.places: dict[bytes, list[tuple[frozenset[Symbol], int]]] = {}
        self.named = {r.symbol for rows in relocations.sections.values() for r in rows.relocs}
        for relocs in relocations.staged.values():
            self.named.update(reloc.symbol for reloc in relocs)
        for section in list(sections.made):
            owner = section.owner
            if section.sh_type == _CONSTANT2 and owner is not None and owner.is_entry:
                kernels = frozenset((owner,))
                self.reduce(section, kernels)
                self.placed(section, kernels, 0)

    def reduce(self, section: OutSection, kernels: frozenset[Symbol]) -> dict[Symbol, int]:
        """Leave out what is elsewhere; the rest moves together.

        Args:
            section: the constants of one function, not yet in a bank of another one.
            kernels: those that run its code.

        Returns:
            Symbols of which the value is elsewhere: their offset in the banks.
        """
        nodes = self._nodes(section)
        if nodes is None:
            return {}
        moved: list[tuple[int, int, int]] = []
        aliases: dict[Symbol, int] = {}
        values: dict[Symbol, int] = {}
        inside: list[Symbol] = []
        local: dict[bytes, int] = {}
        data = bytearray()
        for symbol, is_fixed in nodes:
            value = bytes(section.data[symbol.value : symbol.value + symbol.size])
            step = _alignment(section, symbol)
            if not is_fixed and _may_share(value):
                at = local.get(value)
                if at is not None and at % step == 0:
                    values[symbol] = at
                    inside.append(symbol)
                    continue
                found = self._find(value, kernels, step)
                if found is not None:
                    aliases[symbol] = found
                    continue
            start = align_up(len(data), step)
            data.extend(bytes(start - len(data)))
            data += value
            values[symbol] = start
            local.setdefault(value, start)
            moved.append((symbol.value, symbol.size, start))
        if len(data) >= len(section.data):
            return {}
        self.diagnostics.note(
            f"constants in '{section.name}': {len(section.data)} bytes, {len(data)} when shared"
        )
        self.constants.aliases.update(dict.fromkeys((*inside, *aliases), section))
        section.data[:] = data
        for symbol, offset in values.items():
            symbol.value = offset
        for rows in self._reloc_lists(section):
            rows[:] = [reloc.at(_new_offset(reloc.offset, moved)) for reloc in rows]
        return aliases

    def placed(self, section: OutSection, kernels: frozenset[Symbol], at: int) -> None:
        """Remember the constants of a section that begins at an offset of its banks."""
        for symbol, is_fixed in self._nodes(section, at) or ():
            start = symbol.value - at
            value = bytes(section.data[start : start + symbol.size])
            if not is_fixed and _may_share(value):
                self.places.setdefault(value, []).append((kernels, symbol.value))

    def _find(self, value: bytes, kernels: frozenset[Symbol], step: int) -> int | None:
        for present, offset in self.places.get(value, ()):
            if kernels <= present and offset % step == 0:
                return offset
        return None

    def _nodes(self, section: OutSection, at: int = 0) -> list[tuple[Symbol, bool]] | None:
        """The symbols of a section by offset, and whether a relocation writes into each.

        None when not all of its bytes are reached through symbols alone.
        """
        symbols = [
            s
            for s in self.sections.members.get(section, ())
            if s.size and at <= s.value and s.value - at + s.size <= len(section.data)
        ]
        symbols.sort(key=lambda s: (s.value, s.size))
        if section.made_symbol in self.named or not symbols:
            return None
        end = at
        written = [r.offset + at for rows in self._reloc_lists(section) for r in rows]
        nodes: list[tuple[Symbol, bool]] = []
        for symbol in symbols:
            is_ordinary = symbol.internal and symbol in self.named and symbol.kind != STT_SECTION
            if (
                not is_ordinary
                or symbol.value < end
                or any(section.data[end - at : symbol.value - at])
            ):
                return None
            end = symbol.value + symbol.size
            nodes.append((symbol, any(_hits(symbol, w) for w in written)))
        return None if any(section.data[end - at :]) else nodes

    def _reloc_lists(self, section: OutSection) -> list[list[Reloc]]:
        """Relocations of the section's own bytes."""
        found = [self.relocations.staged.get(section, [])]
        for is_rela in (False, True):
            rows = self.maker.reloc_section(section, is_rela)
            if rows is not None:
                found.append(rows.relocs)
        return found


def _new_offset(offset: int, moved: list[tuple[int, int, int]]) -> int:
    """Where a byte is after blocks moved: first byte, size and new first byte of each."""
    for first, size, start in moved:
        if first <= offset < first + size:
            return offset + start - first
    return offset


def _hits(symbol: Symbol, offset: int) -> bool:
    """Whether a field of up to 8 bytes at an offset touches a constant."""
    return offset < symbol.value + symbol.size and symbol.value < offset + 8


def _may_share(value: bytes) -> bool:
    return len(value) in _WIDTHS and any(value)


def _alignment(section: OutSection, symbol: Symbol) -> int:
    """The alignment that a constant has where the compiler put it, as far as its size needs it."""
    own = symbol.value & -symbol.value or max(section.align, 1)
    needed = 1 << max(symbol.size - 1, 0).bit_length()
    return min(own, max(section.align, 1), needed)
