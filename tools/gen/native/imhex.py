"""``python -m tools.gen.native.imhex``: the patterns of ImHex, held against Python.

``plcli``, the command-line tool of ImHex's pattern language, runs ``generated/imhex`` on every
sample and on fatbins made of samples. Sections, attributes, symbols and relocations must be those
that ``tools/gen/languages/walks/cubin_records.py`` prints. Neither ``plcli`` nor the standard
includes come from a package registry: ``PLCLI`` names the one, ``INCLUDES`` the other (a folder
with ``std``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.gen.languages.__main__ import SAMPLES, differences, make_fatbins
from tools.gen.languages.builds import ROOT, WALKS, BuildError, run
from tools.gen.native import hexpat, json_document


def _numbers() -> dict[str, int]:
    """``enum::MEMBER`` -> number, also under the names that enums of one width have."""
    document = json.loads((ROOT / json_document.DOCUMENT).read_text(encoding="utf-8"))
    return {m["name"]: m["value"] for e in document["enums"] for m in e["members"]}


NUMBERS = _numbers()


def _number(value: Any) -> int:
    if not isinstance(value, str):
        return int(value)
    name = value.rpartition("::")[2]
    # the tool prints a number without a name as `enum::???`, which no sample has in these fields
    if name not in NUMBERS:
        raise BuildError(f"a code without a name: {value}")
    return NUMBERS[name]


def _text(row: dict[str, Any]) -> str:
    return str(row.get("name", "")).rstrip("\0")


def _either(row: dict[str, Any], name: str) -> int:
    return int(row.get(f"{name}_64", row.get(f"{name}_32", 0)))


def _body(index: int, body: dict[str, Any]) -> Iterator[str]:
    body = body.get("content", body)
    for row in body.get("records", ()):
        if "format" not in row:  # a record of a capsule
            continue
        yield f"A {index} {_number(row['format'])} {_number(row['code'])} {row['value']}"
        if str(row["code"]).endswith("EIATTR_REGCOUNT") and "payload" in row:
            yield f"K {row['payload']['symbol']} {row['payload']['number']}"
    table = body.get("table", {})
    for row in table.get("symbols", ()):
        info = row["st_info"]
        kinds = f"{_number(info['symbol_type'])} {_number(info['binding'])}"
        place = f"{row['st_value']} {row['st_size']} {row['st_shndx']}"
        yield f"Y {index} {_text(row)} {place} {kinds}"
    for row in table.get("relocations", ()):
        info = row.get("r_info", row)
        numbers = f"{_number(info['r_type'])} {info['r_sym']} {row.get('r_addend', 0)}"
        yield f"R {index} {row['r_offset']} {numbers}"


def cubin_lines(elf: dict[str, Any]) -> Iterator[str]:
    """The lines of one cubin, as the programs of ``walks`` print them."""
    rows = zip(elf["section_headers"], elf["sections"], strict=True)
    for index, (header, section) in enumerate(rows):
        place = f"{_either(header, 'sh_offset')} {_either(header, 'sh_size')}"
        yield f"S {index} {_text(section)} {_number(header['sh_type'])} {place}"
        kind = str(header["sh_type"])
        # Python's program leaves out compat records and resolved relocations
        if "body" in section and not kind.endswith(("COMPAT_INFO", "RESOLVED_RELA", "PROGBITS")):
            yield from _body(index, section["body"])


def fatbin_lines(file: dict[str, Any]) -> Iterator[str]:
    """The lines of a fatbin."""
    for block in file["blocks"]:
        for entry in block["content"].get("entries", {}).get("entries", ()):
            head = entry["head"]
            yield f"E {_number(head['kind'])} {head['sm']} {head['len_payload']}"
            if "sections" in entry["payload"]:
                yield from cubin_lines(entry["payload"])


def read(tool: str, includes: str, pattern: Path, file: Path) -> dict[str, Any]:
    """What the pattern makes of a file.

    Raises:
        BuildError: the pattern does not compile, or does not fit the file.
    """
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out.json"
        words = [tool, "format", "-i", str(file), "-p", str(pattern), "-I", includes]
        done = subprocess.run(
            [*words, "-o", str(out), "-f", "json"], capture_output=True, text=True, errors="replace"
        )
        if done.returncode or not out.exists():
            raise BuildError(f"{file.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        value: dict[str, Any] = json.loads(out.read_text(errors="replace"))
    return next(iter(value.values())) if value else {}


def check(tool: str, includes: str, files: list[Path]) -> int:
    """Lines that were compared.

    Raises:
        BuildError: a file is read otherwise than by Python.
    """
    total = 0
    for file in files:
        is_fatbin = file.suffix == ".fatbin"
        pattern = ROOT / (hexpat.FATBIN if is_fatbin else hexpat.CUBIN)
        tree = read(tool, includes, pattern, file)
        found = [f"F {file}", *(fatbin_lines if is_fatbin else cubin_lines)(tree)]
        expected = run([sys.executable, str(WALKS / "cubin_records.py"), str(file)], ROOT)
        faults = differences("\n".join(found), expected)
        if faults:
            raise BuildError("\n".join([f"{file.name}: {len(faults)} lines differ", *faults[:5]]))
        total += len(found)
    return total


def main() -> int:
    """Check all samples; 0 when the patterns agree, or when the tool is not given."""
    tool, includes = os.environ.get("PLCLI"), os.environ.get("INCLUDES")
    if not tool or not includes:
        print("SKIPPED ImHex: PLCLI and INCLUDES name no tool (see docs/targets.md)")
        return 0
    cubins = sorted(SAMPLES.glob("*.cubin"))
    with tempfile.TemporaryDirectory() as name:
        files = [*cubins, *make_fatbins(Path(name), cubins[::16])]
        try:
            lines = check(tool, includes, files)
        except BuildError as error:
            print(f"FAILED ImHex: {error}")
            return 1
    print(f"ImHex: {len(files)} files, {lines} lines as in Python")
    return 0


if __name__ == "__main__":
    sys.exit(main())
