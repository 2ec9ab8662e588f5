meta:
  id: symbol_info
  title: Type and binding of a symbol
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
-orig-id: st_info
doc: What a symbol stands for and who sees it.
doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.intro.html
-webide-representation: '{symbol_type} {binding}'
seq:
  - id: symbol_type
    -orig-id: ELF64_ST_TYPE
    type: b4
    enum: cuda_codes::st_type
    doc: What the symbol stands for.
  - id: binding
    -orig-id: ELF64_ST_BIND
    type: b4
    enum: cuda_codes::st_bind
    doc: Local, global or weak.
