"""The checks of the tables see planted faults and name file and line."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.gen import tables

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the spec in which a test may plant a fault."""
    shutil.copytree(ROOT / "ksy", tmp_path / "ksy")
    return tmp_path


Plant = Callable[[str, str, str], None]


@pytest.fixture
def plant(project: Path) -> Plant:
    """Replaces the first occurrence of a text in a table."""

    def replace(table: str, old: str, new: str) -> None:
        file = project / "ksy" / "tables" / f"{table}.yaml"
        text = file.read_text(encoding="utf-8")
        assert old in text, f"{table}.yaml has no {old!r}"
        file.write_text(text.replace(old, new, 1), encoding="utf-8")

    return replace


def faults(project: Path) -> list[str]:
    with pytest.raises(tables.TableError) as caught:
        tables.check_and_load(project)
    return caught.value.problems


def test_the_tables_are_sound(project: Path) -> None:
    assert set(tables.check_and_load(project)) == set(tables.TABLES)


R32 = "  name: R_CUDA_32\n"
CASES: dict[str, tuple[str, str, str, str]] = {
    # rule: table, text, what takes its place, part of the message
    "no yaml": ("notes", "types:", "types: [", "expected the node content"),
    "no mapping": ("notes", "table: notes", "- notes", "expected"),
    "key twice": ("notes", "owner: NVIDIA Corp", "owner: a\nowner: b", "'owner' occurs twice"),
    "schema: unknown key": ("notes", "owner: NVIDIA Corp", "owner: a\nowned: b", "'owned'"),
    "schema: evidence word": ("compat", "evidence: observed", "evidence: wiki", "'wiki'"),
    "schema: code of two bytes": ("eiattr", "- code: 0x2f", "- code: 0x12f", "303"),
    "eiattr: code twice": ("eiattr", "- code: 0x2f", "- code: 0x2e", "code 0x2e is used twice"),
    "eiattr: name twice": (
        "eiattr",
        "name: EIATTR_REGCOUNT",
        "name: EIATTR_FRAME_SIZE",
        "name EIATTR_FRAME_SIZE is used twice",
    ),
    "eiattr: order": ("eiattr", "- code: 0x00", "- code: 0x6e", "in the order of their codes"),
    "eiattr: gap": ("eiattr", "- code: 0x6d", "- code: 0x6f", "no entry for code 0x6d"),
    "eiattr: category": ("eiattr", "category: cluster", "category: space", "category 'space'"),
    "eiattr: enum": ("eiattr", "enum: shader_type", "enum: shade", "enum 'shade' is not defined"),
    "eiattr: enum of bits": (
        "eiattr",
        "width: 2, enum: mbarrier_stride}",
        "width: 2, enum: stride}",
        "enum 'stride' is not defined",
    ),
    "eiattr: bits overlap": (
        "eiattr",
        "{name: space, bit: 8, width: 4}",
        "{name: space, bit: 7, width: 4}",
        "space and log_alignment both have bit 7",
    ),
    "eiattr: bits leave the word": (
        "eiattr",
        "{name: size, bit: 18, width: 14}",
        "{name: size, bit: 18, width: 15}",
        "size reaches bit 32, there are 32 bits",
    ),
    "eiattr: field twice": (
        "eiattr",
        "{name: ntid_y, type: u4}",
        "{name: ntid_x, type: u4}",
        "name ntid_x is used twice",
    ),
    "eiattr: count of a tail": (
        "eiattr",
        "repeat: num_targets",
        "repeat: num_target",
        "repeat names no field before it",
    ),
    "eiattr: repeat in a struct": (
        "eiattr",
        "{name: ntid_z, type: u4}",
        "{name: ntid_z, type: u4, repeat: eos}",
        "a struct has no repeated field",
    ),
    "eiattr: list that counts": (
        "eiattr",
        "{name: offsets, type: u4, repeat: eos}",
        "{name: offsets, type: u4, repeat: image}",
        "runs to the end",
    ),
    "eiattr: list without tail": (
        "eiattr",
        "{name: offsets, type: u4, repeat: eos}",
        "{name: offsets, type: u4}",
        "exactly one repeated field",
    ),
    "eiattr: inline of four bytes": (
        "eiattr",
        "    - {name: max_registers, type: u2}",
        "    - {name: max_registers, type: u4}",
        "an inline value has at most two bytes",
    ),
    "eiattr: inline in a sized record": (
        "eiattr",
        "  formats: [HVAL]\n",
        "  formats: [SVAL]\n",
        "an inline value is a BVAL or HVAL record",
    ),
    "eiattr: struct in a short record": (
        "eiattr",
        "  formats: [SVAL]\n",
        "  formats: [HVAL]\n",
        "a struct payload is an SVAL record",
    ),
    "eiattr: value of an empty record": (
        "eiattr",
        "  formats: [NVAL]\n",
        "  formats: [BVAL]\n",
        "a record without payload is an NVAL record",
    ),
    "eiattr: layout without evidence": (
        "eiattr",
        "  layout_evidence: observed\n",
        "",
        "a known layout says how it is known",
    ),
    "eiattr: tag enum": (
        "eiattr",
        "tag: {name: kind, type: u4, enum: annotation_kind}",
        "tag: {name: kind, type: u4, enum: nothing}",
        "enum 'nothing' is not defined",
    ),
    "eiattr: text without size": (
        "eiattr",
        "{name: text, type: str, size: len_text}",
        "{name: text, type: str}",
        "names the field that has its size",
    ),
    "eiattr: format names": (
        "eiattr",
        "- {code: 3, name: EIFMT_HVAL",
        "- {code: 3, name: EIFMT_WVAL",
        "formats are EIFMT_NVAL",
    ),
    "relocations: type twice": ("relocations", "- type: 2\n", "- type: 1\n", "type 0x1 is used"),
    "relocations: name twice": (
        "relocations",
        R32,
        "  name: R_CUDA_64\n",
        "name R_CUDA_64 is used twice",
    ),
    "relocations: gap": ("relocations", "- type: 116\n", "- type: 117\n", "without a gap"),
    "relocations: value": ("relocations", "value: pcrel, ", "value: rel, ", "value 'rel'"),
    "relocations: kind": (
        "relocations",
        "kind: data, bit: 0, width: 32, value: abs",
        "kind: datum, bit: 0, width: 32, value: abs",
        "action kind 'datum'",
    ),
    "relocations: actions overlap": (
        "relocations",
        "{kind: field, bit: 34, width: 47, value: abs, shift: 10}",
        "{kind: field, bit: 23, width: 47, value: abs, shift: 10}",
        "both have bit 23",
    ),
    "relocations: bits beyond the instruction": (
        "relocations",
        "{kind: field, bit: 34, width: 47, value: abs, shift: 10}",
        "{kind: field, bit: 82, width: 47, value: abs, shift: 10}",
        "reaches bit 128, there are 128 bits",
    ),
    "relocations: wide value": (
        "relocations",
        "{kind: data, bit: 0, width: 64, value: abs, shift: 0}",
        "{kind: data, bit: 0, width: 65, value: abs, shift: 0}",
        "a value has 64 bits",
    ),
    "relocations: clear with a value": (
        "relocations",
        "{kind: clear, bit: 0, width: 32, value: zero, shift: 0}",
        "{kind: clear, bit: 0, width: 32, value: abs, shift: 0}",
        "clear and the value zero belong together",
    ),
    "relocations: keep rule": ("relocations", "keep: pcrel", "keep: never", "keep rule 'never'"),
    "relocations: apply rule": ("relocations", "apply: lockstep", "apply: later", "'later'"),
    "relocations: resolver": (
        "relocations",
        "resolver: finalizer",
        "resolver: loader",
        "resolver 'loader'",
    ),
    "relocations: target": (
        "relocations",
        "targets: [global, function], evidence",
        "targets: [global, code], evidence",
        "target 'code'",
    ),
    "relocations: kept and error": (
        "relocations",
        "targets: [function], errors: [global,",
        "targets: [function], errors: [function,",
        "both kept and an error",
    ),
    "relocations: retype to nothing": (
        "relocations",
        "retype: R_CUDA_64",
        "retype: R_CUDA_65",
        "retype names no type",
    ),
    "relocations: retype to other bits": (
        "relocations",
        "retype: R_CUDA_64",
        "retype: R_CUDA_32",
        "R_CUDA_32 writes other bits",
    ),
    "relocations: no evidence": (
        "relocations",
        "  actions_evidence: observed\n  keep: runtime_handle\n",
        "  keep: runtime_handle\n",
        "actions say how they are known",
    ),
    "sections: type value twice": (
        "sections",
        "- {value: 0x70000002,",
        "- {value: 0x70000001,",
        "value 0x70000001 is used twice",
    ),
    "sections: type above an enum": (
        "sections",
        "- {value: 0x7000008b,",
        "- {value: 0x8000008b,",
        "does not fit a 32-bit signed enum",
    ),
    "sections: pattern twice": (
        "sections",
        "pattern: .nv.prototype\n",
        "pattern: .nv.callgraph\n",
        "pattern .nv.callgraph is used twice",
    ),
    "sections: kind twice": ("sections", "- kind: uidx\n", "- kind: udt\n", "kind udt is used"),
    "sections: unknown type": (
        "sections",
        "executable: SHT_CUDA_UIDX",
        "executable: SHT_CUDA_INDEX",
        "section type SHT_CUDA_INDEX is not defined",
    ),
    "sections: unknown bank type": (
        "sections",
        "name: SHT_CUDA_CONSTANT_B17,",
        "name: SHT_CUDA_CONSTANT_B18,",
        "section type SHT_CUDA_CONSTANT_B17 is not defined",
    ),
    "sections: unknown flag": (
        "sections",
        "flags: [SHF_ALLOC, SHF_EXECINSTR]",
        "flags: [SHF_ALLOC, SHF_CODE]",
        "flag 'SHF_CODE' is not defined",
    ),
    "sections: unknown body": ("sections", "body: dwarf\n", "body: debug\n", "body 'debug'"),
    "sections: unknown link": ("sections", "link: merc_symtab", "link: merc", "sh_link 'merc'"),
    "sections: unknown info": ("sections", "info: compat\n", "info: note\n", "sh_info 'note'"),
    "sections: unknown twin": ("sections", "twin: info\n", "twin: infos\n", "kind 'infos'"),
    "sections: unknown word of a rank": (
        "sections",
        "when: deferred",
        "when: late",
        "word 'late'",
    ),
    "sections: unknown type of a rank": (
        "sections",
        "rank: 4, type: SHT_NOTE,",
        "rank: 4, type: SHT_NOTES,",
        "section type 'SHT_NOTES'",
    ),
    "sections: two ranks of a name": (
        "sections",
        "rank: 1, name: .strtab,",
        "rank: 1, name: .shstrtab,",
        "is used twice",
    ),
    "sections: name and type of a rank": (
        "sections",
        "rank: 1, name: .strtab,",
        "rank: 1, name: .strtab, type: SHT_STRTAB,",
        "a name alone decides",
    ),
    "sections: word for all others": (
        "sections",
        "- {half: sass, rank: 16, evidence",
        "- {half: sass, rank: 16, when: deferred, evidence",
        "is a name, a type or a prefix",
    ),
    "sections: no rank of all others": (
        "sections",
        "- {half: mercury, rank: 40, evidence: observed}\n",
        "",
        "no rank of all other sections of the mercury half",
    ),
    "sections: mask of two bits": (
        "sections",
        "- {mask: 0x4, name: SHF_EXECINSTR",
        "- {mask: 0x6, name: SHF_EXECINSTR",
        "is not a single bit",
    ),
    "sections: flag inside a number": (
        "sections",
        "- {mask: 0x1000000, name: SHF_NOTE_NV_CUINFO, kinds: [note_cuinfo, note_cuver],",
        "- {mask: 0x1000000, name: SHF_NOTE_NV_CUINFO, kinds: [text],",
        "bit 24 has another meaning",
    ),
    "sections: body without spec": (
        "sections",
        "- {name: uft, ksy: uft,",
        "- {name: uft, ksy: uf_table,",
        "ksy/uf_table.ksy does not exist",
    ),
    "sections: opaque body with spec": (
        "sections",
        "- {name: sass, opaque: true,",
        "- {name: sass, opaque: true, ksy: eiattr,",
        "a body is opaque or has a ksy",
    ),
    "sections: info bits overlap": (
        "sections",
        "- {name: registers, bit: 24,",
        "- {name: registers, bit: 20,",
        "both have bit 20",
    ),
    "symbols: type of five bits": (
        "symbols",
        "- {value: 13, name: STT_CUDA_OBJECT",
        "- {value: 29, name: STT_CUDA_OBJECT",
        "the field ends at 0xf",
    ),
    "symbols: bit without field": (
        "symbols",
        "- {name: space, bit: 5, width: 3",
        "- {name: space, bit: 5, width: 2",
        "no field has bit 7",
    ),
    "symbols: bits overlap": (
        "symbols",
        "- {name: obscure, bit: 3,",
        "- {name: obscure, bit: 2,",
        "obscure and managed both have bit 2",
    ),
    "compat: merge rule": ("compat", "merge: equal_or_one", "merge: first", "merge rule 'first'"),
    "compat: dropped code in front": (
        "compat",
        "leading: [9]",
        "leading: [9, 12]",
        "code 12 is not written",
    ),
    "compat: code at both ends": (
        "compat",
        "leading: [9]",
        "leading: [9, 11]",
        "code 11 is also a leading one",
    ),
    "compat: missing value of a dropped code": (
        "compat",
        "  merge: drop\n",
        "  merge: drop\n  missing: 0\n",
        "plays no part in this merge",
    ),
    "compat: code twice": ("compat", "- code: 14\n", "- code: 13\n", "code 0xd is used twice"),
    "compat: value for no architecture": (
        "compat",
        "target_values: {100: 9,",
        "target_values: {99: 9,",
        "target_values has no place for '99'",
    ),
    "compat: no values": (
        "compat",
        "  target_values: {'': 0, a: 1, f: 0}\n",
        "",
        "a merge by target needs target_values",
    ),
    "compat: layout against format": (
        "compat",
        "layout: {kind: inline, fields: [{name: isa_class, type: u1}]}",
        "layout: {kind: inline, fields: [{name: isa_class, type: u4}]}",
        "an inline value has at most two bytes",
    ),
    "arch: sm twice": ("arch", "- sm: 121\n", "- sm: 120\n", "sm 0x78 is used twice"),
    "arch: order": ("arch", "- sm: 20\n", "- sm: 22\n", "in the order of their numbers"),
    "arch: link group": ("arch", "link_group: 100", "link_group: 99", "is no architecture"),
    "arch: link group of another major": (
        "arch",
        "link_group: 90",
        "link_group: 80",
        "an earlier sm of the same major number",
    ),
    "arch: renamed to nothing": ("arch", "renamed_to: 110", "renamed_to: 111", "renamed_to 111"),
    "arch: limit without description": (
        "arch",
        "    max_blocks_per_sm: 8\n",
        "    max_blocks_per_sm: 8\n    max_blocks: 8\n",
        "limit 'max_blocks' is not described",
    ),
    "arch: limit missing": ("arch", "    register_unit: 64\n", "", "limit 'register_unit' is"),
    "arch: warps and threads": (
        "arch",
        "    max_warps_per_sm: 48\n",
        "    max_warps_per_sm: 47\n",
        "max_threads_per_sm is max_warps_per_sm times warp_size",
    ),
    "arch: block larger than its SM": (
        "arch",
        "    shared_per_sm: 49152\n",
        "    shared_per_sm: 32768\n",
        "max_shared_per_block_optin is larger than shared_per_sm",
    ),
    "arch: shared memory that cannot be set": (
        "arch",
        "shared_configs: [32768, 65536]",
        "shared_configs: [32768, 65537]",
        "the largest size is shared_per_sm",
    ),
    "arch: capsule without compat": (
        "arch",
        "  compat_section: true\n  capsule: true\n",
        "  compat_section: false\n  capsule: true\n",
        "a cubin with a capsule has .nv.compat",
    ),
    "arch: toolkit without a row": (
        "arch",
        "  first_toolkit: '11.4'\n",
        "  first_toolkit: '11.5'\n",
        "toolkit 11.5 is no row of the toolkits table",
    ),
    "arch: families in another order": (
        "arch",
        "- family: finalizer\n  first: 90\n",
        "- family: finalizer\n  first: 20\n",
        "families stand in the order",
    ),
    "arch: family of no architecture": (
        "arch",
        "- family: finalizer\n  first: 90\n",
        "- family: finalizer\n  first: 91\n",
        "first 91 is no architecture of the table",
    ),
    "arch: family with an unknown relocation": (
        "arch",
        "STT_CUDA_SAMPLER: R_CUDA_SAMP_HEADER_INDEX_0,",
        "STT_CUDA_SAMPLER: R_CUDA_SAMP_HEADER_INDEX_9,",
        "STT_CUDA_SAMPLER: R_CUDA_SAMP_HEADER_INDEX_9 is no symbol type and relocation type",
    ),
    "arch: family with an unknown flag": (
        "arch",
        "cuinfo_flags: [SHF_NOTE_NV_CUINFO]",
        "cuinfo_flags: [SHF_NOTE_NV_CUVER]",
        "section flag 'SHF_NOTE_NV_CUVER' is not defined",
    ),
    "arch: family with an unknown kind of file": (
        "arch",
        "file_kind: EF_CUDA_V2_CAPSULE",
        "file_kind: EF_CUDA_V2_CAPSULES",
        "bit of e_flags 'EF_CUDA_V2_CAPSULES' is not defined",
    ),
    "arch: capsules without a Mercury half": (
        "arch",
        "  compat_section: true\n  capsule: false\n",
        "  compat_section: true\n  capsule: true\n",
        "a family with capsules, and no other, says what its Mercury half is like",
    ),
    "arch: work-around on an unknown architecture": (
        "arch",
        "  architectures: [80, 86, 87, 88]\n",
        "  architectures: [80, 86, 87, 85]\n",
        "85 is no architecture of the table",
    ),
    "arch: work-around that is no attribute": (
        "arch",
        "- attribute: EIATTR_SW_WAR\n",
        "- attribute: EIATTR_SW_WARS\n",
        "attribute 'EIATTR_SW_WARS' is not defined",
    ),
    "toolkits: twice": (
        "toolkits",
        "version: '9.0'",
        "version: '8.0'",
        "version 8.0 is used twice",
    ),
    "toolkits: another order": (
        "toolkits",
        "- {version: '10.2',",
        "- {version: '12.2',",
        "toolkits stand in the order of their versions",
    ),
    "toolkits: unknown producer": (
        "toolkits",
        "producers: {classic: classic_8}",
        "producers: {classic: classic_7}",
        "producer 'classic_7' is not defined",
    ),
    "toolkits: unknown family": (
        "toolkits",
        "producers: {classic: classic_8}",
        "producers: {classical: classic_8}",
        "family 'classical' is not defined",
    ),
    "toolkits: release of another version": (
        "toolkits",
        "release: 12.0.140",
        "release: 12.1.105",
        "12.1.105 is no 12.0",
    ),
    "toolkits: written one without a row": (
        "toolkits",
        "written: '13.0'",
        "written: '13.9'",
        "toolkit 13.9 has no row",
    ),
    "toolkits: producer like itself": (
        "toolkits",
        "{producer: classic_bare, like: classic,",
        "{producer: classic_bare, like: classic_bare_no_entsize,",
        "which is like itself",
    ),
    "toolkits: record merged in another way": (
        "toolkits",
        "value: variant",
        "value: architecture",
        "EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET is not merged by architecture",
    ),
    "toolkits: attribute since one without a row": (
        "eiattr",
        "since: '13.2'",
        "since: '13.9'",
        "is there since 13.9, which has no row",
    ),
    "sass: opcode twice": (
        "sass",
        "- {opcode: 0x181,",
        "- {opcode: 0x180,",
        "opcode 0x180 is used twice",
    ),
    "sass: another order": (
        "sass",
        "- {opcode: 0x181,",
        "- {opcode: 0x17f,",
        "opcodes stand in their order",
    ),
    "sass: unknown trait": ("sass", "traits: [long]", "traits: [slowly]", "trait 'slowly'"),
    "sass: unknown size": ("sass", "{size: result}", "{size: results}", "size 'results' is not"),
    "sass: size and number": (
        "sass",
        "{size: result}",
        "{size: result, registers: 2}",
        "either a size or a number of registers",
    ),
    "sass: flag that is no bit": (
        "sass",
        "flag: has_uniform",
        "flag: guard",
        "flag 'guard' is no field of one bit",
    ),
    "sass: field beyond the instruction": (
        "sass",
        "{name: reuse, bit: 122, width: 4,",
        "{name: reuse, bit: 126, width: 4,",
        "reuse leaves the instruction",
    ),
    "sass: unknown field": (
        "sass",
        "field: access_size",
        "field: access_sizes",
        "field 'access_sizes' is not defined",
    ),
    "sass: value without a number": (
        "sass",
        "field: result_size, registers: [1, 1, 1, 2]",
        "field: result_size, registers: [1, 1, 2]",
        "has no number for every value",
    ),
    "sass: form without a row": ("sass", "- {form: 7,", "- {form: 6,", "every form has a row"),
    "sass: unknown length": (
        "sass",
        "mercury: {1: sum,",
        "mercury: {1: sums,",
        "length 'sums' is not defined",
    ),
    "arch: rule of running twice": (
        "arch",
        "- {id: other-major,",
        "- {id: same-major,",
        "id same-major is used twice",
    ),
    "arch: images that no rule decides": (
        "arch",
        "- {id: ptx, images: [ptx],",
        "- {id: ptx, images: [ptx], number: same,",
        "the last rule of ptx",
    ),
    "elf_header: flag bits overlap": (
        "elf_header",
        "- {name: sm, bit: 8, width: 16,",
        "- {name: sm, bit: 7, width: 17,",
        "both have bit 7",
    ),
    "elf_header: flag bit without field": (
        "elf_header",
        "- {name: reserved_13, bit: 13, width: 3,",
        "- {name: reserved_13, bit: 13, width: 2,",
        "no field has bit 15",
    ),
    "elf_header: flags of no OSABI": (
        "elf_header",
        "  osabi: 0x33\n",
        "  osabi: 0x34\n",
        "OSABI 0x34 is not defined",
    ),
    "elf_header: type of three bytes": (
        "elf_header",
        "- {value: 0xff00, name: ET_EWP",
        "- {value: 0xff0000, name: ET_EWP",
        "the field ends at 0xffff",
    ),
    "notes: unknown section": (
        "notes",
        "- section: .note.nv.cuver",
        "- section: .note.nv.cudaver",
        "section '.note.nv.cudaver' is not defined",
    ),
    "fatbin: kind twice": (
        "fatbin",
        "- {value: 8, name: NVVM",
        "- {value: 2, name: NVVM",
        "value 0x2 is used twice",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_planted_fault_is_named(
    case: tuple[str, str, str, str], project: Path, plant: Plant
) -> None:
    table, old, new, message = case
    plant(table, old, new)
    found = faults(project)
    assert any(message in fault for fault in found), found
    assert all(re.match(r"ksy/tables/\w+\.yaml:\d+: ", fault) for fault in found)


def test_the_line_is_that_of_the_fault(project: Path, plant: Plant) -> None:
    plant("relocations", "keep: pcrel", "keep: never")
    text = (project / "ksy/tables/relocations.yaml").read_text(encoding="utf-8")
    line = text.splitlines().index("  keep: never") + 1
    assert faults(project) == [
        f"ksy/tables/relocations.yaml:{line}: keep rule 'never' is not defined"
    ]


def test_the_line_of_a_fault_of_shape_is_that_of_the_value(project: Path, plant: Plant) -> None:
    plant("arch", "  instruction_size: 8", "  instruction_size: 9")
    text = (project / "ksy/tables/arch.yaml").read_text(encoding="utf-8")
    line = text.splitlines().index("  instruction_size: 9") + 1
    assert faults(project) == [f"ksy/tables/arch.yaml:{line}: 9 is not one of [8, 16]"]


def test_all_faults_are_reported_at_once(project: Path, plant: Plant) -> None:
    plant("arch", "renamed_to: 110", "renamed_to: 111")
    plant("compat", "merge: equal_or_one", "merge: first")
    plant("sections", "- {name: uft, ksy: uft,", "- {name: uft, ksy: uf_table,")
    assert len(faults(project)) >= 3


def test_emit_refuses_unsound_tables(project: Path, plant: Plant) -> None:
    plant("arch", "renamed_to: 110", "renamed_to: 111")
    with pytest.raises(tables.TableError, match="renamed_to 111"):
        tables.emit(tables.check_and_load(project))
