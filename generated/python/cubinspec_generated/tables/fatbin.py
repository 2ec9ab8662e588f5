# Generated from ksy/tables/fatbin.yaml (sha256 303abd330952d4cd) by tools.gen; do not edit.
"""Fat binaries."""

MAGICS: dict[int, str] = {
    0xba55ed50: 'FATBIN_MAGIC',
    0x466243b1: 'FATBIN_WRAPPER_MAGIC',
}
"""Magic words."""

KINDS: dict[int, str] = {
    0x1: 'PTX',
    0x2: 'ELF',
    0x8: 'NVVM',
    0x10: 'INDEX',
    0x40: 'TILEIR',
}
"""Entry kinds."""

FLAG_NAMES: dict[int, str] = {
    0x1: 'ADDRESS_64',
    0x2: 'DEBUG',
    0x10: 'HOST_LINUX',
    0x2000: 'COMPRESSED_LZ4',
    0x8000: 'COMPRESSED_ZSTD',
    0x100000: 'ARCH_SPECIFIC',
    0x200000: 'FAMILY_SPECIFIC',
    0x1000000: 'HAS_COMPAT',
}
"""Entry flag bits."""

WRAPPER_VERSIONS: dict[int, str] = {
    0x1: 'COMPILED',
    0x2: 'DEVICE_LINKED',
}
"""Versions of the wrapper in .nvFatBinSegment."""
