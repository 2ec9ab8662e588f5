"""The merge rules of .nv.compat, executed, give what nvlink writes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from cubinspec import Cubin
from cubinspec_generated.tables import compat
from cubinspec_generated.tables.compat import ATTRIBUTES
from tools import oracle

pytestmark = pytest.mark.oracle("ptxas", "nvlink")

SOURCE = """\
.version 9.0
.target sm_90
.address_size 64
.visible .func {0}(.param .u64 p) {{ ret; }}
.visible .entry k{0}(.param .u64 p) {{ ret; }}
"""
BVAL, HVAL = 2, 3
FORMATS = {7: HVAL, 8: HVAL}
"""Formats of the records that are merged; the others are BVAL."""
TYPICAL = {9: 0, 2: 1, 5: 5, 7: 0x101, 3: 0, 6: 1}
"""What ptxas writes for sm_90, without the record that nvlink drops for it."""

Values = Mapping[int, int]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Two relocatable cubins with different names."""
    folder = tmp_path_factory.mktemp("inputs")
    result = []
    for name in ("f", "g"):
        (folder / "a.ptx").write_text(SOURCE.format(name), encoding="utf-8")
        options = ("-arch", "sm_90", "-c", folder / "a.ptx", "-o", folder / "a.cubin")
        oracle.find("ptxas").run(*options).check()
        result.append((folder / "a.cubin").read_bytes())
    return result


