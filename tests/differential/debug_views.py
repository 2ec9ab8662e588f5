"""Debug data as cuobjdump, readelf and nvdisasm print it, and as we read it, in the same rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cubinspec import Cubin
from cubinspec.model.debug import code_ranges
from cubinspec.report.dump import section_record

_INSTRUCTION = 8
"""Bytes that no instruction is shorter than."""

Line = tuple[str, int]
Lines = dict[tuple[str, int], tuple[tuple[Line, ...], Line | None]]


def content(cubin: Cubin, name: str) -> dict[str, object]:
    """What `dump` says of a section; empty when the file has none of that name."""
    section = cubin.sections.get(name)
    return {} if section is None else section_record(cubin, section)["content"]


# -- nvdisasm -g -gi -gp -c: the lines of each instruction ---------------------------------------

_FILE = re.compile(r'\s*//## File "(.*?)", line (\d+)(?: inlined at ".*?", line \d+)?\s*')
_CODE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/")
_SECTION = re.compile(r"//-+ (\S+)\s+-+")


def nvdisasm_lines(text: str) -> Lines:
    """Section and offset of each instruction -> its lines, the innermost first, and line of PTX."""
    found: Lines = {}
    section = ""
    source: tuple[Line, ...] = ()
    ptx: Line | None = None
    said: list[Line] = []
    for line in text.splitlines():
        if match := _SECTION.match(line):
            section, source, ptx, said = match[1], (), None, []
        elif match := _FILE.fullmatch(line):
            said.append((match[1], int(match[2])))
        elif (match := _CODE.match(line)) and section.startswith(".text"):
            lines = tuple(item for item in said if not item[0].startswith(".nv_debug_ptx_txt"))
            source = lines or source
            ptx = next((item for item in said if item not in lines), ptx)
            said = []
            found[section, int(match[1], 16)] = (source, ptx)
    return found


def our_lines(cubin: Cubin) -> Lines:
    """The same for every place where an instruction could be."""
    found: Lines = {}
    for function in cubin.functions:
        for item in code_ranges(cubin, function):
            source = tuple((line.file, line.line) for line in item.source)
            ptx = None if item.ptx is None else (item.ptx.file, item.ptx.line)
            for at in range(item.start, item.end, _INSTRUCTION):
                found[function.section.name, function.code_offset + at] = (source, ptx)
    return found


# -- readelf --debug-dump=info --------------------------------------------------------------------

_ENTRY = re.compile(r" <(\w+)><(\w+)>: Abbrev Number: \d+ \((\w+)\)")
_ATTRIBUTE = re.compile(r"    <\w+>\s+(DW_AT_\w+)\s*:\s?(.*)")


def readelf_entries(text: str) -> list[tuple[int, int, str, list[tuple[str, str]]]]:
    """Offset, depth, tag and attributes of the entries of `.debug_info`."""
    found: list[tuple[int, int, str, list[tuple[str, str]]]] = []
    for line in text.splitlines():
        if match := _ENTRY.match(line):
            found.append((int(match[2], 16), int(match[1], 16), match[3], []))
        elif match := _ATTRIBUTE.fullmatch(line):
            found[-1][3].append((match[1], match[2].strip()))
    return found


def our_entries(cubin: Cubin) -> list[tuple[int, int, str, list[tuple[str, str]]]]:
    """The same, with values as readelf writes them."""
    units: list[dict[str, object]] = content(cubin, ".debug_info").get("units", [])  # type: ignore[assignment]
    return [
        (
            entry["offset"],
            entry["depth"],
            entry["tag"],
            [(value["name"], _as_readelf(value, unit)) for value in entry["attributes"]],
        )
        for unit in units
        for entry in unit["entries"]  # type: ignore[attr-defined]
    ]


def _as_readelf(value: dict[str, object], unit: dict[str, object]) -> str:
    form, number = str(value["form"]), value["value"]
    if form.startswith("DW_FORM_ref"):
        return f"<{number + unit['offset']:#x}>"  # type: ignore[operator]
    if form == "DW_FORM_addr":
        return f"{number:#x}" if number else "0"
    if form.startswith(("DW_FORM_block", "DW_FORM_exprloc")):
        data = bytes.fromhex(str(number))
        return f"{len(data)} byte block: {' '.join(f'{byte:x}' for byte in data)}"
    return str(int(number)) if isinstance(number, bool | int) else str(number)


def same_value(theirs: str, ours: str) -> bool:
    """readelf adds what a number means: a name of a language, an expression, a location list."""
    first = re.split(r"\t| \(", theirs)[0].strip()
    if re.fullmatch(r"0x[0-9a-f]+", first) and re.fullmatch(r"\d+", ours):
        return int(first, 16) == int(ours)
    return first == ours or theirs == ours


# -- cuobjdump -elf -------------------------------------------------------------------------------


_SPECIAL = r"Special opcode.* to 0x(\w+) and Line by -?\d+ to (\d+)"


def cuobjdump_parts(text: str) -> dict[str, str]:
    """Section -> what is printed of it, for the sections that start with `.section`."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if match := re.fullmatch(r"\.section (\S+).*", line):
            name = match[1]
        found.setdefault(name, []).append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def cuobjdump_rows(text: str) -> Iterator[tuple[int, int, int]]:
    """Address, line and calling row of each row that a line program makes."""
    address = line = context = 0
    for statement in text.splitlines():
        statement = statement.strip()
        if match := re.match(r"Extended opcode 2: set Address to 0x(\w+)", statement):
            address, line, context = int(match[1], 16), 1, 0
        elif match := re.search(r"Set context to (\d+)", statement):
            context = int(match[1])
        elif match := re.match(
            r"Special opcode.* to 0x(\w+) and Line by -?\d+ to (\d+)", statement
        ):
            address, line = int(match[1], 16), int(match[2])
            yield address, line, context
        elif match := re.match(r"Advance Line by -?\d+ to (\d+)", statement):
            line = int(match[1])
        elif match := re.match(r"Advance PC by \d+ to 0x(\w+)", statement):
            address = int(match[1], 16)
        elif statement == "Copy" or statement.startswith("Extended opcode 1:"):
            yield address, line, context


