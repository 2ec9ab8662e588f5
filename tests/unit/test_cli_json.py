"""The JSON of all commands: streams of records that name their schema and their origin."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cubinspec.cli import COMMANDS as CLI
from cubinspec.cli import load, main
from cubinspec.cli.json_output import Records, encode, head_of, text_of
from cubinspec.cli.options import FORMS, Arguments
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec.model.cubin import Cubin
from cubinspec.report.kernels import KernelTexts, kernel_records
from tests.malformed.recipe import SAMPLES
from tools.corpus.containers import cubin, linked_host, simple_fatbin, zip_of

SCHEMAS = files("cubinspec").joinpath("schema")
COMMANDS = ("images", "archs", "size", "params", "ptx", "scan", "kernels", "dump", "tree")
COMMANDS += ("coverage", "check", "explain")


#: Commands that print in several forms.
COMMANDS_THAT_READ = [
    name for name in CLI if "--jsonl" in {n for o in load(name).OPTIONS for n in o.names}
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel with good and broken images."""
    path = tmp_path_factory.mktemp("json") / "pkg-1-py3-none-any.whl"
    path.write_bytes(
        zip_of(
            {
                "a.so": linked_host([simple_fatbin(), simple_fatbin("speed")], [1, 2]),
                "broken.cubin": cubin()[:1500],
                "cut.fatbin": simple_fatbin()[:-100],
                "good.cubin": cubin("calls.sm_100.exe.cubin"),
            }
        )
    )
    return path


def words_for(command: str, wheel: Path) -> list[str]:
    if command == "explain":
        return ["explain", "EIATTR_REGCOUNT", "sm_90"]
    words = [command, str(wheel)]
    if command == "archs":
        words += ["--why", "--require", "sm_35"]
    if command in ("dump", "tree"):
        words += ["--image", "good.cubin"]
    return [*words, "--jobs", "1"] if command in ("scan", "kernels") else words


