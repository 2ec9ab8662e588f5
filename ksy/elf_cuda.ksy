meta:
  id: elf_cuda
  title: CUDA device binary (cubin)
  application: NVIDIA CUDA
  file-extension:
    - cubin
  xref:
    justsolve: CUDA
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: 0.11
  imports:
    - callgraph
    - capmerc
    - compat
    - cuda_codes
    - eiattr
    - mercury
    - metadata
    - note_nv
    - nv_debug
    - prototype
    - rel_action
    - rel_table_32
    - rel_table_64
    - rela_table_32
    - rela_table_64
    - resolved_rela
    - shndx_table
    - string_pool
    - string_table
    - symbol_table_32
    - symbol_table_64
    - uft
    - uidx
  encoding: UTF-8
  endian: le
  bit-endian: le
doc: |
  ELF file with device code for NVIDIA GPUs (e_machine 190), as ptxas, nvlink
  and the CUDA libraries carry it.

  Two generations of the header exist. OSABI 0x33 with ABI version 7 (CUDA 12
  and earlier) has the toolkit in `e_version` and the SM in the low byte of
  `e_flags`. OSABI 0x41 with ABI version 8 (from CUDA 12.8 on for new GPUs,
  13.0 for all) has the SM in bits 8 to 23. Relocatable files (`ptxas -c`,
  `nvlink -r`) have e_type 1, executables 2, extensible whole programs 0xff00.

  What a section holds follows from its type, and for plain PROGBITS sections
  from its name. Relocatable files give data sections CUDA types of their own;
  executables use PROGBITS and NOBITS. From sm_100 on the same file holds a
  second, Mercury half: `.nv.capmerc.*` and `.nv.merc.*`.

  Everything but the first header is read on demand, so that a large file
  opens at once. Offsets and counts are cut to the size of the file; a broken
  header gives a short table, never an endless one.
doc-ref:
  - https://docs.nvidia.com/cuda/cuda-binary-utilities/
  - https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html
seq:
  - id: ident
    type: elf_ident
    doc: The first 16 bytes, which say how to read the rest.
  - id: header
    type: elf_header(is_64)
    doc: Rest of the ELF header.
