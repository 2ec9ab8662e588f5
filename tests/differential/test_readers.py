"""Both generated readers agree, nothing is unclaimed and nothing is unnamed.

The Kaitai classes read field by field, the record scanners table by table; what one finds at an
offset the other must find there, too.
"""

from __future__ import annotations

from pathlib import Path
from struct import Struct, calcsize
from typing import Any

import pytest

from cubinspec import Cubin
from cubinspec.reader.kaitai import FIELD, walk
from cubinspec.report.coverage import coverage_record
from cubinspec_generated import records
from cubinspec_generated.codes import EIFMT_SVAL
from tools.gen.tables import load_table

#: start -> end, value of every leaf field
Leaves = dict[int, tuple[int, Any]]


def _leaves(cubin: Cubin) -> Leaves:
    return {
        start: (end, value) for _, start, end, value, kind in walk(cubin.tree()) if kind == FIELD
    }


#: Number of parts of a byte -> their widths: those of st_info, those of st_other.
_WIDTHS = {
    len(fields): tuple(field["width"] for field in fields)
    for fields in (
        [{"width": 4}, {"width": 4}],
        load_table(Path(__file__).resolve().parents[2], "symbols").data["other"]["fields"],
    )
}


def _recombined(parts: dict[str, int]) -> int:
    """The byte whose bit fields, lowest first, the spec names: st_info or st_other."""
    value = bit = 0
    for part, width in zip(parts.values(), _WIDTHS[len(parts)], strict=True):
        value |= part << bit
        bit += width
    assert bit == 8
    return value


def _compare(leaves: Leaves, record: Struct, at: int, row: tuple[Any, ...], what: str) -> int:
    """Compare one scanned row with the leaves at its offsets; returns the fields compared."""
    place = at
    for code, value in zip(record.format.lstrip("<"), row, strict=True):
        end, leaf = leaves[place]
        size = calcsize(f"<{code}")
        assert end - place == size, (what, hex(place))
        if isinstance(leaf, dict):
            assert _recombined(leaf) == value, (what, hex(place))
        else:
            assert leaf == value, (what, hex(place))
        place += size
    return len(row)


def _agree(path: Path) -> int:
    with Cubin.open(str(path)) as cubin:
        leaves = _leaves(cubin)
        elf = cubin.elf
        compared = 0
        section = records.SECTION_HEADER_64 if elf.is_64 else records.SECTION_HEADER_32
        segment = records.PROGRAM_HEADER_64 if elf.is_64 else records.PROGRAM_HEADER_32
        for index, row in enumerate(elf.section_rows):
            at = cubin.header.e_shoff + index * section.size
            compared += _compare(leaves, section, at, row, "section header")
        if elf.is_64:
            for index, segment_row in enumerate(elf.segment_rows):
                at = cubin.header.e_phoff + index * segment.size
                compared += _compare(leaves, segment, at, segment_row, "program header")
        tables = cubin.tables()
        if elf.is_64:
            for number, symbols in tables.symbol_rows.items():
                base = elf.section_rows[number][4]
                for index, symbol in enumerate(symbols):
                    at = base + index * records.SYMBOL_64.size
                    compared += _compare(leaves, records.SYMBOL_64, at, symbol, "symbol")
            for number, relocations in tables.relocation_rows.items():
                base = elf.section_rows[number][4]
                for index, relocation in enumerate(relocations):
                    rela = relocation[3] is not None
                    layout = records.RELA_64 if rela else records.REL_64
                    at = base + index * layout.size
                    compared += _compare(leaves, layout, at, relocation[: 3 + rela], "relocation")
        for number, rows in tables.info_rows.items():
            base = elf.section_rows[number][4]
            for at, form, code, value, payload in rows:
                place = base + at
                compared += _compare(
                    leaves, records.INFO_RECORD, place, (form, code, value), "attribute"
                )
                if form == EIFMT_SVAL and payload:
                    # what follows the payload starts a leaf of its own: no record is out of step
                    after = place + 4 + len(payload)
                    section_end = base + elf.section_rows[number][5]
                    assert after == section_end or after in leaves, (path.name, hex(place))
        return compared


def _complete(path: Path) -> None:
    with Cubin.open(str(path)) as cubin:
        record = coverage_record(cubin)
        parts = record["named"] + sum(record["opaque"].values())
        assert parts + record["padding"] + record["unclaimed"] == record["size"] == cubin.size
        assert record["unclaimed"] == 0, path.name
        for section in cubin.sections:
            assert section.type_name, (path.name, section.name, hex(section.sh_type))
            assert section.kind, (path.name, section.name)
            for attribute in section.info_records:
                assert attribute.name, (path.name, hex(attribute.code))
                assert attribute.format_name, (path.name, attribute.format)
        for symbol in [*cubin.symbols, *cubin.mercury_symbols]:
            assert symbol.type_name, (path.name, symbol.st_type)
            assert symbol.bind_name, (path.name, symbol.st_bind)
        for relocation in cubin.relocations:
            assert relocation.name, (path.name, hex(relocation.r_type))


def test_both_readers_agree_on_a_sample(sample: Path) -> None:
    assert _agree(sample) > 50


def test_spec_claims_and_names_all_of_a_sample(sample: Path) -> None:
    _complete(sample)


@pytest.mark.corpus
def test_both_readers_agree_on_a_corpus_file(corpus_file: Path) -> None:
    assert _agree(corpus_file) > 50


@pytest.mark.corpus
def test_spec_claims_and_names_all_of_a_corpus_file(corpus_file: Path) -> None:
    _complete(corpus_file)
