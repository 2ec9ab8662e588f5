"""Every binding and type of a symbol in every section of a file, and outside of sections."""

from __future__ import annotations

from collections.abc import Iterator

from cubinspec.format.sections import CAPSULE_PREFIX, MERCURY_PREFIX
from cubinspec_generated import codes
from tools.linkcases.sweep.objects import Object
from tools.linkcases.sweep.variation import Variation

#: Those of ELF, and one that nobody defines.
BINDINGS = {
    "local": codes.STB_LOCAL,
    "global": codes.STB_GLOBAL,
    "weak": codes.STB_WEAK,
    "unknown": 3,
}
TYPES = range(codes.ST_TYPE_MASK + 1)
#: Section numbers that are no sections.
_OUTSIDE = {"undef": codes.SHN_UNDEF, "abs": 0xFFF1, "common": codes.SHN_COMMON}
_MERCURY_NAMES = (MERCURY_PREFIX, CAPSULE_PREFIX)
_NAME = "named_here"
_SIZE = 4


def variations(program: str, bases: tuple[bytes, bytes]) -> Iterator[Variation]:
    """One symbol more in the second file; in a file with two halves, its twin in the other."""
    if program != "two":
        return
    first = Object(bases[1])
    places = _OUTSIDE | {
        section.name: index
        for index, section in enumerate(first.sections)
        if index and not section.name.startswith(_MERCURY_NAMES)
    }
    for place, shndx in places.items():
        for word, binding in BINDINGS.items():
            for kind in TYPES:
                info = binding << codes.ST_BIND_SHIFT | kind
                files = bases[0], _with_symbol(bases[1], info, place, shndx)
                yield Variation(f"{program} {place} {word} {kind}", files)


def _with_symbol(data: bytes, info: int, place: str, shndx: int) -> bytes:
    changed = Object(data)
    changed.add_symbol(_NAME, info, 0, shndx, 0, _SIZE)
    if changed.has(MERCURY_PREFIX + ".symtab"):
        twin = next((i for i, s in enumerate(changed.sections) if _is_twin(s.name, place)), shndx)
        changed.add_symbol(_NAME, info, 0, twin, 0, _SIZE, mercury=True)
    return changed.bytes()


def _is_twin(name: str, place: str) -> bool:
    return name in (MERCURY_PREFIX + place, CAPSULE_PREFIX + place)
