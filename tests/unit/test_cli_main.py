"""The command line as a whole: exit codes, help, output that cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cubinspec import __version__, cli
from cubinspec.cli import COMMANDS, main
from tests.malformed.recipe import SAMPLES

SAMPLE = str(SAMPLES / "small.sm_90.exe.cubin")
READERS = ("kernels", "dump", "tree", "coverage", "explain")


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "cubinspec", *words],
        **{"capture_output": True, "text": True, "timeout": 60, **options},
    )


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"cubinspec {__version__}\n"


def test_the_overview_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for command in COMMANDS:
        assert any(line.split()[:1] == [command] for line in lines), command


def test_no_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: cubinspec COMMAND" in capsys.readouterr().out


def test_an_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernles"]) == 2
    assert "no command 'kernles'" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, option]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"usage: cubinspec {command}")
    assert err == ""


@pytest.mark.parametrize("command", READERS)
def test_a_command_without_arguments_is_wrong_usage(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"cubinspec {command}: ")
    assert f"usage: cubinspec {command}" in err


@pytest.mark.parametrize("command", READERS)
def test_an_unknown_option_is_wrong_usage(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--nonsense", SAMPLE]) == 2
    assert "unknown option --nonsense" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["dump", SAMPLE, "--section"], "--section needs a value"),
        (["dump", "--json=yes", SAMPLE], "--json takes no value"),
        (["tree", SAMPLE, "header", "more"], "one FILE and at most one FIELD.PATH"),
    ],
)
def test_wrong_usage_is_explained(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert complaint in capsys.readouterr().err


def test_two_dashes_end_the_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "--json").write_bytes(Path(SAMPLE).read_bytes())
    monkeypatch.chdir(tmp_path)
    assert main(["kernels", "--", "--json"]) == 0
    assert capsys.readouterr().out.startswith("arch ")


def test_the_reader_of_the_output_may_leave() -> None:
    """`cubinspec dump many files | head -1`: no message, no traceback."""
    files = [str(file) for file in sorted(SAMPLES.glob("*sm_90*.cubin"))]
    child = subprocess.Popen(
        [sys.executable, "-m", "cubinspec", "dump", *files],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.readline()
    child.stdout.close()
    assert child.stderr.read() == b""
    assert child.wait(60) == 0


def test_a_reader_that_leaves_is_not_told_that_nothing_differs(tmp_path: Path) -> None:
    (tmp_path / "one.cubin").write_bytes(Path(SAMPLE).read_bytes())
    child = subprocess.Popen(
        [sys.executable, "-m", "cubinspec", "diff", str(tmp_path), str(SAMPLES)],
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline()
    child.stdout.close()
    assert child.wait(60) in (1, 2)


def test_a_full_disk_is_said_in_one_line() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full on this system")
    with open("/dev/full", "w") as full:
        done = run("dump", SAMPLE, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


def test_a_closed_stdout_is_no_fault() -> None:
    script = f'exec "{sys.executable}" -m cubinspec kernels "{SAMPLE}" >&-'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_stderr_is_no_fault() -> None:
    script = f'exec "{sys.executable}" -m cubinspec kernels "{SAMPLE}" 2>&-'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith("arch ")


def test_a_poor_encoding_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "kärnel.cubin"
    path.write_bytes(Path(SAMPLE).read_bytes())
    done = run("dump", str(path), env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "k\\xe4rnel" in done.stdout


def test_arrows_and_lines_are_drawn_in_any_encoding() -> None:
    calls = str(SAMPLES / "calls.sm_90.rel.cubin")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = run("callgraph", "--match", "indirect", calls, env=ascii_only)
    assert "(recursion: recursive -> recursive)" in done.stdout
    assert "\n  |- [may call] leaf" in done.stdout


def test_a_file_name_may_hold_any_byte(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/k\xff\n.cubin"
    with open(path, "wb") as file:
        file.write(Path(SAMPLE).read_bytes()[:500])
    done = run("dump", os.fsdecode(path))
    assert done.returncode == 1
    assert done.stderr.startswith("cubinspec: ")
    assert "Traceback" not in done.stderr


def test_names_of_a_file_cannot_control_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = Path(SAMPLE).read_bytes().replace(b"factor\0", b"f\x1b[2J\n\0")
    path = tmp_path / "k.cubin"
    path.write_bytes(data)
    assert main(["dump", str(path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "f\\x1b[2J\\n" in out


def test_only_a_process_of_its_own_leaves_memory_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = object()
    cli.outlive(result)
    assert cli._kept is None
    monkeypatch.setattr(cli, "_kept", [])
    cli.outlive(result)
    assert cli._kept == [result]
