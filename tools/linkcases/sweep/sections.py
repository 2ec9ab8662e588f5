"""Every section name of the spec, and some unknown ones, with and without names in it."""

from __future__ import annotations

from collections.abc import Iterator

from cubinspec.format.sections import (
    CAPSULE_PREFIX,
    MERCURY_PREFIX,
    MERCURY_TYPE,
    occupies_file,
)
from cubinspec_generated import codes, codes_relocation, records
from cubinspec_generated.tables import sections as table
from tools.linkcases.sweep.objects import Object, Section
from tools.linkcases.sweep.variation import Variation

#: Names that no table has: what somebody may write by hand, or an unknown tool.
UNKNOWN = {
    ".nv.unheard": codes.SHT_PROGBITS,
    ".unheard": codes.SHT_PROGBITS,
    ".comment": codes.SHT_PROGBITS,
    ".nv.local.f": codes.SHT_NOBITS,
    ".nv.host": codes.SHT_PROGBITS,
    ".nv.metadata": codes.SHT_PROGBITS,
    ".nv.uidx": codes.SHT_CUDA_UIDX,
    ".nv.constant.unheard": codes.SHT_CUDA_CONSTANT_B3,
    ".nv.constant9": codes.SHT_CUDA_CONSTANT_B0 + 9,
    ".nv.unheard.empty": codes.SHT_NOBITS,
    ".note.unheard": codes.SHT_NOTE,
}
#: What a section comes with: a global name in it, a relocation, a function that owns it.
FORMS = ("plain", "symbol", "reloc", "owned", "empty")
_NOT_MADE = (codes.SHT_NULL, codes.SHT_RELA, codes.SHT_REL)
_MERCURY_NAMES = (MERCURY_PREFIX, CAPSULE_PREFIX)
_BODY = bytes(range(1, 33))
_GLOBAL = codes.STB_GLOBAL << codes.ST_BIND_SHIFT | codes.STT_CUDA_OBJECT


def variations(program: str, bases: tuple[bytes, bytes]) -> Iterator[Variation]:
    """One section more in the second file, whose flags are those of the spec."""
    if program != "two":
        return
    names = {name: (kind.relocatable, kind.flags) for name, kind in table.EXACT.items()}
    names |= {p + "f": (kind.relocatable, kind.flags) for p, kind in table.PREFIXES}
    for name, sh_type in UNKNOWN.items():
        flags = codes.SHF_ALLOC if name.startswith(".nv.constant") else 0
        names[name] = sh_type, flags
    for name, (sh_type, flags) in names.items():
        for form in FORMS:
            files = with_section(bases, name, sh_type, flags, form)
            if files is not None:
                yield Variation(f"{program} {name} {form}", files)


def with_section(
    bases: tuple[bytes, bytes], name: str, sh_type: int, flags: int, form: str
) -> tuple[bytes, ...] | None:
    """The files of a program with one more section; None: the file has it already.

    A section of a program with two halves comes with its twin, if that is not what is asked for.
    """
    changed = Object(bases[1])
    if changed.has(name) or sh_type in _NOT_MADE:
        return None
    is_mercury = name.startswith(_MERCURY_NAMES)
    has_mercury = changed.has(MERCURY_PREFIX + ".symtab")
    add_section(changed, name, sh_type, flags, form, mercury=is_mercury and has_mercury)
    twin = MERCURY_PREFIX + name
    if has_mercury and not is_mercury and not changed.has(twin):
        twin_type = MERCURY_TYPE.get(sh_type, sh_type)
        add_section(changed, twin, twin_type, flags | codes.SHF_CUDA_MERCURY, form, mercury=True)
    return bases[0], changed.bytes()


def add_section(
    changed: Object, name: str, sh_type: int, flags: int, form: str, *, mercury: bool
) -> None:
    """Add a section, and what its form asks for.

    Args:
        mercury: it belongs to the Mercury half.
    """
    body = _BODY if form != "empty" and occupies_file(sh_type, flags) else b""
    size = 0 if form == "empty" else len(_BODY)
    code = CAPSULE_PREFIX if mercury else ""
    owner = changed.find(f"{code}.text.f") if form == "owned" else 0
    flags = flags | codes.SHF_INFO_LINK if owner else flags & ~codes.SHF_INFO_LINK
    section = Section(name, sh_type, flags, body, size, info=owner)
    index = changed.add_section(section)
    if form == "symbol":
        changed.add_symbol("named_here", _GLOBAL, 0, index, 0, 4, mercury=mercury)
    if form == "reloc":
        _add_relocation(changed, name, index, mercury=mercury)


def _add_relocation(changed: Object, name: str, index: int, *, mercury: bool) -> None:
    """Let a section have one relocation."""
    row = records.RELA_64.pack(0, codes_relocation.R_CUDA_64, changed.symbol("gb", mercury), 0)
    table = codes.SHT_CUDA_MERC_SYMTAB if mercury else codes.SHT_SYMTAB
    link = next(i for i, s in enumerate(changed.sections) if s.sh_type == table)
    rela = Section(".rela" + name, codes.SHT_RELA, codes.SHF_INFO_LINK, row, len(row), link)
    if mercury:
        rela.name = MERCURY_PREFIX + ".rela" + name.removeprefix(MERCURY_PREFIX)
        rela.sh_type, rela.flags = codes.SHT_CUDA_MERC_RELA, rela.flags | codes.SHF_CUDA_MERCURY
    rela.info, rela.align, rela.entsize = index, 8, len(row)
    changed.add_section(rela)
