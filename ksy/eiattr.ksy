meta:
  id: eiattr
  title: Attribute sections of a CUDA device binary
  application: NVIDIA CUDA
  file-extension:
    - cubin
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
  Sections `.nv.info` (attributes of the module), `.nv.info.<function>` (of one
  function) and their Mercury copies `.nv.merc.nv.info*`, section types
  0x70000000 and 0x70000083: a run of records, each with a format, a code and
  a 16-bit word that is the value itself or the size of a payload.

  Symbol indices in payloads count in the symbol table that `sh_link` names.
  Instruction offsets are byte offsets in the code of the function; in the
  Mercury copies they are offsets in the Mercury code.

  A payload that is shorter than its layout demands is given as bytes in
  `short_payload`, one of unknown layout as `raw_payload`; bytes after a known
  layout stand in `trailing`.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
seq:
  - id: records
    type: info_record
    repeat: eos
    doc: In the order of the producer.
types:
  info_record:
    doc: One attribute.
    doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
    -webide-representation: '{code} {value:dec} {payload}'
    seq:
      - id: format
        type: u1
        enum: cuda_codes::eifmt
        doc: Where the value is.
      - id: code
        type: u1
        enum: cuda_codes::eiattr_code
        doc: Which attribute it is.
      - id: value
        type: u2
        doc: |
          The value of a BVAL (low byte) or HVAL record, 0 for NVAL, the size
          of the payload for SVAL.
      - id: payload
        size: value
        type:
          switch-on: code
          cases:
            # <generated: cases>
            cuda_codes::eiattr_code::eiattr_max_threads: dim3
            cuda_codes::eiattr_code::eiattr_reqntid: dim3
            cuda_codes::eiattr_code::eiattr_cta_per_cluster: dim3
            cuda_codes::eiattr_code::eiattr_kparam_info: kparam_info
            cuda_codes::eiattr_code::eiattr_kparam_info_v2: kparam_info_v2
            cuda_codes::eiattr_code::eiattr_param_cbank: param_cbank
            cuda_codes::eiattr_code::eiattr_frame_size: function_value
            cuda_codes::eiattr_code::eiattr_min_stack_size: function_value
            cuda_codes::eiattr_code::eiattr_max_stack_size: function_value
            cuda_codes::eiattr_code::eiattr_regcount: function_value
            cuda_codes::eiattr_code::eiattr_load_cache_request: function_value
            cuda_codes::eiattr_code::eiattr_sam_region_stack_size: function_value
            cuda_codes::eiattr_code::eiattr_image_slot: function_value
            cuda_codes::eiattr_code::eiattr_image_offset: function_value
            cuda_codes::eiattr_code::eiattr_texture_normalized: function_value
            cuda_codes::eiattr_code::eiattr_sampler_force_unnormalized: function_value
            cuda_codes::eiattr_code::eiattr_shared_scratch: shared_scratch
            cuda_codes::eiattr_code::eiattr_image_size: image_size
            cuda_codes::eiattr_code::eiattr_sampler_init: sampler_init
            cuda_codes::eiattr_code::eiattr_statistics: statistics
            cuda_codes::eiattr_code::eiattr_crs_stack_size: single_word
            cuda_codes::eiattr_code::eiattr_sw_war: single_word
            cuda_codes::eiattr_code::eiattr_cuda_api_version: single_word
            cuda_codes::eiattr_code::eiattr_max_cluster_rank: single_word
            cuda_codes::eiattr_code::eiattr_query_numattrib: query_numattrib
            cuda_codes::eiattr_code::eiattr_exit_instr_offsets: instruction_offsets
            cuda_codes::eiattr_code::eiattr_s2rctaid_instr_offsets: instruction_offsets
            cuda_codes::eiattr_code::eiattr_ld_cachemod_instr_offsets: instruction_offsets
            cuda_codes::eiattr_code::eiattr_atom_sys_instr_offsets: instruction_offsets
            cuda_codes::eiattr_code::eiattr_coop_group_instr_offsets: instruction_offsets
            cuda_codes::eiattr_code::eiattr_atomf16_emul_instr_offsets: instruction_offsets
            cuda_codes::eiattr_code::eiattr_int_warp_wide_instr_offsets: instruction_offsets
            cuda_codes::eiattr_code::eiattr_syscall_offsets: instruction_offsets
            cuda_codes::eiattr_code::eiattr_sw_war_membar_sys_instr_offsets: instruction_offsets
            cuda_codes::eiattr_code::eiattr_stack_canary_trap_offsets: instruction_offsets
            cuda_codes::eiattr_code::eiattr_local_cta_async_store_offsets: instruction_offsets
            cuda_codes::eiattr_code::eiattr_ignoreoob_cp_async_bulk_instr_offsets: instruction_offsets
            cuda_codes::eiattr_code::eiattr_externs: symbol_list
            cuda_codes::eiattr_code::eiattr_coop_group_mask_regids: coop_group_mask_list
            cuda_codes::eiattr_code::eiattr_atom16_emul_instr_reg_map: register_map
            cuda_codes::eiattr_code::eiattr_instr_reg_map: instruction_register_map
            cuda_codes::eiattr_code::eiattr_indirect_branch_targets: indirect_branches
            cuda_codes::eiattr_code::eiattr_mbarrier_instr_offsets: mbarrier_list
            cuda_codes::eiattr_code::eiattr_coroutine_resume_id_offsets: coroutine_list
            cuda_codes::eiattr_code::eiattr_per_reg_target_perf_stats: perf_stats_list
            cuda_codes::eiattr_code::eiattr_unused_load_byte_offset: unused_load_list
            cuda_codes::eiattr_code::eiattr_at_entry_fragments: fragment_list
            cuda_codes::eiattr_code::eiattr_annotations: annotation_list
            cuda_codes::eiattr_code::eiattr_mercury_finalizer_options: finalizer_options
            cuda_codes::eiattr_code::eiattr_language: language_list
            cuda_codes::eiattr_code::eiattr_instr_offsets: instruction_table
            cuda_codes::eiattr_code::eiattr_bindless_image_offsets: image_offset_table
            cuda_codes::eiattr_code::eiattr_syscalls_fallback: fallback_list
            # </generated>
            _: raw_payload
        if: |
          format == cuda_codes::eifmt::eifmt_sval
            and value.as<s8> >= len_layout
        doc: Value of an SVAL record.
      - id: short_payload
        size: value
        if: |
          format == cuda_codes::eifmt::eifmt_sval
            and value.as<s8> < len_layout
        -opaque: attribute payload
        doc: Value of an SVAL record that is too short for its code.
    instances:
      len_layout:
        # <generated: sizes>
        value: |
          code == cuda_codes::eiattr_code::eiattr_statistics
            ? 64.as<s8> :
          code == cuda_codes::eiattr_code::eiattr_image_size
            ? 16.as<s8> :
          code == cuda_codes::eiattr_code::eiattr_max_threads
            or code == cuda_codes::eiattr_code::eiattr_reqntid
            or code == cuda_codes::eiattr_code::eiattr_cta_per_cluster
            or code == cuda_codes::eiattr_code::eiattr_kparam_info
            or code == cuda_codes::eiattr_code::eiattr_kparam_info_v2
            ? 12.as<s8> :
          code == cuda_codes::eiattr_code::eiattr_param_cbank
            or code == cuda_codes::eiattr_code::eiattr_frame_size
            or code == cuda_codes::eiattr_code::eiattr_min_stack_size
            or code == cuda_codes::eiattr_code::eiattr_max_stack_size
            or code == cuda_codes::eiattr_code::eiattr_regcount
            or code == cuda_codes::eiattr_code::eiattr_load_cache_request
            or code == cuda_codes::eiattr_code::eiattr_sam_region_stack_size
            or code == cuda_codes::eiattr_code::eiattr_image_slot
            or code == cuda_codes::eiattr_code::eiattr_image_offset
            or code == cuda_codes::eiattr_code::eiattr_texture_normalized
            or code
              == cuda_codes::eiattr_code::eiattr_sampler_force_unnormalized
            or code == cuda_codes::eiattr_code::eiattr_shared_scratch
            or code == cuda_codes::eiattr_code::eiattr_sampler_init
            ? 8.as<s8> :
          code == cuda_codes::eiattr_code::eiattr_crs_stack_size
            or code == cuda_codes::eiattr_code::eiattr_sw_war
            or code == cuda_codes::eiattr_code::eiattr_cuda_api_version
            or code == cuda_codes::eiattr_code::eiattr_max_cluster_rank
            or code == cuda_codes::eiattr_code::eiattr_query_numattrib
            or code == cuda_codes::eiattr_code::eiattr_instr_offsets
            or code == cuda_codes::eiattr_code::eiattr_bindless_image_offsets
            ? 4.as<s8> :
          0.as<s8>
        # </generated>
        -webide-parse-mode: lazy
        doc: Least size of a payload of this code, 0 when any will do.
  # <generated: types>
  dim3:
    doc: Sizes in three dimensions.
    doc-ref: ksy/tables/eiattr.yaml, payload dim3
    -webide-representation: '{x:dec} {y:dec} {z:dec}'
    seq:
      - id: x
        type: u4
        doc: First dimension.
      - id: y
        type: u4
        doc: Second dimension.
      - id: z
        type: u4
        doc: Third dimension.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Empty in files seen.
  kparam_info:
    -orig-id: EIATTR_KPARAM_INFO
    doc: |
      One kernel parameter. The records of a kernel stand in descending order of
      `ordinal`.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_KPARAM_INFO
    -webide-representation: '{index:dec} {ordinal:dec} {offset:dec}'
    seq:
      - id: index
        type: u4
        doc: Symbol of a reference to a texture, sampler or surface; else 0.
      - id: ordinal
        type: u2
        doc: Position in the parameter list, from 0.
      - id: offset
        type: u2
        doc: Byte offset in the parameter block, 0xffff for such a reference.
      - id: bits
        type: kparam_bits
        doc: Size and place.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Empty in files seen.
  kparam_bits:
    doc: Size and place of a kernel parameter.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_KPARAM_INFO
    -webide-representation: '{log_alignment:dec} {space:dec}'
    seq:
      - id: log_alignment
        type: b8
        doc: Power of two of an alignment; 0 in files seen.
      - id: space
        type: b4
        doc: |
          Memory space; 6 to 8 for a reference to a texture, surface or sampler.
      - id: constant_bank
        type: b5
        doc: Constant bank, 31 in files seen.
      - id: is_shared
        -orig-id: is_smem
        type: b1
        doc: True when the parameter lies in shared memory.
      - id: len_parameter
        -orig-id: size
        type: b14
        doc: Size in bytes.
  kparam_info_v2:
    -orig-id: EIATTR_KPARAM_INFO_V2
    doc: One kernel parameter in the form for sizes above 16383 bytes.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_KPARAM_INFO_V2
    -webide-representation: '{index:dec} {ordinal:dec} {offset:dec}'
    seq:
      - id: index
        type: u4
        doc: 0 in files seen.
      - id: ordinal
        type: u2
        doc: Position in the parameter list, from 0.
      - id: offset
        type: u2
        doc: Byte offset in the parameter block.
      - id: bits
        type: kparam_bits_v2
        doc: Size and place.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Empty in files seen.
  kparam_bits_v2:
    doc: Size and place of a kernel parameter, second form.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_KPARAM_INFO_V2
    -webide-representation: '{len_parameter:dec} {log_alignment:dec}'
    seq:
      - id: len_parameter
        -orig-id: size
        type: b16
        doc: Size in bytes.
      - id: log_alignment
        type: b8
        doc: Power of two of an alignment.
      - id: space
        type: b4
        doc: Memory space.
      - id: unknown
        type: b4
        doc: Not printed by cuobjdump.
  param_cbank:
    -orig-id: EIATTR_PARAM_CBANK
    doc: Where the parameters of a kernel are in its constant bank.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_PARAM_CBANK
    -webide-representation: '{section_symbol:dec} {ofs_parameters:dec}'
    seq:
      - id: section_symbol
        type: u4
        doc: Section symbol of `.nv.constant0.<kernel>`.
      - id: ofs_parameters
        type: u2
        doc: Offset of the parameter block in the bank, 0x160 on sm_75.
      - id: len_parameters
        type: u2
        doc: Size of the parameter block.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Empty in files seen.
  function_value:
    doc: |
      A number that belongs to one symbol: a function, or a texture, surface or
      sampler.
    doc-ref: ksy/tables/eiattr.yaml, payload function_value
    -webide-representation: '{symbol:dec} {number:dec}'
    seq:
      - id: symbol
        type: u4
        doc: Index of the symbol.
      - id: number
        type: u4
        doc: Registers, bytes, a slot or a flag, as the code says.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Empty in files seen.
  shared_scratch:
    -orig-id: EIATTR_SHARED_SCRATCH
    doc: Scratch window in shared memory.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_SHARED_SCRATCH
    -webide-representation: '{ofs_window:dec} {len_window:dec}'
    seq:
      - id: ofs_window
        type: u4
        doc: Start of the window.
      - id: len_window
        type: u4
        doc: Size of the window in bytes.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Empty in files seen.
  image_size:
    -orig-id: EIATTR_IMAGE_SIZE
    doc: Size of a texture or surface that its declaration gives.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_IMAGE_SIZE
    -webide-representation: '{image:dec} {width:dec} {height:dec}'
    seq:
      - id: image
        type: u4
        doc: Index of the symbol of the texture or surface.
      - id: width
        type: u4
        doc: Width in elements.
      - id: height
        type: u4
        doc: Height in elements.
      - id: depth
        type: u4
        doc: Depth in elements.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Empty in files seen.
  sampler_init:
    -orig-id: EIATTR_SAMPLER_INIT
    doc: State of a sampler that its declaration gives.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_SAMPLER_INIT
    -webide-representation: '{sampler:dec} {addr_mode_0} {addr_mode_1}'
    seq:
      - id: sampler
        type: u4
        doc: Index of the symbol of the sampler.
      - id: addr_mode_0
        type: u1
        enum: cuda_codes::sampler_addr_mode
        doc: What happens outside the texture in the first dimension.
      - id: addr_mode_1
        type: u1
        enum: cuda_codes::sampler_addr_mode
        doc: The same in the second dimension.
      - id: addr_mode_2
        type: u1
        enum: cuda_codes::sampler_addr_mode
        doc: The same in the third dimension.
      - id: filter_mode
        type: u1
        enum: cuda_codes::sampler_filter_mode
        doc: How values between elements are made.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Empty in files seen.
  statistics:
    -orig-id: EIATTR_STATISTICS
    doc: Numbers of the compiler about a function, as cuobjdump prints them.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_STATISTICS
    -webide-representation: '{num_instructions:dec} {num_loops:dec}'
    seq:
      - id: num_instructions
        type: u4
        doc: Instructions.
      - id: num_loops
        type: u4
        doc: Loops.
      - id: num_uniform_branches
        type: u4
        doc: Branches that all threads of a warp take alike.
      - id: num_divergent_branches
        type: u4
        doc: Branches that threads of a warp may take differently.
      - id: len_local_spill
        type: u4
        doc: Bytes of local memory for spilled registers.
      - id: num_local_loads
        type: u4
        doc: Loads from local memory.
      - id: num_local_stores
        type: u4
        doc: Stores to local memory.
      - id: num_global_loads
        type: u4
        doc: Loads from global memory.
      - id: num_global_stores
        type: u4
        doc: Stores to global memory.
      - id: num_texture_reads
        type: u4
        doc: Texture reads.
      - id: num_surface_reads
        type: u4
        doc: Surface reads.
      - id: num_surface_writes
        type: u4
        doc: Surface writes.
      - id: word_13
        type: u4
        doc: Not printed.
      - id: num_shared_loads
        type: u4
        doc: Loads from shared memory.
      - id: num_shared_stores
        type: u4
        doc: Stores to shared memory.
      - id: len_frame_spill
        type: u4
        doc: Bytes of the frame for spilled registers.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the sixteen words.
  single_word:
    doc: A payload of one word.
    doc-ref: ksy/tables/eiattr.yaml, payload single_word
    -webide-representation: '{number:dec}'
    seq:
      - id: number
        type: u4
        doc: |
          Bytes, a set of bits, or ten times the major plus the minor version of
          the toolkit, as the code says.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Empty in files seen.
  query_numattrib:
    -orig-id: EIATTR_QUERY_NUMATTRIB
    doc: Numbers of query attributes, as cuobjdump prints them.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_QUERY_NUMATTRIB
    -webide-representation: '{num_tex_unified:dec} {num_tex_independent:dec}'
    seq:
      - id: num_tex_unified
        type: u1
        doc: For textures in unified mode.
      - id: num_tex_independent
        type: u1
        doc: For textures in independent mode.
      - id: num_sampler_independent
        type: u1
        doc: For samplers in independent mode.
      - id: num_surface
        type: u1
        doc: For surfaces.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Empty in files seen.
  instruction_offsets:
    doc: Places of instructions of one kind in the code of the function.
    doc-ref: ksy/tables/eiattr.yaml, payload instruction_offsets
    seq:
      - id: offsets
        type: u4
        repeat: expr
        repeat-expr: _io.size.as<s8> / 4
        doc: Byte offset of each instruction.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole word; empty in files seen.
  symbol_list:
    doc: Functions the code refers to.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_EXTERNS
    seq:
      - id: symbols
        type: u4
        repeat: expr
        repeat-expr: _io.size.as<s8> / 4
        doc: Index of the symbol of each function.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole word; empty in files seen.
  coop_group_mask_list:
    -orig-id: EIATTR_COOP_GROUP_MASK_REGIDS
    doc: Mask of each instruction that EIATTR_COOP_GROUP_INSTR_OFFSETS lists.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_COOP_GROUP_MASK_REGIDS
    seq:
      - id: masks
        type: coop_group_mask
        repeat: expr
        repeat-expr: _io.size.as<s8> / 4
        doc: One per instruction; all bits set when there is no register.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole word; empty in files seen.
  coop_group_mask:
    doc: Register that holds the mask of threads of one instruction.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_COOP_GROUP_MASK_REGIDS
    -webide-representation: '{register_number:dec} {register_class:dec}'
    seq:
      - id: register_number
        type: b24
        doc: Number of the register.
      - id: register_class
        type: b8
        doc: |
          File the register belongs to, as in `nv_debug`: 5 for a general
          register.
  register_map:
    doc: Registers used by instructions.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_ATOM16_EMUL_INSTR_REG_MAP
    seq:
      - id: entries
        type: register_map_entry
        repeat: expr
        repeat-expr: _io.size.as<s8> / 8
        doc: One entry per instruction.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole entry; empty in files seen.
  register_map_entry:
    doc: Register used by one instruction.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_ATOM16_EMUL_INSTR_REG_MAP
    -webide-representation: '{ofs_instruction:dec} {register_number:dec}'
    seq:
      - id: ofs_instruction
        type: u4
        doc: Byte offset of the instruction.
      - id: register_number
        type: u2
        doc: Number of the register.
      - id: reserved
        type: u2
        doc: 0 in files seen.
  instruction_register_map:
    -orig-id: EIATTR_INSTR_REG_MAP
    doc: Registers used by instructions, with more about them.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_INSTR_REG_MAP
    seq:
      - id: entries
        type: instruction_register
        repeat: expr
        repeat-expr: _io.size.as<s8> / 12
        doc: One entry per instruction.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole entry; empty in files seen.
  instruction_register:
    doc: Register used by one instruction.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_INSTR_REG_MAP
    -webide-representation: '{ofs_instruction:dec} {kind:dec}'
    seq:
      - id: ofs_instruction
        type: u4
        doc: Byte offset of the instruction.
      - id: kind
        type: u1
        doc: 2 in files seen.
      - id: unknown_1
        type: u1
        doc: 2 in files seen.
      - id: register_number
        type: u2
        doc: Number of the register.
      - id: unknown_2
        type: u4
        doc: All bits set in files seen.
  indirect_branches:
    -orig-id: EIATTR_INDIRECT_BRANCH_TARGETS
    doc: Targets of the indirect branches of a function.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_INDIRECT_BRANCH_TARGETS
    seq:
      - id: branches
        type: indirect_branch
        repeat: eos
        doc: One entry per branch.
  indirect_branch:
    doc: Targets of one indirect branch.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_INDIRECT_BRANCH_TARGETS
    -webide-representation: '{ofs_branch:dec} {kind} {num_targets:dec}'
    seq:
      - id: ofs_branch
        type: u4
        doc: Byte offset of the branch instruction.
      - id: kind
        type: u2
        enum: cuda_codes::indirect_branch_kind
        doc: Whether the instruction is a branch or a call.
      - id: reserved
        type: u2
        doc: 0 in files seen.
      - id: num_targets
        type: u4
        doc: Number of targets.
      - id: targets
        type: u4
        repeat: expr
        repeat-expr: |
          num_targets.as<s8> <= _io.size.as<s8> / 4
            ? num_targets.as<s8>
            : (_io.size.as<s8> / 4).as<s8>
        doc: Byte offset of each target.
  mbarrier_list:
    -orig-id: EIATTR_MBARRIER_INSTR_OFFSETS
    doc: Instructions that work on mbarriers.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_MBARRIER_INSTR_OFFSETS
    seq:
      - id: entries
        type: mbarrier_entry
        repeat: expr
        repeat-expr: _io.size.as<s8> / 16
        doc: One entry per instruction.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole entry; empty in files seen.
  mbarrier_entry:
    doc: One instruction that works on an mbarrier.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_MBARRIER_INSTR_OFFSETS
    -webide-representation: '{ofs_instruction:dec} {address_register:dec}'
    seq:
      - id: ofs_instruction
        type: u4
        doc: Byte offset of the instruction.
      - id: address_register
        type: u4
        doc: Register with the address of the mbarrier, 255 for none.
      - id: immediate_offset
        type: u4
        doc: Constant that is added to the register.
      - id: operation
        type: mbarrier_operation
        doc: What the instruction does.
      - id: unknown
        type: u1
        doc: 1 in files seen.
      - id: uniform_register
        type: u1
        doc: Uniform register that is added, 255 for none.
      - id: reserved
        type: u1
        doc: 0 in files seen.
  mbarrier_operation:
    doc: Kind of an mbarrier instruction, and how far mbarriers are apart.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_MBARRIER_INSTR_OFFSETS
    -webide-representation: '{kind} {stride}'
    seq:
      - id: kind
        type: b4
        enum: cuda_codes::mbarrier_instr_kind
        doc: What the instruction does.
      - id: stride
        type: b2
        enum: cuda_codes::mbarrier_stride
        doc: Distance between mbarriers.
      - id: reserved
        type: b2
        doc: 0 in files seen.
  coroutine_list:
    -orig-id: EIATTR_COROUTINE_RESUME_ID_OFFSETS
    doc: Resume points of a coroutine.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_COROUTINE_RESUME_ID_OFFSETS
    seq:
      - id: entries
        type: coroutine_entry
        repeat: expr
        repeat-expr: _io.size.as<s8> / 8
        doc: One entry per resume point.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole entry.
  coroutine_entry:
    doc: One resume point, a pair as cuobjdump prints it.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_COROUTINE_RESUME_ID_OFFSETS
    -webide-representation: '{resume_id:dec} {ofs_instruction:dec}'
    seq:
      - id: resume_id
        type: u4
        doc: Number of the resume point.
      - id: ofs_instruction
        type: u4
        doc: Byte offset where the function goes on.
  perf_stats_list:
    -orig-id: EIATTR_PER_REG_TARGET_PERF_STATS
    doc: Estimates of the compiler for numbers of registers.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_PER_REG_TARGET_PERF_STATS
    seq:
      - id: entries
        type: perf_stats_entry
        repeat: expr
        repeat-expr: _io.size.as<s8> / 16
        doc: One entry per number of registers.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole entry.
  perf_stats_entry:
    doc: Estimate for one number of registers, as cuobjdump prints it.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_PER_REG_TARGET_PERF_STATS
    -webide-representation: '{num_registers:dec} {statistic:dec}'
    seq:
      - id: num_registers
        type: u4
        doc: Number of registers.
      - id: padding
        type: u4
        doc: Filler.
      - id: statistic
        type: f8
        doc: Estimate.
  unused_load_list:
    -orig-id: EIATTR_UNUSED_LOAD_BYTE_OFFSET
    doc: Loads of which not all bytes are used.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_UNUSED_LOAD_BYTE_OFFSET
    seq:
      - id: entries
        type: unused_load_entry
        repeat: expr
        repeat-expr: _io.size.as<s8> / 8
        doc: One entry per load.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole entry; empty in files seen.
  unused_load_entry:
    doc: One load instruction.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_UNUSED_LOAD_BYTE_OFFSET
    -webide-representation: '{ofs_instruction:dec} {used_bytes:dec}'
    seq:
      - id: ofs_instruction
        type: u4
        doc: Byte offset of the instruction.
      - id: used_bytes
        type: u4
        doc: One bit per loaded byte, set for a byte that is used.
  fragment_list:
    -orig-id: EIATTR_AT_ENTRY_FRAGMENTS
    doc: Code fragments that the driver runs when the kernel starts.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_AT_ENTRY_FRAGMENTS
    seq:
      - id: fragments
        type: u4
        enum: cuda_codes::entry_fragment
        repeat: expr
        repeat-expr: _io.size.as<s8> / 4
        doc: The fragments in order.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole word; empty in files seen.
  annotation_list:
    -orig-id: EIATTR_ANNOTATIONS
    doc: Notes of the compiler about instructions.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_ANNOTATIONS
    seq:
      - id: annotations
        type: annotation
        repeat: eos
        doc: One after the other.
  annotation:
    doc: One note.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_ANNOTATIONS
    -webide-representation: '{kind} {ofs_instruction:dec} {len_text:dec}'
    seq:
      - id: kind
        type: u4
        enum: cuda_codes::annotation_kind
        doc: What the note is about.
      - id: ofs_instruction
        type: u4
        if: kind != cuda_codes::annotation_kind::annotation_kind_function_info
        doc: Byte offset of the instruction.
      - id: len_text
        type: u4
        if: has_text
        doc: Size of the text without padding.
      - id: text
        size: |
          len_text.as<s8> <= _io.size.as<s8> - _io.pos.as<s8>
            ? len_text.as<s8>
            : (_io.size.as<s8> - _io.pos.as<s8>).as<s8>
        type: strz
        eos-error: false
        if: has_text
        doc: What the compiler says.
      - id: text_padding
        size: |
          (4 - _io.pos.as<s8> % 4) % 4 <= _io.size.as<s8> - _io.pos.as<s8>
            ? ((4 - _io.pos.as<s8> % 4) % 4).as<s8>
            : (_io.size.as<s8> - _io.pos.as<s8>).as<s8>
        if: has_text
        -opaque: padding
        doc: Zeros up to a multiple of 4.
    instances:
      has_text:
        value: |
          kind == cuda_codes::annotation_kind::annotation_kind_instruction_info
            or kind
              == cuda_codes::annotation_kind::annotation_kind_function_info
        -webide-parse-mode: lazy
        doc: True for the kinds that carry a text.
  finalizer_options:
    -orig-id: EIATTR_MERCURY_FINALIZER_OPTIONS
    doc: Options for the finalizer of Mercury code, in scrambled form.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_MERCURY_FINALIZER_OPTIONS
    seq:
      - id: data
        size-eos: true
        -opaque: finalizer options
        doc: 32 to 68 bytes.
  language_list:
    -orig-id: EIATTR_LANGUAGE
    doc: Languages the code was written in.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_LANGUAGE
    seq:
      - id: languages
        type: u4
        enum: cuda_codes::source_language
        repeat: expr
        repeat-expr: _io.size.as<s8> / 4
        doc: One word in files seen.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole word; empty in files seen.
  instruction_table:
    -orig-id: EIATTR_INSTR_OFFSETS
    doc: Places of instructions of a kind that the payload names.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_INSTR_OFFSETS
    -webide-representation: '{kind}'
    seq:
      - id: kind
        type: u4
        enum: cuda_codes::instr_offsets_kind
        doc: Which instructions are meant.
      - id: offsets
        type: u4
        repeat: expr
        repeat-expr: (_io.size.as<s8> - 4) / 4
        doc: Byte offset of each instruction.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole word.
  image_offset_table:
    -orig-id: EIATTR_BINDLESS_IMAGE_OFFSETS
    doc: Places where the handle of a texture or surface is used.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_BINDLESS_IMAGE_OFFSETS
    -webide-representation: '{image:dec}'
    seq:
      - id: image
        type: u4
        doc: Index of the symbol of the texture or surface.
      - id: offsets
        type: u4
        repeat: expr
        repeat-expr: (_io.size.as<s8> - 4) / 4
        doc: Offset of each place.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole word.
  fallback_list:
    -orig-id: EIATTR_SYSCALLS_FALLBACK
    doc: System calls with the functions that stand in for them.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_SYSCALLS_FALLBACK
    seq:
      - id: entries
        type: fallback_entry
        repeat: expr
        repeat-expr: _io.size.as<s8> / 8
        doc: One per system call.
      - id: trailing
        size-eos: true
        -opaque: attribute payload
        doc: Bytes after the last whole entry.
  fallback_entry:
    doc: One system call.
    doc-ref: ksy/tables/eiattr.yaml, EIATTR_SYSCALLS_FALLBACK
    -webide-representation: '{syscall:dec} {fallback:dec}'
    seq:
      - id: syscall
        type: u4
        doc: Index of the symbol of the system call.
      - id: fallback
        type: u4
        doc: Index of the symbol of the function that stands in for it.
  # </generated>
  raw_payload:
    doc: A payload whose layout is not known.
    doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
    seq:
      - id: data
        size-eos: true
        -opaque: attribute payload
        doc: The bytes.
