meta:
  id: note_nv
  title: Notes of a CUDA device binary
  application: NVIDIA CUDA
  file-extension:
    - cubin
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: '0.10'
  encoding: UTF-8
  endian: le
doc: |
  Sections `.note.nv.tkinfo`, `.note.nv.cuinfo` and `.note.nv.cuver` of files
  with ABI version 8: the tools that made the file with their options, and the
  virtual SM and toolkit the code was made for.

  nvlink writes its own tkinfo note first and then copies those of its inputs.
  A `.note.nv.cuver` (CUDA 12.8 and 12.9) takes the place of the later
  `.note.nv.cuinfo`; both have note type 1000 and differ in size.
doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.pheader.html
seq:
  - id: notes
    type: note
    repeat: eos
    doc: One after the other, each starting at a multiple of four.
types:
  note:
    doc: One note.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.pheader.html
    -webide-representation: '{owner:str} {header.note_type}: {description}'
    seq:
      - id: header
        type: note_header
        doc: Sizes and type.
      - id: owner
        size: header.len_owner
        type: strz
        eos-error: false
        doc: "`NVIDIA Corp`, with its terminator."
      - id: owner_padding
        size: (4 - header.len_owner % 4) % 4
        -opaque: padding
        doc: Zeros up to a multiple of four.
      - id: description
        size: header.len_description
        type:
          switch-on: description_kind
          cases:
            1: cuinfo
            2: cuver
            3: tkinfo
            _: raw_description
        doc: What the note says.
      - id: description_padding
        size: |
          len_padding < _io.size - _io.pos
            ? len_padding
            : (_io.size - _io.pos).as<s8>
        -opaque: padding
        doc: |
          Zeros up to a multiple of four; missing at the end of some files.
    instances:
      len_padding:
        value: ((4 - header.len_description % 4) % 4).as<s8>
        -webide-parse-mode: lazy
        doc: Zeros that the description needs behind it.
      description_kind:
        value: |
          header.note_type == note_types::cuda_info
            ? (header.len_description == 8
              ? 1
              : header.len_description == 12 ? 2 : 0)
            : header.note_type == note_types::toolkit_info
              and header.len_description >= 24 ? 3 : 0
        -webide-parse-mode: lazy
        doc: Layout of the description, 0 when it is not known.
  note_header:
    -orig-id: Elf64_Nhdr
    doc: First words of a note.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.pheader.html
    -webide-representation: '{note_type}, {len_description:dec} bytes'
    seq:
      - id: len_owner
        -orig-id: n_namesz
        type: u4
        doc: Size of the owner with its terminator, 12.
      - id: len_description
        -orig-id: n_descsz
        type: u4
        doc: Size of the description without padding.
      - id: note_type
        -orig-id: n_type
        type: u4
        enum: note_types
        doc: What the description holds.
  cuinfo:
    doc: Description of `.note.nv.cuinfo`.
    doc-ref: ksy/tables/notes.yaml, .note.nv.cuinfo
    -webide-representation: 'sm {virtual_sm:dec}, toolkit {toolkit_version:dec}'
    seq:
      - id: note_version
        type: u2
        doc: 2.
      - id: virtual_sm
        type: u2
        doc: SM of the PTX the code comes from, 90 for compute_90.
      - id: toolkit_version
        type: u2
        doc: Ten times the major plus the minor version, 130 for 13.0.
      - id: reserved
        type: u2
        doc: Always 0.
  cuver:
    doc: Description of `.note.nv.cuver`.
    doc-ref: ksy/tables/notes.yaml, .note.nv.cuver
    -webide-representation: 'virtual sm {virtual_sm:dec}'
    seq:
      - id: note_version
        type: u2
        doc: 1; 0 in a few files.
      - id: virtual_sm
        type: u2
        doc: SM of the PTX the code comes from, 90 for compute_90.
      - id: unknown_1
        type: u4
        doc: 1; 0 in a few files.
      - id: unknown_2
        type: u4
        doc: 1; 0 in a few files.
  tkinfo:
    doc: Description of `.note.nv.tkinfo`.
    doc-ref: ksy/tables/notes.yaml, .note.nv.tkinfo
    -webide-representation: '{tool_name:str} {tool_arguments:str}'
    seq:
      - id: head
        type: tkinfo_head
        doc: Version of the note and offsets of its strings.
      - id: pool
        type: string_pool
        size-eos: true
        doc: The strings.
    instances:
      object_file:
        io: pool._io
        pos: head.ofs_object_file
        type: strz
        eos-error: false
        if: head.ofs_object_file.as<s8> < pool._io.size
        doc: Name of an object file, empty in files seen.
      tool_name:
        io: pool._io
        pos: head.ofs_tool_name
        type: strz
        eos-error: false
        if: head.ofs_tool_name.as<s8> < pool._io.size
        -webide-parse-mode: eager
        doc: "`ptxas`, `nvlink` and the like."
      tool_version:
        io: pool._io
        pos: head.ofs_tool_version
        type: strz
        eos-error: false
        if: head.ofs_tool_version.as<s8> < pool._io.size
        doc: Version as the tool prints it.
      tool_branch:
        io: pool._io
        pos: head.ofs_tool_branch
        type: strz
        eos-error: false
        if: head.ofs_tool_branch.as<s8> < pool._io.size
        doc: Build of the tool.
      tool_arguments:
        io: pool._io
        pos: head.ofs_arguments
        type: strz
        eos-error: false
        if: head.ofs_arguments.as<s8> < pool._io.size
        -webide-parse-mode: eager
        doc: Options the tool was called with.
  tkinfo_head:
    doc: Fixed part of a tkinfo description.
    doc-ref: ksy/tables/notes.yaml, .note.nv.tkinfo
    -webide-representation: 'version {note_version:dec}'
    seq:
      - id: note_version
        type: u4
        doc: |
          2 in files with `.note.nv.cuinfo`. Files with `.note.nv.cuver` have
          the toolkit version here, 0x81 for 12.9.
      - id: ofs_object_file
        type: u4
        doc: Offset of the object file's name in the pool.
      - id: ofs_tool_name
        type: u4
        doc: Offset of the tool's name in the pool.
      - id: ofs_tool_version
        type: u4
        doc: Offset of the tool's version in the pool.
      - id: ofs_tool_branch
        type: u4
        doc: Offset of the tool's build in the pool.
      - id: ofs_arguments
        type: u4
        doc: Offset of the tool's options in the pool.
  string_pool:
    doc: Strings with terminators, starting with an empty one, zero padded.
    doc-ref: ksy/tables/notes.yaml, .note.nv.tkinfo
    seq:
      - id: strings
        type: strz
        eos-error: false
        repeat: eos
        doc: All strings in file order.
  raw_description:
    doc: Description of a note of another type or size.
    doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.pheader.html
    seq:
      - id: data
        size-eos: true
        -opaque: note
        doc: The bytes.
enums:
  note_types:
    1000:
      id: cuda_info
      doc: CUDA version and virtual SM (`.note.nv.cuinfo`, `.note.nv.cuver`).
    2000:
      id: toolkit_info
      doc: Tool, version and options (`.note.nv.tkinfo`).
