"""Print the sections, attributes, symbols and relocations of cubins and fatbins."""

import sys
from enum import Enum

from cubinspec_generated.kaitai.elf_cuda import ElfCuda
from cubinspec_generated.kaitai.fatbin import Fatbin


def number(code):
    return code.value if isinstance(code, Enum) else code


def attributes(index, records):
    for record in records:
        print("A", index, number(record.format), number(record.code), record.value)
        if number(record.code) == 0x2F and record.format == record.format.eifmt_sval:
            print("K", record.payload.symbol, record.payload.number)  # registers of a kernel


def symbols(index, table):
    for symbol in table.symbols:
        info = symbol.st_info
        kinds = number(info.symbol_type), number(info.binding)
        print("Y", index, symbol.name, symbol.st_value, symbol.st_size, symbol.st_shndx, *kinds)


def relocations(index, table):
    for row in table.relocations:
        info = row if hasattr(row, "r_type") else row.r_info
        addend = getattr(row, "r_addend", 0)
        print("R", index, row.r_offset, number(info.r_type), info.r_sym, addend)


def cubin(elf):
    for index, section in enumerate(elf.sections):
        print("S", index, section.name, number(section.sh_type), section.sh_offset, section.sh_size)
        if not section.is_in_file:
            continue
        kind, body = section.body_kind, section.body
        if kind in (15, 22):  # a table of the Mercury half
            kind, body = (0, 2, 4, 7, 0, 0, 0, 0, 0)[section.mercury_kind], body.content
        if kind == 7:
            attributes(index, body.records)
        elif kind == 2:
            symbols(index, body.table)
        elif kind in (3, 4):
            relocations(index, body.table)


def fatbin(file):
    for block in file.blocks:
        if block.magic_kind == 1:
            for entry in block.content.entries.entries:
                print("E", number(entry.head.kind), entry.head.sm, entry.head.len_payload)
                if entry.payload_kind == 2:
                    cubin(entry.payload)


for path in sys.argv[1:]:
    print("F", path)
    fatbin(Fatbin.from_file(path)) if path.endswith(".fatbin") else cubin(ElfCuda.from_file(path))
