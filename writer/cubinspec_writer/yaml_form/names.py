"""Names for numbers in the YAML form, from the tables of the spec."""

from __future__ import annotations

from struct import calcsize, iter_unpack, pack, unpack
from struct import error as StructError
from typing import TYPE_CHECKING, Any

from cubinspec.format.packing import memory_space
from cubinspec.model.section import kind_row
from cubinspec_generated.codes import (
    EIFMT_BVAL,
    EIFMT_HVAL,
    EIFMT_NVAL,
    EIFMT_SVAL,
    ELFCLASS64,
    EMFMT_INDEX,
    EMFMT_STRING,
    EMFMT_WORD,
    ET_EXEC,
    STO_CUDA_ENTRY,
    STO_CUDA_MANAGED,
    STO_CUDA_OBSCURE,
    STO_CUDA_SPACE_SHIFT,
    STO_CUDA_VISIBILITY_MASK,
)
from cubinspec_generated.tables import compat, eiattr, elf_header, relocations, sections, symbols
from cubinspec_writer.yaml_form.text import Flow, Hex

if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec_generated.rows import Layout
    from cubinspec_writer.emitter.bodies import AttributeRecord

ELF_TYPES = elf_header.TYPE_NAMES
SECTION_TYPES = sections.TYPE_NAMES
SECTION_FLAGS = sections.FLAG_NAMES
SYMBOL_TYPES = symbols.TYPE_NAMES
SYMBOL_BINDS = symbols.BIND_NAMES
RELOCATION_TYPES = relocations.NAMES
SPECIAL_SECTIONS = symbols.SPECIAL_SECTIONS

_VISIBILITY = symbols.VISIBILITY_NAMES
_SPACES = {n: symbols.SPACE_NAMES.get(n, f"STO_CUDA_SPACE_{n}") for n in range(8)}
_OTHER_BITS = {STO_CUDA_MANAGED: "MANAGED", STO_CUDA_OBSCURE: "OBSCURE", STO_CUDA_ENTRY: "ENTRY"}


#: Key of a value of ``.nv.metadata``, by its format.
METADATA_KEYS = {EMFMT_WORD: "word", EMFMT_INDEX: "index", EMFMT_STRING: "text"}
METADATA_TEXT = METADATA_KEYS[EMFMT_STRING]


def word_of(ei_class: int) -> int:
    """Bytes of an address in files of a class."""
    return 8 if ei_class == ELFCLASS64 else 4


def name_of(names: dict[int, str], value: int) -> str | int:
    """The name of a value, or the value."""
    return names.get(value, Hex(value))


def value_of(names: dict[int, str], name: str | int) -> int | None:
    """The inverse of :func:`name_of`; ``None`` for an unknown name."""
    if isinstance(name, int):
        return name
    for value, own_name in names.items():
        if own_name == name:
            return value
    return None


def flag_names(flags: int) -> Flow:
    """Section flags as names, the rest as one number."""
    found: list[str | int] = []
    for bit, name in SECTION_FLAGS.items():
        if flags & bit == bit:
            found.append(name)
            flags &= ~bit
    if flags:
        found.append(Hex(flags))
    return Flow(found)


def other_names(other: int) -> Flow:
    """``st_other`` as visibility, bits and memory space; what is zero is left out."""
    found: list[str] = []
    visibility, space = other & STO_CUDA_VISIBILITY_MASK, memory_space(other)
    if visibility:
        found.append(_VISIBILITY[visibility])
    found.extend(name for bit, name in _OTHER_BITS.items() if other & bit)
    if space:
        found.append(_SPACES[space])
    return Flow(found)


def other_value(parts: list[str] | int) -> int | None:
    """The inverse of :func:`other_names`; ``None`` for an unknown name."""
    if isinstance(parts, int):
        return parts
    values = {name: value for value, name in _VISIBILITY.items()}
    values.update({name: bit for bit, name in _OTHER_BITS.items()})
    values.update({name: value << STO_CUDA_SPACE_SHIFT for value, name in _SPACES.items()})
    value = 0
    for part in parts:
        if part not in values:
            return None
        value |= values[part]
    return value


def section_defaults(name: str, e_type: int) -> tuple[int, int, int, int] | None:
    """Type, flags, alignment and entry size that a section of this name usually has."""
    found = kind_row(name)
    if found is None:
        return None
    kind = found[1]
    sh_type = kind.executable if e_type == ET_EXEC else kind.relocatable
    return sh_type, kind.flags, kind.aligns[0] if kind.aligns else 1, kind.entsize


