"""Inputs that older and newer toolkits made, together with those of CUDA 13.0."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from cubinspec.format.attributes import split_records
from cubinspec.format.targets import linker_toolkits
from cubinspec.reader.elf import Elf
from cubinspec_generated.codes import EI_OSABI, ELFOSABI_CUDA
from cubinspec_writer.linker import LinkError, Named, UnsupportedLinkError, link
from cubinspec_writer.linker.command import linker_note, run
from tools.corpus.samples import CUBINS
from tools.linkcases import versions
from tools.oracle import Tool

PAIRS = (
    ("small.sm_90.rel.12.9.86", "calls.sm_90.rel.12.0.140", "sm_90"),
    ("cluster_sm90.sm_90.rel.12.4.131", "virtual_calls.sm_90.rel", "sm_90"),
    ("data.sm_90.rel", "calls.sm_90.rel.12.0.140", "sm_90a"),
    ("textures.sm_90.rel", "small.sm_90.rel.12.9.86", "sm_90"),
    ("calls.sm_90a.rel.12.8.93", "data.sm_90.rel", "sm_90a"),
    ("small.sm_90.rel.12.9.86", "params.sm_90a.rel.13.2.86", "sm_90a"),
    ("small.sm_100.rel.13.2.86", "data.sm_100.rel", "sm_100"),
)


@pytest.mark.oracle("nvlink")
@pytest.mark.parametrize(("first", "second", "arch"), PAIRS)
def test_versions_meet_as_in_nvlink(
    first: str, second: str, arch: str, nvlink: Tool, tmp_path: Path
) -> None:
    names = [f"{first}.cubin", f"{second}.cubin"]
    out = tmp_path / "out.cubin"
    theirs = nvlink.run(f"-arch={arch}", *names, "-o", out, cwd=CUBINS)
    expected = out.read_bytes() if theirs.returncode == 0 else None
    note = linker_note(expected, "nvlink") if expected else None
    inputs = [Named(name, (CUBINS / name).read_bytes()) for name in names]
    try:
        result = link(inputs, arch=arch, tkinfo=note, toolkit="13.0")
        data, messages, status = result.bytes, result.messages, 0
    except LinkError as error:
        data, messages, status = None, error.messages, error.exit_code
    said = "".join(f"nvlink {level:<7} : {text}\n" for level, text in messages)
    assert (said, status) == (theirs.stderr, theirs.returncode)
    assert data == expected


def _section(data: bytes, name: str) -> bytes:
    elf = Elf(data, "linked")
    return elf.section_bytes(elf.section_names.index(name))


def _toolkit(data: bytes) -> int:
    return int.from_bytes(_section(data, ".note.nv.cuinfo")[28:30], "little")


def _linked(*names: str, arch: str = "sm_90a", toolkit: str | None = None) -> bytes:
    inputs = [Named(name, (CUBINS / f"{name}.cubin").read_bytes()) for name in names]
    return link(inputs, arch=arch, toolkit=toolkit).bytes


def test_newest_input_decides_the_toolkit() -> None:
    newer = "params.sm_90a.rel.13.2.86"
    assert _toolkit(_linked("small.sm_90.rel.12.9.86")) == 130
    assert _toolkit(_linked("small.sm_90.rel.12.9.86", newer)) == 132
    assert _toolkit(_linked("small.sm_90.rel.12.9.86", newer, toolkit="13.5")) == 135
    with pytest.raises(LinkError, match=r"newer than toolkit \(132 vs 130\)"):
        _linked("small.sm_90.rel.12.9.86", newer, toolkit="13.0")


def test_what_is_not_imitated_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedLinkError, match=r"the nvlink of CUDA 12\.7"):
        _linked("data.sm_90.rel", toolkit="12.7")
    with pytest.raises(UnsupportedLinkError, match=r"the nvlink of CUDA 12\.8 for sm_100"):
        _linked("small.sm_100.rel", arch="sm_100", toolkit="12.8")
    with pytest.raises(LinkError, match=r"newer than toolkit \(130 vs 128\)"):
        _linked("data.sm_90.rel", toolkit="12.8")
    with pytest.raises(UnsupportedLinkError, match=r"code of CUDA 13\.0 .* link of CUDA 13\.4"):
        _linked("small.sm_100.rel", arch="sm_100", toolkit="13.4")


@pytest.mark.parametrize("version", [v for v, row in linker_toolkits().items() if not row.notes])
@pytest.mark.parametrize("flag", ["-r", "--preserve-relocs", "-g"])
def test_options_that_are_not_known_of_cuda_12_are_refused(
    version: str, flag: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(CUBINS)
    words = ["-arch=sm_90", "calls.sm_90.rel.12.0.140.cubin", f"--toolkit={version}", flag]
    assert run([*words, "-o", "refused"]) == 1
    said = f"not supported by this linker: {flag} of the nvlink of CUDA {version}\n"
    assert capsys.readouterr().err.endswith(said)
    assert not Path("refused").exists()


#: What nvlink of each version was seen to write for inputs of ptxas 13.0.88 (rule K2).
_COMPAT = {
    "13.0": "9 2=1 5=5 7=101 3 6=1",
    "13.1": "9 2=1 5=5 7=101 3",
    "13.2": "9 2=1 5=5 7=101 3 b",
    "13.3": "9 2=1 5=5 7=101 3 b d=100",
    "13.4": "9 2=1 5=5 7=101 3 b c=2 d=100",
    "13.5": "9 2=1 5=5 7=101 3 b c=2 d=100",
}


@pytest.mark.parametrize("version", _COMPAT)
def test_compat_records_of_every_toolkit(version: str) -> None:
    records = split_records(
        _section(_linked("data.sm_90.rel", arch="sm_90", toolkit=version), ".nv.compat")
    )
    texts = []
    for record in records:
        value = int.from_bytes(record[2:4] if record[0] != 4 else record[4:], "little")
        texts.append(f"{record[1]:x}={value:x}" if value else f"{record[1]:x}")
    assert " ".join(texts) == _COMPAT[version]


#: The second sample for versions to which the usual one is too new.
_SECOND = dict.fromkeys(("12.0", "12.1", "12.2", "12.3"), "calls.sm_80.rel.11.8.89")
#: What nvJitLink of each version was seen to make of two samples: SHA-256.
_OLDER = {
    "12.0": (
        "0697d36353a4b9342b85ba17aede153cf4d7313ded71656516760aa20cd0ad34",
        "6f6be5c108385c70233bf4551783fe18690f11aef844cfc9cc023713511eb085",
    ),
    "12.1": (
        "688da6f61f79cd91efee55a070af60bf55c602b4ffb8f1686528bdd7cb77e210",
        "46020c332b22d5ebba9a9126f9fac494662e506a8f2077f762ca9001ad443826",
    ),
    "12.2": (
        "999baf53727569e3e222059a47694bb5eb3e5d5215ec734ee47a21057733960c",
        "ae59cebbd385c20e2c850d997f2b2ae7d7c459b57aee7f40ee83f854fef7bdab",
    ),
    "12.3": (
        "317e913445756b1c938a97ae5cd59c3ba8946b0cb86cc931b2321316ebb686fa",
        "c0abe61618b6137f9609f42f11712e1e59e3e23e666e356b075a7eded55ecf8a",
    ),
    "12.4": (
        "5ad52296fcb90b1ddef68f4d17e9a1b91f0441ef45384f4db250dd3709a3cd89",
        "7c10a8719a50ff16dd5b7db75232f0db3286df59093060b8233c321ef25c23a1",
    ),
    "12.5": (
        "1757ec2d3bb12848851b38abf890503723cc65ad077644997df419777381e63e",
        "95dd68561163bfcaa43b075a99b4ca363f543acf72c1b0d795ccce48dbed07ca",
    ),
    "12.6": (
        "5bf708bb7a18d55cb38b90c63a104b7b3b95c1a83140839e7f4be26d6488beb1",
        "d8d53a9757da51b1c53b00b95cd3bd9d7f31ffc51da013d7b5a7463872221b27",
    ),
    "12.8": (
        "610aa4e919973e3aeee8110c9b7ebe8cfb2170c65f48311f30549e3df837ffab",
        "93026cbaf561aa08a48cc2eebdcf65fe3518be34c6628a5f01cd127295979684",
    ),
    "12.9": (
        "70079ee15a3ded368054c3170acf194903d84018798bd9f5893842c89baa7885",
        "523f61d8b65ef28c0e3bda1b82a1596ba88ebad2dca2e04ac4610433f05d1177",
    ),
}


@pytest.mark.parametrize("version", _OLDER)
def test_older_toolkits_write_their_own_form(version: str) -> None:
    made = [
        _linked("calls.sm_90.rel.12.0.140", arch="sm_90", toolkit=version),
        _linked(_SECOND.get(version, "data.sm_80.rel.12.4.131"), arch="sm_80", toolkit=version),
    ]
    assert [Elf(data, "linked").ident[EI_OSABI] for data in made] == [ELFOSABI_CUDA] * 2
    assert [hashlib.sha256(data).hexdigest() for data in made] == list(_OLDER[version])
    assert {*_OLDER} == {v for v, row in linker_toolkits().items() if not row.notes}


def test_most_cases_are_linked_as_by_every_nvlink() -> None:
    for path in (versions.TABLE, versions.OWN_TABLE):
        for version, arch, links, same, others in versions.table(path):
            assert links == same + len(others)
            assert same >= 0.88 * links, (version, arch)
    assert {row[0] for row in versions.table()} == {versions.JIT, *linker_toolkits()} - {"13.0"}
    own = versions.table(versions.OWN_TABLE)
    assert {row[0] for row in own} == {*versions.labels()}
    assert {row[1] for row in own} == {*versions.ARCHES, *versions.OWN_ARCHES}
