"""Every attribute code as one record, in the module's, a kernel's and a function's attributes."""

from __future__ import annotations

from collections.abc import Iterator

from cubinspec.format.attributes import raw_record, split_records
from cubinspec_generated.codes import (
    EIATTR_EXIT_INSTR_OFFSETS,
    EIFMT_BVAL,
    EIFMT_HVAL,
    EIFMT_NVAL,
    EIFMT_SVAL,
)
from cubinspec_generated.tables import eiattr
from tools.linkcases.sweep.objects import Object
from tools.linkcases.sweep.variation import Variation

#: One above the largest code that has a name.
NUM_CODES = 0x6F
MERCURY = ".nv.merc"
#: Place -> which of the two files, the section, the symbol that records name.
PLACES = {
    "module": (1, ".nv.info", "f"),
    "kernel": (0, ".nv.info.k1", "k1"),
    "function": (1, ".nv.info.f", "f"),
}
#: Form of a record -> its format and, for payloads, how many words follow.
FORMS = {
    "none": (EIFMT_NVAL, 0),
    "byte": (EIFMT_BVAL, 0),
    "half": (EIFMT_HVAL, 0),
    "words0": (EIFMT_SVAL, 0),
    "words1": (EIFMT_SVAL, 1),
    "words2": (EIFMT_SVAL, 2),
    "words5": (EIFMT_SVAL, 5),
}
#: Codes of lists of places in code.
OFFSETS = frozenset(c for c, row in eiattr.ATTRIBUTES.items() if row.category == "offsets")
_IMMEDIATE = {"byte": 3, "half": 0x103}


def variations(program: str, bases: tuple[bytes, bytes]) -> Iterator[Variation]:
    """One record each; from sm_100 on in both halves."""
    has_mercury = Object(bases[0]).has(MERCURY + ".nv.info")
    for place in PLACES:
        for code in range(NUM_CODES):
            for form in FORMS:
                files = with_record(bases, place, code, form, has_mercury=has_mercury)
                yield Variation(f"{program} {place} {code:#04x} {form}", files)


def with_record(
    bases: tuple[bytes, bytes], place: str, code: int, form: str, *, has_mercury: bool
) -> tuple[bytes, ...]:
    """The files of a program with one more record, in each half."""
    number, section, symbol = PLACES[place]
    changed = Object(bases[number])
    for mercury in (False, True) if has_mercury else (False,):
        own = changed.sections[changed.find((MERCURY if mercury else "") + section)]
        rest = (5, 6, 7, 8)
        first = changed.symbol(symbol, mercury)
        if has_mercury and code in OFFSETS:
            # The finalizer translates places: that of the exit, or the start of the code.
            exits = (r for r in split_records(own.data) if r[1] == EIATTR_EXIT_INSTR_OFFSETS)
            first = int.from_bytes(next(exits, bytes(8))[4:8], "little")
            rest = (0, 0, 0, 0)
        own.data += record(code, form, (first, *rest))
    files = list(bases)
    files[number] = changed.bytes()
    return tuple(files)


def record(code: int, form: str, words: tuple[int, ...]) -> bytes:
    """A record of a form.

    Args:
        words: the payload, of which some forms have a part.
    """
    kind, num_words = FORMS[form]
    words = words[:num_words]
    payload = b"".join(word.to_bytes(4, "little") for word in words)
    return raw_record(kind, code, _IMMEDIATE.get(form, 0), payload)
