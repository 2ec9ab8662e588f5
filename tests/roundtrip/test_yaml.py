"""The YAML form: lossless, readable, and precise about what is wrong with it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from cubinspec import Cubin
from cubinspec.cli import main
from cubinspec.reader.elf import Elf
from cubinspec_generated import record_fields, records
from cubinspec_generated.codes import EI_NIDENT
from cubinspec_writer.emitter import roundtrip
from cubinspec_writer.yaml_form import YamlError, from_yaml, to_yaml
from cubinspec_writer.yaml_form.load import load
from cubinspec_writer.yaml_form.text import quote_name, unquote_name
from tools.oracle import Tool

ROOT = Path(__file__).parents[2]


def example(page: str) -> str:
    """The first YAML block of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


SMALLEST = example("README.md")
#: One section and nothing else.
BARE = "cubin: 1\ncontents:\n- {section: .x, zeros: 1}\n"
EMPTY_KERNEL = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"


def test_sample_comes_back(sample: Path) -> None:
    data = sample.read_bytes()
    assert from_yaml(to_yaml(data)) == data


@pytest.mark.corpus
def test_corpus_comes_back(corpus: list[Path]) -> None:
    for file in corpus:
        data = file.read_bytes()
        assert from_yaml(to_yaml(data)) == data, file


# -- the examples of the pages ---------------------------------------------------------------------


def test_smallest_cubin_of_the_readme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, made = tmp_path / "k.yaml", tmp_path / "k.cubin"
    source.write_text(SMALLEST)
    assert main(["from-yaml", str(source), "-o", str(made)]) == 0
    assert main(["check", "--json", str(made)]) == 0
    assert json.loads(capsys.readouterr().out) == []
    with Cubin.open(str(made)) as cubin:
        (kernel,) = cubin.kernels
        assert (kernel.name, kernel.registers, cubin.header.sm) == ("k", 4, 90)
    assert roundtrip(made.read_bytes()).layout == "computed"
    said = re.search(r"These are ([0-9,]+) bytes", (ROOT / "README.md").read_text())
    assert said is not None
    assert int(said[1].replace(",", "")) == made.stat().st_size


@pytest.mark.oracle("nvdisasm", "cuobjdump")
def test_vendor_tools_take_the_smallest_cubin(
    tmp_path: Path, nvdisasm: Tool, cuobjdump: Tool
) -> None:
    file = tmp_path / "k.cubin"
    file.write_bytes(from_yaml(SMALLEST))
    for output in (
        nvdisasm.run(file).check(),
        *(cuobjdump.run(option, file).check() for option in ("-elf", "-sass", "-res-usage")),
    ):
        assert output.stdout
        assert not output.stderr
    assert "EXIT" in nvdisasm.run(file).stdout
    assert "REG:4" in cuobjdump.run("-res-usage", file).stdout


@pytest.mark.oracle("ptxas")
def test_the_page_shows_what_ptxas_wrote(tmp_path: Path, ptxas: Tool) -> None:
    source, output = tmp_path / "k.ptx", tmp_path / "k.cubin"
    source.write_text(EMPTY_KERNEL)
    ptxas.run("-arch=sm_90", source, "-o", output).check()
    theirs = output.read_bytes()
    shown = example("docs/yaml.md")
    assert from_yaml(shown) == theirs
    assert to_yaml(theirs) == shown
    # the smallest cubin has the same bytes in every section that it does not leave shorter
    ours, read = from_yaml(SMALLEST), Elf(theirs, "ptxas")
    small = Elf(ours, "smallest")
    for name in (".text.k", ".nv.compat", ".nv.constant0.k", ".note.nv.cuinfo"):
        at, other = small.section_names.index(name), read.section_names.index(name)
        assert small.section_bytes(at) == read.section_bytes(other)


# -- overrides -------------------------------------------------------------------------------------


def test_overrides_change_header_fields_only() -> None:
    good = from_yaml(SMALLEST)
    text = SMALLEST + "overrides: {e_machine: 62, e_shnum: 3}\n"
    text = text.replace("  size: 256\n", "  size: 256\n  sh_offset: 0xffffffff\n")
    bad = from_yaml(text)
    assert len(bad) == len(good)
    changed = [at for at in range(len(good)) if good[at] != bad[at]]
    assert int.from_bytes(bad[18:20], "little") == 62
    assert int.from_bytes(bad[60:62], "little") == 3
    assert len(changed) <= 2 + 2 + 8


def test_note_headers_can_be_overridden() -> None:
    good = from_yaml(SMALLEST)
    bad = from_yaml(
        SMALLEST.replace("virtual_sm: 90", "len_description: 0xfffffff0, virtual_sm: 90")
    )
    assert bad.count(b"\xf0\xff\xff\xff") == good.count(b"\xf0\xff\xff\xff") + 1
    assert len(bad) == len(good)


