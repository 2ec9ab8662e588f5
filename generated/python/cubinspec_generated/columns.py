# Generated from ksy/tables/eiattr.yaml (sha256 205c90ea6413c2ed) and ksy/tables/relocations.yaml (sha256 3dabf7af4a688148) and ksy/tables/sections.yaml (sha256 df434f4beacb85a1) and ksy/tables/compat.yaml (sha256 c9b82fa489b8aef9) by tools.gen; do not edit.
"""Columns of the tables of attributes, relocation types, sections and compatibility records.

They say what the rows in ``tables`` say, as literals: the linker imports them at start-up.
"""

SYMBOL_FIELDS: dict[int, tuple[int, ...]] = {
    0x2: (0,),
    0x6: (0,),
    0x7: (0,),
    0x8: (0,),
    0x9: (0,),
    0xa: (0,),
    0xf: (0,),
    0x11: (0,),
    0x12: (0,),
    0x13: (0,),
    0x14: (0,),
    0x17: (0,),
    0x23: (0,),
    0x26: (0,),
    0x2f: (0,),
    0x3b: (0,),
    0x45: (0,),
    0x5d: (0, 4),
}
"""Offsets of symbol indices inside a payload (inside each element of an array)."""

ACTIONS: dict[int, tuple[tuple[str, int, int, str, int], ...]] = {
    0x0: (),
    0x1: (('data', 0, 32, 'abs', 0),),
    0x2: (('data', 0, 64, 'abs', 0),),
    0x3: (('data', 0, 32, 'global_generic', 0),),
    0x4: (('data', 0, 64, 'global_generic', 0),),
    0x5: (('field', 26, 32, 'abs', 0),),
    0x6: (('field', 0, 20, 'header_index', 0),),
    0x7: (('field', 20, 12, 'header_index', 0),),
    0x8: (('data', 0, 32, 'surface_hw_desc', 0),),
    0x9: (('data', 0, 32, 'surface_hw_sw_desc', 0),),
    0xa: (('field', 26, 32, 'abs', 0),),
    0xb: (('field', 26, 32, 'abs', 32),),
    0xc: (('field', 23, 32, 'abs', 0),),
    0xd: (('field', 23, 32, 'abs', 0),),
    0xe: (('field', 23, 32, 'abs', 32),),
    0xf: (('field', 26, 24, 'abs', 0),),
    0x10: (('field', 23, 24, 'abs', 0),),
    0x11: (('field', 26, 16, 'abs', 0),),
    0x12: (('field', 23, 16, 'abs', 0),),
    0x13: (('field', 32, 8, 'abs', 0),),
    0x14: (('field', 40, 5, 'abs', 0),),
    0x15: (('field', 26, 6, 'abs', 0),),
    0x16: (('field', 32, 13, 'abs', 2),),
    0x17: (('field', 47, 13, 'abs', 2),),
    0x18: (('field', 28, 14, 'abs', 2), ('field', 42, 4, 'const_bank', 0), ('field', 26, 1, 'const_bank', 4)),
    0x19: (('field', 23, 14, 'abs', 2), ('field', 37, 5, 'const_bank', 0)),
    0x1a: (('field', 49, 9, 'abs', 0),),
    0x1b: (('field', 31, 6, 'abs', 0),),
    0x1c: (('field', 47, 2, 'abs', 0),),
    0x1d: (('field', 41, 13, 'abs', 2),),
    0x1e: (('field', 45, 13, 'abs', 2),),
    0x1f: (('field', 23, 32, 'func_desc', 0),),
    0x20: (('field', 23, 32, 'func_desc', 0),),
    0x21: (('field', 23, 32, 'func_desc', 32),),
    0x22: (('data', 0, 32, 'func_desc', 0),),
    0x23: (('data', 0, 64, 'func_desc', 0),),
    0x24: (('field', 26, 16, 'abs', 0), ('field', 42, 5, 'const_bank', 0)),
    0x25: (('field', 37, 16, 'abs', 0), ('field', 53, 5, 'const_bank', 0)),
    0x26: (('field', 26, 14, 'abs', 2), ('field', 40, 5, 'const_bank', 0)),
    0x27: (('field', 23, 16, 'abs', 0), ('field', 39, 5, 'const_bank', 0)),
    0x28: (('field', 26, 24, 'pcrel', 0),),
    0x29: (('field', 23, 24, 'pcrel', 0),),
    0x2a: (('field', 20, 32, 'abs', 0),),
    0x2b: (('field', 20, 32, 'abs', 0),),
    0x2c: (('field', 20, 32, 'abs', 32),),
    0x2d: (('field', 20, 24, 'abs', 0),),
    0x2e: (('field', 20, 16, 'abs', 0),),
    0x2f: (('field', 20, 32, 'func_desc', 0),),
    0x30: (('field', 20, 32, 'func_desc', 0),),
    0x31: (('field', 20, 32, 'func_desc', 32),),
    0x32: (('field', 20, 14, 'abs', 2), ('field', 34, 5, 'const_bank', 0)),
    0x33: (('field', 36, 13, 'abs', 2),),
    0x34: (('field', 0, 20, 'header_index', 0),),
    0x35: (('opcode', 0, 64, 'instruction', 0),),
    0x36: (('field', 20, 16, 'abs', 0), ('field', 36, 5, 'const_bank', 0)),
    0x37: (('field', 32, 32, 'abs', 0),),
    0x38: (('field', 32, 32, 'abs', 0),),
    0x39: (('field', 32, 32, 'abs', 32),),
    0x3a: (('field', 34, 47, 'abs', 2),),
    0x3b: (('field', 32, 16, 'abs', 0),),
    0x3c: (('field', 32, 24, 'abs', 0),),
    0x3d: (('field', 32, 32, 'func_desc', 0),),
    0x3e: (('field', 32, 32, 'func_desc', 0),),
    0x3f: (('field', 32, 32, 'func_desc', 32),),
    0x40: (('field', 40, 14, 'abs', 2), ('field', 54, 5, 'const_bank', 0)),
    0x41: (('field', 40, 14, 'abs', 2),),
    0x42: (('field', 38, 16, 'abs', 0), ('field', 54, 5, 'const_bank', 0)),
    0x43: (('opcode', 0, 128, 'instruction', 0),),
    0x44: (('opcode', 0, 9, 'addend', 0),),
    0x45: (('clear', 87, 4, 'zero', 0),),
    0x46: (('field', 0, 32, 'abs', 0),),
    0x47: (('field', 0, 32, 'abs', 32),),
    0x48: (('clear', 0, 32, 'zero', 0),),
    0x49: (('clear', 0, 64, 'zero', 0),),
    0x4a: (('field', 40, 24, 'abs', 0),),
    0x4b: (('field', 16, 8, 'abs', 2), ('field', 34, 47, 'abs', 10)),
    0x4c: (('byte', 0, 8, 'abs', 0),),
    0x4d: (('byte', 0, 8, 'abs', 8),),
    0x4e: (('byte', 0, 8, 'abs', 16),),
    0x4f: (('byte', 0, 8, 'abs', 24),),
    0x50: (('byte', 0, 8, 'abs', 32),),
    0x51: (('byte', 0, 8, 'abs', 40),),
    0x52: (('byte', 0, 8, 'abs', 48),),
    0x53: (('byte', 0, 8, 'abs', 56),),
    0x54: (('byte', 0, 8, 'global_generic', 0),),
    0x55: (('byte', 0, 8, 'global_generic', 8),),
    0x56: (('byte', 0, 8, 'global_generic', 16),),
    0x57: (('byte', 0, 8, 'global_generic', 24),),
    0x58: (('byte', 0, 8, 'global_generic', 32),),
    0x59: (('byte', 0, 8, 'global_generic', 40),),
    0x5a: (('byte', 0, 8, 'global_generic', 48),),
    0x5b: (('byte', 0, 8, 'global_generic', 56),),
    0x5c: (('byte', 0, 8, 'func_desc', 0),),
    0x5d: (('byte', 0, 8, 'func_desc', 8),),
    0x5e: (('byte', 0, 8, 'func_desc', 16),),
    0x5f: (('byte', 0, 8, 'func_desc', 24),),
    0x60: (('byte', 0, 8, 'func_desc', 32),),
    0x61: (('byte', 0, 8, 'func_desc', 40),),
    0x62: (('byte', 0, 8, 'func_desc', 48),),
    0x63: (('byte', 0, 8, 'func_desc', 56),),
    0x64: (('field', 44, 20, 'abs', 0),),
    0x65: (('field', 0, 12, 'header_index', 0),),
    0x66: (('data', 0, 64, 'unified', 0),),
    0x67: (('data', 0, 32, 'unified', 0),),
    0x68: (('byte', 0, 8, 'unified', 0),),
    0x69: (('byte', 0, 8, 'unified', 8),),
    0x6a: (('byte', 0, 8, 'unified', 16),),
    0x6b: (('byte', 0, 8, 'unified', 24),),
    0x6c: (('byte', 0, 8, 'unified', 32),),
    0x6d: (('byte', 0, 8, 'unified', 40),),
    0x6e: (('byte', 0, 8, 'unified', 48),),
    0x6f: (('byte', 0, 8, 'unified', 56),),
    0x70: (('field', 32, 32, 'unified', 0),),
    0x71: (('field', 32, 32, 'unified', 32),),
    0x72: (('field', 16, 8, 'abs', 2), ('field', 34, 48, 'abs', 10)),
    0x73: (('field', 37, 17, 'abs', 0), ('field', 54, 5, 'const_bank', 0)),
    0x74: (),
    0x10000: (),
    0x10001: (('data', 0, 64, 'global_generic', 0),),
    0x10002: (('data', 0, 64, 'abs', 0),),
    0x10003: (('data', 0, 32, 'abs', 0),),
    0x10004: (('data', 0, 16, 'abs', 0),),
    0x10005: (('data', 0, 32, 'abs', 0),),
    0x10006: (('data', 0, 32, 'abs', 32),),
    0x10007: (('data', 0, 64, 'prog_rel', 0),),
    0x10008: (('data', 0, 32, 'prog_rel', 0),),
    0x10009: (('data', 0, 32, 'prog_rel', 0),),
    0x1000a: (('data', 0, 32, 'prog_rel', 32),),
    0x1000b: (('data', 0, 20, 'header_index', 0),),
    0x1000c: (('data', 20, 12, 'header_index', 0),),
    0x1000d: (('data', 0, 20, 'header_index', 0),),
    0x1000e: (('clear', 0, 64, 'zero', 0),),
    0x1000f: (('data', 0, 64, 'func_desc', 0),),
    0x10010: (('byte', 0, 8, 'abs', 0),),
    0x10011: (('byte', 0, 8, 'abs', 8),),
    0x10012: (('byte', 0, 8, 'abs', 16),),
    0x10013: (('byte', 0, 8, 'abs', 24),),
    0x10014: (('byte', 0, 8, 'abs', 32),),
    0x10015: (('byte', 0, 8, 'abs', 40),),
    0x10016: (('byte', 0, 8, 'abs', 48),),
    0x10017: (('byte', 0, 8, 'abs', 56),),
    0x10018: (('byte', 0, 8, 'global_generic', 0),),
    0x10019: (('byte', 0, 8, 'global_generic', 8),),
    0x1001a: (('byte', 0, 8, 'global_generic', 16),),
    0x1001b: (('byte', 0, 8, 'global_generic', 24),),
    0x1001c: (('byte', 0, 8, 'global_generic', 32),),
    0x1001d: (('byte', 0, 8, 'global_generic', 40),),
    0x1001e: (('byte', 0, 8, 'global_generic', 48),),
    0x1001f: (('byte', 0, 8, 'global_generic', 56),),
    0x10020: (('byte', 0, 8, 'func_desc', 0),),
    0x10021: (('byte', 0, 8, 'func_desc', 8),),
    0x10022: (('byte', 0, 8, 'func_desc', 16),),
    0x10023: (('byte', 0, 8, 'func_desc', 24),),
    0x10024: (('byte', 0, 8, 'func_desc', 32),),
    0x10025: (('byte', 0, 8, 'func_desc', 40),),
    0x10026: (('byte', 0, 8, 'func_desc', 48),),
    0x10027: (('byte', 0, 8, 'func_desc', 56),),
    0x10028: (('data', 0, 32, 'abs_prog_rel', 0),),
    0x10029: (('data', 0, 32, 'abs_prog_rel', 32),),
    0x1002a: (('byte', 0, 8, 'prog_rel', 0),),
    0x1002b: (('byte', 0, 8, 'prog_rel', 8),),
    0x1002c: (('byte', 0, 8, 'prog_rel', 16),),
    0x1002d: (('byte', 0, 8, 'prog_rel', 24),),
    0x1002e: (('byte', 0, 8, 'prog_rel', 32),),
    0x1002f: (('byte', 0, 8, 'prog_rel', 40),),
    0x10030: (('byte', 0, 8, 'prog_rel', 48),),
    0x10031: (('byte', 0, 8, 'prog_rel', 56),),
    0x10032: (('data', 0, 64, 'unified', 0),),
    0x10033: (('data', 0, 32, 'unified', 0),),
    0x10034: (('byte', 0, 8, 'unified', 0),),
    0x10035: (('byte', 0, 8, 'unified', 8),),
    0x10036: (('byte', 0, 8, 'unified', 16),),
    0x10037: (('byte', 0, 8, 'unified', 24),),
    0x10038: (('byte', 0, 8, 'unified', 32),),
    0x10039: (('byte', 0, 8, 'unified', 40),),
    0x1003a: (('byte', 0, 8, 'unified', 48),),
    0x1003b: (('byte', 0, 8, 'unified', 56),),
    0x1003c: (('data', 0, 32, 'abs_prog_rel', 0),),
    0x1003d: (('data', 0, 64, 'abs_prog_rel', 0),),
    0x1003e: (('data', 0, 32, 'unified', 0),),
    0x1003f: (('data', 0, 32, 'unified', 32),),
    0x10040: (),
}
"""What applying a type does: kind, first bit, width, value and right shift in order."""

