"""What a document refers to, and where its errors are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from cubinspec.allowance import Budget, SpentError
from cubinspec.errors import CubinError
from cubinspec.format.packing import symbol_info
from cubinspec_generated.codes import STB_LOCAL, STT_NOTYPE
from cubinspec_writer.emitter import layout
from cubinspec_writer.yaml_form import names
from cubinspec_writer.yaml_form.references import (
    SymbolNames,
    section_references,
    symbol_names,
)
from cubinspec_writer.yaml_form.text import parse_hex, quote_name, unquote_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cubinspec_writer.emitter.model import Description, Section
    from cubinspec_writer.yaml_form.text import Document

    Path_ = tuple[str | int, ...]

#: Alignments above this are mistakes.
MAX_ALIGNMENT = 1 << 30


class Lookup:
    """Resolves the references of one document; checks its names, numbers and bytes.

    Args:
        folder: where side files are; without it they are refused.

    Attributes:
        value: the document.
        sections: by the reference that names each of them.
        by_name: the first section of each name.
        paths: where each section stands in the document, by its name.
        symbols, mercury: the symbols of both tables.
        after_sections: what is resolved once all sections are known.
        after_sizes: what is resolved then, once the contents have their sizes.
        after_symbols: what is resolved once all symbols are numbered.
        side_bytes: bytes of all side files.
        budget: how many bytes the document may still ask for without writing them out.
    """

    def __init__(self, document: Document, folder: Path | None) -> None:
        self.document = document
        self.value: dict[str, Any] = document.value
        self.folder = folder
        self.sections: dict[str, Section] = {}
        self.by_name: dict[str, Section] = {}
        self.paths: dict[str, Path_] = {}
        self.symbols: SymbolNames = SymbolNames([])
        self.mercury: SymbolNames | None = None
        self.after_sections: list[Callable[[], None]] = []
        self.after_sizes: list[Callable[[], None]] = []
        self.after_symbols: list[Callable[[], None]] = []
        self.side_bytes: int = 0
        self.budget = Budget(document.file, len(document.text))

    def resolve(self, description: Description) -> None:
        """Replace all references of the document by what they name."""
        references = section_references(description.sections)
        self.sections = {references[id(s)]: s for s in description.sections}
        for section in description.sections:
            self.by_name.setdefault(section.name, section)
        for resolve in (*self.after_sections, *self.after_sizes):
            resolve()
        self._name_symbols(description)
        for resolve in self.after_symbols:
            resolve()

    def refuse(self, path: Path_, reason: str, expected: str | None = None) -> NoReturn:
        raise self.document.error(path, reason, expected)

    def path(self, error: CubinError) -> Path_:
        """The path of the section or key that an error of the layout is about."""
        field = error.field or ""
        return self.paths.get(field, (field,) if field in self.value else ())

    def padded(self, data: bytes, entry: dict[str, Any], path: Path_) -> bytes:
        """``data`` and as much ``padding`` (zeros) as ``size`` wants."""
        size = entry["size"]
        missing: int = size - len(data)
        if missing < 0:
            self.refuse((*path, "size"), f"{len(data)} bytes do not fit into {size}")
        self.count(missing, (*path, "size"))
        padding = self.hex(entry.get("padding", "00"), (*path, "padding"))
        if not padding or missing % len(padding):
            reason = f"{missing} bytes are no multiple of the padding's {len(padding)}"
            self.refuse((*path, "padding"), reason)
        return data + padding * (missing // len(padding))

    def count(self, size: int, path: Path_) -> None:
        """Count bytes that are not written out in the document; too many are refused."""
        try:
            self.budget.spend("zeros", size)
        except SpentError as error:
            self.refuse(path, error.reason, error.expected)

    @property
    def largest(self) -> int:
        """Bytes that the file may have: what is written out and what is not, with side files."""
        return self.budget.allowed("zeros") + len(self.document.text) + self.side_bytes

    def _name_symbols(self, description: Description) -> None:
        """Number the symbols, for references by name."""
        try:
            planner = layout.Planner(description)
            planner.prepare()
        except CubinError as error:
            self.refuse(self.path(error), error.reason, error.expected)
        self.symbols = SymbolNames([quote_name(name) for name in symbol_names(planner)])

    # -- words of the document --------------------------------------------------------------------

    def number(self, table: dict[int, str], name: str | int, path: Path_) -> int:
        number = names.value_of(table, name)
        if number is None:
            self.refuse(path, f"unknown name {name}")
        return number

    def hex(self, text: str | list[str], path: Path_) -> bytes:
        try:
            return parse_hex(text if isinstance(text, str) else " ".join(text))
        except CubinError as error:
            self.refuse(path, error.reason)

    def name(self, text: str, path: Path_) -> str:
        try:
            return unquote_name(text)
        except ValueError:
            self.refuse(path, f"no bytes of a name: {text}")

    def find(self, reference: str | int, path: Path_) -> Section | int:
        if isinstance(reference, int):
            return reference
        section = self.sections.get(reference)
        if section is None:
            for value, special in names.SPECIAL_SECTIONS.items():
                if special == reference:
                    return value
            self.refuse(path, f"no section is called {reference}")
        return section

    def symbol(self, reference: str | int, mercury: bool, path: Path_) -> int:
        """The index of a symbol."""
        if isinstance(reference, int):
            return reference
        table = self.mercury if mercury and self.mercury is not None else self.symbols
        index = table.first.get(reference) if isinstance(reference, str) else None
        if index is None:
            self.refuse(path, f"no symbol is called {reference}")
        return index

    def info_and_other(
        self, entry: dict[str, Any], path: Path_, kind: int = STT_NOTYPE, bind: int = STB_LOCAL
    ) -> tuple[int, int]:
        kind = self.number(names.SYMBOL_TYPES, entry.get("type", kind), (*path, "type"))
        bind = self.number(names.SYMBOL_BINDS, entry.get("bind", bind), (*path, "bind"))
        other = names.other_value(entry.get("other", 0))
        if other is None:
            self.refuse((*path, "other"), f"unknown {entry['other']}")
        return symbol_info(bind, kind), other
