"""Parts of the emitter that take short ways: they must give what the long way gives."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubinspec.errors import BadStructureError, CubinError, TruncatedError
from cubinspec.reader import streams
from cubinspec_writer.emit import bodies
from cubinspec_writer.emit.bodies import InfoReader, InfoRecords, InfoWriter
from cubinspec_writer.emit.kinds import Kinds
from cubinspec_writer.emit.model import Description, Dropped, Header, Section, Symbol
from cubinspec_writer.emit.profiles import PROFILES
from cubinspec_writer.emit.strings import section_names, string_offsets, symbol_names
from cubinspec_writer.rest import CollectorAtRest

_SVAL = st.tuples(
    st.just(4), st.integers(0, 3), st.sampled_from((b"", b"ab", b"\4\0\4\0", b"8 bytes."))
)
_VALUE = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))


def _record(value: tuple[int, int, int] | tuple[int, int, bytes]) -> bodies.InfoRecord:
    form, code, rest = value
    return (form, code, len(rest), rest) if isinstance(rest, bytes) else (form, code, rest, b"")


@given(st.lists(st.lists(st.one_of(_SVAL, _VALUE).map(_record), max_size=4), max_size=12))
def test_streams_of_one_file(found: list[list[bodies.InfoRecord]]) -> None:
    """Whatever other streams were read before, a stream has its own records and bytes."""
    reader, writer = InfoReader(), InfoWriter()
    for records in found:
        data = InfoRecords(records).encode(None)  # type: ignore[arg-type]
        read = reader.read(data)
        assert read == records
        assert read == [row[1:] for row in streams.info_rows(data, 0, "", "")]
        assert writer.write(read) == data
        read.append((0, 0, 0, b""))  # is the caller's


def test_equal_records_are_shared() -> None:
    reader = InfoReader()
    first = reader.read(b"\4\x17\2\0ab" + b"\3\1\5\0")
    second = reader.read(b"\4\x17\2\0ac" + b"\3\1\5\0")
    assert first[0] == (4, 0x17, 2, b"ab")
    assert second[0] == (4, 0x17, 2, b"ac")
    assert first[1] is second[1]


def test_cut_off_stream_behind_a_whole_one() -> None:
    reader = InfoReader()
    reader.read(b"\4\x17\4\0abcd")
    with pytest.raises(TruncatedError):
        reader.read(b"\4\x17\5\0abcd")


def _description(*history: Section | Symbol | Dropped, profile: str = "classic") -> Description:
    return Description(Header(), list(history), [Symbol("global", 0x10)], profile)


@pytest.mark.parametrize("profile", ["classic", "finalizer", "finalizer_13_4", "mercury"])
def test_places_are_those_in_the_table(profile: str) -> None:
    """Also of names with free bytes behind them, repeated names and erased ones."""
    history = [
        Section(".strtab", 3, bodies.Computed("strtab")),
        Section(".text.ä", 1, bodies.Blob(b"")),
        Section(".nv.constant3", 1, bodies.Blob(b"")),
        Dropped("", erased=3),
        Dropped(".nv.shared.ä", in_shstrtab=True),
        Section(".nv.merc.text.ä", 1, bodies.Blob(b""), 0x10000000),
        Section(".nv.merc.text.ä", 1, bodies.Blob(b""), 0x10000000),
        Section(".nv.constant0.ä", 1, bodies.Blob(b"")),
        Section(".rel.nv.constant0.ä", 9, bodies.Blob(b"")),
    ]
    description = _description(*history, profile=profile)
    kinds = Kinds(PROFILES[profile], description.sections)
    table, places, repeated = section_names(description, kinds, {})
    first = string_offsets(table)
    assert {name: first[name] for name in places} == places
    for section, place in repeated.items():
        assert place > places[section.name]
        assert table[place:].startswith(section.name.encode() + b"\0")
    table, places = symbol_names(description, kinds, {})
    first = string_offsets(table)
    assert {name: first[name] for name in places} == places
    assert symbol_names(description, kinds, {table: first})[1] is first


def test_name_with_a_nul_is_refused() -> None:
    description = _description(Dropped("a\0b", in_shstrtab=True))
    with pytest.raises(BadStructureError, match="has a NUL"):
        section_names(description, Kinds(PROFILES["classic"], []), {})


def test_exceptions_are_made_when_asked_for() -> None:
    section, symbol = Section(".text.k", 1, bodies.Blob(b"")), Symbol("k")
    assert section.exceptions is None
    section.pins["sh_offset"] = 64
    section.overrides["sh_size"] = 1
    symbol.pins["st_name"] = 5
    assert (section.pins, section.overrides) == ({"sh_offset": 64}, {"sh_size": 1})
    assert symbol.pins == {"st_name": 5}
    assert Section(".text.k", 1, bodies.Blob(b"")).pins == {}


def _fail_at_rest() -> None:
    with CollectorAtRest():
        assert not gc.isenabled()
        raise CubinError("on purpose")


@pytest.mark.parametrize("before", [True, False])
def test_collector_is_as_it_was(before: bool) -> None:
    was = gc.isenabled()
    (gc.enable if before else gc.disable)()
    try:
        with pytest.raises(CubinError):
            _fail_at_rest()
        assert gc.isenabled() == before
    finally:
        (gc.enable if was else gc.disable)()
