"""A YAML document as a description, and as a file."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from cubinspec.errors import CubinError
from cubinspec.reader import elf
from cubinspec_generated import records
from cubinspec_writer.emit import bodies, emit, layout
from cubinspec_writer.emit.model import (
    Description,
    Dropped,
    Fill,
    Header,
    Section,
    Symbol,
)
from cubinspec_writer.emit.profiles import PROFILES
from cubinspec_writer.yaml_form import names
from cubinspec_writer.yaml_form.dump import STANDARD, SymbolNames, section_references
from cubinspec_writer.yaml_form.text import Document, YamlError, parse_hex, quote_name, unquote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Path_ = tuple[str | int, ...]

SCHEMA = Path(__file__).with_name("cubin.schema.json")
#: A document must not ask for more memory than any cubin has.
MAX_ZEROS = 1 << 31
#: Keys of a section that say what its contents are; exactly one stands in a section.
_BODY_KEYS = (
    "table", "data", "zeros", "file", "size", "records", "relocations", "pairs", "notes",
    "actions", "unified", "symbols",
)  # fmt: skip
_HEADER_FIELDS = frozenset(records.SECTION_HEADER_64_FIELDS)


def from_yaml(text: str, file: str = "<yaml>", folder: Path | None = None) -> bytes:
    """The file that a document stands for.

    Args:
        file: name for messages.
        folder: where side files are looked up; without it they are refused.

    Raises:
        YamlError: the document breaks the schema or contradicts itself; the message names the
            path in the document, line and column.
        CubinError: what it says cannot be laid out.
    """
    document = Document(text, file)
    _validate(document)
    loader = _Loader(document, folder)
    description = loader.run()
    if description.fills:
        loader.check_fills(description)
    return emit(description)


def load(text: str, file: str = "<yaml>", folder: Path | None = None) -> Description:
    """The description that a document stands for; see :func:`from_yaml`."""
    document = Document(text, file)
    _validate(document)
    return _Loader(document, folder).run()


def _validate(document: Document) -> None:
    import jsonschema

    schema = json.loads(SCHEMA.read_text())
    validator = jsonschema.Draft202012Validator(schema)
    errors = list(islice(validator.iter_errors(document.value), 100))
    if not errors:
        return
    # a misspelt key says more than that the right one is missing
    error = next((e for e in errors if e.validator == "additionalProperties"), errors[0])
    while error.context:
        error = min(error.context, key=lambda e: -len(e.absolute_path))
    path = tuple(error.absolute_path)
    message = error.message
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        unknown = [key for key in error.instance if key not in known]
        path = (*path, unknown[0])
        message = f"no such key: {unknown[0]}"
        raise document.error(path, message, f"one of {', '.join(known)}")
    raise document.error(path, message[:200])


class _Loader:
    def __init__(self, document: Document, folder: Path | None) -> None:
        self.document = document
        self.value: dict[str, Any] = document.value
        self.folder = folder
        self.sections: dict[str, Section] = {}
        self.mercury_links: list[tuple[Path_, bodies.MercurySymbol, str | int]] = []
        #: What is resolved once all sections, then once all symbols are known.
        self.pending: list[Callable[[], None]] = []
        self.late: list[Callable[[], None]] = []
        self.symbols = SymbolNames([])
        self.mercury: SymbolNames | None = None

    def refuse(self, path: Path_, reason: str, expected: str | None = None) -> NoReturn:
        raise self.document.error(path, reason, expected)

    # -- the whole -------------------------------------------------------------------------------

    def run(self) -> Description:
        value = self.value
        profile = value.get("profile", "classic")
        if profile not in PROFILES:
            self.refuse(("profile",), f"unknown profile {profile!r}", ", ".join(PROFILES))
        header = self._header()
        history: list[Section | Symbol | Dropped] = []
        if value.get("standard_tables", True):
            history.extend(self._standard(name, header.e_type) for name in STANDARD)
        for at, entry in enumerate(value["contents"]):
            history.append(self._entry(entry, ("contents", at), header))
        symbols: list[Symbol | Dropped] = []
        for at, entry in enumerate(value.get("symbols", ())):
            made = self._entry(entry, ("symbols", at), header)
            assert not isinstance(made, Section)
            symbols.append(made)
        description = Description(header, history, symbols, profile)
        self._pins(description)
        self._fills(description)
        references = section_references(description.sections)
        self.sections = {references[id(s)]: s for s in description.sections}
        for resolve in self.pending:
            resolve()
        self._name_symbols(description)
        for resolve in self.late:
            resolve()
        return description

    def _header(self) -> Header:
        given = self.value.get("header", {})
        header = Header()
        header.ei_class = elf.ELFCLASS32 if given.get("class") == 32 else elf.ELFCLASS64
        header.ei_osabi = given.get("osabi", header.ei_osabi)
        header.ei_abiversion = given.get("abi", header.ei_abiversion)
        header.ei_version = given.get("ident_version", header.ei_version)
        header.e_type = self._number(
            names.ELF_TYPES, given.get("type", header.e_type), ("header", "type")
        )
        header.e_version = given.get("version", header.e_version)
        header.e_flags = given.get("flags", header.e_flags)
        header.e_entry = given.get("entry", header.e_entry)
        if "pad" in given:
            header.ei_pad = self._hex(given["pad"], ("header", "pad"))
        for key, fields in (("pinned", header.pins), ("overrides", header.overrides)):
            for name, number in self.value.get(key, {}).items():
                if name not in records.ELF_HEADER_64_FIELDS and name != "ei_data":
                    expected = ", ".join(records.ELF_HEADER_64_FIELDS)
                    self.refuse((key, name), f"no header field {name}", expected)
                fields[name] = number
        return header

    def _standard(self, name: str, e_type: int) -> Section:
        usual = names.section_defaults(name, e_type)
        assert usual is not None
        kind, flags, align, entsize = usual
        return Section(name, kind, bodies.Computed(name[1:]), flags, 0, align, entsize)

    def _pins(self, description: Description) -> None:
        value, pins = self.value, description.pins
        count = len(description.sections)
        if "index_order" in value:
            order = value["index_order"]
            if sorted(order) != list(range(count)):
                self.refuse(("index_order",), "not every section stands here once")
            pins.index_order = order
        if "symbol_order" in value:
            pins.symbol_order = value["symbol_order"]
        for key, field in (("section_names", "shstrtab"), ("symbol_names", "strtab")):
            if key in value:
                setattr(pins, field, self._hex(value[key], (key,)))
        if "segments" in value:
            pins.segments = [tuple(row) for row in value["segments"]]
        if "null_section" in value:
            pins.null_section = tuple(value["null_section"])
        pins.file_size = value.get("file_size")

    def _fills(self, description: Description) -> None:
        spans: list[tuple[int, int, int]] = []
        for at, fill in enumerate(self.value.get("fills", ())):
            data = self._hex(fill["data"], ("fills", at, "data"))
            start, end = fill["offset"], fill["offset"] + len(data)
            for other, low, high in spans:
                if start < high and low < end:
                    self.refuse(("fills", at), f"overlaps fills[{other}] ({low:#x}..{high:#x})")
            spans.append((at, start, end))
            description.fills.append(Fill(start, data))

    def check_fills(self, description: Description) -> None:
        """Fills must not touch what is laid out."""
        laid_out = layout.plan(description)
        spans = [(0, laid_out.ehdr[7], "the ELF header")]
        width = 64 if laid_out.is_64 else 40
        count = len(laid_out.section_rows)
        shoff = laid_out.tables_at[0]
        spans.append((shoff, shoff + width * count, "the section headers"))
        for section, offset in zip(laid_out.sections, laid_out.offsets, strict=True):
            if section is not None and elf.occupies_file(section.sh_type, section.sh_flags):
                size = laid_out.context.size(section)
                spans.append((offset, offset + size, section.name))
        for at, fill in enumerate(description.fills):
            for start, end, what in spans:
                if start < fill.offset + len(fill.data) and fill.offset < end:
                    self.refuse(("fills", at), f"overlaps {what} ({start:#x}..{end:#x})")

    def _name_symbols(self, description: Description) -> None:
        """Number the symbols, for references by name."""
        try:
            planner = layout.Planner(description)
            planner.prepare()
        except CubinError as error:
            raise YamlError(error.reason, file=self.document.file, field=error.field) from error
        strings = {offset: text for text, offset in planner.strtab_offsets.items()}
        rows = planner.symbol_rows
        self.symbols = SymbolNames([quote_name(strings.get(row[0], "")) for row in rows])

    # -- small things ----------------------------------------------------------------------------

    def _number(self, table: dict[int, str], name: str | int, path: Path_) -> int:
        number = names.value_of(table, name)
        if number is None:
            self.refuse(path, f"unknown name {name}")
        return number

    def _hex(self, text: str, path: Path_) -> bytes:
        try:
            return parse_hex(text)
        except CubinError as error:
            self.refuse(path, error.reason)

    def _name(self, text: str, path: Path_) -> str:
        try:
            return unquote_name(text)
        except ValueError:
            self.refuse(path, f"no bytes of a name: {text}")

    def _find(self, reference: str | int, path: Path_) -> Section | int:
        if isinstance(reference, int):
            return reference
        section = self.sections.get(reference)
        if section is None:
            for value, special in names.SPECIAL_SECTIONS.items():
                if special == reference:
                    return value
            self.refuse(path, f"no section is called {reference}")
        return section

    def _symbol_index(self, mercury: bool, path: Path_) -> Callable[[str | int], int]:
        def find(reference: str | int) -> int:
            if isinstance(reference, int):
                return reference
            table = self.mercury if mercury and self.mercury is not None else self.symbols
            index = table.first.get(reference)
            if index is None:
                self.refuse(path, f"no symbol is called {reference}")
            return index

        return find

    # -- entries ---------------------------------------------------------------------------------

    def _entry(
        self, entry: dict[str, Any], path: Path_, header: Header
    ) -> Section | Symbol | Dropped:
        if "section" in entry and "symbol" not in entry:
            return self._section(entry, path, header)
        if "symbol" in entry:
            return self._symbol(entry, path)
        if "erased" in entry:
            return Dropped("", erased=entry["erased"])
        if "dropped" not in entry:
            self.refuse(path, "this is no section, symbol or dropped name")
        made_as = entry.get("made_as")
        return Dropped(
            self._name(entry["dropped"], (*path, "dropped")),
            entry.get("of_section", False),
            None if made_as is None else self._name(made_as, (*path, "made_as")),
        )

    def _symbol_fields(self, entry: dict[str, Any], path: Path_) -> tuple[int, int]:
        kind = self._number(names.SYMBOL_TYPES, entry.get("type", 0), (*path, "type"))
        bind = self._number(names.SYMBOL_BINDS, entry.get("bind", 0), (*path, "bind"))
        if not (0 <= kind < 16 and 0 <= bind < 16):
            self.refuse(path, "type and bind are numbers of four bits")
        other = names.other_value(entry.get("other", 0))
        if other is None or not 0 <= other < 256:
            self.refuse((*path, "other"), f"unknown {entry['other']}")
        return bind << 4 | kind, other

    def _symbol(self, entry: dict[str, Any], path: Path_) -> Symbol:
        info, other = self._symbol_fields(entry, path)
        symbol = Symbol(
            self._name(entry["symbol"], (*path, "symbol")),
            info,
            other,
            0,
            entry.get("value", 0),
            entry.get("size", 0),
            entry.get("in_globals"),
        )
        if "st_name" in entry:
            symbol.pins["st_name"] = entry["st_name"]
        if "section" in entry:
            self.pending.append(
                lambda: setattr(symbol, "section", self._find(entry["section"], (*path, "section")))
            )
        return symbol

    def _section(self, entry: dict[str, Any], path: Path_, header: Header) -> Section:
        name = self._name(entry["section"], (*path, "section"))
        usual = names.section_defaults(name, header.e_type) or (elf.SHT_PROGBITS, 0, 1, 0)
        flags = usual[1]
        if "flags" in entry:
            flags = self._flags(entry["flags"], (*path, "flags"))
        kind = usual[0]
        if "type" in entry:
            kind = self._number(names.SECTION_TYPES, entry["type"], (*path, "type"))
        align = entry.get("align", usual[2])
        if align & (align - 1):
            self.refuse((*path, "align"), f"{align} is no power of two")
        section = Section(
            name,
            kind,
            bodies.Blob(b""),
            flags,
            entry.get("addr", 0),
            align,
            entry.get("entsize", usual[3]),
            registers=entry.get("registers", 0),
            has_symbol=entry.get("has_symbol"),
            late=entry.get("late"),
        )
        if "made_as" in entry:
            section.made_as = self._name(entry["made_as"], (*path, "made_as"))
        section.overrides = {key: entry[key] for key in entry if key in _HEADER_FIELDS}
        if "offset" in entry:
            section.pins["sh_offset"] = entry["offset"]
        for key in ("link", "info", "shares"):
            if key in entry:
                self.pending.append(self._reference(section, key, entry[key], (*path, key)))
        section.body = self._body(section, entry, path, header.ei_class == elf.ELFCLASS64)
        return section

    def _reference(
        self, section: Section, key: str, reference: str | int | bool, path: Path_
    ) -> Callable[[], None]:
        if isinstance(reference, bool):
            return lambda: setattr(section, key, reference)
        return lambda: setattr(section, key, self._find(reference, path))

    def _flags(self, parts: list[str | int] | int, path: Path_) -> int:
        if isinstance(parts, int):
            return parts
        flags = 0
        for at, part in enumerate(parts):
            flags |= self._number(names.SECTION_FLAGS, part, (*path, at))
        return flags

    # -- bodies ----------------------------------------------------------------------------------

    def _body(
        self, section: Section, entry: dict[str, Any], path: Path_, is_64: bool
    ) -> bodies.Body:
        keys = [key for key in _BODY_KEYS if key in entry]
        if len(keys) != 1:
            found = " and ".join(keys) or "nothing"
            self.refuse(path, f"a section needs one kind of contents, here is {found}")
        key = keys[0]
        mercury = bool(section.sh_flags & elf.SHF_CUDA_MERCURY)
        where = (*path, key)
        if key == "table":
            return bodies.Computed(entry["table"])
        if key == "size":
            reserved = section.sh_type == elf.SHT_CUDA_RESERVED_SHARED
            if elf.occupies_file(section.sh_type, section.sh_flags) and not reserved:
                self.refuse(where, "sections of this type have bytes; say data or zeros")
            return bodies.NoBytes(entry["size"])
        if key in ("data", "zeros", "file"):
            data = self._data(key, entry[key], where)
            if "text" not in entry:
                return bodies.Blob(data)
            capsule = bodies.Capsule(0, data)
            self.pending.append(
                lambda: setattr(capsule, "text", self._find(entry["text"], (*path, "text")))
            )
            return capsule
        if key == "records":
            info = bodies.InfoRecords([])
            compat = section.sh_type == bodies.SHT_CUDA_COMPAT
            # sizes do not depend on the symbols: names are 32-bit indices in every layout
            self._records(info, entry["records"], where, compat, lambda _: 0)
            find = self._symbol_index(mercury, where)
            self.late.append(lambda: self._records(info, entry["records"], where, compat, find))
            return info
        if key == "relocations":
            return self._relocations(section, entry["relocations"], where, mercury, is_64)
        if key == "pairs":
            return self._pairs(entry["pairs"], where, mercury)
        if key == "notes":
            notes = [self._note(n, (*where, at)) for at, n in enumerate(entry["notes"])]
            return bodies.Notes(notes, entry.get("padded", True))
        if key == "actions":
            base = self._number(
                names.RELOCATION_TYPES, entry.get("base_type", 0), (*path, "base_type")
            )
            actions = [tuple(row) for row in entry["actions"]]
            return bodies.RelocActions(base, entry.get("reserved", 0), actions)
        if key == "unified":
            return self._unified(entry["unified"], where, mercury)
        return self._mercury_symbols(entry["symbols"], where, is_64)

    def _data(self, key: str, value: Any, path: Path_) -> bytes:
        if key == "data":
            return self._hex(value, path)
        if key == "zeros":
            if value > MAX_ZEROS:
                self.refuse(
                    path, f"{value} bytes are more than a cubin has", f"at most {MAX_ZEROS}"
                )
            return bytes(value)
        if self.folder is None:
            self.refuse(path, "side files are not allowed here")
        file = Path(value)
        if file.is_absolute() or ".." in file.parts:
            self.refuse(path, "a side file stands in the folder of the document")
        try:
            return (self.folder / file).read_bytes()
        except OSError as error:
            self.refuse(path, f"cannot be read: {error.strerror or error}")

    def _records(
        self,
        info: bodies.InfoRecords,
        entries: list[dict[str, Any]],
        path: Path_,
        compat: bool,
        find: Callable[[str | int], int],
    ) -> None:
        form = names.RecordForm(compat, int, find)
        found: list[bodies.InfoRecord] = []
        for at, entry in enumerate(entries):
            ((name, value),) = entry.items()
            try:
                if name == "record":
                    found.append(self._raw_record(form, value, (*path, at, name)))
                else:
                    found.append(form.decode(name, value))
            except ValueError as error:
                self.refuse((*path, at, name), str(error))
        info.records = found

    def _raw_record(
        self, form: names.RecordForm, entry: dict[str, Any], path: Path_
    ) -> bodies.InfoRecord:
        code = entry["code"]
        if isinstance(code, str):
            if code not in form.codes:
                self.refuse((*path, "code"), f"no attribute is called {code}")
            code = form.codes[code]
        if not 0 <= code < 256:
            self.refuse((*path, "code"), "a code is one byte")
        payload = self._hex(entry.get("payload", ""), (*path, "payload"))
        value = entry.get("value", len(payload))
        if value > 0xFFFF:
            self.refuse((*path, "payload"), "a payload has at most 65535 bytes")
        return entry["format"], code, value, payload

    def _relocations(
        self,
        section: Section,
        entries: list[list[Any]],
        path: Path_,
        mercury: bool,
        is_64: bool,
    ) -> bodies.Relocations:
        rela = section.sh_type != elf.SHT_REL
        width = 4 if rela else 3
        rows: list[tuple[int, int, int, int | None]] = []
        for at, row in enumerate(entries):
            if len(row) != width:
                self.refuse((*path, at), f"{len(row)} numbers, {width} are needed")
            kind = self._number(names.RELOCATION_TYPES, row[1], (*path, at, 1))
            rows.append((row[0], 0, kind, row[3] if rela else None))
        body = bodies.Relocations.from_rows(rows, rela, is_64)
        find = self._symbol_index(mercury, path)

        def resolve() -> None:
            named = [
                (offset, find(entry[2]), kind, addend)
                for (offset, _, kind, addend), entry in zip(rows, entries, strict=True)
            ]
            body.fields = bodies.Relocations.from_rows(named, rela, is_64).fields

        self.late.append(resolve)
        return body

    def _pairs(self, entries: list[list[Any]], path: Path_, mercury: bool) -> bodies.Pairs:
        body = bodies.Pairs([(0, 0)] * len(entries))
        find = self._symbol_index(mercury, path)

        def rows() -> Iterator[tuple[int, int | str]]:
            for a, b in entries:
                if isinstance(b, dict):
                    yield find(a), self._name(b["signature"], path)
                else:
                    yield find(a), find(b)

        self.late.append(lambda: setattr(body, "rows", list(rows())))
        return body

    def _unified(self, entries: list[list[Any]], path: Path_, mercury: bool) -> bodies.UftEntries:
        body = bodies.UftEntries([(0, 0, 0, 0, 0)] * len(entries))
        find = self._symbol_index(mercury, path)
        self.late.append(
            lambda: setattr(body, "rows", [(find(row[0]), *row[1:]) for row in entries])
        )
        return body

    def _mercury_symbols(
        self, entries: list[dict[str, Any]], path: Path_, is_64: bool
    ) -> bodies.MercurySymbols:
        symbols: list[bodies.MercurySymbol] = []
        for at, entry in enumerate(entries):
            info, other = self._symbol_fields(entry, (*path, at))
            symbol = bodies.MercurySymbol(
                self._name(entry["symbol"], (*path, at, "symbol")),
                info,
                other,
                0,
                entry.get("value", 0),
                entry.get("size", 0),
                entry.get("st_name"),
            )
            symbols.append(symbol)
            if "section" in entry:
                self.pending.append(
                    self._mercury_section(symbol, entry["section"], (*path, at, "section"))
                )
        self.mercury = SymbolNames(["", *(quote_name(symbol.name) for symbol in symbols)])
        size = (records.SYMBOL_64 if is_64 else records.SYMBOL_32).size
        return bodies.MercurySymbols(symbols, size)

    def _mercury_section(
        self, symbol: bodies.MercurySymbol, reference: str | int, path: Path_
    ) -> Callable[[], None]:
        return lambda: setattr(symbol, "section", self._find(reference, path))

    def _note(self, entry: dict[str, Any], path: Path_) -> bodies.Note:
        owner = self._name(entry["owner"], (*path, "owner"))
        fields: dict[str, Any] = {
            key: self._name(value, (*path, key)) if isinstance(value, str) else value
            for key, value in entry.items()
            if key not in ("type", "owner", "data")
        }
        descriptor: bodies.ToolNote | bodies.CuinfoNote | bodies.CuverNote | bodies.RawNote
        try:
            if "data" in entry:
                descriptor = bodies.RawNote(self._hex(entry["data"], (*path, "data")))
            elif "toolkit_version" in fields:
                descriptor = bodies.CuinfoNote(**fields)
            elif "unknown_1" in fields:
                descriptor = bodies.CuverNote(**fields)
            else:
                descriptor = bodies.ToolNote(**fields)
        except TypeError:
            self.refuse(path, "these are not the fields of one kind of note")
        return bodies.Note(entry["type"], owner, descriptor)
