"""The pages of commands: usage, options, columns, exit statuses, keys of JSON, a run example."""

from __future__ import annotations

import gzip
import io
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cubinspec.cli import COMMANDS, load, main
from cubinspec.cli.help import HELP, options_of, spelling, usage_line
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec.report.anchors import slug
from cubinspec.report.words import OUTPUT_WORDS

ROOT = Path(__file__).resolve().parents[2]
CUBINS = ROOT / "tests" / "data" / "cubins"
FOLDER = "commands"
#: Files of the examples, and the samples that they are.
_INPUTS = {
    "k.cubin": "calls.sm_90.exe.cubin",
    "r.cubin": "calls.sm_90.rel.cubin",
    "lines.cubin": "lines.sm_90.debug.cubin",
}
_LIBRARY = ("calls.sm_90.exe.cubin", "calls.sm_80.exe.13.2.86.cubin")
_PTX = ROOT / "tests" / "data" / "src" / "calls.ptx"
#: A library as nvcc makes it, for the command that reads host code.
_HOST = ROOT / "tests" / "data" / "builds" / "host.so.gz"
#: So many lines of an example are shown.
_MOST_LINES = 40


def pages(*, examples: bool = True) -> dict[str, str]:
    """Path -> text of a page per command, and of their list.

    Args:
        examples: run every example and show what it prints.
    """
    outputs = run_examples() if examples else {}
    index = ["# Commands", "", "| command | what it is for |", "|---|---|"]
    texts = {}
    for command, (_, summary) in COMMANDS.items():
        index.append(f"| [`{command}`]({command}.md) | {_cell(summary)} |")
        texts[f"{FOLDER}/{command}.md"] = page(command, outputs.get(command, ""))
    index += ["", "Each takes `--help`. What JSON promises is in [stability](../stability.md)."]
    return {f"{FOLDER}/README.md": "\n".join(index) + "\n", **texts}


def page(command: str, output: str = "") -> str:
    """The page of one command.

    Args:
        output: what its example prints.
    """
    module = load(command)
    more = HELP[command]
    lines = [f"# {command}", "", f"{_sentence(COMMANDS[command][1])}.", ""]
    lines += ["```text", usage_line(command, module), "```", ""]
    lines += ["## Example", "", "```console", f"$ cubinspec {more.example}", *output.splitlines()]
    lines += ["```", ""]
    rows = [(f"`{spelling(option)}`", option.help) for option in options_of(module)]
    lines += _table("Options", ("option", "meaning"), rows)
    columns = [(f'<a id="{slug(f"column-{n}")}"></a>`{n}`', m) for n, m in more.columns.items()]
    lines += _table("Columns", ("column", "meaning"), columns)
    words = OUTPUT_WORDS.get(command, {}).items()
    rows = [(f'<a id="{slug(f"word-{word}")}"></a>`{word}`', meaning) for word, meaning in words]
    lines += _table("Words", ("word", "meaning"), rows)
    statuses = (line.split(maxsplit=1) for line in more.statuses)
    lines += _table("Exit status", ("status", "meaning"), [(f"`{n}`", m) for n, m in statuses])
    return "\n".join([*lines, *_json(command)]) + "\n"


def run_examples() -> dict[str, str]:
    """What the example of each command prints.

    Raises:
        RuntimeError: one of them fails.
    """
    outputs = {}
    with TemporaryDirectory() as folder, chdir(folder):
        for name, sample in _INPUTS.items():
            Path(name).write_bytes((CUBINS / sample).read_bytes())
        entries = [entry_for((CUBINS / sample).read_bytes()) for sample in _LIBRARY]
        entries.append(entry_for(_PTX.read_bytes()))
        fatbin, hosted = container(entries), gzip.decompress(_HOST.read_bytes())
        Path("lib.so").write_bytes(fatbin)
        _run("to-yaml k.cubin -o k.yaml")
        for command in COMMANDS:
            Path("lib.so").write_bytes(hosted if command == "host" else fatbin)
            outputs[command] = _shortened(_run(HELP[command].example))
    return outputs


def _run(line: str) -> str:
    out = io.StringIO()
    # an output that goes elsewhere says so on the error stream, which is no part of the example
    with redirect_stdout(out), redirect_stderr(io.StringIO()) as errors:
        status = main(shlex.split(line))
    if status:
        raise RuntimeError(f"cubinspec {line}: status {status}: {errors.getvalue()}")
    return out.getvalue()


def _shortened(text: str) -> str:
    lines = text.splitlines()
    left_out = len(lines) - _MOST_LINES
    return "\n".join([*lines[:_MOST_LINES], f"… {left_out} more lines"] if left_out > 0 else lines)


def _json(command: str) -> list[str]:
    """The keys of the records that ``--json`` prints."""
    file = files("cubinspec").joinpath("schema", f"{command}.schema.json")
    if not file.is_file():
        return []
    schema = json.loads(file.read_text("utf-8"))
    rows = [(f"`{key}`", kind, meaning) for key, kind, meaning in _keys(schema.get("items", {}))]
    lines = ['<a id="json"></a>', "", *_table("JSON", ("key", "type", "meaning"), rows)]
    return [*lines, f"The whole schema: `cubinspec spec --json {command}`.", ""]


def _keys(record: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str, str]]:
    """Key, type and meaning of what a record has, two levels deep."""
    for kind in record.get("oneOf", record.get("anyOf", ())):
        yield from _keys(kind, path)
    for key, value in record.get("properties", {}).items():
        if not isinstance(value, dict):
            continue
        kind = value.get("type", "")
        kinds = " or ".join(kind) if isinstance(kind, list) else str(kind)
        yield path + key, kinds, str(value.get("description", ""))
        inner = value.get("items", value)
        if not path and isinstance(inner, dict):
            yield from _keys(inner, f"{key}{'[]' if 'items' in value else ''}.")


def _table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    lines = [f"## {title}", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(map(_cell, row)) + " |" for row in rows), ""]


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
