"""Parts of the emitter that take short ways: they must give what the long way gives."""

from __future__ import annotations

import copy
import dataclasses
import gc
import os
import subprocess
import sys
from pickle import dumps, loads

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubinspec import Cubin
from cubinspec.errors import BadStructureError, CubinError, TruncatedError
from cubinspec.format.attributes import info_rows
from cubinspec.format.strings import string_offsets
from cubinspec.gc_pause import GcPaused
from cubinspec.output_files import write_file
from cubinspec_generated.codes import SHT_CUDA_INFO, SHT_NOTE, SHT_REL, SHT_RELA
from cubinspec_writer.emitter import bodies, describe, emit, emit_parts
from cubinspec_writer.emitter.bodies import InfoRecords
from cubinspec_writer.emitter.contents import PIECE
from cubinspec_writer.emitter.decode import LARGE, InfoReader, neighbours, record_run
from cubinspec_writer.emitter.describe import check_draft, check_draft_of_file
from cubinspec_writer.emitter.draft import Draft
from cubinspec_writer.emitter.entries import DroppedNames
from cubinspec_writer.emitter.layout import plan
from cubinspec_writer.emitter.model import (
    Description,
    Dropped,
    Exceptions,
    Fill,
    Header,
    Pins,
    Section,
    Symbol,
)
from cubinspec_writer.emitter.packed import Packed
from cubinspec_writer.emitter.runs import BlobRun, InfoRun, RelocationRun, Run
from cubinspec_writer.emitter.serialise import plan_parts
from cubinspec_writer.emitter.source import gaps
from cubinspec_writer.emitter.strings import section_names, symbol_names
from tests.conftest import sample_files
from tools.corpus.samples import CUBINS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

_SVAL = st.tuples(
    st.just(4), st.integers(0, 3), st.sampled_from((b"", b"ab", b"\4\0\4\0", b"8 bytes."))
)
_VALUE = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))


def _record(value: tuple[int, int, int] | tuple[int, int, bytes]) -> bodies.AttributeRecord:
    form, code, rest = value
    return (form, code, len(rest), rest) if isinstance(rest, bytes) else (form, code, rest, b"")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(st.one_of(_SVAL, _VALUE).map(_record), max_size=4), max_size=12))
def test_streams_of_one_file(found: list[list[bodies.AttributeRecord]]) -> None:
    """Whatever other streams were read before, a stream has its own records and bytes."""
    reader = InfoReader()
    for records in found:
        data = _encoded(InfoRecords(records))
        read = reader.read(data)
        assert (read.size, _encoded(read)) == (len(data), data)
        unpacked = _unpacked(read)
        assert unpacked.records == records
        assert unpacked.records == [row[1:] for row in info_rows(data, 0, "", "")]
        assert (unpacked.size, _encoded(unpacked)) == (len(data), data)
        unpacked.records.append((0, 0, 0, b""))  # is the caller's
        assert _encoded(unpacked) == data + bytes(4)


def _encoded(body: InfoRecords | Packed | Run) -> bytes:
    encoded = body.encode(None)  # type: ignore[arg-type]
    return encoded if isinstance(encoded, bytes) else b"".join(encoded)


def _unpacked(body: InfoRecords | Packed) -> InfoRecords:
    found = body.unpack() if isinstance(body, Packed) else body
    assert isinstance(found, InfoRecords)
    return found


@given(
    st.lists(st.lists(st.one_of(_SVAL, _VALUE).map(_record), max_size=4), min_size=1, max_size=12)
)
def test_streams_that_are_read_together(found: list[list[bodies.AttributeRecord]]) -> None:
    """Each stream of a run has its own records, and the run the bytes of all."""
    contents = [_encoded(InfoRecords(records)) for records in found]
    data = b"".join(contents)
    sizes = [len(content) for content in contents]
    kind = SHT_CUDA_INFO
    run = record_run(b"abc" + data + b"d", kind, 7, 3, sizes, True, InfoReader())
    assert isinstance(run, InfoRun)
    assert (run.first, list(run.sizes), _encoded(run)) == (7, sizes, data)
    split = run.split()
    assert split == [InfoRecords(records) for records in found]
    assert [body.size for body in split] == sizes
    assert [_encoded(body) for body in split if isinstance(body, InfoRecords)] == contents


