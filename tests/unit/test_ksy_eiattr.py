"""The payload types of eiattr.ksy are the layouts of the table eiattr.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.gen.records import bit_width
from tools.gen.spec import Attr, Type, load_specs

ROOT = Path(__file__).resolve().parents[2]
SPECS = load_specs(ROOT / "ksy")
SPEC = SPECS["eiattr"]
TABLE = yaml.safe_load((ROOT / "ksy/tables/eiattr.yaml").read_text())

#: Layouts with a payload; the others have their value in the record itself or are not known.
LAID_OUT = {
    row["code"]: row
    for row in TABLE["attributes"]
    if row["layout"]["kind"] in ("struct", "array", "list", "records", "tagged")
}


def payload_types() -> dict[int, Type]:
    """Code -> payload type, from the switch of the record."""
    codes = {
        member["id"]: value
        for value, member in SPECS["cuda_codes"].root.raw["enums"]["eiattr_code"].items()
    }
    payload = next(a for a in SPEC.root.types["info_record"].seq if a.id == "payload")
    return {
        codes[case.rpartition("::")[2]]: SPEC.root.types[name]
        for case, name in payload.raw["type"]["cases"].items()
        if case != "_"
    }


def flat(attrs: list[Attr]) -> list[str]:
    """Integer types of fixed fields; a type of bit fields is the integer with their widths."""
    parts = []
    for attr in attrs:
        kind = attr.raw.get("type")
        nested = SPEC.root.types.get(str(kind))
        if nested and bit_width(nested):
            widths = [int(str(sub.raw["type"])[1:]) for sub in nested.seq]
            parts.append(f"u{(bit_width(nested) or 0) // 8}:{widths}")
        elif nested:
            parts += flat(nested.seq)
        else:
            parts.append(str(kind))
    return parts


def expected(fields: list[dict[str, Any]]) -> list[str]:
    parts = []
    for field in fields:
        bits = field.get("bits")
        if bits:
            size = int(field["type"][1:]) * 8
            widths = [bit["width"] for bit in bits]
            if sum(widths) < size:
                widths.append(size - sum(widths))
            parts.append(f"{field['type']}:{widths}")
        else:
            parts.append(field["type"])
    return parts


def body(kind: Type) -> list[Attr]:
    return [attr for attr in kind.seq if attr.id != "trailing"]


def test_the_same_codes_have_a_payload() -> None:
    typed = set(payload_types())
    opaque = {row["code"] for row in TABLE["attributes"] if row["layout"]["kind"] == "opaque"}
    assert typed - opaque == set(LAID_OUT)


@pytest.mark.parametrize("code", LAID_OUT, ids=[row["name"] for row in LAID_OUT.values()])
def test_the_payload_has_the_layout_of_the_table(code: int) -> None:
    layout = LAID_OUT[code]["layout"]
    fields = body(payload_types()[code])
    repeated = [attr for attr in fields if "repeat" in attr.raw]
    if layout["kind"] == "struct":
        assert not repeated
        assert flat(fields) == expected(layout["fields"])
    elif layout["kind"] == "array":
        assert fields == repeated
        assert flat(fields) == expected(layout["fields"])
    elif layout["kind"] == "list":
        head, tail = layout["fields"][:-1], layout["fields"][-1:]
        assert flat(fields) == expected(head) + expected(tail)
        assert repeated == fields[-1:]
    else:
        # records and tagged: the entries vary in size, their fields stand in one type
        assert fields == repeated
        entry = SPEC.root.types[str(fields[0].raw["type"])]
        if layout["kind"] == "records":
            assert flat(entry.seq) == expected(layout["fields"])
        else:
            longest = max(layout["cases"].values(), key=len)
            integers = [part for part in flat(entry.seq) if part.startswith("u")]
            tag = [layout["tag"]["type"]]
            assert integers == tag + [t for t in expected(longest) if t.startswith("u")]
