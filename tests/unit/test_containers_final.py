"""Programs built with separate compilation: final images are listed, their inputs on demand."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import cubinspec
from cubinspec import Cubin
from cubinspec.cli import main
from cubinspec.containers import images
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec.report.stack import Calls, reason_text, reasons_of
from tools.corpus.containers import CUBINS, ar_of, cubin, elf_host, linked_host, zip_of

LINKED = container([entry_for(cubin("calls.sm_90.exe.cubin"), compress_all=True)])
INPUT = container([entry_for(cubin("calls.sm_90.rel.cubin"), compress_all=True)])
NAMES = sorted(kernel.name for kernel in Cubin.parse(cubin("calls.sm_90.exe.cubin")).kernels)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A host with the result of a device link and its input."""
    path = tmp_path / "lib.so"
    path.write_bytes(elf_host({".nv_fatbin": LINKED, "__nv_relfatbin": INPUT}))
    return path


def loaded(capsys: pytest.CaptureFixture[str], *words: object, status: int = 0) -> Any:
    """JSON output of a command."""
    assert main([str(word) for word in (*words, "--json")]) == status
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("command", ["kernels", "params"])
def test_each_kernel_is_listed_once(
    program: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    final = loaded(capsys, command, program)
    assert sorted((r["name"], r["type"]) for r in final) == [(name, "exe") for name in NAMES]
    both = loaded(capsys, command, program, "--relocatable")
    assert Counter((r["name"], r["type"]) for r in both) == Counter(
        (name, kind) for name in NAMES for kind in ("exe", "rel")
    )
    assert main([command, str(program), "--csv", "--relocatable"]) == 0
    rows = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert {row["type"] for row in rows} == {"exe", "rel"}


def test_kernels_in_python_are_those_of_the_command(program: Path, tmp_path: Path) -> None:
    types = Counter(kernel.image.superseded for kernel in cubinspec.kernels(program))
    assert types == {False: len(NAMES)}
    both = [*cubinspec.kernels(program, relocatable=True)]
    assert sorted(kernel.name for kernel in both) == sorted(NAMES * 2)
    # nothing was linked: what is there is all that there is
    part = tmp_path / "part.o"
    for data in (
        elf_host({".nv_fatbin": b"", "__nv_relfatbin": INPUT}),
        ar_of({"a.o": elf_host({"__nv_relfatbin": INPUT})}),
        INPUT,
    ):
        part.write_bytes(data)
        assert sorted(kernel.name for kernel in cubinspec.kernels(part)) == NAMES


def test_a_scan_lists_kernels_once_and_every_image(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = loaded(capsys, "scan", program)
    assert [r["superseded"] for r in rows if r["record"] == "image"] == [False, True]
    assert {r["type"] for r in rows if r["record"] == "kernel"} == {"exe"}
    rows = loaded(capsys, "scan", program, "--relocatable")
    assert {r["type"] for r in rows if r["record"] == "kernel"} == {"exe", "rel"}


def test_size_gives_inputs_of_a_link_one_row(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (report,) = loaded(capsys, "size", program)
    sizes = {row["name"]: row["bytes"] for row in report["by_kernel"]}
    assert sizes["(inputs of a device link)"] == len(cubin("calls.sm_90.rel.cubin"))
    assert sum(row["file_bytes"] for row in report["by_kernel"]) == program.stat().st_size
    (report,) = loaded(capsys, "size", program, "--relocatable")
    more = {row["name"]: row["bytes"] for row in report["by_kernel"]}
    assert "(inputs of a device link)" not in more
    assert all(more[name] > sizes[name] for name in NAMES)


def test_without_a_linked_image_inputs_are_all_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "part.o"
    path.write_bytes(elf_host({".nv_fatbin": b"", "__nv_relfatbin": INPUT}))
    assert {r["type"] for r in loaded(capsys, "kernels", path)} == {"rel"}
    path.write_bytes(ar_of({"a.o": elf_host({"__nv_relfatbin": INPUT})}))
    assert {r["type"] for r in loaded(capsys, "kernels", path)} == {"rel"}


def test_without_section_names_types_tell() -> None:
    host = linked_host([LINKED, INPUT], [2, 1], table=False)
    assert [image.superseded for image in images(host)] == [False, True]
    # no wrapper says that there was a device link
    host = linked_host([LINKED, INPUT], [1, 1], table=False)
    assert [image.superseded for image in images(host)] == [False, False]


def test_what_fits_nothing_is_said(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, text in (
        (("kernels", "--match", "absent"), "absent"),
        (("kernels", "--match", "re:^absent$"), "absent"),
        (("kernels", "--arch", "sm_70", "--arch", "75"), "sm_70 or sm_75; there are sm_90"),
        (("params", "--match", "absent"), "absent"),
        (("params", "--arch", "sm_70"), "sm_90"),
        (("images", "--arch", "sm_70"), "sm_90"),
    ):
        assert main([*words, str(program)]) == 1, words
        assert text in capsys.readouterr().err, words
    name = NAMES[0]
    assert main(["kernels", str(program), "--match", "re:("]) == 2
    found = loaded(capsys, "kernels", program, "--match", f"re:^{name[:-1]}.$")
    assert name in {record["name"] for record in found}
    arch = ("--arch", "sm_70", "--arch", "sm_90")
    assert len(loaded(capsys, "kernels", program, *arch)) == len(NAMES)


@pytest.mark.parametrize(
    "command", [["kernels"], ["kernels", "--json"], ["params"], ["images"], ["extract", "-o"]]
)
def test_a_target_without_an_image_is_told_and_the_others_are_listed(
    program: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*command, str(program.parent / "out")] if "-o" in command else command
    assert main([*words, str(program), "--arch", "sm_90,sm_70"]) == 0
    out, err = capsys.readouterr()
    assert "sm_90" in out
    assert err == "cubinspec: no image is for sm_70; there are sm_90\n"
    assert main([*words, str(program), "--arch", "sm_90"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", [["size"], ["scan", "--csv"]])
def test_foreign_and_empty_files_are_errors(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, data in (("empty", b""), ("text.txt", b"no device code\n")):
        path = tmp_path / name
        path.write_bytes(data)
        assert main([*command, str(path)]) == 1
        assert name in capsys.readouterr().err


def test_why_a_stack_is_unknown() -> None:
    names = ["", "k", "a", "b", "m", "n", "far", "pointer"]
    _, k, a, b, m, n, far, pointer = range(len(names))
    pairs = [(k, a), (k, far), (a, b), (b, a), (m, far), (n, pointer)]
    calls = Calls(pairs, indirect=[pointer], external=[far])
    for function, final, text in (
        (k, True, "recursion: a → b → a"),
        (b, True, "recursion: b → a → b"),
        (m, False, "external far"),
        (n, False, "indirect call in pointer"),
    ):
        reason = calls.reason(function, final=final)
        assert reason is not None
        kind, numbers = reason
        assert reason_text((kind, tuple([names[number] for number in numbers]))) == text
    assert calls.reason(m, final=True) is None
    assert calls.reason(99, final=True) is None
    assert calls.may_be_open(final=True)
    assert not Calls([(m, far)], [], [far]).may_be_open(final=True)
    assert Calls([(m, far)], [], [far]).may_be_open(final=False)
    assert Calls([(k, a), (a, b), (b, a)], [], []).may_be_open(final=True)
    assert Calls([(a, a)], [], []).may_be_open(final=True)
    # Two ways to one function are no circle.
    assert not Calls([(k, a), (k, b), (a, m), (b, m)], [], []).may_be_open(final=True)


def test_where_all_stacks_are_known_there_is_no_reason() -> None:
    known = []
    for path in sorted(CUBINS.glob("*.cubin")):
        sample = Cubin.open(path)
        known.append(sample.knows_all_stacks())
        if known[-1]:
            assert reasons_of(sample, sample.functions) == {}, path
    assert {*known} == {False, True}


def test_a_kernel_may_be_spread_over_fatbins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fatbins = [
        container([entry_for(cubin(f"calls.{arch}.exe.cubin"), compress_all=True)])
        for arch in ("sm_90", "sm_100")
    ]
    path = tmp_path / "lib.so"
    path.write_bytes(elf_host({".nv_fatbin": b"".join(fatbins)}))
    (report,) = loaded(capsys, "archs", path, "--require", "sm_90,sm_100")
    assert (report["fatbins"], report["kernels"], report["others"]) == (2, len(NAMES), 0)
    runs = {gpu["gpu"]: gpu["runs"] for gpu in report["gpus"]}
    assert (runs["sm_90"], runs["sm_100"], runs["sm_80"]) == ("yes", "yes", "no")
    library = ar_of({f"{n}.o": elf_host({".nv_fatbin": data}) for n, data in enumerate(fatbins)})
    path.write_bytes(library)
    assert main(["archs", str(path), "--require", "sm_90", "--require", "sm_100"]) == 0
    # another library in the same wheel does not lend its code
    wheel = tmp_path / "two.whl"
    wheel.write_bytes(
        zip_of({f"{n}.so": elf_host({".nv_fatbin": data}) for n, data in enumerate(fatbins)})
    )
    assert main(["archs", str(wheel), "--require", "sm_90"]) == 1


def test_what_has_no_code_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = container([entry_for(cubin("cluster_sm90.sm_90.exe.cubin"), compress_all=True)])
    both = container(
        [
            entry_for(cubin(f"calls.{arch}.exe.cubin"), compress_all=True)
            for arch in ("sm_90", "sm_100")
        ]
    )
    path = tmp_path / "lib.so"
    path.write_bytes(elf_host({".nv_fatbin": only + both}))
    capsys.readouterr()
    assert main(["archs", str(path), "--require", "sm_100"]) == 1
    printed = capsys.readouterr()
    assert "fixed_cluster" not in printed.out
    assert "no code for it in 4 of 7 kernels: " in printed.err
    assert " and 1 more (--why names all)" in printed.err
    assert main(["archs", str(path), "--require", "sm_100", "--why"]) == 1
    printed = capsys.readouterr()
    assert "no code for sm_100: kernel fixed_cluster: it has sm_90 (other-major)" in printed.out
    (report,) = loaded(capsys, "archs", path, "--require", "sm_100", status=1)
    (gpu,) = [gpu for gpu in report["gpus"] if gpu["missing"]]
    assert gpu["runs"] == "partly"
    assert {entry["name"] for entry in gpu["missing"]} == {
        kernel.name for kernel in Cubin.parse(cubin("cluster_sm90.sm_90.exe.cubin")).kernels
    }
    assert main(["archs", str(path), "--require", "sm_90"]) == 0


def test_a_fatbin_without_kernels_needs_code_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = container([entry_for(cubin("callee.sm_80.rel.cubin"), compress_all=True)])
    path = tmp_path / "part.o"
    path.write_bytes(elf_host({"__nv_relfatbin": part}))
    (report,) = loaded(capsys, "archs", path, "--require", "sm_90", status=1)
    assert (report["kernels"], report["others"]) == (0, 1)
    assert [e["kind"] for gpu in report["gpus"] for e in gpu["missing"]] == ["fatbin"]
