# Generated from ksy/tables/compat.yaml (sha256 99a69c016d4de258) by tools.gen; do not edit.
"""Compatibility records of .nv.compat (EICOMPAT_ATTR)."""

NAMES: dict[int, str] = {
    0x0: 'EICOMPAT_ATTR_ERROR',
    0x1: 'EICOMPAT_ATTR_PAD',
    0x2: 'EICOMPAT_ATTR_ISA_CLASS',
    0x3: 'EICOMPAT_ATTR_INST_TENSORMAP_V1',
    0x4: 'EICOMPAT_ATTR_INST_TCGEN05_MMA_DEPRECATED',
    0x5: 'EICOMPAT_ATTR_INST_TCGEN05_MMA',
    0x6: 'EICOMPAT_ATTR_ENABLE_OPPORTUNISTIC_FINALIZATION',
    0x7: 'EICOMPAT_ATTR_MERCURY_ISA_MAJOR_MINOR_VERSION',
    0x8: 'EICOMPAT_ATTR_MERCURY_ISA_PATCH_VERSION',
    0x9: 'EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET',
    0xa: 'EICOMPAT_ATTR_CUDA_DRIVER_VERSION',
    0xb: 'EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE',
    0xc: 'EICOMPAT_ATTR_CUDA_INTERNAL_TARGET',
    0xd: 'EICOMPAT_ATTR_UNNAMED_13',
    0xe: 'EICOMPAT_ATTR_FINALIZER_VERSION',
    0xf: 'EICOMPAT_ATTR_MIN_FINALIZER_VERSION_FOR_MVC',
    0x10: 'EICOMPAT_ATTR_ERROR_LAST',
}
"""Names of the attributes, by code."""

LAYOUTS: dict[int, tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    0x0: ('unknown', '', (), (), ()),
    0x1: ('unknown', '', (), (), ()),
    0x2: ('inline', '<B', ('isa_class',), ('',), ()),
    0x3: ('inline', '<B', ('bits',), ('',), ()),
    0x4: ('inline', '<B', ('value',), ('',), ()),
    0x5: ('inline', '<B', ('value',), ('',), ()),
    0x6: ('inline', '<B', ('enabled',), ('',), ()),
    0x7: ('inline', '<BB', ('minor', 'major'), ('', ''), ()),
    0x8: ('inline', '<H', ('patch',), ('',), ()),
    0x9: ('inline', '<B', ('target',), ('',), ()),
    0xa: ('unknown', '', (), (), ()),
    0xb: ('struct', '<Q', ('bits',), ('',), ()),
    0xc: ('inline', '<B', ('target',), ('',), ()),
    0xd: ('inline', '<BB', ('minor', 'major'), ('', ''), ()),
    0xe: ('inline', '<H', ('version',), ('',), ()),
    0xf: ('unknown', '', (), (), ()),
    0x10: ('unknown', '', (), (), ()),
}
"""Payloads, in the form of the LAYOUTS of the eiattr table."""

MERGE: dict[int, str] = {
    0x0: 'drop',
    0x1: 'drop',
    0x2: 'zero_or_max',
    0x3: 'or',
    0x4: 'drop',
    0x5: 'zero_or_max_fields',
    0x6: 'equal_or_one',
    0x7: 'max',
    0x8: 'max',
    0x9: 'target',
    0xa: 'drop',
    0xb: 'target',
    0xc: 'drop',
    0xd: 'drop',
    0xe: 'unknown',
    0xf: 'unknown',
    0x10: 'drop',
}
"""Rule by which a link merges the values of its inputs."""

MISSING: dict[int, int] = {
    0x2: 0,
    0x3: 3,
    0x5: 0,
}
"""Value that an input without the record stands for."""

ORDER: tuple[int, ...] = (9, 8, 2, 5, 7, 3, 6, 11)
"""Order of a linked section."""
