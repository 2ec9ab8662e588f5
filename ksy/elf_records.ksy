meta:
  id: elf_records
  title: ELF tables as CUDA device binaries use them
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
  The tables that occur in several sections of a cubin: symbols, relocations,
  strings and the table of extended section indices, each for ELF64 and for
  ELF32.

  The layouts are those of the System V ABI. What CUDA adds lives in
  `st_other` (entry flag, memory space), in the relocation types and in the
  section types that hold the tables: `.symtab` and `.nv.merc.symtab` have
  the same rows.

  The types of this file are rows and tables without a place of their own;
  `elf_cuda` puts them where the section headers say. Opened alone, the file
  shows the bytes as a list of strings.
doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.intro.html
seq:
  - id: strings
    type: string_table
    size-eos: true
    doc: The bytes as a string table.
types:
  string_table:
    doc: |
      Bytes of a string table (SHT_STRTAB). Strings are named by the offset of
      their first byte, and an offset may point into the middle of a longer
      string. In `.strtab` the strings that `.nv.callgraph` and
      `.nv.prototype` use as signatures stand between the symbol names.
    instances:
      entries:
        pos: 0
        type: strz
        eos-error: false
        repeat: eos
        doc: |
          All strings in file order. The first one is empty. Reading goes on
          to the end of the table when the last one has no terminator.
  string_pool:
    doc: |
      The bytes of a string table as a stream for those that look strings up
      in it by their offset.
    seq: []
  symbol_table_64:
    doc: Symbols of an ELF64 file.
    params:
      - id: names
        type: io
        doc: Stream of the string table that `sh_link` names.
    seq:
      - id: symbols
        type: symbol_64(names)
        repeat: expr
        repeat-expr: _io.size / 24
        doc: The first one is the null symbol.
      - id: trailing
        size-eos: true
        -opaque: unclaimed
        doc: Bytes after the last whole row; empty in files seen.
  symbol_table_32:
    doc: Symbols of an ELF32 file.
    params:
      - id: names
        type: io
        doc: Stream of the string table that `sh_link` names.
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
  symbol_64:
    -orig-id: Elf64_Sym
    doc: One symbol of an ELF64 file, 24 bytes.
    params:
      - id: names
        type: io
        doc: Stream of the string table that holds the name.
    seq:
      - id: st_name
        type: u4
        doc: Offset of the name in the string table.
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
      - id: st_value
        type: u8
        doc: Offset in the section, or alignment for a common symbol.
      - id: st_size
        type: u8
        doc: Size in bytes, 0 when not known.
    instances:
      name:
        io: names
        pos: st_name
        type: strz
        eos-error: false
        if: st_name.as<s8> < names.size
        doc: Name of the symbol, absent when `st_name` is out of range.
  symbol_32:
    -orig-id: Elf32_Sym
    doc: |
      One symbol of an ELF32 file, 16 bytes. The fields mean the same as those
      of `symbol_64` and stand in another order.
    params:
      - id: names
        type: io
        doc: Stream of the string table that holds the name.
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
        io: names
        pos: st_name
        type: strz
        eos-error: false
        if: st_name.as<s8> < names.size
        doc: Name of the symbol, absent when `st_name` is out of range.
  symbol_info:
    -orig-id: st_info
    doc: What a symbol stands for and who sees it.
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
  symbol_other:
    -orig-id: st_other
    doc: Visibility and what CUDA adds to it.
    seq:
      - id: visibility
        -orig-id: ELF64_ST_VISIBILITY
        type: b2
        enum: cuda_codes::symbol_visibility
        doc: Visibility of the symbol.
      - id: is_unified_or_managed
        type: b1
        doc: |
          For a function: declared `.unified`. For data: a `__managed__`
          variable.
      - id: is_obscure
        type: b1
        doc: Printed as OBSCURE by cuobjdump; not seen in files.
      - id: is_entry_or_unified_object
        -orig-id: STO_CUDA_ENTRY
        type: b1
        doc: For a function it is a kernel. For data it is unified data.
      - id: memory_space
        type: b3
        enum: cuda_codes::symbol_space
        doc: |
          Memory space of data in relocatable files. None in executables,
          except that the alias of the reserved shared window keeps its own.
  rel_table_64:
    doc: Relocations without addend of an ELF64 file (SHT_REL).
    seq:
      - id: relocations
        type: rel_64
        repeat: expr
        repeat-expr: _io.size / 16
        doc: In no fixed order.
      - id: trailing
        size-eos: true
        -opaque: unclaimed
        doc: Bytes after the last whole row; empty in files seen.
  rel_table_32:
    doc: Relocations without addend of an ELF32 file (SHT_REL).
    seq:
      - id: relocations
        type: rel_32
        repeat: expr
        repeat-expr: _io.size / 8
        doc: In no fixed order.
      - id: trailing
        size-eos: true
        -opaque: unclaimed
        doc: Bytes after the last whole row; empty in files seen.
  rela_table_64:
    doc: |
      Relocations with addend of an ELF64 file (SHT_RELA), also those of the
      Mercury half and those that nvlink kept with `--preserve-relocs`.
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
  rela_table_32:
    doc: Relocations with addend of an ELF32 file (SHT_RELA).
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
  rel_64:
    -orig-id: Elf64_Rel
    doc: |
      One relocation without addend, 16 bytes. nvlink takes the addend from
      the field that is relocated. The two halves of `r_info` are read as
      fields of their own.
    seq:
      - id: r_offset
        type: u8
        doc: Byte offset in the section that is relocated.
      - id: r_type
        -orig-id: ELF64_R_TYPE
        type: u4
        enum: cuda_codes::relocation_type
        doc: R_CUDA_* below 0x10000, R_MERCURY_* from there on.
      - id: r_sym
        -orig-id: ELF64_R_SYM
        type: u4
        doc: Index of the symbol in the symbol table named by `sh_link`.
  rela_64:
    -orig-id: Elf64_Rela
    doc: |
      One relocation with addend, 24 bytes. The two halves of `r_info` are
      read as fields of their own.
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
  rel_32:
    -orig-id: Elf32_Rel
    doc: One relocation without addend of an ELF32 file, 8 bytes.
    seq:
      - id: r_offset
        type: u4
        doc: Byte offset in the section that is relocated.
      - id: r_info
        type: relocation_info_32
        doc: Type and symbol.
  rela_32:
    -orig-id: Elf32_Rela
    doc: One relocation with addend of an ELF32 file, 12 bytes.
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
  relocation_info_32:
    -orig-id: r_info
    doc: Type and symbol of a relocation of an ELF32 file.
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
  shndx_table:
    doc: |
      Section indices of symbols whose `st_shndx` is SHN_XINDEX
      (SHT_SYMTAB_SHNDX), one word per symbol, 0 for all others.
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