WHOLE_ADDRESSES: dict[int, int] = {
    0x1: 4,
    0x2: 8,
    0x46: 4,
    0x4c: 1,
    0x10002: 8,
    0x10003: 4,
    0x10004: 2,
    0x10005: 4,
    0x10010: 1,
}
"""Bytes that a type writes that always writes an address into whole bytes, and no more."""

STAYING: dict[str, tuple[int, ...]] = {
    'global': (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 65536, 65537, 65538, 65539, 65540, 65541, 65542, 65543, 65544, 65545, 65546, 65547, 65548, 65549, 65550, 65552, 65553, 65554, 65555, 65556, 65557, 65558, 65559, 65560, 65561, 65562, 65563, 65564, 65565, 65566, 65567, 65568, 65569, 65570, 65571, 65572, 65573, 65574, 65575, 65576, 65577, 65578, 65579, 65580, 65581, 65582, 65583, 65584, 65585, 65586, 65587, 65588, 65589, 65590, 65591, 65592, 65593, 65594, 65595, 65596, 65597, 65598, 65599, 65600),
    'function': (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 65536, 65537, 65538, 65539, 65540, 65541, 65542, 65543, 65544, 65545, 65546, 65547, 65548, 65549, 65551, 65552, 65553, 65554, 65555, 65556, 65557, 65558, 65559, 65560, 65561, 65562, 65563, 65564, 65565, 65566, 65567, 65568, 65569, 65570, 65571, 65572, 65573, 65574, 65575, 65576, 65577, 65578, 65579, 65580, 65581, 65582, 65583, 65584, 65585, 65586, 65587, 65588, 65589, 65590, 65591, 65592, 65593, 65594, 65595, 65596, 65597, 65598, 65599, 65600),
    'handle': (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 13, 14, 43, 44, 52, 53, 56, 57, 58, 67, 70, 71, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 65537, 65538, 65541, 65542, 65543, 65544, 65545, 65546, 65547, 65548, 65549, 65552, 65553, 65554, 65555, 65556, 65557, 65558, 65559, 65560, 65561, 65562, 65563, 65564, 65565, 65566, 65567, 65568, 65569, 65570, 65571, 65572, 65573, 65574, 65575, 65576, 65577, 65578, 65579, 65580, 65581, 65582, 65583, 65584, 65585, 65586, 65587, 65588, 65589, 65590, 65591, 65592, 65593, 65594, 65595, 65596, 65597, 65598, 65599),
    'constant': (3, 4, 6, 7, 8, 9, 52, 53, 58, 67, 75, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 101, 114, 65537, 65541, 65542, 65543, 65544, 65545, 65546, 65547, 65548, 65549, 65560, 65561, 65562, 65563, 65564, 65565, 65566, 65567, 65568, 65569, 65570, 65571, 65572, 65573, 65574, 65575, 65576, 65577, 65578, 65579, 65580, 65581, 65582, 65583, 65584, 65585, 65596, 65597, 65598, 65599),
    'none': (3, 4, 6, 7, 8, 9, 52, 53, 58, 67, 75, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 101, 114, 65537, 65541, 65542, 65543, 65544, 65545, 65546, 65547, 65548, 65549, 65560, 65561, 65562, 65563, 65564, 65565, 65566, 65567, 65568, 65569, 65570, 65571, 65572, 65573, 65574, 65575, 65576, 65577, 65578, 65579, 65580, 65581, 65582, 65583, 65584, 65585, 65596, 65597, 65598, 65599),
}
"""By kind of target: types of entries that a final link leaves in the executable."""