def test_fills_are_padded_and_stand_where_they_are_told() -> None:
    size = len(from_yaml(SMALLEST))
    text = SMALLEST + f"file_size: {size + 16}\nfills:\n"
    text += f"- {{offset: {size}, data: '0102', padding: 'ff', size: 8}}\n"
    assert from_yaml(text)[size:] == b"\1\2" + b"\xff" * 6 + bytes(8)


def test_call_graphs_are_lists() -> None:
    text = SMALLEST + "- {symbol: f, other: [], type: STT_FUNC}\n"
    text = text.replace(
        "- section: .nv.constant0.k",
        "- {dropped: '#ii'}\n- section: .nv.callgraph\n  calls: [[k, f]]\n"
        "  indirect_calls: [[k, {signature: '#ii'}]]\n- section: .nv.constant0.k",
    )
    graph = Cubin.parse(from_yaml(text)).callgraph
    assert graph is not None
    assert [(edge.caller, edge.callee) for edge in graph.calls] == [("k", "f")]
    assert to_yaml(from_yaml(text)).count("calls:") == 2


# -- one error, with its place ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("contents:", "content:", "no such key: content"),
        ("size: 256", "size: '256'", "contents[4].size: line 18, column 3"),
        ("size: 256", "size: 256.0", "is not of type 'integer'"),
        ("size: 256", "size: 257", "209 bytes are no multiple of the padding's 16"),
        ("size: 256", "size: 16", "48 bytes do not fit into 16"),
        ("size: 256", "size: 256\n  zeros: 4", "one kind of contents, here are data and zeros"),
        ("- section: .nv.constant0.k", "- section: .nv.constant0.q.x", "no such key"),
        ("- section: .nv.constant0.k", "- section: .data", "one kind of contents, here is nothing"),
        ("size: 256", "size: 256\n  align: 24", "contents[4].align: line 19"),
        ("size: 256", "size: 256\n  align: 0x8000000000000000", "is no alignment"),
        ("size: 256", "size: 256\n  link: .q", "contents[4].link: line 19"),
        ("other: [ENTRY]", "section: .text.q", "no section is called .text.q"),
        ("other: [ENTRY]", "section: -5", "less than the minimum of 0"),
        (
            "{function: k,",
            "{function: q,",
            "records[0].EIATTR_REGCOUNT: line 10, column 5: no symbol",
        ),
        ("{function: k,", "{function: [k],", "no symbol is called"),
        ("registers: 4}", "registers: 0x100000000}", "out of range"),
        ("registers: 4}", "registers: 4, more: 1}", "exactly the fields"),
        ("EIATTR_REGCOUNT", "EIATTR_NOTHING", "no attribute is called"),
        ("[ENTRY]", "[ENTRY], type: STT_CODE", "unknown name STT_CODE"),
        ("[ENTRY]", "[EXIT]", "unknown ['EXIT']"),
        ("[ENTRY]", "[ENTRY], type: 16", "greater than the maximum of 15"),
        ("'827b", "'xx7b", "no hexadecimal bytes"),
        ("arch: sm_90", "arch: sm_91", "no architecture is called sm_91"),
        ("cubin: 1", "cubin: 1\nprofile: none", "unknown profile"),
        ("cubin: 1", "cubin: 2", "1 was expected"),
        (
            "cubin: 1",
            "cubin: 1\ncubin: 1",
            "cubin: line 2, column 1: the key 'cubin' stands here twice",
        ),
        ("cubin: 1", "cubin: [", "line"),
        ("virtual_sm: 90", "virtual_sm: 90, tool_name: x", "no field of this note: tool_name"),
        ("virtual_sm: 90, ", "", "virtual_sm is missing"),
        ("- section: .text.k", "- file: x\n- section: .text.k", "no such key: file"),
        ("symbols:", "overrides: {e_nothing: 1}\nsymbols:", "no such key: e_nothing"),
        ("symbols:", "overrides: {e_shnum: 65536}\nsymbols:", "overrides.e_shnum: line 23"),
        ("symbols:", "symbol_order: [0, 0]\nsymbols:", "symbol_order: line 23"),
        ("symbols:", "index_order: [1]\nsymbols:", "not every section stands here once"),
        ("symbols:", "fills:\n- {offset: 70, data: '00'}\nsymbols:", "overlaps .shstrtab"),
        ("symbols:", "fills:\n- {offset: 0xffffffffffff, data: '00'}\nsymbols:", "behind the file"),
        (
            "symbols:",
            "fills:\n- {offset: 9000, data: '0000'}\n- {offset: 9001, data: '00'}\nsymbols:",
            "overlaps fills[0]",
        ),
    ],
)
def test_errors_name_the_place(old: str, new: str, message: str) -> None:
    assert old in SMALLEST
    text = SMALLEST.replace(old, new, 1)
    if "constant0.q.x" in new:
        text = text.replace(new, f"{new}\n  parameters: 3")
    with pytest.raises(YamlError) as caught:
        from_yaml(text, "x.yaml")
    assert message in str(caught.value)
    assert re.match(r"x\.yaml: (\S+: )?line \d+, column \d+: ", str(caught.value))
    assert len(str(caught.value)) < 1000


