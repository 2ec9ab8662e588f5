"""Options are read, refused and obeyed as nvlink does: both run, and everything they say is
compared."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from cubinspec.containers.host_names import Patterns
from cubinspec.format.targets import linker_toolkits
from cubinspec_writer.linker import LinkError, LinkOptions, UnsupportedLinkError, link
from cubinspec_writer.linker.command import run
from cubinspec_writer.linker.diagnostics import Diagnostics
from cubinspec_writer.linker.inputs.arguments import Line, read_line, split_options
from cubinspec_writer.linker.inputs.assemble import assemble
from cubinspec_writer.linker.inputs.sources import register_name
from cubinspec_writer.linker.write import host_script
from tools import oracle
from tools.linkcases.sweep import options
from tools.oracle import Tool

pytestmark = pytest.mark.oracle("ptxas", "nvlink")
A = """.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) other(.param .b32 a);
.visible .global .align 4 .b32 word = 5;
.visible .func (.param .b32 r) again(.param .b32 a);
.visible .func (.param .b32 r) again(.param .b32 a)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [a];
    { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), again, (x);
      ld.param.b32 %r2, [y]; }
    st.param.b32 [r], %r2;
    ret;
}
.visible .entry k1(.param .u64 p)
{
    .reg .b32 %r<3>; .reg .b64 %d<2>;
    ld.param.u64 %d1, [p]; ld.global.b32 %r1, [word];
    { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), other, (x);
      ld.param.b32 %r2, [y]; }
    st.global.b32 [%d1], %r2;
    ret;
}
.visible .entry k2(.param .u64 p)
{
    .reg .b32 %r<3>; .reg .b64 %d<2>;
    ld.param.u64 %d1, [p];
    { .param .b32 x; .param .b32 y; st.param.b32 [x], 3; call (y), again, (x);
      ld.param.b32 %r2, [y]; }
    st.global.b32 [%d1], %r2;
    ret;
}
"""
B = """.version 8.0
.target sm_75
.address_size 64
.visible .func (.param .b32 r) other(.param .b32 a)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, 7; st.param.b32 [r], %r2; ret; }
"""
#: Command lines; I stands for inputs that link, ~ for a whole line that links.
LINES = """