@pytest.mark.parametrize("is_64", [True, False])
@pytest.mark.parametrize("kind", [SHT_REL, SHT_RELA])
def test_relocations_that_are_read_together(kind: int, is_64: bool) -> None:
    entry = (3 if kind == SHT_RELA else 2) * (8 if is_64 else 4)
    contents = [bytes(range(count * entry)) for count in (2, 0, 1, 5)]
    sizes = [len(content) for content in contents]
    data = b"".join(contents)
    run = record_run(b"abc" + data, kind, 0, 3, sizes, is_64, InfoReader())
    assert isinstance(run, RelocationRun)
    assert _encoded(run) == data
    assert [body.size for body in run.split()] == sizes
    assert [body.encode(None) for body in run.split()] == contents  # type: ignore[arg-type]
    # half an entry, which the next section completes
    assert record_run(data, kind, 0, 0, [4, entry - 4], is_64, InfoReader()) is None


@pytest.mark.parametrize("pieces", [[b"codemore code"], [b"co", b"demo", b"re code"]])
def test_blobs_that_are_read_together(pieces: list[bytes]) -> None:
    contents = [b"code", b"", b"more code"]
    run = BlobRun(4, [len(content) for content in contents], pieces)
    assert _encoded(run) == b"codemore code"
    assert run.split() == [bodies.Blob(content) for content in contents]
    assert [run.content(number) for number in (4, 5, 6)] == contents
    assert _encoded(run) == b"codemore code"


def test_streams_that_are_not_read_together() -> None:
    stream = b"\4\x17\2\0ab"
    data, reader = stream * 2, InfoReader()
    cut = [len(stream), len(stream) - 1]
    assert record_run(data, SHT_CUDA_INFO, 0, 0, cut, True, reader) is None
    whole = [len(stream)] * 2
    assert record_run(data, SHT_NOTE, 0, 0, whole, True, reader) is None
    assert record_run(data, SHT_CUDA_INFO, 0, 0, whole, True, reader) is not None