def output(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(list(words))
    return capsys.readouterr().out


@pytest.mark.parametrize("command", [*COMMANDS, "roundtrip"])
def test_both_forms_hold_the_same_records_one_per_line(
    command: str, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = words_for(command, wheel)
    array = output(capsys, *words, "--json")
    lines = output(capsys, *words, "--jsonl")
    records = json.loads(array)
    assert [json.loads(line) for line in lines.splitlines()] == records
    assert len(array.splitlines()) == len(records) + 2 if records else array == "[]\n"
    for record in records:
        assert next(iter(record)) == "schema"
        assert record["schema"] == f"cubinspec.{command}/1"


@pytest.mark.parametrize("command", COMMANDS)
def test_what_comes_of_a_wheel_with_faults_fits_the_schema(
    command: str, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = json.loads(SCHEMAS.joinpath(f"{command}.schema.json").read_text("utf-8"))
    records = json.loads(output(capsys, *words_for(command, wheel), "--json"))
    jsonschema.Draft202012Validator(schema).validate(records)
    assert records or command == "check"


@pytest.mark.parametrize("command", COMMANDS)
def test_no_text_shows_the_way_to_an_image(
    command: str, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = output(capsys, *words_for(command, wheel), "--json")
    assert "→" not in json.dumps(json.loads(text), ensure_ascii=False)


def test_what_has_no_code_says_where_it_is(
    wheel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (report,) = json.loads(output(capsys, *words_for("archs", wheel), "--json"))
    (record,) = [gpu for gpu in report["gpus"] if gpu["gpu"] == "sm_35"]
    kernels = [item for item in record["missing"] if item["kind"] == "kernel"]
    assert len(kernels) == record["items"] > 1
    for item in kernels:
        kinds = [step["kind"] for step in item["provenance"]]
        assert kinds in (["file", "member", "fatbin", "entry"], ["file", "member"])
        assert item["provenance"][0]["name"] == str(wheel)
    path = tmp_path / "data.fatbin"
    path.write_bytes(container([entry_for(cubin("data_only.sm_80.exe.cubin"))]))
    (report,) = json.loads(output(capsys, "archs", "--require", "sm_35", "--json", str(path)))
    (record,) = [gpu for gpu in report["gpus"] if gpu["gpu"] == "sm_35"]
    (item,) = record["missing"]
    assert (item["kind"], item["name"]) == ("fatbin", None)
    assert [step["kind"] for step in item["provenance"]] == ["file", "fatbin"]


def test_two_forms_at_once_are_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS_THAT_READ:
        options = {name for option in load(command).OPTIONS for name in option.names}
        given = [form for form in FORMS if form in options]
        assert len(given) > 1, command
        assert main([command, "absent", *given[-2:]]) == 2
        assert f"{given[-2]} and {given[-1]} exclude each other" in capsys.readouterr().err


def test_schemas_need_no_domain() -> None:
    found = {}
    for entry in SCHEMAS.iterdir():
        if entry.name.endswith(".json"):
            found[entry.name.split(".")[0]] = json.loads(entry.read_text("utf-8"))["$id"]
    assert found == {name: f"urn:cubinspec:schema:{name}:1" for name in found}
    form = files("cubinspec_writer").joinpath("yaml_form", "cubin.schema.json")
    assert json.loads(form.read_text("utf-8"))["$id"] == "urn:cubinspec:schema:cubin-yaml:1"


def test_records_are_written_before_the_last_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    out = Records("images", Arguments([], {"--json": []}))
    for number in range(1000):
        out.add({"name": "x" * 100, "number": number})
    early = capsys.readouterr().out
    assert len(early) > 50_000
    out.close()
    assert len(json.loads(early + capsys.readouterr().out)) == 1000


def test_stray_bytes_of_names_become_escapes() -> None:
    text = text_of(head_of("kernels"), {"name": "caf\udce9 \U0001f600", "list": [{"\udcff": 1}]})
    record = json.loads(text)
    assert record["name"] == "caf\\xe9 \U0001f600"
    assert record["list"] == [{"\\xff": 1}]
    text.encode("ascii")


@pytest.mark.parametrize("stem", ["params.sm_90.exe", "calls.sm_100.rel", "kernels.sm_75.exe"])
def test_texts_of_kernels_are_their_records(stem: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SAMPLES / f"{stem}.cubin")
    found: list[dict[str, Any]] = json.loads(output(capsys, "kernels", "--all", "--json", path))
    with Cubin.open(path) as opened:
        expected = kernel_records(opened, every_function=True)
        texts = KernelTexts(encode)
        for function, record in zip(
            sorted(opened.functions, key=lambda f: (not f.is_kernel, f.name)), expected, strict=True
        ):
            front = f'{{"name":{encode(record["name"])}'
            said = json.loads(texts.text_of(function, front, "null"))
            assert said == {**{key: record[key] for key in said}, "stack_unknown": None}
            words = list(said)
            assert (*words[:2], words[-1]) == ("name", "registers", "attributes")
    for record in found:
        for key in ("schema", "provenance", "demangled"):
            del record[key]
    assert found == expected


def test_the_encoder_writes_what_the_json_module_writes() -> None:
    values = (0, -7, 1.5, True, None, 'a"\\\n\u00e9\U0001f600\udce9', [], {}, (1, "b"), {"k": [{}]})
    for value in (*values, list(values)):
        assert encode(value) == json.dumps(value, separators=(",", ":"))
    with pytest.raises(TypeError):
        encode(object())


def test_functions_with_unknown_stacks_are_sorted_by_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = [str(path) for path in sorted(SAMPLES.glob("calls.*.cubin"))]
    words = ("kernels", "--all", "--json", "--sort", "stack_unknown", *paths)
    found = [record["stack_unknown"] for record in json.loads(output(capsys, *words))]
    reasons = [(each["kind"], *each["functions"]) for each in found if each is not None]
    assert len(reasons) > 1
    assert reasons == sorted(reasons, reverse=True)


def test_a_table_can_be_sorted_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(SAMPLES / f"{stem}.cubin") for stem in ("params.sm_90.exe", "kernels.sm_75.exe")]
    for column in ("reg", "const0", "params", "threads"):
        assert json.loads(output(capsys, "kernels", "--json", "--sort", column, *paths))
    found = json.loads(output(capsys, "kernels", "--json", "--sort", "reg", *paths))
    registers = [record["registers"] for record in found]
    assert registers == sorted(registers, reverse=True)
