"""The load of an unused stack pointer sets no barrier; every wait is still for the same."""

from __future__ import annotations

import pytest

from cubinspec_writer.linker.finalizer import schedule

_LOAD, _LOAD_2, _ADD, _TABLE, _EXIT = 0xFF017B82, 0xFF027B82, 0x03037210, 0x04047949, 0x0000794D
_CALL = 0x00007943


def _instruction(word: int, write: int = 7, read: int = 7, wait: int = 0) -> bytes:
    return (word | write << 110 | read << 113 | wait << 116).to_bytes(16, "little")


def _barriers(code: bytes) -> list[tuple[int, int]]:
    words = [int.from_bytes(code[at : at + 16], "little") for at in range(0, len(code), 16)]
    return [(word >> 110 & 7, word >> 116 & 63) for word in words]


def _kernel(*more: bytes) -> bytes:
    return b"".join(
        (
            _instruction(_LOAD, write=0),
            _instruction(_LOAD_2, write=1),
            _instruction(_ADD, wait=0b10),
            *more,
            _instruction(_TABLE, wait=0b01),
            _instruction(_LOAD_2, write=1),
            _instruction(_ADD, wait=0b10),
            _instruction(_EXIT),
        )
    )


def test_other_loads_take_the_lowest_barrier() -> None:
    changed = schedule.without_stack_load(_kernel())
    assert changed is not None
    assert _barriers(changed) == [(7, 0), (0, 0), (7, 1), (7, 0), (0, 0), (7, 1), (7, 0)]


@pytest.mark.parametrize(
    "code",
    [
        _kernel()[16:],
        _kernel(_instruction(_CALL)),
        _kernel(_instruction(0x01037210)),
        _kernel(_instruction(_LOAD_2, write=0)),
        _kernel()[:48] + _instruction(_EXIT),
        _kernel()[:-1],
    ],
    ids=["no load", "call", "uses it", "shares its barrier", "no table", "cut"],
)
def test_other_code_stays(code: bytes) -> None:
    assert schedule.without_stack_load(code) is None


def test_a_wait_that_is_missing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assign = schedule._assign

    def forgets(found: list[schedule._Instruction]) -> list[tuple[int, int, int]] | None:
        new = assign(found)
        assert new is not None
        return [(write, read, 0) for write, read, _ in new]

    monkeypatch.setattr(schedule, "_assign", forgets)
    assert schedule.without_stack_load(_kernel()) is None
