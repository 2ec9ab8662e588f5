"""Commands that read whole cubins take every container, and names as `kernels` prints them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cubinspec import Cubin
from cubinspec.cli import main
from cubinspec.report.names import readable
from cubinspec.report.resolve import NoSuchNameError, resolve, resolve_all, short
from tools.corpus.containers import CUBINS, cubin, elf_host, simple_fatbin, tar_of, zip_of

NAMES = "names.sm_100.exe.cubin"
ONE = ("dump", "tree", "to-yaml")
ALL = ("coverage", "roundtrip", "check")
#: a file that holds several cubins -> its bytes
CONTAINERS = {
    "library.so": elf_host({".nv_fatbin": simple_fatbin()}),
    "many.tar": tar_of({"a.cubin": cubin(), "b/c.cubin": cubin("calls.sm_100.exe.cubin")}),
    "wheel.whl": zip_of({"lib.so": elf_host({".nv_fatbin": simple_fatbin()})}),
    "two.fatbin": simple_fatbin(),
}
Capture = pytest.CaptureFixture[str]


@pytest.fixture(params=CONTAINERS)
def container(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / request.param
    path.write_bytes(CONTAINERS[request.param])
    return str(path)


@pytest.mark.parametrize("command", ONE)
def test_several_cubins_are_listed_and_one_is_picked(
    command: str, container: str, capsys: Capture
) -> None:
    assert main([command, container]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "2 cubins fit; pick one with --image NUMBER, --arch or --kernel" in err
    assert [line.split()[:2] for line in err.splitlines()[1:]] == [["1", "sm_90"], ["2", "sm_100"]]
    second = err.splitlines()[-1].split(maxsplit=2)[2]
    shown = []
    for words in (["--image", "2"], ["--arch", "sm_100"], ["--image", second]):
        assert main([command, container, *words]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0]
    assert len(set(shown)) == 1
    assert main([command, str(CUBINS / "calls.sm_100.exe.cubin")]) == 0
    bare = capsys.readouterr().out
    assert shown[0].splitlines()[1:] == bare.splitlines()[1:]


@pytest.mark.parametrize("command", ALL)
def test_commands_that_sum_or_check_take_every_cubin(
    command: str, container: str, capsys: Capture
) -> None:
    assert main([command, container]) == 0
    assert sum(f"{container} → " in line for line in capsys.readouterr().out.splitlines()) == 2
    assert main([command, container, "--arch", "90"]) == 0
    assert sum(f"{container} → " in line for line in capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize("command", [*ONE, *ALL])
def test_nothing_that_fits_is_said(command: str, container: str, capsys: Capture) -> None:
    assert main([command, container, "--kernel", "nobody"]) == 1
    assert "no cubin in it fits --kernel nobody" in capsys.readouterr().err


@pytest.mark.parametrize("command", [*ONE, *ALL])
def test_a_target_that_fits_nothing_is_told(command: str, container: str, capsys: Capture) -> None:
    assert main([command, container, "--arch", "sm_70"]) == 1
    found = "no cubin in it fits --arch sm_70; there is code for sm_90 sm_100"
    assert found in capsys.readouterr().err
    assert main([command, container, "--arch", "sm_70,90"]) == 0
    assert "no image is for sm_70; there are sm_90 sm_100" in capsys.readouterr().err


def test_a_kernel_picks_the_cubin_that_has_it(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "both.zip"
    path.write_bytes(zip_of({"a": cubin(), "b": cubin(NAMES)}))
    assert main(["tree", str(path), "header.e_machine", "--kernel", "kernel<float"]) == 0
    assert main(["dump", str(path), "--kernel", "void kernel<float, 4>(float*, float*, int)"]) == 0
    assert f"{path} → b: sm_100" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--image", ""], ["--arch", "best"]])
def test_a_wrong_pick_is_wrong_usage(words: list[str], capsys: Capture) -> None:
    assert main(["dump", "absent", *words]) == 2


def _cubinspec(*words: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "cubinspec", *words], input=data, capture_output=True
    )


@pytest.mark.parametrize(
    "words",
    [["kernels"], ["images"], ["archs"], ["size"], ["dump", "--arch", "90"], ["roundtrip"]],
    ids=" ".join,
)
def test_a_hyphen_is_the_standard_input(words: list[str]) -> None:
    done = _cubinspec(*words, "-", data=simple_fatbin())
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


def test_a_hyphen_as_output_is_the_standard_output() -> None:
    text = _cubinspec("to-yaml", "-", "-o", "-", data=cubin()).stdout
    assert _cubinspec("from-yaml", "-", "-o", "-", data=text).stdout == cubin()
    cut = _cubinspec("keep", "-", "direct", "-o", "-", data=cubin()).stdout
    assert [kernel.name for kernel in Cubin.parse(cut).kernels] == ["direct"]
    packed = _cubinspec("pack", "-", "-o", "-", data=cubin())
    assert _cubinspec("kernels", "-", data=packed.stdout).returncode == 0


# --- names ----------------------------------------------------------------------------------------

MANGLED = [
    "_ZN3lib4gemmIfLi4EEEvPT_",  # void lib::gemm<float, 4>(float*)
    "_ZN3lib4gemmIdLi4EEEvPT_",
    "_ZN3lib4copyEPf",
    "k",
    "k_suffix",
]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("k", 3),
        ("k_", 4),
        ("_ZN3lib4copyEPf", 2),
        ("lib::copy(float*)", 2),
        ("lib::copy", 2),
        ("copy", 2),
        ("void lib::gemm<float, 4>(float*)", 0),
        ("lib::gemm<double, 4>", 1),
        ("*<float*", 0),
        ("void lib…(double*)", 1),
    ],
)
def test_a_name_is_taken_as_it_is_printed_or_by_a_unique_part(word: str, meant: int) -> None:
    assert resolve(word, MANGLED) == MANGLED[meant]


def test_a_name_that_fits_several_or_none_says_which_are_near() -> None:
    with pytest.raises(NoSuchNameError, match="'gemm' fits 2 functions") as several:
        resolve("gemm", MANGLED)
    assert not several.value.is_unknown
    with pytest.raises(NoSuchNameError, match="no function 'lib::cpoy' is here") as none:
        resolve("lib::cpoy", MANGLED)
    assert none.value.is_unknown
    assert "lib::copy(float*)" in str(none.value.expected)
    assert resolve_all("*gemm*", MANGLED) == MANGLED[:2]


def test_messages_stay_short_with_long_names() -> None:
    names = [f"kernel_{number}_" + "x" * 5000 for number in range(100)]
    with pytest.raises(NoSuchNameError) as caught:
        resolve("kernal_7_", names)
    assert len(str(caught.value)) < 800
    assert len(short("x" * 5000)) <= 100


@pytest.mark.parametrize(
    "word", ["kernel<float, 4>", "void kernel<float, 4>(float*, float*, int)", "float"]
)
def test_editing_takes_the_names_that_kernels_prints(
    word: str, tmp_path: Path, capsys: Capture
) -> None:
    source, out = str(CUBINS / NAMES), str(tmp_path / "out.cubin")
    assert main(["keep", source, word, "-o", out]) == 0
    with Cubin.open(out) as kept:
        assert [readable(kernel.name) for kernel in kept.kernels] == [
            "void kernel<float, 4>(float*, float*, int)"
        ]
    assert main(["rename", source, word, "renamed", "-o", out]) == 0
    assert main(["kernels", "--json", out]) == 0
    assert "renamed" in {record["name"] for record in json.loads(capsys.readouterr().out)}


def test_set_takes_them_too_and_suggests_near_ones(tmp_path: Path, capsys: Capture) -> None:
    source, out = str(CUBINS / NAMES), str(tmp_path / "out.cubin")
    assert main(["set", source, "--kernel", "kernel<float", "--registers", "40", "-o", out]) == 0
    assert main(["set", source, "--kernel", "k_sufix", "--registers", "40", "-o", out]) == 1
    assert "k_suffix" in capsys.readouterr().err


def test_why_takes_a_part_of_a_name_and_suggests(tmp_path: Path, capsys: Capture) -> None:
    out = str(tmp_path / "out.cubin")
    words = ["link", "-arch=sm_100", str(CUBINS / "names.sm_100.rel.cubin"), "-o", out]
    assert main([*words, "--why", "k_suf"]) == 0
    assert "k_suffix: linked" in capsys.readouterr().out
    assert main([*words, "--why", "k_sufix"]) == 0
    assert "k_sufix: no input names it; did you mean k_suffix" in capsys.readouterr().out
