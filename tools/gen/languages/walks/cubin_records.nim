# Print the sections, attributes, symbols and relocations of cubins and fatbins.
import std/[os, strutils]
import kaitai_struct_nim_runtime
import cuda_codes, eiattr, elf_cuda, fatbin, mercury
import rel_table_32, rel_table_64, rela_table_32, rela_table_64
import symbol_table_32, symbol_table_64

proc attributes(index: int, body: Eiattr) =
  for record in body.records:
    echo "A ", index, " ", ord(record.format), " ", ord(record.code), " ", record.value
    if ord(record.code) == 0x2f and ord(record.format) == 4: # registers of a kernel
      let value = Eiattr_FunctionValue(record.payload)
      echo "K ", value.symbol, " ", value.number

template printSymbols(index: int, table: untyped) =
  for row in table.symbols:
    echo "Y ", index, " ", row.name, " ", row.stValue, " ", row.stSize, " ", row.stShndx, " ",
      ord(row.stInfo.symbolType), " ", ord(row.stInfo.binding)

proc symbols(index: int, table: KaitaiStruct) =
  if table of SymbolTable64: printSymbols(index, SymbolTable64(table))
  else: printSymbols(index, SymbolTable32(table))

proc relocations(index: int, table: KaitaiStruct) =
  if table of RelaTable64:
    for row in RelaTable64(table).relocations:
      echo "R ", index, " ", row.rOffset, " ", ord(row.rType), " ", row.rSym, " ", row.rAddend
  elif table of RelTable64:
    for row in RelTable64(table).relocations:
      echo "R ", index, " ", row.rOffset, " ", ord(row.rType), " ", row.rSym, " 0"
  elif table of RelaTable32:
    for row in RelaTable32(table).relocations:
      echo "R ", index, " ", row.rOffset, " ", ord(row.rInfo.rType), " ", row.rInfo.rSym, " ",
        row.rAddend
  else:
    for row in RelTable32(table).relocations:
      echo "R ", index, " ", row.rOffset, " ", ord(row.rInfo.rType), " ", row.rInfo.rSym, " 0"

proc body(index: int, content: KaitaiStruct) =
  if content of Mercury: body(index, Mercury(content).content)
  elif content of Eiattr: attributes(index, Eiattr(content))
  elif content of ElfCuda_Symbols: symbols(index, ElfCuda_Symbols(content).table)
  elif content of Mercury_Symbols: symbols(index, Mercury_Symbols(content).table)
  elif content of ElfCuda_Rel: relocations(index, ElfCuda_Rel(content).table)
  elif content of ElfCuda_Rela: relocations(index, ElfCuda_Rela(content).table)
  elif content of Mercury_Relocations: relocations(index, Mercury_Relocations(content).table)

proc cubin(elf: ElfCuda) =
  for index, section in elf.sections:
    echo "S ", index, " ", section.name, " ", ord(section.shType), " ", section.shOffset, " ",
      section.shSize
    if section.isInFile: body(index, section.body)

proc fat(file: Fatbin) =
  for part in file.blocks:
    if part.magicKind != 1: continue
    for entry in Fatbin_Container(part.content).entries.entries:
      echo "E ", ord(entry.head.kind), " ", entry.head.sm, " ", entry.head.lenPayload
      if entry.payloadKind == 2: cubin(ElfCuda(entry.payload))

for path in commandLineParams():
  echo "F ", path
  if path.endsWith(".fatbin"): fat(Fatbin.fromFile(path))
  else: cubin(ElfCuda.fromFile(path))
