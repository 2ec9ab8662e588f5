"""What is generated from the tables: equal to the committed files, cheap, and sound."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from struct import calcsize

import pytest
import yaml

from cubinspec_generated import columns, rows
from cubinspec_generated.rows import Action
from cubinspec_generated.tables import compat, eiattr, relocations
from tools.gen import tables
from tools.gen.tables.emit_kaitai import FILE as CODES
from tools.gen.tables.emit_kaitai import kaitai_enums, member_id

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "generated/python"


@pytest.fixture(scope="module")
def loaded() -> tables.Tables:
    return tables.check_and_load(ROOT)


def test_committed_files_are_what_the_tables_give(loaded: tables.Tables) -> None:
    for path, text in tables.emit(loaded).items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, path


def test_a_file_names_its_source_and_the_hash_of_it(loaded: tables.Tables) -> None:
    for path, text in tables.emit(loaded).items():
        table = loaded.get(path.stem)
        if path.suffix == ".py" and table is not None:
            assert f"{table.file.as_posix()} (sha256 {table.digest})" in text.splitlines()[0]


@pytest.mark.parametrize("name", [n for n in tables.TABLES if n not in ("constants", "toolkits")])
def test_a_python_table_imports_only_the_classes_of_its_rows(name: str) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(PYTHON)!r}); import cubinspec_generated.rows; "
        f"import cubinspec_generated.tables; before = set(sys.modules); "
        f"import cubinspec_generated.tables.{name} as t; "
        "print(sorted(set(sys.modules) - before), len(vars(t)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith(f"['cubinspec_generated.tables.{name}'] ")


@pytest.mark.parametrize("name", tables.TABLES)
def test_the_json_form_holds_the_whole_table(name: str, loaded: tables.Tables) -> None:
    text = (PYTHON / "cubinspec_generated/json" / f"{name}.json").read_text(encoding="utf-8")
    document = json.loads(text)
    assert document.pop("sha256") == loaded[name].digest
    assert document.pop("generated_from") == loaded[name].file.as_posix()
    assert set(document) == set(loaded[name].data)


@pytest.mark.parametrize("name", tables.TABLES)
def test_the_page_shows_every_name(name: str, loaded: tables.Tables) -> None:
    page = (ROOT / "docs/reference" / f"{name}.md").read_text(encoding="utf-8")
    for shown in re.findall(r"^ *-? *\{?name: ([A-Z][A-Z0-9_]+)", loaded[name].text, re.MULTILINE):
        assert f"`{shown}`" in page


def test_enum_members_are_distinct_ids_that_every_language_takes(loaded: tables.Tables) -> None:
    from tools.gen.reserved import RESERVED

    for enum, members in kaitai_enums(loaded).items():
        ids = [member_id(name) for _, name, _ in members]
        assert len(ids) == len(set(ids)), enum
        assert len({value for value, _, _ in members}) == len(members), enum
        for identifier in ids:
            assert re.fullmatch(r"[a-z][a-z0-9_]*", identifier)
            assert identifier not in RESERVED
        assert all(0 <= value <= 0x7FFFFFFF for value, _, _ in members)


def test_the_codes_spec_is_yaml_with_documented_members() -> None:
    spec = yaml.safe_load((ROOT / CODES).read_text(encoding="utf-8"))
    assert spec["meta"]["id"] == CODES.stem
    for enum in spec["enums"].values():
        for member in enum.values():
            assert member["doc"].strip().endswith(".")
            assert member["-orig-id"].lower() == member["id"]


def test_columns_say_what_rows_say() -> None:
    rows = relocations.TYPES
    assert {n: tuple(Action(*a) for a in actions) for n, actions in columns.ACTIONS.items()} == {
        n: row.actions for n, row in rows.items()
    }
    kinds = {kind for row in rows.values() for kind in row.keep}
    assert {kind: tuple(n for n, row in rows.items() if kind in row.keep) for kind in kinds} == (
        columns.STAYING
    )
    assert {n: row.retype for n, row in rows.items() if row.retype != n} == columns.RETYPE
    assert {n: row.apply for n, row in rows.items() if row.apply != "always"} == columns.APPLY
    assert {
        n: row.symbol_fields for n, row in eiattr.ATTRIBUTES.items() if row.symbol_fields
    } == columns.SYMBOL_FIELDS


def test_columns_of_compat_say_what_rows_say() -> None:
    rows = compat.ATTRIBUTES
    assert {n: row.merge for n, row in rows.items()} == columns.COMPAT_MERGE
    assert {
        n: row.missing for n, row in rows.items() if row.missing is not None
    } == columns.COMPAT_MISSING
    assert {
        n: calcsize(row.layout.format) for n, row in rows.items() if row.layout.format
    } == columns.COMPAT_BYTES
    assert {
        n: tuple((part.bit, part.width) for _, parts in row.layout.bits for part in parts)
        for n, row in rows.items()
        if row.layout.bits
    } == columns.COMPAT_PARTS
    assert compat.LEADING == columns.COMPAT_LEADING
    assert compat.TRAILING == columns.COMPAT_TRAILING


def test_rows_of_every_class_can_be_compared_and_shown() -> None:
    classes = [
        one
        for one in vars(rows).values()
        if isinstance(one, type) and issubclass(one, rows.Row) and one is not rows.Row
    ]
    assert len(classes) > 10
    for one in classes:
        names = one.__match_args__
        row, same = (one(*range(len(names))) for _ in range(2))
        assert row == same
        assert hash(row) == hash(same)
        assert row != one(*range(1, len(names) + 1))
        assert repr(row).startswith(f"{one.__name__}({names[0]}=0")
