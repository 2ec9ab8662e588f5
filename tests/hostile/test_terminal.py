"""What reaches a terminal or a CSV file: no control character of a file or its name does."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from cubinspec.cli import COMMANDS, main
from cubinspec.cli.output import csv_cell, printable
from cubinspec.cli.walking import write_csv
from cubinspec.format.escapes import unescaped
from cubinspec_writer.editor import rename
from tools.corpus.containers import PTX, container, cubin, entry_for, zip_of

#: An escape sequence that clears the screen, a bell, a line of its own, a mark that turns text
#: around, a control character of eight bits, half of a surrogate pair's worth of bytes.
EVIL = "\x1b[2J\x07\n\r\u202e\x9b31m\u2028e"
READING = [
    *(["kernels"], ["kernels", "--all", "--mangled"], ["images"], ["images", "--csv"], ["archs"]),
    *(["archs", "--why", "--require", "sm_50"], ["archs", "--csv"], ["size"], ["occupancy"]),
    *(["params"], ["ptx"], ["ptx", "--csv"], ["callgraph"], ["fingerprint"], ["coverage"]),
    *(["scan", "--csv"], ["dump"], ["tree"], ["check"], ["roundtrip"], ["to-yaml"]),
    *(["kernels", "--match", EVIL], ["dump", "--image", EVIL], ["diff"], ["explain"]),
]


def evil_cubin() -> bytes:
    """A sample whose kernel has a bad name."""
    from cubinspec_writer.emitter import describe, emit

    description = describe(cubin("small.sm_90.exe.cubin"))
    rename.rename(description, "small", "k" + EVIL)
    return emit(description)


@pytest.fixture
def evil(tmp_path: Path) -> list[Path]:
    """Files with bad names and bad contents."""
    folder = tmp_path / f"d{EVIL}"
    folder.mkdir()
    found = [folder / f"a{EVIL}.cubin", folder / f"b{EVIL}.zip", folder / f"c{EVIL}"]
    found[0].write_bytes(evil_cubin())
    inner = container([entry_for(PTX), entry_for(evil_cubin())])
    found[1].write_bytes(zip_of({f"m{EVIL}": evil_cubin(), "f": inner, f"../{EVIL}": PTX}))
    found[2].write_bytes(b"!<arch>\n" + EVIL.encode())
    return found


def _is_clean(text: str) -> bool:
    return all(char == "\n" or char.isprintable() for char in text)


@pytest.mark.parametrize("command", READING, ids=lambda words: " ".join(words)[:24])
def test_no_control_character_comes_out(
    command: list[str], evil: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for path in evil:
        files = [str(path)] * (2 if command[0] == "diff" else 1)
        assert main([*command, *files]) in (0, 1, 2)
        printed = capsys.readouterr()
        assert _is_clean(printed.out), printed.out[:300]
        assert _is_clean(printed.err), printed.err[:300]
        assert printed.out + printed.err


@pytest.mark.parametrize("command", list(COMMANDS))
def test_no_control_character_of_a_wrong_command_line_comes_out(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)  # some commands make the folder that they are to write to
    for words in ([f"--{EVIL}"], [f"absent{EVIL}"], ["-o", f"no{EVIL}/{EVIL}", f"absent{EVIL}"]):
        main([command, *words])
        printed = capsys.readouterr()
        assert _is_clean(printed.err), printed.err[:300]
    main([EVIL])
    assert _is_clean(capsys.readouterr().err)


def test_a_table_is_what_the_module_csv_writes(capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["", "plain", "a,b", 'a"b', '"', ",", "a b ", "=1+1", "a\nb", "\udcff", "é", "\t"]
    rows = [[text, number, None, True] for text in texts * 40 for number in (0, -1, 1 << 70)]
    write_csv(texts, iter(rows))
    expected = io.StringIO(newline="")
    writer = csv.writer(expected, lineterminator="\n")
    writer.writerows([[csv_cell(value) for value in row] for row in (texts, *rows)])
    assert capsys.readouterr().out == expected.getvalue()


def test_formulas_and_control_characters_in_csv_are_escaped_and_can_be_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("=1+2", "+1", "-1", "@x", EVIL, "plain", "x=1"):
        cell = csv_cell(text)
        assert isinstance(cell, str)
        assert not cell.startswith(("=", "+", "-", "@"))
        assert _is_clean(cell)
        assert unescaped(cell) == text
    assert csv_cell(-1) == -1
    path = tmp_path / "a.zip"
    path.write_bytes(zip_of({"=cmd()": PTX}))
    main(["scan", "--csv", str(path)])
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows[0]["member"] == "\\x3dcmd()"


def test_text_that_is_printable_stays() -> None:
    for text in ("plain", "größer → ", "名前"):
        assert printable(text) == text
