"""Relocations that ptxas never writes: other targets, places, symbols and types.

From sm_100 on one half is changed, and the other stays: those of the SASS half, of which nvlink
reads nothing, and those in the Mercury code of a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cubinspec.format.sections import MERCURY_PREFIX
from cubinspec_generated import codes, records
from cubinspec_generated.tables import relocations as table
from tools.linkcases.sweep.objects import Object, Section
from tools.linkcases.sweep.variation import Variation

_Change = Callable[[Object], None]
#: Numbers of sections and symbols behind the end of a table, counted from there or as they are.
_BEHIND = (0, 1, 100)
_FAR = (0xFF00, 0xFFF1, 0xFFF2, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
#: How far a place is moved, and places counted from the end of a section.
_SHIFTS = (1, 2, 3, 4, 5, 8, 12, 15)
_ENDS = (-16, -15, -12, -9, -8, -7, -5, -4, -3, -2, -1, 0, 1, 4, 8, 15, 16, 4096)
_KERNEL = "k1"
_TYPES = (*sorted(table.TYPES), 0x75, 0xFF, 0xFFFF, 0x10041, 0x200FF, 0xFFFFFFFF)
#: What a relocation of each type names.
_NAMED = ("gv", "gl", "cv", "sv", "g", "f", _KERNEL, ".nv.constant0." + _KERNEL, ".text.g")


def variations(program: str, bases: tuple[bytes, bytes]) -> Iterator[Variation]:
    """One change of the relocations of the first file."""
    if program != "two":
        return
    for name, data in _changed(bases[0]):
        yield Variation(f"{program} {name}", (data, bases[1]))


def _changed(base: bytes) -> Iterator[tuple[str, bytes]]:
    for name, change in _changes(Object(base)):
        changed = Object(base)
        change(changed)
        yield name, changed.bytes()


def _changes(base: Object) -> Iterator[tuple[str, _Change]]:
    yield from _targets(base)
    yield from _places(base)
    yield from _symbols(base)
    yield from _types(base)


def _tables(base: Object) -> list[Section]:
    kinds = (codes.SHT_RELA, codes.SHT_REL)
    return [section for section in base.sections if section.sh_type in kinds]


def _chosen(base: Object) -> list[Section]:
    """The relocations of a kernel and those of a debug table."""
    tables = _tables(base)
    return [*(s for s in tables if s.name.endswith(f".text.{_KERNEL}")), tables[-1]]


def _in_mercury(base: Object) -> list[Section]:
    """The relocations of a kernel's Mercury code."""
    name = f"{MERCURY_PREFIX}.rela.text.{_KERNEL}"
    return [section for section in base.sections if section.name == name]


def _targets(base: Object) -> Iterator[tuple[str, _Change]]:
    """Every section as the target."""
    numbers = len(base.sections)
    for name in [section.name for section in _chosen(base)]:
        for info in (*range(numbers), *(numbers + more for more in _BEHIND), *_FAR):
            yield f"{name} target {info:#x}", _setter(name, "info", info)


def _setter(name: str, field: str, value: int) -> _Change:
    def change(changed: Object) -> None:
        setattr(changed.sections[changed.find(name)], field, value)

    return change


def _row_setter(name: str, row: int, **fields: int) -> _Change:
    """Change one row of a section of relocations: its place, type, symbol."""

    def change(changed: Object) -> None:
        section = changed.sections[changed.find(name)]
        form = records.REL_64 if section.sh_type == codes.SHT_REL else records.RELA_64
        values = list(form.unpack_from(section.data, row * form.size))
        for at, key in enumerate(("offset", "kind", "symbol")):
            values[at] = fields.get(key, values[at])
        start = row * form.size
        end = start + form.size
        section.data = section.data[:start] + form.pack(*values) + section.data[end:]

    return change


def _rows(section: Section) -> list[tuple[int, ...]]:
    form = records.REL_64 if section.sh_type == codes.SHT_REL else records.RELA_64
    return list(form.iter_unpack(section.data))


def _places(base: Object) -> Iterator[tuple[str, _Change]]:
    """Places that are not aligned, and those around the end of a section."""
    for section in (*_chosen(base), *_in_mercury(base)):
        for number, row in enumerate(_rows(section)):
            size = _size(base, section.info)
            moved = {f"+{shift}": row[0] + shift for shift in _SHIFTS}
            moved |= {f"end{shift:+}": size + shift for shift in _ENDS}
            for text, offset in moved.items():
                yield (
                    f"{section.name} {number} at {text}",
                    _row_setter(section.name, number, offset=offset),
                )


def _size(base: Object, number: int) -> int:
    """The bytes of a section. Its symbol tells those of Mercury code, as a capsule holds less."""
    section = base.sections[number]
    if section.sh_type != codes.SHT_CUDA_CAPMERC:
        return len(section.data)
    return max(row[-1] for row in base.symbols(mercury=True) if row[3] == number)


def _symbols(base: Object) -> Iterator[tuple[str, _Change]]:
    """Every symbol as what is named."""
    for mercury, sections in ((False, _chosen(base)), (True, _in_mercury(base))):
        for section in sections:
            count = len(base.symbols(mercury))
            for number in range(len(_rows(section))):
                for symbol in (*range(count), *(count + more for more in _BEHIND), 0xFFFFFFFF):
                    yield (
                        f"{section.name} {number} names {symbol:#x}",
                        _row_setter(section.name, number, symbol=symbol),
                    )


def _types(base: Object) -> Iterator[tuple[str, _Change]]:
    """Every type, for every kind of thing that it may name."""
    for mercury, sections in ((False, _chosen(base)), (True, _in_mercury(base))):
        names = {
            base.name_of(row, mercury) or base.sections[row[3]].name: index
            for index, row in enumerate(base.symbols(mercury) if sections else ())
            if index
        }
        for section in sections:
            for named in _NAMED:
                for kind in _TYPES if named in names else ():
                    change = _row_setter(section.name, 0, kind=kind, symbol=names[named])
                    yield f"{section.name} type {kind:#x} {named}", change
