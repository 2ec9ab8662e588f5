"""``cubinspec spec``: the spec goes with the package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from cubinspec.cli import main
from cubinspec.report import spec_files

ROOT = Path(__file__).parents[2]


def output(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["spec", *words]) == 0
    return capsys.readouterr().out


def test_every_source_of_the_spec_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    names = {line.split()[-1] for line in output(capsys).splitlines()[1:]}
    sources = {
        path.relative_to(ROOT / "ksy").as_posix()
        for path in (ROOT / "ksy").rglob("*")
        if path.is_file()
    }
    schemas = {f"output/{path.name}" for path in (ROOT / "src/cubinspec/schema").glob("*.json")}
    assert sources | schemas < names
    assert output(capsys, "--list") == output(capsys)


def test_the_copy_is_the_spec_to_the_byte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "spec"
    assert output(capsys, "--copy", str(folder)) == ""
    for source in (ROOT / "ksy").rglob("*.*"):
        assert (folder / source.relative_to(ROOT / "ksy")).read_bytes() == source.read_bytes()
    assert main(["kernels", *map(str, (folder / "samples").glob("*.cubin"))]) == 0


def test_a_copy_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("here")
    assert main(["spec", "--copy", str(tmp_path)]) == 1
    assert "the folder is not empty" in capsys.readouterr().err
    assert main(["spec", "--copy", str(tmp_path / "mine" / "below")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_a_table_or_type_prints_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    table = json.loads(output(capsys, "--json", "eiattr"))
    source = yaml.safe_load((ROOT / "ksy/tables/eiattr.yaml").read_text("utf-8"))
    assert table == json.loads(json.dumps(source))  # keys of JSON are text
    assert json.loads(output(capsys, "--json", "tables/eiattr.yaml")) == table
    assert json.loads(output(capsys, "--json", "eiattr.ksy"))["meta"]["id"] == "eiattr"
    assert json.loads(output(capsys, "--json", "elf_cuda"))["meta"]["id"] == "elf_cuda"
    assert json.loads(output(capsys, "--json", "kernels"))["title"] == "cubinspec kernels --json"
    assert "properties" in json.loads(output(capsys, "--json", "cubin"))


def test_the_folder_has_the_types(capsys: pytest.CaptureFixture[str]) -> None:
    assert Path(output(capsys, "--path").strip(), "elf_cuda.ksy").is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--json", "eiatr"], "expected eiattr"),
        (["--json", "?"], "cubinspec spec --list"),
    ],
)
def test_an_unknown_name(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", *words]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--list", "--path"], ["eiattr"]])
def test_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", *words]) == 2


def test_an_installation_without_the_spec_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spec_files, "_package", lambda: tmp_path / "a" / "cubinspec")
    assert main(["spec"]) == 1
    assert "the spec is not in this installation" in capsys.readouterr().err