instances:
  is_64:
    value: ident.ei_class == 2
    doc: True for an ELF64 file.
  flags_abi_7:
    pos: ofs_flags
    type: e_flags_abi_7
    if: ident.ei_osabi != 0x41
    -alias: true
    doc: Fields of `e_flags` in the older layout.
  flags_abi_8:
    pos: ofs_flags
    type: e_flags_abi_8
    if: ident.ei_osabi == 0x41
    -alias: true
    doc: Fields of `e_flags` in the newer layout.
  program_headers:
    pos: e_phoff
    type: program_header(is_64)
    repeat: expr
    repeat-expr: num_program_headers
    if: num_program_headers > 0
    doc: Segments; absent in relocatable files.
  section_headers:
    pos: e_shoff
    type: section_header(is_64)
    repeat: expr
    repeat-expr: num_section_headers
    doc: Section headers in index order.
  sections:
    type: |
      section(
        _index.as<s4>,
        section_headers[_index].sh_type
      )
    repeat: expr
    repeat-expr: num_section_headers
    doc: Contents of the sections in index order.
  ofs_flags:
    value: 'is_64 ? 48 : 36'
    -webide-parse-mode: lazy
    doc: File offset of `e_flags`.
  e_phoff:
    value: |
      header.e_phoff.as<s8>
    -webide-parse-mode: lazy
    doc: File offset of the program headers.
  e_shoff:
    value: |
      header.e_shoff.as<s8>
    -webide-parse-mode: lazy
    doc: File offset of the section headers.
  e_phnum:
    value: |
      header.e_phnum.as<s8>
    -webide-parse-mode: lazy
    doc: Number of program headers as the ELF header has it.
  e_shnum:
    value: |
      header.e_shnum.as<s8>
    -webide-parse-mode: lazy
    doc: Number of section headers as the ELF header has it.
  e_shstrndx:
    value: |
      header.e_shstrndx.as<s8>
    -webide-parse-mode: lazy
    doc: Index of the section names as the ELF header has it.
  len_program_header:
    value: 'is_64 ? 56.as<s8> : 32.as<s8>'
    -webide-parse-mode: lazy
    doc: Size of a program header.
  len_section_header:
    value: 'is_64 ? 64.as<s8> : 40.as<s8>'
    -webide-parse-mode: lazy
    doc: Size of a section header.
  max_program_headers:
    value: |
      e_phoff > 0 and e_phoff < _io.size.as<s8>
        ? ((_io.size.as<s8> - e_phoff) / len_program_header).as<s8>
        : 0.as<s8>
    -webide-parse-mode: lazy
    doc: Number of program headers for which the file has room.
  max_section_headers:
    value: |
      e_shoff > 0 and e_shoff < _io.size.as<s8>
        ? ((_io.size.as<s8> - e_shoff) / len_section_header).as<s8>
        : 0.as<s8>
    -webide-parse-mode: lazy
    doc: Number of section headers for which the file has room.
  extension:
    pos: e_shoff
    type: section_header(is_64)
    if: max_section_headers > 0
    -alias: true
    -webide-parse-mode: lazy
    doc: |
      The first section header, which describes no section. It holds the
      counts that do not fit into the ELF header.
  extended_size:
    value: |
      extension.sh_size.as<s8>
    if: max_section_headers > 0
    -webide-parse-mode: lazy
    doc: Number of section headers when `e_shnum` is 0.
  extended_link:
    value: |
      extension.link
    if: max_section_headers > 0
    -webide-parse-mode: lazy
    doc: Index of the section names when `e_shstrndx` is 0xffff.
  extended_info:
    value: |
      extension.info
    if: max_section_headers > 0
    -webide-parse-mode: lazy
    doc: Number of program headers when `e_phnum` is 0xffff.
  num_section_headers:
    value: |
      max_section_headers == 0
        ? 0.as<s8>
        : e_shnum != 0
        ? (e_shnum <= max_section_headers ? e_shnum : max_section_headers)
        : extended_size >= 0 and extended_size <= max_section_headers
        ? extended_size
        : max_section_headers
    -webide-parse-mode: lazy
    doc: Number of section headers, cut to what the file has room for.
  num_program_headers:
    value: |
      e_phnum == 0xffff and max_section_headers > 0
        ? (extended_info <= max_program_headers
          ? extended_info
          : max_program_headers)
        : e_phnum <= max_program_headers
        ? e_phnum
        : max_program_headers
    -webide-parse-mode: lazy
    doc: Number of program headers, cut to what the file has room for.
  names_index:
    value: |
      e_shstrndx == 0xffff and max_section_headers > 0
        ? extended_link
        : e_shstrndx
    -webide-parse-mode: lazy
    doc: Index of the section with the section names.
  names_header:
    pos: e_shoff + names_index * len_section_header
    type: section_header(is_64)
    if: names_index < num_section_headers
    -alias: true
    -webide-parse-mode: lazy
    doc: Header of the section with the section names.
  has_section_names:
    value: |
      names_index < num_section_headers
        ? names_header.sh_type
          == cuda_codes::section_type::sht_strtab
        : false
    -webide-parse-mode: lazy
    doc: False when the section names cannot be found.
  section_names:
    pos: |
      has_section_names ? sections[names_index.as<s4>].ofs_body : 0.as<s8>
    size: |
      has_section_names ? sections[names_index.as<s4>].len_body : 0.as<s8>
    type: string_pool
    -alias: true
    -webide-parse-mode: lazy
    doc: Names of the sections; empty when they cannot be found.
