"""`readelf -hSsrlW` (binutils) as a view, and the same view of a cubin as cubinspec reads it.

binutils knows nothing of CUDA, so what is compared is plain ELF: every number it prints.
"""

from __future__ import annotations

import re

from cubinspec import Cubin
from tests.differential.rows import Row, View

HEADER = {
    "Type": "type",
    "Version": "version",
    "Entry point address": "entry",
    "Start of program headers": "phoff",
    "Start of section headers": "shoff",
    "Flags": "flags",
    "Size of this header": "ehsize",
    "Size of program headers": "phentsize",
    "Number of program headers": "phnum",
    "Size of section headers": "shentsize",
    "Number of section headers": "shnum",
    "Section header string table index": "shstrndx",
    "ABI Version": "abi",
    "OS/ABI": "osabi",
    "Class": "class",
}
SECTION = re.compile(
    r"^  \[ *(\d+)\] (.*?) +(\S+) +([0-9a-f]{8,16}) ([0-9a-f]{6,}) ([0-9a-f]{6,}) ([0-9a-f]{2,})"
    r" ([ A-Za-z]{3}) +(\d+) +(\d+) +(\d+)$"
)
SYMBOL = re.compile(
    r"^ *(\d+): ([0-9a-f]+) +(0x[0-9a-f]+|\d+) (<[^>]*>: \d+|\S+) +(\S+) +(\S+)"
    r"(?: +\[<other>: ([0-9a-f]+)\])? +(\S+) ?(.*)$"
)
RELOCATION = re.compile(r"^([0-9a-f]{8,16})  ([0-9a-f]{8,16}) (?:unrecognized: \S+|\S+) +(.*)$")
SEGMENT = re.compile(
    r"^  (\S+) +0x([0-9a-f]+) 0x([0-9a-f]+) 0x([0-9a-f]+) 0x([0-9a-f]+) 0x([0-9a-f]+)"
    r" ([ RWE]{3}) (?:0x)?([0-9a-f]+)$"
)
TYPES = {
    "NULL": 0,
    "PROGBITS": 1,
    "SYMTAB": 2,
    "STRTAB": 3,
    "RELA": 4,
    "NOTE": 7,
    "NOBITS": 8,
    "REL": 9,
    "SYMTAB_SHNDX": 18,
}
FLAGS = {"W": 1, "A": 2, "X": 4, "M": 0x10, "S": 0x20, "I": 0x40, "L": 0x80}
OS_FLAGS, PROCESSOR_FLAGS = 0x0FF00000, 0xF0000000
SYMBOL_TYPES = {"NOTYPE": 0, "OBJECT": 1, "FUNC": 2, "SECTION": 3, "FILE": 4, "COMMON": 5}
BINDS = {"LOCAL": 0, "GLOBAL": 1, "WEAK": 2}
VISIBILITY = {"DEFAULT": 0, "INTERNAL": 1, "HIDDEN": 2, "PROTECTED": 3}
INDICES = {"UND": 0, "ABS": 0xFFF1, "COM": 0xFFF2}
SEGMENT_TYPES = {"NULL": 0, "LOAD": 1, "DYNAMIC": 2, "NOTE": 4, "PHDR": 6}
SEGMENT_FLAGS = {"R": 4, "W": 2, "E": 1}


def theirs(text: str) -> View:
    """The view in readelf's output (standard output only: warnings go to the other stream)."""
    header: Row = {}
    view: View = {"sections": {}, "symbols": {}, "relocations": {}, "segments": {}}
    relocations: str | None = None
    number = 0
    for line in text.splitlines():
        label, _, value = line.strip().partition(":")
        if label in HEADER and HEADER[label] not in header:
            header[HEADER[label]] = value.strip()
        elif label in HEADER:
            header[HEADER[label]] = value.strip()  # "Version" a second time: e_version
        elif match := SECTION.match(line):
            view["sections"][(int(match[1]),)] = _section(match)
        elif match := re.match(r"^Relocation section '(.*)' at offset (0x[0-9a-f]+)", line):
            relocations, number = match[2], 0
        elif line.startswith("Symbol table "):
            relocations = None
        elif relocations is not None and (match := RELOCATION.match(line)):
            view["relocations"][(int(relocations, 16), number)] = _relocation(match)
            number += 1
        elif relocations is None and (match := SYMBOL.match(line)):
            view["symbols"][(int(match[1]),)] = _symbol(match)
        elif match := SEGMENT.match(line):
            view["segments"][(len(view["segments"]),)] = {
                "type": SEGMENT_TYPES[match[1]],
                **{
                    name: int(text, 16)
                    for name, text in zip(
                        ("offset", "vaddr", "paddr", "filesz", "memsz"),
                        match.groups()[1:6],
                        strict=True,
                    )
                },
                "flags": sum(SEGMENT_FLAGS[letter] for letter in match[7].replace(" ", "")),
                "align": int(match[8], 16),
            }
    view["header"] = {(): {name: _number(str(value)) for name, value in header.items()}}
    return view


