"""Which instructions the finalizer makes of fences and of the end of a kernel.

ptxas writes code that is right whatever the rest of the program does. In front of a memory barrier
it puts up to four loads from shared memory that never run (`@!PT LDS RZ, [RZ]`), and a barrier of
the block (`MEMBAR.ALL.CTA`) in front of a wider one. In a kernel that calls nothing the finalizer
knows the whole program, and leaves these out. The loads stay in kernels that copy to shared memory
(`LDGSTS`), the barrier of the block in those that use objects of type mbarrier (rule F11). With
`-g` all of it stays.

Code for a debugger waits for errors of the memory before it ends: `MEMBAR.SC.VC`, `ERRBAR` and
`CGAERRBAR` in front of `EXIT`. ptxas writes them when it is asked for debug data. The finalizer
does it for the whole program when it is asked to, or when any input has debug data. Where it
knows the whole program, it does without `MEMBAR.SC.VC` (rule F13).

All that is in what the capsule tells: which SASS instructions come from one Mercury instruction.
"""

from __future__ import annotations

from cubinspec_writer.linker.finalizer import capsules
from cubinspec_writer.linker.finalizer.flow import UNIT, words_of
from cubinspec_writer.linker.finalizer.moved import Moved, UnknownCodeError

#: Bits of an instruction that are not about when it runs, and not its predicate.
_MEANING = (1 << 105) - 1 & ~(15 << 12)
_PREDICATE, _NEGATED, _TRUE, _NEVER = 12, 8, 7, 15
#: `LDS RZ, [RZ]`, `MEMBAR.ALL.CTA`, `MEMBAR.SC.VC`, `EXIT`.
_LOAD, _OF_BLOCK = 0x80000000000FFFF0984, 0x80000000000000000992
_OF_ERRORS, _EXIT = 0x50000000000000000992, 0x3800000000000000000094D
_OPCODE, _MEMBAR = 0xFFF, 0x992
#: CALL.ABS, CALL.REL, and LDGSTS: low nine bits.
_KIND_OF_OPCODE, _CALLS, _COPY = 0x1FF, frozenset((0x143, 0x144)), 0x1AE
#: The same as bytes, which a look at whole code finds.
_SIGNS = tuple(meaning.to_bytes(16, "little")[2:13] for meaning in (_LOAD, _OF_BLOCK, _OF_ERRORS))
#: Control bits: no barrier of the scoreboard, and the next instruction follows after 0 or 6 cycles.
_AT_ONCE, _AFTER_6 = 0x7E0 << 105, 0x7F6 << 105
#: `MEMBAR.SC.VC`, `ERRBAR`, `CGAERRBAR`, without predicate.
_MEMBAR_OF_ERRORS = _OF_ERRORS | _AT_ONCE
_WAIT_FOR_ERRORS = (0x9AB | _AT_ONCE, 0x5AB | _AFTER_6)

#: The byte of a record that tells the kind of its Mercury instruction, and what all that work on
#: objects of type mbarrier have there.
_KIND, _MBARRIER = 1, 0x1B
#: The Mercury instruction EXIT; one byte has its predicate.
_EXIT_RECORD = bytes.fromhex("0111000a f8000000 000000f8 00000000")
_EXIT_PREDICATE, _NUMBER_SHIFT = 4, 3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from cubinspec_writer.linker.finalizer.capsules import Item


class Code:
    """One function of an input, in both forms.

    Attributes:
        sass, capsule: its code.
        bound: numbers of SASS instructions that have relocations.
    """

    __slots__ = ("bound", "capsule", "sass")

    def __init__(self, sass: bytes, capsule: bytes, bound: Collection[int]) -> None:
        self.sass = sass
        self.capsule = capsule
        self.bound = bound


def may_change(code: bytes, *, has_debug: bool) -> bool:
    """Whether it is worth a look: a quick test of the bytes."""
    return has_debug or any(sign in code for sign in _SIGNS)


def calls(code: bytes) -> bool:
    """Whether SASS code calls anything."""
    return any(word & _KIND_OF_OPCODE in _CALLS for word in words_of(code))


def finalized(code: Code, *, is_final: bool, has_debug: bool) -> tuple[Code, Moved] | None:
    """The code that the finalizer makes; None when that is the same.

    Rules F11 and F13.

    Args:
        is_final: whether the finalizer knows all that the function does.
        has_debug: whether the end of a kernel waits for errors.

    Raises:
        UnknownCodeError: the code has a form that was never observed.
    """
    items = capsules.items(code.capsule)
    words = words_of(code.sass)
    last = items[-1]
    if not last.is_padding or last.number + last.count != len(words):
        raise UnknownCodeError("a capsule with another number of instructions")
    kept = _kept(code.capsule, items, words)
    removed: set[int] = set()
    added: dict[int, tuple[int, ...]] = {}
    new: dict[int, tuple[int, bytes]] = {}
    for number, item in enumerate(items[:-1]):
        run = words[item.number : item.number + item.count]
        if is_final and item.count > 1:
            gone = _superfluous(run, kept)
            if gone:
                removed.update(item.number + at for at in gone)
                record = code.capsule[item.start : item.end]
                new[number] = (item.count - len(gone), record)
        if has_debug and item.start == item.end and run[0] & _OPCODE == _EXIT & _OPCODE:
            waits, record = _end(run[0], is_final)
            added[item.number] = waits
            new[number] = (1 + len(waits), record)
    if not new:
        return None
    moved = Moved(len(code.sass), last.number, removed, added)
    sass = moved.code(code.sass, code.bound)
    rest = moved.new_size // UNIT - moved.start(last.number * UNIT) // UNIT
    new[len(items) - 1] = (rest, b"")
    return Code(sass, capsules.rewritten(code.capsule, items, new), ()), moved


def _kept(capsule: bytes, items: list[Item], words: list[int]) -> set[int]:
    """Which instructions a kernel cannot do without."""
    kept = set()
    if any(word & _KIND_OF_OPCODE == _COPY for word in words):
        kept.add(_LOAD)
    if any(capsule[item.start + _KIND] == _MBARRIER for item in items if item.start < item.end):
        kept.add(_OF_BLOCK)
    return kept


def _superfluous(run: list[int], kept: set[int]) -> list[int]:
    """Which instructions of a run go where the whole program is known."""
    found = []
    for at, word in enumerate(run):
        meaning = word & _MEANING
        if meaning in kept:
            continue
        if meaning == _OF_ERRORS or (meaning == _LOAD and word >> _PREDICATE & 15 == _NEVER):
            found.append(at)
        elif meaning == _OF_BLOCK and at + 1 < len(run):
            # A wider barrier that follows does the same.
            following = run[at + 1]
            if following & _OPCODE == _MEMBAR and following & _MEANING != _OF_BLOCK:
                found.append(at)
    return found


def _end(word: int, is_final: bool) -> tuple[tuple[int, ...], bytes]:
    """What is put in front of an EXIT, and the record of its Mercury instruction."""
    predicate = word >> _PREDICATE & 15
    if word & _MEANING != _EXIT or predicate == _NEVER:
        raise UnknownCodeError("an EXIT with operands")
    waits = _WAIT_FOR_ERRORS if is_final else (_MEMBAR_OF_ERRORS, *_WAIT_FOR_ERRORS)
    record = bytearray(_EXIT_RECORD)
    if predicate != _TRUE:
        number, negated = predicate & ~_NEGATED, predicate // _NEGATED
        record[_EXIT_PREDICATE] = number << _NUMBER_SHIFT | negated
    return tuple(wait | predicate << _PREDICATE for wait in waits), bytes(record)
