meta:
  id: symbol_table_32
  title: Symbols of an ELF32 CUDA device binary
  application: NVIDIA CUDA
  file-extension:
    - cubin
  xref:
    wikidata: Q1343830
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: 0.11
  imports:
    - string_pool
    - symbol_info
    - symbol_other
  encoding: UTF-8
  endian: le
  bit-endian: le
doc: Symbols of an ELF32 file.
doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.intro.html
params:
  - id: names
    type: string_pool
    doc: The string table that `sh_link` names.
seq:
  - id: symbols
    type: symbol_32(names)
    repeat: expr
    repeat-expr: _io.size / 16
    doc: The first one is the null symbol.
  - id: trailing
    size-eos: true
    -opaque: unclaimed
    doc: Bytes after the last whole row; empty in files seen.
types:
  symbol_32:
    -orig-id: Elf32_Sym
    doc: |
      One symbol of an ELF32 file, 16 bytes. The fields mean the same as those
      of `symbol_64` and stand in another order.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.symtab.html
    -webide-representation: '{name:str} {st_info}, {st_size:dec} bytes'
    params:
      - id: names
        type: string_pool
        doc: The string table that holds the name.
    seq:
      - id: st_name
        type: u4
        doc: Offset of the name in the string table.
      - id: st_value
        type: u4
        doc: Offset in the section, or alignment for a common symbol.
      - id: st_size
        type: u4
        doc: Size in bytes, 0 when not known.
      - id: st_info
        type: symbol_info
        doc: Type and binding.
      - id: st_other
        type: symbol_other
        doc: Visibility, CUDA flags and memory space.
      - id: st_shndx
        type: u2
        doc: |
          Section that defines the symbol. 0 is undefined, 0xfff1 absolute,
          0xfff2 common; 0xffff means that `.symtab_shndx` has the index.
    instances:
      name:
        io: names._io
        pos: st_name
        type: strz
        eos-error: false
        if: st_name.as<s8> < names._io.size
        -webide-parse-mode: eager
        doc: Name of the symbol, absent when `st_name` is out of range.