LAUGHS = "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the document is empty"),
        ("5", "5 is not of type 'object'"),
        ("\0", "this is no text"),
        ("a: '\ufffe'", "this is no text"),
        (BARE + "---\n" + BARE, "a second document"),
        ("[" * 17 + "]" * 17, "more than 16 levels"),
        ("[" * 100_000, "more than 16 levels"),
        ("{a: " * 50_000, "more than 16 levels"),
        ("a0: &a0 [x, x]\n" + LAUGHS, "anchors and tags are not used here"),
        ("cubin: 1\ncontents: &a [*a]", "anchors and tags are not used here"),
        ("cubin: 1\ncontents: [*a]", "alias"),
        ("contents: !!python/object/apply:os.system [ls]", "anchors and tags are not used here"),
        ("{[a]: b}", "a key is one word"),
        (BARE.replace("zeros: 1", "zeros: " + "9" * 5000), "a number of more than 64 bits"),
        (BARE.replace("zeros: 1", "zeros: 0x" + "f" * 5000), "a number of more than 64 bits"),
        (BARE.replace("zeros: 1", "zeros: 0x40000001"), "bytes that are asked for and not given"),
        (BARE + "- {section: .y, zeros: 0x2000001}\n" * 2, "contents[2].zeros: line 5, column 17"),
        (
            BARE.replace("zeros: 1", "data: '', size: 0x40000001"),
            "bytes that are asked for and not given",
        ),
        (
            BARE + "fills: [{offset: 0, size: 0xffffffffff}]",
            "bytes that are asked for and not given",
        ),
        (BARE + "file_size: 0xffffffff", "greater than the maximum"),
        (BARE + "pinned: {e_shoff: 0xffffffffffffffff}", "the file would have"),
        (BARE.replace("zeros", "offset: 0x1000000000000, zeros"), "the file would have"),
        (BARE + "- {erased: 0xffffffff}", "greater than the maximum"),
        ("cubin: 1\ncontents: [{section: 'hex:0041', zeros: 1}]", "is no name"),
        (
            "cubin: 1\nheader: {class: 32}\ncontents: [{section: .x, addr: 0x100000000, zeros: 1}]",
            "fit",
        ),
    ],
)
def test_hostile_documents_are_refused_at_once(text: str, message: str) -> None:
    start = time.process_time()
    with pytest.raises(YamlError) as caught:
        from_yaml(text, "x.yaml")
    assert message in str(caught.value), str(caught.value)
    assert "line " in str(caught.value)
    assert time.process_time() - start < 5


def test_bytes_that_look_like_a_number_need_no_quotes() -> None:
    # a library that takes a leading zero for octal writes these digits plain
    plain = BARE.replace("zeros: 1", "data: 03000000000000000092898080280022")
    quoted = BARE.replace("zeros: 1", "data: '03000000000000000092898080280022'")
    assert from_yaml(plain) == from_yaml(quoted)


def test_side_files_stay_in_their_folder(tmp_path: Path) -> None:
    code = load(SMALLEST).section(".text.k")
    assert code is not None
    (tmp_path / "code.bin").write_bytes(code.body.data)  # type: ignore[attr-defined]
    text = re.sub(r"  data:\n(  - .*\n)+  padding.*\n  size.*\n", "  file: code.bin\n", SMALLEST)
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


def test_a_null_section_keeps_an_alignment_that_is_none() -> None:
    """Guided runs found it: `to_yaml` took such a file, and `from_yaml` refused its text."""
    text = BARE + "- {section: '', type: SHT_NULL, align: 0x100000000, size: 0, sh_offset: 0}\n"
    with pytest.raises(YamlError, match="the file would have"):
        from_yaml(text)
    data = bytearray((ROOT / "tests/data/cubins/small.sm_90.exe.cubin").read_bytes())
    header = records.ELF_HEADER_64.unpack_from(data, EI_NIDENT)
    places = dict(zip(record_fields.ELF_HEADER_64_FIELDS, header, strict=True))
    place = places["e_shoff"] + (places["e_shnum"] - 1) * records.SECTION_HEADER_64.size
    fields = record_fields.SECTION_HEADER_64_FIELDS
    row = dict.fromkeys(fields, 0) | {"sh_addralign": 1 << 32}
    records.SECTION_HEADER_64.pack_into(data, place, *(row[name] for name in fields))
    assert from_yaml(to_yaml(bytes(data))) == data


def test_bytes_may_stand_where_a_table_of_no_rows_begins() -> None:
    """Guided runs found it, too: `e_shoff` leads into the bytes that no section claims."""
    data = bytearray((ROOT / "tests/data/cubins/small.sm_90.exe.cubin").read_bytes())
    layout = records.ELF_HEADER_64
    row = dict(
        zip(record_fields.ELF_HEADER_64_FIELDS, layout.unpack_from(data, EI_NIDENT), strict=True)
    )
    layout.pack_into(data, EI_NIDENT, *(row | {"e_shnum": 0, "e_shstrndx": 0}).values())
    assert row["e_shoff"]
    assert from_yaml(to_yaml(bytes(data))) == data