-o
-arch
--arch
-arch=
-arch -v
-arch=sm_42 -o x -o y
-report-arch -arch=sm_90 -suppress-debug-info I -o out
-report-arch -arch=sm_90 I -o none/out
-report-arch -arch=sm_90 I
~ -preserve-relocs -Werror
~ --shared -host-ccbin gcc --verbose-tkinfo false
~ --host-ccbin=x --host-ccbin=y -shared -shared
~ -verbose-tkinfo=maybe
~ -verbose-tkinfo
~ -shared=true
-o x -o y -arch=sm_42
-arch=lto_90 a.cubin -o out
-arch=sm_90
-arch=sm_90 -o out
-arch=sm_90 -o out -lnothing
-o out
-nosuch -arch sm_42
-m 64x
-m=32 ~
-m32 ~
--machine=64 ~
-m
~ --arch sm_80
~ -arch=sm_90
~ -o other
~ -o other -Werror
~ -suppress-stack-size-warning
~ --suppress-stack-size-warning -v
~ -Werror
~ --verbos
~ -vv
~ --v
~ ---v
~ --
~ -
~ ""
~ --debug=true
~ -w=x
~ -w
~ -disable-warnings
~ -l nothing -l=nothing --library=nothing -L. -L=. -L x --library-path=x,y
~ -l
~ -cpu-arch foo
~ -cpu-arch X86 -cpu-arch ARMv7
~ -Ofc max
~ -Ofc
~ -emit-ptx
~ -emit-ptx -suppress-debug-info
~ -suppress-debug-info -Ofc 1
~ -maxrregcount x
~ -maxrregcount 0x20 -split-compile 2 -split-compile-extended 3 -Xptxas -v -Xnvvm a -nvvmpath b
~ -extrawarn -device-stack-protector true --disable-infos --cpu-arch=X86_64
~ -device-stack-protector=x
~ -device-stack-protector
~ -dlto
~ -lto
~ -uumn -Xlinker x --host-linker-options=y -Xlinker z,w
~ --syscall-const-offset x
~ --syscall-const-offset=0x20 --enable-extended-smem true --disable-smem-reservation=false
~ --disable-smem-reservation true
~ --enable-extended-smem=x
~ --force-partial-lto
~ --tool-name=first --tool-name=second
~ --tool-name=first -nosuch
~ --allow-undefined-globals
~ --allow-undefined-globals=x
~ -dot graph
~ -dot
~ -dot=graph --dot-file=graph
~ -ghls
~ -ghls foo
-ghls=lcs-aug
-ghls=lcs-aug -o out
-ghls=lcs-aug -o /nonexistent/f
-ghls=lcs-aug -ghls=lcs-aug -v -r
~ -register-link-binaries names.c
~ --register-link-binaries
~ --register-link-binaries=/nonexistent/f
~ -report-arch
-arch=sm_90 a.cubin -o out -report-arch
-arch=sm_90 a.cubin -o out -v
-arch=sm_80 a.cubin -o out -report-arch
-arch=sm_90 nofile -o out
-arch=sm_90 I -o /nonexistent/f
-arch=sm_90 I -o folder
~ -use-host-info -ignore-host-info
~ -use-host-info -ignore-host-info -suppress-debug-info
~ -use-host-info
~ -ignore-host-info
~ -use-host-info -kernels-used k1 -v
~ -use-host-info -kernels-used k1 -disable-infos
~ -kernels-used= -v
~ -kernels-used
~ -kernels-used k*2,,nothing -v
~ -variables-used word -v
~ -g
~ -g -suppress-debug-info
~ -keep-system-libraries
~ -r -v
~ -r -dump-callgraph
~ -dump-callgraph
~ -dump-callgraph -dump-callgraph-no-demangle
~ -preserve-relocs
~ -time -
~ -time /nonexistent/f
~ -uidx nofile
~ -uidx empty
~ -uidx a.cubin
P
P -g
P -g -report-arch
P -g --suppress-debug-info
P -g -Werror -disable-infos
P -r -g -dump-callgraph
P -maxrregcount=16
P -maxrregcount=040 -maxrregcount=0x28
P -maxrregcount=0 -split-compile=1
P -maxrregcount=-1 -split-compile=0
P -maxrregcount=300 -split-compile-extended=2
P -Xptxas=-maxrregcount=32 -maxrregcount=40
P -Xptxas -O1,-dlcm=cg -Xptxas=--fmad,false
P -Xptxas=-O0 -device-stack-protector=true
P -Xptxas=-nonsense
P -Xptxas=-arch=sm_80
P -Xptxas=-w,-ewp
P -Xptxas=-w -Werror
P -Werror
P -Xptxas=-Werror
P -Xptxas=-Werror -r
P -Xptxas=-Werror -disable-infos
P -disable-infos
P -w
P -Xptxas=-suppress-stack-size-warning
P -suppress-stack-size-warning
P -Xptxas=--warning-as-error,--disable-warnings
-arch=sm_90 b.ptx a.cubin nofile -o out -Xptxas=-w
-arch=sm_90 wrong.ptx -o out
-arch=sm_90 wrong.ptx -o out -report-arch -v
~ -maxrregcount 08
~ -maxrregcount 2147483648
~ -split-compile=-2147483649
~ -m=0x40
~ -m=0x41
I -o out -optf options
I -o out --options-file=options,options
I -o out -optf nested
I -o out -optf quoted
I -o out -optf stray
I -o out -optf nofile
I -o out -optf
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two objects for sm_90 and files of options."""
    place = tmp_path_factory.mktemp("options")
    for name, text in (("a", A), ("b", B)):
        (place / f"{name}.ptx").write_text(text)
        oracle.find("ptxas").run(
            "-arch=sm_90", "-c", f"{name}.ptx", "-o", f"{name}.cubin", cwd=place
        ).check()
    (place / "wrong.ptx").write_text(A.replace("ret;", "no_such; other;"))
    (place / "folder").mkdir()
    (place / "empty").touch()
    (place / "options").write_text("-arch=sm_90\n\t-v")
    (place / "nested").write_text("-optf options")
    (place / "quoted").write_text('-arch="sm_90" "no file" -v')
    (place / "stray").write_text('-arch=sm_90 "no end')
    return place


@pytest.mark.parametrize("line", LINES.removeprefix("\n").splitlines())
def test_both_say_and_write_the_same(line: str, folder: Path) -> None:
    line = line.replace("~", "-arch=sm_90 I -o out").replace("I ", "a.cubin b.cubin ")
    line = re.sub("^P", "-arch=sm_90 a.cubin b.ptx -o out", line)
    words = shlex.split(line)
    ptxas = f"--ptxas={oracle.find('ptxas').path}"
    out = folder / "out"
    out.unlink(missing_ok=True)
    theirs = subprocess.run(
        [oracle.find("nvlink").path, *words],
        capture_output=True,
        text=True,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    expected = out.read_bytes() if out.exists() else None
    if expected and expected.startswith(b"\x7fELF"):
        (folder / "reference").write_bytes(expected)
        words.append("--tkinfo-from=reference")
    out.unlink(missing_ok=True)
    said, printed = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(printed),
    ):
        status = run([ptxas, *words])
    assert said.getvalue() == theirs.stderr.replace("nvlink ", "cubinspec link ")
    assert (status, printed.getvalue()) == (theirs.returncode, theirs.stdout)
    assert (out.read_bytes() if out.exists() else None) == expected


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-V", "-arch=sm_90"]) == run(["--help"]) == 0
    said = capsys.readouterr().out
    assert "release 13.0, V13.0.88" in said
    for option in ("--kernels-used VALUE", "--output-file, -o VALUE", "--map VALUE"):
        assert option in said


def test_every_option_of_nvlink_is_known() -> None:
    known = oracle.find("nvlink").run("--help").check().stdout
    long = {word.split()[0] for word in known.splitlines() if word.startswith("--")}
    line = Line()
    for option in sorted(long):
        diagnostics = Diagnostics()
        with contextlib.suppress(Exception):
            read_line([option], line, diagnostics)
        assert not any("Unknown option" in text for _, text in diagnostics.messages), option
    assert len(long) > 40


def test_host_linker_script_is_that_of_the_host(folder: Path) -> None:
    if not os.path.exists("/usr/bin/ld") or not os.path.exists("/usr/bin/gcc"):
        pytest.skip("no host linker")
    oracle.find("nvlink").run("-ghls=lcs-abs", "-o", "theirs", cwd=folder).check()
    assert run(["-ghls=lcs-abs", "-o", str(folder / "ours")]) == 0
    assert (folder / "ours").read_bytes() == (folder / "theirs").read_bytes()


def test_no_host_linker_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["-ghls"]) == 1
    assert "fatal   : Host linker script creation failed." in capsys.readouterr().err
    assert host_script.text(False, Diagnostics()).startswith("SECTIONS\n{\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('a "b c"\n\td', ["a", "b c", "d"]),
        ("a\\ b \\\\ 'x y'", ["a b", "\\", "'x", "y'"]),
        ('a"b c"d ""', ["ab cd", ""]),
        ('"a', [None]),
        ("", []),
    ],
)
def test_words_of_an_options_file(text: str, words: list[str | None]) -> None:
    assert list(split_options(text)) == words


def test_options_files_that_name_themselves_end(tmp_path: Path) -> None:
    path = tmp_path / "options"
    path.write_text(f"-optf {path}")
    assert run(["-optf", str(path)]) == 1


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("_Z4kernPi", "_Z4kernPi", True),
        ("_Z4kern*", "_Z4kernPi", True),
        ("_Z4kern", "_Z4kernPi", False),
        ("*kern*", "_Z4kernPi", True),
        ("_Z4*Pi", "_Z4kernPi", True),
        ("_Z4*Px", "_Z4kernPi", False),
        ("_Z4**rn**Pi", "_Z4kernPi", True),
        ("ab*bc", "abc", False),
        ("*", "", True),
    ],
)
def test_names_with_stars(pattern: str, name: str, fits: bool) -> None:
    assert Patterns([pattern]).fits(name) is fits
    assert Patterns(["other", pattern, "x*y"]).fits(name) is fits


def test_register_names_are_identifiers() -> None:
    assert register_name("/a b/c-d.o") == "_a_b_c_d_o"


def test_ptx_is_assembled_or_refused(
    folder: Path, tmp_path: Path, ptxas: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    result = link(["b.ptx"], arch="sm_90", ptxas=str(ptxas.path))
    plain = link(["b.cubin"], arch="sm_90")
    assert [s["name"] for s in result.map["sections"]] == [s["name"] for s in plain.map["sections"]]
    (tmp_path / "bad.ptx").write_text(
        ".version 8.0\n.target sm_75\n.address_size 64\nnonsense nonsense\n"
    )
    with pytest.raises(LinkError, match="elfLink fatbinary error"):
        link([tmp_path / "bad.ptx"], arch="sm_90", ptxas=str(ptxas.path))
    with pytest.raises(UnsupportedLinkError, match="without ptxas"):
        link(["b.ptx"], LinkOptions("sm_90", ptxas="/nonexistent/ptxas"))


@pytest.mark.parametrize("word", ["-o", "-o=x", "--output-file=x", "-optf", "--options-file=x"])
def test_ptx_cannot_say_where_a_file_is_written(word: str) -> None:
    options = LinkOptions("sm_90", ptxas="/nonexistent/ptxas")
    with pytest.raises(UnsupportedLinkError, match=f"with the option '{word}'"):
        assemble(
            "a.fatbin",
            b".version 8.0",
            ["-O1", word, "x"],
            options,
            linker_toolkits()["13.0"],
            Diagnostics(),
        )


def test_all_words_that_nvlink_knows_are_known() -> None:
    unknown = [
        word
        for word in options.spellings(options.words())
        if not options.known_here(word) and options.known_to_nvlink(word)
    ]
    assert not unknown


@pytest.mark.parametrize("flag", ["--force-rela", "--reserve-null-pointer"])
def test_options_without_a_place_here_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    monkeypatch.chdir(folder)
    assert run(["-arch=sm_90", flag, "b.cubin", "-o", "refused"]) == 1
    assert f"not supported by this linker: {flag}" in capsys.readouterr().err