@given(
    st.lists(
        st.tuples(st.sampled_from((0, 0, 0, 8)), st.sampled_from((0, 4, LARGE // 3, LARGE + 1))),
        min_size=1,
        max_size=12,
    )
)
def test_neighbours(places: list[tuple[int, int]]) -> None:
    """Groups hold all sections, have no gaps, and are neither too large nor cut without need."""
    starts, sizes = [], []
    at = 64
    for gap, size in places:
        at += gap
        starts.append(at)
        sizes.append(size)
        at += size
    groups = [*neighbours(starts, sizes)]
    assert [number for at, stop in groups for number in range(at, stop)] == [*range(len(sizes))]
    for at, stop in groups:
        assert starts[at] + sum(sizes[at:stop]) == starts[stop - 1] + sizes[stop - 1]
        assert stop - at == 1 or sum(sizes[at:stop]) <= LARGE or not sum(sizes[at : stop - 1])
        if stop < len(sizes) and starts[stop] == starts[at] + sum(sizes[at:stop]):
            assert sum(sizes[at : stop + 1]) > LARGE


_SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=8)


@given(_SPANS, st.booleans(), st.integers(50, 60))
def test_gaps(spans: list[tuple[int, int]], is_sorted: bool, size: int) -> None:
    """What no span covers, in whatever order they are."""
    spans = sorted(spans) if is_sorted else spans
    covered = {place for start, length in spans for place in range(start, start + length)}
    found = [*gaps([start for start, _ in spans], [length for _, length in spans], size)]
    assert [at for start, end in found for at in range(start, end)] == [
        at for at in range(size) if at not in covered
    ]


@pytest.mark.parametrize("size", [5, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE])
def test_large_sections_are_read_in_pieces(size: int, tmp_path: Path) -> None:
    content = b"0123456789abcdef" * (size // 16) + b"x" * (size % 16)
    description = describe(_SAMPLE.read_bytes())
    code = next(s for s in description.sections if s.name.startswith(".text."))
    code.body = bodies.Blob(content)
    file = tmp_path / "large.cubin"
    file.write_bytes(emit(description))
    mapped = check_draft_of_file(str(file))
    read = check_draft(memoryview(file.read_bytes()))
    for checked in (mapped, read):
        parts = [*plan_parts(checked.laid_out())]
        assert b"".join(parts) == file.read_bytes()
        assert all(len(part) <= PIECE for part in parts)
        section = checked.to_description().section(code.name)
        assert section is not None
        assert section.body == bodies.Blob(content)


def test_dropped_names() -> None:
    rows = [("a", True, None, 0), ("b", False, None, 0), ("", False, None, 3), ("c", True, "d", 0)]
    dropped = DroppedNames()
    for row in rows:
        dropped.append(row)
    dropped.add_sections(["e", "f"])
    rows += [("e", True, None, 0), ("f", True, None, 0)]
    assert [*dropped] == rows == [dropped[at] for at in range(len(dropped))]


def test_override_of_what_is_no_field() -> None:
    description = describe(_SAMPLE.read_bytes())
    description.sections[0].overrides["sh_lnik"] = 1
    with pytest.raises(BadStructureError, match="no field 'sh_lnik'"):
        emit(description)


def test_number_that_does_not_fit_is_found_while_parts_are_written(tmp_path: Path) -> None:
    """And no file is left."""
    description = describe(_SAMPLE.read_bytes())
    description.sections[0].overrides["sh_link"] = 1 << 32
    with pytest.raises(BadStructureError, match="does not fit its field"):
        emit(description)
    parts = emit_parts(description)
    with pytest.raises(BadStructureError, match="does not fit its field"):
        write_file(str(tmp_path / "out.cubin"), parts)
    assert not [*tmp_path.iterdir()]


def test_keyed_stream_has_its_records() -> None:
    """Streams of records with two words, which are read as words."""
    data = b"".join(
        [b"\4\x2f\10\0" + bytes((at & 255, at >> 8, 0, 1, 9, 0, 0, 0)) for at in range(400)]
    )
    read = InfoReader().read(data)
    assert isinstance(read, Packed)
    assert (read.size, _encoded(read)) == (len(data), data)
    records = _unpacked(read).records
    assert records == [row[1:] for row in info_rows(data, 0, "", "")]
    other = data + b"\3\1\5\0"
    assert _encoded(InfoReader().read(other)) == other
    assert _unpacked(InfoReader().read(other)).records == [*records, (3, 1, 5, b"")]


@pytest.mark.parametrize("data", [b"\4\x17\2\0ab\3\1\5\0", b"\4\x2f\10\0" + bytes(8)])
def test_records_that_were_read_can_be_copied(data: bytes) -> None:
    for stream in (data, data * 400):
        reader = InfoReader()
        reader.read(stream)
        read = _unpacked(reader.read(stream))
        again = copy.deepcopy(read)
        assert again == read
        again.records.pop()
        assert again != read
        assert _encoded(read) == stream
        assert _encoded(loads(dumps(read))) == stream


def test_records_that_were_read_can_be_changed() -> None:
    reader = InfoReader()
    first, second = (
        _unpacked(reader.read(b"\4\x17\2\0a" + end + b"\3\1\5\0")) for end in (b"b", b"c")
    )
    second.records[1] = (3, 1, 6, b"")
    assert _encoded(second) == b"\4\x17\2\0ac" + b"\3\1\6\0"
    assert first.records == [(4, 0x17, 2, b"ab"), (3, 1, 5, b"")]
    second.records = [(3, 1, 7, b"")]
    assert _encoded(second) == b"\3\1\7\0"
    assert first != second


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
    draft = Draft.of(description)
    table, places, repeated = section_names(draft, ())
    first = string_offsets(table)
    assert {name: first[name] for name in places} == places
    for number, place in repeated.items():
        assert place > places[draft.names[number]]
        assert table[place:].startswith(draft.names[number].encode() + b"\0")
    table, places, _ = symbol_names(draft, ())
    first = string_offsets(table)
    assert {name: first[name] for name in places} == places
    assert symbol_names(draft, ((table, first),))[1] is first


def test_name_with_a_nul_is_refused() -> None:
    description = _description(Dropped("a\0b", in_shstrtab=True))
    with pytest.raises(BadStructureError, match="has a NUL"):
        section_names(Draft.of(description), ())


def test_exceptions_are_made_when_asked_for() -> None:
    section, symbol = Section(".text.k", 1, bodies.Blob(b"")), Symbol("k")
    assert section.exceptions is None
    section.pins["sh_offset"] = 64
    section.overrides["sh_size"] = 1
    symbol.pins["st_name"] = 5
    assert (section.pins, section.overrides) == ({"sh_offset": 64}, {"sh_size": 1})
    assert symbol.pins == {"st_name": 5}
    assert Section(".text.k", 1, bodies.Blob(b"")).pins == {}


_SAMPLE = next(file for file in sample_files() if file.name == "data.sm_90.exe.cubin")


def test_looking_at_a_description_changes_nothing() -> None:
    """It is the same object of the same form before and after; only edits change the file."""
    data = _SAMPLE.read_bytes()
    description = describe(data)
    parts = {name: getattr(description, name) for name in description.__match_args__}
    assert emit(description) == data
    _ = [(section.name, section.body) for section in description.sections], repr(description)
    for name, part in parts.items():
        assert getattr(description, name) is part
    assert emit(description) == data


def _rename(description: Description) -> None:
    description.sections[-1].name += "x"


def _grow(description: Description) -> None:
    body = next(s.body for s in description.sections if isinstance(s.body, bodies.Blob))
    body.data += bytes(16)


def _add_record(description: Description) -> None:
    found = (s.body for s in description.sections if isinstance(s.body, InfoRecords))
    next(found).records.append((3, 1, 5, b""))


def _drop_symbol(description: Description) -> None:
    del description.symbols[-1]


def _pin(description: Description) -> None:
    description.pins.file_size = 70000


def _override(description: Description) -> None:
    description.header.overrides["e_type"] = 9


def _set_header(description: Description) -> None:
    description.header = Header(e_type=1)


def _fill(description: Description) -> None:
    description.fills.append(Fill(64, b"here"))


def _null(description: Description) -> None:
    description.null_value = 5


@pytest.mark.parametrize(
    "edit",
    [_rename, _grow, _add_record, _drop_symbol, _pin, _override, _set_header, _fill, _null],
)
def test_no_edit_is_missed(edit: Callable[[Description], None]) -> None:
    """Also when the description was written before."""
    description = describe(_SAMPLE.read_bytes())
    before = emit(description)
    edit(description)
    again = emit(description)
    assert again != before
    assert again == emit(description)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda d: loads(dumps(d))])
def test_descriptions_can_be_copied(copied: Callable[[Description], Description]) -> None:
    data = _SAMPLE.read_bytes()
    description = describe(data)
    again = copied(description)
    assert emit(again) == data
    again.header.e_version += 1
    again.history = again.history[:]
    assert emit(again) != data
    assert (emit(description) == data) is (again.header is not description.header)


@pytest.mark.parametrize("file", sample_files()[::13], ids=lambda file: file.name)
def test_columns_and_objects_say_the_same(file: Path) -> None:
    """A draft made into objects and back is laid out as the file is."""
    checked = check_draft(file.read_bytes())
    assert checked.plan is not None, checked.reasons
    again = plan(checked.to_description())
    assert checked.plan.is_same_as(again)
    changed = plan(describe(file.read_bytes()))
    changed.ehdr = (*changed.ehdr[:-1], changed.ehdr[-1] + 1)
    assert not changed.is_same_as(again)


_PUBLIC = [
    Header(),
    Fill(1, b"a"),
    Dropped("a"),
    Exceptions({"sh_name": 1}),
    Pins(file_size=1),
    Description(Header(), [], [], "classic"),
    bodies.Blob(b"a"),
    bodies.NoBytes(4),
    bodies.Computed("strtab"),
    bodies.InfoRecords([(3, 1, 5, b"")]),
    bodies.Pairs([(1, "a")]),
    bodies.Relocations(True, (1, 2, 3)),
    bodies.RelocActions(1, 0, [(1, 2)]),
    bodies.UftEntries([(1, 2, 3, 4, 5)]),
    bodies.Metadata([(1, "a", [(1, 2), (3, "b")])]),
    bodies.Capsule(1, b"a"),
    bodies.MercurySymbols([bodies.MercurySymbol("a", 1, 2, 3, 4, 5)]),
    bodies.ToolNote(2, "a", "b", "c", "d", "e"),
    bodies.CuinfoNote(2, 90, 130),
    bodies.CuverNote(2, 90, 1, 2),
    bodies.Notes([bodies.Note(1, "NVIDIA", bodies.RawNote(b"a"))]),
]


@pytest.mark.parametrize("value", _PUBLIC, ids=lambda value: type(value).__name__)
def test_public_objects_are_dataclasses(value: Any) -> None:
    """Their fields are the parameters of the constructor, and the tools of dataclasses work."""
    names = type(value).__match_args__
    fields = {name: getattr(value, name) for name in names}
    assert type(value)(**fields) == value == type(value)(*fields.values())
    assert dataclasses.replace(value) == value
    assert [field.name for field in dataclasses.fields(value)] == [*names]
    assert [*dataclasses.asdict(value)] == [*names]
    assert copy.deepcopy(value) == value
    with pytest.raises(TypeError):
        type(value)(**fields, color=1)
    with pytest.raises(AttributeError):
        value.color = 1


def test_equal_sections_stay_two() -> None:
    """Others refer to a section or symbol: one with the same fields is another one."""
    for one in (Section(".text.k", 1, bodies.Blob(b"")), Symbol("k")):
        other = dataclasses.replace(one)  # type: ignore[type-var]
        assert one != other
        assert {one: 1, other: 2} == {other: 2, one: 1}


def _fail_at_rest() -> None:
    with GcPaused():
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


@pytest.mark.pure
def test_slow_modules_are_not_loaded_to_emit() -> None:
    """A round trip of a small file would wait longer for them than for its own work."""
    slow = ("dataclasses", "inspect", "typing", "re", "collections", "operator", "enum")
    code = (
        "import sys; from cubinspec_writer.emitter import roundtrip;"
        f"roundtrip(open({str(_SAMPLE)!r}, 'rb').read());"
        f"sys.exit(str(sorted({set(slow)!r} & set(sys.modules)) or ''))"
    )
    # without the packages of the site, some of which load these modules at start
    path = os.pathsep.join(entry for entry in sys.path if "site-packages" not in entry)
    command = [sys.executable, "-S", "-c", code]
    found = subprocess.run(
        command, env={"PYTHONPATH": path}, check=False, capture_output=True, text=True
    )
    assert found.stderr.strip() in ("", "[]"), found.stderr


def test_mercury_files_of_cuda_12_7_refer_to_the_other_half() -> None:
    data = (CUBINS / "small.sm_100.exe.12.8.93.cubin").read_bytes()
    description = describe(data)
    assert description.profile == "mercury_12"
    description.profile = "mercury_12_7"
    written = emit(description)
    again = describe(written)
    assert (again.profile, again.reasons) == ("mercury_12_7", [])
    sections = {section.name: section for section in Cubin.parse(written).sections}
    index = {name: section.index for name, section in sections.items()}
    notes = [sections[name] for name in (".note.nv.tkinfo", ".note.nv.cuver")]
    assert [note.sh_link for note in notes] == [index[".nv.compat"], index[".note.nv.tkinfo"]]
    assert notes[1].sh_info == index[".nv.info"] == index[".nv.compat"] + 1
    twin = sections[".nv.merc.nv.info.small"]
    assert (twin.sh_link, twin.sh_info) == (index[".symtab"], index[".text.small"])
    assert sections[".nv.merc.nv.info"].sh_link == index[".nv.merc.symtab"]
