meta:
  id: shndx_table
  title: Extended section indices of symbols
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
  encoding: UTF-8
  endian: le
  bit-endian: le
doc: |
  Section indices of symbols whose `st_shndx` is SHN_XINDEX
  (SHT_SYMTAB_SHNDX), one word per symbol, 0 for all others.
doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.intro.html
seq:
  - id: indices
    type: u4
    repeat: expr
    repeat-expr: _io.size / 4
    doc: Entry n belongs to symbol n.
  - id: trailing
    size-eos: true
    -opaque: unclaimed
    doc: Bytes after the last whole word; empty in files seen.
