"""Commands in pipes and scripts: closed pipes, interrupts, complaints, names that are not UTF-8."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cubinspec.cli import main
from cubinspec.format.escapes import escaped, unescaped
from cubinspec.report.names import matcher
from tests.malformed.recipe import SAMPLES
from tools.corpus.containers import simple_fatbin, zip_of

SAMPLE = SAMPLES / "small.sm_90.exe.cubin"
COMMAND = [sys.executable, "-m", "cubinspec"]


@pytest.mark.parametrize("command", ["extract", "ptx"])
def test_files_are_written_when_nobody_reads_the_list(command: str, tmp_path: Path) -> None:
    library = tmp_path / "many.whl"
    library.write_bytes(zip_of({f"{n:03}.fatbin": simple_fatbin("none") for n in range(60)}))
    folder = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "cubinspec", command, str(library), "-o", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 0
    names = {path.name.split(".")[0] for path in folder.iterdir()}
    assert names == {f"{n:03}" for n in range(60)}


def test_an_interrupted_scan_ends_soon(tmp_path: Path) -> None:
    for number in range(4):
        os.mkfifo(tmp_path / f"{number}.cubin")  # to open one blocks its reader
    output = tmp_path / "x.parquet"
    pipes = [str(tmp_path / f"{number}.cubin") for number in range(4)]
    begun = tmp_path / "begun"
    code = (
        "import sys\nfrom cubinspec.cli import entry\nimport cubinspec.scan.run as run\n"
        "def tasks(path):\n"
        f"    open({str(begun)!r}, 'w').close()\n"
        "    return iter([run.Task(path)])\n"
        "run._file_tasks = tasks\n"
        f"sys.argv[1:] = ['scan', '-j', '2', '--json', *{pipes!r}]\nentry()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        while not begun.exists():
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(1)  # the workers begin
        process.send_signal(signal.SIGINT)  # only to the parent: the hard case
        assert process.wait(10) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""  # ends only when every worker has ended
    finally:
        os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
    assert not output.exists()


def test_the_same_complaint_is_made_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "nosuch.cubin", "nosuch.cubin", "other.cubin"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert main(["kernels", "nosuch.cubin"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_complaints_do_not_depend_on_hashes(tmp_path: Path) -> None:
    file = tmp_path / "empty.o"
    file.write_bytes(b"nothing")
    words = [*COMMAND, "extract", str(file), "-o", str(tmp_path / "out")]
    said = {
        subprocess.run(
            words,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=False,
        ).stderr
        for seed in range(4)
    }
    assert len(said) == 1
    assert b"no cubin or ptx was found" in said.pop()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("caf\udce9", r"caf\xe9"),
        ("two\nlines\x1b", r"two\nlines\x1b"),
        ("\x9b", r"\u009b"),
        ("日本", "日本"),
    ],
)
def test_escaped_names_can_be_read_back(text: str, shown: str) -> None:
    assert escaped(text) == shown
    assert unescaped(shown) == text


def test_unescaping_leaves_what_is_no_escape() -> None:
    assert unescaped(r"a\b\U99999999") == r"a\b\U99999999"


def test_a_shown_file_name_is_accepted(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9\n.cubin"
    try:
        with open(name, "wb") as file:
            file.write(SAMPLE.read_bytes())
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    first = subprocess.run([*COMMAND, "dump", os.fsdecode(name)], capture_output=True, check=True)
    heading = first.stdout.decode().splitlines()[0]
    shown = heading[: heading.index(": sm_90")]
    assert shown.endswith(r"/caf\xe9\n.cubin")
    second = subprocess.run([*COMMAND, "dump", shown], capture_output=True, check=True)
    assert second.stdout == first.stdout
    missing = subprocess.run([*COMMAND, "dump", shown + "x"], capture_output=True, check=False)
    assert missing.returncode == 1
    assert shown.encode() + b"x: " in missing.stderr


def test_a_shown_function_name_matches() -> None:
    assert matcher(r"caf\xe9")("_caf\udce9_kernel")
    assert matcher(r"caf\xe9*")("caf\udce9")
    assert not matcher(r"caf\xe9")("cafe")
