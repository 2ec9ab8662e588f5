"""The JSON of the commands for containers fits its published schema, and little else does."""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cubinspec.cli import main
from cubinspec.scan.schema import COLUMNS
from tools.corpus.containers import cubin, elf_host, linked_host, simple_fatbin, zip_of

COMMANDS = ("images", "archs", "size", "params", "ptx", "scan", "kernels")


@functools.cache
def schema(command: str) -> dict[str, Any]:
    text = files("cubinspec").joinpath("schema", f"{command}.schema.json").read_text("utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def validator(command: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema(command))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel with hosts of several kinds."""
    path = tmp_path_factory.mktemp("schema") / "pkg-1-py3-none-any.whl"
    path.write_bytes(
        zip_of(
            {
                "a.so": linked_host([simple_fatbin(), simple_fatbin("speed")], [1, 2]),
                "b.so": elf_host({".rodata": cubin() + simple_fatbin("none")}),
                "c.cubin": cubin("calls.sm_100.exe.cubin"),
                "d.fatbin": simple_fatbin("size"),
            }
        )
    )
    return path


def output(capsys: pytest.CaptureFixture[str], command: str, path: Path) -> Any:
    words = ["--jobs", "1"] if command in ("scan", "kernels") else []
    assert main([command, str(path), *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_output_fits_and_no_other_key_does(
    command: str, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = schema(command)
    jsonschema.Draft202012Validator.check_schema(document)
    assert document["title"] == f"cubinspec {command} --json"
    found = output(capsys, command, wheel)
    assert found
    validator(command).validate(found)
    assert not validator(command).is_valid([{**found[0], "added": 1}])
    for key in found[0]:
        less = {name: value for name, value in found[0].items() if name != key}
        assert not validator(command).is_valid([less]), key


def test_faults_in_a_scan_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.fatbin"
    path.write_bytes(simple_fatbin()[:-100])
    assert main(["scan", str(path), "--json", "--jobs", "1"]) == 1
    found = json.loads(capsys.readouterr().out)
    validator("scan").validate(found)
    assert [row["record"] for row in found].count("fault") == 1
    assert main(["size", str(path), "--json"]) == 1
    (report,) = json.loads(capsys.readouterr().out)
    validator("size").validate([report])
    assert len(report["faults"]) == 1


def test_the_scan_schema_has_the_columns_of_the_table() -> None:
    properties = schema("scan")["items"]["properties"]
    as_data = ("path", "member")  # in JSON the provenance says both
    assert [
        (name, properties[name]["description"])
        for name in properties
        if name not in ("schema", "provenance")
    ] == [(name, meaning) for name, _, meaning in COLUMNS if name not in as_data]
