"""The YAML form: lossless, readable, and precise about what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cubinspec.cli import main
from cubinspec.errors import CubinError
from cubinspec.model.cubin import Cubin
from cubinspec_writer.emit import roundtrip
from cubinspec_writer.yaml_form import YamlError, from_yaml, to_yaml
from cubinspec_writer.yaml_form.text import quote_name, unquote_name

SMALLEST = """\
cubin: 1
profile: classic
header: {type: ET_EXEC, flags: 0x4b04}
contents:
- section: .note.nv.tkinfo
  notes:
  - {type: 2000, owner: 'NVIDIA Corp', note_version: 2, object_file: '', tool_name: by-hand,
     tool_version: '1', tool_branch: '', arguments: ''}
- section: .note.nv.cuinfo
  flags: [SHF_NOTE_NV_CUINFO]
  notes: [{type: 1000, owner: 'NVIDIA Corp', note_version: 2, virtual_sm: 75, toolkit_version: 130}]
- section: .nv.info
  records:
  - EIATTR_REGCOUNT: {function: k, registers: 8}
- section: .text.k
  registers: 8
  data: '4d790000000000000000800300ea0f00'
- section: .nv.info.k
  records:
  - EIATTR_EXIT_INSTR_OFFSETS: [0]
- section: .nv.constant0.k
  zeros: 352
symbols:
- {symbol: k, type: STT_FUNC, bind: STB_GLOBAL, other: [ENTRY], section: .text.k, size: 16}
"""


def test_sample_comes_back(sample: Path) -> None:
    data = sample.read_bytes()
    assert from_yaml(to_yaml(data)) == data


@pytest.mark.corpus
def test_corpus_comes_back(corpus: list[Path]) -> None:
    for file in corpus:
        data = file.read_bytes()
        assert from_yaml(to_yaml(data)) == data, file


def test_smallest_cubin() -> None:
    data = from_yaml(SMALLEST)
    cubin = Cubin.parse(data)
    (kernel,) = cubin.kernels
    assert (kernel.name, kernel.registers, cubin.header.sm) == ("k", 8, 75)
    assert roundtrip(data).layout == "computed"


@pytest.mark.oracle("nvdisasm")
def test_vendor_tool_takes_the_smallest_cubin(tmp_path: Path, nvdisasm: object) -> None:
    from tools import oracle

    assert isinstance(nvdisasm, oracle.Tool)
    file = tmp_path / "k.cubin"
    file.write_bytes(from_yaml(SMALLEST))
    assert "EXIT" in nvdisasm.run(str(file)).check().stdout


def test_overrides_change_header_fields_only() -> None:
    good = from_yaml(SMALLEST)
    text = SMALLEST + "overrides: {e_machine: 62, e_shnum: 3}\n"
    text = text.replace("  registers: 8\n", "  registers: 8\n  sh_offset: 0xffffffff\n")
    bad = from_yaml(text)
    assert len(bad) == len(good)
    changed = [at for at in range(len(good)) if good[at] != bad[at]]
    assert int.from_bytes(bad[18:20], "little") == 62
    assert int.from_bytes(bad[60:62], "little") == 3
    assert len(changed) <= 2 + 2 + 8


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("contents:", "content:", "no such key: content"),
        ("zeros: 352", "zeros: '352'", "line 22, column 3"),
        ("zeros: 352", "zeros: 352\n  data: ''", "data and zeros"),
        ("zeros: 352", "align: 24\n  zeros: 352", "24 is no power of two"),
        ("section: .text.k, size", "section: .text.q, size", "no section is called .text.q"),
        ("{function: k,", "{function: q,", "no symbol is called q"),
        ("registers: 8}", "registers: 0x100000000}", "out of range"),
        ("registers: 8}", "registers: 8, more: 1}", "exactly the fields"),
        ("EIATTR_REGCOUNT", "EIATTR_NOTHING", "no attribute is called"),
        ("STT_FUNC", "STT_CODE", "unknown name STT_CODE"),
        ("[ENTRY]", "[EXIT]", "unknown ['EXIT']"),
        ("data: '4d79", "data: 'xx79", "no hexadecimal bytes"),
        ("profile: classic", "profile: none", "unknown profile"),
        ("cubin: 1", "cubin: 1\ncubin: 1", "stands here twice"),
        ("cubin: 1", "cubin: [", "line"),
        ("- section: .text.k", "- file: x\n- section: .text.k", "no such key: file"),
        ("symbols:", "fills:\n- {offset: 70, data: '00'}\nsymbols:", "overlaps .shstrtab"),
        (
            "symbols:",
            "fills:\n- {offset: 9000, data: '0000'}\n- {offset: 9001, data: '00'}\nsymbols:",
            "overlaps fills[0]",
        ),
    ],
)
def test_errors_name_the_place(old: str, new: str, message: str) -> None:
    assert old in SMALLEST
    with pytest.raises(YamlError) as caught:
        from_yaml(SMALLEST.replace(old, new, 1), "x.yaml")
    assert message in str(caught.value)
    assert "line " in str(caught.value)


def test_impossible_sizes_are_refused() -> None:
    text = SMALLEST.replace("zeros: 352", "offset: 0x1000000000000\n  zeros: 352")
    with pytest.raises(CubinError, match="the file would have"):
        from_yaml(text)


def test_side_files_stay_in_their_folder(tmp_path: Path) -> None:
    text = SMALLEST.replace("data: '4d790000000000000000800300ea0f00'", "file: code.bin")
    (tmp_path / "code.bin").write_bytes(bytes.fromhex("4d790000000000000000800300ea0f00"))
    assert from_yaml(text, folder=tmp_path) == from_yaml(SMALLEST)
    for name in ("../code.bin", "/etc/hostname", "missing.bin"):
        with pytest.raises(YamlError):
            from_yaml(text.replace("code.bin", name), folder=tmp_path)
    with pytest.raises(YamlError, match="not allowed"):
        from_yaml(text)


@pytest.mark.parametrize("name", ["k", "", "hex:00", "a b", "caf\u00e9", "\udcff\x01", "no", "1e5"])
def test_any_name_survives(name: str) -> None:
    assert unquote_name(quote_name(name)) == name
    if name:
        data = from_yaml(
            SMALLEST.replace("symbol: k,", f"symbol: '{quote_name(name)}',", 1).replace(
                "{function: k,", "{function: 5,"
            )
        )
        assert from_yaml(to_yaml(data)) == data


def test_commands(tmp_path: Path, samples: list[Path]) -> None:
    sample = samples[0]
    text, again = tmp_path / "x.yaml", tmp_path / "again.cubin"
    assert main(["to-yaml", str(sample), "-o", str(text), "--side-files", str(tmp_path / "s")]) == 0
    assert main(["from-yaml", str(text), "-o", str(again)]) == 0
    assert again.read_bytes() == sample.read_bytes()
    text.write_text("cubin: 2\ncontents: []\n")
    before = again.read_bytes()
    assert main(["from-yaml", str(text), "-o", str(again)]) == 1
    assert again.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.cubin", "s", "x.yaml"]
