"""The site: every place that ``explain`` names is there, and faults of links are found."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cubinspec.cli import COMMANDS, main
from cubinspec.cli import explain as command
from cubinspec.cli.help import HELP
from cubinspec.report.anchors import page_of
from cubinspec.report.explain import TABLES, entries_of, load_table
from cubinspec.report.words import _all_words
from cubinspec_generated import codes_sizes
from cubinspec_generated.fields import BIT_FIELDS, OPAQUE, OWNED_INSTANCES
from cubinspec_writer.checker import RULES
from tools.gen.languages.builds import BuildError
from tools.gen.packages import dist
from tools.gen.spec import load_specs
from tools.linkcases.rules import load as linker_rules
from tools.site import config, explorer, languages, snippets, specs, stage
from tools.site.drawing import Box, svg
from tools.site.links import faults

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def sources() -> dict[str, bytes]:
    return stage.sources(examples=False)


@functools.cache
def anchors() -> dict[str, set[str]]:
    """Page of the built site -> its anchors."""
    found = {}
    for name, text in sources().items():
        if name.endswith(".md"):
            built = re.sub(r"(^|/)README\.md$", r"\1index.md", name).removesuffix(".md") + ".html"
            found[built] = stage.anchors(text.decode())
    return found


def tables() -> Iterator[dict[str, Any]]:
    for table, subject in TABLES.items():
        for group, entry in entries_of(load_table(table)):
            yield {"table": table, "group": group, "subject": subject, "entry": entry}


def others() -> Iterator[dict[str, Any]]:
    for rule in RULES:
        yield from command._rules(rule.id)
    for name in COMMANDS:
        yield from command._commands(name)
    for more in HELP.values():
        for column in more.columns:
            yield from command._columns(column)


def missing(page: str | None) -> bool:
    assert page is not None
    name, _, anchor = page.partition("#")
    return name not in anchors() or bool(anchor and anchor not in anchors()[name])


@pytest.mark.parametrize(
    ("matches", "least"),
    [(tables, 700), (_all_words, 3000), (others, 100)],
    ids=["tables", "words", "others"],
)
def test_every_place_that_explain_names_is_on_the_site(matches: Any, least: int) -> None:
    pages = [page_of(match) for match in matches()]
    assert len(pages) > least
    assert sorted({str(page) for page in pages if missing(page)}) == []


def test_every_rule_of_the_linker_is_explained_and_has_an_anchor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ids = [rule.id for rule in linker_rules()]
    assert len(ids) > 200
    assert {f"linking.html#{name}" for name in ids if missing(f"linking.html#{name}")} == set()
    assert main(["explain", ids[0], ids[-1].lower()]) == 0
    shown = capsys.readouterr().out
    assert f"page: linking.html#{ids[0]}\n" in shown
    assert f"page: linking.html#{ids[-1]}\n" in shown


def test_each_target_has_an_anchor() -> None:
    rows = yaml.safe_load((ROOT / "ksy/tables/arch.yaml").read_text())["architectures"]
    targets = {f"sm_{row['sm']}{variant}" for row in rows for variant in row["variants"]}
    assert len(targets) > 30
    assert targets - anchors()["reference/arch.html"] == set()


def test_an_anchor_stands_once_on_a_page() -> None:
    for name, text in sources().items():
        if name.endswith(".md"):
            ids = re.findall(r'<a id="([^"]+)"></a>|^#+ .*\{#(.+?)\}$', text.decode(), re.M)
            flat = [one or other for one, other in ids]
            assert len(flat) == len(set(flat)), name


def test_an_anchor_that_markdown_would_change_stays_outside_the_heading() -> None:
    text = '<a id="{0}"></a>\n\n### `{0}`\n'
    for name in ("_start", "CUB003"):
        assert stage._finished("x.md", text.format(name), set()) == (
            f"\n\n### `{name}` {{#{name}}}\n".encode()
        )
    for name in ("__CNPRT_VERSION_NUMBER__", "_x_", "*.text"):
        assert stage._finished("x.md", text.format(name), set()).decode() == text.format(name)


def test_every_page_stands_in_the_contents() -> None:
    def flat(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            for item in value:
                yield from flat(item)
        else:
            yield from flat(list(value.values()))

    pages = sorted(name for name in sources() if name.endswith(".md"))
    listed = [page for page in flat(config.nav(pages)) if page.endswith(".md")]
    assert sorted(listed) == pages


def test_the_archive_of_the_specs_lies_where_its_page_links_to() -> None:
    archive = f"{dist.SPECS}.zip"
    assert f"]({archive})" in sources()["web-ide.md"].decode()
    assert sources()[archive] == dist.packed(dist.SPECS, dist.specs())


def test_layouts_are_those_of_the_record_scanners() -> None:
    """The pages and the constants of the scanners come from the same ``.ksy``, by two ways."""
    all_specs = load_specs(ROOT / "ksy")
    table = all_specs["symbol_table_64"]
    row = next(kind for kind in table.root.walk() if kind is not table.root)
    rows = specs.layout(row, table, all_specs)
    size = sum(field.size or 0 for field in rows if field.size) // 8
    assert size == codes_sizes.SIZEOF_SYMBOL_64
    assert [field.offset // 8 for field in rows if field.offset is not None] == [0, 4, 5, 6, 8, 16]


def test_a_field_that_varies_ends_the_places() -> None:
    all_specs = load_specs(ROOT / "ksy")
    spec = all_specs["eiattr"]
    record = next(kind for kind in spec.root.walk() if kind.name == "info_record")
    rows = specs.layout(record, spec, all_specs)
    assert [row.offset for row in rows][:3] == [0, 8, 16]
    assert rows[-1].size is None


def test_a_picture_has_a_box_for_each_field() -> None:
    text = svg([Box("first", 0, 4), Box("second<", 4, 12), Box("rest", 16, 0)], "x")
    assert text.count("<rect") == 4  # the second field takes parts of two rows
    assert "second&lt;" in text
    assert "second<" not in text


@pytest.mark.parametrize("name", sorted(load_specs(ROOT / "ksy")))
def test_the_python_use_of_each_spec_is_right(name: str) -> None:
    spec = load_specs(ROOT / "ksy")[name]
    text = "\n".join(languages.tabs(spec))
    if spec.root.params:
        assert "parameters" in text
        return
    code = text.partition("```python\n")[2].partition("```")[0].replace("\n    ", "\n").strip()
    imported = ast.parse(code).body[0]
    assert isinstance(imported, ast.ImportFrom)
    module = __import__(str(imported.module), fromlist=["x"])
    assert hasattr(getattr(module, imported.names[0].name), "from_file")


def test_the_lines_that_open_a_file_run() -> None:
    """In Python here; `make check-languages` does so in five other languages."""
    snippets.check("Python", None)
    read = snippets.files()
    assert {name for name, data in read.items() if data.strip(b"\0")} >= {
        *("elf_cuda", "fatbin", "eiattr", "compat", "note_nv", "rel_action", "string_table", "uft"),
    }
    for make in (snippets.javascript, snippets.java, snippets.go, snippets.cpp, snippets.rust):
        assert make().count(".bin") == len(read)


def test_lines_that_do_not_run_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    told = languages.LANGUAGES["Python"]
    wrong = told._replace(opening=told.opening.replace("from_file", "from_path"))
    monkeypatch.setitem(languages.LANGUAGES, "Python", wrong)
    with pytest.raises(BuildError, match="from_path"):
        snippets.check("Python", None)


def test_every_program_is_on_the_page_of_languages() -> None:
    page = languages.page()
    assert len(languages.programs()) >= 10
    for language in languages.programs():
        shown = language.replace("#", r"\#")  # else the heading of C# says C
        assert f"## {shown} {{#" in page


PAGE = '<html><body id="top"><a id="here"></a>{}</body></html>'


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="b.html#there">x</a>', ""),
        ('<a href="#here">x</a>', ""),
        ('<a href="https://example.com/">x</a>', ""),
        ('<a href="b.html#gone">x</a>', "a.html: link to b.html#gone: the page has no such anchor"),
        ('<a href="c.html">x</a>', "a.html: link to c.html, which is not there"),
        ('<a href="#gone">x</a>', "a.html: link to #gone: the page has no such anchor"),
        ('<img src="x.png">', "a.html: loads x.png, which is not there"),
        ('<script src="https://example.com/x.js"></script>', "loads https://example.com/x.js"),
        ('<link rel="stylesheet" href="//example.com/x.css">', "loads //example.com/x.css"),
    ],
)
def test_faults_of_links_are_found(tmp_path: Path, body: str, fault: str) -> None:
    (tmp_path / "a.html").write_text(PAGE.format(body))
    (tmp_path / "b.html").write_text(PAGE.format('<p id="there">'))
    found = list(faults(tmp_path))
    assert len(found) == bool(fault)
    assert not fault or found[0].endswith(fault)


def test_links_that_leave_the_site_become_text() -> None:
    text = sources()["architecture.md"].decode()
    assert "](../CONTRIBUTING.md)" not in text
    assert "CONTRIBUTING.md" in text


def test_every_place_that_the_explorer_links_to_is_on_the_site() -> None:
    known = explorer.knowledge()
    pages = [told[1] for told in known["words"].values()]
    pages += [page for _, _, page in known["patterns"]]
    for told in known["types"].values():
        pages += [told["page"], *(page for _, page, _ in told["fields"].values())]
    assert len(pages) > 1500
    assert sorted({page for page in pages if missing(page)}) == []


def test_the_explorer_knows_which_fields_own_bytes() -> None:
    """The same as the reader in Python, under the names of the JavaScript target."""
    types = explorer.knowledge()["types"]
    assert set(OWNED_INSTANCES) <= set(types)
    for name, owned in OWNED_INSTANCES.items():
        spelled = [explorer._js_name(field) for field in owned]
        assert types[name]["own"][-len(spelled) :] == spelled
    assert {name for name, told in types.items() if told.get("bits")} == set(BIT_FIELDS)
    opaque = {name: list(kinds.values()) for name, kinds in OPAQUE.items()}
    assert opaque == {n: list(t["opaque"].values()) for n, t in types.items() if "opaque" in t}
