meta:
  id: relocation_info_32
  title: Type and symbol of an ELF32 relocation
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
-orig-id: r_info
doc: Type and symbol of a relocation of an ELF32 file.
doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.intro.html
-webide-representation: '{r_type} of {r_sym:dec}'
seq:
  - id: r_type
    -orig-id: ELF32_R_TYPE
    type: b8
    enum: cuda_codes::relocation_type
    doc: Relocation type; only the first 256 can be written.
  - id: r_sym
    -orig-id: ELF32_R_SYM
    type: b24
    doc: Index of the symbol in the symbol table named by `sh_link`.
