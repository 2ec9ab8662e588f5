meta:
  id: nv_debug
  title: NVIDIA's debug sections of a CUDA device binary
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
  bit-endian: le
doc: |
  What `ptxas -g` and `ptxas -lineinfo` write beside DWARF:

  - `.nv_debug_ptx_txt`: the PTX source, in relocatable files with a number
    after the name;
  - `.nv_debug_line_sass`: which PTX line an instruction comes from, a DWARF
    line table whose file is the section above;
  - `.nv_debug_info_reg_sass`: which register holds a PTX register, and where;
  - `.nv_debug_info_reg_type`: the PTX type of each entry of the former;
  - `.debug_line`: which line of the source an instruction comes from, a DWARF
    line table with two operations of NVIDIA for inlined functions.

  The Mercury copies `.nv.merc.nv_debug_*` have the same layouts. The layouts
  of the last two were found by comparing sections with the PTX they come
  from.
doc-ref:
  - https://docs.nvidia.com/cuda/parallel-thread-execution/
  - https://dwarfstd.org/doc/dwarf-2.0.0.pdf
params:
  - id: kind
    type: u1
    doc: |
      Which of the sections it is: 1 `.nv_debug_ptx_txt`, 2
      `.nv_debug_line_sass`, 3 `.nv_debug_info_reg_sass`, 4
      `.nv_debug_info_reg_type`, 5 `.debug_line`, 0 another.
seq:
  - id: content
    type:
      switch-on: kind
      cases:
        1: ptx_text
        2: line_tables
        3: register_tables
        4: register_type_tables
        5: line_tables
        _: unknown_content
    doc: Contents by kind.
