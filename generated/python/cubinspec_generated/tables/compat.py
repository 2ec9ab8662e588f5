# Generated from ksy/tables/compat.yaml (sha256 9129ff8be4613d49) by tools.gen; do not edit.
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
    0xa: ('inline', '<BB', ('minor', 'major'), ('', ''), ()),
    0xb: ('struct', '<Q', ('bits',), ('',), ()),
    0xc: ('inline', '<B', ('target',), ('',), ()),
    0xd: ('inline', '<BB', ('minor', 'major'), ('', ''), ()),
    0xe: ('inline', '<H', ('version',), ('',), ()),
    0xf: ('inline', '<H', ('version',), ('',), ()),
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
    0x9: 'variant',
    0xa: 'drop',
    0xb: 'architecture',
    0xc: 'drop',
    0xd: 'drop',
    0xe: 'drop',
    0xf: 'drop',
    0x10: 'drop',
}
"""Rule by which a link merges the values of its inputs."""

MISSING: dict[int, int] = {
    0x2: 0,
    0x3: 3,
    0x5: 0,
    0x6: 1,
    0x7: 256,
}
"""Value that an input without the record stands for."""

VARIANT_VALUES: dict[int, dict[str, int]] = {
    0x9: {'': 0, 'a': 1, 'f': 0},
}
"""Values of a linked section by the variant of the target."""

ARCHITECTURE_VALUES: dict[int, dict[int, int]] = {
    0xb: {100: 9, 103: 0, 110: 0, 120: 80, 121: 0},
}
"""Values of a linked section by the sm of the target."""

BIT_FIELDS: dict[tuple[int, str], tuple[tuple[str, int, int], ...]] = {
    (0x05, 'value'): (('class_1', 0, 2), ('class_2', 2, 2)),
    (0x0e, 'version'): (('patch', 0, 6), ('minor', 6, 4), ('major', 10, 6)),
    (0x0f, 'version'): (('patch', 0, 6), ('minor', 6, 4), ('major', 10, 6)),
}
"""Bit fields of a payload word: (name, first bit, width)."""

BIT_FIELD_ENUMS: dict[tuple[int, str], str] = {}
"""Enums of bit fields, by code and name of the bit field."""

LEADING: tuple[int, ...] = (9,)
"""Codes that start a linked section."""

TRAILING: tuple[int, ...] = (11,)
"""Codes that end a linked section."""
