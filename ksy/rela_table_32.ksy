meta:
  id: rela_table_32
  title: Relocations with addend, ELF32
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
    - relocation_info_32
  encoding: UTF-8
  endian: le
  bit-endian: le
doc: Relocations with addend of an ELF32 file (SHT_RELA).
doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.intro.html
seq:
  - id: relocations
    type: rela_32
    repeat: expr
    repeat-expr: _io.size / 12
    doc: In no fixed order.
  - id: trailing
    size-eos: true
    -opaque: unclaimed
    doc: Bytes after the last whole row; empty in files seen.
types:
  rela_32:
    -orig-id: Elf32_Rela
    doc: One relocation with addend of an ELF32 file, 12 bytes.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.reloc.html
    -webide-representation: '{r_info} at {r_offset:dec}'
    seq:
      - id: r_offset
        type: u4
        doc: Byte offset in the section that is relocated.
      - id: r_info
        type: relocation_info_32
        doc: Type and symbol.
      - id: r_addend
        type: s4
        doc: Constant that is added to the symbol's value.
