"""Names in the tables are those that cuobjdump 13.5 prints, wherever it prints one.

Each test patches codes into a cubin and reads the tool's text. Names made here stand only where the
tool prints none.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from cubinspec import Cubin
from cubinspec_generated.tables import compat, eiattr, relocations, sections
from tools import oracle
from tools.gen import tables

pytestmark = pytest.mark.oracle("ptxas", "cuobjdump")

ROOT = Path(__file__).resolve().parents[2]
PARAMETERS = 40
SOURCE = """\
.version 9.0
.target sm_90
.address_size 64
.visible .global .u32 g = 5;
.visible .entry k({}) {{ .reg .b64 %a; mov.u64 %a, g; st.global.u64 [%a], %a; ret; }}
"""
HIDDEN_ATTRIBUTES = {0x2A, 0x30, 0x35, 0x47, 0x56, 0x5A, 0x5F, 0x60, 0x63, 0x67}
"""Codes for which cuobjdump 13.5 prints no name."""
CRASHING = {0x11, 0x12, 0x23, 0x2F, 0x0F, 0x34, 0x3B, 0x5D}
"""Attributes that cuobjdump reads as symbol references and refuses without a payload."""


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A relocatable cubin with a long .nv.info.k, a .nv.compat and relocations."""
    folder = tmp_path_factory.mktemp("cubin")
    parameters = ", ".join(f".param .u32 p{i}" for i in range(PARAMETERS))
    (folder / "a.ptx").write_text(SOURCE.format(parameters), encoding="utf-8")
    options = ("-arch", "sm_90", "-c", folder / "a.ptx", "-o", folder / "a.cubin")
    oracle.find("ptxas").run(*options).check()
    return (folder / "a.cubin").read_bytes()


def dump(data: bytes, folder: Path) -> str:
    """What cuobjdump prints, also when it stops at some point."""
    file = folder / "p.cubin"
    file.write_bytes(data)
    return oracle.find("cuobjdump").run("-elf", file).stdout


def replaced(data: bytes, section: str, records: bytes) -> bytes:
    """The cubin with a section that starts with the records, padded with EIATTR_PAD."""
    place = Cubin.parse(data, name="base").sections[section]
    assert len(records) <= place.sh_size
    padding = b"\x01\x01\0\0" * ((place.sh_size - len(records)) // 4)
    start = place.sh_offset
    return data[:start] + records + padding + data[start + place.sh_size :]


def printed_attributes(text: str, section: str) -> list[str]:
    block = text.split(f"\n{section}\n", 1)[1].split("\n\n\n", 1)[0]
    return re.findall(r"Attribute:\t(.*)", block)


def test_attribute_names(cubin: bytes, tmp_path: Path) -> None:
    codes = [code for code in range(0x70) if code not in CRASHING]
    assert len(codes) * 4 <= 40 * 16
    records = b"".join(struct.pack("<BBH", 1, code, 0) for code in codes)
    names = printed_attributes(dump(replaced(cubin, ".nv.info.k", records), tmp_path), ".nv.info.k")
    shown = dict(zip(codes, names, strict=False))
    assert set(shown) == set(codes)
    for code, name in shown.items():
        if code in HIDDEN_ATTRIBUTES or code not in eiattr.NAMES:
            assert name == "unknown Attribute", hex(code)
        else:
            assert name == eiattr.NAMES[code]


def test_compatibility_names(cubin: bytes, tmp_path: Path) -> None:
    names: dict[int, str] = {}
    for first in (0, 6, 12):
        codes = range(first, first + 6)
        records = b"\x02\x09\0\0" + b"".join(struct.pack("<BBH", 2, c, 0) for c in codes)
        text = dump(replaced(cubin, ".nv.compat", records), tmp_path)
        names.update(zip(codes, printed_attributes(text, ".nv.compat")[1:], strict=False))
    assert set(names) == set(range(18))
    for code, name in names.items():
        if name == "unknown Attribute":
            assert code in (7, 8, 13, 17)
        else:
            assert name == compat.NAMES[code]


@pytest.mark.parametrize("first", [0x70000000, 0x70000040, 0x70000080, 0x700000C0])
def test_section_type_names(cubin: bytes, tmp_path: Path, first: int) -> None:
    parsed = Cubin.parse(cubin, name="base")
    index = parsed.sections[".debug_frame"].index
    header = parsed.header.e_shoff + 64 * index
    entries = {t["value"]: t for t in tables.load_table(ROOT, "sections").data["types"]}
    for value in range(first, first + 0x40):
        if value == 0x70000000:
            continue  # cuobjdump then reads the bytes as attributes and gives up
        data = bytearray(cubin)
        struct.pack_into("<I", data, header + 4, value)
        row = re.search(rf"^ +{index:x} .*\.debug_frame$", dump(data, tmp_path), re.MULTILINE)
        assert row is not None, hex(value)
        columns = row.group().split()
        if columns[5] == "UNKNOWN:":
            # a name that the tool does not print says where it comes from
            assert value not in entries or "source" in entries[value], hex(value)
            continue
        assert f"SHT_{columns[5]}" == sections.TYPE_NAMES[value]


def test_relocation_names(cubin: bytes, tmp_path: Path) -> None:
    parsed = Cubin.parse(cubin, name="base")
    place = parsed.sections[".rela.text.k"].sh_offset
    for r_type in range(120):
        data = bytearray(cubin)
        struct.pack_into("<I", data, place + 8, r_type)
        text = dump(data, tmp_path).split("\n.section .rela.text.k", 1)[1]
        name = re.search(r"R_CUDA_\w+|UNKNOWN REL TYPE", text)
        assert name is not None
        if name.group() == "UNKNOWN REL TYPE":
            assert r_type == 0 or r_type >= 116
        else:
            assert name.group() == relocations.NAMES[r_type]
