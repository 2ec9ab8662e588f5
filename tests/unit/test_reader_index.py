"""The index of an attribute stream says what reading all of its records says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cubinspec import Cubin
from cubinspec.errors import CubinError
from cubinspec.format.attributes import ShapeCache, info_rows
from cubinspec.format.sections import INFO_TYPES
from cubinspec.model.function_table import Launch
from cubinspec.reader import streams
from cubinspec.reader.streams import InfoIndex
from cubinspec_generated.codes import (
    EIATTR_CBANK_PARAM_SIZE,
    EIATTR_EXIT_INSTR_OFFSETS,
    EIATTR_KPARAM_INFO,
    EIATTR_KPARAM_INFO_V2,
    EIATTR_MAXREG_COUNT,
    EIFMT_SVAL,
)

PARAMETERS = (EIATTR_KPARAM_INFO, EIATTR_KPARAM_INFO_V2)


def agree(body: bytes) -> None:
    rows = info_rows(body, 0, "x", "f")
    index = InfoIndex.read(body, 0, "x", "f")
    assert index.shape.num_params == sum(row[2] in PARAMETERS for row in rows)
    assert b"".join(index.shape.cut(body)) == body
    assert [record[4:] for record in index.shape.cut(body)] == [row[4] for row in rows]
    last = {row[2]: row for row in rows}
    for code in range(256):
        row = last.get(code)
        assert index.value(code) == (None if row is None else row[3]), code
        assert index.payload(code) == (None if row is None else row[4]), code


def record(form: int, code: int, value: int, payload: bytes) -> bytes:
    return bytes((form, code)) + value.to_bytes(2, "little") + payload


def any_stream(chance: random.Random) -> bytes:
    records = []
    for _ in range(chance.randrange(12)):
        form = chance.choice((1, 2, 3, 4, 4, 4, 9))
        code = chance.choice((0x17, 0x17, 0x45, 0x05, 0x19, 0x1C, 0x4C, 0xEE))
        size = 12 if code in PARAMETERS else chance.choice((0, 2, 4, 8, 12, 13))
        payload = chance.randbytes(size) if form == EIFMT_SVAL else b""
        value = size if form == EIFMT_SVAL else chance.randrange(1 << 16)
        records.append(record(form, code, value, payload))
    return b"".join(records)


def forget(monkeypatch: pytest.MonkeyPatch, per_size: int = 32, in_all: int = 8192) -> ShapeCache:
    shapes = ShapeCache(with_codes=True, per_size=per_size, in_all=in_all, longest=2048)
    monkeypatch.setattr(streams, "_shapes", shapes)
    return shapes


def test_random_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = forget(monkeypatch, per_size=5)
    chance = random.Random(3)
    for _ in range(2000):
        agree(any_stream(chance))
    assert max(map(len, shapes._shapes.values())) == 5


def test_streams_that_say_the_same_of_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of one stream is right for every other that is told to be like it."""
    forget(monkeypatch, per_size=4000)
    chance = random.Random(5)
    codes = (0x0A, 0x05, 0x10, 0x17, 0x19, 0x1B, 0x1C, 0x38, 0x3D, 0x3E, 0x45, 0x4C)
    kept: dict[object, list[object]] = {}
    shared = 0
    for _ in range(4000):
        records = []
        for code in sorted(chance.sample(codes, 2)):
            size = 12 if code in PARAMETERS else chance.choice((0, 4, 8, 12))
            form = chance.choice((3, 4))
            first, rest = chance.choice(((0, 0), (1, 0), (0, 1), (2, 1)))
            words = (first, *[rest] * (size // 4 - 1)) if form == 4 and size else ()
            payload = b"".join(word.to_bytes(4, "little") for word in words)
            records.append(record(form, code, len(payload) if form == 4 else first, payload))
        body = b"".join(records)
        index = InfoIndex.read(body, 0, "x", "f")
        shape = index.shape
        launch = Launch(shape, body)
        assert list(launch.codes) == list(index.codes)
        assert launch.max_registers == index.value(EIATTR_MAXREG_COUNT)
        assert launch.param_size == index.value(EIATTR_CBANK_PARAM_SIZE)
        assert body[slice(*launch.exits)] == (index.payload(EIATTR_EXIT_INSTR_OFFSETS) or b"")
        said = [launch.as_dict(), launch.barriers, launch.num_params, launch.codes, launch.exits]
        key = shape, int.from_bytes(body, "little") & shape.launch_mask
        shared += key in kept
        assert kept.setdefault(key, said) == said
    assert shared > 400


def test_a_stream_of_a_known_size_with_other_records(monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch)
    one = record(4, 0x05, 12, bytes(12)) + record(3, 0x19, 7, b"")
    agree(one)
    agree(record(4, 0x05, 12, b"\xff" * 12) + record(3, 0x19, 9, b""))
    agree(record(4, 0x05, 8, bytes(8)) + record(4, 0x19, 4, bytes(4)))
    agree(record(3, 0x19, 1, b"") * 5)
    with pytest.raises(CubinError):
        InfoIndex.read(record(4, 0x05, 99, bytes(12)) + record(3, 0x19, 7, b""), 0, "x", "f")


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = forget(monkeypatch, in_all=3)
    agree(record(4, 0x1C, 8192, bytes(8192)))
    for count in range(9):
        agree(record(1, 4, 0, b"") * count)
    assert len(shapes._shapes) <= 3
    assert 8196 not in shapes._shapes


def test_the_streams_of_the_samples(samples: list[Path]) -> None:
    for path in samples:
        cubin = Cubin.parse(path.read_bytes())
        for index, row in enumerate(cubin.elf.section_rows):
            if row[1] in INFO_TYPES:
                agree(cubin.elf.section_bytes(index))
