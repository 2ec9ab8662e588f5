"""What follows from the name, the type and the flags of a section alone.

* types by what they hold: ``INFO_TYPES``, ``RELOCATION_TYPES``, ``SYMBOL_TABLE_TYPES``,
  ``CONSTANT_BANK_TYPES``, …
* ``occupies_file(sh_type, sh_flags)``: whether the file holds its bytes
* ``info_target(name, sh_type)``, ``link_target(name, sh_type, sh_flags)``: the names of the
  sections that ``sh_info`` and ``sh_link`` refer to
* ``has_section_symbol(name, sh_type, sh_flags)``
* ``function_prefix(name)``: ``.rela.text.`` of ``.rela.text.k``
* Mercury twins, which a cubin of sm_100 and later has beside its SASS sections: ``MERCURY_TYPE``
  and ``SASS_TYPE``, ``final_name``, ``mercury_name``, ``sass_twin``
"""

from __future__ import annotations

from cubinspec_generated.codes import (
    SHF_CUDA_MERCURY,
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_CONSTANT_B2,
    SHT_CUDA_CONSTANT_B3,
    SHT_CUDA_CONSTANT_B4,
    SHT_CUDA_CONSTANT_B17,
    SHT_CUDA_GLOBAL,
    SHT_CUDA_INFO,
    SHT_CUDA_LOCAL,
    SHT_CUDA_MERC_CALLGRAPH,
    SHT_CUDA_MERC_CONSTANT_IMAGE_INDICES,
    SHT_CUDA_MERC_CONSTANT_OPTIMIZER,
    SHT_CUDA_MERC_CONSTANT_PIC,
    SHT_CUDA_MERC_CONSTANT_USER,
    SHT_CUDA_MERC_INFO,
    SHT_CUDA_MERC_PROTOTYPE,
    SHT_CUDA_MERC_RELA,
    SHT_CUDA_MERC_RESOLVED_RELA,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_PROTOTYPE,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_RESOLVED_RELA,
    SHT_CUDA_SHARED,
    SHT_CUDA_UDT_ENTRY,
    SHT_CUDA_UFT,
    SHT_CUDA_UFT_ENTRY,
    SHT_NOBITS,
    SHT_NULL,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# ---------------------------------------------------------------- types by what they hold

INFO_TYPES: Final = frozenset((SHT_CUDA_INFO, SHT_CUDA_MERC_INFO, SHT_CUDA_COMPAT_INFO))
CALLGRAPH_TYPES: Final = frozenset((SHT_CUDA_CALLGRAPH, SHT_CUDA_MERC_CALLGRAPH))
PROTOTYPE_TYPES: Final = frozenset((SHT_CUDA_PROTOTYPE, SHT_CUDA_MERC_PROTOTYPE))
SYMBOL_TABLE_TYPES: Final = frozenset((SHT_SYMTAB, SHT_CUDA_MERC_SYMTAB))
#: Tables of identifiers of unified functions and data.
UNIFIED_ENTRY_TYPES: Final = frozenset((SHT_CUDA_UFT_ENTRY, SHT_CUDA_UDT_ENTRY))
#: Relocations of the SASS half; resolved ones were applied and are kept for tools.
SASS_RELOCATION_TYPES: Final = frozenset((SHT_REL, SHT_RELA, SHT_CUDA_RESOLVED_RELA))
RELOCATION_TYPES: Final = SASS_RELOCATION_TYPES | {SHT_CUDA_MERC_RELA, SHT_CUDA_MERC_RESOLVED_RELA}
#: The numbered constant banks.
CONSTANT_BANK_TYPES: Final = frozenset(range(SHT_CUDA_CONSTANT_B0, SHT_CUDA_CONSTANT_B17 + 1))
#: Sections that reserve memory but hold no bytes: the CUDA types stand for NOBITS before linking.
NO_BYTES_TYPES: Final = frozenset(
    (SHT_NULL, SHT_NOBITS, SHT_CUDA_GLOBAL, SHT_CUDA_LOCAL, SHT_CUDA_SHARED)
)


def occupies_file(sh_type: int, sh_flags: int) -> bool:
    """Whether a section has bytes in the file.

    ``.nv.shared.reserved.0`` has none, its Mercury twin of the same type has (observed in the
    output of ptxas and nvlink 12.8 to 13.5).
    """
    if sh_type == SHT_CUDA_RESERVED_SHARED:
        return bool(sh_flags & SHF_CUDA_MERCURY)
    return sh_type not in NO_BYTES_TYPES


# ---------------------------------------------------------------- Mercury twins

#: What names of the Mercury half start with: code, and everything else.
CAPSULE_PREFIX: Final = ".nv.capmerc"
MERCURY_PREFIX: Final = ".nv.merc"
#: Code of a function, and its Mercury code.
TEXT: Final = ".text."
CAPMERC_TEXT: Final = ".nv.capmerc.text."
#: Section indices that `.symtab` has no room for; few files have as many sections.
SHNDX: Final = ".symtab_shndx"
#: The jump slot of a unified function in a relocatable file.
UFT_REL: Final = ".nv.uft.rel."
#: The table of jump slots of an executable, as SASS and as Mercury code.
UFT: Final = ".nv.uft"
CAPMERC_UFT: Final = ".nv.capmerc.nv.uft"
#: What the name of a unified function's jump slot starts with.
STUB: Final = "__cuda_uf_stub_"

#: Type of a section -> type of its Mercury twin, where that is another one.
MERCURY_TYPE: Final = {
    SHT_CUDA_INFO: SHT_CUDA_MERC_INFO,
    SHT_RELA: SHT_CUDA_MERC_RELA,
    SHT_CUDA_RESOLVED_RELA: SHT_CUDA_MERC_RESOLVED_RELA,
    SHT_CUDA_CALLGRAPH: SHT_CUDA_MERC_CALLGRAPH,
    SHT_CUDA_PROTOTYPE: SHT_CUDA_MERC_PROTOTYPE,
    SHT_SYMTAB: SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_CONSTANT_B0: SHT_CUDA_MERC_CONSTANT_IMAGE_INDICES,
    SHT_CUDA_CONSTANT_B2: SHT_CUDA_MERC_CONSTANT_OPTIMIZER,
    SHT_CUDA_CONSTANT_B3: SHT_CUDA_MERC_CONSTANT_USER,
    SHT_CUDA_CONSTANT_B4: SHT_CUDA_MERC_CONSTANT_PIC,
}
#: Type of a Mercury section -> type of its SASS twin, where that is another one.
SASS_TYPE: Final = {mercury: sass for sass, mercury in MERCURY_TYPE.items()}
SASS_TYPE[SHT_CUDA_CAPMERC] = SHT_PROGBITS

#: What the finalizer calls a constant bank first, and its final name; a dot at the end means that
#: the name of a function follows.
_BANK_NAMES: Final = (
    (".nv.constant.user", ".nv.constant3"),
    (".nv.constant.pic", ".nv.constant4"),
    (".nv.constant.optimizer.", ".nv.constant2."),
)
#: What follows ``.nv.constant.`` in the Mercury name of a bank -> number of the bank.
MERCURY_BANKS: Final = {
    old.removeprefix(".nv.constant.").removesuffix("."): int(
        new.removeprefix(".nv.constant").removesuffix(".")
    )
    for old, new in _BANK_NAMES
}
#: The indices of textures and surfaces become part of the parameter bank, which is made last
#: under its own name.
_FINAL_NAMES: Final = (*_BANK_NAMES, (".nv.constant.entry_image_header_indices.", ".nv.constant0."))


def final_name(mercury: str) -> str | None:
    """The final name of a section made as ``mercury``; ``None`` when it keeps its name."""
    for old, new in _FINAL_NAMES:
        if mercury == old or (old.endswith(".") and mercury.startswith(old)):
            return new + mercury[len(old) :]
    return None


def renamed_again(mercury: str, times: int) -> str:
    """What a name made as ``mercury`` becomes when the finalizer renames it several times.

    Every time it takes as many letters for the old start of the name as that had at first.
    """
    head = next((head for head in (".rela", ".rel") if mercury.startswith(head)), "")
    made = mercury[len(head) :]
    for old, new in _FINAL_NAMES:
        if old.endswith(".") and made.startswith(old):
            cut = (times - 1) * (len(old) - len(new))
            return head + new + made[len(old) + cut :]
    return mercury


def mercury_name(final: str) -> str | None:
    """The name under which the finalizer made section ``final``; ``None`` when it is the same."""
    for old, new in _BANK_NAMES:
        if final == new or (new.endswith(".") and final.startswith(new)):
            return old + final[len(new) :]
    for prefix in (".rela", ".rel"):
        if final.startswith(prefix + BANK):
            inner = mercury_name(final[len(prefix) :])
            return None if inner is None else prefix + inner
    return None


def sass_twin(mercury: str) -> str:
    """Name of the section whose bytes the section ``mercury`` (``.nv.merc.…``) may share."""
    name = mercury.removeprefix(MERCURY_PREFIX)
    return final_name(name) or name


# ---------------------------------------------------------------- names

#: What names of constant banks begin with.
BANK: Final = ".nv.constant"
#: What a name of the form ``<prefix>.<function>`` starts with: a half, then relocations, each of
#: which may be missing, then one of these, where ``.nv.constant`` has a number.
_HALVES: Final[tuple[str, ...]] = (MERCURY_PREFIX, CAPSULE_PREFIX)
_RELOCATIONS: Final[tuple[str, ...]] = (".nv.resolvedrela.", ".rela.", ".rel.")
_OF_FUNCTIONS: Final[tuple[str, ...]] = (
    TEXT,
    ".nv.info.",
    ".nv.shared.",
    ".nv.local.",
    UFT_REL,
    ".nv.constant.optimizer.",
    ".nv.constant.entry_image_header_indices.",
)
#: What follows a prefix and is no function.
NO_FUNCTION: Final[tuple[str, ...]] = ("reserved.", STUB)
#: What constant banks of functions are called whose relocations are named before they are.
NAMED_BEHIND_RELOCATIONS: Final[tuple[str, ...]] = (
    ".nv.constant0.",
    ".nv.constant.entry_image_header_indices.",
)


def function_prefix(name: str) -> str:
    """``<prefix>.`` of a name of the form ``<prefix>.<function>``; empty for any other.

    Names with a meaning of their own (reserved shared memory, stubs) are not of that form.
    """
    at = 0
    for beginnings in (_HALVES, _RELOCATIONS):
        for beginning in beginnings:
            if name.startswith(beginning, at):
                at += len(beginning.removesuffix("."))
                break
    end = 0
    for beginning in _OF_FUNCTIONS:
        if name.startswith(beginning, at):
            end = at + len(beginning)
    if name.startswith(BANK, at):
        bank, dot, _ = name[at + len(BANK) :].partition(".")
        if dot and bank.isdecimal():
            end = at + len(BANK) + len(bank) + 1
    return name[:end] if len(name) > end and not name.startswith(NO_FUNCTION, end) else ""


# ---------------------------------------------------------------- what it refers to

#: Types whose rows name symbols of ``.symtab``.
LINK_TO_SYMTAB: Final = frozenset(
    (
        SHT_CUDA_INFO,
        SHT_CUDA_CALLGRAPH,
        SHT_CUDA_PROTOTYPE,
        SHT_CUDA_RESOLVED_RELA,
        SHT_CUDA_UFT_ENTRY,
        SHT_CUDA_UDT_ENTRY,
        SHT_REL,
        SHT_RELA,
        SHT_CUDA_UFT,
    )
)
#: Types whose rows name symbols of ``.nv.merc.symtab``.
LINK_TO_MERC_SYMTAB: Final = frozenset(
    (
        SHT_CUDA_CAPMERC,
        SHT_CUDA_MERC_RELA,
        SHT_CUDA_MERC_INFO,
        SHT_CUDA_MERC_CALLGRAPH,
        SHT_CUDA_MERC_PROTOTYPE,
        SHT_CUDA_MERC_RESOLVED_RELA,
    )
)
#: Notes about the target; they refer to the note of the tool and to ``.nv.compat``.
CUDA_NOTES: Final[tuple[str, ...]] = (".note.nv.cuinfo", ".note.nv.cuver")


def link_target(name: str, sh_type: int, sh_flags: int) -> str | None:
    """Name of the section that ``sh_link`` stands for; ``None`` when it is 0."""
    if sh_type in SYMBOL_TABLE_TYPES:
        return ".strtab"
    if name in CUDA_NOTES:
        return ".note.nv.tkinfo"
    if sh_type in LINK_TO_MERC_SYMTAB:
        return ".nv.merc.symtab"
    is_linked = sh_type in LINK_TO_SYMTAB or sh_type == SHT_SYMTAB_SHNDX
    if is_linked or name.startswith(".text"):
        return ".nv.merc.symtab" if sh_flags & SHF_CUDA_MERCURY else ".symtab"
    return None


#: Types whose ``sh_info`` is about symbols.
INFO_IS_SYMBOL: Final = frozenset((*SYMBOL_TABLE_TYPES, SHT_CUDA_CAPMERC))
#: What ``sh_info`` of the sections of a function refers to.
_OWNED: Final = (
    (".nv.info.", TEXT),
    (".nv.merc.nv.info.", CAPMERC_TEXT),
    (".nv.merc.nv.constant.optimizer.", CAPMERC_TEXT),
    (".nv.merc.nv.constant.entry_image_header_indices.", CAPMERC_TEXT),
    (".nv.shared.", TEXT),
    (".nv.local.", TEXT),
)


def info_target(name: str, sh_type: int) -> str | None:
    """Name of the section that ``sh_info`` stands for; ``None`` when it is no section."""
    if name in CUDA_NOTES:
        return ".nv.compat"
    if sh_type in RELOCATION_TYPES:
        return _relocated(name)
    for prefix, target in _OWNED:
        if name.startswith(prefix):
            function = name[len(prefix) :]
            if function == UFT:
                return target.removesuffix(TEXT) + UFT
            if function.startswith(STUB):
                target = target.replace(TEXT, UFT_REL)
                function = function[len(STUB) :]
            return target + function
    return bank_owner(name)


def bank_owner(name: str) -> str | None:
    """Name of the code that the constant bank ``name`` belongs to; ``None`` for other sections."""
    if not name.startswith(BANK) or name.startswith(BANK + "."):
        return None
    _, dot, function = name.removeprefix(BANK).partition(".")
    return TEXT + function if dot else None


def _relocated(name: str) -> str:
    """Name of the section that the relocation section ``name`` is about."""
    rest = name.removeprefix(MERCURY_PREFIX)
    for prefix in (".nv.resolvedrela", ".rela", ".rel"):
        if rest.startswith(prefix):
            rest = rest[len(prefix) :]
            break
    if not name.startswith(MERCURY_PREFIX + "."):
        return rest
    is_code = rest.startswith((TEXT, UFT_REL)) or rest == UFT
    return (CAPSULE_PREFIX if is_code else MERCURY_PREFIX) + rest


#: Types of sections for which no section symbol is made.
_NO_SYMBOL: Final = (
    frozenset((SHT_STRTAB, SHT_SYMTAB, SHT_SYMTAB_SHNDX, SHT_CUDA_COMPAT_INFO, SHT_CUDA_INFO))
    | UNIFIED_ENTRY_TYPES
    | RELOCATION_TYPES
)


def has_section_symbol(name: str, sh_type: int, sh_flags: int) -> bool:
    """Whether the writers make a section symbol."""
    if sh_type in _NO_SYMBOL or sh_flags & SHF_CUDA_MERCURY:
        return False
    return not name.startswith(".nv.shared.reserved.")