def with_values(data: bytes, values: Values) -> bytes:
    """The cubin with these records in its .nv.compat, padded with EICOMPAT_ATTR_PAD."""
    section = Cubin.parse(data, name="input").sections[".nv.compat"]
    records = b"".join(struct.pack("<BBH", FORMATS.get(c, BVAL), c, v) for c, v in values.items())
    padding = struct.pack("<BBH", BVAL, 1, 0) * ((section.sh_size - len(records)) // 4)
    start = section.sh_offset
    return data[:start] + records + padding + data[start + section.sh_size :]


def linked(inputs: list[bytes], first: Values, second: Values, folder: Path) -> dict[int, int]:
    """The records that nvlink writes, in order."""
    files = []
    for number, (data, values) in enumerate(zip(inputs, (first, second), strict=True)):
        file = folder / f"{number}.cubin"
        file.write_bytes(with_values(data, values))
        files.append(file)
    oracle.find("nvlink").run("-arch", "sm_90", *files, "-o", folder / "out").check()
    with Cubin.open(str(folder / "out")) as cubin:
        records = cubin.sections[".nv.compat"].data
    return {code: value for _, code, value in struct.iter_unpack("<BBH", records)}


def zero_or_max(first: int, second: int) -> int:
    return max(first, second) if first and second else 0


def zero_or_max_fields(first: int, second: int) -> int:
    result = first & ~0xF
    for shift in (0, 2):
        result |= zero_or_max(first >> shift & 3, second >> shift & 3) << shift
    return result


RULES: dict[str, Callable[[int, int], int]] = {
    "max": max,
    "or": lambda first, second: first | second,
    "zero_or_max": zero_or_max,
    "zero_or_max_fields": zero_or_max_fields,
    "equal_or_one": lambda first, second: first if first == second else 1,
}


def merged(*inputs: Values) -> dict[int, int]:
    """The same by the table, for a link for sm_90."""
    result = {code: ATTRIBUTES[code].variant_values[""] for code in compat.LEADING}
    for number, values in enumerate(inputs):
        lacking = {
            c: a.missing
            for c, a in sorted(ATTRIBUTES.items())
            if a.missing is not None and c not in values
        }
        for code, value in {**values, **lacking}.items():
            rule = RULES.get(ATTRIBUTES[code].merge)
            if rule is not None:
                # a code without a value for inputs that lack it is merged where it occurs
                result[code] = rule(result[code], value) if number and code in result else value
    for code in compat.TRAILING:
        if 90 in ATTRIBUTES[code].architecture_values:
            result[code] = ATTRIBUTES[code].architecture_values[90]
    return result


PAIRS = [
    (2, 1, 2),
    (2, 5, 3),
    (2, 0, 1),
    (2, 5, 0),
    (3, 1, 2),
    (3, 0, 3),
    (5, 5, 6),
    (5, 5, 9),
    (5, 1, 4),
    (5, 0, 5),
    (5, 0x15, 5),
    (5, 5, 0x15),
    (6, 0, 0),
    (6, 2, 2),
    (6, 2, 1),
    (6, 255, 0),
    (7, 0x102, 0x201),
    (7, 0x301, 0x102),
    (8, 3, 4),
    (8, 0x201, 0x102),
    (9, 1, 0),
]


@pytest.mark.parametrize(("code", "first", "second"), PAIRS)
def test_a_pair_of_values_is_merged_as_the_table_says(
    code: int, first: int, second: int, inputs: list[bytes], tmp_path: Path
) -> None:
    values = ({**TYPICAL, code: first}, {**TYPICAL, code: second})
    ours = merged(*values)
    theirs = linked(inputs, *values, tmp_path)
    assert theirs == ours
    assert list(theirs) == list(ours)


@pytest.mark.parametrize("code", [a.code for a in ATTRIBUTES.values() if a.merge == "drop"])
def test_a_dropped_record_is_not_written(code: int, inputs: list[bytes], tmp_path: Path) -> None:
    values = {**TYPICAL, code: 3}
    assert linked(inputs, values, values, tmp_path) == merged(TYPICAL, TYPICAL)


ORDERS: dict[str, tuple[Values, Values]] = {
    "reversed first": (dict(reversed(TYPICAL.items())), TYPICAL),
    "reversed second": (TYPICAL, dict(reversed(TYPICAL.items()))),
    "new code in the second": (TYPICAL, {8: 4, **TYPICAL}),
    "nothing in the first": ({}, TYPICAL),
    "nothing in the second": (TYPICAL, {}),
    "little in both": ({9: 0}, {9: 0}),
    "some in each": ({2: 1, 9: 0}, {5: 5, 2: 2, 9: 0, 3: 1}),
    "version in one": ({**TYPICAL, 7: 0x10}, {k: v for k, v in TYPICAL.items() if k != 7}),
}


@pytest.mark.parametrize("values", ORDERS.values(), ids=ORDERS.keys())
def test_the_order_and_the_missing_values_are_those_of_the_table(
    values: tuple[Values, Values], inputs: list[bytes], tmp_path: Path
) -> None:
    ours = merged(*values)
    theirs = linked(inputs, *values, tmp_path)
    assert list(theirs.items()) == list(ours.items())


@pytest.mark.parametrize("sm", ATTRIBUTES[11].architecture_values)
def test_a_value_by_architecture_is_the_one_of_the_table(sm: int, tmp_path: Path) -> None:
    source = SOURCE.format("f").replace("sm_90", f"sm_{sm}")
    (tmp_path / "a.ptx").write_text(source, encoding="utf-8")
    options = ("-arch", f"sm_{sm}", "-c", tmp_path / "a.ptx", "-o", tmp_path / "a.cubin")
    oracle.find("ptxas").run(*options).check()
    options = ("-arch", f"sm_{sm}", tmp_path / "a.cubin", "-o", tmp_path / "out")
    oracle.find("nvlink").run(*options).check()
    with Cubin.open(str(tmp_path / "out")) as cubin:
        records = bytes(cubin.sections[".nv.compat"].data)
    expected = struct.pack("<BBHQ", 4, 11, 8, ATTRIBUTES[11].architecture_values[sm])
    assert records.endswith(expected)


def test_every_merge_rule_is_tried() -> None:
    tried = {ATTRIBUTES[code].merge for code, _, _ in PAIRS} | {"drop", "architecture"}
    assert {a.merge for a in ATTRIBUTES.values()} == tried
