meta:
  id: mercury
  title: Tables of the Mercury half of a CUDA device binary
  application: NVIDIA CUDA
  file-extension:
    - cubin
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: 0.11
  imports:
    - callgraph
    - eiattr
    - prototype
    - rela_table_32
    - rela_table_64
    - resolved_rela
    - shndx_table
    - string_pool
    - symbol_table_32
    - symbol_table_64
  encoding: UTF-8
  endian: le
doc: |
  Sections `.nv.merc.*`, which describe the Mercury capsules of a file for
  sm_100 and later as `.symtab`, `.nv.info` and so on describe its machine
  code. They have section types of their own, the flag 0x10000000, and the
  layout of their SASS twins; `sh_link` names `.nv.merc.symtab`. Symbol
  numbers are those of `.symtab`. Relocations have types from 0x10000 on and
  offsets in the Mercury code.

  Twins of data and constants share the bytes of the plain section where
  nothing differs. `.nv.merc.nv.shared.reserved.0` takes room in the file
  although nothing reads it, and can hold left-over bytes.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
params:
  - id: kind
    type: u1
    doc: |
      What the section holds: 1 symbols, 2 relocations, 3 attributes, 4 call
      graph, 5 prototypes, 6 resolved relocations, 7 extended section indices,
      8 reserved shared memory, 0 anything else.
  - id: is_64
    type: bool
    doc: True in an ELF64 file.
  - id: names
    type: string_pool
    doc: The string table that the section's symbols use.
seq:
  - id: content
    type:
      switch-on: kind
      cases:
        1: symbols(is_64, names)
        2: relocations(is_64)
        3: eiattr
        4: callgraph(names)
        5: prototype(names)
        6: resolved_rela(is_64)
        7: shndx_table
        8: reserved_shared
        _: data_twin
    doc: Contents by kind.
types:
  symbols:
    doc: Mercury symbols, `.nv.merc.symtab`.
    doc-ref: ksy/tables/sections.yaml
    params:
      - id: is_64
        type: bool
        doc: True in an ELF64 file.
      - id: names
        type: string_pool
        doc: The string table that holds the names.
    seq:
      - id: table
        type:
          switch-on: is_64
          cases:
            true: symbol_table_64(names)
            false: symbol_table_32(names)
        doc: |
          Row n belongs to the same thing as row n of `.symtab`; sections are
          the Mercury twins and sizes those of the Mercury code.
  relocations:
    doc: Mercury relocations, `.nv.merc.rela.*`.
    doc-ref: ksy/tables/sections.yaml
    params:
      - id: is_64
        type: bool
        doc: True in an ELF64 file.
    seq:
      - id: table
        type:
          switch-on: is_64
          cases:
            true: rela_table_64
            false: rela_table_32
        doc: Rows with types from 0x10000 on.
  reserved_shared:
    doc: Bytes of `.nv.merc.nv.shared.reserved.0`, which nothing reads.
    doc-ref: ksy/tables/sections.yaml
    seq:
      - id: data
        size-eos: true
        -opaque: reserved shared memory
        doc: Left-over bytes.
  data_twin:
    doc: Constants or data of the Mercury half.
    doc-ref: ksy/tables/sections.yaml
    seq:
      - id: data
        size-eos: true
        -opaque: data
        doc: The bytes.
