"""The native module and its twins in Python agree on everything: results, and what they refuse."""

from __future__ import annotations

import gc
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubinspec import Cubin
from cubinspec.errors import CubinError
from cubinspec.format import bulk
from cubinspec.format.attributes import raw_record
from cubinspec.format.strings import StringTable, build, build_columns
from cubinspec.limits import LONG_STRING
from cubinspec_generated.codes import EIFMT_SVAL

SAMPLES = sorted((Path(__file__).parents[1] / "data" / "cubins").glob("*.cubin"))
needs_native = pytest.mark.skipif(bulk.native is None, reason="only compiled wheels have it")

NAMES = st.lists(st.text("ab\u00e4\udc80", max_size=6), max_size=100)
RECORDS = st.lists(
    st.builds(
        raw_record,
        st.integers(0, 5),
        st.integers(0, 255),
        st.integers(0, 0xFFFF),
        st.binary(max_size=12),
    )
    | st.binary(min_size=1, max_size=5),
    max_size=12,
).map(b"".join)


def without_native(ask: Callable[[], Any]) -> Any:
    kept, bulk.native = bulk.native, None
    try:
        return ask()
    finally:
        bulk.native = kept


def outcome(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except CubinError as error:
        return type(error), str(error)


def compare(ask: Callable[[], Any]) -> None:
    assert outcome(ask) == without_native(lambda: outcome(ask))


@needs_native
@given(NAMES, st.lists(st.integers(-1, 700), max_size=200), st.booleans())
def test_names_are_the_same(names: list[str], places: list[int], is_whole: bool) -> None:
    table = b"\0" + "\0".join(names).encode("utf-8", "surrogateescape") + b"\0" * is_whole
    places = [place % len(table) for place in places] if is_whole else places
    compare(lambda: StringTable(table, 0, "file", "field").get_many(places))
    found = bulk.texts(table, places)
    twin = without_native(lambda: bulk.texts(table, places))
    if found is not None:
        assert found == [StringTable(table, 0, "file", "field").get(place) for place in places]
        assert twin is None or twin == found


@needs_native
@given(
    st.sampled_from(["<B", "<HB", "<IIQQQQIIQQ", "<IBBHQQ", "<QIIq", "<QII", "<IIi"]),
    st.integers(0, 12),
    st.sampled_from([b"", b"\xff", b"\x80\0"]),
    st.data(),
)
def test_rows_are_the_same(layout: str, count: int, fill: bytes, data: st.DataObject) -> None:
    record = struct.Struct(layout)
    size = count * record.size
    table = data.draw(st.binary(min_size=size, max_size=size) if not fill else st.just(fill))
    table = (table * size)[:size]
    assert bulk.native is not None
    assert bulk.native.rows(table, layout) == [*record.iter_unpack(table)]
    assert bulk.rows(table, record) == without_native(lambda: bulk.rows(table, record))


@needs_native
def test_rows_that_are_not_regular_are_left_to_python() -> None:
    assert bulk.native is not None
    for layout in ("<", "<4s", "<BBH7s", "BB", "<d"):
        assert bulk.native.rows(bytes(32), layout) is None
    with pytest.raises(struct.error):
        bulk.rows(bytes(7), struct.Struct("<I"))


@needs_native
def test_rows_are_not_looked_at_for_cycles() -> None:
    rows = bulk.rows(bytes(64), struct.Struct("<I"))
    (stream,) = bulk.streams([raw_record(EIFMT_SVAL, 1, 4, b"1234")]) or []
    assert not any(map(gc.is_tracked, [*rows, *stream]))


@needs_native
def test_names_that_are_not_regular_are_left_to_python() -> None:
    assert bulk.texts(b"\0name\0", [1, 0, 3]) == ["name", "", "me"]
    assert bulk.texts(b"\0name", [1]) is None
    assert bulk.texts(b"\0name\0", [6]) is None
    assert bulk.texts(b"\0name\0", [-1]) is None
    assert bulk.texts(b"\0name\0", [1 << 70]) is None
    assert bulk.texts(b"\0\xff\0", [1]) is None
    long = b"a" * LONG_STRING
    assert bulk.texts(long + b"\0", [0]) == [long.decode()]
    assert bulk.texts(b"a" + long + b"\0", [0]) is None


@needs_native
@given(NAMES, st.data())
def test_string_tables_are_the_same(names: list[str], data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.sampled_from([*names, ""]), max_size=20))
    table, places = build(names)
    found = bulk.string_table(names, wanted)
    if any("\udc80" in name for name in names):
        assert found is None  # bytes that are no UTF-8 are left to Python
    else:
        assert found == (table, [places[name] for name in wanted])


