"""The library as one finds it by typing: names, help in errors, tables, notebooks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cubinspec
import cubinspec_writer
import cubinspec_writer.linker
from cubinspec.containers import FoundKernel
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec.errors import FileAccessError, NotCubinError
from cubinspec.model.functions import FunctionList
from cubinspec.report.callgraph import call_graph
from cubinspec.report.size import measure
from cubinspec_writer.builder import CubinBuilder
from cubinspec_writer.editor import Edit
from cubinspec_writer.emitter import describe
from cubinspec_writer.linker import Named
from tests.malformed.recipe import SAMPLES
from tools.corpus.containers import elf_host
from tools.gen import api

ROOT = Path(__file__).resolve().parents[2]
SMALL = SAMPLES / "kernels.sm_75.exe.cubin"
CALLS = SAMPLES / "two_files.sm_90.link-r.cubin"
MERCURY = SAMPLES / "calls.sm_100.rel.cubin"


@pytest.mark.parametrize("module", [cubinspec, cubinspec_writer, cubinspec_writer.linker])
def test_completion_shows_all_public_names(module: Any) -> None:
    script = (
        f"import {module.__name__} as m; shown = [n for n in dir(m) if n[:2] != '__']; "
        "assert set(shown) == {n for n in m.__all__ if n[:2] != '__'}, shown"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert all(getattr(module, name) is not None for name in module.__all__)


# -- opening --------------------------------------------------------------------------------------


def test_a_library_that_is_opened_as_a_cubin_says_what_opens_it(tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    library.write_bytes(Path(sys.executable).read_bytes()[:4096])
    with pytest.raises(NotCubinError, match=r"cubinspec\.images"):
        cubinspec.Cubin.open(library)


def test_paths_may_be_objects_and_contents_bytes() -> None:
    for what in (SMALL, str(SMALL), SMALL.read_bytes()):
        assert cubinspec.Cubin.open(what).arch == "sm_75"
        assert len([*cubinspec.kernels(what)]) == len(cubinspec.Cubin.open(what).kernels)
        assert [image.kind for image in cubinspec.images(what)] == ["cubin"]


def test_a_name_that_no_file_can_have_is_refused_with_a_typed_error() -> None:
    for function in (cubinspec.Cubin.open, lambda path: [*cubinspec.kernels(path)]):
        with pytest.raises(FileAccessError):
            function("a\0b")


# -- kernels of a file ----------------------------------------------------------------------------


def test_kernels_of_a_library_are_those_of_its_final_images(tmp_path: Path) -> None:
    linked = SAMPLES / "cluster_sm90.sm_90.exe.cubin"
    path = tmp_path / "library.so"
    parts = {".nv_fatbin": linked, "__nv_relfatbin": CALLS}
    path.write_bytes(
        elf_host({name: container([entry_for(part.read_bytes())]) for name, part in parts.items()})
    )
    found = [*cubinspec.kernels(path)]
    expected = cubinspec.Cubin.open(linked).kernels
    assert [kernel.name for kernel in found] == [kernel.name for kernel in expected]
    assert [step.kind for step in found[0].provenance][-2:] == ["fatbin", "entry"]
    assert found[0].path.startswith(f"{path} → ")
    assert found[0].file == str(path)
    everything = {kernel.name for kernel in cubinspec.kernels(path, relocatable=True)}
    assert everything > {kernel.name for kernel in found}
    assert not [*cubinspec.kernels(path, arch="sm_75")]


def test_a_relocatable_cubin_by_itself_is_what_was_asked_for() -> None:
    assert [*cubinspec.kernels(CALLS)]


def test_foreign_and_broken_files_are_errors(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("hello")
    with pytest.raises(NotCubinError, match="a text file"):
        next(cubinspec.kernels(text))
    cut = tmp_path / "cut.cubin"
    cut.write_bytes(SMALL.read_bytes()[:1500])
    with pytest.raises(cubinspec.CubinError):
        next(cubinspec.kernels(cut))
    faults: list[str] = []
    found = cubinspec.kernels(
        tmp_path, on_fault=lambda image, error: faults.append(f"{image.file}: {error.reason}")
    )
    assert not [*found]
    assert len(faults) == 1
    assert str(cut) in faults[0]


def test_a_kernel_knows_its_readable_name_and_target() -> None:
    with cubinspec.Cubin.open(SAMPLES / "names.sm_80.exe.cubin") as cubin:
        kernel = next(k for k in cubin.kernels if k.name.startswith("_Z"))
        assert kernel.arch == "sm_80"
        assert "::" in kernel.demangled
        record = kernel.as_dict()
        assert record["name"] == kernel.name
        assert record["registers"] == kernel.registers
    found = next(iter(cubinspec.kernels(SMALL)))
    assert found.as_dict()["provenance"][0]["name"] == str(SMALL)


# -- data frames ----------------------------------------------------------------------------------


def test_tables_keep_integers(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    cubin = cubinspec.Cubin.open(CALLS)
    for table, count in (
        (cubin.kernels.to_arrow(), len(cubin.kernels)),
        (cubinspec.kernels(CALLS).to_arrow(), len(cubin.kernels)),
        (cubin.sections.to_arrow(), len(cubin.sections)),
        (cubin.symbols.to_arrow(), len(cubin.symbols)),
    ):
        assert table.num_rows == count
        assert not any(pyarrow.types.is_floating(field.type) for field in table.schema)
    table = cubin.kernels.to_arrow()
    assert table.column("max_threads").to_pylist() == [k.max_threads for k in cubin.kernels]
    assert table.schema.field("max_threads").type == pyarrow.int64()
    assert FunctionList().to_arrow().schema == table.schema


def test_data_frames_keep_integers_as_the_guide_says() -> None:
    pytest.importorskip("pyarrow")
    kernels = cubinspec.kernels(MERCURY).to_arrow()  # noqa: F841  DuckDB finds it by its name
    limits = [kernel.max_threads for kernel in cubinspec.kernels(MERCURY)]
    assert None in limits
    duckdb = pytest.importorskip("duckdb")
    assert [row[0] for row in duckdb.sql("SELECT max_threads FROM kernels").fetchall()] == limits


def test_polars_and_pandas_keep_integers_as_the_guide_says() -> None:
    pytest.importorskip("pyarrow")
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    table = cubinspec.kernels(MERCURY).to_arrow()
    limits = [kernel.max_threads for kernel in cubinspec.kernels(MERCURY)]
    assert polars.from_arrow(table)["max_threads"].to_list() == limits
    frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    assert [None if value is pandas.NA else value for value in frame["max_threads"]] == limits
    assert str(frame["max_threads"].dtype) == "int64[pyarrow]"


def test_rows_are_flat() -> None:
    for row in cubinspec.kernels(SMALL).rows():
        assert all(value is None or isinstance(value, int | str) for value in row.values())


# -- notebooks and the prompt ---------------------------------------------------------------------


def test_notebooks_show_tables() -> None:
    cubin = cubinspec.Cubin.open(MERCURY)
    for shown in (
        cubin,
        cubin.kernels,
        cubin.kernels[0],
        cubin.sections,
        cubin.sections[1],
        cubin.symbols,
        cubinspec.coverage(cubin),
    ):
        html = shown._repr_html_()
        assert html.count("<table>") == html.count("</table>") == 1
        assert html.count("<tr>") == html.count("</tr>") > 1
    assert str(cubin.size) in cubinspec.coverage(cubin)._repr_html_()


def test_notebooks_show_call_graphs_and_sizes() -> None:
    path = SAMPLES / "calls.sm_90.rel.cubin"
    cubin = cubinspec.Cubin.open(path)
    graph = cubin.callgraph
    assert graph is not None
    rows = graph._repr_html_()
    assert rows.count("<tr>") == 1 + sum(
        len(found)
        for found in (graph.calls, graph.references, graph.indirect_calls, graph.address_taken)
    )
    assert "<td>calls</td>" in rows
    joined = call_graph([cubin])
    assert joined._repr_html_().count("<tr>") == 1 + len(joined.nodes)
    sizes = measure(str(path))._repr_html_()
    assert sizes.count("<table>") == 5
    assert f"{cubin.size:,} bytes by section" in sizes


def test_notebooks_get_no_markup_from_names(tmp_path: Path) -> None:
    path = tmp_path / "<script>.cubin"
    path.write_bytes(SMALL.read_bytes())
    assert "<script>" not in cubinspec.Cubin.open(path)._repr_html_()


def objects_of(cubin: cubinspec.Cubin) -> list[object]:
    """An object of every kind that one cubin gives."""
    graph = cubin.callgraph
    assert graph is not None
    return [
        *(cubin, cubin.header, cubin.elf, cubin.sections, cubin.sections[1], cubin.symbols),
        *(cubin.symbols[1], cubin.relocations[0], cubin.kernels[0], cubin.kernels[0].table),
        *(cubin.tables(), cubin.notes[0], cubin.info[0], graph, graph.calls[0]),
        *(cubin.prototypes[0], cubin.kernels[0].params[0], cubin.elf.shstrtab),
        *(next(cubinspec.images(SMALL)), cubinspec.kernels(SMALL)),
        *(next(cubinspec.kernels(SMALL)), cubinspec.identify(SMALL)),
    ]


def test_every_object_says_what_it_is() -> None:
    for shown in objects_of(cubinspec.Cubin.open(CALLS)):
        text = repr(shown)
        assert " object at 0x" not in text
        assert "\\x00" not in text
        assert len(text) < 400
    assert isinstance(next(cubinspec.kernels(SMALL)), FoundKernel)


def test_every_object_of_the_writer_says_what_it_is() -> None:
    builder = CubinBuilder("sm_90")
    kernel = builder.kernel("k", bytes(4096), registers=8)
    data = CALLS.read_bytes()
    result = cubinspec_writer.link(SAMPLES / "calls.sm_90.rel.cubin", "sm_90")
    for shown in (builder, kernel, result, Edit(data), Named("a", data), describe(data)):
        text = repr(shown)
        assert type(shown).__name__ in text
        assert len(text) < 200, text


# -- the reference --------------------------------------------------------------------------------


@pytest.mark.pure  # compiled classes have no docstrings
def test_the_reference_is_what_the_docstrings_say() -> None:
    for path, text in api.emit().items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, "run make gen"


@pytest.mark.pure  # compiled classes have no docstrings
@pytest.mark.parametrize("module", api.PAGES_FIRST)
def test_every_public_name_is_documented(module: str) -> None:
    page = (ROOT / api.FOLDER / f"{api.PAGES_FIRST[module]}.md").read_text(encoding="utf-8")
    assert f"\n# {module}\n" in page
    for name, value in api.exported(module):
        assert f"\n## {name}\n" in page
        if callable(value):
            assert value.__doc__, f"{module}.{name} has no docstring"
