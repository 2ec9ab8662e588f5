"""The page of ``cubinspec report``: its data is what other commands say, and names do no harm."""

from __future__ import annotations

import gzip
import json
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from re import findall
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import cubinspec
from cubinspec import Cubin
from cubinspec.cli import main
from cubinspec.compare.builds import compare_files
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec.page.document import Document
from cubinspec.page.drawing import MOST_DRAWN, drawings_of
from cubinspec.page.html import html, title_of
from cubinspec.page.image import FIGURES
from cubinspec.report.callgraph import JoinedCalls, Node, call_graph
from cubinspec.report.coverage import coverage
from cubinspec.report.names import escaped
from cubinspec.report.occupancy import limits_of, occupancy, occupancy_curve
from cubinspec.report.size import measure
from tests.unit.page_kit import HOSTILE, SAMPLES, data_of, hostile_cubin, library

STEMS = ("calls.sm_90.exe", "calls.sm_100.exe", "cluster_sm90.sm_90.exe", "unified.sm_100.link-r")
#: What a page may take beside its data; it is the same for the smallest and the largest file.
MOST_FIXED = 90_000


def document_of(*paths: Path | str, **options: Any) -> dict[str, Any]:
    document = Document(**options)
    for path in paths:
        document.add_file(str(path))
    return document.data("test")


def schema() -> Draft202012Validator:
    text = files("cubinspec").joinpath("schema", "report.schema.json").read_text("utf-8")
    Draft202012Validator.check_schema(json.loads(text))
    return Draft202012Validator(json.loads(text))


@pytest.mark.parametrize("stem", STEMS)
def test_every_figure_is_that_of_the_model(stem: str) -> None:
    path = SAMPLES / f"{stem}.cubin"
    data = document_of(path)
    cubin = Cubin.open(path)
    columns = data["functions"]
    assert len(columns["image"]) == len(cubin.functions) > 0
    for row, function in enumerate(cubin.functions):
        assert data["names"][columns["name"][row]] == function.name
        assert [columns[name][row] for name in FIGURES] == [getattr(function, n) for n in FIGURES]
        places = [(p.ordinal, p.offset, p.size) for p in function.params]
        assert [tuple(p[:3]) for p in data["params"][columns["params"][row]]] == places
        number = columns["occupancies"][row]
        found = occupancy(function) if function.is_kernel else None
        assert (number is None) == (found is None)
        if found is not None:
            record = data["occupancies"][number]
            assert found.as_dict().items() <= record.items()
            curve = occupancy_curve(found.launch, limits_of(found.arch))
            assert record["curve"] == [round(100 * then.occupancy) for _, then in curve]
    assert data["images"]["coverage"][0] == {**coverage(cubin).as_dict(), "file": None}


def test_how_much_coverage_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = sorted(SAMPLES.glob("calls.sm_90*.cubin"))[:3]
    size = max(path.stat().st_size for path in paths)
    file = tmp_path / "lib.fatbin"
    file.write_bytes(container([entry_for(path.read_bytes()) for path in paths]))

    def measured(covered: int | None) -> int:
        rows = document_of(file, covered=covered)["images"]["coverage"]
        return len([row for row in rows if row])

    assert measured(None) == measured(4 << 20) == len(paths)
    assert 0 < measured(size) < len(paths)
    assert measured(0) == 0
    for words, count in (("0", 0), ("all", len(paths))):
        assert main(["report", "--json", "--coverage", words, str(file)]) == 0
        (data,) = json.loads(capsys.readouterr().out)
        assert len([row for row in data["images"]["coverage"] if row]) == count
    assert main(["report", "--json", "--coverage", "-1", str(file)]) == 2


