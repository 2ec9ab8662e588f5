"""Attribute records (EIATTR, EICOMPAT) with the payload layouts of the tables."""

from __future__ import annotations

from struct import calcsize, iter_unpack, unpack_from

from cubinspec.format.attributes import info_rows
from cubinspec.format.sections import INFO_TYPES
from cubinspec.values import FrozenValue
from cubinspec_generated.codes import EIFMT_SVAL, SHT_CUDA_COMPAT_INFO
from cubinspec_generated.tables import compat as compat_table
from cubinspec_generated.tables import eiattr as table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.reader.elf import Elf
    from cubinspec_generated.rows import Layout, Tagged, Tail

#: Code by name.
CODE: dict[str, int] = {name: code for code, name in table.NAMES.items()}


class InfoRecord(FrozenValue):
    """One attribute record.

    Attributes:
        offset: absolute offset of the record.
        format: format byte; only 4 (``EIFMT_SVAL``) has a payload.
        code: attribute code.
        value: the header's 16-bit word: the value itself, for ``EIFMT_SVAL`` the payload's size.
        payload: the payload, empty for the other formats.
        is_compat: whether it stands in ``.nv.compat``, which has codes of its own.
    """

    __match_args__ = ("offset", "format", "code", "value", "payload", "is_compat")
    __slots__ = __match_args__
    offset: int
    format: int
    code: int
    value: int
    payload: bytes
    is_compat: bool

    def __init__(
        self,
        offset: int,
        format: int,
        code: int,
        value: int,
        payload: bytes = b"",
        is_compat: bool = False,
    ) -> None:
        put = object.__setattr__
        put(self, "offset", offset)
        put(self, "format", format)
        put(self, "code", code)
        put(self, "value", value)
        put(self, "payload", payload)
        put(self, "is_compat", is_compat)

    def __repr__(self) -> str:
        return f"<{self.name or f'attribute {self.code:#x}'}>"

    @property
    def name(self) -> str | None:
        """``EIATTR_…`` or ``EICOMPAT_ATTR_…``; ``None`` for a code nobody has named."""
        names = compat_table.NAMES if self.is_compat else table.NAMES
        return names.get(self.code)

    @property
    def format_name(self) -> str | None:
        """``EIFMT_…``; ``None`` for an unknown format."""
        return table.FORMATS.get(self.format)

    @property
    def layout(self) -> Layout | None:
        """The table's layout of the payload; ``None`` for a code outside the table."""
        attributes = compat_table.ATTRIBUTES if self.is_compat else table.ATTRIBUTES
        attribute = attributes.get(self.code)
        return None if attribute is None else attribute.layout

    @property
    def is_tagged(self) -> bool:
        """Whether the payload is made of records that start with a tag."""
        return self.tagged is not None

    @property
    def tagged(self) -> Tagged | None:
        """The layout of a payload made of records that start with a tag."""
        return None if self.is_compat else table.ATTRIBUTES.get(self.code, table.UNKNOWN).tagged

    @property
    def fields(self) -> dict[str, Any] | None:
        """The payload by the table's layout, by field name.

        A repeated layout gives ``{"entries": [...]}``. ``None`` when no layout is known or the
        payload does not have the size the layout asks for: the bytes are in ``payload`` then.
        """
        layout = self.layout
        if layout is None:
            return None
        if self.tagged is not None:
            return _decode_tagged(self.tagged, self.payload)
        fields = decode(layout, self)
        if fields is not None:
            for word, parts in layout.bits:
                for entry in fields.get("entries", [fields]):
                    bits = entry.pop(word)
                    for part in parts:
                        entry[part.name] = bits >> part.bit & (1 << part.width) - 1
        return fields

    @property
    def references(self) -> list[tuple[str, int]]:
        """Numbers in the payload that refer elsewhere.

        Each is ``(kind, number)``; kind is ``symbol`` for a symbol table index and ``code`` for
        the byte offset of an instruction.
        """
        layout = self.layout
        if self.tagged is not None:
            return _tagged_references(self.tagged, self.fields)
        fields = None if layout is None else decode(layout, self)
        if layout is None or fields is None:
            return []
        pairs = zip(layout.names, layout.references, strict=True)
        wanted = [(name, kind) for name, kind in pairs if kind]
        if layout.tail is not None:
            wanted.append((layout.tail.name, layout.tail.reference))
        found: list[tuple[str, int]] = []
        for entry in fields.get("entries", [fields]):
            for name, kind in wanted:
                if kind not in ("symbol", "code"):
                    continue
                value = entry[name]
                found += [(kind, item) for item in (value if isinstance(value, list) else [value])]
        return found