FAILS: dict[int, str] = {
    0x3: 'always',
    0x4: 'always',
    0x6: 'always',
    0x7: 'always',
    0x8: 'always',
    0x9: 'always',
    0x13: 'slot',
    0x14: 'slot',
    0x15: 'slot',
    0x1a: 'slot',
    0x1f: 'func_desc',
    0x20: 'func_desc',
    0x21: 'func_desc',
    0x22: 'func_desc',
    0x23: 'func_desc',
    0x28: 'pcrel',
    0x29: 'pcrel',
    0x2f: 'func_desc',
    0x30: 'func_desc',
    0x31: 'func_desc',
    0x34: 'always',
    0x35: 'always',
    0x3a: 'always',
    0x3d: 'func_desc',
    0x3e: 'func_desc',
    0x3f: 'func_desc',
    0x43: 'always',
    0x4b: 'always',
    0x54: 'always',
    0x55: 'always',
    0x56: 'always',
    0x57: 'always',
    0x58: 'always',
    0x59: 'always',
    0x5a: 'always',
    0x5b: 'always',
    0x5c: 'always',
    0x5d: 'always',
    0x5e: 'always',
    0x5f: 'always',
    0x60: 'always',
    0x61: 'always',
    0x62: 'always',
    0x63: 'always',
    0x65: 'always',
    0x72: 'always',
    0x74: 'unsupported',
    0x10000: 'unsupported',
    0x10001: 'always',
    0x10005: 'always',
    0x10006: 'always',
    0x10007: 'always',
    0x10008: 'always',
    0x10009: 'always',
    0x1000a: 'always',
    0x1000b: 'always',
    0x1000c: 'always',
    0x1000d: 'always',
    0x1000f: 'func_desc',
    0x10018: 'always',
    0x10019: 'always',
    0x1001a: 'always',
    0x1001b: 'always',
    0x1001c: 'always',
    0x1001d: 'always',
    0x1001e: 'always',
    0x1001f: 'always',
    0x10020: 'always',
    0x10021: 'always',
    0x10022: 'always',
    0x10023: 'always',
    0x10024: 'always',
    0x10025: 'always',
    0x10026: 'always',
    0x10027: 'always',
    0x10028: 'always',
    0x10029: 'always',
    0x1002a: 'always',
    0x1002b: 'always',
    0x1002c: 'always',
    0x1002d: 'always',
    0x1002e: 'always',
    0x1002f: 'always',
    0x10030: 'always',
    0x10031: 'always',
    0x1003c: 'always',
    0x1003d: 'always',
    0x1003e: 'always',
    0x1003f: 'always',
    0x10040: 'unsupported',
}
"""The rule of the types that end a final link where the entry does not stay."""

