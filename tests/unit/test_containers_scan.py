"""Scans: complete, the same on one machine and on a cluster; a worker that dies loses nothing."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cubinspec.cli import main
from cubinspec.errors import CubinError
from cubinspec.scan import run as scan_run
from cubinspec.scan.rows import Task, scan_task
from cubinspec.scan.run import ParquetFile, clean, scan, scan_on_dask, tasks_for
from cubinspec.scan.schema import COLUMNS, NAMES
from tools.corpus.containers import CUBINS, cubin, elf_host, simple_fatbin, zip_of

FILES = 12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Libraries, a wheel, and a broken fatbin."""
    library = elf_host({".nv_fatbin": simple_fatbin()})
    for number in range(FILES):
        (tmp_path / f"lib{number}.so").write_bytes(library)
    (tmp_path / "x.whl").write_bytes(zip_of({"l.so": library, "k.cubin": cubin()}))
    (tmp_path / "broken.fatbin").write_bytes(simple_fatbin()[:-40])
    return tmp_path


def flat(batches: Any) -> list[dict[str, Any]]:
    """All rows in an order that does not depend on who was first."""
    rows = [row for batch in batches for row in batch]
    return sorted(rows, key=lambda r: (r["file"], r.get("image") or 0, str(r.get("name"))))


def test_rows_are_the_images_and_their_kernels(folder: Path) -> None:
    rows = flat(scan([str(folder)]))
    images = [row for row in rows if row["record"] == "image"]
    assert len(images) == 3 * (FILES + 1) + 1 + 2
    assert [row["record"] for row in rows].count("fault") == 1
    for image in images:
        kernels = [
            row for row in rows if row["record"] == "kernel" and row["path"] == image["path"]
        ]
        assert len(kernels) == (image.get("num_kernels") or 0)
        assert {kernel["sha256"] for kernel in kernels} <= {image["sha256"]}
    assert set().union(*rows) <= {*NAMES, "provenance", "fault"}
    wheel = [row for row in images if row["file"].endswith("x.whl")]
    assert [row["member"] for row in wheel] == ["l.so", "l.so", "l.so", "k.cubin"]


def test_shares_of_a_file_make_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "l.so"
    path.write_bytes(elf_host({".nv_fatbin": simple_fatbin() * 5}))
    whole = scan_task(Task(str(path)))
    parts = [scan_task(Task(str(path), share, 4)) for share in range(4)]
    assert flat([whole]) == flat(parts)
    assert all(parts)


def test_large_libraries_become_several_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_run, "MIN_PARALLEL_BYTES", 4096)
    (tmp_path / "l.so").write_bytes(elf_host({".nv_fatbin": simple_fatbin() * 5}))
    (tmp_path / "l.whl").write_bytes(zip_of({"l.so": bytes(9000)}))
    tasks = list(tasks_for([str(tmp_path)]))
    shares = [task.shares for task in tasks if task.path.endswith(".so")]
    assert len(shares) == shares[0] > 1
    assert [task.shares for task in tasks if task.path.endswith(".whl")] == [1]


def test_processes_find_the_same(folder: Path) -> None:
    assert flat(scan([str(folder)], jobs=2)) == flat(scan([str(folder)]))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_large_file_is_handed_on_in_pieces_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setattr(scan_run, "MIN_PARALLEL_BYTES", 4096)
    monkeypatch.setattr(scan_run, "_ROWS_AT_ONCE", 4)
    path = tmp_path / "l.so"
    path.write_bytes(elf_host({".nv_fatbin": simple_fatbin() * 5}))
    batches = [*scan([str(path)], jobs=jobs)]
    assert len(batches) > 2
    assert [row for rows in batches for row in rows] == scan_task(Task(str(path)))


def deadly_once(task: Task) -> list[dict[str, Any]]:
    """Dies the first time it meets a certain file; a module function, so that workers have it."""
    mark = Path(os.environ["CUBINSPEC_TEST_MARK"])
    if task.path.endswith("lib3.so") and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return scan_task(task)


def deadly(task: Task) -> list[dict[str, Any]]:
    """Dies every time it meets a certain file."""
    if task.path.endswith("lib3.so"):
        os.kill(os.getpid(), signal.SIGKILL)
    return scan_task(task)


def test_a_process_that_is_killed_loses_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = flat(scan([str(folder)]))
    monkeypatch.setenv("CUBINSPEC_TEST_MARK", str(tmp_path.with_name("mark")))
    monkeypatch.setattr(scan_run, "scan_task", deadly_once)
    assert flat(scan([str(folder)], jobs=2)) == expected
    assert tmp_path.with_name("mark").exists()


