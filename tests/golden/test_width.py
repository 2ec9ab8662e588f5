"""Tables on terminals of 80 and 120 columns, with names of 5,000 characters."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cubinspec.cli import main
from cubinspec.cli.fit import fit
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec.report.resolve import resolve
from cubinspec_writer.editor import Edit
from tests.terminal import on_terminal
from tools.corpus.containers import CUBINS, PTX, elf_host, simple_fatbin

FOLDER = Path(__file__).parent / "width"
BLESS = bool(os.environ.get("BLESS"))
#: Names that differ in the middle only, and one that is another from its start.
LONG = [
    "_ZN" + "9namespace" * 249 + middle + "9namespace" * 249 + "6kernelEPf"
    for middle in ("5first", "6second")
]
LONG.append("_ZN5other" + "9namespace" * 499 + "6kernelEPf")
COMMANDS = {
    "kernels": ["kernels", "long.cubin", "lib.so"],
    "sorted": ["kernels", "--all", "--sort", "reg", "long.cubin", "lib.so"],
    "params": ["params", "long.cubin"],
    "size": ["size", "--by", "arch,kernel", "long.cubin"],
    "images": ["images", "lib.so", "long.cubin"],
    "ptx": ["ptx", "ptx.so", "lib.so"],
    "coverage": ["coverage", "long.cubin", "lib.so"],
    "archs": ["archs", "long.cubin"],
}
Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("width")
    source = CUBINS / "names.sm_100.exe.cubin"
    edit = Edit(source.read_bytes(), str(source))
    names = [s.name for s in edit.description.symbols if getattr(s, "st_info", 0) & 15 == 2]
    kernels = [name for name in names if name in ("k", "k_suffix") or "kernelIf" in name]
    for old, new in zip(kernels, LONG, strict=True):
        edit.rename(old, new)
    (path / "long.cubin").write_bytes(edit.to_bytes())
    (path / "lib.so").write_bytes(elf_host({".nv_fatbin": simple_fatbin()}))
    options = b"--maxrregcount 64 --generate-line-info --warn-on-spills "
    entries = [entry_for(PTX), entry_for(PTX, options=options)]
    (path / "ptx.so").write_bytes(elf_host({".nv_fatbin": container(entries)}))
    return path


def shown(words: list[str], width: int, folder: Path) -> str:
    """What a command prints on a terminal."""
    return on_terminal(
        [sys.executable, "-m", "cubinspec", *words],
        stderr=False,
        cwd=folder,
        env={
            **os.environ,
            "COLUMNS": str(width),
            "NO_COLOR": "1",
            "PYTHONPATH": ":".join(sys.path),
        },
    )


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_table_fits_the_terminal(name: str, width: int, folder: Path) -> None:
    out = shown(COMMANDS[name], width, folder)
    assert max(map(len, out.splitlines())) <= width
    kept = FOLDER / f"{name}.{width}.txt"
    if BLESS:
        kept.write_text(out, encoding="utf-8")
    assert out == kept.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_headings_fit_the_terminal_too(name: str, width: int, folder: Path, tmp_path: Path) -> None:
    deep = tmp_path / ("folder" * 40)
    deep.mkdir()
    for file in folder.iterdir():
        (deep / file.name).symlink_to(file)
    words = [
        str(deep / word) if word.endswith((".so", ".cubin")) else word for word in COMMANDS[name]
    ]
    assert max(map(len, shown(words, width, folder).splitlines())) <= width


def test_lists_of_targets_and_reasons_fit_the_terminal(tmp_path: Path) -> None:
    for number, file in enumerate(sorted(CUBINS.glob("small.sm_*.exe.cubin"))):
        (tmp_path / f"{number}.cubin").write_bytes(file.read_bytes())
    (tmp_path / "lib.so").write_bytes(elf_host({".nv_fatbin": simple_fatbin()}))
    out = shown(["archs", "--why", "--all", "."], 80, tmp_path)
    assert "no code for sm_35: " in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("words", [COMMANDS["kernels"], COMMANDS["size"], COMMANDS["params"]])
def test_whole_names_on_request_and_in_pipes(
    words: list[str], folder: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(words) == 0
    piped = capsys.readouterr().out
    assert max(map(len, piped.splitlines())) > 5000
    assert shown([*words, "--wide"], 80, folder) == piped


def test_different_names_stay_different_and_are_taken_back() -> None:
    names = [f"{'a' * 3000}{number}{'b' * 3000}" for number in range(500)]
    short = fit(names, 40)
    assert len(set(short)) == len(names)
    assert max(map(len, short)) <= 40
    assert fit(names[7:9], 40) == short[7:9]
    assert [resolve(text, names) for text in short[:20]] == names[:20]
    assert fit(["short", "x" * 50], 30) == ["short", "x" * 15 + "…" + "x" * 14]
