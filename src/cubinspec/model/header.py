"""The ELF header in the terms of both CUDA ABIs."""

from __future__ import annotations

from cubinspec.format.packing import sm_of, virtual_sm_of
from cubinspec_generated.codes import (
    EF_CUDA_ACCELERATORS,
    EF_CUDA_V2_ACCELERATORS,
    EF_CUDA_V2_CAPSULE,
    EF_CUDA_V2_CUINFO_SECTION_SHIFT,
    EF_CUDA_V2_MERCURY_ONLY,
    EF_CUDA_V2_SM_SHIFT,
    EI_ABIVERSION,
    EI_OSABI,
    ELFOSABI_CUDA_V2,
    ET_EWP,
    ET_EXEC,
    ET_REL,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.reader.elf import Elf

#: Kinds of cubins in short.
_TYPE_WORDS = {ET_EXEC: "exe", ET_REL: "rel", ET_EWP: "ewp"}
#: Bits of ``e_flags`` of ABI 8 that say which code there is: Mercury alone, both, SASS alone.
_KIND_MASK = (1 << EF_CUDA_V2_SM_SHIFT) - 1


class Header:
    """Fields of the ELF header, named as in the gABI, and what CUDA put into them.

    ``e_flags`` has two layouts, chosen by ``EI_OSABI``: 0x33 (ABI 7 and older: sm in bits 0-7,
    virtual sm in 16-23) and 0x41 (ABI 8: kind in bits 0-7, sm in 8-23, section index of the
    cuinfo note in 24-31). Source: patched header fields read back through cuobjdump 13.5.
    """

    __slots__ = (
        "abi_version",
        "e_ehsize",
        "e_entry",
        "e_flags",
        "e_ident",
        "e_machine",
        "e_phentsize",
        "e_phnum",
        "e_phoff",
        "e_shentsize",
        "e_shnum",
        "e_shoff",
        "e_shstrndx",
        "e_type",
        "e_version",
        "is_64",
        "name",
        "os_abi",
    )
    abi_version: int
    e_ehsize: int
    e_entry: int
    e_flags: int
    e_ident: bytes
    e_machine: int
    e_phentsize: int
    e_phnum: int
    e_phoff: int
    e_shentsize: int
    e_shnum: int
    e_shoff: int
    e_shstrndx: int
    e_type: int
    e_version: int
    is_64: bool
    name: str
    os_abi: int

    def __init__(self, elf: Elf) -> None:
        self.name = elf.file
        self.e_ident = elf.ident
        self.is_64 = elf.is_64
        self.os_abi = elf.ident[EI_OSABI]
        self.abi_version = elf.ident[EI_ABIVERSION]
        (
            self.e_type,
            self.e_machine,
            self.e_version,
            self.e_entry,
            self.e_phoff,
            self.e_shoff,
            self.e_flags,
            self.e_ehsize,
            self.e_phentsize,
            self.e_phnum,
            self.e_shentsize,
            self.e_shnum,
            self.e_shstrndx,
        ) = elf.ehdr

    def __repr__(self) -> str:
        kind = self.type_name or f"type {self.e_type:#x}"
        return f"<Header {kind} sm_{self.sm} of {self.name!r}>"

    @property
    def type_name(self) -> str | None:
        """``ET_REL``, ``ET_EXEC``, ``ET_EWP``; ``None`` for a value nobody has named."""
        from cubinspec_generated.tables.elf_header import TYPE_NAMES

        return TYPE_NAMES.get(self.e_type)

    @property
    def type_word(self) -> str:
        """``exe``, ``rel`` or ``ewp``; a value that nobody has named in hexadecimal."""
        return _TYPE_WORDS.get(self.e_type) or f"{self.e_type:#x}"

    @property
    def is_relocatable(self) -> bool:
        """Made by ``ptxas -c`` or ``nvlink -r``."""
        return self.e_type == ET_REL

    @property
    def sm(self) -> int:
        """Number of the target, 90 for sm_90."""
        return sm_of(self.os_abi, self.e_flags)

    @property
    def virtual_sm(self) -> int | None:
        """Number of the virtual target under ABI 7; ABI 8 keeps it in a note."""
        return virtual_sm_of(self.os_abi, self.e_flags)

    @property
    def kind(self) -> int | None:
        """Bits 0-7 of ABI 8 flags: 4 SASS, 2 SASS with a Mercury capsule, 1 Mercury alone."""
        return self.e_flags & _KIND_MASK if self.os_abi == ELFOSABI_CUDA_V2 else None

    @property
    def cuinfo_section(self) -> int | None:
        """Section index of ``.note.nv.cuinfo`` as ABI 8 flags give it (0xff: not stated)."""
        if self.os_abi != ELFOSABI_CUDA_V2:
            return None
        return self.e_flags >> EF_CUDA_V2_CUINFO_SECTION_SHIFT

    @property
    def is_accelerated(self) -> bool:
        """Whether the flags say that this is an ``a`` target; false does not exclude it."""
        is_abi_8 = self.os_abi == ELFOSABI_CUDA_V2
        if not self.e_flags & (EF_CUDA_V2_ACCELERATORS if is_abi_8 else EF_CUDA_ACCELERATORS):
            return False
        # Few files have the bit; older ones use it for something else (sm_60 files of CUPTI).
        from cubinspec.format.targets import family_of

        return family_of(self.sm).variant_in_flags

    @property
    def has_capsule(self) -> bool:
        """Whether Mercury code stands beside or in place of SASS."""
        return bool((self.kind or 0) & (EF_CUDA_V2_CAPSULE | EF_CUDA_V2_MERCURY_ONLY))