RETYPE: dict[int, int] = {
    0x66: 2,
    0x67: 1,
    0x68: 76,
    0x69: 77,
    0x6a: 78,
    0x6b: 79,
    0x6c: 80,
    0x6d: 81,
    0x6e: 82,
    0x6f: 83,
    0x70: 56,
    0x71: 57,
    0x10032: 65538,
    0x10033: 65539,
    0x10034: 65552,
    0x10035: 65553,
    0x10036: 65554,
    0x10037: 65555,
    0x10038: 65556,
    0x10039: 65557,
    0x1003a: 65558,
    0x1003b: 65559,
    0x1003e: 65541,
    0x1003f: 65542,
}
"""The type that a kept entry gets, where it is another one."""

APPLY: dict[int, str] = {
    0x44: 'lockstep',
    0x45: 'lockstep',
    0x48: 'target_dropped',
    0x49: 'target_dropped',
    0x1000e: 'target_dropped',
}
"""The rule by which the actions run, where it is not: always."""

IN_SASS: dict[int, int] = {
    0x10001: 4,
    0x10002: 75,
    0x10003: 55,
    0x10004: 59,
    0x10005: 56,
    0x10006: 57,
    0x1000b: 6,
    0x1000c: 101,
    0x1000d: 52,
    0x1000e: 73,
    0x1000f: 35,
    0x10010: 76,
    0x10011: 77,
    0x10012: 78,
    0x10013: 79,
    0x10014: 80,
    0x10015: 81,
    0x10016: 82,
    0x10017: 83,
    0x10018: 84,
    0x10019: 85,
    0x1001a: 86,
    0x1001b: 87,
    0x1001c: 88,
    0x1001d: 89,
    0x1001e: 90,
    0x1001f: 91,
    0x10020: 92,
    0x10021: 93,
    0x10022: 94,
    0x10023: 95,
    0x10024: 96,
    0x10025: 97,
    0x10026: 98,
    0x10027: 99,
    0x10028: 56,
    0x10029: 57,
    0x10032: 102,
    0x10033: 103,
    0x10034: 104,
    0x10035: 105,
    0x10036: 106,
    0x10037: 107,
    0x10038: 108,
    0x10039: 109,
    0x1003a: 110,
    0x1003b: 111,
    0x1003c: 1,
    0x1003d: 2,
    0x1003e: 112,
    0x1003f: 113,
}
"""By Mercury type: what the finalizer makes of it in code."""

