"""What a link says beside the cubin: the map, reasons, the call graph."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

import cubinspec_writer
from cubinspec.cli import main
from cubinspec.reader.elf import Elf
from cubinspec_writer.linker import LinkResult, link
from cubinspec_writer.linker.command import run
from tools.oracle import Tool

pytestmark = pytest.mark.oracle("ptxas")
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
CALL = (
    "{{ .param .b32 x; .param .b32 y; st.param.b32 [x],%r1; call (y),{},(x);"
    " ld.param.b32 %r1,[y]; }}\n"
)
FUNCTION = (
    ".visible .func (.param .b32 r) {}(.param .b32 a) {{ .reg .b32 %r<3>; ld.param.b32 %r1,[a];\n"
    "{}st.param.b32 [r],%r1; ret; }}\n"
)
EXTERN = ".extern .func (.param .b32 r) {}(.param .b32 a);\n"
KERNEL = (
    ".visible .entry {}(.param .u64 p) {{ .reg .b32 %r<3>; .reg .b64 %d<2>; ld.param.u64 %d1,[p];\n"
    "ld.global.b32 %r1,[%d1];\n{}st.global.b32 [%d1],%r1; ret; }}\n"
)
SOURCES = {
    "kernel": HEAD
    + EXTERN.format("middle")
    + KERNEL.format("first", CALL.format("middle"))
    + KERNEL.format("second", ""),
    "functions": HEAD
    + FUNCTION.format("leaf", "add.s32 %r1,%r1,7;\n")
    + FUNCTION.format("middle", CALL.format("leaf"))
    + FUNCTION.format("idle", CALL.format("leaf"))
    + FUNCTION.format("held", "")
    + ".visible .global .align 8 .u64 table[1] = {held};\n"
    + ".visible .global .align 4 .b32 word = 5;\n",
    "again": HEAD
    + ".weak .func (.param .b32 r) leaf(.param .b32 a) { st.param.b32 [r],3; ret; }\n",
}
ARCHES = ["75", "90", "100"]


@pytest.fixture(scope="module", params=ARCHES)
def linked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LinkResult:
    """Two kernels, functions of which one is idle, one is held by data, one is there twice."""
    return link(_objects(request.param, tmp_path_factory.mktemp("link")), arch=_name(request.param))


def _name(arch: str) -> str:
    return f"sm_{arch}"


def _objects(arch: str, folder: Path) -> list[Path]:
    from tools import oracle

    made = []
    for name, text in SOURCES.items():
        source, out = folder / f"{name}.ptx", folder / f"{name}.cubin"
        source.write_text(text)
        oracle.find("ptxas").run(f"-arch=sm_{arch}", "-c", source, "-o", out).check()
        made.append(out)
    return made


def _input(document: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(i for i in document["inputs"] if i["name"].endswith(name))
    return found


def test_map_fits_its_schema(linked: LinkResult) -> None:
    text = files("cubinspec_writer.linker").joinpath("map.schema.json").read_text("utf-8")
    jsonschema.Draft202012Validator(json.loads(text)).validate(json.loads(json.dumps(linked.map)))


def test_map_has_every_section_and_symbol_of_every_input(linked: LinkResult) -> None:
    for entry in linked.map["inputs"]:
        elf = Elf(Path(entry["name"]).read_bytes(), entry["name"])
        assert [s["index"] for s in entry["sections"]] == sorted(
            range(1, len(elf.section_names)), key=[s["index"] for s in entry["sections"]].index
        )
        for section in entry["sections"]:
            assert section["name"] == elf.section_names[section["index"]]
            assert section["reason"]
        table = elf.find_section(2)
        assert table is not None
        assert [s["index"] for s in entry["symbols"]] == list(range(1, len(elf.symbol_rows(table))))


def test_bytes_are_where_the_map_says(linked: LinkResult) -> None:
    output = Elf(linked.bytes, "output")
    checked = 0
    for entry in linked.map["inputs"]:
        elf = Elf(Path(entry["name"]).read_bytes(), entry["name"])
        for section in entry["sections"]:
            if section["fate"] != "merged" or section["half"] != "sass" or section["type"] == 8:
                continue
            data = bytes(elf.section_bytes(section["index"]))
            for place in section["to"]:
                assert output.section_names[place["index"]] == place["section"]
                there = bytes(output.section_bytes(place["index"]))
                if ".text." in place["section"] or place["section"] == ".nv.global.init":
                    first = place["offset"]
                    changed = sum(
                        a != b for a, b in zip(data, there[first : first + len(data)], strict=True)
                    )
                    assert changed <= 16
                    checked += 1
    assert checked >= 6


def test_map_says_why_functions_stay_or_go(linked: LinkResult) -> None:
    document = linked.map
    symbols = {s["name"]: s for s in _input(document, "functions.cubin")["symbols"]}
    assert (symbols["idle"]["fate"], symbols["idle"]["to"]) == ("dropped", None)
    assert symbols["leaf"]["reason"] == "reached: first -> middle -> leaf"
    assert symbols["held"]["reason"].startswith("named by .nv.global.init of ")
    again = {s["name"]: s for s in _input(document, "again.cubin")["symbols"]}
    assert again["leaf"]["fate"] == "duplicate"
    wanted = {s["name"]: s for s in _input(document, "kernel.cubin")["symbols"]}
    assert wanted["middle"]["fate"] == "resolved"
    dropped = [
        s for s in _input(document, "functions.cubin")["sections"] if s["name"] == ".text.idle"
    ]
    assert [s["fate"] for s in dropped] == ["dropped"]


def test_map_has_the_way_of_registers_and_stack(linked: LinkResult) -> None:
    kernels = {k["name"]: k for k in linked.map["kernels"]}
    assert kernels["first"]["functions"] == ["first", "middle", "leaf"]
    for what in ("registers", "stack"):
        path = kernels["first"][what]["path"]
        assert path[0]["function"] == "first"
        assert kernels["first"][what]["value"] is not None
    frames = [step["frame"] for step in kernels["first"]["stack"]["path"]]
    assert sum(frames) == kernels["first"]["stack"]["value"]
    registers = kernels["first"]["registers"]
    assert registers["path"][-1]["registers"] == registers["value"]


def test_why(linked: LinkResult) -> None:
    assert linked.why("idle")[0] == "idle: not linked"
    assert "  no kernel that is linked reaches it, and no data names it" in linked.why("idle")
    assert "  reached: first -> middle" in linked.why("middle")
    assert linked.why("first")[-1] == "  a kernel"
    assert linked.why("nowhere") == ["nowhere: no input names it"]


def test_call_graph_for_graphviz_and_drawn(linked: LinkResult) -> None:
    text = linked.callgraph_dot
    labels = {line.split()[0]: line for line in text.splitlines() if "label=" in line}
    assert len(labels) == 5
    assert sum("peripheries=2" in line for line in labels.values()) == 2
    arrows = [line for line in text.splitlines() if "->" in line]
    assert len(arrows) == 2
    picture = ElementTree.fromstring(linked.callgraph_svg)
    name = "{http://www.w3.org/2000/svg}"
    groups = picture.findall(f"{name}g")
    assert [group.get("class") for group in groups].count("kernel") == 2
    titles = {group.findtext(f"{name}title") for group in groups}
    assert {"first", "middle", "leaf"} <= titles
    assert len(groups) == 5
    assert len(picture.findall(f"{name}path")) == 2


def test_command_writes_all_of_it(
    ptxas: Tool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = [str(path) for path in _objects("90", tmp_path)]
    out, where = str(tmp_path / "out.cubin"), tmp_path / "map.json"
    dot = tmp_path / "calls.dot"
    words = ["-arch=sm_90", *inputs, "-o", out, f"--map={where}", "--why", "leaf,idle"]
    assert run([*words, f"--callgraph-dot={dot}"]) == 0
    assert json.loads(where.read_text())["arch"] == "sm_90"
    assert dot.read_text().startswith("digraph callgraph {")
    said = capsys.readouterr().out
    assert "leaf: linked" in said
    assert "idle: not linked" in said


def test_package_has_the_function(ptxas: Tool, tmp_path: Path) -> None:
    inputs = _objects("80", tmp_path)
    assert cubinspec_writer.link is link
    assert cubinspec_writer.link(inputs, arch="sm_80").bytes == link(inputs, "sm_80").bytes


# -- who shares memory ----------------------------------------------------------------------------

VOID = ".visible .func {}() {{ .reg .b32 %r<2>; mov.u32 %r1,{}; st.shared.b32 [%r1],7; ret; }}\n"
CALLS = ".visible .entry {}() {{ {} ret; }}\n"
#: Variable, its bytes, and the function that uses it.
VARIABLES = {"vf": (64, "f"), "vg": (32, "g"), "vh": (16, "h"), "alone": (8, "lonely")}
#: Two kernels need vf and vg, two vf and vh: vg and vh can share a place.
KERNELS = {"p1": "fg", "p2": "fg", "q1": "fh", "q2": "fh", "r": ("lonely",)}


def _shared_program(arch: str, folder: Path) -> list[Path]:
    from tools import oracle

    functions = HEAD + "".join(
        f".visible .shared .align 4 .b8 {name}[{size}];\n" + VOID.format(function, name)
        for name, (size, function) in VARIABLES.items()
    )
    kernels = HEAD + "".join(f".extern .func {f}();\n" for _, f in VARIABLES.values())
    for kernel, called in KERNELS.items():
        kernels += CALLS.format(kernel, " ".join(f"call {f};" for f in called))
    made = []
    for name, text in (("kernels", kernels), ("functions", functions)):
        source, out = folder / f"{name}.ptx", folder / f"{name}.cubin"
        source.write_text(text)
        oracle.find("ptxas").run(f"-arch=sm_{arch}", "-c", source, "-o", out).check()
        made.append(out)
    return made


@pytest.mark.parametrize("arch", ARCHES)
def test_the_map_says_who_shares_shared_memory(arch: str, tmp_path: Path) -> None:
    result = link(_shared_program(arch, tmp_path), arch=_name(arch))
    found = result.map["shared_memory"]
    names = [variable["name"] for variable in found["variables"]]
    users = {v["name"]: sorted(v["kernels"]) for v in found["variables"]}
    every, first, second = ["p1", "p2", "q1", "q2"], ["p1", "p2"], ["q1", "q2"]
    assert users == {"vf": every, "vg": first, "vh": second, "alone": ["r"]}
    groups = [{names[number] for number in group["variables"]} for group in found["groups"]]
    assert groups == [{"vf"}, {"vg", "vh"}]
    assert [group["offset"] for group in found["groups"]] == [0, 64]
    edges = {frozenset(names[number] for number in pair) for pair in found["interferences"]}
    assert edges == {frozenset(("vf", "vg")), frozenset(("vf", "vh"))}
    text = files("cubinspec_writer.linker").joinpath("map.schema.json").read_text("utf-8")
    jsonschema.Draft202012Validator(json.loads(text)).validate(json.loads(json.dumps(result.map)))
    assert result.summary["shared"]["variables"] == 3
    assert result.summary["shared"]["variables_saved"] == 16


@pytest.mark.parametrize("arch", ARCHES)
def test_the_summary_counts_what_was_linked_and_dropped(
    arch: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = [str(path) for path in _objects(arch, tmp_path)]
    out = str(tmp_path / "out.cubin")
    assert main(["link", f"-arch={_name(arch)}", *inputs, "-o", out, "--summary"]) == 0
    text = capsys.readouterr().out
    size = Path(out).stat().st_size
    assert text.startswith(f"{out}: {_name(arch)}, {size:,} bytes, linked of 3 inputs\n")
    record = link(inputs, arch=_name(arch)).summary
    assert sum(record["bytes"].values()) == record["size"]
    counts = {
        fate: [record[fate][what] for what in ("kernels", "functions", "variables")]
        for fate in ("linked", "dropped", "duplicate")
    }
    # idle is not reached; leaf is there twice
    assert counts == {"linked": [2, 3, 2], "dropped": [0, 1, 0], "duplicate": [0, 1, 0]}
    assert "  dropped    0 kernels, 1 function, 0 variables; " in text
    assert main(["kernels", out]) == 0
    assert text.endswith(capsys.readouterr().out)


def test_help_names_what_nvlink_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["link", "--help"]) == 0
    _, ours = capsys.readouterr().out.split("Options that nvlink does not have")
    for option in ("--summary", "--map", "--why", "--check-output", "--share-constants"):
        assert f"\n  {option}" in ours
