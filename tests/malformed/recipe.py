"""Broken cubins as recipes: a whole sample and what is changed in it.

A recipe is a list of steps, each a mapping:

* ``{header: e_shoff, set: V}``: a field of the ELF header; ``{ident: 4, set: V}``: a byte of it
* ``{section: NAME, field: sh_size, set: V}``: a field of a section header (name or index)
* ``{segment: 0, field: p_offset, set: V}``: a field of a program header
* ``{symbol: NAME, field: st_name, set: V}``: a field of a symbol (name or index)
* ``{body: NAME, at: N, set: V, width: 4}``: a number inside a section (or in the file: no ``body``)
* ``{bytes: HEX, at: N}``: bytes in the file; ``{keep: N}``: cut off; ``{add: N}``: zeros at the end

A value is a number, or text ``WORD``, ``WORD + N``, ``WORD - N`` with one of the words of
:meth:`Recipe.words`: sizes, counts and places of the untouched sample.
"""

from __future__ import annotations

from pathlib import Path
from struct import Struct
from typing import Any

from cubinspec import Cubin
from cubinspec_generated import records

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "cubins"
_WIDTHS = {1: "<B", 2: "<H", 4: "<I", 8: "<Q"}


class Recipe:
    """Steps applied to one sample."""

    def __init__(self, sample: str) -> None:
        self.original = (SAMPLES / f"{sample}.cubin").read_bytes()
        self.cubin = Cubin.parse(self.original, sample)
        self.data = bytearray(self.original)
        self._bits = 64 if self.cubin.header.is_64 else 32

    def words(self) -> dict[str, int]:
        """What a value can be relative to.

        ``at:NAME`` is the offset of a section's body, ``header:NAME`` that of its header.
        """
        elf = self.cubin.elf
        found = {
            "size": len(self.original),
            "shoff": elf.ehdr[5],
            "phoff": elf.ehdr[4],
            "num_sections": elf.num_sections,
            "num_symbols": len(self.cubin.symbols),
            "len_shstrtab": len(elf.shstrtab.data),
            "len_strtab": len(self.cubin.symbols.strings.data),
        }
        for section in self.cubin.sections:
            found[f"at:{section.name}"] = section.sh_offset
            found[f"header:{section.name}"] = elf.ehdr[5] + section.index * self._section().size
        return found

    def value(self, text: int | str) -> int:
        """A number of the recipe."""
        if isinstance(text, int):
            return text
        word, _, rest = text.partition(" ")
        return self.words()[word] + (int(rest.replace(" ", ""), 0) if rest else 0)

    def apply(self, steps: list[dict[str, Any]]) -> bytes:
        """The broken file."""
        for step in steps:
            self._apply(step)
        return bytes(self.data)

    def _apply(self, step: dict[str, Any]) -> None:
        if "keep" in step:
            del self.data[self.value(step["keep"]) :]
        elif "add" in step:
            self.data += bytes(step["add"])
        elif "bytes" in step:
            raw, at = bytes.fromhex(step["bytes"]), self.value(step["at"])
            self.data[at : at + len(raw)] = raw
        elif "ident" in step:
            self.data[step["ident"]] = step["set"]
        elif "header" in step:
            layout = self._record("ELF_HEADER")
            self._field(16, layout, step["header"], step["set"])
        elif "section" in step:
            at = self.value("shoff") + self._index(step["section"]) * self._section().size
            self._field(at, self._record("SECTION_HEADER"), step["field"], step["set"])
        elif "segment" in step:
            layout = self._record("PROGRAM_HEADER")
            at = self.value("phoff") + step["segment"] * layout[0].size
            self._field(at, layout, step["field"], step["set"])
        elif "symbol" in step:
            symbols = self.cubin.symbols
            layout = self._record("SYMBOL")
            at = symbols[step["symbol"]].index * layout[0].size
            table = self.cubin.sections[symbols.section_index or 0]
            self._field(table.sh_offset + at, layout, step["field"], step["set"])
        else:
            start = self.cubin.sections[step["body"]].sh_offset if "body" in step else 0
            layout_of_number = Struct(_WIDTHS[step.get("width", 4)])
            layout_of_number.pack_into(
                self.data, start + self.value(step["at"]), self.value(step["set"])
            )

    def _index(self, section: int | str) -> int:
        return self.cubin.sections[section].index

    def _section(self) -> Struct:
        return self._record("SECTION_HEADER")[0]

    def _record(self, name: str) -> tuple[Struct, tuple[str, ...]]:
        layout: Struct = getattr(records, f"{name}_{self._bits}")
        return layout, getattr(records, f"{name}_{self._bits}_FIELDS")

    def _field(
        self, at: int, record: tuple[Struct, tuple[str, ...]], field: str, value: int | str
    ) -> None:
        layout, names = record
        values = list(layout.unpack_from(self.data, at))
        values[names.index(field)] = self.value(value)
        layout.pack_into(self.data, at, *values)