IN_SASS_OF_KERNEL: dict[int, int] = {
    0x10003: 61,
    0x10005: 62,
    0x10006: 63,
    0x10033: 61,
    0x1003e: 62,
    0x1003f: 63,
}
"""By Mercury type: what the finalizer makes of it where code names a kernel."""

IN_SASS_DATA: dict[int, int] = {
    0x10002: 2,
    0x10003: 1,
    0x10004: 65540,
    0x10005: 65541,
    0x10006: 65542,
    0x10028: 65576,
    0x10029: 65577,
}
"""By Mercury type: what the finalizer makes of it outside of code, if another type."""

IN_SASS_OPERATION: dict[int, tuple[tuple[int, int], ...]] = {
    0x10002: ((835, 114),),
    0x10003: ((1964, 115),),
    0x10004: ((2946, 66),),
}
"""By Mercury type: operations, and what the finalizer makes of it in those."""

ELSEWHERE: dict[int, tuple[int, int, dict[int, int]]] = {
    0x10003: (74, 80, {514: 55, 714: 55, 2050: 55, 2051: 55, 2053: 55, 2178: 55, 2329: 55, 2499: 55, 3074: 55, 3202: 55, 948: 100, 949: 100, 950: 100, 954: 100, 955: 100, 1460: 100, 2480: 100, 4014: 100}),
}
"""By Mercury type: what is listed in other code, behind its end, in some operations."""

