"""A description as a YAML document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cubinspec.format.sections import CALLGRAPH_TYPES
from cubinspec_generated.codes import (
    SHF_CUDA_MERCURY,
    SHF_EXECINSTR,
    SHN_UNDEF,
    SHT_CUDA_COMPAT_INFO,
    ST_BIND_SHIFT,
    ST_TYPE_MASK,
    STB_GLOBAL,
    STB_LOCAL,
    STT_NOTYPE,
)
from cubinspec_writer.emitter import bodies, emit, layout
from cubinspec_writer.emitter.describe import describe
from cubinspec_writer.emitter.model import Description, Dropped, Header, Section, Symbol
from cubinspec_writer.emitter.roundtrip import unwritable
from cubinspec_writer.yaml_form import debug, defaults, names
from cubinspec_writer.yaml_form.references import SymbolNames, section_references, symbol_names
from cubinspec_writer.yaml_form.text import Flow, Hex, quote_name, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec_writer.emitter.bodies import MetadataNode
    from cubinspec_writer.emitter.model import Body

FORMAT = 1
#: Key of a section's place; ``sh_offset`` is the header field alone.
_PLACE = "offset"
#: Code ends in at least this many equal instructions before they are written as padding.
_PADDING_RUN = 3
_INSTRUCTION = 16


def to_yaml(
    data: bytes, file: str = "<bytes>", side_file: Callable[[str, bytes], str | None] | None = None
) -> str:
    """The YAML form of a cubin.

    Args:
        side_file: gets a section name and its bytes; returns the name of the file it put them
            into, or ``None`` to have them as hexadecimal digits.

    Raises:
        CubinError: ``data`` is not a well-formed cubin, or cannot be written back byte for byte.
    """
    description = describe(data, file)
    if emit(description) != data:
        raise unwritable(file)
    return write(to_document(description, side_file))


def to_document(
    description: Description, side_file: Callable[[str, bytes], str | None] | None = None
) -> dict[str, Any]:
    """The document of a description, for ``text.write``."""
    return _Dumper(description, side_file).run()


class _Dumper:
    def __init__(
        self,
        description: Description,
        side_file: Callable[[str, bytes], str | None] | None,
    ) -> None:
        self.description = description
        self.side_file = side_file
        self.arch = defaults.arch_name(description.header, description.profile)
        planner = layout.Planner(description)
        planner.prepare()
        self.references = section_references(description.sections)
        self.by_name: dict[str, Section] = {}
        for section in description.sections:
            self.by_name.setdefault(section.name, section)
        self.debug = debug.Forms(names.word_of(description.header.ei_class), self.by_name)
        self.symbols = SymbolNames(symbol_names(planner))
        self.mercury = self.symbols
        for section in description.sections:
            if isinstance(section.body, bodies.MercurySymbols):
                self.mercury = SymbolNames(["", *(s.name for s in section.body.symbols)])

    def run(self) -> dict[str, Any]:
        description = self.description
        header = description.header
        document: dict[str, Any] = {
            "cubin": FORMAT,
            "profile": description.profile,
            "header": self._header(),
        }
        history = description.history
        if [e.name for e in history[:3]] == [*defaults.STANDARD] and all(
            isinstance(entry, Section) and self._is_standard(entry) for entry in history[:3]
        ):
            history = history[3:]
        else:
            document["standard_tables"] = False
        document["contents"] = [self._entry(entry, STB_LOCAL) for entry in history]
        if description.symbols:
            document["symbols"] = [self._entry(entry, STB_GLOBAL) for entry in description.symbols]
        document.update(self._pins())
        if description.fills:
            document["fills"] = [
                {"offset": Hex(fill.offset), "data": fill.data} for fill in description.fills
            ]
        for key, fields in (("pinned", header.pins), ("overrides", header.overrides)):
            if fields:
                document[key] = {name: Hex(value) for name, value in fields.items()}
        return document

    def _header(self) -> Flow:
        header, usual = self.description.header, Header()
        fields: dict[str, Any] = {"type": names.name_of(names.ELF_TYPES, header.e_type)}
        if self.arch is None:
            fields["flags"] = Hex(header.e_flags)
        else:
            fields["arch"] = self.arch
        if header.ei_class != usual.ei_class:
            fields["class"] = 32
        if header.ei_osabi != usual.ei_osabi:
            fields["osabi"] = Hex(header.ei_osabi)
        if header.ei_abiversion != usual.ei_abiversion:
            fields["abi"] = header.ei_abiversion
        if header.e_version != usual.e_version:
            fields["version"] = Hex(header.e_version)
        if header.e_entry:
            fields["entry"] = Hex(header.e_entry)
        if header.ei_version != 1:
            fields["ident_version"] = header.ei_version
        if any(header.ei_pad):
            fields["pad"] = header.ei_pad
        return Flow(fields)

    def _pins(self) -> dict[str, Any]:
        pins = self.description.pins
        found: dict[str, Any] = {}
        if pins.index_order is not None:
            found["index_order"] = Flow(list(pins.index_order))
        if pins.symbol_order is not None:
            found["symbol_order"] = Flow(list(pins.symbol_order))
        if pins.symbol_words is not None:
            found["symbol_words"] = Flow(list(pins.symbol_words))
        for key, table in (("section_names", pins.shstrtab), ("symbol_names", pins.strtab)):
            if table is not None:
                found[key] = table
        if pins.segments is not None:
            found["segments"] = [Flow(list(row)) for row in pins.segments]
        if pins.null_section is not None:
            found["null_section"] = Flow(list(pins.null_section))
        if pins.file_size is not None:
            found["file_size"] = pins.file_size
        return found

    # -- entries ---------------------------------------------------------------------------------

    def _is_standard(self, section: Section) -> bool:
        shown = self._section(section)
        return set(shown) == {"section", "table"} and shown["table"] == section.name[1:]

    def _entry(self, entry: Section | Symbol | Dropped, bind: int) -> Any:
        if isinstance(entry, Section):
            return self._section(entry)
        if isinstance(entry, Symbol):
            return self._symbol(entry, bind)
        fields: dict[str, Any] = {}
        if entry.erased:
            return Flow({"erased": entry.erased})
        fields["dropped"] = quote_name(entry.name)
        if entry.in_shstrtab:
            fields["of_section"] = True
        if entry.made_as is not None:
            fields["made_as"] = quote_name(entry.made_as)
        return Flow(fields)

    def _refer(self, section: Section | int) -> str | int:
        return Hex(section) if isinstance(section, int) else self.references[id(section)]

    def _symbol(self, symbol: Symbol, bind: int) -> Flow:
        section = defaults.symbol_section(symbol.name, self.by_name)
        shape = defaults.symbol_shape(symbol.name, symbol.section)
        fields = self._symbol_fields(symbol, bind, section, shape)
        if symbol.in_globals is not None:
            fields["in_globals"] = symbol.in_globals
        if "st_name" in symbol.pins:
            fields["st_name"] = Hex(symbol.pins["st_name"])
        return Flow(fields)

    def _symbol_fields(
        self,
        symbol: Symbol | bodies.MercurySymbol,
        bind: int = STB_LOCAL,
        section: Section | int = SHN_UNDEF,
        shape: tuple[int, int] = (STT_NOTYPE, 0),
    ) -> dict[str, Any]:
        """What differs from the usual binding, section, type and size."""
        fields: dict[str, Any] = {"symbol": quote_name(symbol.name)}
        usual_kind, usual_size = shape
        kind, own_bind = symbol.st_info & ST_TYPE_MASK, symbol.st_info >> ST_BIND_SHIFT
        if kind != usual_kind:
            fields["type"] = names.name_of(names.SYMBOL_TYPES, kind)
        if own_bind != bind:
            fields["bind"] = names.name_of(names.SYMBOL_BINDS, own_bind)
        if symbol.st_other:
            fields["other"] = names.other_names(symbol.st_other)
        if symbol.section != section:
            fields["section"] = self._refer(symbol.section)
        if symbol.st_value:
            fields["value"] = Hex(symbol.st_value)
        if symbol.st_size != usual_size:
            fields["size"] = Hex(symbol.st_size)
        return fields

    def _section(self, section: Section) -> dict[str, Any]:
        fields: dict[str, Any] = {"section": quote_name(section.name)}
        usual = names.section_defaults(section.name, self.description.header.e_type)
        actual = (
            section.sh_type, section.sh_flags, section.sh_addralign, section.sh_entsize,
        )  # fmt: skip
        shown = (
            names.name_of(names.SECTION_TYPES, section.sh_type),
            names.flag_names(section.sh_flags),
            section.sh_addralign,
            section.sh_entsize,
        )
        for at, key in enumerate(("type", "flags", "align", "entsize")):
            if usual is None or usual[at] != actual[at]:
                fields[key] = shown[at]
        if section.sh_addr:
            fields["addr"] = Hex(section.sh_addr)
        if section.registers:
            fields["registers"] = section.registers
        for key, reference in (("link", section.link), ("info", section.info)):
            if reference is not None:
                fields[key] = self._refer(reference)
        if section.has_symbol is not None:
            fields["has_symbol"] = section.has_symbol
        if section.shares is not None:
            shares = section.shares
            fields["shares"] = shares if isinstance(shares, bool) else self._refer(shares)
        if section.deferred is not None:
            fields["late"] = section.deferred
        if section.made_as is not None:
            fields["made_as"] = quote_name(section.made_as)
        for key, value in section.pins.items():
            fields[_PLACE if key == "sh_offset" else key] = Hex(value)
        for key, value in section.overrides.items():
            fields[key] = Hex(value)
        fields.update(self._body(section))
        return fields

    # -- bodies ----------------------------------------------------------------------------------

    def _body(self, section: Section) -> dict[str, Any]:
        body = section.body
        mercury = bool(section.sh_flags & SHF_CUDA_MERCURY)
        symbols = self.mercury if mercury else self.symbols
        if isinstance(body, bodies.Computed):
            return {"table": body.kind}
        if isinstance(body, bodies.NoBytes):
            return {"size": body.size}
        if isinstance(body, bodies.Blob):
            bank = defaults.bank_size(section, self.description.header, self.by_name)
            if bank == len(body.data) == body.data.count(0):
                return {}
            decoded = self.debug.shown(section.name, body.data)
            return self._data(section, body.data) if decoded is None else decoded
        if isinstance(body, bodies.InfoRecords):
            if body.records == defaults.compat_records(section, self.arch):
                return {}
            form = names.RecordForm(
                section.sh_type == SHT_CUDA_COMPAT_INFO, symbols.to_name, symbols.to_index
            )
            return {"records": [form.encode(record) for record in body.records]}
        if isinstance(body, bodies.Relocations):
            return {"relocations": [self._relocation(row, symbols) for row in body.rows()]}
        if isinstance(body, bodies.Pairs):
            return self._pairs(section, body, symbols)
        if isinstance(body, bodies.Capsule):
            return {"text": self._refer(body.text), **self._data(section, body.data)}
        return self._table(section, body, symbols)

    def _table(self, section: Section, body: Body, symbols: SymbolNames) -> dict[str, Any]:
        """The rows of a section that has few of them."""
        if isinstance(body, bodies.Notes):
            shown: dict[str, Any] = {"notes": [_note(note, section.name) for note in body.notes]}
            if not body.padded:
                shown["padded"] = False
            return shown
        if isinstance(body, bodies.RelocActions):
            return {
                "base_type": names.name_of(names.RELOCATION_TYPES, body.base_type),
                **({"reserved": Hex(body.reserved)} if body.reserved else {}),
                "actions": [Flow(list(row)) for row in body.actions],
            }
        if isinstance(body, bodies.UftEntries):
            rows = [[symbols.to_name(symbol), *others] for symbol, *others in body.rows]
            return {"unified": [Flow(row) for row in rows]}
        if isinstance(body, bodies.Metadata):
            return {"metadata": [_node(node) for node in body.nodes]}
        assert isinstance(body, bodies.MercurySymbols)
        return {"symbols": [self._mercury_symbol(symbol) for symbol in body.symbols]}

    def _data(self, section: Section, data: bytes) -> dict[str, Any]:
        if self.side_file is not None:
            file = self.side_file(section.name, data)
            if file is not None:
                return {"file": file}
        if data and data.count(0) == len(data):
            return {"zeros": len(data)}
        if section.sh_flags & SHF_EXECINSTR:
            last = data[-_INSTRUCTION:]
            end = len(data)
            while end >= _INSTRUCTION and data[end - _INSTRUCTION : end] == last:
                end -= _INSTRUCTION
            if len(data) - end >= _PADDING_RUN * _INSTRUCTION:
                return {"data": data[:end], "padding": last, "size": len(data)}
        return {"data": data}

    def _mercury_symbol(self, symbol: bodies.MercurySymbol) -> Flow:
        fields = self._symbol_fields(symbol)
        if symbol.st_name is not None:
            fields["st_name"] = Hex(symbol.st_name)
        return Flow(fields)

    def _relocation(self, row: tuple[int, int, int, int | None], symbols: SymbolNames) -> Flow:
        offset, symbol, kind, addend = row
        shown = [
            Hex(offset),
            names.name_of(names.RELOCATION_TYPES, kind),
            symbols.to_name(symbol),
        ]
        if addend is not None:
            shown.append(addend)
        return Flow(shown)

    def _pairs(self, section: Section, body: bodies.Pairs, symbols: SymbolNames) -> dict[str, Any]:
        lists = None
        if section.sh_type in CALLGRAPH_TYPES:
            lists = defaults.graph_lists(body.rows)
        if lists is None:
            return {"pairs": [self._pair(row, symbols) for row in body.rows]}
        return {
            key: [self._edge(row, symbols) for row in rows]
            for key, rows in zip(defaults.GRAPH_LISTS, lists, strict=True)
            if rows
        }

    def _pair(self, row: tuple[int, int | str], symbols: SymbolNames) -> Flow:
        """A caller and a callee or signature; list markers and offsets stay numbers."""
        caller, callee = row
        if caller == 0 and not isinstance(callee, str):
            return Flow([0, Hex(callee)])
        return self._edge(row, symbols)

    def _edge(self, row: tuple[int, int | str], symbols: SymbolNames) -> Flow:
        caller, callee = row
        if isinstance(callee, str):
            return Flow([symbols.to_name(caller), {"signature": quote_name(callee)}])
        return Flow([symbols.to_name(caller), symbols.to_name(callee)])


def _node(node: MetadataNode) -> Flow:
    number, name, values = node
    shown: dict[str, Any] = {"node": number, "name": _text(name)}
    if values:
        shown["values"] = [_metadata_value(form, value) for form, value in values]
    return Flow(shown)


def _metadata_value(form: int, value: int | str) -> dict[str, Any]:
    key = names.METADATA_KEYS.get(form)
    if key is None or (key == names.METADATA_TEXT) != isinstance(value, str):
        return {"format": form, "value": value}
    return {key: _text(value)}


def _text(value: int | str) -> int | str:
    return quote_name(value) if isinstance(value, str) else value


def _note(note: bodies.Note, section: str) -> Any:
    shown: dict[str, Any] = {}
    if note.kind != defaults.NOTE_TYPES.get(section):
        shown["type"] = note.kind
    if note.owner != defaults.NOTE_OWNER:
        shown["owner"] = quote_name(note.owner)
    shown |= {field: Hex(value) for field, value in note.overrides.items()}
    descriptor = note.descriptor
    if isinstance(descriptor, bodies.RawNote):
        shown["data"] = descriptor.data
        return shown
    usual = {"note_version": defaults.NOTE_VERSION, "reserved": 0, "padding": None}
    for field in type(descriptor).__match_args__:
        value = getattr(descriptor, field)
        if value != usual.get(field, ""):
            shown[field] = quote_name(value) if isinstance(value, str) else value
    return shown