@pytest.mark.parametrize("stem", STEMS)
def test_the_pieces_sum_to_the_cubin(stem: str) -> None:
    path = SAMPLES / f"{stem}.cubin"
    data = document_of(path)
    pieces = data["pieces"]
    sums = [sum(sizes) for part in pieces.values() for _, sizes in part.values()]
    assert sum(sums) == path.stat().st_size
    rows = {name: size for name, _, size in measure(str(path)).by_section.table(sum(sums))}
    for kind, size in rows.items():
        parts = [pieces[part].get(kind, [[], []]) for part in ("own", "shared")]
        assert sum(sum(sizes) for _, sizes in parts) == size, kind


def test_the_calls_are_those_of_the_graph() -> None:
    path = SAMPLES / "calls.sm_90.exe.cubin"
    data = document_of(path)
    (graph,) = data["calls"]
    calls = call_graph([Cubin.open(path)])
    expected = {
        (node.name, other.name, kind)
        for node in calls.nodes
        for kind, others in node.edges.items()
        for other in others
    }
    names = [data["names"][number] for number in graph["names"]]
    assert {(names[a], names[b], kind) for a, b, kind in graph["edges"]} == expected
    for name, place in zip(names, graph["functions"], strict=True):
        if place is not None:
            assert data["names"][data["functions"]["name"][place]] == name
    callers = {a for a, _, _ in graph["edges"]}
    assert {drawing["root"] for drawing in graph["drawn"]} == callers
    for drawing in graph["drawn"]:
        assert drawing["nodes"][0] == drawing["root"]
        assert len(drawing["places"]) == len(drawing["nodes"])
        width, height = drawing["size"]
        assert all(0 < x < width and 0 < y < height for x, y, _ in drawing["places"])


def test_what_nobody_could_read_is_not_drawn() -> None:
    nodes = [Node(f"f{number}", "function") for number in range(MOST_DRAWN + 1)]
    for node, other in pairwise(nodes):
        node.link("calls", other)
    found = drawings_of(JoinedCalls(nodes), [node.name for node in nodes])
    assert found is not None
    assert len(found.edges) == MOST_DRAWN
    assert [drawing.root for drawing in found.drawn] == list(range(1, MOST_DRAWN))


def test_functions_of_one_name_stay_apart() -> None:
    first, second, root = Node("same", "function"), Node("same", "function"), Node("k", "kernel")
    root.link("calls", second)
    found = drawings_of(JoinedCalls([first, second, root]), ["same", "same", "k"])
    assert found is not None
    assert dict(zip(found.names, found.functions, strict=True)) == {"same": 1, "k": 2}


def test_the_data_fits_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = [str(path) for path in sorted(SAMPLES.glob("*.cubin"))[::11]]
    host = tmp_path / "lib.so"
    host.write_bytes(library(hostile_cubin()))
    page = tmp_path / "page.html"
    assert main(["report", "--json", "-o", str(page), *samples, str(host)]) == 0
    (record,) = printed = json.loads(capsys.readouterr().out)
    schema().validate(printed)
    assert data_of(page.read_bytes()) == record
    broken = json.loads(json.dumps(printed))
    del broken[0]["functions"]["registers"]
    assert not schema().is_valid(broken)


def test_names_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "<b>&quot; name.cubin"
    path.write_bytes(hostile_cubin())
    document = document_of(path)
    page = html({**document, "title": title_of([str(path)])})
    for name in HOSTILE:
        assert escaped(name) in document["names"]
        assert name.encode() not in page
    text = json.dumps(document, ensure_ascii=False)
    assert text.isprintable()
    assert b"<title>&lt;b&gt;&amp;quot; name.cubin</title>" in page
    assert page.count(b"<script>") == 1
    assert len(findall(rb"https?://(?!www\.w3\.org/2000/svg)", page)) == 0


def test_the_policy_names_the_script_and_the_style() -> None:
    from base64 import b64encode
    from hashlib import sha256

    page = html({"schema": "", "title": "t", "difference": None})
    for tag in (b"script", b"style"):
        (body,) = findall(rb"<%s>(.*?)</%s>(?s:.*)" % (tag, tag), page.replace(b"\n", b"\0"))
        digest = b64encode(sha256(body.replace(b"\0", b"\n")).digest())
        assert b"%s-src 'sha256-%s'" % (tag, digest) in page
    assert b"default-src 'none'" in page