types:
  elf_ident:
    -orig-id: e_ident
    doc: Identification bytes of an ELF file.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html
    -webide-representation: 'class {ei_class:dec}, OSABI {ei_osabi:dec}'
    seq:
      - id: ei_magic
        contents: [0x7f, ELF]
      - id: ei_class
        type: u1
        valid:
          any-of: [1, 2]
        doc: |
          1 for ELF32 (`ptxas -m32`, up to CUDA 12.0), 2 for ELF64.
      - id: ei_data
        type: u1
        valid: 1
        doc: 1, little endian.
      - id: ei_version
        type: u1
        doc: 1 in all files seen.
      - id: ei_osabi
        type: u1
        doc: |
          0x33 selects the older layout of `e_flags`, 0x41 the newer one.
      - id: ei_abiversion
        type: u1
        doc: 7 with OSABI 0x33, 8 with OSABI 0x41.
      - id: ei_pad
        size: 7
        doc: Zeros.
  elf_header:
    -orig-id: Elf64_Ehdr
    doc: |
      ELF header after the identification, 48 bytes of an ELF64 file and 36 of
      an ELF32 file.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html
    -webide-representation: '{e_type}, {e_shnum:dec} sections'
    params:
      - id: is_64
        type: bool
        doc: True in an ELF64 file.
    seq:
      - id: e_type
        type: u2
        enum: cuda_codes::elf_type
        doc: Kind of file.
      - id: e_machine
        type: u2
        valid: 190
        doc: EM_CUDA.
      - id: e_version
        type: u4
        doc: |
          With OSABI 0x33 ten times the major plus the minor version of the
          toolkit, 0x76 for 11.8; with OSABI 0x41 always 1.
      - id: e_entry_64
        -orig-id: e_entry
        type: u8
        if: is_64
        doc: 0; kernels are found by their symbols.
      - id: e_entry_32
        -orig-id: e_entry
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: e_phoff_64
        -orig-id: e_phoff
        type: u8
        if: is_64
        doc: File offset of the program headers, 0 when there are none.
      - id: e_phoff_32
        -orig-id: e_phoff
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: e_shoff_64
        -orig-id: e_shoff
        type: u8
        if: is_64
        doc: File offset of the section headers.
      - id: e_shoff_32
        -orig-id: e_shoff
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: e_flags
        type: u4
        doc: SM and kind of code, see `flags_abi_7` and `flags_abi_8`.
      - id: e_ehsize
        type: u2
        doc: 64 or 52, the size of this header with the identification.
      - id: e_phentsize
        type: u2
        valid:
          any-of: [0, 32, 56]
        doc: |
          Size of a program header, 56 or 32; 0 in some files without program
          headers.
      - id: e_phnum
        type: u2
        doc: |
          Number of program headers; 0xffff means that `sh_info` of the first
          section header has it.
      - id: e_shentsize
        type: u2
        valid:
          any-of: [0, 40, 64]
        doc: Size of a section header, 64 or 40.
      - id: e_shnum
        type: u2
        doc: |
          Number of section headers; 0 together with an `e_shoff` means that
          `sh_size` of the first section header has it.
      - id: e_shstrndx
        type: u2
        doc: |
          Index of the section with the section names; 0xffff means that
          `sh_link` of the first section header has it.
    instances:
      e_entry:
        value: 'is_64 ? e_entry_64.as<s8> : e_entry_32.as<s8>'
        doc: The field of either class.
      e_phoff:
        value: 'is_64 ? e_phoff_64.as<s8> : e_phoff_32.as<s8>'
        doc: The field of either class.
      e_shoff:
        value: 'is_64 ? e_shoff_64.as<s8> : e_shoff_32.as<s8>'
        doc: The field of either class.
  e_flags_abi_7:
    -orig-id: e_flags
    doc: '`e_flags` of files with OSABI 0x33.'
    doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
    -webide-representation: 'sm_{sm:dec} {this:flags}'
    seq:
      - id: sm
        type: b8
        doc: SM the code is for, 75 for sm_75.
      - id: is_texmode_unified
        -orig-id: EF_CUDA_TEXMODE_UNIFIED
        type: b1
        doc: Textures and samplers are one; set in most files.
      - id: is_texmode_independent
        -orig-id: EF_CUDA_TEXMODE_INDEPENDANT
        type: b1
        doc: Textures and samplers are two things.
      - id: is_64_bit_address
        -orig-id: EF_CUDA_64BIT_ADDRESS
        type: b1
        doc: Set in all ELF64 files.
      - id: is_arch_specific
        -orig-id: EF_CUDA_ACCELERATORS_V1
        type: b1
        doc: Code for exactly this SM, sm_90a.
      - id: reserved
        type: b4
        doc: 0 in files seen.
      - id: virtual_sm
        -orig-id: EF_CUDA_VIRTUAL_SM
        type: b8
        doc: SM of the PTX the code comes from.
      - id: reserved_2
        type: b7
        doc: 0 in files seen.
      - id: is_mercury
        type: b1
        doc: Named in third-party notes; not seen.
  e_flags_abi_8:
    -orig-id: e_flags
    doc: '`e_flags` of files with OSABI 0x41.'
    doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
    -webide-representation: 'sm_{sm:dec} {this:flags}'
    seq:
      - id: is_mercury
        type: b1
        doc: Only Mercury code; not seen in files.
      - id: has_capsule
        type: b1
        doc: Machine code with a Mercury capsule, from sm_100 on.
      - id: is_sass
        type: b1
        doc: Machine code alone.
      - id: is_arch_specific
        -orig-id: EF_CUDA_ACCELERATORS
        type: b1
        doc: |
          Code for exactly this SM, such as sm_100a, in files of CUDA 12.8 and
          12.9; later files say so in `.nv.compat`.
      - id: reserved
        type: b4
        doc: 0 in files seen.
      - id: sm
        type: b16
        doc: SM the code is for, 100 for sm_100.
      - id: cuinfo_section
        type: b8
        doc: |
          Index of the section `.note.nv.cuinfo` or `.note.nv.cuver`; 255
          makes readers look for it.
  program_header:
    -orig-id: Elf64_Phdr
    doc: |
      One program header, 56 bytes in an ELF64 file and 32 in an ELF32 file,
      where `p_flags` stands behind the sizes.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.pheader.html
    -webide-representation: '{p_type} at {p_offset:dec}, {p_filesz:dec} bytes'
    params:
      - id: is_64
        type: bool
        doc: True in an ELF64 file.
    seq:
      - id: p_type
        type: u4
        enum: cuda_codes::segment_type
        doc: What the segment is.
      - id: p_flags_64
        -orig-id: p_flags
        type: u4
        if: is_64
        doc: 1 executable, 2 writable, 4 readable.
      - id: p_offset_64
        -orig-id: p_offset
        type: u8
        if: is_64
        doc: File offset of the segment.
      - id: p_offset_32
        -orig-id: p_offset
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: p_vaddr_64
        -orig-id: p_vaddr
        type: u8
        if: is_64
        doc: 0 in all files seen.
      - id: p_vaddr_32
        -orig-id: p_vaddr
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: p_paddr_64
        -orig-id: p_paddr
        type: u8
        if: is_64
        doc: 0 in all files seen.
      - id: p_paddr_32
        -orig-id: p_paddr
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: p_filesz_64
        -orig-id: p_filesz
        type: u8
        if: is_64
        doc: Bytes of the segment in the file.
      - id: p_filesz_32
        -orig-id: p_filesz
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: p_memsz_64
        -orig-id: p_memsz
        type: u8
        if: is_64
        doc: Bytes in memory, larger when NOBITS sections belong to it.
      - id: p_memsz_32
        -orig-id: p_memsz
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: p_flags_32
        -orig-id: p_flags
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: p_align_64
        -orig-id: p_align
        type: u8
        if: is_64
        doc: 8 in all files seen.
      - id: p_align_32
        -orig-id: p_align
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
    instances:
      p_offset:
        value: 'is_64 ? p_offset_64.as<s8> : p_offset_32.as<s8>'
        doc: The field of either class.
      p_vaddr:
        value: 'is_64 ? p_vaddr_64.as<s8> : p_vaddr_32.as<s8>'
        doc: The field of either class.
      p_paddr:
        value: 'is_64 ? p_paddr_64.as<s8> : p_paddr_32.as<s8>'
        doc: The field of either class.
      p_filesz:
        value: 'is_64 ? p_filesz_64.as<s8> : p_filesz_32.as<s8>'
        doc: The field of either class.
      p_memsz:
        value: 'is_64 ? p_memsz_64.as<s8> : p_memsz_32.as<s8>'
        doc: The field of either class.
      p_flags:
        value: 'is_64 ? p_flags_64.as<s8> : p_flags_32.as<s8>'
        doc: The field of either class.
      p_align:
        value: 'is_64 ? p_align_64.as<s8> : p_align_32.as<s8>'
        doc: The field of either class.
  section_header:
    -orig-id: Elf64_Shdr
    doc: |
      One section header, 64 bytes in an ELF64 file and 40 in an ELF32 file.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.sheader.html
    -webide-representation: '{sh_type} at {sh_offset:dec}, {sh_size:dec} bytes'
    params:
      - id: is_64
        type: bool
        doc: True in an ELF64 file.
    seq:
      - id: sh_name
        type: u4
        doc: Offset of the name in the table of section names.
      - id: sh_type
        type: u4
        enum: cuda_codes::section_type
        doc: What the section holds.
      - id: sh_flags_64
        -orig-id: sh_flags
        type: u8
        if: is_64
        doc: |
          1 writable, 2 allocated, 4 code, 0x40 `sh_info` is a section index,
          0x1000000 and 0x2000000 notes, 0x10000000 Mercury. Bits 20 to 26 of
          a `.text` section are its number of barriers in older files.
      - id: sh_flags_32
        -orig-id: sh_flags
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: sh_addr_64
        -orig-id: sh_addr
        type: u8
        if: is_64
        doc: 0 in all files seen.
      - id: sh_addr_32
        -orig-id: sh_addr
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: sh_offset_64
        -orig-id: sh_offset
        type: u8
        if: is_64
        doc: File offset of the contents.
      - id: sh_offset_32
        -orig-id: sh_offset
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: sh_size_64
        -orig-id: sh_size
        type: u8
        if: is_64
        doc: Size of the contents, also of those not in the file.
      - id: sh_size_32
        -orig-id: sh_size
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: sh_link
        type: u4
        doc: Index of the symbol table or string table that is used.
      - id: sh_info
        type: u4
        doc: |
          Section the contents belong to, number of local symbols, or, for
          `.text`, symbol of the function and number of registers.
      - id: sh_addralign_64
        -orig-id: sh_addralign
        type: u8
        if: is_64
        doc: Alignment in the file and in memory.
      - id: sh_addralign_32
        -orig-id: sh_addralign
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
      - id: sh_entsize_64
        -orig-id: sh_entsize
        type: u8
        if: is_64
        doc: Size of a row when the contents are a table.
      - id: sh_entsize_32
        -orig-id: sh_entsize
        type: u4
        if: not is_64
        doc: The same in an ELF32 file.
    instances:
      sh_flags:
        value: 'is_64 ? sh_flags_64.as<s8> : sh_flags_32.as<s8>'
        doc: The field of either class.
      sh_addr:
        value: 'is_64 ? sh_addr_64.as<s8> : sh_addr_32.as<s8>'
        doc: The field of either class.
      sh_offset:
        value: 'is_64 ? sh_offset_64.as<s8> : sh_offset_32.as<s8>'
        doc: The field of either class.
      sh_size:
        value: 'is_64 ? sh_size_64.as<s8> : sh_size_32.as<s8>'
        doc: The field of either class.
      sh_addralign:
        value: 'is_64 ? sh_addralign_64.as<s8> : sh_addralign_32.as<s8>'
        doc: The field of either class.
      sh_entsize:
        value: 'is_64 ? sh_entsize_64.as<s8> : sh_entsize_32.as<s8>'
        doc: The field of either class.
      ofs_name:
        value: sh_name.as<s8>
        -webide-parse-mode: lazy
        doc: The field as a signed number, which all languages compare alike.
      link:
        value: sh_link.as<s8>
        -webide-parse-mode: lazy
        doc: The field as a signed number.
      info:
        value: sh_info.as<s8>
        -webide-parse-mode: lazy
        doc: The field as a signed number.
  section:
    doc: |
      Contents of a section with what its header says about them. Section n
      belongs to `section_headers[n]`.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.sheader.html
    -webide-representation: '{name:str} at {sh_offset:dec}, {sh_size:dec} bytes'
    params:
      - id: index
        type: s4
        doc: Index of the section.
      - id: sh_type
        type: u4
        enum: cuda_codes::section_type
        doc: What the section holds.
    instances:
      sh_flags:
        value: |
          _parent.section_headers[index].sh_flags.as<s8>
        doc: Flags of the section.
      sh_offset:
        value: |
          _parent.section_headers[index].sh_offset.as<s8>
        doc: File offset of the contents.
      sh_size:
        value: |
          _parent.section_headers[index].sh_size.as<s8>
        doc: Size of the contents.
      sh_link:
        value: |
          _parent.section_headers[index].link
        doc: Index of the symbol table or string table that is used.
      sh_info:
        value: |
          _parent.section_headers[index].info
        doc: Index of a section or symbol, or a number of symbols.
      name:
        io: _parent.section_names._io
        pos: sh_name
        type: strz
        eos-error: false
        if: sh_name < _parent.section_names._io.size.as<s8>
        -webide-parse-mode: eager
        doc: Name of the section, absent when `sh_name` is out of range.
      is_mercury:
        value: (sh_flags & 0x10000000) != 0
        doc: True for a section of the Mercury half.
      is_code:
        value: body_kind == 18
        doc: True for machine code.
      num_barriers:
        value: (sh_flags >> 20) & 0x7f
        if: is_code
        doc: |
          Barriers a `.text` section uses; 0 in files with ABI version 8,
          which have an attribute for it.
      num_registers:
        value: sh_info >> 24
        if: is_code
        doc: Registers a `.text` section uses; 0 from sm_90 on.
      function_symbol:
        value: sh_info & 0xffffff
        if: is_code
        doc: Index of the symbol of the function.
      body:
        pos: ofs_body
        size: len_body
        type:
          switch-on: body_kind
          cases:
            1: string_table
            2: symbols(is_64, names)
            3: rel(is_64)
            4: rela(is_64)
            5: shndx_table
            6: note_nv
            7: eiattr
            8: compat
            9: callgraph(names)
            10: prototype(names)
            11: rel_action
            12: resolved_rela(is_64)
            13: metadata
            14: uft
            15: mercury(mercury_kind.as<u1>, is_64, names)
            16: capmerc
            17: nv_debug(nv_debug_kind.as<u1>)
            18: code_body
            19: constant_body
            20: dwarf_body
            21: data_body
            22: mercury(mercury_kind.as<u1>, is_64, names)
            23: uidx
            _: unknown_body
        if: is_in_file
        doc: The contents, absent when they take no room in the file.
      is_64:
        value: _parent.is_64
        -webide-parse-mode: lazy
        doc: True in an ELF64 file.
      sh_name:
        value: |
          _parent.section_headers[index].ofs_name
        -webide-parse-mode: lazy
        doc: Offset of the name in the table of section names.
      is_in_file:
        value: |
          sh_type != cuda_codes::section_type::sht_null
            and sh_type != cuda_codes::section_type::sht_nobits
            and sh_type != cuda_codes::section_type::sht_cuda_global
            and sh_type != cuda_codes::section_type::sht_cuda_local
            and sh_type != cuda_codes::section_type::sht_cuda_shared
            and (sh_type
              != cuda_codes::section_type::sht_cuda_reserved_shared
              or is_mercury)
        -webide-parse-mode: lazy
        doc: |
          False for memory that starts zeroed and takes no room in the file.
          The Mercury copy of the reserved shared memory does take room.
      ofs_body:
        value: |
          is_in_file and sh_offset >= 0 and sh_offset <= _io.size.as<s8>
            ? sh_offset
            : 0.as<s8>
        -webide-parse-mode: lazy
        doc: Where the contents start, cut to the size of the file.
      len_body:
        value: |
          is_in_file and sh_offset >= 0 and sh_offset <= _io.size.as<s8>
            ? (sh_size >= 0 and sh_size <= _io.size.as<s8> - sh_offset
              ? sh_size
              : (_io.size.as<s8> - sh_offset).as<s8>)
            : 0.as<s8>
        -webide-parse-mode: lazy
        doc: Size of the contents, cut to the size of the file.
      ofs_plain_name:
        value: |
          is_mercury and sh_name + 9 <= _parent.section_names._io.size.as<s8>
            ? (sh_name + 8).as<s8>
            : sh_name
        -webide-parse-mode: lazy
        doc: Offset of the name without `.nv.merc`.
      plain_name:
        io: _parent.section_names._io
        pos: ofs_plain_name
        type: strz
        eos-error: false
        if: ofs_plain_name < _parent.section_names._io.size.as<s8>
        -webide-parse-mode: lazy
        doc: Name without `.nv.merc`, of which Mercury copies are made.
      head_5:
        io: _parent.section_names._io
        pos: ofs_plain_name
        size: 5
        if: ofs_plain_name + 5 <= _parent.section_names._io.size.as<s8>
        -webide-parse-mode: lazy
        doc: First 5 bytes of the plain name, to tell `.text`.
      head_7:
        io: _parent.section_names._io
        pos: ofs_plain_name
        size: 7
        if: ofs_plain_name + 7 <= _parent.section_names._io.size.as<s8>
        -webide-parse-mode: lazy
        doc: First 7 bytes of the plain name, to tell `.debug_`.
      head_10:
        io: _parent.section_names._io
        pos: ofs_plain_name
        size: 10
        if: ofs_plain_name + 10 <= _parent.section_names._io.size.as<s8>
        -webide-parse-mode: lazy
        doc: First 10 bytes of the plain name, to tell `.nv_debug_`.
      head_12:
        io: _parent.section_names._io
        pos: ofs_plain_name
        size: 12
        if: ofs_plain_name + 12 <= _parent.section_names._io.size.as<s8>
        -webide-parse-mode: lazy
        doc: First 12 bytes of the plain name, to tell `.nv.constant`.
      head_17:
        io: _parent.section_names._io
        pos: ofs_plain_name
        size: 17
        if: ofs_plain_name + 17 <= _parent.section_names._io.size.as<s8>
        -webide-parse-mode: lazy
        doc: First 17 bytes of the plain name, to tell `.nv_debug_ptx_txt`.
      is_text_name:
        value: |
          ofs_plain_name + 5 <= _parent.section_names._io.size.as<s8>
            and head_5 == [0x2e, 0x74, 0x65, 0x78, 0x74]
        -webide-parse-mode: lazy
        doc: True when the name starts with `.text`.
      is_dwarf_name:
        value: |
          ofs_plain_name + 7 <= _parent.section_names._io.size.as<s8>
            and head_7 == [0x2e, 0x64, 0x65, 0x62, 0x75, 0x67, 0x5f]
        -webide-parse-mode: lazy
        doc: True when the name starts with `.debug_`.
      is_nv_debug_name:
        value: |
          ofs_plain_name + 10 <= _parent.section_names._io.size.as<s8>
            and head_10 == [
              0x2e, 0x6e, 0x76, 0x5f, 0x64, 0x65, 0x62, 0x75, 0x67, 0x5f
            ]
        -webide-parse-mode: lazy
        doc: True when the name starts with `.nv_debug_`.
      is_constant_name:
        value: |
          ofs_plain_name + 12 <= _parent.section_names._io.size.as<s8>
            and head_12 == [
              0x2e, 0x6e, 0x76, 0x2e, 0x63, 0x6f,
              0x6e, 0x73, 0x74, 0x61, 0x6e, 0x74
            ]
        -webide-parse-mode: lazy
        doc: True when the name starts with `.nv.constant`.
      is_ptx_name:
        value: |
          ofs_plain_name + 17 <= _parent.section_names._io.size.as<s8>
            and head_17 == [
              0x2e, 0x6e, 0x76, 0x5f, 0x64, 0x65, 0x62, 0x75, 0x67,
              0x5f, 0x70, 0x74, 0x78, 0x5f, 0x74, 0x78, 0x74
            ]
        -webide-parse-mode: lazy
        doc: True when the name starts with `.nv_debug_ptx_txt`.
      nv_debug_kind:
        value: |
          is_ptx_name
            ? 1
            : plain_name == ".nv_debug_line_sass"
            ? 2
            : plain_name == ".nv_debug_info_reg_sass"
            ? 3
            : plain_name == ".nv_debug_info_reg_type"
            ? 4
            : plain_name == ".debug_line"
            ? 5
            : 0
        if: is_nv_debug_name or is_dwarf_name
        -webide-parse-mode: lazy
        doc: Which of NVIDIA's debug sections it is.
      plain_kind:
        value: |
          is_text_name ? 18
            : is_constant_name ? 19
            : is_dwarf_name and plain_name != ".debug_line" ? 20
            : is_nv_debug_name or is_dwarf_name ? 17
            : ofs_plain_name < _parent.section_names._io.size.as<s8>
              and plain_name == ".nv.compat" ? 8
            : 21
        -webide-parse-mode: lazy
        doc: What a PROGBITS section of this name holds.
      body_kind:
        value: |
          sh_type == cuda_codes::section_type::sht_progbits
            ? plain_kind
            : sh_type == cuda_codes::section_type::sht_symtab_shndx
              ? (is_mercury ? 15 : 5)
            : sh_type == cuda_codes::section_type::sht_strtab
              ? 1
            : sh_type == cuda_codes::section_type::sht_symtab
              ? 2
            : sh_type == cuda_codes::section_type::sht_rela
              ? 4
            : sh_type == cuda_codes::section_type::sht_rel
              ? 3
            : sh_type == cuda_codes::section_type::sht_note
              ? 6
            : sh_type == cuda_codes::section_type::sht_cuda_info
              ? 7
            : sh_type == cuda_codes::section_type::sht_cuda_callgraph
              ? 9
            : sh_type == cuda_codes::section_type::sht_cuda_prototype
              ? 10
            : sh_type == cuda_codes::section_type::sht_cuda_resolved_rela
              ? 12
            : sh_type == cuda_codes::section_type::sht_cuda_metadata
              ? 13
            : sh_type == cuda_codes::section_type::sht_cuda_relocinfo
              ? 11
            : sh_type == cuda_codes::section_type::sht_cuda_compat_info
              ? 8
            : sh_type == cuda_codes::section_type::sht_cuda_capmerc
              ? 16
            : sh_type == cuda_codes::section_type::sht_cuda_global_init
              ? 21
            : sh_type == cuda_codes::section_type::sht_cuda_constant
              ? 19
            : sh_type == cuda_codes::section_type::sht_cuda_uft
              ? 18
            : sh_type == cuda_codes::section_type::sht_cuda_udt
              or sh_type == cuda_codes::section_type::sht_cuda_embedded_host
              ? 21
            : sh_type == cuda_codes::section_type::sht_cuda_uidx
              ? 23
            : sh_type == cuda_codes::section_type::sht_cuda_uft_entry
              or sh_type == cuda_codes::section_type::sht_cuda_udt_entry
              ? 14
            : sh_type == cuda_codes::section_type::sht_cuda_merc_symtab
              or sh_type
                == cuda_codes::section_type::sht_cuda_merc_callgraph
              or sh_type
                == cuda_codes::section_type::sht_cuda_merc_prototype
              ? 22
            : sh_type == cuda_codes::section_type::sht_cuda_merc_rela
              or sh_type == cuda_codes::section_type::sht_cuda_merc_info
              or sh_type
                == cuda_codes::section_type::sht_cuda_merc_resolved_rela
              or sh_type
                == cuda_codes::section_type::sht_cuda_reserved_shared
              ? 15
            : is_constant_name
              ? 19
            : 0
        -webide-parse-mode: lazy
        doc: |
          What the contents are, from the type and, for PROGBITS, the name:
          0 a section of unknown type; 1 a string table; 2 symbols; 3
          relocations without addend; 4 relocations with addend; 5 extended
          section indices; 6 notes; 7 attributes; 8 compatibility attributes; 9
          a call graph; 10 function signatures; 11 relocation actions; 12
          resolved relocations; 13 module metadata; 14 unified functions and
          data; 15 a table of the Mercury half; 16 a Mercury capsule; 17
          NVIDIA's debug information; 18 machine code; 19 a constant bank; 20
          DWARF; 21 initial values of variables; 22 a table of the Mercury half
          that refers to strings.
      mercury_kind:
        value: |
          sh_type == cuda_codes::section_type::sht_cuda_merc_symtab ? 1
            : sh_type == cuda_codes::section_type::sht_cuda_merc_rela
            ? 2
            : sh_type == cuda_codes::section_type::sht_cuda_merc_info
            ? 3
            : sh_type
              == cuda_codes::section_type::sht_cuda_merc_callgraph
            ? 4
            : sh_type
              == cuda_codes::section_type::sht_cuda_merc_prototype
            ? 5
            : sh_type
              == cuda_codes::section_type::sht_cuda_merc_resolved_rela
            ? 6
            : sh_type == cuda_codes::section_type::sht_symtab_shndx
            ? 7
            : sh_type
              == cuda_codes::section_type::sht_cuda_reserved_shared
            ? 8 : 0
        -webide-parse-mode: lazy
        doc: Which table of the Mercury half it is, as in `mercury`.
      uses_names:
        value: |
          body_kind == 2 or body_kind == 9 or body_kind == 10
            or body_kind == 22
        -webide-parse-mode: lazy
        doc: True when the contents refer to a string table.
      names_section:
        value: |
          body_kind == 2
            or sh_type == cuda_codes::section_type::sht_cuda_merc_symtab
            ? sh_link
            : sh_link < _parent.num_section_headers
            ? _parent.sections[sh_link.as<s4>].sh_link
            : 0.as<s8>
        -webide-parse-mode: lazy
        doc: |
          Section with the strings that the contents refer to: the one named
          by a symbol table, or by the symbol table that is named.
      has_names:
        value: |
          names_section < _parent.num_section_headers
            ? _parent.sections[names_section.as<s4>].sh_type
              == cuda_codes::section_type::sht_strtab
            : false
        -webide-parse-mode: lazy
        doc: False when no string table belongs to the section.
      names:
        pos: |
          uses_names and has_names
            ? _parent.sections[names_section.as<s4>].ofs_body
            : 0.as<s8>
        size: |
          uses_names and has_names
            ? _parent.sections[names_section.as<s4>].len_body
            : 0.as<s8>
        type: string_pool
        -alias: true
        -webide-parse-mode: lazy
        doc: Strings that the contents refer to; empty when there are none.
  symbols:
    doc: Symbols of the file, `.symtab`.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.symtab.html
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
        doc: The rows.
  rel:
    doc: Relocations without addend, `.rel.*`.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.reloc.html
    params:
      - id: is_64
        type: bool
        doc: True in an ELF64 file.
    seq:
      - id: table
        type:
          switch-on: is_64
          cases:
            true: rel_table_64
            false: rel_table_32
        doc: The rows.
  rela:
    doc: Relocations with addend, `.rela.*`.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.reloc.html
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
        doc: The rows.
  code_body:
    doc: Machine code, a `.text` section or a slot of the unified table.
    doc-ref: ksy/tables/sections.yaml
    seq:
      - id: data
        size-eos: true
        -opaque: SASS
        doc: Instructions, 8 bytes each up to sm_62, 16 bytes from sm_70 on.
  constant_body:
    doc: Contents of a constant bank.
    doc-ref: ksy/tables/sections.yaml
    seq:
      - id: data
        size-eos: true
        -opaque: constant bank
        doc: The bytes; zeros for the parameters of a kernel.
  dwarf_body:
    doc: A section of DWARF debug information; the name says which.
    doc-ref: https://dwarfstd.org/doc/dwarf-2.0.0.pdf
    seq:
      - id: data
        size-eos: true
        -opaque: DWARF
        doc: The bytes, in the layout of the DWARF standard.
  data_body:
    doc: Initial values of variables.
    doc-ref: ksy/tables/sections.yaml
    seq:
      - id: data
        size-eos: true
        -opaque: data
        doc: The bytes.
  unknown_body:
    doc: Contents of a section of unknown type.
    doc-ref: ksy/tables/sections.yaml
    seq:
      - id: data
        size-eos: true
        -opaque: unknown section
        doc: The bytes.
