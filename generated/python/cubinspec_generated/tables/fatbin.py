# Generated from ksy/tables/fatbin.yaml (sha256 88e4f395dc6b6ae0) by tools.gen; do not edit.
"""Fat binaries."""

KINDS: dict[int, str] = {
    0x1: 'PTX',
    0x2: 'ELF',
    0x4: 'CUBIN_TEXT',
    0x8: 'NVVM',
    0x10: 'ELF_2',
    0x20: 'INDEX',
    0x40: 'RELOCATABLE_PTX',
    0x80: 'TILE_IR',
    0x100: 'CONCATENATED',
}
"""Entry kinds."""

FLAG_NAMES: dict[int, str] = {
    0x1: 'ADDRESS_64',
    0x2: 'DEBUG',
    0x10: 'HOST_LINUX',
    0x20: 'HOST_MAC',
    0x40: 'HOST_WINDOWS',
    0x1000: 'COMPRESSED_ZLIB',
    0x2000: 'COMPRESSED_LZ4',
    0x4000: 'COMPRESSED_LZ4_FRAME',
    0x8000: 'COMPRESSED_ZSTD',
    0x10000: 'SCRAMBLED',
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

HOST_USES: dict[str, tuple[str, str]] = {
    '.nvHRKE': ('kernel', 'external'),
    '.nvHRKI': ('kernel', 'internal'),
    '.nvHRDE': ('variable', 'external'),
    '.nvHRDI': ('variable', 'internal'),
    '.nvHRCE': ('constant', 'external'),
    '.nvHRCI': ('constant', 'internal'),
}
"""Sections of a host file with names that it uses: what they are of, and their linkage."""

REGISTRATIONS: dict[str, str] = {
    '__cudaRegisterFunction': 'kernel',
    '__cudaRegisterVar': 'variable',
    '__cudaRegisterManagedVar': 'managed variable',
    '__cudaRegisterHostVar': 'host variable',
    '__cudaRegisterTexture': 'texture',
    '__cudaRegisterSurface': 'surface',
}
"""Functions that register names of device code: what the names are of."""
