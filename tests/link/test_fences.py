"""What the finalizer makes of fences and of EXIT, and how all that names places in code follows."""

from __future__ import annotations

import struct

import pytest

from cubinspec_writer.linker.finalizer import (
    fences,
    frames,
    line_tables,
    offsets,
    places,
    registers,
)
from cubinspec_writer.linker.finalizer.fences import Code, finalized
from cubinspec_writer.linker.finalizer.flow import target_of, with_target, words_of
from cubinspec_writer.linker.finalizer.moved import Moved, UnknownCodeError
from cubinspec_writer.linker.inputs.rows import InSection
from cubinspec_writer.linker.model import InputObject

_LOAD, _BLOCK = 0x80000000000FFFFF984, 0x80000000000000007992
_WIDE, _ERRORS = 0xA0000000000000007992, 0x50000000000000007992
_EXIT, _NOP, _LDGSTS, _CALL = 0x3800000000000000000794D, 0x7918, 0x7FAE, 0x7943
_BRANCH = 0x3800000000000000007947
_SELF = with_target(_BRANCH, 0, 0)
_ADD = 0x7210
_FENCE = bytes.fromhex("0149100af8000d000000000000000000")
_MBARRIER = bytes.fromhex("421b3e06")


def _code(*words: int) -> bytes:
    padding = [_SELF] + [_NOP] * (15 - len(words) % 8)
    return b"".join(word.to_bytes(16, "little") for word in (*words, *padding))