def our_rows(cubin: Cubin, name: str) -> Iterator[tuple[int, int, int]]:
    """The same of `dump`."""
    for unit in content(cubin, name).get("line_tables", []):  # type: ignore[attr-defined]
        for sequence in unit["sequences"]:
            for row in sequence["rows"]:
                yield row["address"], row["line"], row.get("context", 0)


def cuobjdump_places(text: str) -> list[tuple[str, int, int, int]]:
    """PTX register, register, start and end."""
    return [
        (name, *(int(number, 16) for number in numbers))
        for name, *numbers in re.findall(r"\(reg: (\S+)\) 0x(\w+), 0x(\w+), 0x(\w+)", text)
    ]  # type: ignore[misc]


def our_places(cubin: Cubin) -> list[tuple[str, int, int, int]]:
    """The same of `dump`."""
    return [
        (place["ptx"], place["number"], place["start"], place["end"])
        for table in content(cubin, ".nv_debug_info_reg_sass").get("register_places", [])  # type: ignore[attr-defined]
        for place in table["places"]
    ]


def cuobjdump_types(text: str) -> list[str]:
    """The types of PTX registers."""
    return [line.strip() for line in text.splitlines() if re.fullmatch(r"\s*\.\w+\s*", line)]


def our_types(cubin: Cubin) -> list[str]:
    """The same of `dump`."""
    return [
        kind
        for table in content(cubin, ".nv_debug_info_reg_type").get("register_types", [])  # type: ignore[attr-defined]
        for kind in table["types"]
    ]


def cuobjdump_locations(text: str) -> list[tuple[int, int, str]]:
    """Start, end and expression of the entries of `.debug_loc`."""
    return [
        (int(start, 16), int(end, 16), words.replace(": ", " "))
        for start, end, words in re.findall(r"^\s+0x(\w+)\s+0x(\w+)\s+(DW_OP.*)$", text, re.M)
    ]


def readelf_locations(text: str) -> list[tuple[int, int, str]]:
    """The same of readelf, which prints the bytes of a PTX register's name as a number."""
    found = []
    row = r"^\s+\w+\s+(\w{16})\s+(\w{16}) \(DW_OP_regx: (\d+) .*$"
    for start, end, number in re.findall(row, text, re.M):
        name = int(number).to_bytes(4, "big").lstrip(b"\0").decode()
        found.append((int(start, 16), int(end, 16), f"DW_OP_regx {name}"))
    return found


def our_locations(cubin: Cubin) -> list[tuple[int, int, str]]:
    """The same of `dump`."""
    return [
        (entry["start"], entry["end"], ", ".join(entry["expression"]))
        for item in content(cubin, ".debug_loc").get("locations", [])  # type: ignore[attr-defined]
        for entry in item["entries"]
    ]


def cuobjdump_frames(text: str) -> list[str]:
    """The operations of `.debug_frame`, and the functions that its entries are of."""
    found = []
    for line in text.splitlines():
        words = line.replace(",", " ").split()
        if words and words[0] == "function:":
            found.append(words[1])
        elif words and words[0].startswith("DW_CFA_"):
            if "block:" in words:
                at = words.index("block:")
                block, _, _ = " ".join(words[at + 1 :]).partition(" (")
                words[at - 2 :] = ["".join(f"{int(word, 16):02x}" for word in block.split())]
            words = [word for word in words if word not in ("register", "offset", "delta")]
            found.append(" ".join(words))
    return found


def our_frames(cubin: Cubin) -> list[str]:
    """The same of `dump`."""
    found: list[str] = []
    for entry in content(cubin, ".debug_frame").get("frames", []):  # type: ignore[attr-defined]
        found += [entry["symbol"]] if entry.get("symbol") else []
        found += entry["instructions"]
    return found
