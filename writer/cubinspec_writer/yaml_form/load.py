"""A YAML document as a description, and as a file."""

from __future__ import annotations

import json
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cubinspec.errors import CubinError
from cubinspec.format.sections import occupies_file
from cubinspec_generated import record_fields
from cubinspec_generated.codes import (
    ELFCLASS32,
    ELFCLASS64,
    SHT_NULL,
    SHT_PROGBITS,
    STB_GLOBAL,
    STB_LOCAL,
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
from cubinspec_writer.yaml_form.load_bodies import BodyLoader
from cubinspec_writer.yaml_form.lookup import MAX_ALIGNMENT, Lookup
from cubinspec_writer.yaml_form.text import Document, YamlError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec_writer.yaml_form.lookup import Path_

SCHEMA = Path(__file__).with_name("cubin.schema.json")
#: More errors than this are not looked at to find the one that is shown.
_MAX_ERRORS = 100
_PAD_BYTES = 7
_HEADER_FIELDS = frozenset(record_fields.SECTION_HEADER_64_FIELDS)


def from_yaml(text: str, file: str = "<yaml>", folder: Path | None = None) -> bytes:
    """The file that a document stands for.

    Args:
        file: name for messages.
        folder: where side files are looked up; without it they are refused.

    Raises:
        YamlError: the document breaks the schema, contradicts itself or cannot be laid out; the
            message names the path in the document, line and column.
    """
    return from_document(Document(text, file), folder)


def from_document(document: Document, folder: Path | None = None) -> bytes:
    """As :func:`from_yaml`, of a document that is parsed."""
    loader = _Loader(document, folder)
    description = loader.run()
    try:
        loader.check_fills(description)
        return emit(description, loader.lookup.largest)
    except YamlError:
        raise
    except CubinError as error:
        raise document.error(loader.lookup.path(error), error.reason, error.expected) from error


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
        allowed = error.schema.get("properties", {})
        unknown = next(key for key in error.instance if key not in allowed)
        expected = f"one of {', '.join(allowed)}"
        raise document.error((*path, unknown), f"no such key: {unknown[:80]}", expected)
    raise document.error(path, error.message[:200])


class _Loader:
    """Makes the description of one document."""

    def __init__(self, document: Document, folder: Path | None) -> None:
        _validate(document)
        self.value: dict[str, Any] = document.value
        self.lookup = Lookup(document, folder)
        self.bodies = BodyLoader(self.lookup)

    # -- the whole -------------------------------------------------------------------------------

    def run(self) -> Description:
        value = self.value
        given = value.get("header", {})
        sm = None
        if "arch" in given:
            sm = defaults.sm_of(given["arch"])
            if sm is None:
                self.lookup.refuse(("header", "arch"), f"no architecture is called {given['arch']}")
        profile = value.get("profile", defaults.profile_of(sm))
        if profile not in PRODUCERS:
            self.lookup.refuse(("profile",), f"unknown profile {profile!r}", ", ".join(PRODUCERS))
        header = self._header(given, 0 if sm is None else defaults.arch_flags(sm, profile))
        history: list[Section | Symbol | Dropped] = []
        if value.get("standard_tables", True):
            history.extend(self._standard(name, header.e_type) for name in defaults.STANDARD)
        for at, entry in enumerate(value["contents"]):
            history.append(self._entry(entry, ("contents", at), header, STB_LOCAL))
        symbols: list[Symbol | Dropped] = []
        for at, entry in enumerate(value.get("symbols", ())):
            made = self._entry(entry, ("symbols", at), header, STB_GLOBAL)
            assert not isinstance(made, Section)
            symbols.append(made)
        description = Description(header, history, symbols, profile)
        self._pins(description)
        self._fills(description)
        self.lookup.resolve(description)
        return description

    def _header(self, given: dict[str, Any], flags: int) -> Header:
        header = Header()
        header.ei_class = ELFCLASS32 if given.get("class") == 32 else ELFCLASS64
        header.ei_osabi = given.get("osabi", header.ei_osabi)
        header.ei_abiversion = given.get("abi", header.ei_abiversion)
        header.ei_version = given.get("ident_version", header.ei_version)
        header.e_type = self.lookup.number(
            names.ELF_TYPES, given.get("type", header.e_type), ("header", "type")
        )
        header.e_version = given.get("version", header.e_version)
        header.e_flags = given.get("flags", flags)
        header.e_entry = given.get("entry", header.e_entry)
        if "pad" in given:
            header.ei_pad = self.lookup.hex(given["pad"], ("header", "pad"))
            if len(header.ei_pad) != _PAD_BYTES:
                self.lookup.refuse(
                    ("header", "pad"), f"{len(header.ei_pad)} bytes", f"{_PAD_BYTES}"
                )
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
                self.lookup.refuse(("index_order",), "not every section stands here once")
            pins.index_order = order
        if "symbol_order" in value:
            pins.symbol_order = value["symbol_order"]
        pins.symbol_words = value.get("symbol_words")
        for key, field in (("section_names", "shstrtab"), ("symbol_names", "strtab")):
            if key in value:
                setattr(pins, field, self.lookup.hex(value[key], (key,)))
        if "segments" in value:
            pins.segments = [tuple(row) for row in value["segments"]]
        if "null_section" in value:
            pins.null_section = tuple(value["null_section"])
        pins.file_size = value.get("file_size")

    def _fills(self, description: Description) -> None:
        spans: list[tuple[int, int, int]] = []
        for at, fill in enumerate(self.value.get("fills", ())):
            path: Path_ = ("fills", at)
            data = self.lookup.hex(fill.get("data", ""), (*path, "data"))
            if "size" in fill:
                data = self.lookup.padded(data, fill, path)
            spans.append((fill["offset"], fill["offset"] + len(data), at))
            description.fills.append(Fill(fill["offset"], data))
        spans.sort()
        for (low, high, one), (start, _, other) in pairwise(spans):
            if start < high:
                reason = f"overlaps fills[{one}] ({low:#x}..{high:#x})"
                self.lookup.refuse(("fills", other), reason)

    def check_fills(self, description: Description) -> None:
        """Fills must not touch what is laid out."""
        if not description.fills:
            return
        laid_out = layout.plan(description)
        spans = [(0, laid_out.ehsize, "the ELF header")]
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
                self.lookup.refuse(("fills", at), reason)
            for start, end, what in spans:
                # what has no bytes may stand anywhere
                if start < end and start < fill.offset + len(fill.data) and fill.offset < end:
                    self.lookup.refuse(("fills", at), f"overlaps {what} ({start:#x}..{end:#x})")

    # -- entries ---------------------------------------------------------------------------------

    def _entry(
        self, entry: dict[str, Any], path: Path_, header: Header, bind: int
    ) -> Section | Symbol | Dropped:
        if "section" in entry and "symbol" not in entry:
            return self._section(entry, path, header)
        if "symbol" in entry:
            return self._symbol_entry(entry, path, bind)
        if "erased" in entry:
            self.lookup.count(entry["erased"], (*path, "erased"))
            return Dropped("", erased=entry["erased"])
        if "dropped" not in entry:
            self.lookup.refuse(path, "this is no section, symbol or dropped name")
        made_as = entry.get("made_as")
        return Dropped(
            self.lookup.name(entry["dropped"], (*path, "dropped")),
            entry.get("of_section", False),
            None if made_as is None else self.lookup.name(made_as, (*path, "made_as")),
        )

    def _symbol_entry(self, entry: dict[str, Any], path: Path_, bind: int) -> Symbol:
        symbol = Symbol(
            self.lookup.name(entry["symbol"], (*path, "symbol")),
            st_value=entry.get("value", 0),
            in_globals=entry.get("in_globals"),
        )
        if "st_name" in entry:
            symbol.pins["st_name"] = entry["st_name"]
        # names are checked now, and what depends on sections once all sections are there
        self.lookup.info_and_other(entry, path)

        def resolve() -> None:
            symbol.section = defaults.symbol_section(symbol.name, self.lookup.by_name)
            if "section" in entry:
                symbol.section = self.lookup.find(entry["section"], (*path, "section"))
            kind, size = defaults.symbol_shape(symbol.name, symbol.section)
            symbol.st_info, symbol.st_other = self.lookup.info_and_other(entry, path, kind, bind)
            symbol.st_size = entry.get("size", size)

        self.lookup.after_sizes.append(resolve)
        return symbol

    def _section(self, entry: dict[str, Any], path: Path_, header: Header) -> Section:
        name = self.lookup.name(entry["section"], (*path, "section"))
        usual = names.section_defaults(name, header.e_type) or (SHT_PROGBITS, 0, 1, 0)
        kind, flags, align, entsize = usual
        if "flags" in entry:
            flags = self._flags(entry["flags"], (*path, "flags"))
        if "type" in entry:
            kind = self.lookup.number(names.SECTION_TYPES, entry["type"], (*path, "type"))
        align = entry.get("align", align)
        is_placed = "offset" in entry or "shares" in entry or kind == SHT_NULL
        if (align & (align - 1) or align > MAX_ALIGNMENT) and not is_placed:
            self.lookup.refuse(
                (*path, "align"), f"{align} is no alignment", f"a power of two to {MAX_ALIGNMENT}"
            )
        section = Section(
            name,
            kind,
            bodies.Blob(b""),
            flags,
            entry.get("addr", 0),
            align,
            entry.get("entsize", entsize),
            registers=entry.get("registers", 0),
            has_symbol=entry.get("has_symbol"),
            deferred=entry.get("late"),
        )
        if "made_as" in entry:
            section.made_as = self.lookup.name(entry["made_as"], (*path, "made_as"))
        overrides = {key: entry[key] for key in entry if key in _HEADER_FIELDS}
        if overrides:
            section.overrides.update(overrides)
        if "offset" in entry:
            section.pins["sh_offset"] = entry["offset"]
        for key in ("link", "info", "shares"):
            if key in entry:
                self.lookup.after_sections.append(
                    self._reference(section, key, entry[key], (*path, key))
                )
        self.lookup.paths.setdefault(name, path)
        section.body = self.bodies.body(section, entry, path, header)
        return section

    def _reference(
        self, section: Section, key: str, reference: str | int | bool, path: Path_
    ) -> Callable[[], None]:
        if isinstance(reference, bool):
            return lambda: setattr(section, key, reference)
        return lambda: setattr(section, key, self.lookup.find(reference, path))

    def _flags(self, parts: list[str | int] | int, path: Path_) -> int:
        if isinstance(parts, int):
            return parts
        flags = 0
        for at, part in enumerate(parts):
            flags |= self.lookup.number(names.SECTION_FLAGS, part, (*path, at))
        return flags
