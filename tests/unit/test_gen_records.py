"""Record scanners follow from the specs and read what the Kaitai classes read."""

from __future__ import annotations

import itertools
from pathlib import Path
from struct import Struct
from typing import Any

import pytest

from cubinspec_generated import record_fields
from cubinspec_generated import records as generated
from cubinspec_generated.kaitai.elf_cuda import ElfCuda
from tools.gen import records
from tools.gen.spec import SpecError, load_specs

ROOT = Path(__file__).resolve().parents[2]


def spec(folder: Path, name: str, body: str) -> None:
    (folder / f"{name}.ksy").write_text(f"meta:\n  id: {name}\n{body}")


def layouts(folder: Path) -> dict[str, tuple[str, list[str], bool]]:
    return {
        name: (layout, names, whole)
        for name, _, layout, names, whole in records.records(load_specs(folder))
    }


def test_integers_bytes_and_bit_fields(tmp_path: Path) -> None:
    spec(
        tmp_path,
        "demo",
        """types:
  row:
    seq:
      - {id: a, type: u1}
      - {id: b, type: s8}
      - {id: c, size: 3}
      - {id: d, contents: [0x7f, ELF]}
      - {id: e, type: flags}
      - {id: f, type: f8}
  flags:
    seq:
      - {id: low, type: b4}
      - {id: high, type: b12}
""",
    )
    assert layouts(tmp_path) == {"ROW": ("<Bq3s4sHd", ["a", "b", "c", "d", "e", "f"], True)}


def test_a_varying_type_gives_its_head(tmp_path: Path) -> None:
    spec(
        tmp_path,
        "demo",
        """types:
  row:
    seq:
      - {id: len, type: u2}
      - {id: body, size: len}
      - {id: after, type: u4}
""",
    )
    assert layouts(tmp_path) == {"ROW": ("<H", ["len"], False)}


def test_fields_of_one_elf_class_give_a_record_for_each(tmp_path: Path) -> None:
    spec(
        tmp_path,
        "demo",
        """types:
  row:
    params:
      - {id: is_64, type: bool}
    seq:
      - {id: kind, type: u4}
      - {id: size_64, type: u8, if: is_64}
      - {id: size_32, type: u4, if: not is_64}
      - {id: last, type: u2}
""",
    )
    assert layouts(tmp_path) == {
        "ROW_64": ("<IQH", ["kind", "size", "last"], True),
        "ROW_32": ("<IIH", ["kind", "size", "last"], True),
    }


def test_an_imported_type_of_bit_fields_is_an_integer(tmp_path: Path) -> None:
    spec(tmp_path, "bits", "seq:\n  - {id: low, type: b3}\n  - {id: high, type: b5}\n")
    body = "  imports:\n    - bits\ntypes:\n  row:\n    seq:\n      - {id: a, type: bits}\n"
    spec(tmp_path, "demo", body)
    assert layouts(tmp_path)["ROW"] == ("<B", ["a"], True)


def test_two_types_cannot_share_a_record_name(tmp_path: Path) -> None:
    for name in ("one", "two"):
        spec(tmp_path, name, "types:\n  row:\n    seq:\n      - {id: a, type: u1}\n")
    with pytest.raises(SpecError, match=r"two\.ksy:\d+: record name ROW is also that of one::row"):
        layouts(tmp_path)


def test_generated_file_is_what_the_specs_say() -> None:
    for name, _, layout, names, _ in records.records(load_specs(ROOT / "ksy")):
        assert getattr(generated, name).format == layout
        assert getattr(record_fields, f"{name}_FIELDS") == tuple(names)


def scanned(data: bytes, offset: int, count: int, record: Struct) -> list[tuple[Any, ...]]:
    return list(record.iter_unpack(data[offset : offset + count * record.size]))


def plain(row: Any, fields: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(number(getattr(row, field)) for field in fields)


def number(value: Any) -> Any:
    """A Kaitai value as the scanner has it: bit fields become one integer, codes numbers."""
    names = {
        "SymbolInfo": (("symbol_type", 0), ("binding", 4)),
        "SymbolOther": (
            ("visibility", 0),
            ("is_unified_or_managed", 2),
            ("is_obscure", 3),
            ("is_entry_or_unified_object", 4),
            ("memory_space", 5),
        ),
        "RelocationInfo32": (("r_type", 0), ("r_sym", 8)),
    }.get(type(value).__name__)
    if names:
        return sum(int(getattr(value, name)) << shift for name, shift in names)
    return value if isinstance(value, bytes) else int(value)


def test_both_readers_agree_on_every_row(sample: Path) -> None:
    data = sample.read_bytes()
    tree = ElfCuda.from_bytes(data)
    bits = "64" if tree.is_64 else "32"

    def same(name: str, offset: int, rows: list[Any]) -> None:
        record = getattr(generated, f"{name}_{bits}")
        fields = getattr(record_fields, f"{name}_{bits}_FIELDS")
        assert scanned(data, offset, len(rows), record) == [plain(row, fields) for row in rows]

    same("ELF_HEADER", 16, [tree.header])
    same("SECTION_HEADER", tree.e_shoff, tree.section_headers)
    same("PROGRAM_HEADER", tree.e_phoff, tree.program_headers or [])
    for section in tree.sections:
        body = getattr(section.body, "content", section.body)
        table = getattr(body, "table", None)
        for name, rows in (
            ("SYMBOL", getattr(table, "symbols", None)),
            ("REL", getattr(table, "relocations", None)),
        ):
            if rows:
                kind = "RELA" if name == "REL" and hasattr(rows[0], "r_addend") else name
                same(kind, section.ofs_body, rows)


def test_both_readers_agree_on_every_attribute(sample: Path) -> None:
    tree = ElfCuda.from_bytes(sample.read_bytes())
    for section in tree.sections:
        body = getattr(section.body, "content", section.body)
        if type(body).__name__ != "Eiattr":
            continue
        data = sample.read_bytes()[section.ofs_body : section.ofs_body + section.len_body]
        at = 0
        for record in body.records:
            head = generated.INFO_RECORD.unpack_from(data, at)
            assert head == (int(record.format), int(record.code), record.value)
            at += 4 + (record.value if record.format == 4 else 0)
        assert at == len(data)


def test_samples_reach_both_classes_and_all_tables(samples: list[Path]) -> None:
    # the tests above would pass on files without any rows
    seen = set()
    for sample in samples:
        tree = ElfCuda.from_file(str(sample))
        for section in tree.sections:
            if section.body_kind in (2, 3, 4):
                seen.add((tree.is_64, section.body_kind))
        tree._io.close()
    assert set(itertools.product((True,), (2, 3, 4))) | {(False, 2), (False, 3)} <= seen
