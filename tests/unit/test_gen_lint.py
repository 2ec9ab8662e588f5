"""Every lint rule sees the fault that it is there for, and only that one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.gen import lint
from tools.gen.spec import load_specs

ROOT = Path(__file__).resolve().parents[2]

SOUND = """\
meta:
  id: demo
  title: A sound spec
  application: A program
  license: CC0-1.0
  ks-version: 0.9
  encoding: UTF-8
  endian: le
doc: A spec that keeps every rule.
doc-ref: https://example.com/
-webide-representation: '{num_rows:dec} rows {mark}'
seq:
  - id: num_rows
    type: u2
    doc: Number of rows.
  - id: rows
    type: row
    repeat: expr
    repeat-expr: num_fitting
    doc: The rows.
  - id: names
    type: strz
    repeat: eos
    doc: Names up to the end.
instances:
  mark:
    pos: 0
    type: u1
    -webide-parse-mode: eager
    doc: First byte.
  num_fitting:
    value: 'num_rows <= _io.size / 4 ? num_rows : _io.size / 4'
    -webide-parse-mode: lazy
    doc: Number of rows for which there is room.
types:
  row:
    -orig-id: Elf64_Row
    doc: A row.
    doc-ref: https://example.com/row
    -webide-representation: '{st_kind}'
    seq:
      - id: st_kind
        type: u4
        enum: kinds
        doc: Kind of the row.
      - id: body
        size: 4
        type:
          switch-on: st_kind
          cases:
            kinds::first: words
            _: words
        -orig-id: ROW_BODY
        doc: Contents.
  words:
    doc: Words up to the end.
    doc-ref: https://example.com/words
    seq:
      - id: words_list
        type: u2
        repeat: until
        repeat-until: _ == 0 or _io.eof
        doc: The words.
enums:
  kinds:
    1:
      id: first
      -orig-id: KIND_FIRST
      doc: The first kind.
    2:
      id: second
      -orig-id: KIND_SECOND
      doc: The second kind.