types:
  ptx_text:
    doc: PTX source.
    doc-ref: https://docs.nvidia.com/cuda/parallel-thread-execution/
    seq:
      - id: lines
        type: strz
        eos-error: false
        repeat: eos
        doc: Lines, each ended by a zero byte; a PTX line number counts them.
  line_tables:
    doc: DWARF line tables, one after the other.
    doc-ref: https://dwarfstd.org/doc/dwarf-2.0.0.pdf
    seq:
      - id: units
        type: line_unit
        repeat: eos
        doc: One per compilation unit; nvlink puts them behind each other.
  line_unit:
    doc: One DWARF line table.
    doc-ref: https://dwarfstd.org/doc/dwarf-2.0.0.pdf
    -webide-representation: '{len_unit:dec} bytes'
    seq:
      - id: len_unit
        -orig-id: unit_length
        type: u4
        doc: Size of what follows.
      - id: unit
        size: |
          len_unit.as<s8> <= _io.size - _io.pos
            ? len_unit.as<s8>
            : (_io.size - _io.pos).as<s8>
        type: line_unit_body
        doc: Header and program.
  line_unit_body:
    doc: Header and program of a line table.
    doc-ref: https://dwarfstd.org/doc/dwarf-2.0.0.pdf
    -webide-representation: 'version {version:dec}'
    seq:
      - id: version
        type: u2
        doc: DWARF version, 2 in files seen.
      - id: len_header
        -orig-id: header_length
        type: u4
        doc: Size of the header from the next field on.
      - id: header
        size: |
          len_header.as<s8> <= _io.size - _io.pos
            ? len_header.as<s8>
            : (_io.size - _io.pos).as<s8>
        type: line_header(version)
        if: is_known
        doc: Parameters of the program and its files.
      - id: program
        type: line_operation(header.first_special, header.num_operands)
        repeat: eos
        if: is_known
        doc: Operations that build the table of addresses and lines.
      - id: other
        size-eos: true
        -opaque: DWARF
        if: not is_known
        doc: Of another version of DWARF, which no tool was seen to write.
    instances:
      is_known:
        value: version >= 2 and version <= 4
        doc: The table has the layout of DWARF 2 to 4.
  line_header:
    doc: Parameters of a line program.
    doc-ref: https://dwarfstd.org/doc/dwarf-2.0.0.pdf
    -webide-representation: '{len_instruction:dec} bytes per step'
    params:
      - id: version
        type: u2
        doc: DWARF version.
    seq:
      - id: len_instruction
        -orig-id: minimum_instruction_length
        type: u1
        doc: Factor of all address steps, 1.
      - id: max_operations
        -orig-id: maximum_operations_per_instruction
        type: u1
        if: version >= 4
        doc: Only from DWARF 4 on.
      - id: is_statement
        -orig-id: default_is_stmt
        type: u1
        doc: 1.
      - id: line_base
        type: s1
        doc: Line step of the first special operation, -5.
      - id: line_range
        type: u1
        doc: Number of line steps of special operations, 14.
      - id: first_special
        -orig-id: opcode_base
        type: u1
        doc: First code of a special operation, 10.
      - id: num_operands
        -orig-id: standard_opcode_lengths
        size: |
          first_special == 0 ? 0.as<s8> : (first_special.as<s8> - 1).as<s8>
        doc: Number of operands of the codes below `first_special`.
      - id: folders
        -orig-id: include_directories
        type: strz
        eos-error: false
        repeat: until
        repeat-until: _.length == 0 or _io.eof
        doc: Folders of the files, ended by an empty string.
      - id: files
        -orig-id: file_names
        type: file_entry
        repeat: until
        repeat-until: _.is_end or _io.eof
        if: not _io.eof
        doc: |
          Files the lines belong to, ended by an entry without a name. The
          section with the PTX text in relocatable files and in what nvlink
          makes of them; executables of ptxas name none and mean their only
          such section.
      - id: ofs_names
        type: u4
        if: (_io.size - _io.pos) == 4
        doc: |
          Offset in `.debug_str` that those of the names of inlined functions
          count from; only in tables that say what was inlined.
      - id: trailing
        size-eos: true
        -opaque: unclaimed
        doc: Bytes after the list of files; empty in files seen.
  file_entry:
    doc: One source file.
    doc-ref: https://dwarfstd.org/doc/dwarf-2.0.0.pdf
    -webide-representation: '{name:str}'
    seq:
      - id: name
        type: strz
        eos-error: false
        doc: Name of the file or of the section with the PTX text.
      - id: folder
        type: leb128
        if: name.length != 0
        doc: Number of the folder, 0 for none.
      - id: mtime
        type: leb128
        if: name.length != 0
        doc: Time of the last change, 0 when it is not known.
      - id: len_file
        type: leb128
        if: name.length != 0
        doc: Size of the file, 0 when it is not known.
    instances:
      is_end:
        value: name.length == 0
        doc: True for the entry that ends the list.
  line_operation:
    doc: One operation of a line program.
    doc-ref: https://dwarfstd.org/doc/dwarf-2.0.0.pdf
    -webide-representation: 'code {code:dec}'
    params:
      - id: first_special
        type: u1
        doc: First code of a special operation.
      - id: num_operands
        type: bytes
        doc: Number of operands of the codes below.
    seq:
      - id: code
        type: u1
        doc: |
          What to do: 0 an extended operation, 1 to 9 DW_LNS_copy, advance_pc,
          advance_line, set_file, set_column, negate_stmt, set_basic_block,
          const_add_pc and fixed_advance_pc, from `first_special` on a step of
          line and address.
      - id: extended
        type: extended_operation
        if: code == 0
        doc: Extended operation.
      - id: step
        type: u2
        if: code == 9
        doc: Address step.
      - id: operands
        type: leb128
        repeat: expr
        repeat-expr: |
          num_code_operands.as<s8> <= _io.size
            ? num_code_operands.as<s8>
            : _io.size.as<s8>
        doc: |
          Operands of a standard operation. ptxas writes that of
          DW_LNS_advance_pc as if it were signed: a zero byte follows where the
          value would else look negative.
    instances:
      num_code_operands:
        value: |
          code == 0 or code == 9 or code >= first_special
            or code.as<s8> > num_operands.length.as<s8>
            ? 0.as<s8>
            : num_operands[code - 1].as<s8>
        -webide-parse-mode: lazy
        doc: Number of operands of the code.
  extended_operation:
    doc: Operation with a size.
    doc-ref: https://dwarfstd.org/doc/dwarf-2.0.0.pdf
    -webide-representation: '{body}'
    seq:
      - id: len_body
        type: leb128
        doc: Size of the code and the operands.
      - id: body
        size: |
          len_body.number <= _io.size - _io.pos
            ? len_body.number
            : (_io.size - _io.pos).as<s8>
        type: extended_body
        doc: Code and operands.
  extended_body:
    doc: |
      Code and operands of an operation with a size. The operands of codes
      that are not known are kept as bytes.
    doc-ref: https://dwarfstd.org/doc/dwarf-2.0.0.pdf
    -webide-representation: '{code}'
    seq:
      - id: code
        type: u1
        enum: extended_codes
        if: _io.size != 0
        doc: What to do.
      - id: address
        type: u8
        if: _io.size == 9 and code == extended_codes::set_address
        doc: Address, 0 before relocation.
      - id: address_32
        type: u4
        if: _io.size == 5 and code == extended_codes::set_address
        doc: Address in an ELF32 file, 0 before relocation.
      - id: mark
        type: u1
        if: _io.size == 2 and code == extended_codes::mercury_mark
        doc: 1 and 0 in turn; meaning not established.
      - id: context
        type: leb128
        if: _io.size > 2 and code == extended_codes::inlined_call
        doc: |
          Row of the same function that calls what follows, counted from 1; 0
          when the code is not inlined.
      - id: ofs_name
        type: leb128
        if: |
          _io.size > 2 and code == extended_codes::inlined_call
            or _io.size > 1 and code == extended_codes::set_function_name
        doc: Name of the inlined function in `.debug_str`, from `ofs_names` on.
      - id: operands
        size-eos: true
        -opaque: line operands
        doc: Operands of another code.
  leb128:
    doc: |
      Number in groups of seven bits, lowest first; the top bit of a byte says
      that another follows.
    doc-ref: https://dwarfstd.org/doc/dwarf-2.0.0.pdf
    -webide-representation: '{number:dec}'
    seq:
      - id: groups
        type: u1
        repeat: until
        repeat-until: (_ & 0x80) == 0 or _io.eof
        doc: The bytes.
    instances:
      number:
        value: |
          ((groups[0] & 0x7f).as<s8>
            + (groups.size > 1
              ? ((groups[1] & 0x7f).as<s8> * 0x80).as<s8>
              : 0.as<s8>)
            + (groups.size > 2
              ? ((groups[2] & 0x7f).as<s8> * 0x4000).as<s8>
              : 0.as<s8>)
            + (groups.size > 3
              ? ((groups[3] & 0x7f).as<s8> * 0x200000).as<s8>
              : 0.as<s8>)).as<s8>
        doc: Value of the first four bytes, without sign.
  register_tables:
    doc: Places of PTX registers.
    doc-ref: https://docs.nvidia.com/cuda/parallel-thread-execution/
    seq:
      - id: functions
        type: register_table
        repeat: eos
        doc: One per function.
  register_table:
    doc: Places of the PTX registers of one function.
    doc-ref: https://docs.nvidia.com/cuda/parallel-thread-execution/
    -webide-representation: '{name:str}, {num_places:dec} places'
    seq:
      - id: name
        type: strz
        eos-error: false
        doc: Name of the function.
      - id: num_places
        type: u4
        doc: Number of places that follow.
      - id: places
        type: register_place
        repeat: expr
        repeat-expr: |
          num_places.as<s8> <= _io.size / 17
            ? num_places.as<s8>
            : (_io.size / 17).as<s8>
        doc: One per register and range of code.
  register_place:
    doc: Where a PTX register is in a range of the code.
    doc-ref: https://docs.nvidia.com/cuda/parallel-thread-execution/
    -webide-representation: '{ptx_register:str} in {location}'
    seq:
      - id: part
        type: u4
        doc: |
          Which 32 bits of the PTX register are meant: 0 the low half or all
          of it, 1 the high half.
      - id: ptx_register
        type: strz
        eos-error: false
        doc: Name of the PTX register, such as `%rd4`.
      - id: location
        type: register_location
        doc: Register that holds it.
      - id: ofs_start
        type: u4
        doc: Byte offset in the code where the place becomes valid.
      - id: ofs_end
        type: u4
        doc: Byte offset in the code where the place stops to be valid.
  register_location:
    doc: A register of the machine.
    doc-ref: https://docs.nvidia.com/cuda/parallel-thread-execution/
    -webide-representation: '{number:dec} {register_class}'
    seq:
      - id: number
        type: b24
        doc: Number of the register.
      - id: register_class
        type: b8
        enum: register_classes
        doc: File the register belongs to.
  register_type_tables:
    doc: Types of PTX registers.
    doc-ref: https://docs.nvidia.com/cuda/parallel-thread-execution/
    seq:
      - id: functions
        type: register_type_table
        repeat: eos
        doc: One per function, in the order of `register_tables`.
  register_type_table:
    doc: Types of the PTX registers of one function.
    doc-ref: https://docs.nvidia.com/cuda/parallel-thread-execution/
    -webide-representation: '{name:str}, {num_types:dec} types'
    seq:
      - id: name
        type: strz
        eos-error: false
        doc: Name of the function.
      - id: num_types
        type: u4
        doc: Number of types that follow.
      - id: types
        type: u1
        enum: register_types
        repeat: expr
        repeat-expr: |
          num_types.as<s8> <= _io.size
            ? num_types.as<s8>
            : _io.size.as<s8>
        doc: Type of the register of each place in `register_tables`.
  unknown_content:
    doc: A debug section of another name.
    doc-ref: https://docs.nvidia.com/cuda/parallel-thread-execution/
    seq:
      - id: data
        size-eos: true
        -opaque: debug
        doc: The bytes.