@needs_native
def test_a_name_with_a_nul_in_it_is_left_to_python() -> None:
    assert bulk.string_table(["a\0b", "a"], ["a"]) is None
    assert build_columns(["a\0b", *map(str, range(99)), "a"], ["a"])[1] == [292]


def test_equal_names_stand_once() -> None:
    names = ["b", "", "a", "b", "\u00e4", "", "c"]
    table = b"\0b\0\0a\0\xc3\xa4\0c\0"
    assert build_columns(names, names) == (table, [1, 0, 4, 1, 6, 0, 9])
    assert build_columns([], [""]) == (b"\0", [0])
    with pytest.raises(KeyError):
        build_columns(["a"], ["b"])


@needs_native
@given(st.lists(RECORDS, max_size=8))
def test_records_are_the_same(bodies: list[bytes]) -> None:
    assert bulk.streams(bodies) == without_native(lambda: bulk.streams(bodies))


@needs_native
def test_equal_records_are_one_row() -> None:
    body = raw_record(EIFMT_SVAL, 1, 0, b"payload")
    rows = bulk.streams([body, body])
    assert rows == [[(0, EIFMT_SVAL, 1, 7, b"payload")]] * 2
    assert rows[0][0] is rows[1][0]
    assert bulk.streams([body[:-1]]) is None
    assert bulk.streams([]) == []


@pytest.mark.parametrize("layout", ["", "<", "BBH", "<BBq", "<Bx"])
@needs_native
def test_a_layout_that_is_none_is_left_to_python(layout: str) -> None:
    assert bulk.native is not None
    assert bulk.native.streams([b"\0" * 16], layout, EIFMT_SVAL) is None


@needs_native
@pytest.mark.parametrize("path", SAMPLES if bulk.native else [], ids=lambda path: path.name)
def test_tables_of_real_files_are_the_same(path: Path) -> None:
    compare(lambda: tables(path.read_bytes()))


@needs_native
@pytest.mark.parametrize("path", SAMPLES[::8] if bulk.native else [], ids=lambda path: path.name)
def test_tables_of_damaged_files_are_the_same(path: Path) -> None:
    data = path.read_bytes()
    numbers = random.Random(path.name)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(numbers.randrange(1, 9)):
            damaged[numbers.randrange(len(data))] = numbers.randrange(256)
        whole = bytes(damaged[: numbers.choice((len(data), numbers.randrange(len(data))))])
        compare(lambda whole=whole: tables(whole))  # type: ignore[misc]


def tables(data: bytes) -> list[Any]:
    found = Cubin.parse(data).tables()
    return [getattr(found, name) for name in type(found).__slots__]


#: Makes and frees many objects and large bytes, some of them older than the preparation.
OBJECTS = """
from cubinspec.format import bulk
old = [str(i) for i in range(100_000)]
bulk.expect(1 << 26)
new = [[str(i), i, b"x" * 600] for i in range(100_000)]
large = [bytes(n << 20) for n in range(1, 20)]
del old, new[::2], large[::2]
bulk.expect(1 << 26)
new += [[str(i), i, b"x" * 600] for i in range(50_000)]
large.append(bytes(1 << 26))
assert len(new) == 100_000 and all(str(i) == text for text, i, _ in new)
assert not any(map(any, large))
print("done")
"""


@needs_native
def test_objects_live_in_prepared_memory() -> None:
    done = subprocess.run([sys.executable, "-c", OBJECTS], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_expecting_objects_changes_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Native:
        expect = staticmethod(asked.append)

    monkeypatch.setattr(bulk, "native", Native)
    bulk.expect(5)
    monkeypatch.setattr(bulk, "native", None)
    bulk.expect(6)
    assert asked == [5]
