"""References of the YAML form: names that stand for one section or symbol each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cubinspec_writer.yaml_form.text import quote_name

if TYPE_CHECKING:
    from cubinspec_writer.emitter.layout import Planner
    from cubinspec_writer.emitter.model import Section


class SymbolNames:
    """References to the symbols of one table: the name where it is the first of that name."""

    def __init__(self, table: list[str]) -> None:
        self.table = table
        self.first: dict[str, int] = {}
        for at, name in enumerate(table):
            self.first.setdefault(name, at)
        self._quoted: dict[str, int] | None = None

    def to_name(self, index: int) -> str | int:
        """A name, or the index when the name is empty or names an earlier symbol."""
        if 0 < index < len(self.table):
            name = self.table[index]
            if name and self.first[name] == index:
                return quote_name(name)
        return index

    def to_index(self, name: str | int) -> int:
        """The inverse of :meth:`to_name`."""
        if isinstance(name, int):
            return name
        if self._quoted is None:
            self._quoted = {quote_name(name): at for name, at in self.first.items()}
        return self._quoted[name]


def symbol_names(planner: Planner) -> list[str]:
    """The names of the symbols of ``.symtab``, in its order."""
    return ["" if entry is None else entry.name for entry in planner.symbol_entries]


def section_references(sections: list[Section]) -> dict[int, str]:
    """A unique name for every section: its own, or ``name#2`` for the second of that name."""
    counts: dict[str, int] = {}
    taken = {section.name for section in sections}
    references: dict[int, str] = {}
    for section in sections:
        number = counts.get(section.name, 0) + 1
        counts[section.name] = number
        reference = section.name
        while number > 1:
            reference = f"{section.name}#{number}"
            if reference not in taken:
                taken.add(reference)
                break
            number += 1
        references[id(section)] = quote_name(reference)
    return references