CLEARING: tuple[int, ...] = (72, 73, 65550)
"""Types that only clear a field, and only when its target is gone."""

DESCRIPTORS: tuple[int, ...] = (31, 32, 33, 34, 35, 47, 48, 49, 61, 62, 63, 65551)
"""Types of descriptors of functions, whose address is taken then."""

REL_ACTIONS: dict[str, tuple[int, tuple[tuple[int, ...], ...]]] = {
    'OF_FIELD': (115, ((0, 0, 0, 17, 37, 0, 5, 54),)),
    'OF_BYTES': (75, ((0, 2, 2, 8, 16, 10, 47, 34), (0, 0, 0, 8, 0, 0, 0, 0), (0, 0, 8, 8, 0, 0, 0, 0), (0, 0, 16, 8, 0, 0, 0, 0), (0, 0, 24, 8, 0, 0, 0, 0), (0, 0, 32, 8, 0, 0, 0, 0), (0, 0, 40, 8, 0, 0, 0, 0), (0, 0, 48, 8, 0, 0, 0, 0), (0, 0, 56, 8, 0, 0, 0, 0), (1, 0, 0, 8, 0, 0, 0, 0), (1, 0, 8, 8, 0, 0, 0, 0), (1, 0, 16, 8, 0, 0, 0, 0), (1, 0, 24, 8, 0, 0, 0, 0), (1, 0, 32, 8, 0, 0, 0, 0), (1, 0, 40, 8, 0, 0, 0, 0), (1, 0, 48, 8, 0, 0, 0, 0), (1, 0, 56, 8, 0, 0, 0, 0), (2, 0, 0, 8, 0, 0, 0, 0), (2, 0, 8, 8, 0, 0, 0, 0), (2, 0, 16, 8, 0, 0, 0, 0), (2, 0, 24, 8, 0, 0, 0, 0), (2, 0, 32, 8, 0, 0, 0, 0), (2, 0, 40, 8, 0, 0, 0, 0), (2, 0, 48, 8, 0, 0, 0, 0), (2, 0, 56, 8, 0, 0, 0, 0), (0, 0, 0, 20, 44, 0, 0, 0), (3, 0, 0, 12, 0, 0, 0, 0))),
}
"""What .nv.rel.action states: the first type, and the row of each type from there on."""