def test_a_file_that_kills_every_process_is_a_fault(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [r for r in flat(scan([str(folder)])) if not r["file"].endswith("lib3.so")]
    monkeypatch.setattr(scan_run, "scan_task", deadly)
    rows = flat(scan([str(folder)], jobs=2))
    killed = [row for row in rows if row["file"].endswith("lib3.so")]
    assert [row["record"] for row in killed] == ["fault"]
    assert "died 3 times" in killed[0]["error"]
    assert [row for row in rows if row not in killed] == expected


def slow(task: Task) -> list[dict[str, Any]]:
    """A task that takes long enough to be interrupted, and says who began it."""
    with open(os.environ["CUBINSPEC_TEST_MARK"], "a") as mark:
        mark.write(f"{os.getpid()} {task.path}\n")
    time.sleep(0.3)
    return scan_task(task)


def test_a_dask_worker_that_is_killed_costs_what_it_had_in_hand(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    expected = flat(scan([str(folder)]))
    monkeypatch.setattr(scan_run, "scan_task", slow)
    mark = folder.with_name("begun")
    monkeypatch.setenv("CUBINSPEC_TEST_MARK", str(mark))
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = sorted(client.run(os.getpid).values())
        assert len(set(workers)) == 2
        assert os.getpid() not in workers
        batches = []
        for batch in scan_on_dask([str(folder)], cluster.scheduler_address):
            batches.append(batch)
            if len(batches) == 2:
                os.kill(workers[0], signal.SIGKILL)
        # the nanny starts another
        assert workers[0] not in client.run(os.getpid).values()
    assert flat(batches) == expected
    # done again: the task that the dead one was at, or one that nobody had fetched from it
    begun = [(int(worker), path) for worker, path in map(str.split, mark.read_text().splitlines())]
    again = {path for path, count in Counter(path for _, path in begun).items() if count > 1}
    assert len(again) <= 2
    fetched = {row["file"] for batch in batches[:2] for row in batch}
    assert fetched.isdisjoint(again)
    assert {path for worker, path in begun if worker == workers[0]}.issuperset(again)


def test_a_dask_scheduler_that_is_not_there(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(scan_run, "DASK_TIMEOUT", "1s")
    status = main(["scan", str(folder), "--json", "--dask", "tcp://127.0.0.1:1"])
    assert status == 1
    assert "no Dask scheduler answers" in capsys.readouterr().err


def test_urls_of_any_file_system(folder: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    for path in folder.iterdir():
        system.pipe(f"/bucket/{path.name}", path.read_bytes())
    try:
        remote = flat(scan(["memory://bucket"]))
        local = flat(scan([str(folder)]))
        digests = [[row.get("sha256") for row in rows] for rows in (remote, local)]
        assert digests[0] == digests[1]
        assert all(row["file"].startswith("memory://") for row in remote)
        assert flat(scan([folder.as_uri()], jobs=1)) != []
        (missing,) = flat(scan(["memory://bucket/none.so"]))
        assert missing["record"] == "fault"
        with pytest.raises(CubinError, match="nosuch"):
            flat(scan(["nosuch://x/y"]))
    finally:
        system.rm("/bucket", recursive=True)


def test_files_of_a_web_server(folder: Path) -> None:
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/lib0.so"
        remote = flat(scan([url]))
        server.shutdown()
    local = flat(scan([str(folder / "lib0.so")]))
    assert [row.get("sha256") for row in remote] == [row.get("sha256") for row in local]
    assert {row["file"] for row in remote} == {url}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A web server that does not tell what it is asked for."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_the_queries_of_the_guide_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(folder)
    assert main(["scan", str(folder), "-o", "inventory.parquet", "--jobs", "1"]) == 1
    guide = Path(__file__).resolve().parents[2] / "docs" / "scan.md"
    queries = re.findall(r"```sql\n(.*?)```", guide.read_text("utf-8"), re.DOTALL)
    assert len(queries) >= 5
    answers = [duckdb.sql(query).fetchall() for query in queries]
    assert all(answers[:3])


def test_one_image_is_not_counted_as_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.cubin").write_bytes(cubin())
    assert main(["scan", str(tmp_path), "--json"]) == 0
    assert "cubinspec: 1 image with " in capsys.readouterr().err


def test_parquet_has_the_documented_columns(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out = folder.with_name("out.parquet")
    assert main(["scan", str(folder), "-o", str(out), "--jobs", "2"]) == 1
    captured = capsys.readouterr()
    assert "images with" in captured.err
    assert "1 could not be read" in captured.err
    table = parquet.read_table(out)
    assert [(f.name, str(f.type)) for f in table.schema] == [(n, t) for n, t, _ in COLUMNS]
    assert all(f.metadata[b"description"] for f in table.schema)
    assert table.num_rows == len(flat(scan([str(folder)])))
    assert list(out.parent.glob("out.parquet.*")) == []


def test_text_forms_and_usage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(folder), "--json", "--jobs", "1"]) == 1
    records = json.loads(capsys.readouterr().out)
    assert set(records[0]) == {*NAMES, "schema", "provenance"} - {"path", "member"}
    assert main(["scan", str(folder), "--csv", "--jobs", "1"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == len(records) + 1
    assert main(["scan", "--schema"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(COLUMNS)
    assert main(["scan", str(folder)]) == 2
    assert main(["scan", str(folder), "--json", "--jobs", "0"]) == 2


def test_names_that_are_not_utf8_can_be_written() -> None:
    (row,) = clean([{"name": b"k\xff".decode("utf-8", "surrogateescape")}])
    assert row["name"] == "k\\udcff"


def test_parquet_takes_names_that_are_not_utf8(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "scan.parquet"
    file = ParquetFile(str(path))
    file.write([{"name": "plain"}, {"name": b"k\xff".decode("utf-8", "surrogateescape")}])
    file.close()
    assert parquet.read_table(path)["name"].to_pylist() == ["plain", "k\\udcff"]


def test_carried_samples_scan_without_a_fault() -> None:
    rows = flat(scan([str(CUBINS)]))
    assert {row["record"] for row in rows} == {"image", "kernel"}
    assert len({row["file"] for row in rows}) == len(list(CUBINS.glob("*.cubin")))