def _number(text: str) -> object:
    """The first number in a header line; what is in words stays words."""
    if match := re.fullmatch(r"(?:<unknown: |Processor Specific: \()([0-9a-f]+)[>)]", text):
        return int(match[1], 16)
    word = text.split("(")[0].strip()
    if word in ("REL", "EXEC"):
        return {"REL": 1, "EXEC": 2}[word]
    return int(word, 0) if re.fullmatch(r"0x[0-9a-f]+|\d+", word) else word


def _section(match: re.Match[str]) -> Row:
    kind = match[3]
    number = 0x70000000 + int(kind[7:], 0) if kind.startswith("LOPROC+") else TYPES[kind]
    return {
        "name": match[2].strip(),
        "type": number,
        "addr": int(match[4], 16),
        "offset": int(match[5], 16),
        "size": int(match[6], 16),
        "entsize": int(match[7], 16),
        "flags": "".join(sorted(match[8].replace(" ", ""))),
        "link": int(match[9]),
        "info": int(match[10]),
        "align": int(match[11]),
    }


def _symbol(match: re.Match[str]) -> Row:
    kind = match[4]
    number = int(kind.rpartition(" ")[2]) if kind.startswith("<") else SYMBOL_TYPES[kind]
    return {
        "value": int(match[2], 16),
        "size": int(match[3], 0),
        "type": number,
        "bind": BINDS[match[5]],
        "other": VISIBILITY[match[6]] | int(match[7] or "0", 16),
        "section": INDICES[match[8]] if match[8] in INDICES else int(match[8]),
        "name": match[9],
    }


def _relocation(match: re.Match[str]) -> Row:
    sign = re.search(r" ([+-]) ([0-9a-f]+)$", match[3])
    addend = None
    if sign:
        addend = int(sign[1] + sign[2], 16)
    elif re.fullmatch(r"[0-9a-f]+", match[3].strip()) and int(match[2], 16) >> 32 == 0:
        addend = int(match[3], 16)  # no symbol: only the addend is printed
    return {"offset": int(match[1], 16), "info": int(match[2], 16), "addend": addend}


# -- the same, as cubinspec reads it ----------------------------------------------------------


def ours(cubin: Cubin) -> View:
    """The view of a cubin, through the public API."""
    h = cubin.header
    view: View = {
        "header": {
            (): {
                "class": "ELF64" if h.is_64 else "ELF32",
                "osabi": h.os_abi,
                "abi": h.abi_version,
                "type": h.e_type,
                "version": h.e_version,
                "entry": h.e_entry,
                "phoff": h.e_phoff,
                "shoff": h.e_shoff,
                "flags": h.e_flags,
                "ehsize": h.e_ehsize,
                "phentsize": h.e_phentsize,
                "phnum": h.e_phnum,
                "shentsize": h.e_shentsize,
                "shnum": h.e_shnum,
                "shstrndx": h.e_shstrndx,
            }
        },
        "sections": {},
        "symbols": {},
        "relocations": {},
        "segments": {},
    }
    for section in cubin.sections:
        view["sections"][(section.index,)] = {
            "name": section.name,
            "type": section.sh_type,
            "addr": section.sh_addr,
            "offset": section.sh_offset,
            "size": section.sh_size,
            "entsize": section.sh_entsize,
            "flags": _letters(section.sh_flags),
            "link": section.sh_link,
            "info": section.sh_info,
            "align": section.sh_addralign,
        }
        if section.sh_type in (TYPES["REL"], TYPES["RELA"]):
            for relocation in section.relocations:
                shift = 32 if h.is_64 else 8
                view["relocations"][(section.sh_offset, relocation.index)] = {
                    "offset": relocation.r_offset,
                    "info": relocation.symbol_index << shift | relocation.r_type,
                    "addend": relocation.r_addend,
                }
    for symbol in cubin.symbols:
        view["symbols"][(symbol.index,)] = {
            "value": symbol.st_value,
            "size": symbol.st_size,
            "type": symbol.st_type,
            "bind": symbol.st_bind,
            "other": symbol.st_other,
            "section": symbol.st_shndx,
            "name": symbol.display_name,
        }
    for segment in cubin.segments:
        view["segments"][(segment.index,)] = {
            name: getattr(segment, f"p_{name}")
            for name in (
                *("type", "offset", "vaddr", "paddr", "filesz", "memsz", "flags", "align"),
            )
        }
    return view


def _letters(flags: int) -> str:
    letters = [letter for letter, bit in FLAGS.items() if flags & bit]
    if flags & OS_FLAGS:
        letters.append("o")
    if flags & PROCESSOR_FLAGS:
        letters.append("p")
    return "".join(sorted(letters))