SASS_END: int = 116
"""Types from here on mean nothing to code that has no Mercury half."""

LONGEST_FIELD: int = 16
"""Bytes from the place of a relocation to the end of the farthest field, at most."""

RANK_OF_NAME: dict[str, int] = {
    '.shstrtab': 0,
    '.strtab': 1,
    '.symtab': 2,
    '.symtab_shndx': 2,
    '.nv.info': 5,
    '.nv.compat': 6,
}
"""Rank by name, of the sass half."""

RANK_OF_TYPE: dict[int, int] = {
    0x7: 4,
    0x70000086: 6,
    0x70000000: 7,
    0x70000004: 7,
    0x70000010: 7,
    0x70000011: 7,
    0x70000014: 7,
    0x70000001: 8,
    0x70000002: 9,
    0x7000000b: 10,
    0x9: 11,
    0x4: 11,
    0x70000003: 11,
    0x70000082: 11,
    0x70000088: 11,
    0x7000000e: 14,
    0x70000012: 15,
}
"""Rank by type, of the sass half."""

RANK_OF_PREFIX: tuple[tuple[str, int | None, int], ...] = (('.debug_', 1, 3), ('.nv_debug', 1, 3), ('.nv.constant', None, 12), ('.text', None, 14), ('.nv.global.init', None, 15))
"""Beginning of the name, type (None: any) and rank, of the sass half."""

