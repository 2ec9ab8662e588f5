meta:
  id: rela_table_64
  title: Relocations with addend, ELF64
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
    - cuda_codes
  encoding: UTF-8
  endian: le
  bit-endian: le
doc: |
  Relocations with addend of an ELF64 file (SHT_RELA), also those of the
  Mercury half and those that nvlink kept with `--preserve-relocs`.
doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.intro.html
seq:
  - id: relocations
    type: rela_64
    repeat: expr
    repeat-expr: _io.size / 24
    doc: In no fixed order.
  - id: trailing
    size-eos: true
    -opaque: unclaimed
    doc: Bytes after the last whole row; empty in files seen.
types:
  rela_64:
    -orig-id: Elf64_Rela
    doc: |
      One relocation with addend, 24 bytes. The two halves of `r_info` are
      read as fields of their own.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.reloc.html
    -webide-representation: '{r_type} of {r_sym:dec} at {r_offset:dec}'
    seq:
      - id: r_offset
        type: u8
        doc: |
          Byte offset in the section that is relocated; for Mercury sections
          in the address space of the Mercury code.
      - id: r_type
        -orig-id: ELF64_R_TYPE
        type: u4
        enum: cuda_codes::relocation_type
        doc: R_CUDA_* below 0x10000, R_MERCURY_* from there on.
      - id: r_sym
        -orig-id: ELF64_R_SYM
        type: u4
        doc: Index of the symbol in the symbol table named by `sh_link`.
      - id: r_addend
        type: s8
        doc: Constant that is added to the symbol's value.
