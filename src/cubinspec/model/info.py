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

    Layout = tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]

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
        layouts = compat_table.LAYOUTS if self.is_compat else table.LAYOUTS
        return layouts.get(self.code)

    @property
    def is_tagged(self) -> bool:
        """Whether the payload is made of records that start with a tag."""
        return self.code in table.TAGGED and not self.is_compat

    @property
    def fields(self) -> dict[str, Any] | None:
        """The payload by the table's layout, by field name.

        A repeated layout gives ``{"entries": [...]}``. ``None`` when no layout is known or the
        payload does not have the size the layout asks for: the bytes are in ``payload`` then.
        """
        layout = self.layout
        if layout is None:
            return None
        if self.is_tagged:
            return _decode_tagged(self.code, self.payload)
        fields = decode(layout, self)
        if fields is not None:
            for word, parts in _BIT_FIELDS.get((self.is_compat, self.code), {}).items():
                for entry in fields.get("entries", [fields]):
                    bits = entry.pop(word)
                    for name, bit, width in parts:
                        entry[name] = bits >> bit & (1 << width) - 1
        return fields

    @property
    def references(self) -> list[tuple[str, int]]:
        """Numbers in the payload that refer elsewhere.

        Each is ``(kind, number)``; kind is ``symbol`` for a symbol table index and ``code`` for
        the byte offset of an instruction.
        """
        layout = self.layout
        if self.is_tagged:
            return _tagged_references(self)
        fields = None if layout is None else decode(layout, self)
        if layout is None or fields is None:
            return []
        _, _, names, kinds, tail = layout
        wanted = [(name, kind) for name, kind in zip(names, kinds, strict=True) if kind]
        if tail:
            wanted.append((tail[1], tail[3]))
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
    kind, form, names, _, tail = layout
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
    if kind in ("records", "list"):
        return _decode_tailed(form, names, tail, payload)
    return None


def _decode_tailed(
    form: str, names: tuple[str, ...], tail: tuple[str, ...], payload: bytes
) -> dict[str, Any] | None:
    """``records`` (each with a counted tail) and ``list`` (one, with a tail to the end)."""
    size = calcsize(form)
    count_name, tail_name, tail_form, _ = tail
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


def _decode_tagged(code: int, payload: bytes) -> dict[str, Any] | None:
    """Records that start with a tag; ``None`` when one has an unknown tag or runs over the end."""
    tag_name, _, align, cases = table.TAGGED[code]
    entries: list[dict[str, Any]] = []
    at, end = 0, len(payload)
    while at < end:
        tag = int.from_bytes(payload[at : at + 4], "little")
        at += 4
        if tag not in cases:
            return None
        form, names, _, text_name, size_name = cases[tag]
        if at + calcsize(form) > end:
            return None
        entry = {tag_name: tag, **dict(zip(names, unpack_from(form, payload, at), strict=True))}
        at += calcsize(form)
        if text_name:
            stop = at + entry[size_name]
            if stop > end:
                return None
            entry[text_name] = payload[at:stop].rstrip(b"\0").decode("utf-8", "backslashreplace")
            at = stop
        at += -at % align
        entries.append(entry)
    return {"entries": entries}


def _tagged_references(record: InfoRecord) -> list[tuple[str, int]]:
    tag_name, _, _, cases = table.TAGGED[record.code]
    found = []
    for entry in (record.fields or {"entries": []})["entries"]:
        _, names, kinds, _, _ = cases[entry[tag_name]]
        found += [(kind, entry[name]) for name, kind in zip(names, kinds, strict=True) if kind]
    return found


#: (whether the record is a compat one, code) -> word -> its parts as (name, first bit, width).
_BIT_FIELDS: dict[tuple[bool, int], dict[str, tuple[tuple[str, int, int], ...]]] = {}
for _is_compat, _table in ((False, table.BIT_FIELDS), (True, compat_table.BIT_FIELDS)):
    for (_code, _word), _parts in _table.items():
        _BIT_FIELDS.setdefault((_is_compat, _code), {})[_word] = _parts


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