RANK_OF_OTHERS: int = 16
"""Of all others of the sass half."""

RANKS_WHEN: dict[str, dict[int | str, int]] = {
    'slot_table': {1879048209: 4},
    'deferred': {'.symtab_shndx': 17, '.nv.constant0.': 17},
}
"""By word: types, names or beginnings of names that then have another rank, of the sass half."""

MERCURY_RANK_OF_NAME: dict[str, int] = {
    '.nv.merc.nv.info': 33,
}
"""Rank by name, of the mercury half."""

MERCURY_RANK_OF_TYPE: dict[int, int] = {
    0x70000016: 30,
    0x70000011: 34,
    0x70000083: 34,
    0x70000004: 34,
    0x70000014: 34,
    0x70000010: 34,
    0x7000008a: 35,
    0x7000008b: 36,
    0x70000082: 37,
    0x70000088: 37,
    0x70000079: 38,
    0x7000007c: 38,
    0x7000007d: 38,
    0x70000084: 38,
    0x70000085: 41,
}
"""Rank by type, of the mercury half."""

MERCURY_RANK_OF_PREFIX: tuple[tuple[str, int | None, int], ...] = (('.nv.merc.debug_', None, 31), ('.nv.merc.nv_debug', None, 31))
"""Beginning of the name, type (None: any) and rank, of the mercury half."""

MERCURY_RANK_OF_OTHERS: int = 40
"""Of all others of the mercury half."""

MERCURY_RANKS_WHEN: dict[str, dict[int | str, int]] = {
    'slot_table': {1879048209: 32},
    'early_indices': {'.nv.merc.symtab_shndx': 30},
    'capsules_last': {1879048325: 30, 1879048214: 39},
}
"""By word: types, names or beginnings of names that then have another rank, of the mercury half."""

COMPAT_MERGE: dict[int, str] = {
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
"""By code: the rule by which a linker merges the values of its inputs."""

COMPAT_MISSING: dict[int, int] = {
    0x2: 0,
    0x3: 3,
    0x5: 0,
    0x6: 1,
    0x7: 256,
}
"""By code: the value that an input without the record stands for."""

COMPAT_BYTES: dict[int, int] = {
    0x2: 1,
    0x3: 1,
    0x4: 1,
    0x5: 1,
    0x6: 1,
    0x7: 2,
    0x8: 2,
    0x9: 1,
    0xa: 2,
    0xb: 8,
    0xc: 1,
    0xd: 2,
    0xe: 2,
    0xf: 2,
}
"""By code: bytes of the value."""

COMPAT_PARTS: dict[int, tuple[tuple[int, int], ...]] = {
    0x5: ((0, 2), (2, 2)),
    0xe: ((0, 6), (6, 4), (10, 6)),
    0xf: ((0, 6), (6, 4), (10, 6)),
}
"""By code: first bit and width of the parts of the value."""

COMPAT_LEADING: tuple[int, ...] = (9,)
"""Codes of records that start a linked section."""

COMPAT_TRAILING: tuple[int, ...] = (11,)
"""Codes of records that end a linked section."""
