"""Writing: private temporaries, signals, two writers, links, devices; reading what shrinks."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cubinspec import Cubin, CubinError, files
from cubinspec.cli import main
from cubinspec.cli.extract import FileNames
from cubinspec.containers import images
from cubinspec.errors import FileAccessError, LimitError, TruncatedError
from cubinspec.files import FileBytes, open_file, read_file
from cubinspec.output_files import write_file
from cubinspec_writer.linker.inputs.arguments import split_options
from tools.corpus import samples
from tools.corpus.containers import PTX, zip_of
from tools.fuzz import targets

SAMPLE = Path(__file__).parents[1] / "data" / "cubins" / "small.sm_90.exe.cubin"


@pytest.fixture
def piecewise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is so large that it is read in pieces."""
    monkeypatch.setattr(files, "READ_WHOLE_BYTES", 0)
    monkeypatch.setattr(files, "_WINDOW", 64)
    monkeypatch.setattr(files, "_SMALL", 32)


@pytest.mark.usefixtures("piecewise")
def test_a_file_that_shrinks_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.cubin"
    path.write_bytes(SAMPLE.read_bytes())
    with Cubin.open(path) as cubin:
        os.truncate(path, 100)
        with pytest.raises(TruncatedError, match="became shorter"):
            _ = [section.data for section in cubin.sections]
        with pytest.raises(TruncatedError):
            _ = cubin.data


@pytest.mark.usefixtures("piecewise")
def test_reading_in_pieces_gives_the_same_as_reading_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["dump"], ["roundtrip"], ["to-yaml"], ["check"], ["coverage"]):
        assert main([*command, str(SAMPLE)]) == 0
        pieces = capsys.readouterr().out
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "READ_WHOLE_BYTES", 1 << 30)
            assert main([*command, str(SAMPLE)]) == 0
        assert capsys.readouterr().out == pieces


@pytest.mark.usefixtures("piecewise")
def test_a_file_in_pieces_is_like_bytes() -> None:
    whole = SAMPLE.read_bytes()
    data = open_file(SAMPLE)
    assert isinstance(data, FileBytes)
    assert bytes(data) == whole
    for start, stop in ((0, 4), (5, 5), (9, 2), (-8, None), (0, 1 << 40), (None, None)):
        assert data[start:stop] == whole[start:stop]
    data.close()


def test_no_command_maps_a_file_that_could_shrink() -> None:
    for folder in ("src", "writer"):
        for path in (Path(__file__).parents[2] / folder).rglob("*.py"):
            text = path.read_text()
            assert "ACCESS_READ" not in text, f"{path} maps a file"


#: Command lines with a device where they take a file, beside those of the campaign.
_ON_A_DEVICE = (
    *("diff {file} {good}", "diff {good} {file}", "budget check {good} --budget {file}"),
    *("budget update {good} --budget {file}", "report {good} --against {file} -o {out}/page.html"),
    *("link -arch=sm_90 -optf {file} -o {out}/new", "link -arch=sm_90 {good} {file} -o {out}/new"),
    *("link -arch=sm_90 {good} --uidx-file {file} -o {out}/new", "from-yaml {file} -o {out}/new"),
)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device here")
@pytest.mark.parametrize("line", [*targets.COMMANDS, *_ON_A_DEVICE])
def test_a_device_without_end_is_refused(line: str, tmp_path: Path) -> None:
    """In a process that may hold 1 GiB, as a device would fill all memory."""
    good = str(samples.CUBINS / "small.sm_90.rel.cubin")
    budget = tmp_path / "budget.toml"
    budget.write_text('[[kernel]]\nname = "*"\n')
    places = {"file": "/dev/zero", "out": str(tmp_path), "kernel": "k", "other": good}
    words = [word.format(**places, good=good, budget=budget) for word in line.split()]
    limit = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))"
    code = f"{limit}; from cubinspec.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr
    assert "MemoryError" not in done.stderr
    if line.startswith("link") and "-optf" not in line and "--uidx" not in line:
        assert done.returncode == 0, "nvlink takes a device for an empty file"
        return
    assert done.returncode in (1, 2), done
    assert done.stderr
    assert not (tmp_path / "new").exists()


def test_a_long_word_of_an_options_file_is_read_once() -> None:
    words = list(split_options('a "b c"d \\"e ' + "x" * 1_000_000))
    assert words == ["a", "b cd", "e", "x" * 1_000_000]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_without_end_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_PIPE_BYTES", 1000)
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def feed() -> None:
        with contextlib.suppress(BrokenPipeError), open(path, "wb") as pipe:
            pipe.write(bytes(1 << 20))

    writer = threading.Thread(target=feed)
    writer.start()
    with pytest.raises(LimitError, match="1000 bytes"):
        read_file(path)
    writer.join()


