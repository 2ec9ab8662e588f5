"""The commands that change cubins: what they write where, and what they refuse."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cubinspec import Cubin
from cubinspec.cli import main
from cubinspec.report.names import escaped
from cubinspec_writer.checker import check
from cubinspec_writer.editor import Edit, Resources
from cubinspec_writer.linker import link
from cubinspec_writer.yaml_form import to_yaml
from tools import oracle
from tools.corpus.samples import CUBINS
from tools.oracle import Tool

SAMPLE = "kernels.sm_90.exe.cubin"
#: command -> words behind FILE, and a text of the result that shows the change
COMMANDS = {
    "set": ["--kernel", "bounded", "--registers", "40", "--max-threads", "64,2", "--barriers", "1"],
    "rename": ["bounded", "unbounded"],
    "strip": ["--tkinfo"],
    "keep": ["bounded", "required"],
    "remove": ["bounded"],
    "retarget-note": ["--toolkit", "12.9", "--arguments", "-arch sm_90 -O0"],
}


def names(path: Path) -> list[str]:
    with Cubin.open(str(path)) as cubin:
        return [kernel.name for kernel in cubin.kernels]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.cubin"
    path.write_bytes((CUBINS / SAMPLE).read_bytes())
    path.chmod(0o640)
    return path


@pytest.mark.parametrize("name", ["caf\udce9", "_Z4caf\udce9Pf", "a\nb"])
def test_names_are_taken_as_they_are_printed(
    source: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edit = Edit(source.read_bytes())
    edit.rename("bounded", name)
    source.write_bytes(edit.to_bytes())
    assert name in names(source)
    assert main(["kernels", str(source), "--match", escaped(name)]) == 0
    shown = capsys.readouterr().out.split()[-1]
    assert shown == escaped(name)
    out = tmp_path / "out.cubin"
    for words, after in (
        (["set", "--kernel", shown, "--registers", "40"], {*names(source)}),
        (["rename", shown, "bounded"], {*names(source), "bounded"} - {name}),
        (["keep", shown], {name}),
        (["keep", shown[1:]], {name}),
        (["keep", shown[:3] + "*" + shown[-1]], {name}),
        (["remove", shown], {*names(source)} - {name}),
    ):
        assert main([words[0], str(source), *words[1:], "-o", str(out)]) == 0, words
        assert {*names(out)} == after, words
    assert main(["tree", str(source), "header.e_machine", "--kernel", shown]) == 0


def test_why_takes_names_as_they_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit = Edit((CUBINS / "calls.sm_90.rel.cubin").read_bytes())
    kernel = Cubin.parse(edit.to_bytes()).kernels[0].name
    edit = Edit((CUBINS / "calls.sm_90.rel.cubin").read_bytes())
    edit.rename(kernel, "caf\udce9")
    path = tmp_path / "part.cubin"
    path.write_bytes(edit.to_bytes())
    out = tmp_path / "out.cubin"
    words = ["-arch", "sm_90", str(path), "-o", str(out)]
    assert main(["link", *words, "--why", r"caf\xe9"]) == 0
    printed = "".join(capsys.readouterr())
    assert "no input names it" not in printed
    assert r"caf\xe9: " in printed


@pytest.mark.parametrize("command", COMMANDS)
def test_input_stays_unless_it_is_to_be_replaced(
    command: str, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = source.read_bytes()
    out = source.with_name("out.cubin")
    assert main([command, str(source), *COMMANDS[command], "-o", str(out)]) == 0
    assert source.read_bytes() == before
    after = out.read_bytes()
    assert after != before
    assert check(after) == []
    assert main([command, str(source), *COMMANDS[command], "-i"]) == 0
    assert source.read_bytes() == after
    assert source.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in source.parent.iterdir()) == ["in.cubin", "out.cubin"]
    assert capsys.readouterr().out == ""


def test_what_the_commands_do(source: Path) -> None:
    out = source.with_name("out.cubin")
    everything = names(source)

    def run(command: str) -> list[str]:
        assert main([command, str(source), *COMMANDS[command], "-o", str(out)]) == 0
        return names(out)

    assert sorted(run("keep")) == ["bounded", "required"]
    assert sorted(run("remove")) == sorted(set(everything) - {"bounded"})
    assert sorted(run("rename")) == sorted({*everything, "unbounded"} - {"bounded"})
    run("set")
    with Cubin.open(str(out)) as cubin:
        (kernel,) = [kernel for kernel in cubin.kernels if kernel.name == "bounded"]
        assert (kernel.registers, kernel.max_ntid, kernel.barriers) == (40, (64, 2, 1), 1)
    run("retarget-note")
    text = to_yaml(out.read_bytes())
    assert "toolkit_version: 129\n" in text
    assert re.search(r"arguments: \W?-arch sm_90 -O0\W?\n", text)
    run("strip")
    with Cubin.open(str(out)) as cubin:
        assert ".note.nv.tkinfo" not in cubin.sections


@pytest.mark.parametrize(
    "words",
    [
        ["rename", "{}", "a", "b"],
        ["rename", "{}", "a", "b", "-i", "-o", "x"],
        ["rename", "{}", "a", "-i"],
        ["keep", "{}", "-i"],
        ["set", "{}", "-i"],
        ["set", "{}", "--kernel", "bounded", "-i"],
        ["set", "{}", "--kernel", "bounded", "--max-threads", "1,2,3,4", "-i"],
        ["strip", "{}", "-i"],
        ["retarget-note", "{}", "-i"],
        ["retarget-note", "{}", "--toolkit", "13", "-i"],
    ],
    ids=lambda words: " ".join(words[2:]) or "bare",
)
def test_usage(words: list[str], source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = source.read_bytes()
    assert main([str(source) if word == "{}" else word for word in words]) == 2
    assert f"usage: cubinspec {words[0]}" in capsys.readouterr().err
    assert source.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rename", "nobody", "x"], "no symbol 'nobody' is here"),
        (["remove", "nobody"], "no kernel 'nobody' is here"),
        (["set", "--kernel", "bounded", "--registers", "300"], "registers 300 is out of range"),
        (
            ["set", "--kernel", "bounded", "--attribute", "TCGEN05_1CTA_USED="],
            "the result would break CUB032: EIATTR_TCGEN05_1CTA_USED in sm_90, it needs sm_100",
        ),
    ],
)
def test_refused_edits_write_nothing(
    words: list[str], message: str, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = source.read_bytes()
    assert main([words[0], str(source), *words[1:], "-i"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"cubinspec: {source}: ")
    assert message in error
    assert source.read_bytes() == before
    assert [path.name for path in source.parent.iterdir()] == ["in.cubin"]


def test_a_rule_can_be_broken_on_purpose(source: Path) -> None:
    words = ["--kernel", "bounded", "--attribute", "TCGEN05_1CTA_USED=", "--no-check", "-i"]
    assert main(["set", str(source), *words]) == 0
    assert {finding.rule.id for finding in check(source.read_bytes())} == {"CUB032"}
    # a rule that was broken before does not hinder another edit
    assert main(["rename", str(source), "bounded", "unbounded", "-i"]) == 0


def test_a_damaged_file_is_refused(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source.write_bytes(source.read_bytes()[:3000])
    assert main(["strip", str(source), "--tkinfo", "-i"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert source.stat().st_size == 3000


def test_what_a_yaml_document_breaks_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document, out = tmp_path / "x.yaml", tmp_path / "x.cubin"
    text = to_yaml((CUBINS / SAMPLE).read_bytes())
    document.write_text(text)
    assert main(["from-yaml", str(document), "-o", str(out)]) == 0
    assert capsys.readouterr().err == ""
    document.write_text(text.replace("virtual_sm: 35", "virtual_sm: 99"))
    assert main(["from-yaml", "--no-check", str(document), "-o", str(out)]) == 0
    assert capsys.readouterr().err == ""
    out.unlink()
    assert main(["from-yaml", "--strict", str(document), "-o", str(out)]) == 1
    assert "would break CUB021" in capsys.readouterr().err
    assert not out.exists()
    assert main(["from-yaml", str(document), "-o", str(out)]) == 0
    assert f"cubinspec: warning: {out}:0x" in capsys.readouterr().err
    assert out.exists()


CALLER = """.version {ptx}
.target {arch}
.address_size 64
.extern .func (.param .b32 r) leaf(.param .b32 a);
.visible .entry kernel(.param .u64 p) {{
.reg .b32 %r<3>; .reg .b64 %d<2>;
ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1];
{{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), leaf, (x);
ld.param.b32 %r1, [y]; }}
st.global.u32 [%d1], %r1; ret; }}
"""


@pytest.mark.oracle("ptxas", "nvlink")
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100"])
def test_linked_files_are_good(arch: str, ptxas: Tool, nvlink: Tool, tmp_path: Path) -> None:
    source, caller = tmp_path / "in.ptx", tmp_path / "caller.cubin"
    source.write_text(CALLER.format(arch=arch, ptx="8.7" if arch == "sm_100" else "8.0"))
    ptxas.run(f"-arch={arch}", "-c", source, "-o", caller).check()
    callee = CUBINS / f"calls.{arch}.rel.cubin"
    theirs, ours = tmp_path / "theirs.cubin", tmp_path / "ours.cubin"
    for mode in ([], ["-r"]):
        nvlink.run(f"-arch={arch}", *mode, caller, callee, "-o", theirs).check()
        assert check(theirs.read_bytes(), "theirs") == []
        words = ["link", "--check-output", f"-arch={arch}", *mode, str(caller), str(callee)]
        assert main([*words, "-o", str(ours)]) == 0
        assert check(ours.read_bytes(), "ours") == []
        assert ours.stat().st_size


@pytest.mark.oracle("ptxas")
def test_link_refuses_to_write_what_breaks_a_rule(
    ptxas: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cubinspec_writer.linker import command

    whole = link([CUBINS / "calls.sm_90.rel.cubin"], arch="sm_90")
    damaged = bytearray(whole.bytes)
    damaged[51] = 3
    whole.parts = [bytes(damaged)]
    monkeypatch.setattr(command, "link", lambda inputs, options: whole)
    out = tmp_path / "out.cubin"
    words = ["-arch=sm_90", str(CUBINS / "calls.sm_90.rel.cubin"), "-o", str(out)]
    assert main(["link", "--check-output", *words]) == 1
    assert "would break CUB021" in capsys.readouterr().err
    assert not out.exists()
    assert main(["link", *words]) == 0
    assert out.exists()


#: One of each kind of writer: classic, finalizer, Mercury, CUDA 11.
ACCEPTED = ("calls.sm_75.rel", "kernels.sm_90.exe", "calls.sm_100.rel", "calls.sm_80.exe.11.8.89")


@pytest.mark.oracle("cuobjdump", "nvdisasm", "nvlink")
@pytest.mark.parametrize("name", ACCEPTED)
def test_vendor_tools_accept_every_kind_of_edit(
    name: str, cuobjdump: Tool, nvlink: Tool, tmp_path: Path
) -> None:
    data = (CUBINS / f"{name}.cubin").read_bytes()
    kernels = [kernel.name for kernel in Cubin.parse(data).kernels]
    edit = Edit(data)
    edit.strip(debug=True, lineinfo=True, tkinfo=True)
    if len(kernels) > 1:
        edit.remove(kernels[:1])
    kernel = kernels[-1]
    edit.rename(kernel, "renamed")
    edit.set("renamed", Resources(registers=44, frame=16, barriers=5, max_threads=(64, 2, 1)))
    file = tmp_path / "edited.cubin"
    file.write_bytes(edit.to_bytes())
    assert check(file.read_bytes(), name) == []
    usage = cuobjdump.run("-res-usage", file).check().stdout
    assert re.search(r"Function renamed:\s+REG:44 ", usage)
    assert not cuobjdump.run("-elf", file).check().stderr
    assert re.search(r"Function : renamed\b", cuobjdump.run("-sass", file).check().stdout)
    assert "renamed" in oracle.find("nvdisasm").run(file).check().stdout
    arch = name.split(".")[1]
    with Cubin.open(str(file)) as cubin:
        is_relocatable = cubin.header.e_type == 1
    if is_relocatable:
        nvlink.run(f"-arch={arch}", file, "-o", tmp_path / "out.cubin").check()
        assert "renamed" in names(tmp_path / "out.cubin")


def test_commands_run_as_a_process(source: Path) -> None:
    out = source.with_name("out.cubin")
    words = [
        sys.executable,
        "-m",
        "cubinspec",
        "rename",
        source,
        "bounded",
        "unbounded",
        "-o",
        "/dev/stdout",
    ]
    done = subprocess.run(words, capture_output=True, check=True)
    assert main(["rename", str(source), "bounded", "unbounded", "-o", str(out)]) == 0
    assert done.stdout == out.read_bytes()