"""
SOUND = SOUND.replace(
    """        -orig-id: ROW_BODY
        doc: Contents.""",
    "        doc: Contents.",
).replace("      - id: body\n", "      - id: body\n        -orig-id: ROW_BODY\n")

#: rule, what is replaced in the sound spec, by what
FAULTS = [
    ("id-is-file-name", "id: demo", "id: other"),
    ("meta", "license: CC0-1.0", "license: MIT"),
    ("meta", "  title: A sound spec\n", ""),
    ("meta", "  application: A program\n", ""),
    ("doc-ref", "doc-ref: https://example.com/\n", ""),
    ("doc-ref", "    doc-ref: https://example.com/row\n", ""),
    ("representation", "-webide-representation: '{num_rows:dec} rows {mark}'\n", ""),
    ("representation", "    -webide-representation: '{st_kind}'\n", ""),
    ("representation", "'{st_kind}'", "'{no_such_field}'"),
    ("representation", "    -webide-parse-mode: eager\n", ""),
    ("representation", "rows {mark}", "rows {num_fitting}"),
    ("helpers", "    -webide-parse-mode: lazy\n", ""),
    ("helpers", "types:\n", "  second:\n    value: num_rows + 1\n    doc: One more.\ntypes:\n"),
    ("meta", "  ks-version: 0.9\n", "  ks-version: 0.9\n  ks-debug: true\n"),
    ("key-order", "  encoding: UTF-8\n  endian: le\n", "  endian: le\n  encoding: UTF-8\n"),
    (
        "key-order",
        "    -orig-id: Elf64_Row\n    doc: A row.",
        "    doc: A row.\n    -orig-id: Elf64_Row",
    ),
    (
        "key-order",
        "    type: u2\n    doc: Number of rows.",
        "    doc: Number of rows.\n    type: u2",
    ),
    (
        "key-order",
        "      - id: body\n        -orig-id: ROW_BODY\n        size: 4\n",
        "      - id: body\n        size: 4\n        -orig-id: ROW_BODY\n",
    ),
    ("form", "doc: The words.", "doc: " + "word " * 20),
    ("form", "doc: The words.", "doc: The words. "),
    ("doc", "    doc: Number of rows.\n", ""),
    ("doc", "  words:\n    doc: Words up to the end.\n", "  words:\n"),
    ("doc-ref", "    doc-ref: https://example.com/words\n", ""),
    ("doc", "      -orig-id: KIND_FIRST\n      doc: The first kind.", "      -orig-id: KIND_FIRST"),
    ("doc-escapes", "doc: The words.", "doc: The end */ of a comment."),
    ("doc-escapes", "doc: The words.", 'doc: The """ of a text.'),
    ("doc-escapes", "doc: The words.", "doc: 'The \"words\"'"),
    ("doc-escapes", "doc: The first kind.", "doc: A back\\slash."),
    ("orig-id", "id: st_kind", "id: kind"),
    ("orig-id", "      -orig-id: KIND_SECOND\n", ""),
    ("reserved-word", "id: words_list", "id: lambda"),
    ("reserved-word", "id: first\n", "id: yield\n"),
    ("name-clash", "id: words_list", "id: words"),
    ("name-clash", "id: first\n", "id: unknown\n"),
    ("enum-value", "    1:\n      id: first", "    0x80000001:\n      id: first"),
    ("expression", "value: 'num_rows", "value: '(-_io.pos % 4) + num_rows"),
    ("expression", "            _: words\n", ""),
    ("expression", "type: u4\n        enum: kinds", "type: u4"),
    ("expression", "'num_rows <= _io.size / 4 ?", "'num_rows.to_i <= _io.size / 4 ?"),
    (
        "expression",
        "    doc: Number of rows for which there is room.",
        "    enum: demo::kinds\n    doc: Number of rows for which there is room.",
    ),
    ("portable", "    type: u2\n    doc: Number", "    type: io\n    doc: Number"),
    ("portable", "? num_rows :", "? _root.num_rows :"),
    ("portable", "? num_rows :", "? rows[0].as<row>.st_kind :"),
    ("portable", "    type: row\n", "    type: demo::row\n"),
    ("portable", "            kinds::first: words\n", "            kinds::first: demo::words\n"),
    (
        "portable",
        "instances:\n",
        """instances:
  all_rows:
    pos: 0
    type:
      switch-on: num_rows
      cases:
        1: row
        _: words
    repeat: eos
    doc: The rows again.
""",
    ),
    (
        "progress",
        "    type: strz\n    repeat: eos\n    doc: Names",
        "    size: num_rows\n    repeat: eos\n    doc: Names",
    ),
    ("progress", "repeat-until: _ == 0 or _io.eof", "repeat-until: _ == 0"),
    ("progress", "repeat-until: _ == 0 or _io.eof", "repeat-until: _index == 3 or _io.eof"),
    ("count-guard", "repeat-expr: num_fitting", "repeat-expr: num_rows"),
    ("count-guard", "repeat-expr: num_fitting", "repeat-expr: _io.size - _io.pos"),
]
IDS = [f"{rule}-{number}" for number, (rule, *_) in enumerate(FAULTS)]


def faults(folder: Path, text: str) -> list[lint.Fault]:
    (folder / "demo.ksy").write_text(text, encoding="utf-8")
    return lint.check(load_specs(folder))


def test_sound_spec_has_no_faults(tmp_path: Path) -> None:
    assert faults(tmp_path, SOUND) == []


@pytest.mark.parametrize(("rule", "old", "new"), FAULTS, ids=IDS)
def test_rule_sees_its_fault(tmp_path: Path, rule: str, old: str, new: str) -> None:
    assert SOUND.count(old) >= 1, "the planted fault must change the spec"
    found = faults(tmp_path, SOUND.replace(old, new, 1))
    assert rule in {fault.rule for fault in found}, found
    assert all(fault.place.startswith("demo.ksy:") for fault in found)


def test_every_rule_has_a_planted_fault() -> None:
    assert {rule for rule, *_ in FAULTS} == set(lint.RULES)


def test_a_loop_over_an_imported_type_needs_progress(tmp_path: Path) -> None:
    (tmp_path / "hollow.ksy").write_text(
        "meta:\n  id: hollow\n  title: t\n  application: a\n  license: CC0-1.0\n"
        "  ks-version: 0.9\ndoc: Reads nothing.\ndoc-ref: https://example.com/\nseq: []\n"
    )
    text = SOUND.replace("  encoding:", "  imports:\n    - hollow\n  encoding:", 1).replace(
        "    type: strz\n    repeat: eos", "    type: hollow\n    repeat: eos", 1
    )
    assert {fault.rule for fault in faults(tmp_path, text)} == {"progress"}


def test_specs_of_the_project_keep_every_rule() -> None:
    assert [str(fault) for fault in lint.check(load_specs(ROOT / "ksy"))] == []
