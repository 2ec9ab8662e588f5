"""The JSON of every command fits its published schema, and the schema fits nothing else."""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from cubinspec.cli import main
from tests.malformed.recipe import SAMPLES

COMMANDS = ("kernels", "dump", "tree", "coverage", "explain")
STEMS = (
    *("calls.sm_90.rel", "calls.sm_100.exe", "all_data.sm_75.link-r", "unified.sm_100.link-r"),
    *("small.sm_35.exe.11.8.89", "params_32.sm_35.rel.11.8.89", "small.sm_100.ewp"),
    *("cluster_sm90.sm_90.exe", "tcgen05_sm100a.sm_100a.tmem", "small.sm_80.debug.11.8.89"),
    *("syscalls.sm_75.exe", "jump_tables.sm_90.rel", "data_only.sm_80.exe", "textures.sm_75.rel"),
)


@functools.cache
def schema(command: str) -> dict[str, Any]:
    text = files("cubinspec").joinpath("schema", f"{command}.schema.json").read_text("utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


@functools.cache
def validator(command: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema(command))


def output(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_schema_is_itself_valid(command: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(command))
    assert schema(command)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("command", ["kernels", "dump", "tree", "coverage"])
def test_the_output_for_a_sample_fits(
    command: str, stem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [command, str(SAMPLES / f"{stem}.cubin")]
    if command == "kernels":
        words.append("--all")
    validator(command).validate(output(capsys, *words))


def test_the_output_for_words_fits(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("EIATTR_REGCOUNT", "0x2f", "R_CUDA_ABS32_LO_32", ".nv.compat", "STO_CUDA_ENTRY")
    found = output(capsys, "explain", *words, "sm_100a", "tkinfo", "ET_EXEC")
    validator("explain").validate(found)
    assert all(answer["matches"] for answer in found)


@pytest.mark.parametrize("command", ["kernels", "dump", "tree", "coverage"])
def test_an_unlisted_or_missing_key_does_not_fit(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = output(capsys, command, str(SAMPLES / "small.sm_90.exe.cubin"))
    assert not validator(command).is_valid([{**found[0], "added": 1}])
    for key in found[0]:
        less = {name: value for name, value in found[0].items() if name != key}
        assert not validator(command).is_valid([less]), key


@pytest.mark.parametrize("command", COMMANDS)
def test_the_schema_says_what_it_is_for(command: str) -> None:
    document = schema(command)
    assert document["title"] == f"cubinspec {command} --json"
    assert document["description"].endswith(".")