enums:
  extended_codes:
    1:
      id: end_sequence
      -orig-id: DW_LNE_end_sequence
      doc: Ends the rows of a function.
    2:
      id: set_address
      -orig-id: DW_LNE_set_address
      doc: Sets the address; a relocation names the function.
    3:
      id: define_file
      -orig-id: DW_LNE_define_file
      doc: Adds a file to the list; not seen in a file.
    0x90:
      id: inlined_call
      -orig-id: DW_LNE_NVIDIA_inlined_call
      doc: The rows that follow are of a function that is inlined.
    0x91:
      id: set_function_name
      -orig-id: DW_LNE_NVIDIA_set_function_name
      doc: Name of the function; documented, not seen in a file.
    0x92:
      id: mercury_mark
      -orig-id: DW_LNE_MERCURY_MARK
      doc: A mark that only the Mercury copies of the section have.
  register_classes:
    1:
      id: condition
      -orig-id: DEBUG_REGISTER_CONDITION
      doc: C0; in `.debug_frame` only.
    2:
      id: predicate
      -orig-id: DEBUG_REGISTER_PREDICATE
      doc: P0 to P6.
    5:
      id: general
      -orig-id: DEBUG_REGISTER_GENERAL
      doc: R0 to R254.
    9:
      id: uniform_predicate
      -orig-id: DEBUG_REGISTER_UNIFORM_PREDICATE
      doc: UP0 to UP6.
    11:
      id: uniform
      -orig-id: DEBUG_REGISTER_UNIFORM
      doc: UR0 and up.
  register_types:
    0:
      id: b8
      -orig-id: .b8
      doc: Untyped, 8 bits.
    1:
      id: b16
      -orig-id: .b16
      doc: Untyped, 16 bits.
    2:
      id: b32
      -orig-id: .b32
      doc: Untyped, 32 bits.
    3:
      id: b64
      -orig-id: .b64
      doc: Untyped, 64 bits.
    4:
      id: u8
      -orig-id: .u8
      doc: Unsigned integer of 8 bits.
    5:
      id: u16
      -orig-id: .u16
      doc: Unsigned integer of 16 bits.
    6:
      id: u32
      -orig-id: .u32
      doc: Unsigned integer of 32 bits.
    7:
      id: u64
      -orig-id: .u64
      doc: Unsigned integer of 64 bits.
    8:
      id: s8
      -orig-id: .s8
      doc: Signed integer of 8 bits.
    9:
      id: s16
      -orig-id: .s16
      doc: Signed integer of 16 bits.
    10:
      id: s32
      -orig-id: .s32
      doc: Signed integer of 32 bits.
    11:
      id: s64
      -orig-id: .s64
      doc: Signed integer of 64 bits.
    12:
      id: f16
      -orig-id: .f16
      doc: Floating point, 16 bits.
    13:
      id: f16x2
      -orig-id: .f16x2
      doc: Two halves of 16 bits in a register of 32 bits.
    14:
      id: f32
      -orig-id: .f32
      doc: Floating point, 32 bits.
    15:
      id: f64
      -orig-id: .f64
      doc: Floating point, 64 bits.
    16:
      id: pred
      -orig-id: .pred
      doc: A predicate of PTX.
