"""The packages of other languages: layout, names at run time, unknown codes, archives."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from tools.gen import kaitai
from tools.gen.languages.builds import LANGUAGES, ROOT
from tools.gen.packages import PACKAGES, dist, go, java, javascript, rust
from tools.gen.packages.names import enums
from tools.gen.spec import load_specs

SPECS = load_specs(ROOT / "ksy")
NEEDS_NODE = pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")), reason="node and npm are not here"
)

_JAVA = """
    private void _read() {
        this.code = CudaCodes.EiattrCode.byId(this._io.readU1());
        this.kinds = new ArrayList<Kinds>();
        this.kinds.add(Demo.Kinds.byId(this._io.readU2le()));
    }
    private CudaCodes.EiattrCode code;
    private List<Kinds> kinds;
    private int other;
"""


def test_each_package_has_every_spec() -> None:
    for target, package in PACKAGES.items():
        stems = {
            file.stem.lower().replace("_", "") for file in (ROOT / package.FOLDER).rglob("*.*")
        }
        assert {name.replace("_", "") for name in SPECS} <= stems, target


def test_manifests_are_what_their_tools_read() -> None:
    package = json.loads((ROOT / javascript.FOLDER / "package.json").read_text())
    assert (ROOT / javascript.FOLDER / package["main"]).exists()
    assert (ROOT / javascript.FOLDER / package["types"]).exists()
    crate = tomllib.loads((ROOT / rust.FOLDER / "Cargo.toml").read_text())
    assert crate["dependencies"]["kaitai"]["tag"] == "v0.11.0"
    pom = (ROOT / java.FOLDER / "pom.xml").read_text()
    assert f"<version>{java.RUNTIME[2]}</version>" in pom
    assert (ROOT / go.FOLDER / "go.mod").read_text().startswith(f"module {go.MODULE}\n")


def test_java_keeps_the_number_of_a_code() -> None:
    text = java.source(_JAVA, SPECS["eiattr"])
    assert "package cubinspec;" in text
    for line in (
        "        this.codeNumber = this._io.readU1();",
        "        this.code = CudaCodes.EiattrCode.byId(this.codeNumber);",
        "        this.kindsNumbers = new ArrayList<Long>();",
        "        this.kindsNumbers.add((long) this._io.readU2le());",
        "    public long codeNumber() { return codeNumber; }",
        "    public List<Long> kindsNumbers() { return kindsNumbers; }",
    ):
        assert line in text.split("\n")
    assert "otherNumber" not in text


def test_no_code_is_read_in_java_without_its_number() -> None:
    for file in (ROOT / java.FOLDER / java.FILES).glob("*.java"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"byId\(this\._io", text), file.name
        for name in re.findall(r"this\.(\w+Numbers?) = ", text):
            declared = re.findall(rf"public (?:long|List<Long>) {name}\(\)", text)
            assert declared, f"{file.name}: {name}"


def test_every_enum_has_names_at_run_time() -> None:
    found = list(enums(SPECS))
    names = (ROOT / go.FOLDER / "names.go").read_text()
    table = (ROOT / "generated/cpp/names.cpp").read_text()
    assert len(found) > 30
    for enum in found:
        assert f"const char* name({enum.spec}_t::{enum.name}_t code)" in table
        for value, _, shown in enum.members:
            assert f'{value:#x}: "{shown}"' in names
            assert f'case {value:#x}: return "{shown}";' in table


@pytest.mark.skipif(not shutil.which("go"), reason="go is not here")
def test_go_prints_names_and_numbers(tmp_path: Path) -> None:
    text = (ROOT / go.FOLDER / "names.go").read_text()
    kinds = sorted(set(re.findall(r"^func \(v (\w+)\)", text, re.M)))
    types = "".join(f"type {kind} int\n" for kind in kinds)
    (tmp_path / "names.go").write_text(text.replace(f"package {go.MODULE}", "package main"))
    (tmp_path / "main.go").write_text(
        'package main\n\nimport "fmt"\n\n' + types + "func main() {\n"
        "\tfmt.Println(CudaCodes_EiattrCode(0x2f), CudaCodes_EiattrCode(4711))\n}\n"
    )
    (tmp_path / "go.mod").write_text("module names\n\ngo 1.21\n")
    done = subprocess.run(
        ["go", "run", "."], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "EIATTR_REGCOUNT CudaCodes_EiattrCode(4711)\n"


@NEEDS_NODE
def test_the_package_of_javascript_gives_all_classes(tmp_path: Path) -> None:
    kaitai.ensure_npm()
    script = (
        f"const spec = require({json.dumps(str(ROOT / javascript.FOLDER))});"
        "console.log(Object.keys(spec).length, spec.CudaCodes.EiattrCode[47],"
        " spec.CudaCodes.EiattrCode[4711]);"
    )
    done = subprocess.run(
        ["node", "-e", script],
        env={"NODE_PATH": str(kaitai.HERE / "node_modules"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{len(SPECS) + 1} EIATTR_REGCOUNT undefined\n", done.stderr


def test_declarations_name_every_field() -> None:
    text = (ROOT / javascript.FOLDER / "index.d.ts").read_text(encoding="utf-8")
    assert "  readonly eShoff: number;" in text
    assert "    readonly records: Eiattr.InfoRecord[];" in text or "readonly records" in text
    assert "any" not in re.findall(r": (\w+)[;|\[]", text)
    for spec in SPECS.values():
        for kind in spec.root.walk():
            for attr in kind.attrs():
                name = javascript._lower(attr.id)
                assert f"readonly {name}: " in text, ".".join((*kind.path, attr.id))


def test_archives_are_the_same_each_time() -> None:
    files = {"b.txt": b"b" * 99, "a/c.txt": b"c"}
    first = dist.packed("demo", files)
    assert first == dist.packed("demo", dict(reversed(files.items())))
    archive = zipfile.ZipFile(io.BytesIO(first))
    assert archive.namelist() == ["demo/a/c.txt", "demo/b.txt"]
    assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_names_of_archives_are_names_of_files_everywhere() -> None:
    names = {dist.file_name(language.target) for language in LANGUAGES.values()}
    assert len(names) == len(LANGUAGES)
    assert {"c", "cpp_stl", "cpp_stl-11", "javascript"} <= names
    assert all(re.fullmatch(r"[a-z0-9_-]+", name) for name in names)


def test_what_npm_cannot_write_is_refused() -> None:
    """It would write C++98, and nobody would see it."""
    with pytest.raises(kaitai.CompileError, match="cpp_stl:c\\+\\+11"):
        kaitai.npm_compile(ROOT / "ksy", ["cpp_stl", "cpp_stl:c++11"])


@NEEDS_NODE
def test_archives_hold_each_language_and_its_example() -> None:
    archives = dist.contents()
    assert "cpp_stl-11" not in archives  # KSC alone writes it
    for language in LANGUAGES.values():
        if not language.needs_ksc:
            assert f"example/{language.example}" in archives[dist.file_name(language.target)]


def test_the_archive_of_the_specs_is_complete() -> None:
    archive = zipfile.ZipFile(io.BytesIO(dist.packed(dist.SPECS, dist.specs())))
    folder = f"{dist.SPECS}/"
    texts = {name.removeprefix(folder): archive.read(name) for name in archive.namelist()}
    assert texts.pop("LICENSE") == dist.LICENSE.read_bytes()
    assert texts == {file.name: file.read_bytes() for file in (ROOT / "ksy").rglob("*.ksy")}
    imports = {
        f"{wanted}.ksy"
        for text in texts.values()
        for wanted in yaml.safe_load(text)["meta"].get("imports", [])
    }
    assert len(imports) > 20
    assert imports - texts.keys() == set()
