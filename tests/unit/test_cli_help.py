"""Help, completion and manual pages say what the commands do."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from cubinspec.cli import COMMANDS, load, main
from cubinspec.cli.completion import bash, fish, zsh
from cubinspec.cli.help import HELP, options_of, usage_line
from cubinspec.cli.man import pages
from tools.corpus.containers import cubin, elf_host, simple_fatbin

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_has_an_example_and_the_exit_statuses(command: str, capsys: Capture) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "\nexample:\n  cubinspec " in out
    assert "\nexit status:\n  0  " in out
    assert main(["help", command]) == 0
    assert capsys.readouterr().out == out


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "link"])
def test_the_usage_line_has_every_option_once(command: str) -> None:
    module = load(command)
    line = usage_line(command, module)
    words = "".join(" " if c in "[]()|" else c for c in line).split()
    for option in module.OPTIONS:
        assert sum(name in words for name in option.names) == 1, option.key
    assert max(map(len, line.splitlines())) < 80


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_runs(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.cubin").write_bytes(cubin())
    Path("r.cubin").write_bytes(cubin("calls.sm_90.rel.cubin"))
    Path("lines.cubin").write_bytes(cubin("lines.sm_90.debug.cubin"))
    Path("lib.so").write_bytes(elf_host({".nv_fatbin": simple_fatbin()}))
    assert main(["to-yaml", "k.cubin", "-o", "k.yaml"]) == 0
    assert main(shlex.split(HELP[command].example)) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_every_column_has_a_meaning() -> None:
    for command in ("kernels", "images", "archs", "ptx"):
        assert set(load(command)._HEAD) <= set(HELP[command].columns), command


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["kernls", "x"], "no command 'kernls'; did you mean kernels?"),
        (["kernels", "--jsn", "x"], "unknown option --jsn; did you mean --json"),
        (["set", "x", "--register=3"], "unknown option --register; did you mean --registers"),
        (["man", "dmup"], "no command 'dmup'; did you mean dump?"),
        (["completion", "tcsh"], "one of bash, zsh, fish is needed"),
    ],
)
def test_a_misspelt_word_is_answered_with_near_ones(
    words: list[str], hint: str, capsys: Capture
) -> None:
    assert main(words) == 2
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize("make", [bash, zsh, fish])
def test_completion_knows_every_command_and_option(make: object) -> None:
    text = make()  # type: ignore[operator]
    for command in COMMANDS:
        assert command in text
        for option in options_of(load(command)):
            for name in option.names:
                assert (name if make is not fish else name.lstrip("-")) in text


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("ker", ["kernels"]),
        ("kernels --mat", ["--match"]),
        ("link --preserve", ["--preserve-relocs"]),
    ],
)
def test_bash_completes(line: str, found: list[str]) -> None:
    words = ["cubinspec", *line.split()]
    script = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _cubinspec"
    done = subprocess.run(
        ["bash", "-c", f'{bash()}\n{script}; printf "%s\\n" "${{COMPREPLY[@]}}"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == found


@pytest.mark.parametrize("make", [zsh, fish])
def test_the_scripts_are_well_formed(make: object, tmp_path: Path) -> None:
    shell = make.__name__  # type: ignore[attr-defined]
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    script = tmp_path / "script"
    script.write_text(make())  # type: ignore[operator]
    subprocess.run([shell, "-n", str(script)], check=True)


def test_there_is_a_manual_page_per_command(tmp_path: Path) -> None:
    assert main(["man", "-o", str(tmp_path)]) == 0
    assert (
        {file.name for file in tmp_path.iterdir()}
        == set(pages())
        == {
            "cubinspec.1",
            *(f"cubinspec-{command}.1" for command in COMMANDS),
        }
    )
    for command in COMMANDS:
        page = (tmp_path / f"cubinspec-{command}.1").read_text()
        for option in options_of(load(command)):
            assert option.key.replace("-", "\\-") in page


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff here")
def test_the_pages_are_well_formed() -> None:
    for name, text in pages().items():
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z"], input=text, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, ""), name
