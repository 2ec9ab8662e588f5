"""``ksy/cuda_codes.ksy``: every code of the tables as a Kaitai enum."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .load import Tables

FILE = Path("ksy/cuda_codes.ksy")

HEAD = """\
# Generated from ksy/tables/*.yaml (sha256 {digests}) by tools.gen; do not edit.
meta:
  id: cuda_codes
  title: Codes of NVIDIA CUDA device binaries
  application: NVIDIA CUDA
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: 0.9
  endian: le
doc: |
  The numbers that cubins use, with the names that NVIDIA's tools print for
  them, or names made here where the tools print none. Other specs import this
  file for its enums; it describes no bytes of its own. A number without a
  name here is valid and simply not known.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
enums:
"""

Member = tuple[int, str, str]
"""Value, C name, one line of documentation."""


def member_id(name: str) -> str:
    """The Kaitai id of a C name: lower case, which also keeps it clear of reserved words."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _relocation_doc(entry: Mapping[str, Any]) -> str:
    fields = [
        f"bits {a['bit']} to {a['bit'] + a['width'] - 1} get {a['value']}"
        + (f" shifted right by {a['shift']}" if a["shift"] else "")
        for a in entry["actions"]
    ]
    return "; ".join(fields) or "changes nothing"


def _members(entries: Iterable[Mapping[str, Any]], key: str) -> list[Member]:
    return [(e[key], e["name"], e["meaning"]) for e in entries if e["name"] is not None]


def kaitai_enums(tables: Tables) -> dict[str, list[Member]]:
    """All enums by id, members in the order of the tables."""
    eiattr, sections, symbols = (tables[t].data for t in ("eiattr", "sections", "symbols"))
    header, fatbin = tables["elf_header"].data, tables["fatbin"].data
    enums = {
        "eifmt": _members(eiattr["formats"], "code"),
        "eiattr_code": _members(eiattr["attributes"], "code"),
        "compat_code": _members(tables["compat"].data["attributes"], "code"),
        "relocation_type": [
            (e["type"], e["name"], _relocation_doc(e))
            for e in tables["relocations"].data["relocations"]
        ],
        "section_type": _members(sections["types"], "value"),
        "metadata_format": _members(sections["metadata_formats"], "value"),
        "st_type": _members(symbols["types"], "value"),
        "st_bind": _members(symbols["binds"], "value"),
        "symbol_visibility": _members(symbols["other"]["visibilities"], "value"),
        "symbol_space": _members(symbols["other"]["spaces"], "value"),
        "elf_class": _members(header["classes"], "value"),
        "elf_osabi": _members(header["osabis"], "value"),
        "elf_type": _members(header["types"], "value"),
        "segment_type": _members(header["segment_types"], "value"),
        "fatbin_kind": [
            (e["value"], f"FATBIN_KIND_{e['name']}", e["meaning"]) for e in fatbin["kinds"]
        ],
    }
    for enum in eiattr["enums"]:
        if not enum.get("bitset"):
            prefix = enum["name"].upper()
            enums[enum["name"]] = [
                (value, f"{prefix}_{name}", name) for value, name in enum["values"].items()
            ]
    return enums


def _wrap(text: str, width: int) -> list[str]:
    lines: list[str] = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _doc(text: str) -> str:
    sentence = text[0].upper() + text[1:].rstrip(".") + "."
    return "      doc: |\n" + "".join(f"        {line}\n" for line in _wrap(sentence, 72))


def emit_kaitai(tables: Tables) -> dict[Path, str]:
    """The one ``.ksy`` file."""
    parts = [HEAD.format(digests=" ".join(t.digest[:8] for t in tables.values()))]
    for name, members in kaitai_enums(tables).items():
        parts.append(f"  {name}:\n")
        for value, c_name, doc in members:
            number = f"{value:#x}" if value > 9 else str(value)
            parts.append(f"    {number}:\n      id: {member_id(c_name)}\n")
            parts.append(f"      -orig-id: {c_name}\n{_doc(doc)}")
    return {FILE: "".join(parts)}
