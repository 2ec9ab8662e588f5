"""The contents of sections, from the document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cubinspec.errors import CubinError
from cubinspec.files import read_file
from cubinspec.format.sections import CALLGRAPH_TYPES, occupies_file
from cubinspec_generated import records
from cubinspec_generated.codes import (
    ELFCLASS64,
    SHF_CUDA_MERCURY,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_RESERVED_SHARED,
    SHT_REL,
)
from cubinspec_writer.emitter import bodies
from cubinspec_writer.yaml_form import debug, defaults, names
from cubinspec_writer.yaml_form.debug.cursor import FormError
from cubinspec_writer.yaml_form.load_notes import note
from cubinspec_writer.yaml_form.references import SymbolNames
from cubinspec_writer.yaml_form.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cubinspec_writer.emitter.model import Body, Header, Section
    from cubinspec_writer.yaml_form.lookup import Lookup, Path_

#: Keys of a section that say what its contents are; exactly one stands in a section.
_BODY_KEYS = (
    "table", "data", "zeros", "file", "size", "records", "relocations", "pairs", "notes",
    "actions", "unified", "symbols", "metadata", *debug.KEYS, *defaults.GRAPH_LISTS,
)  # fmt: skip
_GRAPH = frozenset(defaults.GRAPH_LISTS)


class BodyLoader:
    """Makes the bodies of one document; symbols are filled in when they are numbered."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self._forms: debug.Forms | None = None

    def body(self, section: Section, entry: dict[str, Any], path: Path_, header: Header) -> Body:
        """The contents of a section, as one of the keys of its entry says."""
        keys = [key for key in _BODY_KEYS if key in entry]
        if "data" in keys and "size" in keys:
            keys.remove("size")
        if set(keys) <= _GRAPH:
            return self._implied(section, entry, path, header)
        if len(keys) != 1:
            reason = f"a section needs one kind of contents, here are {' and '.join(keys)}"
            self.lookup.refuse(path, reason)
        key = keys[0]
        where = (*path, key)
        if key == "table":
            return bodies.Computed(entry["table"])
        if key == "size":
            reserved = section.sh_type == SHT_CUDA_RESERVED_SHARED
            if occupies_file(section.sh_type, section.sh_flags) and not reserved:
                self.lookup.refuse(where, "sections of this type have bytes; say data or zeros")
            return bodies.NoBytes(entry["size"])
        if key in ("data", "zeros", "file"):
            return self._bytes(key, entry, path)
        if key in debug.KEYS:
            word = names.word_of(header.ei_class)
            return self._debug(key, section.name, entry[key], where, word)
        return self._rows(key, section, entry, path, is_64=header.ei_class == ELFCLASS64)

    def _bytes(self, key: str, entry: dict[str, Any], path: Path_) -> Body:
        """Contents that are bytes."""
        data = self._data(key, entry[key], (*path, key))
        if "size" in entry:
            data = self.lookup.padded(data, entry, path)
        if "text" not in entry:
            return bodies.Blob(data)
        capsule = bodies.Capsule(0, data)
        self.lookup.after_sections.append(
            lambda: setattr(capsule, "text", self.lookup.find(entry["text"], (*path, "text")))
        )
        return capsule

    def _debug(self, key: str, name: str, value: Any, path: Path_, word: int) -> Body:
        """Debug data; entries wait for the abbreviations, which may stand behind them."""
        if self._forms is None:
            self._forms = debug.Forms(word, self.lookup.by_name)
        forms, body = self._forms, bodies.Blob(b"")

        def resolve() -> None:
            try:
                body.data = forms.data(key, name, value)
            except FormError as error:
                self.lookup.refuse((*path, *error.path), error.reason)

        if key in debug.KEYS_THAT_WAIT:
            self.lookup.after_sections.append(resolve)
        else:
            resolve()
        return body

    def _rows(
        self, key: str, section: Section, entry: dict[str, Any], path: Path_, *, is_64: bool
    ) -> Body:
        """Contents that are a list of records."""
        where, rows = (*path, key), entry[key]
        mercury = bool(section.sh_flags & SHF_CUDA_MERCURY)
        if key == "records":
            info = bodies.InfoRecords([])
            # sizes do not depend on the symbols: names are 32-bit indices in every layout
            self._records(section, info, rows, where, resolved=False)
            self.lookup.after_symbols.append(
                lambda: self._records(section, info, rows, where, resolved=True)
            )
            return info
        if key == "relocations":
            return self._relocations(section, rows, where, is_64)
        if key == "pairs":
            return self._pairs(rows, where, mercury)
        if key == "notes":
            notes = [
                note(self.lookup, section.name, value, (*where, at))
                for at, value in enumerate(rows)
            ]
            return bodies.Notes(notes, entry.get("padded", True))
        if key == "actions":
            base = self.lookup.number(
                names.RELOCATION_TYPES, entry.get("base_type", 0), (*path, "base_type")
            )
            return bodies.RelocActions(base, entry.get("reserved", 0), [tuple(row) for row in rows])
        if key == "unified":
            return self._unified(rows, where, mercury)
        if key == "metadata":
            nodes = [self._node(node, (*where, at)) for at, node in enumerate(rows)]
            return bodies.Metadata(nodes)
        return self._mercury_symbols(rows, where, is_64)

    def _implied(
        self, section: Section, entry: dict[str, Any], path: Path_, header: Header
    ) -> Body:
        """The contents of a section that does not state them, or only lists of a call graph."""
        if section.sh_type in CALLGRAPH_TYPES:
            return self._graph(entry, path, bool(section.sh_flags & SHF_CUDA_MERCURY))
        compat = defaults.compat_records(section, self.lookup.value.get("header", {}).get("arch"))
        if compat is not None:
            return bodies.InfoRecords(compat)
        if defaults.bank_size(section, header, {}) is None or _GRAPH & set(entry):
            self.lookup.refuse(path, "a section needs one kind of contents, here is nothing")
        bank = bodies.Blob(b"")

        def resolve() -> None:
            bank.data = bytes(defaults.bank_size(section, header, self.lookup.by_name) or 0)

        self.lookup.after_sections.append(resolve)
        return bank

    def _data(self, key: str, value: Any, path: Path_) -> bytes:
        if key == "data":
            return self.lookup.hex(value, path)
        if key == "zeros":
            self.lookup.count(value, path)
            return bytes(value)
        if self.lookup.folder is None:
            self.lookup.refuse(path, "side files are not allowed here")
        file = Path(value)
        if file.is_absolute() or ".." in file.parts:
            self.lookup.refuse(path, "a side file stands in the folder of the document")
        try:
            data = read_file(self.lookup.folder / file)
        except CubinError as error:
            self.lookup.refuse(path, error.reason)
        self.lookup.side_bytes += len(data)
        return data

    def _records(
        self,
        section: Section,
        info: bodies.InfoRecords,
        entries: list[dict[str, Any]],
        path: Path_,
        *,
        resolved: bool,
    ) -> None:
        compat = section.sh_type == SHT_CUDA_COMPAT_INFO
        mercury = bool(section.sh_flags & SHF_CUDA_MERCURY)
        found: list[bodies.AttributeRecord] = []
        where = path

        def find(reference: str | int) -> int:
            return self.lookup.symbol(reference, mercury, where) if resolved else 0

        form = names.RecordForm(compat, int, find)
        for at, entry in enumerate(entries):
            ((name, value),) = entry.items()
            where = (*path, at, name)
            try:
                if name == "record":
                    found.append(self._raw_record(form, value, where))
                else:
                    found.append(form.decode(name, value))
            except ValueError as error:
                self.lookup.refuse(where, str(error))
        info.records = found

    def _raw_record(
        self, form: names.RecordForm, entry: dict[str, Any], path: Path_
    ) -> bodies.AttributeRecord:
        code = entry["code"]
        if isinstance(code, str):
            if code not in form.codes:
                self.lookup.refuse((*path, "code"), f"no attribute is called {code}")
            code = form.codes[code]
        payload = self.lookup.hex(entry.get("payload", ""), (*path, "payload"))
        value = entry.get("value", len(payload))
        if value > 0xFFFF:
            self.lookup.refuse((*path, "payload"), "a payload has at most 65535 bytes")
        return entry["format"], code, value, payload

    def _relocations(
        self, section: Section, entries: list[list[Any]], path: Path_, is_64: bool
    ) -> bodies.Relocations:
        rela = section.sh_type != SHT_REL
        mercury = bool(section.sh_flags & SHF_CUDA_MERCURY)
        width = 4 if rela else 3
        kinds: list[int] = []
        for at, row in enumerate(entries):
            if len(row) != width:
                self.lookup.refuse((*path, at), f"{len(row)} values", f"{width} values")
            _, kind, *_ = row
            kinds.append(self.lookup.number(names.RELOCATION_TYPES, kind, (*path, at, 1)))
        words = len(entries) * (width - 1)
        body = bodies.Relocations(rela, (0,) * words, is_64)

        def resolve() -> None:
            rows: list[tuple[int, int, int, int | None]] = [
                (
                    offset,
                    self.lookup.symbol(symbol, mercury, (*path, at, 2)),
                    kind,
                    addend[0] if addend else None,
                )
                for at, (kind, (offset, _, symbol, *addend)) in enumerate(
                    zip(kinds, entries, strict=True)
                )
            ]
            body.fields = bodies.Relocations.from_rows(rows, rela, is_64).fields

        self.lookup.after_symbols.append(resolve)
        return body

    def _pairs(self, entries: list[list[Any]], path: Path_, mercury: bool) -> bodies.Pairs:
        body = bodies.Pairs([(0, 0)] * len(entries))
        self.lookup.after_symbols.append(
            lambda: setattr(body, "rows", list(self._pair_rows(entries, path, mercury)))
        )
        return body

    def _pair_rows(
        self, entries: list[list[Any]], path: Path_, mercury: bool
    ) -> Iterator[tuple[int, int | str]]:
        for at, (a, b) in enumerate(entries):
            where = (*path, at)
            second = (
                self.lookup.name(b["signature"], where)
                if isinstance(b, dict)
                else self.lookup.symbol(b, mercury, where)
            )
            yield self.lookup.symbol(a, mercury, where), second

    def _graph(self, entry: dict[str, Any], path: Path_, mercury: bool) -> bodies.Pairs:
        """A call graph from its lists; absent ones are empty."""
        lists = [(key, entry.get(key, [])) for key in defaults.GRAPH_LISTS]
        body = bodies.Pairs([(0, 0)] * sum([len(rows) + 1 for _, rows in lists]))

        def resolve() -> None:
            body.rows = []
            for marker, (key, rows) in zip(bodies.CALLGRAPH_MARKERS, lists, strict=True):
                body.rows.append((0, marker))
                body.rows.extend(self._pair_rows(rows, (*path, key), mercury))

        self.lookup.after_symbols.append(resolve)
        return body

    def _unified(self, entries: list[list[Any]], path: Path_, mercury: bool) -> bodies.UftEntries:
        body = bodies.UftEntries([(0, 0, 0, 0, 0)] * len(entries))

        def resolve() -> None:
            body.rows = [
                (self.lookup.symbol(symbol, mercury, (*path, at, 0)), *others)
                for at, (symbol, *others) in enumerate(entries)
            ]

        self.lookup.after_symbols.append(resolve)
        return body

    def _node(self, entry: dict[str, Any], path: Path_) -> bodies.MetadataNode:
        """A node of metadata; its texts become strings of the file."""
        values: list[tuple[int, int | str]] = []
        for at, value in enumerate(entry.get("values", ())):
            form, shown = next(
                ((form, value[key]) for form, key in names.METADATA_KEYS.items() if key in value),
                (value.get("format", 0), value.get("value", 0)),
            )
            if isinstance(shown, str):
                shown = self.lookup.name(shown, (*path, "values", at))
            values.append((form, shown))
        return entry["node"], self.lookup.name(entry["name"], (*path, "name")), values

    def _mercury_symbols(
        self, entries: list[dict[str, Any]], path: Path_, is_64: bool
    ) -> bodies.MercurySymbols:
        symbols: list[bodies.MercurySymbol] = []
        for at, entry in enumerate(entries):
            info, other = self.lookup.info_and_other(entry, (*path, at))
            symbol = bodies.MercurySymbol(
                self.lookup.name(entry["symbol"], (*path, at, "symbol")),
                info,
                other,
                0,
                entry.get("value", 0),
                entry.get("size", 0),
                entry.get("st_name"),
            )
            symbols.append(symbol)
            if "section" in entry:
                self.lookup.after_sections.append(
                    self._mercury_section(symbol, entry["section"], (*path, at, "section"))
                )
        self.lookup.mercury = SymbolNames(["", *(quote_name(symbol.name) for symbol in symbols)])
        size = (records.SYMBOL_64 if is_64 else records.SYMBOL_32).size
        return bodies.MercurySymbols(symbols, size)

    def _mercury_section(
        self, symbol: bodies.MercurySymbol, reference: str | int, path: Path_
    ) -> Callable[[], None]:
        return lambda: setattr(symbol, "section", self.lookup.find(reference, path))
