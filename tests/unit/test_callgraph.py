"""The call graph: its stacks are nvlink's, files are joined by name, pictures are well-formed."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

import cubinspec
from cubinspec.cli import main
from cubinspec.report.callgraph import JoinedCalls, Node, call_graph
from cubinspec.report.callgraph_text import dot_text, drawing, tree_lines
from cubinspec.report.layered import Arrow, Box, Layout, rows_of
from cubinspec.report.names import escaped
from cubinspec.report.stack import INDIRECT, RECURSION
from cubinspec_writer.yaml_form import from_yaml, to_yaml
from tests.unit.page_kit import HOSTILE, hostile_cubin

DATA = Path(__file__).parents[1] / "data" / "cubins"
SAMPLES = sorted(DATA.glob("*.cubin"))
REL = DATA / "calls.sm_90.rel.cubin"
CALLEE = DATA / "callee.sm_90.rel.cubin"
LINKED = DATA / "all_data.sm_90.link-exe.cubin"


def graph_of(path: Path) -> JoinedCalls:
    return call_graph([cubinspec.Cubin.open(path)])


def test_the_deepest_path_takes_what_the_linker_stated():
    compared = 0
    for sample in SAMPLES:
        cubin = cubinspec.Cubin.open(sample)
        if cubin.header.is_relocatable:
            continue
        graph = call_graph([cubin])
        for node in graph.nodes:
            if node.stated is not None:
                depth = graph.depth(node)
                assert (depth.open, depth.stack) == (None, node.stated), (sample.name, node)
                compared += 1
    assert compared > 500


def test_a_path_and_its_frames():
    graph = graph_of(LINKED)
    node = next(n for n in graph.nodes if n.name == "spaces")
    depth = graph.depth(node)
    assert [member.name for member in graph.path(node)] == ["spaces", "address_of_local"]
    assert depth.stack == sum(member.frame for member in graph.path(node)) == 584
    assert depth.barriers == 1


def test_recursion_and_pointers_are_named():
    graph = graph_of(REL)
    by_name = {node.name: node for node in graph.nodes}
    assert graph.depth(by_name["direct"]).open == (RECURSION, ("recursive", "recursive"))
    assert graph.depth(by_name["never_returns"]).open is None
    assert {n.name for n in by_name["indirect"].edges["may call"]} == {
        *("leaf", "weak_leaf", "recursive")
    }
    alone = Node("f", "function", signatures=["#ii"])
    assert JoinedCalls([alone]).depth(alone).open == (INDIRECT, ("f",))


def test_files_are_joined_by_name():
    apart = graph_of(REL)
    joined = call_graph([cubinspec.Cubin.open(REL), cubinspec.Cubin.open(CALLEE)])
    twice = call_graph([cubinspec.Cubin.open(REL), cubinspec.Cubin.open(REL)])
    assert len(joined.nodes) > len(apart.nodes)
    # local functions stay apart, all others are the same
    assert len(twice.nodes) == len(apart.nodes) + 1


def test_of_several_copies_one_counts_and_calls(tmp_path):
    """The strong one, else the first; what the others call, nobody calls."""
    text = to_yaml(REL.read_bytes())
    weak = text.replace("weak_leaf, bind: STB_WEAK", "weak_leaf, bind: STB_GLOBAL")
    weak = weak.replace("{symbol: direct", "{symbol: direct, bind: STB_WEAK", 1)
    weak = weak.replace("{function: direct, registers: 24}", "{function: direct, registers: 32}")
    assert weak.count("STB_WEAK") == text.count("STB_WEAK")
    first, second = tmp_path / "weak.cubin", tmp_path / "strong.cubin"
    first.write_bytes(from_yaml(weak))
    second.write_bytes(from_yaml(text))
    for paths in (first, second), (second, first):
        graph = call_graph(map(cubinspec.Cubin.open, paths))
        by_name = {node.name: node for node in graph.nodes if node.name != "local_leaf"}
        assert by_name["direct"].registers == 24
        assert by_name["direct"].file == str(second)
        assert by_name["weak_leaf"].file == str(first)
        assert by_name["never_returns"].file == str(paths[0])
        callees = [node.name for node in by_name["never_returns"].callees()]
        assert callees == ["local_leaf"]


def test_an_external_function_is_found_in_another_file():
    samples = [s for s in SAMPLES if ".rel" in s.name and "sm_90" in s.name]
    graphs = [(s, graph_of(s)) for s in samples]
    wanting = [(s, n.name) for s, g in graphs for n in g.nodes if n.kind == "external"]
    assert wanting
    found = 0
    for sample, name in wanting:
        for other, graph in graphs:
            if any(n.name == name and n.kind == "function" for n in graph.nodes):
                both = call_graph([cubinspec.Cubin.open(sample), cubinspec.Cubin.open(other)])
                kinds = {n.kind for n in both.nodes if n.name == name}
                assert kinds == {"function"}
                found += 1
    assert found


def test_a_deep_chain_and_a_wide_circle_need_no_recursion():
    nodes = [Node(f"f{number}", "function", frame=8) for number in range(20_000)]
    for upper, lower in pairwise(nodes):
        upper.link("calls", lower)
    graph = JoinedCalls(nodes)
    assert graph.depth(nodes[0]).stack == 8 * 20_000
    assert len(graph.path(nodes[0])) == 20_000
    lines = list(tree_lines(graph, [nodes[0]]))
    assert len(lines) == 101
    assert "left out" in lines[-1]
    assert len(list(tree_lines(graph, [nodes[-50]]))) == 50
    nodes[-1].link("calls", nodes[0])
    circle = JoinedCalls(nodes[-3:])
    assert circle.depth(nodes[-1]).open[0] == RECURSION


def test_every_sample_has_a_tree_and_well_formed_pictures():
    for sample in SAMPLES[::7]:
        graph = graph_of(sample)
        lines = list(tree_lines(graph, graph.roots))
        assert len(lines) >= len(graph.roots)
        assert ElementTree.fromstring(drawing([("", graph)])).tag.endswith("svg")
        assert dot_text([("", graph)]).count(" -> ") == sum(
            len(others) for node in graph.nodes for others in node.edges.values()
        )


def test_hostile_names_are_text():
    node = Node('<script>alert("x")</script>', "kernel", frame=0)
    node.link("calls", Node('"]; evil [', "external"))
    graph = JoinedCalls([node, *node.edges["calls"]])
    assert "<script>" not in drawing([("", graph)])
    ElementTree.fromstring(drawing([("", graph)]))
    assert '\\"]; evil [' in dot_text([("", graph)])


def test_pictures_hold_names_that_no_page_can_show(tmp_path):
    """XML knows no control characters, and marks of direction would turn what stands around."""
    cubin, out = tmp_path / "h.cubin", tmp_path / "out"
    cubin.write_bytes(hostile_cubin())
    assert main(["callgraph", str(cubin), "--svg", str(out)]) == 0
    titles = [each.text for each in ElementTree.parse(out).iter() if each.tag.endswith("}title")]
    assert titles[: len(HOSTILE)] == [escaped(name) for name in HOSTILE]
    assert main(["occupancy", str(cubin), "--svg", str(out)]) == 0
    texts = "".join(ElementTree.parse(out).getroot().itertext())
    assert all(escaped(name) in texts for name in HOSTILE)
    node = Node("a\x07\u202e\udce9", "kernel", signatures=["#"])
    graph = JoinedCalls([node])
    assert r"a\x07\u202e\xe9" in drawing([("", graph)])
    assert r'tooltip="a\\x07\\u202e\\xe9"' in dot_text([("", graph)])
    assert dot_text([("", graph)]).replace("\n", "").isprintable()


def test_rows_go_down_and_circles_are_turned():
    edges = [(0, 1), (1, 2), (0, 2), (2, 0), (3, 3)]
    rows, turned = rows_of(4, edges)
    assert rows[:3] == [0, 1, 2]
    assert turned == {3, 4}
    layout = Layout([Box("b")] * 4, [Arrow(*edge) for edge in edges])
    assert layout.places[0][1] < layout.places[1][1] < layout.places[2][1]
    boxes = sorted(zip(layout.places, layout.widths, strict=False))
    for ((x, y), width), ((other_x, other_y), other) in pairwise(boxes):
        assert y != other_y or x + width / 2 <= other_x - other / 2


def test_json_follows_its_schema(capsys):
    assert main(["callgraph", "--json", str(REL), str(LINKED)]) == 0
    records = json.loads(capsys.readouterr().out)
    schema = Path(cubinspec.__file__).with_name("schema") / "callgraph.schema.json"
    Draft202012Validator(json.loads(schema.read_text())).validate(records)
    assert [len(record["functions"]) for record in records] == [
        len(graph_of(REL).nodes),
        len(graph_of(LINKED).nodes),
    ]


def test_a_linked_image_is_not_joined_and_named(capsys):
    linked = str(REL).replace(".rel.", ".exe.")
    assert main(["callgraph", "--together", str(REL), linked]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("1 image together")
    assert f"{linked}: left out" in err
    assert main(["callgraph", "--together", linked]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert "left out" in err


def test_the_command(capsys, tmp_path):
    assert main(["callgraph", "--match", "direct", str(REL)]) == 0
    out = capsys.readouterr().out
    assert "├─ leaf" in out
    assert "never_returns" not in out
    picture, dot = tmp_path / "g.svg", tmp_path / "g.dot"
    words = ["callgraph", "--together", str(REL), str(CALLEE), "--svg", str(picture)]
    assert main([*words, "--dot", str(dot)]) == 0
    assert "2 images together" in capsys.readouterr().out
    ElementTree.fromstring(picture.read_text())
    assert dot.read_text().startswith('digraph "callgraph"')


def test_graphs_of_several_images_are_drawn_below_their_names(tmp_path):
    picture, dot = tmp_path / "g.svg", tmp_path / "g.dot"
    assert main(["callgraph", str(REL), str(LINKED), "--svg", str(picture), "--dot", str(dot)]) == 0
    drawn = ElementTree.fromstring(picture.read_text())
    titles = [each.text for each in drawn.iter() if each.get("class") == "title"]
    assert titles == [f"{REL}  sm_90", f"{LINKED}  sm_90"]
    boxes = [each for each in drawn.iter() if each.tag.endswith("rect")]
    alone = []
    for path in (REL, LINKED):
        assert main(["callgraph", str(path), "--svg", str(picture)]) == 0
        alone.append(ElementTree.fromstring(picture.read_text()))
    each = [[box for box in one.iter() if box.tag.endswith("rect")] for one in alone]
    assert len(boxes) == sum(map(len, each))
    assert float(drawn.get("height")) > sum(float(one.get("height")) for one in alone)
    text = dot.read_text()
    assert text.count("subgraph cluster_") == 2
    nodes = re.findall(r"^  (f\d+) \[", text, re.MULTILINE)
    assert len(set(nodes)) == len(nodes) == len(boxes)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--match", "absent", str(REL)], 1, "absent"),
        (["--match", "absent", str(REL), "--svg", "-"], 1, "absent"),
        (["--together"], 2, "no FILE"),
    ],
)
def test_what_cannot_be_done_is_said(words, status, message, capsys):
    assert main(["callgraph", *words]) == status
    assert message in capsys.readouterr().err


def test_a_broken_file_is_a_complaint_and_the_rest_goes_on(tmp_path, capsys):
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(REL.read_bytes()[:900])
    assert main(["callgraph", str(broken), str(REL)]) == 1
    out = capsys.readouterr()
    assert "never_returns" in out.out
    assert "broken.cubin" in out.err


def test_images_without_a_function_that_matches_are_left_out(capsys):
    assert main(["callgraph", "--match", "direct", str(REL), str(CALLEE)]) == 0
    assert CALLEE.name not in capsys.readouterr().out