def decode(layout: Layout, record: InfoRecord) -> dict[str, Any] | None:
    """A payload by its layout; ``None`` when the sizes do not fit."""
    kind, form, names = layout.kind, layout.format, layout.names
    payload = record.payload
    if not form and kind != "none":
        return None
    if kind == "none":
        return None if payload else {}
    if kind == "inline":
        if record.format == EIFMT_SVAL:
            return None
        payload = record.value.to_bytes(2, "little")
    size = calcsize(form)
    if kind in ("inline", "struct"):
        if len(payload) < size:
            return None
        return dict(zip(names, unpack_from(form, payload), strict=True))
    if kind == "array":
        if len(payload) % size:
            return None
        return {
            "entries": [dict(zip(names, row, strict=True)) for row in iter_unpack(form, payload)]
        }
    return None if layout.tail is None else _decode_tailed(form, names, layout.tail, payload)


def _decode_tailed(
    form: str, names: tuple[str, ...], tail: Tail, payload: bytes
) -> dict[str, Any] | None:
    """``records`` (each with a counted tail) and ``list`` (one, with a tail to the end)."""
    size = calcsize(form)
    count_name, tail_name, tail_form = tail.count, tail.name, tail.format
    tail_size = calcsize(tail_form)
    entries: list[dict[str, Any]] = []
    at, end = 0, len(payload)
    while at < end:
        if at + size > end:
            return None
        entry: dict[str, Any] = dict(zip(names, unpack_from(form, payload, at), strict=True))
        at += size
        count = entry[count_name] if count_name else (end - at) // tail_size
        stop = at + count * tail_size
        if stop > end or (not count_name and stop != end):
            return None
        entry[tail_name] = [item for (item,) in iter_unpack(tail_form, payload[at:stop])]
        at = stop
        entries.append(entry)
    return {"entries": entries} if count_name else entries[0] if entries else None


def _decode_tagged(layout: Tagged, payload: bytes) -> dict[str, Any] | None:
    """Records that start with a tag; ``None`` when one has an unknown tag or runs over the end."""
    entries: list[dict[str, Any]] = []
    at, end = 0, len(payload)
    while at < end:
        tag = int.from_bytes(payload[at : at + 4], "little")
        at += 4
        case = layout.cases.get(tag)
        if case is None or at + calcsize(case.format) > end:
            return None
        values = unpack_from(case.format, payload, at)
        entry = {layout.tag: tag, **dict(zip(case.names, values, strict=True))}
        at += calcsize(case.format)
        if case.text:
            stop = at + entry[case.size]
            if stop > end:
                return None
            entry[case.text] = payload[at:stop].rstrip(b"\0").decode("utf-8", "backslashreplace")
            at = stop
        at += -at % layout.align
        entries.append(entry)
    return {"entries": entries}


def _tagged_references(layout: Tagged, fields: dict[str, Any] | None) -> list[tuple[str, int]]:
    found = []
    for entry in (fields or {"entries": []})["entries"]:
        case = layout.cases[entry[layout.tag]]
        pairs = zip(case.names, case.references, strict=True)
        found += [(kind, entry[name]) for name, kind in pairs if kind]
    return found


def read_records(elf: Elf, index: int) -> list[InfoRecord]:
    """The records in section ``index``; empty when the section is no attribute stream."""
    _, sh_type, _, _, base, _, _, _, _, _ = elf.section_row(index, "section")
    if sh_type not in INFO_TYPES:
        return []
    is_compat = sh_type == SHT_CUDA_COMPAT_INFO
    rows = info_rows(elf.section_bytes(index), base, elf.file, f"sections[{index}]")
    return [
        InfoRecord(base + at, form, code, value, payload, is_compat)
        for at, form, code, value, payload in rows
    ]
