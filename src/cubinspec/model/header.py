"""The ELF header in the terms of both CUDA ABIs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.reader.elf import Elf

ET_NAMES = {1: "ET_REL", 2: "ET_EXEC", 3: "ET_DYN", 0xFF00: "ET_EWP"}
OSABI_CUDA_V8 = 0x41
#: ``e_flags`` bit of an ``a`` target under ABI 7 (ptxas 12.0 to 12.9 set it for sm_90a).
_FLAG_ACCELERATED_ABI7 = 0x800
#: The same under ABI 8 (ptxas 12.8 and 12.9 set it; 13.0 uses .nv.compat instead).
_FLAG_ACCELERATED_ABI8 = 0x8
#: Older files have the ABI 7 bit set with another meaning (sm_60 of the writer seen in CUPTI).
_FIRST_ACCELERATED = 90
KIND_MERCURY, KIND_CAPSULE, KIND_SASS = 0x1, 0x2, 0x4


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

    def __init__(self, elf: Elf) -> None:
        self.name = elf.file
        self.e_ident = elf.ident
        self.is_64 = elf.is_64
        self.os_abi = elf.ident[7]
        self.abi_version = elf.ident[8]
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

    @property
    def type_name(self) -> str | None:
        """``ET_REL``, ``ET_EXEC``, ``ET_EWP``; ``None`` for a value nobody has named."""
        return ET_NAMES.get(self.e_type)

    @property
    def is_relocatable(self) -> bool:
        """Made by ``ptxas -c`` or ``nvlink -r``."""
        return self.e_type == 1

    @property
    def sm(self) -> int:
        """Number of the target, 90 for sm_90."""
        if self.os_abi == OSABI_CUDA_V8:
            return self.e_flags >> 8 & 0xFFFF
        return self.e_flags & 0xFF

    @property
    def virtual_sm(self) -> int | None:
        """Number of the virtual target under ABI 7; ABI 8 keeps it in a note."""
        if self.os_abi == OSABI_CUDA_V8:
            return None
        return self.e_flags >> 16 & 0xFF

    @property
    def kind(self) -> int | None:
        """Bits 0-7 of ABI 8 flags: 4 SASS, 2 SASS with a Mercury capsule, 1 Mercury alone."""
        return self.e_flags & 0xFF if self.os_abi == OSABI_CUDA_V8 else None

    @property
    def cuinfo_section(self) -> int | None:
        """Section index of ``.note.nv.cuinfo`` as ABI 8 flags give it (0xff: not stated)."""
        return self.e_flags >> 24 if self.os_abi == OSABI_CUDA_V8 else None

    @property
    def is_accelerated(self) -> bool:
        """Whether the flags say that this is an ``a`` target; false does not exclude it."""
        if self.sm < _FIRST_ACCELERATED:
            return False
        if self.os_abi == OSABI_CUDA_V8:
            return bool(self.e_flags & _FLAG_ACCELERATED_ABI8)
        return bool(self.e_flags & _FLAG_ACCELERATED_ABI7)

    @property
    def has_capsule(self) -> bool:
        """Whether Mercury code stands beside or in place of SASS."""
        return bool((self.kind or 0) & (KIND_CAPSULE | KIND_MERCURY))