def test_two_writers_of_one_file_both_succeed(tmp_path: Path) -> None:
    path = tmp_path / "out"
    bodies = [bytes([number]) * 100_000 for number in range(8)]
    faults: list[BaseException] = []

    def write(body: bytes) -> None:
        try:
            for _ in range(20):
                write_file(path, body, sync=False)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=write, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert path.read_bytes() in bodies
    assert [*tmp_path.iterdir()] == [path]


def test_a_temporary_file_of_somebody_else_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files.os, "urandom", bytes)
    other = tmp_path / f".cubinspec-{'00' * 8}.tmp"
    other.write_bytes(b"mine")
    with pytest.raises(FileAccessError):
        write_file(tmp_path / "out", b"x")
    assert other.read_bytes() == b"mine"


def test_a_replaced_file_keeps_its_mode_and_a_new_one_gets_the_usual(tmp_path: Path) -> None:
    path = tmp_path / "out"
    mask = os.umask(0o027)
    try:
        write_file(path, b"a")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o755)
        write_file(path, b"b")
        assert stat.S_IMODE(path.stat().st_mode) == 0o755
    finally:
        os.umask(mask)


def test_links_are_followed_and_loops_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    link.symlink_to(target)
    write_file(link, b"first")
    write_file(link, b"second")
    assert link.is_symlink()
    assert target.read_bytes() == b"second"
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(FileAccessError, match="symbolic links"):
        write_file(loop, b"x")
    assert loop.is_symlink()
    with pytest.raises(FileAccessError):
        write_file(tmp_path / "folder", b"x")
    assert not list(tmp_path.rglob("*.tmp"))


def test_names_of_the_largest_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    write_file(path, b"x")
    write_file(path, b"y")
    assert path.read_bytes() == b"y"


def test_an_output_is_synced_unless_asked_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(files.os, "fsync", synced.append)
    command = ["strip", "--debug", str(SAMPLE), "-o", str(tmp_path / "out")]
    assert main(command) == 0
    assert len(synced) == 1
    assert main([*command, "--no-fsync"]) == 0
    assert len(synced) == 1
    assert main(command) == 0
    assert len(synced) == 2


_WRITER = """
import signal, sys, time
for number, action in zip((signal.SIGTERM, signal.SIGHUP), sys.argv[2]):
    signal.signal(number, {"d": signal.SIG_DFL, "i": signal.SIG_IGN}[action])
from cubinspec.cli import _end_by_signals, entry
import cubinspec.cli as cli
from cubinspec.output_files import NewFile
def main():
    with NewFile(sys.argv[1]) as new:
        new.stream.write(b"half")
        new.stream.flush()
        print("ready", flush=True)
        time.sleep(60)
cli.main = main
entry()
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_nothing_behind(number: int, tmp_path: Path) -> None:
    process = _writing(tmp_path, "dd")
    assert len(list(tmp_path.iterdir())) == 1
    process.send_signal(number)
    status = process.wait(timeout=30)
    assert not list(tmp_path.iterdir())
    if number != signal.SIGINT:
        assert status == 128 + number


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    """``nohup`` starts a command with SIGHUP ignored."""
    process = _writing(tmp_path, "di")
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())


def _writing(folder: Path, actions: str) -> subprocess.Popen[str]:
    """A process that has begun a file; a letter for SIGTERM and SIGHUP says what it starts with."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(folder / "out"), actions],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_names_of_extracted_files_fit_and_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    letters = "\U00010400" * 120
    archive = tmp_path / "a.zip"
    archive.write_bytes(zip_of({f"{letters}.ptx": PTX, f"b/{letters}.ptx": PTX, "../c.ptx": PTX}))
    out = tmp_path / "out"
    assert main(["extract", "-o", str(out), str(archive)]) == 1  # a name leaves the archive
    names = [path.name for path in out.iterdir()]
    assert len(names) == 3
    assert all(len(name.encode()) <= 255 for name in names)
    capsys.readouterr()


def test_a_target_in_ptx_does_not_leave_the_folder() -> None:
    (image,) = images(b".version 8.0\n.target sm_90/../../x\n")
    assert image.arch == "compute_90"
    assert "/" not in FileNames().of(image)


def test_many_images_of_one_name_are_named_in_one_step_each() -> None:
    (image,) = images(PTX)
    names = FileNames()
    begun = time.thread_time()
    found = {names.of(image) for _ in range(20_000)}
    assert len(found) == 20_000
    assert time.thread_time() - begun < 60


def test_an_error_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def parts() -> Iterator[bytes]:
        yield b"new"
        raise CubinError("no")

    with pytest.raises(CubinError):
        write_file(path, parts())
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]
