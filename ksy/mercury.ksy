meta:
  id: mercury
  title: Tables of the Mercury half of a CUDA device binary
  file-extension:
    - cubin
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: 0.9
  imports:
    - callgraph
    - cuda_codes
    - eiattr
    - elf_records
    - prototype
    - resolved_rela
  encoding: UTF-8
  endian: le
doc: |
  Sections `.nv.merc.*`, which describe the Mercury capsules of a file for
  sm_100 and later as `.symtab`, `.nv.info` and so on describe its machine
  code. They have section types of their own, the flag 0x10000000, and the
  layout of their plain twins; `sh_link` names `.nv.merc.symtab`. Symbol
  numbers are those of `.symtab`. Relocations have types from 0x10000 on and
  offsets in the Mercury code.

  Twins of data and constants share the bytes of the plain section where
  nothing differs. `.nv.merc.nv.shared.reserved.0` takes room in the file
  although nothing reads it, and can hold left-over bytes.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
params:
  - id: section_type
    type: u4
    enum: cuda_codes::section_type
    doc: Type of the section.
  - id: is_64
    type: bool
    doc: True in an ELF64 file.
  - id: names
    type: io
    doc: Stream of the string table that the section's symbols use.
seq:
  - id: content
    type:
      switch-on: section_type
      cases:
        cuda_codes::section_type::sht_cuda_merc_symtab: symbols
        cuda_codes::section_type::sht_cuda_merc_rela: relocations
        cuda_codes::section_type::sht_cuda_merc_info: eiattr
        cuda_codes::section_type::sht_cuda_merc_callgraph: callgraph(names)
        cuda_codes::section_type::sht_cuda_merc_prototype: prototype(names)
        cuda_codes::section_type::sht_cuda_merc_resolved_rela:
          resolved_rela(is_64)
        cuda_codes::section_type::sht_symtab_shndx: elf_records::shndx_table
        cuda_codes::section_type::sht_cuda_reserved_shared: reserved_shared
        _: data_twin
    doc: Contents by section type.
types:
  symbols:
    doc: Mercury symbols, `.nv.merc.symtab`.
    seq:
      - id: table
        type:
          switch-on: _parent.is_64
          cases:
            true: elf_records::symbol_table_64(_parent.names)
            false: elf_records::symbol_table_32(_parent.names)
        doc: |
          Row n belongs to the same thing as row n of `.symtab`; sections are
          the Mercury twins and sizes those of the Mercury code.
  relocations:
    doc: Mercury relocations, `.nv.merc.rela.*`.
    seq:
      - id: table
        type:
          switch-on: _parent.is_64
          cases:
            true: elf_records::rela_table_64
            false: elf_records::rela_table_32
        doc: Rows with types from 0x10000 on.
  reserved_shared:
    doc: Bytes of `.nv.merc.nv.shared.reserved.0`, which nothing reads.
    seq:
      - id: data
        size-eos: true
        -opaque: reserved shared memory
        doc: Left-over bytes.
  data_twin:
    doc: Constants or data of the Mercury half.
    seq:
      - id: data
        size-eos: true
        -opaque: data
        doc: The bytes.