def _capsule(code: bytes, *items: int | tuple[int, bytes]) -> bytes:
    """Items are 1 (from the code), or a count and a record; the padding follows."""
    bits, parts, number = 0, [], 0
    for at, item in enumerate(items):
        if isinstance(item, int):
            bits |= 1 << at
            number += 1
        else:
            count, record = item
            parts.append((0x51 | count << 7).to_bytes(2, "little") if count > 1 else b"")
            parts.append(record)
            number += count
    parts.append((0x50 | len(code) // 16 - number << 7).to_bytes(2, "little"))
    return struct.pack("<IIII", 5, 0xC0000001, len(items) + 1, bits) + b"".join(parts)


def _fence(*words: int, back: int = 2) -> Code:
    """An add, a fence of some instructions, a branch back to the add, an EXIT."""
    branch = with_target(_BRANCH, 1 + len(words), 0)
    code = _code(_ADD, *words, branch, _EXIT)
    return Code(code, _capsule(code, 1, (len(words), _FENCE), 1, 1), ())


def _opcodes(code: bytes) -> list[int]:
    return [word & 0xFFF for word in words_of(code)]


def test_a_fence_of_a_kernel_loses_what_it_can_do_without() -> None:
    found = finalized(_fence(_LOAD, _LOAD, _BLOCK, _WIDE), is_final=True, has_debug=False)
    assert found is not None
    code, moved = found
    assert _opcodes(code.sass)[:5] == [0x210, 0x992, 0x947, 0x94D, 0x947]
    assert len(code.sass) == moved.new_size == 16 * 16
    words = words_of(code.sass)
    assert words[1] == _WIDE
    assert target_of(words[2], 2) == 0
    # One instruction needs no count any more; the padding has a new one.
    assert code.capsule == _capsule(code.sass, 1, (1, _FENCE), 1, 1)


@pytest.mark.parametrize(("is_final", "words"), [(False, (_LOAD, _BLOCK, _WIDE)), (True, (_WIDE,))])
def test_nothing_changes(is_final: bool, words: tuple[int, ...]) -> None:
    assert finalized(_fence(*words), is_final=is_final, has_debug=False) is None


def test_loads_stay_beside_copies_to_shared_memory() -> None:
    found = finalized(_fence(_LDGSTS, _LOAD, _BLOCK, _WIDE), is_final=True, has_debug=False)
    assert found is not None
    assert _opcodes(found[0].sass)[:4] == [0x210, 0xFAE, 0x984, 0x992]


def test_the_barrier_of_the_block_stays_beside_an_mbarrier() -> None:
    code = _code(_ADD, _LOAD, _BLOCK, _WIDE, _EXIT)
    capsule = _capsule(code, (1, _MBARRIER), (3, _FENCE), 1)
    found = finalized(Code(code, capsule, ()), is_final=True, has_debug=False)
    assert found is not None
    assert words_of(found[0].sass)[:4] == [_ADD, _BLOCK, _WIDE, _EXIT]


@pytest.mark.parametrize(
    ("is_final", "opcodes"), [(True, [0x9AB, 0x5AB]), (False, [0x992, 0x9AB, 0x5AB])]
)
def test_an_exit_waits_for_errors(is_final: bool, opcodes: list[int]) -> None:
    code = _code(_ADD, _EXIT ^ 0xF000)  # @!P0
    found = finalized(Code(code, _capsule(code, 1, 1), ()), is_final=is_final, has_debug=True)
    assert found is not None
    new, moved = found
    words = words_of(new.sass)[1 : 2 + len(opcodes)]
    assert [word & 0xFFF for word in words] == [*opcodes, 0x94D]
    assert {word >> 12 & 15 for word in words} == {8}
    assert moved.start(16) == 16
    assert moved.place(16) == 16 + 16 * len(opcodes)
    record = bytes.fromhex("0111000a01000000000000f800000000")
    assert new.capsule == _capsule(new.sass, 1, (1 + len(opcodes), record))


@pytest.mark.parametrize(
    "code",
    [
        Code(_code(_ADD, _EXIT), _capsule(_code(_ADD, _EXIT) + bytes(16), 1, 1), ()),
        Code(_code(_ADD, _EXIT | 1 << 80), _capsule(_code(_ADD, _EXIT), 1, 1), ()),
        Code(_code(0xF34E0001734E, _EXIT), _capsule(_code(_ADD, _EXIT), 1, 1), ()),
        Code(_code(_ADD, _EXIT)[:-16] + bytes(16), _capsule(_code(_ADD, _EXIT), 1, 1), ()),
    ],
    ids=["count", "operand of EXIT", "LEPC", "padding"],
)
def test_unknown_code_is_told(code: Code) -> None:
    with pytest.raises(UnknownCodeError):
        finalized(code, is_final=True, has_debug=True)


def test_a_quick_look_finds_what_can_change() -> None:
    for word in (_LOAD, _BLOCK, _ERRORS):
        assert fences.may_change(_code(_ADD, word), has_debug=False)
    assert not fences.may_change(_code(_ADD, _EXIT), has_debug=False)
    assert fences.calls(_code(_CALL))


_MOVED = Moved(16 * 16, 6, {1, 2}, {4: (_NOP,)})
"""Six instructions, of which two go; one comes in front of the fifth."""


def test_offsets_follow() -> None:
    assert [_MOVED.start(at * 16) for at in range(7)] == [0, 16, 16, 16, 32, 64, 80]
    assert [_MOVED.place(at * 16) for at in range(7)] == [0, 16, 16, 16, 48, 64, 80]
    assert _MOVED.start(16 * 16) == _MOVED.new_size == 16 * 16
    assert _MOVED.place(3 * 16 + 4) == 20


def test_lines_follow() -> None:
    # The address; a row at 0, one at 0x30, one at 0x50 and a line on, the end at 0x60.
    program = bytes.fromhex("0009020000000000000000") + bytes.fromhex("030201")
    program += bytes.fromhex("023001") + bytes.fromhex("03010220 01") + bytes.fromhex("0210000101")
    header = bytes.fromhex("0101fb0e0a000101010100000001") + b"a\0\0\0\0\0"
    body = b"\x02\x00" + len(header).to_bytes(4, "little") + header + program
    table = len(body).to_bytes(4, "little") + body
    address = table.index(program) + 3
    kept = line_tables.move_lines(table, {address: _MOVED}.get)
    moved = bytes(kept.data)[-len(program) + 2 :]
    # 0x30 is 0x10 now (a special operation), 0x50 is 0x40, 0x60 is 0x50.
    assert moved == program[:14] + bytes.fromhex("ef") + bytes.fromhex(
        "03010230 01".replace(" ", "")
    ) + bytes.fromhex("0210000101")
    assert kept.new_offset(address) == address


def test_frames_follow() -> None:
    rest = bytes.fromhex("0300047cffffffff0f0c818080280008ff8180280881808028")
    cie = bytes.fromhex("ffffffff2400000000000000ffffffffffffffff") + rest.ljust(0x1C, b"\0")
    steps = (
        bytes.fromhex("040c000000") + bytes.fromhex("0c818080280004") + bytes.fromhex("0c000000")
    )
    body = struct.pack("<QQQ", 0, 0, 16 * 16) + steps.ljust(20, b"\0")
    fde = struct.pack("<IQ", 0xFFFFFFFF, len(body)) + body
    table = cie + fde
    new = frames.move_frames(table, {len(cie) + 20: _MOVED}.get)
    assert new[len(cie) + 28 :][:8] == (16 * 16).to_bytes(8, "little")
    assert new[-20:][:5] == bytes.fromhex("0404000000")
    assert new[-20:][12:16] == bytes.fromhex("10000000")
    with pytest.raises(UnknownCodeError):
        frames.move_frames(table[:-20] + b"\x41" + table[-19:], {len(cie) + 20: _MOVED}.get)


def test_lives_of_registers_follow() -> None:
    row = b"\x01\0\0\0%r1\0" + struct.pack("<I", 5)
    table = b"k\0" + struct.pack("<I", 1) + row + struct.pack("<II", 0x30, 0x60)
    moved = registers.move_places(table, {"k": _MOVED}.get)
    assert moved == table[:-8] + struct.pack("<II", 0x10, 0x50)


def test_attributes_follow() -> None:
    exits = struct.pack("<BBHII", 4, 0x1C, 8, 0x40, 0x50)
    jumps = struct.pack("<BBHIHHIII", 4, 0x34, 20, 0x30, 1, 0, 2, 0x40, 0x50)
    note = struct.pack("<BBHIII4s", 4, 0x55, 16, 2, 0x40, 4, b"text")
    other = struct.pack("<BBHI", 4, 0x2F, 4, 0x40)
    moved = places.move_attributes(exits + jumps + note + other, _MOVED)
    assert moved[4:12] == struct.pack("<II", 0x30, 0x40)
    assert moved[16:36] == struct.pack("<IHHIII", 0x10, 1, 0, 2, 0x20, 0x40)
    assert moved[36 + 8 : 36 + 12] == struct.pack("<I", 0x30)
    assert moved[56:] == other


def _part(name: str, *rows: tuple[str, int, int]) -> bytes:
    parts = [
        b"\0\0\0\0" + text.encode() + b"\0" + struct.pack("<III", 5, a, b) for text, a, b in rows
    ]
    return name.encode() + b"\0" + struct.pack("<I", len(rows)) + b"".join(parts)


def test_only_the_first_part_of_a_name_has_lives() -> None:
    sass = _part("f", ("%r1", 0, 0), ("%r2", 0, 0)) + _part("f", ("%r1", 16, 32))
    mercury = _part("f", ("%r2", 16, 64), ("%r1", 32, 48)) + _part("f", ("%r1", 16, 48))
    joined = registers.join_places(sass, mercury, lambda name: {16: 16, 48: 32})
    wanted = _part("f", ("%r1", 0, 32), ("%r2", 16, 0)) + _part("f", ("%r1", 0, 0))
    assert joined == wanted
    assert registers.join_places(sass[: len(sass) // 3], b"", lambda name: {}) is None


def test_frames_of_another_copy_add_places() -> None:
    def entry(factor: int, *operations: str) -> bytes:
        cie = bytes.fromhex("ffffffff1000000000000000ffffffffffffffff0300") + bytes((factor, 0x7C))
        cie += bytes(28 - len(cie))
        steps = bytes.fromhex("".join(operations))
        body = bytes(24) + steps + bytes(-len(steps) % 8)
        return cie + struct.pack("<IQ", 0xFFFFFFFF, len(body)) + body

    linked = entry(4, "0c81800000", "0410000000")
    # The first place holds nothing, the second one an operation, the last one is in front of it.
    other = entry(1, "0410000000", "0420000000", "0a", "04f0ffffff")
    joined = frames._joined(linked, [other], {0x10: 0x10, 0x20: 0x20, 0x30: 0x30})
    assert bytes.fromhex("0c81800000040800000004040000000a0404000000") in joined


def _section(index: int, name: str, data: bytes) -> InSection:
    made = InSection()
    made.index, made.name, made.data, made.size = index, name, data, len(data)
    made.sh_type, made.flags, made.link, made.info = 1, 0, 0, 0
    made.align, made.entsize = 1, 0
    return made


def test_lengths_of_mercury_code_must_add_up() -> None:
    code = _code(0x7202, 0x7810, _EXIT)
    capsule = b"\1\0\0\0" + _capsule(code, 1, 1, 1)[4:]
    texts = [(".text.k", code), (".nv.capmerc.text.k", capsule)]
    for size, known in ((64, {0: 0, 16: 16, 48: 32}), (48, {})):
        symbols = struct.pack("<IBBHQQ", 0, 0x12, 0x10, 2, 0, size)
        sections = [
            _section(index, name, data)
            for index, (name, data) in enumerate([("", b""), *texts, (".nv.merc.symtab", symbols)])
        ]
        assert offsets.sass_offsets(InputObject("k", 0, sections, [], b""), 1) == known