def test_what_cannot_be_read_is_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = SAMPLES / "kernels.sm_90.exe.cubin"
    data = bytearray(good.read_bytes())
    cut = tmp_path / "cut.cubin"
    cut.write_bytes(data[: len(data) // 2])
    text = tmp_path / "notes.txt"
    text.write_text("no device code")
    page = tmp_path / "page.html"
    files = [str(cut), str(text), str(tmp_path / "absent"), str(good)]
    assert main(["report", "-o", str(page), *files]) == 1
    said = capsys.readouterr().err
    found = data_of(page.read_bytes())
    schema().validate([found])
    rows = {record["name"]: record for record in found["files"]}
    assert list(rows) == [escaped(file) for file in files]
    assert rows[str(good)]["error"] is None
    for file in (text, tmp_path / "absent"):
        error = rows[str(file)]["error"]
        assert str(file) in error
        assert error in said
    assert found["images"]["error"][0] in said
    assert found["images"]["error"][0].startswith(str(cut))
    assert len(found["functions"]["image"]) == len(Cubin.open(good).functions)


def test_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (SAMPLES / f"calls.sm_80.exe.{version}.cubin" for version in ("11.8.89", "13.2.86"))
    page = tmp_path / "page.html"
    assert main(["report", "--against", str(old), str(new), "-o", str(page)]) == 0
    found = data_of(page.read_bytes())
    schema().validate([found])
    assert main(["diff", "--html", str(page), "--json", str(old), str(new)]) == 1
    (said,) = json.loads(capsys.readouterr().out)
    alone = data_of(page.read_bytes())
    schema().validate([alone])
    assert alone["difference"] == found["difference"]
    rows = alone["difference"]["rows"]
    changed = [row for row in rows if row["mark"] in ("worse", "changed", "renamed")]
    assert [row["name"] for row in changed] == [one["demangled"] for one in said["functions"]]
    assert [row["occupancy"] for row in changed] == [
        [one["occupancy"]["old"], one["occupancy"]["new"]] for one in said["functions"]
    ]


def test_an_older_build_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    new = str(SAMPLES / "kernels.sm_90.exe.cubin")
    absent = str(tmp_path / "absent")
    assert main(["report", "--against", absent, new, "-o", str(page)]) == 1
    assert absent in capsys.readouterr().err
    found = data_of(page.read_bytes())
    assert found["difference"] is None
    assert [record["name"] for record in found["files"] if record["error"]] == [absent]


def test_the_same_with_several_processes(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    cubins = [(SAMPLES / f"{stem}.cubin").read_bytes() for stem in STEMS]
    path.write_bytes(library(*cubins))
    assert document_of(path, jobs=1) == document_of(path, jobs=2)


def test_only_some_targets() -> None:
    folder = [SAMPLES / f"{stem}.cubin" for stem in STEMS]
    data = document_of(*folder, archs=frozenset({"sm_100"}))
    images = data["functions"]["image"]
    assert {data["images"]["arch"][image] for image in images} == {"sm_100"}
    assert len(data["images"]["file"]) == len(STEMS)


def test_a_page_is_small() -> None:
    samples = sorted(SAMPLES.glob("*.cubin"))[::3]
    document = document_of(*samples)
    packed = gzip.compress(json.dumps(document).encode())
    page = html(document)
    assert len(page) < MOST_FIXED + 1.4 * len(packed)
    assert len(html({"schema": "", "title": "", "difference": None})) < MOST_FIXED
    assert html(document) == page


@pytest.mark.parametrize(
    "words",
    [
        ["lib.so"],
        ["a", "b", "--against", "c", "-o", "page.html"],
        ["a", "-o", "page.html", "--jobs", "0"],
        ["a", "-o", "page.html", "--arch", "x"],
    ],
)
def test_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *words]) == 2
    assert "usage: cubinspec report" in capsys.readouterr().err


def test_a_page_goes_where_it_can(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = str(SAMPLES / "kernels.sm_90.exe.cubin")
    assert main(["report", sample, "-o", "-"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")
    nowhere = str(tmp_path / "no" / "page.html")
    assert main(["report", sample, "-o", nowhere]) == 1
    assert f"{nowhere}: cannot be written" in capsys.readouterr().err
    assert main(["diff", sample, sample, "--html", nowhere]) == 2
    assert f"{nowhere}: cannot be written" in capsys.readouterr().err


def test_a_notebook_shows_pages_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(library(hostile_cubin()))
    page = cubinspec.show(path)
    assert page.faults == []
    assert page.data == document_of(path) | {"title": "lib.so"}
    frame = page._repr_html_()
    assert frame.count("<") == 2  # the frame opens and ends; all else is its value
    assert 'sandbox="allow-scripts"' in frame
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == page.html()
    found = cubinspec.kernels(path)
    names = [kernel.name for kernel in cubinspec.kernels(path)]
    shown = found._repr_html_()
    assert "<script>" not in shown
    assert found._repr_html_() == shown
    assert [kernel.name for kernel in found] == names
    kernel = next(cubinspec.kernels(path))
    result = cubinspec.occupancy(kernel)
    assert result is not None
    assert f"{100 * result.residency.occupancy:.0f} %" in result._repr_html_()
    assert "no such" in str(cubinspec.show(tmp_path / "absent").faults[0]).lower()
    with pytest.raises(ValueError, match="one file"):
        cubinspec.show([path, path], against=path)


def test_what_is_open_is_shown_as_its_file_is(tmp_path: Path) -> None:
    path = SAMPLES / "kernels.sm_90.exe.cubin"
    expected = cubinspec.show(path).data
    data = path.read_bytes()
    with cubinspec.Cubin.open(path) as cubin:
        assert cubinspec.show(cubin).data == expected
        both = cubinspec.show([cubin, path])
    (image,) = cubinspec.images(path)
    assert cubinspec.show(image).data == expected
    assert both.data["title"] == "kernels.sm_90.exe.cubin and 1 more"
    assert len(both.data["files"]) == 2
    for contents in (data, bytearray(data), memoryview(data)):
        page = cubinspec.show(contents)
        assert (page.data["title"], page.faults) == ("<bytes>", [])
        assert page.data["functions"] == expected["functions"]
    (fault,) = cubinspec.show(data[:100]).faults
    assert fault.file == "<bytes>"
    lib = tmp_path / "lib.so"
    lib.write_bytes(library(hostile_cubin()))
    page = cubinspec.show(cubinspec.images(lib))
    assert page.faults == []
    assert page.data["functions"]["name"] == cubinspec.show(lib).data["functions"]["name"]


@pytest.mark.parametrize("thing", [3, None, [3], object()])
def test_show_says_what_it_takes(thing: object) -> None:
    with pytest.raises(TypeError, match="show takes paths, cubins, images and"):
        cubinspec.show(thing)  # type: ignore[call-overload,arg-type]


def test_show_takes_one_file_with_an_older_build() -> None:
    path = SAMPLES / "kernels.sm_90.exe.cubin"
    with cubinspec.Cubin.open(path) as cubin, pytest.raises(ValueError, match="one file"):
        cubinspec.show(cubin, against=path)
    with pytest.raises(ValueError, match="there is none"):
        cubinspec.show([])


def test_a_notebook_shows_a_difference() -> None:
    old, new = (
        str(SAMPLES / f"calls.sm_80.exe.{version}.cubin") for version in ("11.8.89", "13.2.86")
    )
    found, _, _ = compare_files(old, new)
    table = found._repr_html_()
    assert table.count("<tr>") == 1 + len(found.functions)
    assert found.status in table
