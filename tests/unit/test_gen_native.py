"""Outputs for programs without Kaitai: they compile, say what the tables say, and read files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from struct import calcsize

import jsonschema
import pytest

import cubinspec
from cubinspec_generated import (
    codes,
    codes_dwarf,
    codes_enums,
    codes_relocation,
    codes_sass,
    codes_sizes,
)
from cubinspec_generated import records as layouts
from tools.gen.languages.__main__ import SAMPLES, Files, check, is_elf32, make_fatbins
from tools.gen.languages.builds import LANGUAGES, run
from tools.gen.native import c_header, json_document, rust_crate

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = SAMPLES / "calls.sm_100.rel.cubin"

needs_c = pytest.mark.skipif(
    not (shutil.which("gcc") and shutil.which("g++")), reason="gcc and g++ are not here"
)


def _cargo_runs() -> bool:
    """Whether there is a cargo, and a toolchain of Rust behind it."""
    cargo = shutil.which("cargo")
    return cargo is not None and not subprocess.run([cargo, "-V"], capture_output=True).returncode


needs_rust = pytest.mark.skipif(not _cargo_runs(), reason="cargo is not here")

#: Every table of the header, with each of its columns used.
_TABLES = r"""
#include <stdio.h>
#define CODE(name, value, meaning) printf("%s %ld %s\n", #name, (long)CUBIN_##name, meaning);
#define ATTRIBUTE(name, code, formats, layout, size, meaning) \
  printf("attribute %s %d %d %d %d\n", #name, code, formats, CUBIN_LAYOUT_##layout, size);
#define FIELD(name, field, offset, size, repeat, refers) \
  printf("field %s %s %d %d %s %s\n", #name, #field, offset, size, repeat, refers);
#define ACTION(name, type, place, bit, width, shift, value) \
  printf("action %s %d %d %d %d %d %d\n", #name, type, CUBIN_PLACE_##place, bit, width, shift, \
         CUBIN_VALUE_##value);
#define KIND(kind, pattern, relocatable, executable) \
  printf("kind %s %u %u\n", pattern, CUBIN_##relocatable, CUBIN_##executable);
int main(void) {
  CUBIN_EIATTR_CODE(CODE)
  CUBIN_EIATTRS(ATTRIBUTE)
  CUBIN_EIATTR_FIELDS(FIELD)
  CUBIN_RELOCATION_ACTIONS(ACTION)
  CUBIN_SECTION_KINDS(KIND)
  const char *none = cubin_eiattr_code_name(0xfffe);
  printf("%s %s\n", cubin_eiattr_code_name(CUBIN_EIATTR_REGCOUNT), none ? none : "nothing");
  return 0;
}
"""

_RUST_TEST = """
use cubin_codes::*;

#[test]
fn a_cubin_is_read() {
    let data = std::fs::read(std::env::var("SAMPLE").unwrap()).unwrap();
    let head = ElfHeader64::read(&data).unwrap();
    assert_eq!(head.e_machine as u32, EM_CUDA);
    let number = |name: &str| std::env::var(name).unwrap().parse::<usize>().unwrap();
    assert_eq!(head.e_shnum as usize, number("SECTIONS"));
    let mut records = 0;
    for index in 0..head.e_shnum as usize {
        let at = head.e_shoff as usize + index * SectionHeader64::SIZE;
        let row = SectionHeader64::read(&data[at..]).unwrap();
        if ![SHT_CUDA_INFO, SHT_CUDA_MERC_INFO].contains(&row.sh_type) {
            continue;
        }
        let mut body = &data[row.sh_offset as usize..][..row.sh_size as usize];
        while let Some(record) = InfoRecord::read(body) {
            assert!(attribute(record.code).is_some());
            let long = record.format as u32 == EIFMT_SVAL;
            body = &body[InfoRecord::SIZE + if long { record.value as usize } else { 0 }..];
            records += 1;
        }
    }
    assert_eq!(records, number("RECORDS"));
}

#[test]
fn tables_and_names() {
    assert_eq!(eiattr_code_name(EIATTR_REGCOUNT), Some("EIATTR_REGCOUNT"));
    assert_eq!(eiattr_code_name(0xfffe), None);
    assert_eq!(relocation(R_CUDA_ABS32_26).unwrap().actions[0].bit, 26);
    assert!(relocation(0xfffffffe).is_none());
    assert!(ElfHeader64::read(&[0; ElfHeader64::SIZE - 1]).is_none());
    assert_eq!(ElfHeader64::SIZE, 64);
}
"""


def document() -> dict:
    return json.loads((ROOT / json_document.DOCUMENT).read_text(encoding="utf-8"))


def compiled(folder: Path, text: str, compiler: str, *options: str) -> Path:
    """The program of a text, built without a warning."""
    source = folder / "main.c"
    source.write_text(text)
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / c_header.FOLDER}"]
    program = folder / "main"
    run([compiler, *options, *flags, str(source), "-o", str(program)], folder)
    return program


@needs_c
@pytest.mark.parametrize("others", [(), ("elf.h",)], ids=["alone", "beside elf.h"])
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize("how", [("gcc", "-std=c11"), ("g++", "-x", "c++", "-std=c++17")])
def test_the_header_compiles_without_warnings(
    tmp_path: Path, how: tuple[str, ...], first: bool, others: tuple[str, ...]
) -> None:
    headers = ["cubin.h", *others] if first else [*others, "cubin.h"]
    includes = "".join(f"#include <{header}>\n" for header in headers)
    printed = run([str(compiled(tmp_path, includes + _TABLES, *how))], tmp_path).splitlines()
    stored = document()
    fields = sum(len(row["fields"]) for row in stored["attributes"])
    actions = [action for row in stored["relocations"] for action in row["actions"]]
    expected = 2 * len(stored["attributes"]) + fields + len(actions) + len(stored["section_kinds"])
    assert len(printed) == expected + 1
    assert "field EIATTR_PARAM_CBANK param_size 6 2  " in printed
    assert printed[-1] == "EIATTR_REGCOUNT nothing"


@needs_c
def test_the_program_in_c_prints_what_python_prints(tmp_path: Path) -> None:
    cubins = sorted(SAMPLES.glob("*.cubin"))[::9]
    assert {is_elf32(file) for file in cubins} == {False, True}
    _, lines = check(LANGUAGES["C"], Files(cubins, make_fatbins(tmp_path, cubins[::8])), None)
    assert lines > 1000


@needs_rust
def test_the_crate_of_numbers_builds_and_reads(tmp_path: Path) -> None:
    crate = tmp_path / "crate"
    shutil.copytree(ROOT / rust_crate.FOLDER, crate)
    (crate / "tests").mkdir()
    (crate / "tests" / "reads.rs").write_text(_RUST_TEST)
    cubin = cubinspec.Cubin.open(SAMPLE)
    infos = [section for section in cubin.sections if ".nv.info" in section.name]
    facts = {
        "SAMPLE": str(SAMPLE),
        "SECTIONS": str(len(cubin.sections)),
        "RECORDS": str(sum(len(section.info_records) for section in infos)),
        "RUSTFLAGS": "-D warnings",
    }
    done = subprocess.run(
        ["cargo", "test", "-q", "--offline"],
        cwd=crate,
        env=os.environ | facts,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_the_document_keeps_its_schema() -> None:
    schema = json.loads((ROOT / json_document.SCHEMA).read_text(encoding="utf-8"))
    stored = document()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(stored, schema)
    assert stored["version"] == json_document.VERSION
    broken = stored | {"attributes": [{"name": "EIATTR_X"}]}
    with pytest.raises(jsonschema.ValidationError, match="code"):
        jsonschema.validate(broken, schema)


def test_the_document_says_what_the_python_modules_say() -> None:
    stored = document()
    groups = [*(e["members"] for e in stored["enums"]), *(c["values"] for c in stored["constants"])]
    numbers = {
        row["name"]: int(row["value"], 16) if isinstance(row["value"], str) else row["value"]
        for group in groups
        for row in group
    }
    modules = (codes, codes_dwarf, codes_enums, codes_relocation, codes_sass, codes_sizes)
    items = [item for module in modules for item in vars(module).items()]
    named = {n: v for n, v in items if n.isupper() and not n.startswith("SIZEOF_")}
    assert {name: numbers.get(name) for name in named} == named
    for record in stored["records"]:
        layout = getattr(layouts, record["name"].upper())
        ident = calcsize("<16s") if record["name"].startswith("elf_header") else 0
        assert record["size"] == layout.size + ident, record["name"]
        ends = [field["offset"] + field["size"] for field in record["fields"]]
        assert ends[-1] == record["size"]
        assert [f["offset"] for f in record["fields"]] == [0, *ends[:-1]]
