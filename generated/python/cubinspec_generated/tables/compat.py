# Generated from ksy/tables/compat.yaml (sha256 c9b82fa489b8aef9) by tools.gen; do not edit.
"""Compatibility records of .nv.compat (EICOMPAT_ATTR)."""

from cubinspec_generated.rows import (
    BitField,
    CompatAttribute,
    Layout,
)

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

ATTRIBUTES: dict[int, CompatAttribute] = {
    0x0: CompatAttribute(0, 'EICOMPAT_ATTR_ERROR', Layout('unknown', '', (), (), None), 'drop', None, {}, {}),
    0x1: CompatAttribute(1, 'EICOMPAT_ATTR_PAD', Layout('unknown', '', (), (), None), 'drop', None, {}, {}),
    0x2: CompatAttribute(2, 'EICOMPAT_ATTR_ISA_CLASS', Layout('inline', '<B', ('isa_class',), ('',), None), 'zero_or_max', 0, {}, {}),
    0x3: CompatAttribute(3, 'EICOMPAT_ATTR_INST_TENSORMAP_V1', Layout('inline', '<B', ('bits',), ('',), None), 'or', 3, {}, {}),
    0x4: CompatAttribute(4, 'EICOMPAT_ATTR_INST_TCGEN05_MMA_DEPRECATED', Layout('inline', '<B', ('value',), ('',), None), 'drop', None, {}, {}),
    0x5: CompatAttribute(5, 'EICOMPAT_ATTR_INST_TCGEN05_MMA', Layout('inline', '<B', ('value',), ('',), None, (('value', (BitField('class_1', 0, 2), BitField('class_2', 2, 2))),)), 'zero_or_max_fields', 0, {}, {}),
    0x6: CompatAttribute(6, 'EICOMPAT_ATTR_ENABLE_OPPORTUNISTIC_FINALIZATION', Layout('inline', '<B', ('enabled',), ('',), None), 'equal_or_one', 1, {}, {}),
    0x7: CompatAttribute(7, 'EICOMPAT_ATTR_MERCURY_ISA_MAJOR_MINOR_VERSION', Layout('inline', '<BB', ('minor', 'major'), ('', ''), None), 'max', 256, {}, {}),
    0x8: CompatAttribute(8, 'EICOMPAT_ATTR_MERCURY_ISA_PATCH_VERSION', Layout('inline', '<H', ('patch',), ('',), None), 'max', None, {}, {}),
    0x9: CompatAttribute(9, 'EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET', Layout('inline', '<B', ('target',), ('',), None), 'variant', None, {'': 0, 'a': 1, 'f': 0}, {}),
    0xa: CompatAttribute(10, 'EICOMPAT_ATTR_CUDA_DRIVER_VERSION', Layout('inline', '<BB', ('minor', 'major'), ('', ''), None), 'drop', None, {}, {}),
    0xb: CompatAttribute(11, 'EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE', Layout('struct', '<Q', ('bits',), ('',), None), 'architecture', None, {}, {100: 9, 103: 0, 110: 0, 120: 80, 121: 0}),
    0xc: CompatAttribute(12, 'EICOMPAT_ATTR_CUDA_INTERNAL_TARGET', Layout('inline', '<B', ('target',), ('',), None), 'drop', None, {}, {}),
    0xd: CompatAttribute(13, 'EICOMPAT_ATTR_UNNAMED_13', Layout('inline', '<BB', ('minor', 'major'), ('', ''), None), 'drop', None, {}, {}),
    0xe: CompatAttribute(14, 'EICOMPAT_ATTR_FINALIZER_VERSION', Layout('inline', '<H', ('version',), ('',), None, (('version', (BitField('patch', 0, 6), BitField('minor', 6, 4), BitField('major', 10, 6))),)), 'drop', None, {}, {}),
    0xf: CompatAttribute(15, 'EICOMPAT_ATTR_MIN_FINALIZER_VERSION_FOR_MVC', Layout('inline', '<H', ('version',), ('',), None, (('version', (BitField('patch', 0, 6), BitField('minor', 6, 4), BitField('major', 10, 6))),)), 'drop', None, {}, {}),
    0x10: CompatAttribute(16, 'EICOMPAT_ATTR_ERROR_LAST', Layout('unknown', '', (), (), None), 'drop', None, {}, {}),
}
"""The attributes, by code."""

LEADING: tuple[int, ...] = (9,)
"""Codes that start a linked section."""

TRAILING: tuple[int, ...] = (11,)
"""Codes that end a linked section."""
