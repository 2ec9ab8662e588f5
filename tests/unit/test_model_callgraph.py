"""Call graph, signatures and notes against the sources and the recipes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cubinspec import Cubin
from tests.malformed.recipe import SAMPLES, Recipe

CALLS = ("calls.sm_35.rel.11.8.89", "calls.sm_75.rel", "calls.sm_90.rel", "calls.sm_100.rel")


def opened(stem: str) -> Cubin:
    return Cubin.open(str(SAMPLES / f"{stem}.cubin"))


@pytest.mark.parametrize("stem", CALLS)
def test_every_direct_call_of_the_source_is_an_edge(stem: str) -> None:
    graph = opened(stem).callgraph
    assert graph is not None
    assert {edge.name for edge in graph.calls} == {
        *("direct -> leaf", "direct -> weak_leaf", "direct -> recursive"),
        *("recursive -> recursive", "never_returns -> local_leaf"),
    }
    assert graph.other == []


@pytest.mark.parametrize("stem", CALLS)
def test_functions_whose_address_is_taken_have_a_signature(stem: str) -> None:
    graph = opened(stem).callgraph
    assert graph is not None
    assert {(item.name, item.signature) for item in graph.address_taken} == {
        *(("leaf", "#ii"), ("weak_leaf", "#ii"), ("recursive", "#ii"))
    }


@pytest.mark.parametrize("stem", CALLS)
def test_each_indirect_call_names_the_signature_called(stem: str) -> None:
    graph = opened(stem).callgraph
    assert graph is not None
    assert [(item.name, item.signature) for item in graph.indirect_calls] == [
        *(("indirect", "#ii"), ("indirect", "#ii"))
    ]


def test_references_exist_from_cuda_12_on() -> None:
    new, old = opened("calls.sm_90.rel").callgraph, opened("calls.sm_35.rel.11.8.89").callgraph
    assert new is not None
    assert old is not None
    assert {edge.name for edge in new.references} == {
        *("indirect -> leaf", "indirect -> weak_leaf", "indirect -> recursive")
    }
    assert (new.markers, old.markers) == ([1, 2, 3, 4], [1, 2, 3])


def test_a_linked_file_has_an_empty_graph() -> None:
    graph = opened("calls.sm_90.exe").callgraph
    assert graph is not None
    assert graph.markers == [1, 2, 3, 4]
    assert graph.calls == graph.references == []


def test_a_file_may_have_no_graph() -> None:
    data = Recipe("small.sm_90.exe").apply(
        [{"section": ".nv.callgraph", "field": "sh_type", "set": 1}]
    )
    assert Cubin.parse(data).callgraph is None


def test_a_graph_linked_one_section_too_far_uses_the_plain_symbols() -> None:
    """As `ptxas -ewp` 12.0 writes it for a module without code."""
    data = Recipe("calls.sm_90.rel").apply(
        [{"section": ".nv.callgraph", "field": "sh_link", "set": "num_sections"}]
    )
    graph = Cubin.parse(data).callgraph
    assert graph is not None
    assert "direct -> leaf" in [edge.name for edge in graph.calls]


def test_prototypes_name_functions_called_from_outside() -> None:
    found = {item.name: item.signature for item in opened("small.sm_90.rel").prototypes}
    assert found == {"scale": "#ii"}


def test_external_functions_keep_their_signature() -> None:
    cubin = opened("extern_calls.sm_90.rel")
    assert {item.name: item.signature for item in cubin.prototypes} == {"outside_void": "#vlb24"}
    assert cubin.callgraph is not None
    taken = {item.name: item.signature for item in cubin.callgraph.address_taken}
    assert taken == {"outside": "#ii"}  # its address stands in a table


# --- notes ----------------------------------------------------------------------------------------


def test_notes_name_tool_version_and_options_of_every_sample(
    samples: list[Path], sample_rows: dict[str, dict[str, Any]]
) -> None:
    seen = 0
    for file in samples:
        tool, _, version = sample_rows[file.name]["tool"].partition(" ")
        with Cubin.open(str(file)) as cubin:
            first = next((note for note in cubin.notes if note.tool_name), None)
            if first is None:
                assert "13." not in f"{tool} {version}", file.name
                continue
            seen += 1
            if tool.startswith("nvjitlink"):
                assert first.tool_name == "nvJIT API", file.name
                continue
            assert first.tool_name == tool, file.name
            assert f"V{version}" in (first.tool_version or ""), file.name
            arch = next(o for o in sample_rows[file.name]["options"] if o.startswith("-arch="))
            assert arch.replace("=", " ") in (first.arguments or ""), file.name
    assert seen > 100


def test_a_linked_file_names_the_linker_and_every_compiler() -> None:
    tools = [note.tool_name for note in opened("two_files.sm_90.link-exe").notes]
    assert tools == ["nvlink", "ptxas", "ptxas", None]


def test_cuinfo_tells_virtual_target_and_toolkit() -> None:
    note = next(n for n in opened("small.sm_90.exe").notes if n.name == "cuinfo")
    assert (note.owner, note.type) == ("NVIDIA Corp", 1000)
    assert (note.virtual_sm, note.toolkit_version) == (35, 130)  # .target sm_35, CUDA 13.0
    assert (note.tool_name, note.arguments) == (None, None)


def test_debug_builds_keep_the_names_of_input_and_output() -> None:
    note = opened("small.sm_90.debug").notes[0]
    assert note.object_file == "small.cubin"
    assert (note.arguments or "").split() == [
        *("small.ptx", "-g", "-o", "small.cubin", "-arch", "sm_90", "-c")
    ]
