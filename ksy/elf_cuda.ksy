meta:
  id: elf_cuda
  title: CUDA device binary (cubin)
  file-extension:
    - cubin
  xref:
    justsolve: CUDA
    wikidata: Q1343830
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: 0.9
  imports:
    - callgraph
    - capmerc
    - compat
    - cuda_codes
    - eiattr
    - elf_records
    - mercury
    - metadata
    - note_nv
    - nv_debug
    - prototype
    - rel_action
    - resolved_rela
    - uft
  encoding: UTF-8
  endian: le
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
    type:
      switch-on: ident.ei_class
      cases:
        1: elf_header_32
        2: elf_header_64
    doc: Rest of the ELF header.
types:
  elf_ident:
    -orig-id: e_ident
    doc: Identification bytes of an ELF file.
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
  elf_header_64:
    -orig-id: Elf64_Ehdr
    doc: ELF64 header after the identification, 48 bytes.
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
      - id: e_entry
        type: u8
        doc: 0; kernels are found by their symbols.
      - id: e_phoff
        type: u8
        doc: File offset of the program headers, 0 when there are none.
      - id: e_shoff
        type: u8
        doc: File offset of the section headers.
      - id: e_flags
        type: u4
        doc: SM and kind of code, see `flags_abi_7` and `flags_abi_8`.
      - id: e_ehsize
        type: u2
        doc: 64, the size of this header with the identification.
      - id: e_phentsize
        type: u2
        doc: 56; 0 in some files without program headers.
      - id: e_phnum
        type: u2
        doc: |
          Number of program headers; 0xffff means that `sh_info` of the first
          section header has it.
      - id: e_shentsize
        type: u2
        doc: 64, the size of a section header.
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
  elf_header_32:
    -orig-id: Elf32_Ehdr
    doc: ELF32 header after the identification, 36 bytes.
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
        doc: Toolkit version, as in `elf_header_64`.
      - id: e_entry
        type: u4
        doc: 0; kernels are found by their symbols.
      - id: e_phoff
        type: u4
        doc: File offset of the program headers, 0 when there are none.
      - id: e_shoff
        type: u4
        doc: File offset of the section headers.
      - id: e_flags
        type: u4
        doc: SM and kind of code, see `flags_abi_7`.
      - id: e_ehsize
        type: u2
        doc: 52, the size of this header with the identification.
      - id: e_phentsize
        type: u2
        doc: 32, the size of a program header.
      - id: e_phnum
        type: u2
        doc: Number of program headers, as in `elf_header_64`.
      - id: e_shentsize
        type: u2
        doc: 40, the size of a section header.
      - id: e_shnum
        type: u2
        doc: Number of section headers, as in `elf_header_64`.
      - id: e_shstrndx
        type: u2
        doc: Index of the section with the section names.
  program_header_64:
    -orig-id: Elf64_Phdr
    doc: One program header of an ELF64 file, 56 bytes.
    seq:
      - id: p_type
        type: u4
        enum: cuda_codes::segment_type
        doc: What the segment is.
      - id: p_flags
        type: u4
        doc: 1 executable, 2 writable, 4 readable.
      - id: p_offset
        type: u8
        doc: File offset of the segment.
      - id: p_vaddr
        type: u8
        doc: 0 in all files seen.
      - id: p_paddr
        type: u8
        doc: 0 in all files seen.
      - id: p_filesz
        type: u8
        doc: Bytes of the segment in the file.
      - id: p_memsz
        type: u8
        doc: Bytes in memory, larger when NOBITS sections belong to it.
      - id: p_align
        type: u8
        doc: 8 in all files seen.
  program_header_32:
    -orig-id: Elf32_Phdr
    doc: One program header of an ELF32 file, 32 bytes.
    seq:
      - id: p_type
        type: u4
        enum: cuda_codes::segment_type
        doc: What the segment is.
      - id: p_offset
        type: u4
        doc: File offset of the segment.
      - id: p_vaddr
        type: u4
        doc: 0 in all files seen.
      - id: p_paddr
        type: u4
        doc: 0 in all files seen.
      - id: p_filesz
        type: u4
        doc: Bytes of the segment in the file.
      - id: p_memsz
        type: u4
        doc: Bytes in memory, larger when NOBITS sections belong to it.
      - id: p_flags
        type: u4
        doc: 1 executable, 2 writable, 4 readable.
      - id: p_align
        type: u4
        doc: Alignment of the segment.
  section_header_64:
    -orig-id: Elf64_Shdr
    doc: One section header of an ELF64 file, 64 bytes.
    seq:
      - id: sh_name
        type: u4
        doc: Offset of the name in the table of section names.
      - id: sh_type
        type: u4
        enum: cuda_codes::section_type
        doc: What the section holds.
      - id: sh_flags
        type: u8
        doc: |
          1 writable, 2 allocated, 4 code, 0x40 `sh_info` is a section index,
          0x1000000 and 0x2000000 notes, 0x10000000 Mercury. Bits 20 to 26 of
          a `.text` section are its number of barriers in older files.
      - id: sh_addr
        type: u8
        doc: 0 in all files seen.
      - id: sh_offset
        type: u8
        doc: File offset of the contents.
      - id: sh_size
        type: u8
        doc: Size of the contents, also of those not in the file.
      - id: sh_link
        type: u4
        doc: Index of the symbol table or string table that is used.
      - id: sh_info
        type: u4
        doc: |
          Section the contents belong to, number of local symbols, or, for
          `.text`, symbol of the function and number of registers.
      - id: sh_addralign
        type: u8
        doc: Alignment in the file and in memory.
      - id: sh_entsize
        type: u8
        doc: Size of a row when the contents are a table.
  section_header_32:
    -orig-id: Elf32_Shdr
    doc: One section header of an ELF32 file, 40 bytes.
    seq:
      - id: sh_name
        type: u4
        doc: Offset of the name in the table of section names.
      - id: sh_type
        type: u4
        enum: cuda_codes::section_type
        doc: What the section holds.
      - id: sh_flags
        type: u4
        doc: Flags, as in `section_header_64`.
      - id: sh_addr
        type: u4
        doc: 0 in all files seen.
      - id: sh_offset
        type: u4
        doc: File offset of the contents.
      - id: sh_size
        type: u4
        doc: Size of the contents, also of those not in the file.
      - id: sh_link
        type: u4
        doc: Index of the symbol table or string table that is used.
      - id: sh_info
        type: u4
        doc: As in `section_header_64`.
      - id: sh_addralign
        type: u4
        doc: Alignment in the file and in memory.
      - id: sh_entsize
        type: u4
        doc: Size of a row when the contents are a table.
