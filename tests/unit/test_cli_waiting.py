"""The line with seconds that long commands show on a terminal."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests import terminal
from tests.malformed.recipe import SAMPLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

#: A command that takes long is made of a quick one: the work is put off.
SCRIPT = """
import sys, time
import cubinspec.cli as cli
command, seconds, *words = sys.argv[1:]
module = cli.load(command)
name = "run_words" if getattr(module, "TAKES_WORDS", False) else "run"
run = getattr(module, name)
def slow(given):
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        time.sleep(0.05)
    return run(given)
setattr(module, name, slow)
sys.exit(cli.main([command, *words]))
"""
WRITER_SCRIPT = """
import sys, time
import cubinspec.cli as cli
module = cli.load("check")
def run(arguments):
    sys.stdout.write("half a line")
    time.sleep(0.8)
    print(", whole")
    time.sleep(0.8)
    sys.stdout.buffer.write(b"bytes")
    sys.stdout.buffer.flush()
    time.sleep(0.8)
    return 0
module.run = run
sys.exit(cli.main(["check"]))
"""
LINES_SCRIPT = """
import sys, time
import cubinspec.cli as cli
module = cli.load("check")
def lines():
    yield "first\\n"
    time.sleep(0.8)
    yield "second\\n"
    time.sleep(0.8)
def run(arguments):
    sys.stdout.writelines(lines())
    return 0
module.run = run
sys.exit(cli.main(["check"]))
"""
CUBIN = str(SAMPLES / "small.sm_90.exe.cubin")


def on_terminal(*words: str, script: str = SCRIPT, stdout: int | None = None) -> str:
    """What a terminal gets from a process whose stderr, and stdout unless given, it is."""
    return terminal.on_terminal([sys.executable, "-c", script, *words], stdout=stdout)


def screen(text: str) -> str:
    """What stays on the terminal, without spaces at the ends of lines."""
    lines = []
    for line in text.split("\n"):
        cells: list[str] = []
        for part in line.split("\r"):
            cells[: len(part)] = part
        lines.append("".join(cells).rstrip())
    return "\n".join(lines)


@pytest.mark.parametrize(
    "words",
    [
        ("check", CUBIN),
        ("roundtrip", CUBIN),
        ("dump", CUBIN),
        ("coverage", CUBIN),
        ("tree", CUBIN),
        ("to-yaml", CUBIN, "-o", "-"),
    ],
    ids=lambda words: words[0],
)
def test_a_long_command_shows_its_seconds_and_erases_them(words: tuple[str, ...]) -> None:
    command, *rest = words
    quick = on_terminal(command, "0", *rest)
    slow = on_terminal(command, "0.9", *rest)
    assert re.match(rf"\rcubinspec {command}: [1-9] s", slow)
    assert screen(slow) == screen(quick)
    assert "cubinspec" not in screen(slow).partition("\n")[0]


def test_the_editing_commands_and_link_show_it_too(tmp_path: Path) -> None:
    out = tmp_path / "out.cubin"
    words = (CUBIN, "--tkinfo", "-o", str(out))
    text = on_terminal("strip", "0.9", *words)
    assert re.search(r"\rcubinspec strip: [1-9] s", text)
    assert out.exists()
    assert screen(text) == screen(on_terminal("strip", "0", *words))
    text = on_terminal("link", "0.9", "--help")
    assert re.search(r"\rcubinspec link: [1-9] s", text)
    assert screen(text) == screen(on_terminal("link", "0", "--help"))


def test_short_commands_show_nothing() -> None:
    patient = "import cubinspec.cli.waiting as w\nw._PATIENCE = 60\n" + SCRIPT
    assert "cubinspec check:" not in on_terminal("check", "0.9", CUBIN, script=patient)


def test_a_redirected_output_has_the_same_bytes(tmp_path: Path) -> None:
    with open(tmp_path / "slow", "w+b") as file:
        text = on_terminal("dump", "0.9", CUBIN, stdout=file.fileno())
    plain = subprocess.run(
        [sys.executable, "-m", "cubinspec", "dump", CUBIN], capture_output=True, check=True
    )
    assert (tmp_path / "slow").read_bytes() == plain.stdout
    assert plain.stderr == b""
    assert screen(text) == ""
    assert re.search(r"cubinspec dump: [1-9] s", text)


def test_no_line_inside_of_another_nor_behind_bytes() -> None:
    text = on_terminal(script=WRITER_SCRIPT)
    before, _, after = text.partition("half a line, whole\n")
    assert before == ""
    assert after.startswith("\rcubinspec check: ")
    assert after.endswith("\rbytes")


def test_it_is_erased_before_every_one_of_many_lines() -> None:
    text = on_terminal(script=LINES_SCRIPT)
    assert len(re.findall(r"\rcubinspec check: [1-9] s\r +\r", text)) >= 2
    assert screen(text) == "first\nsecond\n"


def test_without_a_terminal_the_module_is_not_loaded() -> None:
    script = (
        "import sys; from cubinspec.cli import main; main(sys.argv[1:]); "
        "sys.exit('cubinspec.cli.waiting' in sys.modules)"
    )
    subprocess.run(
        [sys.executable, "-c", script, "kernels", CUBIN], capture_output=True, check=True
    )
