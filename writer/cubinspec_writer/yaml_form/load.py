"""A YAML document as a description, and as a file."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from cubinspec.errors import CubinError
from cubinspec.format.sections import CALLGRAPH_TYPES, occupies_file
from cubinspec_generated import records
from cubinspec_generated.codes import (
    ELFCLASS32,
    ELFCLASS64,
    SHF_CUDA_MERCURY,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_RESERVED_SHARED,
    SHT_PROGBITS,
    SHT_REL,
)
from cubinspec_generated.producers import PRODUCERS
from cubinspec_writer.emitter import bodies, emit, layout
from cubinspec_writer.emitter.model import (
    Description,
    Dropped,
    Fill,
    Header,
    Section,
    Symbol,
)
from cubinspec_writer.yaml_form import defaults, names
from cubinspec_writer.yaml_form.dump import (
    NOTE_FIELDS,
    SymbolNames,
    section_references,
    symbol_names,
)
from cubinspec_writer.yaml_form.text import Document, YamlError, parse_hex, quote_name, unquote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cubinspec_writer.emitter.model import Body

    Path_ = tuple[str | int, ...]

SCHEMA = Path(__file__).with_name("cubin.schema.json")
#: A short document must not ask for more memory than any cubin has: all contents together.
MAX_BYTES = 1 << 30
#: More errors than this are not looked at to find the one that is shown.
_MAX_ERRORS = 100
#: Keys of a section that say what its contents are; exactly one stands in a section.
_BODY_KEYS = (
    "table", "data", "zeros", "file", "size", "records", "relocations", "pairs", "notes",
    "actions", "unified", "symbols", *defaults.GRAPH_LISTS,
)  # fmt: skip
_PAD_BYTES = 7
_GRAPH = frozenset(defaults.GRAPH_LISTS)
_HEADER_FIELDS = frozenset(records.SECTION_HEADER_64_FIELDS)


def from_yaml(text: str, file: str = "<yaml>", folder: Path | None = None) -> bytes:
    """The file that a document stands for.

    Args:
        file: name for messages.
        folder: where side files are looked up; without it they are refused.

    Raises:
        YamlError: the document breaks the schema, contradicts itself or cannot be laid out; the
            message names the path in the document, line and column.
    """
    document = Document(text, file)
    loader = _Loader(document, folder)
    description = loader.run()
    try:
        loader.check_fills(description)
        return emit(description)
    except YamlError:
        raise
    except CubinError as error:
        raise document.error(loader.path(error), error.reason, error.expected) from error


def load(text: str, file: str = "<yaml>", folder: Path | None = None) -> Description:
    """The description that a document stands for; see :func:`from_yaml`."""
    return _Loader(Document(text, file), folder).run()


def _validate(document: Document) -> None:
    """Compare with the schema.

    Raises:
        YamlError: it breaks the schema; of several faults the most telling one is named.
    """
    import jsonschema

    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    errors = list(islice(validator.iter_errors(document.value), _MAX_ERRORS))
    if not errors:
        return
    # a misspelt key says more than that the right one is missing
    error = next((e for e in errors if e.validator == "additionalProperties"), errors[0])
    path = tuple(error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        unknown = next(key for key in error.instance if key not in known)
        expected = f"one of {', '.join(known)}"
        raise document.error((*path, unknown), f"no such key: {unknown[:80]}", expected)
    raise document.error(path, error.message[:200])


class _Loader:
    def __init__(self, document: Document, folder: Path | None) -> None:
        _validate(document)
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
        #: Where each section stands in the document, by its name.
        self.paths: dict[str, Path_] = {}
        self.by_name: dict[str, Section] = {}
        self.bytes_left = MAX_BYTES
        #: What is resolved behind ``pending``: symbols, which are as long as their sections.
        self.late_shapes: list[Callable[[], None]] = []

    def refuse(self, path: Path_, reason: str, expected: str | None = None) -> NoReturn:
        raise self.document.error(path, reason, expected)

    def path(self, error: CubinError) -> Path_:
        """Where the fault of the layout stands: at a section, or at a key of the document."""
        field = error.field or ""
        return self.paths.get(field, (field,) if field in self.value else ())

    # -- the whole -------------------------------------------------------------------------------

    def run(self) -> Description:
        value = self.value
        given = value.get("header", {})
        sm = None
        if "arch" in given:
            sm = defaults.sm_of(given["arch"])
            if sm is None:
                self.refuse(("header", "arch"), f"no architecture is called {given['arch']}")
        profile = value.get("profile", defaults.profile_of(sm))
        if profile not in PRODUCERS:
            self.refuse(("profile",), f"unknown profile {profile!r}", ", ".join(PRODUCERS))
        header = self._header(given, 0 if sm is None else defaults.arch_flags(sm, profile))
        history: list[Section | Symbol | Dropped] = []
        if value.get("standard_tables", True):
            history.extend(self._standard(name, header.e_type) for name in defaults.STANDARD)
        for at, entry in enumerate(value["contents"]):
            history.append(self._entry(entry, ("contents", at), header, 0))
        symbols: list[Symbol | Dropped] = []
        for at, entry in enumerate(value.get("symbols", ())):
            made = self._entry(entry, ("symbols", at), header, defaults.STB_GLOBAL)
            assert not isinstance(made, Section)
            symbols.append(made)
        description = Description(header, history, symbols, profile)
        self._pins(description)
        self._fills(description)
        references = section_references(description.sections)
        self.sections = {references[id(s)]: s for s in description.sections}
        for section in description.sections:
            self.by_name.setdefault(section.name, section)
        for resolve in (*self.pending, *self.late_shapes):
            resolve()
        self._name_symbols(description)
        for resolve in self.late:
            resolve()
        return description

    def _header(self, given: dict[str, Any], flags: int) -> Header:
        header = Header()
        header.ei_class = ELFCLASS32 if given.get("class") == 32 else ELFCLASS64
        header.ei_osabi = given.get("osabi", header.ei_osabi)
        header.ei_abiversion = given.get("abi", header.ei_abiversion)
        header.ei_version = given.get("ident_version", header.ei_version)
        header.e_type = self._number(
            names.ELF_TYPES, given.get("type", header.e_type), ("header", "type")
        )
        header.e_version = given.get("version", header.e_version)
        header.e_flags = given.get("flags", flags)
        header.e_entry = given.get("entry", header.e_entry)
        if "pad" in given:
            header.ei_pad = self._hex(given["pad"], ("header", "pad"))
            if len(header.ei_pad) != _PAD_BYTES:
                self.refuse(("header", "pad"), f"{len(header.ei_pad)} bytes", f"{_PAD_BYTES}")
        for key, fields in (("pinned", header.pins), ("overrides", header.overrides)):
            fields.update(self.value.get(key, {}))
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
        pins.symbol_words = value.get("symbol_words")
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
            path: Path_ = ("fills", at)
            data = self._hex(fill.get("data", ""), (*path, "data"))
            if "size" in fill:
                data = self._padded(data, fill, path)
            start, end = fill["offset"], fill["offset"] + len(data)
            for other, low, high in spans:
                if start < high and low < end:
                    self.refuse(path, f"overlaps fills[{other}] ({low:#x}..{high:#x})")
            spans.append((at, start, end))
            description.fills.append(Fill(start, data))

    def _padded(self, data: bytes, entry: dict[str, Any], path: Path_) -> bytes:
        """``data`` and as much ``padding`` (zeros) as ``size`` wants."""
        size = entry["size"]
        missing: int = size - len(data)
        if missing < 0:
            self.refuse((*path, "size"), f"{len(data)} bytes do not fit into {size}")
        self._count(missing, (*path, "size"))
        padding = self._hex(entry.get("padding", "00"), (*path, "padding"))
        if not padding or missing % len(padding):
            reason = f"{missing} bytes are no multiple of the padding's {len(padding)}"
            self.refuse((*path, "padding"), reason)
        return data + padding * (missing // len(padding))

    def _count(self, size: int, path: Path_) -> None:
        """Bytes that stand in no document: there must not be too many of them."""
        self.bytes_left -= size
        if self.bytes_left < 0:
            self.refuse(path, "more bytes than a cubin has", f"at most {MAX_BYTES} in all")

    def check_fills(self, description: Description) -> None:
        """Fills must not touch what is laid out."""
        if not description.fills:
            return
        laid_out = layout.plan(description)
        spans = [(0, laid_out.ehdr[7], "the ELF header")]
        width = 64 if laid_out.is_64 else 40
        # without sections there is no table, whatever e_shoff says
        draft = laid_out.draft
        count = len(draft.names) + 1 if draft.names else 0
        shoff = laid_out.tables_at[0]
        spans.append((shoff, shoff + width * count, "the section headers"))
        headers = zip(draft.types, draft.flags, strict=True)
        stored = [occupies_file(sh_type, flags) for sh_type, flags in headers]
        placed = zip(draft.names, laid_out.offsets, laid_out.sizes, stored, strict=True)
        spans += [(offset, offset + size, name) for name, offset, size, held in placed if held]
        for at, fill in enumerate(description.fills):
            if fill.offset + len(fill.data) > laid_out.size:
                reason = f"ends behind the file of {laid_out.size} bytes; file_size makes it longer"
                self.refuse(("fills", at), reason)
            for start, end, what in spans:
                if start < fill.offset + len(fill.data) and fill.offset < end:
                    self.refuse(("fills", at), f"overlaps {what} ({start:#x}..{end:#x})")

    def _name_symbols(self, description: Description) -> None:
        """Number the symbols, for references by name."""
        try:
            planner = layout.Planner(description)
            planner.prepare()
        except CubinError as error:
            self.refuse(self.path(error), error.reason, error.expected)
        self.symbols = SymbolNames([quote_name(name) for name in symbol_names(planner)])

    # -- small things ----------------------------------------------------------------------------

    def _number(self, table: dict[int, str], name: str | int, path: Path_) -> int:
        number = names.value_of(table, name)
        if number is None:
            self.refuse(path, f"unknown name {name}")
        return number

    def _hex(self, text: str | list[str], path: Path_) -> bytes:
        try:
            return parse_hex(text if isinstance(text, str) else " ".join(text))
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

    def _symbol(self, reference: str | int, mercury: bool, path: Path_) -> int:
        """The index of a symbol."""
        if isinstance(reference, int):
            return reference
        table = self.mercury if mercury and self.mercury is not None else self.symbols
        index = table.first.get(reference) if isinstance(reference, str) else None
        if index is None:
            self.refuse(path, f"no symbol is called {reference}")
        return index

    # -- entries ---------------------------------------------------------------------------------

    def _entry(
        self, entry: dict[str, Any], path: Path_, header: Header, bind: int
    ) -> Section | Symbol | Dropped:
        if "section" in entry and "symbol" not in entry:
            return self._section(entry, path, header)
        if "symbol" in entry:
            return self._symbol_entry(entry, path, bind)
        if "erased" in entry:
            self._count(entry["erased"], (*path, "erased"))
            return Dropped("", erased=entry["erased"])
        if "dropped" not in entry:
            self.refuse(path, "this is no section, symbol or dropped name")
        made_as = entry.get("made_as")
        return Dropped(
            self._name(entry["dropped"], (*path, "dropped")),
            entry.get("of_section", False),
            None if made_as is None else self._name(made_as, (*path, "made_as")),
        )

    def _info_and_other(
        self, entry: dict[str, Any], path: Path_, kind: int = 0, bind: int = 0
    ) -> tuple[int, int]:
        kind = self._number(names.SYMBOL_TYPES, entry.get("type", kind), (*path, "type"))
        bind = self._number(names.SYMBOL_BINDS, entry.get("bind", bind), (*path, "bind"))
        other = names.other_value(entry.get("other", 0))
        if other is None:
            self.refuse((*path, "other"), f"unknown {entry['other']}")
        return bind << 4 | kind, other

    def _symbol_entry(self, entry: dict[str, Any], path: Path_, bind: int) -> Symbol:
        symbol = Symbol(
            self._name(entry["symbol"], (*path, "symbol")),
            st_value=entry.get("value", 0),
            in_globals=entry.get("in_globals"),
        )
        if "st_name" in entry:
            symbol.pins["st_name"] = entry["st_name"]
        # names and places are checked at once, what depends on sections when all are known
        self._info_and_other(entry, path)

        def resolve() -> None:
            symbol.section = defaults.symbol_section(symbol.name, self.by_name)
            if "section" in entry:
                symbol.section = self._find(entry["section"], (*path, "section"))
            kind, size = defaults.symbol_shape(symbol.name, symbol.section)
            symbol.st_info, symbol.st_other = self._info_and_other(entry, path, kind, bind)
            symbol.st_size = entry.get("size", size)

        self.late_shapes.append(resolve)
        return symbol

    def _section(self, entry: dict[str, Any], path: Path_, header: Header) -> Section:
        name = self._name(entry["section"], (*path, "section"))
        usual = names.section_defaults(name, header.e_type) or (SHT_PROGBITS, 0, 1, 0)
        flags = usual[1]
        if "flags" in entry:
            flags = self._flags(entry["flags"], (*path, "flags"))
        kind = usual[0]
        if "type" in entry:
            kind = self._number(names.SECTION_TYPES, entry["type"], (*path, "type"))
        align = entry.get("align", usual[2])
        is_placed = "offset" in entry or "shares" in entry
        if (align & (align - 1) or align > MAX_BYTES) and not is_placed:
            self.refuse(
                (*path, "align"), f"{align} is no alignment", f"a power of two to {MAX_BYTES}"
            )
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
            deferred=entry.get("late"),
        )
        if "made_as" in entry:
            section.made_as = self._name(entry["made_as"], (*path, "made_as"))
        overrides = {key: entry[key] for key in entry if key in _HEADER_FIELDS}
        if overrides:
            section.overrides.update(overrides)
        if "offset" in entry:
            section.pins["sh_offset"] = entry["offset"]
        for key in ("link", "info", "shares"):
            if key in entry:
                self.pending.append(self._reference(section, key, entry[key], (*path, key)))
        self.paths.setdefault(name, path)
        section.body = self._body(section, entry, path, header)
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

    def _body(self, section: Section, entry: dict[str, Any], path: Path_, header: Header) -> Body:
        keys = [key for key in _BODY_KEYS if key in entry]
        if "data" in keys and "size" in keys:
            keys.remove("size")
        if set(keys) <= _GRAPH:
            return self._implied(section, entry, path, header)
        if len(keys) != 1:
            reason = f"a section needs one kind of contents, here are {' and '.join(keys)}"
            self.refuse(path, reason)
        key = keys[0]
        is_64 = header.ei_class == ELFCLASS64
        mercury = bool(section.sh_flags & SHF_CUDA_MERCURY)
        where = (*path, key)
        if key == "table":
            return bodies.Computed(entry["table"])
        if key == "size":
            reserved = section.sh_type == SHT_CUDA_RESERVED_SHARED
            if occupies_file(section.sh_type, section.sh_flags) and not reserved:
                self.refuse(where, "sections of this type have bytes; say data or zeros")
            return bodies.NoBytes(entry["size"])
        if key in ("data", "zeros", "file"):
            data = self._data(key, entry[key], where)
            if "size" in entry:
                data = self._padded(data, entry, path)
            if "text" not in entry:
                return bodies.Blob(data)
            capsule = bodies.Capsule(0, data)
            self.pending.append(
                lambda: setattr(capsule, "text", self._find(entry["text"], (*path, "text")))
            )
            return capsule
        if key == "records":
            info = bodies.InfoRecords([])
            # sizes do not depend on the symbols: names are 32-bit indices in every layout
            self._records(section, info, entry["records"], where, resolved=False)
            self.late.append(
                lambda: self._records(section, info, entry["records"], where, resolved=True)
            )
            return info
        if key == "relocations":
            return self._relocations(section, entry["relocations"], where, is_64)
        if key == "pairs":
            return self._pairs(entry["pairs"], where, mercury)
        if key == "notes":
            notes = [
                self._note(section.name, n, (*where, at)) for at, n in enumerate(entry["notes"])
            ]
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

    def _implied(
        self, section: Section, entry: dict[str, Any], path: Path_, header: Header
    ) -> Body:
        """The contents of a section that does not state them, or only lists of a call graph."""
        if section.sh_type in CALLGRAPH_TYPES:
            return self._graph(entry, path, bool(section.sh_flags & SHF_CUDA_MERCURY))
        compat = defaults.compat_records(section, self.value.get("header", {}).get("arch"))
        if compat is not None:
            return bodies.InfoRecords(compat)
        if defaults.bank_size(section, header, {}) is None or _GRAPH & set(entry):
            self.refuse(path, "a section needs one kind of contents, here is nothing")
        bank = bodies.Blob(b"")

        def resolve() -> None:
            bank.data = bytes(defaults.bank_size(section, header, self.by_name) or 0)

        self.pending.append(resolve)
        return bank

    def _data(self, key: str, value: Any, path: Path_) -> bytes:
        if key == "data":
            return self._hex(value, path)
        if key == "zeros":
            self._count(value, path)
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
            return self._symbol(reference, mercury, where) if resolved else 0

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
                self.refuse(where, str(error))
        info.records = found

    def _raw_record(
        self, form: names.RecordForm, entry: dict[str, Any], path: Path_
    ) -> bodies.AttributeRecord:
        code = entry["code"]
        if isinstance(code, str):
            if code not in form.codes:
                self.refuse((*path, "code"), f"no attribute is called {code}")
            code = form.codes[code]
        payload = self._hex(entry.get("payload", ""), (*path, "payload"))
        value = entry.get("value", len(payload))
        if value > 0xFFFF:
            self.refuse((*path, "payload"), "a payload has at most 65535 bytes")
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
                self.refuse((*path, at), f"{len(row)} values", f"{width} values")
            kinds.append(self._number(names.RELOCATION_TYPES, row[1], (*path, at, 1)))
        words = len(entries) * (width - 1)
        body = bodies.Relocations(rela, (0,) * words, is_64)

        def resolve() -> None:
            rows: list[tuple[int, int, int, int | None]] = [
                (
                    entry[0],
                    self._symbol(entry[2], mercury, (*path, at, 2)),
                    kind,
                    entry[3] if rela else None,
                )
                for at, (kind, entry) in enumerate(zip(kinds, entries, strict=True))
            ]
            body.fields = bodies.Relocations.from_rows(rows, rela, is_64).fields

        self.late.append(resolve)
        return body

    def _pairs(self, entries: list[list[Any]], path: Path_, mercury: bool) -> bodies.Pairs:
        body = bodies.Pairs([(0, 0)] * len(entries))
        self.late.append(
            lambda: setattr(body, "rows", list(self._pair_rows(entries, path, mercury)))
        )
        return body

    def _pair_rows(
        self, entries: list[list[Any]], path: Path_, mercury: bool
    ) -> Iterator[tuple[int, int | str]]:
        for at, (a, b) in enumerate(entries):
            where = (*path, at)
            second = (
                self._name(b["signature"], where)
                if isinstance(b, dict)
                else self._symbol(b, mercury, where)
            )
            yield self._symbol(a, mercury, where), second

    def _graph(self, entry: dict[str, Any], path: Path_, mercury: bool) -> bodies.Pairs:
        """A call graph from its lists; absent ones are empty."""
        lists = [(key, entry.get(key, [])) for key in defaults.GRAPH_LISTS]
        body = bodies.Pairs([(0, 0)] * sum([len(rows) + 1 for _, rows in lists]))

        def resolve() -> None:
            body.rows = []
            for marker, (key, rows) in zip(bodies.CALLGRAPH_MARKERS, lists, strict=True):
                body.rows.append((0, marker))
                body.rows.extend(self._pair_rows(rows, (*path, key), mercury))

        self.late.append(resolve)
        return body

    def _unified(self, entries: list[list[Any]], path: Path_, mercury: bool) -> bodies.UftEntries:
        body = bodies.UftEntries([(0, 0, 0, 0, 0)] * len(entries))

        def resolve() -> None:
            body.rows = [
                (self._symbol(row[0], mercury, (*path, at, 0)), *row[1:])
                for at, row in enumerate(entries)
            ]

        self.late.append(resolve)
        return body

    def _mercury_symbols(
        self, entries: list[dict[str, Any]], path: Path_, is_64: bool
    ) -> bodies.MercurySymbols:
        symbols: list[bodies.MercurySymbol] = []
        for at, entry in enumerate(entries):
            info, other = self._info_and_other(entry, (*path, at))
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

    def _note(self, section: str, entry: dict[str, Any], path: Path_) -> bodies.Note:
        kind = entry.get("type", defaults.NOTE_TYPES.get(section))
        if kind is None:
            self.refuse(path, "a note of this section needs a type")
        note = bodies.Note(
            kind,
            self._name(entry.get("owner", defaults.NOTE_OWNER), (*path, "owner")),
            self._descriptor(section, entry, path),
        )
        note.overrides = {key: entry[key] for key in _NOTE_HEADER if key in entry}
        return note

    def _descriptor(
        self, section: str, entry: dict[str, Any], path: Path_
    ) -> bodies.ToolNote | bodies.CuinfoNote | bodies.CuverNote | bodies.RawNote:
        fields = {key: value for key, value in entry.items() if key not in _NOTE_KEYS}
        if "data" in fields:
            if len(fields) > 1:
                self.refuse(path, "a note has data or fields")
            return bodies.RawNote(self._hex(fields["data"], (*path, "data")))
        kind = _DESCRIPTORS.get(section)
        if kind is None:
            self.refuse(path, "a note of this section needs data")
        known = NOTE_FIELDS[kind]
        values: dict[str, Any] = {"note_version": defaults.NOTE_VERSION, "reserved": 0}
        for key, value in fields.items():
            if key not in known:
                self.refuse((*path, key), f"no field of this note: {key}", ", ".join(known))
            values[key] = self._name(value, (*path, key)) if isinstance(value, str) else value
        if kind is bodies.ToolNote:
            values = dict.fromkeys(_TOOL_TEXTS, "") | values
        missing = [key for key in known if key not in values and key != "padding"]
        if missing:
            self.refuse(path, f"{missing[0]} is missing")
        made: bodies.ToolNote | bodies.CuinfoNote | bodies.CuverNote = kind(
            **{key: value for key, value in values.items() if key in known}
        )
        return made


_NOTE_HEADER = ("len_owner", "len_description")
_NOTE_KEYS = frozenset(("type", "owner", *_NOTE_HEADER))
_TOOL_TEXTS = ("object_file", "tool_name", "tool_version", "tool_branch", "arguments")
_DESCRIPTORS: dict[str, Any] = {
    ".note.nv.tkinfo": bodies.ToolNote,
    ".note.nv.cuinfo": bodies.CuinfoNote,
    ".note.nv.cuver": bodies.CuverNote,
}
