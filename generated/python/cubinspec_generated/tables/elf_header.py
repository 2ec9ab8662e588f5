# Generated from ksy/tables/elf_header.yaml (sha256 8a038bc4c441513d) by tools.gen; do not edit.
"""ELF header and program headers."""

from cubinspec_generated.rows import (
    BitField,
)

OSABI_NAMES: dict[int, str] = {
    0x33: 'ELFOSABI_CUDA',
    0x41: 'ELFOSABI_CUDA_V2',
}
"""EI_OSABI."""

TYPE_NAMES: dict[int, str] = {
    0x1: 'ET_REL',
    0x2: 'ET_EXEC',
    0x3: 'ET_DYN',
    0xff00: 'ET_EWP',
}
"""e_type."""

SEGMENT_TYPE_NAMES: dict[int, str] = {
    0x0: 'PT_NULL',
    0x1: 'PT_LOAD',
    0x2: 'PT_DYNAMIC',
    0x3: 'PT_INTERP',
    0x4: 'PT_NOTE',
    0x6: 'PT_PHDR',
}
"""p_type."""

FLAG_FIELDS: dict[int, tuple[BitField, ...]] = {
    0x33: (BitField('sm', 0, 8), BitField('texmode_unified', 8, 1), BitField('texmode_independent', 9, 1), BitField('address_64', 10, 1), BitField('accelerators', 11, 1), BitField('sw_1729687_v2', 12, 1), BitField('reserved_13', 13, 3), BitField('virtual_sm', 16, 8), BitField('reserved_24', 24, 8)),
    0x41: (BitField('mercury_only', 0, 1), BitField('capsule', 1, 1), BitField('sass_only', 2, 1), BitField('accelerators', 3, 1), BitField('reserved_4', 4, 4), BitField('sm', 8, 16), BitField('cuinfo_section', 24, 8)),
}
"""Fields of e_flags by EI_OSABI."""

FLAG_NAMES: dict[int, dict[int, str]] = {
    0x33: {256: 'EF_CUDA_TEXMODE_UNIFIED', 512: 'EF_CUDA_TEXMODE_INDEPENDENT', 1024: 'EF_CUDA_64BIT_ADDRESS', 2048: 'EF_CUDA_ACCELERATORS', 4096: 'EF_CUDA_SW_1729687_V2'},
    0x41: {},
}
"""Names of one-bit flags of e_flags by EI_OSABI and mask."""
