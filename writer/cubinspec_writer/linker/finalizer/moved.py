"""Code with instructions removed or added, and the new places of all that refers to it.

An instruction of Mercury code becomes a run of SASS instructions. When a run changes, everything
behind it moves. What names a run as a whole (branches, jump tables, frames, lines, lives of
registers) follows its start, and what names one instruction (relocations, attributes) follows that
instruction. Code ends with a branch to itself and NOPs, which fill it up to a multiple of 8
instructions: at least 9, at most 16 of them (rule F12).
"""

from __future__ import annotations

from types import MappingProxyType

from cubinspec_generated.codes_sass import (
    SASS_BYTES,
    SASS_LINE,
    SASS_NUMBER_MASK,
    SASS_NUMBER_SHIFT,
    SASS_OPCODE_MASK,
)
from cubinspec_generated.tables.sass import RELATIVE
from cubinspec_writer.linker.finalizer.flow import encode, target_of, with_target, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


class UnknownCodeError(Exception):
    """Code of a form that was never observed; the text says which."""


class Moved:
    """Where the places of one function went.

    Attributes:
        size, new_size: bytes of its code.
    """

    __slots__ = ("_added", "_body", "_places", "_removed", "_runs", "new_size", "size")

    def __init__(
        self,
        size: int,
        body: int,
        removed: Collection[int],
        added: Mapping[int, Sequence[int]],
        joined: Collection[int] = (),
    ) -> None:
        """From what changes.

        Args:
            size: bytes of the old code.
            body: number of the first instruction of the padding.
            removed: numbers of instructions that go.
            added: number of the first instruction of a run -> what is put in front of it.
            joined: those that go whose place is that of the instruction in front of them.
        """
        self._body, self._removed, self._added = body, removed, added
        #: Numbers of instructions -> where a run that begins there begins now, and the instruction.
        self._runs: list[int] = []
        self._places: list[int] = []
        new = 0
        for number in range(body):
            self._runs.append(new)
            new += len(added.get(number, ()))
            self._places.append(new - (number in joined))
            new += number not in removed
        self.size = size
        self.new_size = (new // SASS_LINE + 2) * SASS_LINE * SASS_BYTES
        rest = range(new, new + size // SASS_BYTES - body)
        self._runs += rest
        self._places += rest

    def new_numbers(self) -> set[int]:
        """The numbers of added instructions in the new code."""
        return {
            new
            for number, words in self._added.items()
            for new in range(self._runs[number], self._runs[number] + len(words))
        }

    def start(self, offset: int) -> int:
        """The new offset of what starts with the run at an offset."""
        return self._new(self._runs, offset)

    def kept(self, offset: int) -> int:
        """As `start`; of an instruction that goes, the new offset of the one in front of it."""
        new = self.start(offset)
        return max(0, new - SASS_BYTES) if offset // SASS_BYTES in self._removed else new

    def place(self, offset: int) -> int:
        """The new offset of an instruction, or of a part of it."""
        return self._new(self._places, offset)

    def _new(self, numbers: list[int], offset: int) -> int:
        number, part = divmod(offset, SASS_BYTES)
        if number >= len(numbers):
            return offset - self.size + self.new_size
        return numbers[number] * SASS_BYTES + part

    def code(
        self, code: bytes, bound: Collection[int], numbers: Mapping[int, int] = MappingProxyType({})
    ) -> bytes:
        """The new code.

        Args:
            bound: numbers of instructions with relocations, which tell where they lead.
            numbers: instructions that have the offset of another one as a number -> that one.

        Raises:
            UnknownCodeError: it does not end as code does, or a branch leads out of it.
        """
        old = words_of(code)
        padding = old[self._body :]
        if len(padding) < 2 or any(word != padding[-1] for word in padding[1:]):
            raise UnknownCodeError("code that ends in another way")
        new: list[int] = []
        for number, word in enumerate(old[: self._body]):
            new += self._added.get(number, ())
            if number in self._removed:
                continue
            if word & SASS_OPCODE_MASK in RELATIVE and number not in bound:
                word = self._led(word, number, len(new))
            elif number in numbers:
                word = self._renumbered(word, numbers[number])
            new.append(word)
        new.append(padding[0])
        new += [padding[-1]] * (self.new_size // SASS_BYTES - len(new))
        return encode(new)

    def _renumbered(self, word: int, of: int) -> int:
        """An instruction with the new offset of another one as its number."""
        if (word & SASS_NUMBER_MASK) >> SASS_NUMBER_SHIFT != of * SASS_BYTES:
            raise UnknownCodeError("an instruction names a place in an unknown way")
        return word & ~SASS_NUMBER_MASK | self._runs[of] * SASS_BYTES << SASS_NUMBER_SHIFT

    def _led(self, word: int, number: int, new: int) -> int:
        """A branch with the distance to the new place of its target."""
        target = target_of(word, number)
        if target == number + 1:
            return word
        if not 0 <= target < len(self._runs):
            raise UnknownCodeError(f"instruction {number} names a place in an unknown way")
        return with_target(word, new, self._runs[target])


class MovedPart:
    """Where the places of a part of a function went, counted from its start.

    Attributes:
        base: the new offset of this start.
    """

    __slots__ = ("_at", "_whole", "base")

    def __init__(self, whole: Moved, at: int) -> None:
        self._whole = whole
        self._at = at
        self.base = whole.start(at)

    def start(self, offset: int) -> int:
        """The new offset of what starts with the run at an offset."""
        return self._whole.start(self._at + offset) - self.base
