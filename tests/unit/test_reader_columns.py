"""Tables of records as columns."""

from __future__ import annotations

import struct

import pytest

from cubinspec.format import packing
from cubinspec.reader import columns
from cubinspec.reader.elf import Elf
from cubinspec_generated import records
from tests.conftest import sample_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

RECORDS = (
    records.SECTION_HEADER_64,
    records.SECTION_HEADER_32,
    records.SYMBOL_64,
    records.SYMBOL_32,
    records.REL_64,
    records.RELA_64,
    records.REL_32,
    records.RELA_32,
)


@pytest.mark.parametrize("is_little", [True, False])
@pytest.mark.parametrize("record", RECORDS, ids=lambda record: str(record.format))
def test_columns_hold_the_fields(
    record: struct.Struct, is_little: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few rows and many, also on a machine that is not little-endian, where no views are made."""
    monkeypatch.setattr(packing, "_LITTLE", is_little and packing._LITTLE)
    for count in (0, 1, 7, 200):
        table = bytes([at * 37 & 0xFF for at in range(count * record.size)])
        rows = [*record.iter_unpack(table)]
        found = packing.split(record, table)
        assert [list(column) for column in found] == [
            [row[field] for row in rows] for field in range(len(record.format) - 1)
        ]
        assert packing.join(record, found) == table
        assert packing.join(record, [list(column) for column in found]) == table
        parts = packing.join(record, [column[1:] for column in found])
        assert parts == table[record.size :]
        as_rows = columns.Rows(found)
        assert [*as_rows] == rows == [as_rows[at] for at in range(len(as_rows))]


@pytest.mark.parametrize("number", [1 << 32, -1])
def test_number_that_does_not_fit(number: int) -> None:
    with pytest.raises(struct.error):
        packing.join(records.REL_32, [[1, 2], [number, 3]])


@pytest.mark.parametrize("file", sample_files()[::29], ids=lambda file: file.name)
def test_columns_and_rows_of_a_file(file: Path) -> None:
    by_rows, by_columns = (Elf(file.read_bytes(), file.name) for _ in range(2))
    assert [*zip(*by_columns.section_columns, strict=True)] == by_rows.section_rows
    for index, row in enumerate(by_rows.section_rows):
        assert by_columns.section_row(index, "") == row
        assert by_columns.find_section(row[1]) == by_rows.find_section(row[1])
    table = by_rows.find_section(2)
    assert table is not None
    assert [*by_columns.symbol_table(table)] == by_rows.symbol_rows(table)
