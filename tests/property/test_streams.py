"""Record streams: whatever the bytes, rows that tile them or a `CubinError`."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubinspec import CubinError
from cubinspec.errors import BadIndexError, BadStringError, TruncatedError
from cubinspec.format.attributes import info_rows
from cubinspec.format.notes import note_rows
from cubinspec.format.strings import StringTable
from cubinspec.model.info import InfoRecord, decode
from cubinspec.reader.streams import keyed_values, pair_rows
from cubinspec_generated.rows import Layout
from cubinspec_generated.tables import compat, eiattr
from tools.fuzz.walk import check_error

WHERE = (0x1000, "f.cubin", "sections[7]")

record = st.one_of(
    st.tuples(st.just(4), st.integers(0, 255), st.binary(max_size=24)),
    st.tuples(
        st.integers(0, 255).filter(lambda form: form != 4), st.integers(0, 255), st.just(b"")
    ),
)


def packed(rows: list[tuple[int, int, bytes]]) -> bytes:
    return b"".join(
        struct.pack("<BBH", form, code, len(payload)) + payload for form, code, payload in rows
    )


@given(st.lists(record))
def test_attributes_come_back_as_they_were_packed(rows: list[tuple[int, int, bytes]]) -> None:
    found = info_rows(packed(rows), *WHERE)
    assert [(form, code, payload) for _, form, code, _, payload in found] == rows
    assert [at for at, *_ in found] == [len(packed(rows[:n])) for n in range(len(rows))]


@given(st.lists(record, min_size=1), st.data())
def test_attributes_that_are_cut_off_are_refused_where_they_start(
    rows: list[tuple[int, int, bytes]], data: st.DataObject
) -> None:
    last = len(packed(rows[:-1]))
    body = packed(rows)
    cut = data.draw(st.integers(last + 1, len(body) - 1))
    with pytest.raises(TruncatedError) as caught:
        info_rows(body[:cut], *WHERE)
    assert caught.value.offset == 0x1000 + last


@given(st.binary(max_size=200))
def test_attribute_rows_tile_any_bytes(body: bytes) -> None:
    try:
        rows = info_rows(body, *WHERE)
    except TruncatedError:
        return
    assert sum(4 + len(payload) for *_, payload in rows) == len(body)


@given(st.one_of(st.lists(record).map(packed), st.binary(max_size=100)))
def test_the_fast_scan_of_the_module_agrees_with_the_general_one(body: bytes) -> None:
    try:
        rows = info_rows(body, *WHERE)
    except TruncatedError:
        with pytest.raises(TruncatedError):
            keyed_values(body, range(256), *WHERE)
        return
    expected: dict[int, dict[int, int]] = {code: {} for code in range(256)}
    for _, form, code, value, payload in rows:
        if form == 4 and value == 8:
            symbol, number = struct.unpack("<II", payload)
            expected[code][symbol] = number
    assert keyed_values(body, range(256), *WHERE) == expected
    assert keyed_values(body, [1, 4], *WHERE) == {code: expected[code] for code in (1, 4)}


@given(
    st.sampled_from([a.layout for t in (eiattr, compat) for a in t.ATTRIBUTES.values()]),
    st.integers(0, 255),
    st.integers(0, 0xFFFF),
    st.binary(max_size=64),
)
def test_any_payload_is_decoded_or_left_as_bytes(
    layout: Layout,
    form: int,
    value: int,
    payload: bytes,
) -> None:
    made = InfoRecord(0, form, 0, value, payload)
    fields = decode(layout, made)
    assert fields is None or isinstance(fields, dict)


@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 0xFFFF), st.binary(max_size=64))
def test_any_attribute_has_fields_and_references(
    form: int, code: int, value: int, payload: bytes
) -> None:
    for is_compat in (False, True):
        made = InfoRecord(0, form, code, value, payload, is_compat=is_compat)
        assert made.fields is None or isinstance(made.fields, dict)
        assert all(isinstance(number, int) for _, number in made.references)


note = st.tuples(st.integers(0, 2**32 - 1), st.binary(max_size=16), st.binary(max_size=40))


@given(st.lists(note))
def test_notes_come_back_as_they_were_packed(notes: list[tuple[int, bytes, bytes]]) -> None:
    body = b""
    for kind, owner, desc in notes:
        body += struct.pack("<III", len(owner) + 1, len(desc), kind)
        for part in (owner + b"\0", desc):
            body += part + bytes(-len(part) % 4)
    found = [(kind, owner, desc) for _, kind, owner, desc in note_rows(body, *WHERE)]
    assert found == [(kind, owner.rstrip(b"\0"), desc) for kind, owner, desc in notes]


@given(st.binary(max_size=100))
def test_any_bytes_are_notes_or_refused(body: bytes) -> None:
    try:
        rows = note_rows(body, *WHERE)
    except TruncatedError as error:
        check_error(error, WHERE[1], "notes")
        return
    assert sum(12 + len(desc) for _, _, _, desc in rows) <= len(body)


@given(st.binary(max_size=64))
def test_pairs_need_whole_pairs(body: bytes) -> None:
    if len(body) % 8:
        with pytest.raises(CubinError):
            pair_rows(body, *WHERE)
    else:
        assert b"".join(struct.pack("<II", *pair) for pair in pair_rows(body, *WHERE)) == body


@given(st.binary(max_size=40), st.integers(-3, 45))
def test_a_string_ends_at_the_next_nul_or_is_refused(data: bytes, index: int) -> None:
    table = StringTable(data, 0x1000, "f.cubin", "sections[1]")
    rest = data[index:] if 0 <= index < len(data) else None
    if rest is None:
        with pytest.raises(BadIndexError):
            table.get(index)
    elif b"\0" not in rest:
        with pytest.raises(BadStringError):
            table.get(index)
    else:
        text = table.get(index)
        assert text.encode("utf-8", "surrogateescape") == rest.split(b"\0")[0]
        assert table.get_many([index, index]) == [text, text]
