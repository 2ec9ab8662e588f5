"""Broken cubins as recipes: a whole sample and what is changed in it.

``change`` is a piece of cubin YAML (docs/yaml.md) that is laid over the sample's own document, from
which ``from_yaml`` then makes the broken file:

* top-level keys (``overrides``, ``file_size``, …) are added; ``null_section`` may be a mapping of
  fields
* ``sections: {NAME: {KEY: VALUE}}`` and ``symbols: {NAME: {KEY: VALUE}}`` add to the entry of that
  name; where a value is a list, ``{N: ITEM}`` changes its item N

``patch`` is for what no document says, a list of steps on the bytes:

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

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from struct import Struct
from typing import Any

import yaml

from cubinspec import Cubin
from cubinspec_generated import record_fields, records
from cubinspec_writer.yaml_form import from_yaml, to_yaml

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "cubins"
_WIDTHS = {1: "<B", 2: "<H", 4: "<I", 8: "<Q"}
_WORD = re.compile(r"(size|shoff|phoff|num_\w+|len_\w+|(at|header):\S+)( [+-] \w+)?\Z")
_STANDARD = (".shstrtab", ".strtab", ".symtab")


@lru_cache(maxsize=16)
def _document(sample: str) -> str:
    """The sample's own document, with the tables that stand in every file written out."""
    text = to_yaml((SAMPLES / f"{sample}.cubin").read_bytes())
    if "\nstandard_tables:" in text:
        return text
    tables = "".join(f"- {{section: {name}, table: {name[1:]}}}\n" for name in _STANDARD)
    return text.replace("contents:\n", f"standard_tables: false\ncontents:\n{tables}", 1)


class Recipe:
    """What is changed in one sample."""

    def __init__(self, sample: str) -> None:
        self.sample = sample
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

    def make(self, change: dict[str, Any], patch: Sequence[dict[str, Any]] = ()) -> bytes:
        """The broken file: the document with a change laid over it, then steps on its bytes."""
        if change:
            document = yaml.safe_load(_document(self.sample))
            self._lay_over(document, self._expanded(change))
            self.data = bytearray(from_yaml(yaml.safe_dump(document, sort_keys=False)))
        return self.apply(patch)

    def _expanded(self, value: Any) -> Any:
        """A change with its words replaced by numbers."""
        if isinstance(value, dict):
            return {key: self._expanded(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._expanded(item) for item in value]
        return self.value(value) if isinstance(value, str) and _WORD.match(value) else value

    @staticmethod
    def _lay_over(document: dict[str, Any], change: dict[str, Any]) -> None:
        entries = [*document["contents"], *document.get("symbols", ())]
        for kind in ("section", "symbol"):
            for name, fields in change.get(f"{kind}s", {}).items():
                is_kind = [e for e in entries if (("symbol" in e) == (kind == "symbol"))]
                entry = next(entry for entry in is_kind if entry.get(kind) == name)
                for key, value in fields.items():
                    if isinstance(value, dict) and isinstance(entry.get(key), list):
                        for at, item in value.items():
                            both = isinstance(item, dict) and key == "notes"
                            entry[key][at] = entry[key][at] | item if both else item
                    else:
                        entry[key] = value
        for key, value in change.items():
            if key == "null_section":
                fields = record_fields.SECTION_HEADER_64_FIELDS
                document[key] = [value.get(field, 0) for field in fields]
            elif key not in ("sections", "symbols"):
                document[key] = value

    def apply(self, steps: Sequence[dict[str, Any]]) -> bytes:
        """The broken file, by steps on its bytes alone."""
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
        return layout, getattr(record_fields, f"{name}_{self._bits}_FIELDS")

    def _field(
        self, at: int, record: tuple[Struct, tuple[str, ...]], field: str, value: int | str
    ) -> None:
        layout, names = record
        values = list(layout.unpack_from(self.data, at))
        values[names.index(field)] = self.value(value)
        layout.pack_into(self.data, at, *values)


_MADE: dict[str, bytes] = {}


def made(
    sample: str,
    change: dict[str, Any] | list[dict[str, Any]],
    patch: Sequence[dict[str, Any]] = (),
) -> bytes:
    """The broken file, made once: by a change, or by a list of steps in its place."""
    key = repr((sample, change, patch))
    if key not in _MADE:
        if isinstance(change, list):
            change, patch = {}, change
        _MADE[key] = Recipe(sample).make(change, patch)
    return _MADE[key]