class RecordForm:
    """Attribute records as ``NAME: value`` by the layouts of the tables.

    Args:
        is_compat: ``.nv.compat`` instead of ``.nv.info``.
        to_name: symbol index to reference; ``to_index`` is its inverse.
    """

    names: dict[int, str]
    codes: dict[str, int]
    layouts: dict[int, Layout]

    def __init__(
        self,
        is_compat: bool,
        to_name: Callable[[int], str | int],
        to_index: Callable[[str | int], int],
    ) -> None:
        table = compat if is_compat else eiattr
        self.names = table.NAMES
        self.codes = {name: code for code, name in table.NAMES.items()}
        self.layouts = {code: row.layout for code, row in table.ATTRIBUTES.items()}
        self.to_name = to_name
        self.to_index = to_index

    def encode(self, record: AttributeRecord) -> dict[str, Any]:
        """A record for the document."""
        form, code, value, payload = record
        name = self.names.get(code)
        if name is not None:
            try:
                body = self._body(record)
            except (StructError, ValueError):
                body = _NOTHING
            if body is not _NOTHING and self.decode(name, body) == record:
                return {name: body}
        raw: dict[str, Any] = {"code": Hex(code) if name is None else name, "format": form}
        if form == EIFMT_SVAL:
            raw["payload"] = payload
        else:
            raw["value"] = Hex(value)
        return {"record": Flow(raw)}

    def _layout(self, code: int) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
        """Kind, `struct` format, names and meanings of the fields of an attribute's payload."""
        layout = self.layouts.get(code, eiattr.UNKNOWN.layout)
        return layout.kind, layout.format, layout.names, layout.references

    def _body(self, record: AttributeRecord) -> Any:
        form, code, value, payload = record
        shape, layout, fields, semantics = self._layout(code)
        if shape == "none" and form == EIFMT_NVAL:
            return None
        if shape == "inline":
            values = unpack(layout, pack("<H", value)[: calcsize(layout)])
            return self._fields(values, fields, semantics)
        if shape == "struct" and calcsize(layout) == len(payload):
            return self._fields(unpack(layout, payload), fields, semantics)
        if shape == "array" and len(payload) % calcsize(layout) == 0:
            rows = [self._row(row, semantics) for row in iter_unpack(layout, payload)]
            return Flow([row[0] for row in rows] if len(fields) == 1 else rows)
        return _NOTHING

    def _row(self, values: tuple[Any, ...], semantics: tuple[str, ...]) -> list[Any]:
        return [
            self.to_name(value)
            if semantic == "symbol"
            else Hex(value)
            if semantic == "code"
            else value
            for value, semantic in zip(values, semantics, strict=True)
        ]

    def _fields(
        self, values: tuple[Any, ...], fields: tuple[str, ...], semantics: tuple[str, ...]
    ) -> Any:
        row = self._row(values, semantics)
        return row[0] if len(fields) == 1 else Flow(dict(zip(fields, row, strict=True)))

    def decode(self, name: str, body: Any) -> AttributeRecord:
        """A record from the document.

        Raises:
            ValueError: the value does not fit the layout of the attribute.
        """
        code = self.codes.get(name)
        if code is None:
            raise ValueError(f"no attribute is called {name!r}")
        shape, layout, fields, semantics = self._layout(code)
        body = body.value if isinstance(body, Flow) else body
        if shape == "none":
            if body is not None:
                raise ValueError(f"{name} has no value")
            return EIFMT_NVAL, code, 0, b""
        if shape == "array":
            if not isinstance(body, list):
                raise ValueError(f"{name} needs a list")
            rows = [[row] if len(fields) == 1 else row for row in body]
            payload = b"".join([self._pack(layout, row, semantics) for row in rows])
            return EIFMT_SVAL, code, len(payload), payload
        if shape not in ("inline", "struct"):
            raise ValueError(f"{name} has no known fields; write it as a record with a payload")
        if len(fields) == 1:
            values = [body]
        elif isinstance(body, dict) and set(body) == set(fields):
            values = [body[field] for field in fields]
        else:
            raise ValueError(f"{name} needs exactly the fields {', '.join(fields)}")
        payload = self._pack(layout, values, semantics)
        if shape == "struct":
            return EIFMT_SVAL, code, len(payload), payload
        form = EIFMT_BVAL if len(payload) == 1 else EIFMT_HVAL
        return form, code, int.from_bytes(payload, "little"), b""

    def _pack(self, layout: str, values: list[Any], semantics: tuple[str, ...]) -> bytes:
        if not isinstance(values, list) or len(values) != len(semantics):
            raise ValueError(f"{len(semantics)} numbers are needed")
        numbers = [
            self.to_index(value) if semantic == "symbol" else value
            for value, semantic in zip(values, semantics, strict=True)
        ]
        try:
            return pack(layout, *numbers)
        except StructError as error:
            raise ValueError(f"a value is out of range: {error}") from error


_NOTHING = object()
