# Generated from ksy/tables/symbols.yaml (sha256 ae1d5bae3975b9f3) by tools.gen; do not edit.
"""Symbols."""

TYPE_NAMES: dict[int, str] = {
    0x0: 'STT_NOTYPE',
    0x1: 'STT_OBJECT',
    0x2: 'STT_FUNC',
    0x3: 'STT_SECTION',
    0x4: 'STT_FILE',
    0x5: 'STT_COMMON',
    0xa: 'STT_CUDA_TEXTURE',
    0xb: 'STT_CUDA_SAMPLER',
    0xc: 'STT_CUDA_SURFACE',
    0xd: 'STT_CUDA_OBJECT',
}
"""st_type."""

BIND_NAMES: dict[int, str] = {
    0x0: 'STB_LOCAL',
    0x1: 'STB_GLOBAL',
    0x2: 'STB_WEAK',
}
"""st_bind."""

VISIBILITY_NAMES: dict[int, str] = {
    0x0: 'STV_DEFAULT',
    0x1: 'STV_INTERNAL',
    0x2: 'STV_HIDDEN',
    0x3: 'STV_PROTECTED',
}
"""st_other bits 0 and 1."""

SPACE_NAMES: dict[int, str] = {
    0x0: 'STO_CUDA_NONE',
    0x1: 'STO_CUDA_GLOBAL',
    0x2: 'STO_CUDA_SHARED',
    0x3: 'STO_CUDA_LOCAL',
    0x4: 'STO_CUDA_CONSTANT',
    0x5: 'STO_CUDA_RESERVED_SHARED',
}
"""st_other bits 5 to 7, as a number."""

OTHER_FUNC_NAMES: dict[int, str] = {
    0x04: 'UNIFIED_FUNC',
    0x08: 'OBSCURE',
    0x10: 'ENTRY',
}
"""Names of the one-bit flags of st_other for func symbols, by mask."""

OTHER_OBJECT_NAMES: dict[int, str] = {
    0x04: 'MANAGED',
    0x08: 'OBSCURE',
    0x10: 'UNIFIED_OBJECT',
}
"""Names of the one-bit flags of st_other for object symbols, by mask."""

SPECIAL_SECTIONS: dict[int, str] = {
    0x0: 'SHN_UNDEF',
    0xfff1: 'SHN_ABS',
    0xfff2: 'SHN_COMMON',
    0xffff: 'SHN_XINDEX',
}
"""Values of st_shndx that are no section index."""
