# Generated from ksy/tables/*.yaml (sha256 205c90ea 3dabf7af df434f4b ae1d5bae c9b82fa4 68533842 77088efa 8a038bc4 4585f83f 88e4f395 8849c534 6e2ddde3) by tools.gen; do not edit.
meta:
  id: cuda_codes
  title: Codes of NVIDIA CUDA device binaries
  application: NVIDIA CUDA
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: 0.9
  endian: le
doc: |
  The numbers that cubins use, with the names that NVIDIA's tools print for
  them, or names made here where the tools print none. Other specs import this
  file for its enums; it describes no bytes of its own. A number without a
  name here is valid and simply not known.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
enums:
  eifmt:
    1:
      id: eifmt_nval
      -orig-id: EIFMT_NVAL
      doc: |
        No value, the u2 is 0.
    2:
      id: eifmt_bval
      -orig-id: EIFMT_BVAL
      doc: |
        One byte, the low byte of the u2.
    3:
      id: eifmt_hval
      -orig-id: EIFMT_HVAL
      doc: |
        Two bytes, the u2 itself.
    4:
      id: eifmt_sval
      -orig-id: EIFMT_SVAL
      doc: |
        The u2 is the size of the payload that follows.
  eiattr_code:
    0:
      id: eiattr_error
      -orig-id: EIATTR_ERROR
      doc: |
        Error sentinel, never emitted.
    1:
      id: eiattr_pad
      -orig-id: EIATTR_PAD
      doc: |
        Padding record.
    2:
      id: eiattr_image_slot
      -orig-id: EIATTR_IMAGE_SLOT
      doc: |
        Texture/surface slot binding (old).
    3:
      id: eiattr_jumptable_relocs
      -orig-id: EIATTR_JUMPTABLE_RELOCS
      doc: |
        Jump-table relocation list.
    4:
      id: eiattr_ctaidz_used
      -orig-id: EIATTR_CTAIDZ_USED
      doc: |
        Kernel reads ctaid.z.
    5:
      id: eiattr_max_threads
      -orig-id: EIATTR_MAX_THREADS
      doc: |
        Launch bound (.maxntid).
    6:
      id: eiattr_image_offset
      -orig-id: EIATTR_IMAGE_OFFSET
      doc: |
        Offset of an image descriptor.
    7:
      id: eiattr_image_size
      -orig-id: EIATTR_IMAGE_SIZE
      doc: |
        Size of an image descriptor.
    8:
      id: eiattr_texture_normalized
      -orig-id: EIATTR_TEXTURE_NORMALIZED
      doc: |
        Normalised coordinates flag.
    9:
      id: eiattr_sampler_init
      -orig-id: EIATTR_SAMPLER_INIT
      doc: |
        Initial state of a .samplerref.
    0xa:
      id: eiattr_param_cbank
      -orig-id: EIATTR_PARAM_CBANK
      doc: |
        Where kernel parameters sit in the constant bank.
    0xb:
      id: eiattr_smem_param_offsets
      -orig-id: EIATTR_SMEM_PARAM_OFFSETS
      doc: |
        Per-parameter shared memory offsets.
    0xc:
      id: eiattr_cbank_param_offsets
      -orig-id: EIATTR_CBANK_PARAM_OFFSETS
      doc: |
        Per-parameter constant bank offsets.
    0xd:
      id: eiattr_sync_stack
      -orig-id: EIATTR_SYNC_STACK
      doc: |
        Sync stack use.
    0xe:
      id: eiattr_texid_sampid_map
      -orig-id: EIATTR_TEXID_SAMPID_MAP
      doc: |
        Texture id / sampler id pairing.
    0xf:
      id: eiattr_externs
      -orig-id: EIATTR_EXTERNS
      doc: |
        External functions the code needs (e.g. vprintf, malloc).
    0x10:
      id: eiattr_reqntid
      -orig-id: EIATTR_REQNTID
      doc: |
        Required block shape (.reqntid).
    0x11:
      id: eiattr_frame_size
      -orig-id: EIATTR_FRAME_SIZE
      doc: |
        Local frame bytes of one function.
    0x12:
      id: eiattr_min_stack_size
      -orig-id: EIATTR_MIN_STACK_SIZE
      doc: |
        Minimum stack of a function after call-graph walk.
    0x13:
      id: eiattr_sampler_force_unnormalized
      -orig-id: EIATTR_SAMPLER_FORCE_UNNORMALIZED
      doc: |
        The sampler takes unnormalised coordinates.
    0x14:
      id: eiattr_bindless_image_offsets
      -orig-id: EIATTR_BINDLESS_IMAGE_OFFSETS
      doc: |
        Bindless descriptor offsets.
    0x15:
      id: eiattr_bindless_texture_bank
      -orig-id: EIATTR_BINDLESS_TEXTURE_BANK
      doc: |
        Constant bank of bindless textures.
    0x16:
      id: eiattr_bindless_surface_bank
      -orig-id: EIATTR_BINDLESS_SURFACE_BANK
      doc: |
        Constant bank of bindless surfaces.
    0x17:
      id: eiattr_kparam_info
      -orig-id: EIATTR_KPARAM_INFO
      doc: |
        One kernel parameter.
    0x18:
      id: eiattr_smem_param_size
      -orig-id: EIATTR_SMEM_PARAM_SIZE
      doc: |
        Bytes of parameters kept in shared memory.
    0x19:
      id: eiattr_cbank_param_size
      -orig-id: EIATTR_CBANK_PARAM_SIZE
      doc: |
        Bytes of parameters in the constant bank.
    0x1a:
      id: eiattr_query_numattrib
      -orig-id: EIATTR_QUERY_NUMATTRIB
      doc: |
        Attribute counts of query descriptors.
    0x1b:
      id: eiattr_maxreg_count
      -orig-id: EIATTR_MAXREG_COUNT
      doc: |
        Register cap (-maxrregcount, .maxnreg).
    0x1c:
      id: eiattr_exit_instr_offsets
      -orig-id: EIATTR_EXIT_INSTR_OFFSETS
      doc: |
        EXIT instructions.
    0x1d:
      id: eiattr_s2rctaid_instr_offsets
      -orig-id: EIATTR_S2RCTAID_INSTR_OFFSETS
      doc: |
        Reads of the ctaid special registers.
    0x1e:
      id: eiattr_crs_stack_size
      -orig-id: EIATTR_CRS_STACK_SIZE
      doc: |
        Call/return stack bytes.
    0x1f:
      id: eiattr_need_cnp_wrapper
      -orig-id: EIATTR_NEED_CNP_WRAPPER
      doc: |
        Needs device-side-launch wrapper.
    0x20:
      id: eiattr_need_cnp_patch
      -orig-id: EIATTR_NEED_CNP_PATCH
      doc: |
        Needs device-side-launch patch.
    0x21:
      id: eiattr_explicit_caching
      -orig-id: EIATTR_EXPLICIT_CACHING
      doc: |
        Explicit caching used.
    0x22:
      id: eiattr_istypep_used
      -orig-id: EIATTR_ISTYPEP_USED
      doc: |
        Istypep instruction in use.
    0x23:
      id: eiattr_max_stack_size
      -orig-id: EIATTR_MAX_STACK_SIZE
      doc: |
        Stack bound of a function before linking.
    0x24:
      id: eiattr_suq_used
      -orig-id: EIATTR_SUQ_USED
      doc: |
        Surface query used.
    0x25:
      id: eiattr_ld_cachemod_instr_offsets
      -orig-id: EIATTR_LD_CACHEMOD_INSTR_OFFSETS
      doc: |
        Loads with a cache modifier (sm_35 and sm_37).
    0x26:
      id: eiattr_load_cache_request
      -orig-id: EIATTR_LOAD_CACHE_REQUEST
      doc: |
        Cache request on or off for a function.
    0x27:
      id: eiattr_atom_sys_instr_offsets
      -orig-id: EIATTR_ATOM_SYS_INSTR_OFFSETS
      doc: |
        System-scope atomics.
    0x28:
      id: eiattr_coop_group_instr_offsets
      -orig-id: EIATTR_COOP_GROUP_INSTR_OFFSETS
      doc: |
        Warp-sync (cooperative group) instructions.
    0x29:
      id: eiattr_coop_group_mask_regids
      -orig-id: EIATTR_COOP_GROUP_MASK_REGIDS
      doc: |
        Mask register for each entry of 0x28.
    0x2a:
      id: eiattr_sw1850030_war
      -orig-id: EIATTR_SW1850030_WAR
      doc: |
        Work-around for bug 1850030.
    0x2b:
      id: eiattr_wmma_used
      -orig-id: EIATTR_WMMA_USED
      doc: |
        Kernel uses warp matrix instructions.
    0x2c:
      id: eiattr_has_pre_v10_object
      -orig-id: EIATTR_HAS_PRE_V10_OBJECT
      doc: |
        Contains an object built before CUDA 10.
    0x2d:
      id: eiattr_atomf16_emul_instr_offsets
      -orig-id: EIATTR_ATOMF16_EMUL_INSTR_OFFSETS
      doc: |
        Emulated fp16 atomics.
    0x2e:
      id: eiattr_atom16_emul_instr_reg_map
      -orig-id: EIATTR_ATOM16_EMUL_INSTR_REG_MAP
      doc: |
        Register used by each emulated 16-bit atomic.
    0x2f:
      id: eiattr_regcount
      -orig-id: EIATTR_REGCOUNT
      doc: |
        Registers per thread of a function.
    0x30:
      id: eiattr_sw2393858_war
      -orig-id: EIATTR_SW2393858_WAR
      doc: |
        Work-around for bug 2393858.
    0x31:
      id: eiattr_int_warp_wide_instr_offsets
      -orig-id: EIATTR_INT_WARP_WIDE_INSTR_OFFSETS
      doc: |
        Warp-wide integer instructions.
    0x32:
      id: eiattr_shared_scratch
      -orig-id: EIATTR_SHARED_SCRATCH
      doc: |
        Shared memory scratch window.
    0x33:
      id: eiattr_statistics
      -orig-id: EIATTR_STATISTICS
      doc: |
        Compile statistics.
    0x34:
      id: eiattr_indirect_branch_targets
      -orig-id: EIATTR_INDIRECT_BRANCH_TARGETS
      doc: |
        Targets of each indirect branch.
    0x35:
      id: eiattr_sw2861232_war
      -orig-id: EIATTR_SW2861232_WAR
      doc: |
        Work-around for bug 2861232.
    0x36:
      id: eiattr_sw_war
      -orig-id: EIATTR_SW_WAR
      doc: |
        Bit set of software work-arounds.
    0x37:
      id: eiattr_cuda_api_version
      -orig-id: EIATTR_CUDA_API_VERSION
      doc: |
        CUDA toolkit version (0x82 = 13.0).
    0x38:
      id: eiattr_num_mbarriers
      -orig-id: EIATTR_NUM_MBARRIERS
      doc: |
        Number of mbarrier objects.
    0x39:
      id: eiattr_mbarrier_instr_offsets
      -orig-id: EIATTR_MBARRIER_INSTR_OFFSETS
      doc: |
        Mbarrier instructions.
    0x3a:
      id: eiattr_coroutine_resume_id_offsets
      -orig-id: EIATTR_COROUTINE_RESUME_ID_OFFSETS
      doc: |
        Coroutine resume points.
    0x3b:
      id: eiattr_sam_region_stack_size
      -orig-id: EIATTR_SAM_REGION_STACK_SIZE
      doc: |
        SAM region stack.
    0x3c:
      id: eiattr_per_reg_target_perf_stats
      -orig-id: EIATTR_PER_REG_TARGET_PERF_STATS
      doc: |
        Performance estimate per register target.
    0x3d:
      id: eiattr_cta_per_cluster
      -orig-id: EIATTR_CTA_PER_CLUSTER
      doc: |
        Blocks per cluster.
    0x3e:
      id: eiattr_explicit_cluster
      -orig-id: EIATTR_EXPLICIT_CLUSTER
      doc: |
        Cluster shape given explicitly.
    0x3f:
      id: eiattr_max_cluster_rank
      -orig-id: EIATTR_MAX_CLUSTER_RANK
      doc: |
        Largest number of blocks of a cluster (.maxclusterrank).
    0x40:
      id: eiattr_instr_reg_map
      -orig-id: EIATTR_INSTR_REG_MAP
      doc: |
        Register that certain instructions work with.
    0x41:
      id: eiattr_reserved_smem_used
      -orig-id: EIATTR_RESERVED_SMEM_USED
      doc: |
        Reserved shared memory in use.
    0x42:
      id: eiattr_reserved_smem_0_size
      -orig-id: EIATTR_RESERVED_SMEM_0_SIZE
      doc: |
        Size of reserved region 0.
    0x43:
      id: eiattr_ucode_section_data
      -orig-id: EIATTR_UCODE_SECTION_DATA
      doc: |
        Microcode section data.
    0x44:
      id: eiattr_unused_load_byte_offset
      -orig-id: EIATTR_UNUSED_LOAD_BYTE_OFFSET
      doc: |
        Vector loads of which some bytes are not used.
    0x45:
      id: eiattr_kparam_info_v2
      -orig-id: EIATTR_KPARAM_INFO_V2
      doc: |
        One kernel parameter, second form.
    0x46:
      id: eiattr_syscall_offsets
      -orig-id: EIATTR_SYSCALL_OFFSETS
      doc: |
        Device system calls.
    0x47:
      id: eiattr_sw_war_membar_sys_instr_offsets
      -orig-id: EIATTR_SW_WAR_MEMBAR_SYS_INSTR_OFFSETS
      doc: |
        MEMBAR.SYS work-around sites.
    0x48:
      id: eiattr_graphics_global_cbank
      -orig-id: EIATTR_GRAPHICS_GLOBAL_CBANK
      doc: |
        Graphics global constant bank.
    0x49:
      id: eiattr_shader_type
      -orig-id: EIATTR_SHADER_TYPE
      doc: |
        Shader stage.
    0x4a:
      id: eiattr_vrc_cta_init_count
      -orig-id: EIATTR_VRC_CTA_INIT_COUNT
      doc: |
        Initial count of virtual resources of a block.
    0x4b:
      id: eiattr_tools_patch_func
      -orig-id: EIATTR_TOOLS_PATCH_FUNC
      doc: |
        Compiled as a patch for CUDA tools (ptxas --compile-as-tools-patch).
    0x4c:
      id: eiattr_num_barriers
      -orig-id: EIATTR_NUM_BARRIERS
      doc: |
        Number of named barriers.
    0x4d:
      id: eiattr_texmode_independent
      -orig-id: EIATTR_TEXMODE_INDEPENDENT
      doc: |
        Compiled with .target texmode_independent.
    0x4e:
      id: eiattr_perf_statistics
      -orig-id: EIATTR_PERF_STATISTICS
      doc: |
        Performance statistics.
    0x4f:
      id: eiattr_at_entry_fragments
      -orig-id: EIATTR_AT_ENTRY_FRAGMENTS
      doc: |
        Code fragments needed at kernel entry.
    0x50:
      id: eiattr_sparse_mma_mask
      -orig-id: EIATTR_SPARSE_MMA_MASK
      doc: |
        Which sparse matrix variants are used.
    0x51:
      id: eiattr_tcgen05_1cta_used
      -orig-id: EIATTR_TCGEN05_1CTA_USED
      doc: |
        Tcgen05 in one-CTA mode.
    0x52:
      id: eiattr_tcgen05_2cta_used
      -orig-id: EIATTR_TCGEN05_2CTA_USED
      doc: |
        Tcgen05 in two-CTA mode.
    0x53:
      id: eiattr_gen_errbar_at_exit
      -orig-id: EIATTR_GEN_ERRBAR_AT_EXIT
      doc: |
        Errors are made visible at exit (-g, ptxas
        --make-errors-visible-at-exit).
    0x54:
      id: eiattr_reg_reconfig
      -orig-id: EIATTR_REG_RECONFIG
      doc: |
        Setmaxnreg in use.
    0x55:
      id: eiattr_annotations
      -orig-id: EIATTR_ANNOTATIONS
      doc: |
        Compiler annotations: spills, instructions, functions.
    0x56:
      id: eiattr_unknown
      -orig-id: EIATTR_UNKNOWN
      doc: |
        No attribute in CUDA 13.
    0x57:
      id: eiattr_stack_canary_trap_offsets
      -orig-id: EIATTR_STACK_CANARY_TRAP_OFFSETS
      doc: |
        Traps of the stack protector (ptxas --device-stack-protector).
    0x58:
      id: eiattr_stub_function_kind
      -orig-id: EIATTR_STUB_FUNCTION_KIND
      doc: |
        Kind of stub function.
    0x59:
      id: eiattr_local_cta_async_store_offsets
      -orig-id: EIATTR_LOCAL_CTA_ASYNC_STORE_OFFSETS
      doc: |
        CTA-local async stores.
    0x5a:
      id: eiattr_mercury_finalizer_options
      -orig-id: EIATTR_MERCURY_FINALIZER_OPTIONS
      doc: |
        Finalizer options of the capsule.
    0x5b:
      id: eiattr_blocks_are_clusters
      -orig-id: EIATTR_BLOCKS_ARE_CLUSTERS
      doc: |
        Grid is given in clusters (.blocksareclusters).
    0x5c:
      id: eiattr_sanitize
      -orig-id: EIATTR_SANITIZE
      doc: |
        Instrumented by ptxas --sanitize.
    0x5d:
      id: eiattr_syscalls_fallback
      -orig-id: EIATTR_SYSCALLS_FALLBACK
      doc: |
        Functions to use in place of system calls.
    0x5e:
      id: eiattr_cuda_req
      -orig-id: EIATTR_CUDA_REQ
      doc: |
        CUDA requirement.
    0x5f:
      id: eiattr_mercury_isa_version
      -orig-id: EIATTR_MERCURY_ISA_VERSION
      doc: |
        Mercury ISA version (0x0101).
    0x60:
      id: eiattr_error_last
      -orig-id: EIATTR_ERROR_LAST
      doc: |
        Last-code sentinel of 13.0.
    0x61:
      id: eiattr_rtcore_entry
      -orig-id: EIATTR_RTCORE_ENTRY
      doc: |
        Ray-tracing entry.
    0x62:
      id: eiattr_cluster_launch_control_used
      -orig-id: EIATTR_CLUSTER_LAUNCH_CONTROL_USED
      doc: |
        Cluster launch control used.
    0x64:
      id: eiattr_min_per_cta_memory_size
      -orig-id: EIATTR_MIN_PER_CTA_MEMORY_SIZE
      doc: |
        Minimum per-CTA memory.
    0x65:
      id: eiattr_ignoreoob_cp_async_bulk_instr_offsets
      -orig-id: EIATTR_IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS
      doc: |
        Bulk-copy instructions that ignore out-of-bounds.
    0x66:
      id: eiattr_language
      -orig-id: EIATTR_LANGUAGE
      doc: |
        Source language.
    0x67:
      id: eiattr_unnamed_67
      -orig-id: EIATTR_UNNAMED_67
      doc: |
        Value 0 on every function of sm_107.
    0x68:
      id: eiattr_grid_attributes
      -orig-id: EIATTR_GRID_ATTRIBUTES
      doc: |
        Grid attributes.
    0x69:
      id: eiattr_stack_offset
      -orig-id: EIATTR_STACK_OFFSET
      doc: |
        Stack offset.
    0x6a:
      id: eiattr_rt_livestate_sass_map
      -orig-id: EIATTR_RT_LIVESTATE_SASS_MAP
      doc: |
        Ray-tracing live state map.
    0x6b:
      id: eiattr_nvsal_sw_war
      -orig-id: EIATTR_NVSAL_SW_WAR
      doc: |
        Work-around bits for NVSAL.
    0x6c:
      id: eiattr_instr_offsets
      -orig-id: EIATTR_INSTR_OFFSETS
      doc: |
        Generic instruction offset table.
    0x6d:
      id: eiattr_preexit_used
      -orig-id: EIATTR_PREEXIT_USED
      doc: |
        Pre-exit used.
  compat_code:
    0:
      id: eicompat_attr_error
      -orig-id: EICOMPAT_ATTR_ERROR
      doc: |
        Error mark, never written.
    1:
      id: eicompat_attr_pad
      -orig-id: EICOMPAT_ATTR_PAD
      doc: |
        Padding.
    2:
      id: eicompat_attr_isa_class
      -orig-id: EICOMPAT_ATTR_ISA_CLASS
      doc: |
        Class of the instruction set.
    3:
      id: eicompat_attr_inst_tensormap_v1
      -orig-id: EICOMPAT_ATTR_INST_TENSORMAP_V1
      doc: |
        Tensor map instructions of version 1 in use.
    4:
      id: eicompat_attr_inst_tcgen05_mma_deprecated
      -orig-id: EICOMPAT_ATTR_INST_TCGEN05_MMA_DEPRECATED
      doc: |
        Tcgen05.mma use, old form.
    5:
      id: eicompat_attr_inst_tcgen05_mma
      -orig-id: EICOMPAT_ATTR_INST_TCGEN05_MMA
      doc: |
        Tcgen05.mma use.
    6:
      id: eicompat_attr_enable_opportunistic_finalization
      -orig-id: EICOMPAT_ATTR_ENABLE_OPPORTUNISTIC_FINALIZATION
      doc: |
        Opportunistic finalisation is allowed.
    7:
      id: eicompat_attr_mercury_isa_major_minor_version
      -orig-id: EICOMPAT_ATTR_MERCURY_ISA_MAJOR_MINOR_VERSION
      doc: |
        Mercury instruction set version.
    8:
      id: eicompat_attr_mercury_isa_patch_version
      -orig-id: EICOMPAT_ATTR_MERCURY_ISA_PATCH_VERSION
      doc: |
        Mercury instruction set patch version.
    9:
      id: eicompat_attr_cuda_accelerator_target
      -orig-id: EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET
      doc: |
        1 for architecture-specific (a) code, 0 for plain and family-specific
        (f) code.
    0xa:
      id: eicompat_attr_cuda_driver_version
      -orig-id: EICOMPAT_ATTR_CUDA_DRIVER_VERSION
      doc: |
        Driver version.
    0xb:
      id: eicompat_attr_can_fastpath_finalize
      -orig-id: EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE
      doc: |
        Bit set for the fast path of the finaliser.
    0xc:
      id: eicompat_attr_cuda_internal_target
      -orig-id: EICOMPAT_ATTR_CUDA_INTERNAL_TARGET
      doc: |
        Internal target.
    0xd:
      id: eicompat_attr_unnamed_13
      -orig-id: EICOMPAT_ATTR_UNNAMED_13
      doc: |
        A version, 1.3 for sm_107 and 1.1 for others.
    0xe:
      id: eicompat_attr_finalizer_version
      -orig-id: EICOMPAT_ATTR_FINALIZER_VERSION
      doc: |
        Finaliser version.
    0xf:
      id: eicompat_attr_min_finalizer_version_for_mvc
      -orig-id: EICOMPAT_ATTR_MIN_FINALIZER_VERSION_FOR_MVC
      doc: |
        Smallest finaliser version.
    0x10:
      id: eicompat_attr_error_last
      -orig-id: EICOMPAT_ATTR_ERROR_LAST
      doc: |
        End mark of CUDA 13.5.
  relocation_type:
    0:
      id: r_cuda_none
      -orig-id: R_CUDA_NONE
      doc: |
        Changes nothing.
    1:
      id: r_cuda_32
      -orig-id: R_CUDA_32
      doc: |
        Bits 0 to 31 get abs.
    2:
      id: r_cuda_64
      -orig-id: R_CUDA_64
      doc: |
        Bits 0 to 63 get abs.
    3:
      id: r_cuda_g32
      -orig-id: R_CUDA_G32
      doc: |
        Bits 0 to 31 get global_generic.
    4:
      id: r_cuda_g64
      -orig-id: R_CUDA_G64
      doc: |
        Bits 0 to 63 get global_generic.
    5:
      id: r_cuda_abs32_26
      -orig-id: R_CUDA_ABS32_26
      doc: |
        Bits 26 to 57 get abs.
    6:
      id: r_cuda_tex_header_index
      -orig-id: R_CUDA_TEX_HEADER_INDEX
      doc: |
        Bits 0 to 19 get header_index.
    7:
      id: r_cuda_samp_header_index
      -orig-id: R_CUDA_SAMP_HEADER_INDEX
      doc: |
        Bits 20 to 31 get header_index.
    8:
      id: r_cuda_surf_hw_desc
      -orig-id: R_CUDA_SURF_HW_DESC
      doc: |
        Bits 0 to 31 get surface_hw_desc.
    9:
      id: r_cuda_surf_hw_sw_desc
      -orig-id: R_CUDA_SURF_HW_SW_DESC
      doc: |
        Bits 0 to 31 get surface_hw_sw_desc.
    0xa:
      id: r_cuda_abs32_lo_26
      -orig-id: R_CUDA_ABS32_LO_26
      doc: |
        Bits 26 to 57 get abs.
    0xb:
      id: r_cuda_abs32_hi_26
      -orig-id: R_CUDA_ABS32_HI_26
      doc: |
        Bits 26 to 57 get abs shifted right by 32.
    0xc:
      id: r_cuda_abs32_23
      -orig-id: R_CUDA_ABS32_23
      doc: |
        Bits 23 to 54 get abs.
    0xd:
      id: r_cuda_abs32_lo_23
      -orig-id: R_CUDA_ABS32_LO_23
      doc: |
        Bits 23 to 54 get abs.
    0xe:
      id: r_cuda_abs32_hi_23
      -orig-id: R_CUDA_ABS32_HI_23
      doc: |
        Bits 23 to 54 get abs shifted right by 32.
    0xf:
      id: r_cuda_abs24_26
      -orig-id: R_CUDA_ABS24_26
      doc: |
        Bits 26 to 49 get abs.
    0x10:
      id: r_cuda_abs24_23
      -orig-id: R_CUDA_ABS24_23
      doc: |
        Bits 23 to 46 get abs.
    0x11:
      id: r_cuda_abs16_26
      -orig-id: R_CUDA_ABS16_26
      doc: |
        Bits 26 to 41 get abs.
    0x12:
      id: r_cuda_abs16_23
      -orig-id: R_CUDA_ABS16_23
      doc: |
        Bits 23 to 38 get abs.
    0x13:
      id: r_cuda_tex_slot
      -orig-id: R_CUDA_TEX_SLOT
      doc: |
        Bits 32 to 39 get abs.
    0x14:
      id: r_cuda_samp_slot
      -orig-id: R_CUDA_SAMP_SLOT
      doc: |
        Bits 40 to 44 get abs.
    0x15:
      id: r_cuda_surf_slot
      -orig-id: R_CUDA_SURF_SLOT
      doc: |
        Bits 26 to 31 get abs.
    0x16:
      id: r_cuda_tex_bindlessoff13_32
      -orig-id: R_CUDA_TEX_BINDLESSOFF13_32
      doc: |
        Bits 32 to 44 get abs shifted right by 2.
    0x17:
      id: r_cuda_tex_bindlessoff13_47
      -orig-id: R_CUDA_TEX_BINDLESSOFF13_47
      doc: |
        Bits 47 to 59 get abs shifted right by 2.
    0x18:
      id: r_cuda_const_field19_28
      -orig-id: R_CUDA_CONST_FIELD19_28
      doc: |
        Bits 28 to 41 get abs shifted right by 2; bits 42 to 45 get const_bank;
        bits 26 to 26 get const_bank shifted right by 4.
    0x19:
      id: r_cuda_const_field19_23
      -orig-id: R_CUDA_CONST_FIELD19_23
      doc: |
        Bits 23 to 36 get abs shifted right by 2; bits 37 to 41 get const_bank.
    0x1a:
      id: r_cuda_tex_slot9_49
      -orig-id: R_CUDA_TEX_SLOT9_49
      doc: |
        Bits 49 to 57 get abs.
    0x1b:
      id: r_cuda_6_31
      -orig-id: R_CUDA_6_31
      doc: |
        Bits 31 to 36 get abs.
    0x1c:
      id: r_cuda_2_47
      -orig-id: R_CUDA_2_47
      doc: |
        Bits 47 to 48 get abs.
    0x1d:
      id: r_cuda_tex_bindlessoff13_41
      -orig-id: R_CUDA_TEX_BINDLESSOFF13_41
      doc: |
        Bits 41 to 53 get abs shifted right by 2.
    0x1e:
      id: r_cuda_tex_bindlessoff13_45
      -orig-id: R_CUDA_TEX_BINDLESSOFF13_45
      doc: |
        Bits 45 to 57 get abs shifted right by 2.
    0x1f:
      id: r_cuda_func_desc32_23
      -orig-id: R_CUDA_FUNC_DESC32_23
      doc: |
        Bits 23 to 54 get func_desc.
    0x20:
      id: r_cuda_func_desc32_lo_23
      -orig-id: R_CUDA_FUNC_DESC32_LO_23
      doc: |
        Bits 23 to 54 get func_desc.
    0x21:
      id: r_cuda_func_desc32_hi_23
      -orig-id: R_CUDA_FUNC_DESC32_HI_23
      doc: |
        Bits 23 to 54 get func_desc shifted right by 32.
    0x22:
      id: r_cuda_func_desc_32
      -orig-id: R_CUDA_FUNC_DESC_32
      doc: |
        Bits 0 to 31 get func_desc.
    0x23:
      id: r_cuda_func_desc_64
      -orig-id: R_CUDA_FUNC_DESC_64
      doc: |
        Bits 0 to 63 get func_desc.
    0x24:
      id: r_cuda_const_field21_26
      -orig-id: R_CUDA_CONST_FIELD21_26
      doc: |
        Bits 26 to 41 get abs; bits 42 to 46 get const_bank.
    0x25:
      id: r_cuda_query_desc21_37
      -orig-id: R_CUDA_QUERY_DESC21_37
      doc: |
        Bits 37 to 52 get abs; bits 53 to 57 get const_bank.
    0x26:
      id: r_cuda_const_field19_26
      -orig-id: R_CUDA_CONST_FIELD19_26
      doc: |
        Bits 26 to 39 get abs shifted right by 2; bits 40 to 44 get const_bank.
    0x27:
      id: r_cuda_const_field21_23
      -orig-id: R_CUDA_CONST_FIELD21_23
      doc: |
        Bits 23 to 38 get abs; bits 39 to 43 get const_bank.
    0x28:
      id: r_cuda_pcrel_imm24_26
      -orig-id: R_CUDA_PCREL_IMM24_26
      doc: |
        Bits 26 to 49 get pcrel.
    0x29:
      id: r_cuda_pcrel_imm24_23
      -orig-id: R_CUDA_PCREL_IMM24_23
      doc: |
        Bits 23 to 46 get pcrel.
    0x2a:
      id: r_cuda_abs32_20
      -orig-id: R_CUDA_ABS32_20
      doc: |
        Bits 20 to 51 get abs.
    0x2b:
      id: r_cuda_abs32_lo_20
      -orig-id: R_CUDA_ABS32_LO_20
      doc: |
        Bits 20 to 51 get abs.
    0x2c:
      id: r_cuda_abs32_hi_20
      -orig-id: R_CUDA_ABS32_HI_20
      doc: |
        Bits 20 to 51 get abs shifted right by 32.
    0x2d:
      id: r_cuda_abs24_20
      -orig-id: R_CUDA_ABS24_20
      doc: |
        Bits 20 to 43 get abs.
    0x2e:
      id: r_cuda_abs16_20
      -orig-id: R_CUDA_ABS16_20
      doc: |
        Bits 20 to 35 get abs.
    0x2f:
      id: r_cuda_func_desc32_20
      -orig-id: R_CUDA_FUNC_DESC32_20
      doc: |
        Bits 20 to 51 get func_desc.
    0x30:
      id: r_cuda_func_desc32_lo_20
      -orig-id: R_CUDA_FUNC_DESC32_LO_20
      doc: |
        Bits 20 to 51 get func_desc.
    0x31:
      id: r_cuda_func_desc32_hi_20
      -orig-id: R_CUDA_FUNC_DESC32_HI_20
      doc: |
        Bits 20 to 51 get func_desc shifted right by 32.
    0x32:
      id: r_cuda_const_field19_20
      -orig-id: R_CUDA_CONST_FIELD19_20
      doc: |
        Bits 20 to 33 get abs shifted right by 2; bits 34 to 38 get const_bank.
    0x33:
      id: r_cuda_bindlessoff13_36
      -orig-id: R_CUDA_BINDLESSOFF13_36
      doc: |
        Bits 36 to 48 get abs shifted right by 2.
    0x34:
      id: r_cuda_surf_header_index
      -orig-id: R_CUDA_SURF_HEADER_INDEX
      doc: |
        Bits 0 to 19 get header_index.
    0x35:
      id: r_cuda_instruction64
      -orig-id: R_CUDA_INSTRUCTION64
      doc: |
        Bits 0 to 63 get instruction.
    0x36:
      id: r_cuda_const_field21_20
      -orig-id: R_CUDA_CONST_FIELD21_20
      doc: |
        Bits 20 to 35 get abs; bits 36 to 40 get const_bank.
    0x37:
      id: r_cuda_abs32_32
      -orig-id: R_CUDA_ABS32_32
      doc: |
        Bits 32 to 63 get abs.
    0x38:
      id: r_cuda_abs32_lo_32
      -orig-id: R_CUDA_ABS32_LO_32
      doc: |
        Bits 32 to 63 get abs.
    0x39:
      id: r_cuda_abs32_hi_32
      -orig-id: R_CUDA_ABS32_HI_32
      doc: |
        Bits 32 to 63 get abs shifted right by 32.
    0x3a:
      id: r_cuda_abs47_34
      -orig-id: R_CUDA_ABS47_34
      doc: |
        Bits 34 to 80 get abs shifted right by 2.
    0x3b:
      id: r_cuda_abs16_32
      -orig-id: R_CUDA_ABS16_32
      doc: |
        Bits 32 to 47 get abs.
    0x3c:
      id: r_cuda_abs24_32
      -orig-id: R_CUDA_ABS24_32
      doc: |
        Bits 32 to 55 get abs.
    0x3d:
      id: r_cuda_func_desc32_32
      -orig-id: R_CUDA_FUNC_DESC32_32
      doc: |
        Bits 32 to 63 get func_desc.
    0x3e:
      id: r_cuda_func_desc32_lo_32
      -orig-id: R_CUDA_FUNC_DESC32_LO_32
      doc: |
        Bits 32 to 63 get func_desc.
    0x3f:
      id: r_cuda_func_desc32_hi_32
      -orig-id: R_CUDA_FUNC_DESC32_HI_32
      doc: |
        Bits 32 to 63 get func_desc shifted right by 32.
    0x40:
      id: r_cuda_const_field19_40
      -orig-id: R_CUDA_CONST_FIELD19_40
      doc: |
        Bits 40 to 53 get abs shifted right by 2; bits 54 to 58 get const_bank.
    0x41:
      id: r_cuda_bindlessoff14_40
      -orig-id: R_CUDA_BINDLESSOFF14_40
      doc: |
        Bits 40 to 53 get abs shifted right by 2.
    0x42:
      id: r_cuda_const_field21_38
      -orig-id: R_CUDA_CONST_FIELD21_38
      doc: |
        Bits 38 to 53 get abs; bits 54 to 58 get const_bank.
    0x43:
      id: r_cuda_instruction128
      -orig-id: R_CUDA_INSTRUCTION128
      doc: |
        Bits 0 to 127 get instruction.
    0x44:
      id: r_cuda_yield_opcode9_0
      -orig-id: R_CUDA_YIELD_OPCODE9_0
      doc: |
        Bits 0 to 8 get addend.
    0x45:
      id: r_cuda_yield_clear_pred4_87
      -orig-id: R_CUDA_YIELD_CLEAR_PRED4_87
      doc: |
        Bits 87 to 90 get zero.
    0x46:
      id: r_cuda_32_lo
      -orig-id: R_CUDA_32_LO
      doc: |
        Bits 0 to 31 get abs.
    0x47:
      id: r_cuda_32_hi
      -orig-id: R_CUDA_32_HI
      doc: |
        Bits 0 to 31 get abs shifted right by 32.
    0x48:
      id: r_cuda_unused_clear32
      -orig-id: R_CUDA_UNUSED_CLEAR32
      doc: |
        Bits 0 to 31 get zero.
    0x49:
      id: r_cuda_unused_clear64
      -orig-id: R_CUDA_UNUSED_CLEAR64
      doc: |
        Bits 0 to 63 get zero.
    0x4a:
      id: r_cuda_abs24_40
      -orig-id: R_CUDA_ABS24_40
      doc: |
        Bits 40 to 63 get abs.
    0x4b:
      id: r_cuda_abs55_16_34
      -orig-id: R_CUDA_ABS55_16_34
      doc: |
        Bits 16 to 23 get abs shifted right by 2; bits 34 to 80 get abs shifted
        right by 10.
    0x4c:
      id: r_cuda_8_0
      -orig-id: R_CUDA_8_0
      doc: |
        Bits 0 to 7 get abs.
    0x4d:
      id: r_cuda_8_8
      -orig-id: R_CUDA_8_8
      doc: |
        Bits 0 to 7 get abs shifted right by 8.
    0x4e:
      id: r_cuda_8_16
      -orig-id: R_CUDA_8_16
      doc: |
        Bits 0 to 7 get abs shifted right by 16.
    0x4f:
      id: r_cuda_8_24
      -orig-id: R_CUDA_8_24
      doc: |
        Bits 0 to 7 get abs shifted right by 24.
    0x50:
      id: r_cuda_8_32
      -orig-id: R_CUDA_8_32
      doc: |
        Bits 0 to 7 get abs shifted right by 32.
    0x51:
      id: r_cuda_8_40
      -orig-id: R_CUDA_8_40
      doc: |
        Bits 0 to 7 get abs shifted right by 40.
    0x52:
      id: r_cuda_8_48
      -orig-id: R_CUDA_8_48
      doc: |
        Bits 0 to 7 get abs shifted right by 48.
    0x53:
      id: r_cuda_8_56
      -orig-id: R_CUDA_8_56
      doc: |
        Bits 0 to 7 get abs shifted right by 56.
    0x54:
      id: r_cuda_g8_0
      -orig-id: R_CUDA_G8_0
      doc: |
        Bits 0 to 7 get global_generic.
    0x55:
      id: r_cuda_g8_8
      -orig-id: R_CUDA_G8_8
      doc: |
        Bits 0 to 7 get global_generic shifted right by 8.
    0x56:
      id: r_cuda_g8_16
      -orig-id: R_CUDA_G8_16
      doc: |
        Bits 0 to 7 get global_generic shifted right by 16.
    0x57:
      id: r_cuda_g8_24
      -orig-id: R_CUDA_G8_24
      doc: |
        Bits 0 to 7 get global_generic shifted right by 24.
    0x58:
      id: r_cuda_g8_32
      -orig-id: R_CUDA_G8_32
      doc: |
        Bits 0 to 7 get global_generic shifted right by 32.
    0x59:
      id: r_cuda_g8_40
      -orig-id: R_CUDA_G8_40
      doc: |
        Bits 0 to 7 get global_generic shifted right by 40.
    0x5a:
      id: r_cuda_g8_48
      -orig-id: R_CUDA_G8_48
      doc: |
        Bits 0 to 7 get global_generic shifted right by 48.
    0x5b:
      id: r_cuda_g8_56
      -orig-id: R_CUDA_G8_56
      doc: |
        Bits 0 to 7 get global_generic shifted right by 56.
    0x5c:
      id: r_cuda_func_desc_8_0
      -orig-id: R_CUDA_FUNC_DESC_8_0
      doc: |
        Bits 0 to 7 get func_desc.
    0x5d:
      id: r_cuda_func_desc_8_8
      -orig-id: R_CUDA_FUNC_DESC_8_8
      doc: |
        Bits 0 to 7 get func_desc shifted right by 8.
    0x5e:
      id: r_cuda_func_desc_8_16
      -orig-id: R_CUDA_FUNC_DESC_8_16
      doc: |
        Bits 0 to 7 get func_desc shifted right by 16.
    0x5f:
      id: r_cuda_func_desc_8_24
      -orig-id: R_CUDA_FUNC_DESC_8_24
      doc: |
        Bits 0 to 7 get func_desc shifted right by 24.
    0x60:
      id: r_cuda_func_desc_8_32
      -orig-id: R_CUDA_FUNC_DESC_8_32
      doc: |
        Bits 0 to 7 get func_desc shifted right by 32.
    0x61:
      id: r_cuda_func_desc_8_40
      -orig-id: R_CUDA_FUNC_DESC_8_40
      doc: |
        Bits 0 to 7 get func_desc shifted right by 40.
    0x62:
      id: r_cuda_func_desc_8_48
      -orig-id: R_CUDA_FUNC_DESC_8_48
      doc: |
        Bits 0 to 7 get func_desc shifted right by 48.
    0x63:
      id: r_cuda_func_desc_8_56
      -orig-id: R_CUDA_FUNC_DESC_8_56
      doc: |
        Bits 0 to 7 get func_desc shifted right by 56.
    0x64:
      id: r_cuda_abs20_44
      -orig-id: R_CUDA_ABS20_44
      doc: |
        Bits 44 to 63 get abs.
    0x65:
      id: r_cuda_samp_header_index_0
      -orig-id: R_CUDA_SAMP_HEADER_INDEX_0
      doc: |
        Bits 0 to 11 get header_index.
    0x66:
      id: r_cuda_unified
      -orig-id: R_CUDA_UNIFIED
      doc: |
        Bits 0 to 63 get unified.
    0x67:
      id: r_cuda_unified_32
      -orig-id: R_CUDA_UNIFIED_32
      doc: |
        Bits 0 to 31 get unified.
    0x68:
      id: r_cuda_unified_8_0
      -orig-id: R_CUDA_UNIFIED_8_0
      doc: |
        Bits 0 to 7 get unified.
    0x69:
      id: r_cuda_unified_8_8
      -orig-id: R_CUDA_UNIFIED_8_8
      doc: |
        Bits 0 to 7 get unified shifted right by 8.
    0x6a:
      id: r_cuda_unified_8_16
      -orig-id: R_CUDA_UNIFIED_8_16
      doc: |
        Bits 0 to 7 get unified shifted right by 16.
    0x6b:
      id: r_cuda_unified_8_24
      -orig-id: R_CUDA_UNIFIED_8_24
      doc: |
        Bits 0 to 7 get unified shifted right by 24.
    0x6c:
      id: r_cuda_unified_8_32
      -orig-id: R_CUDA_UNIFIED_8_32
      doc: |
        Bits 0 to 7 get unified shifted right by 32.
    0x6d:
      id: r_cuda_unified_8_40
      -orig-id: R_CUDA_UNIFIED_8_40
      doc: |
        Bits 0 to 7 get unified shifted right by 40.
    0x6e:
      id: r_cuda_unified_8_48
      -orig-id: R_CUDA_UNIFIED_8_48
      doc: |
        Bits 0 to 7 get unified shifted right by 48.
    0x6f:
      id: r_cuda_unified_8_56
      -orig-id: R_CUDA_UNIFIED_8_56
      doc: |
        Bits 0 to 7 get unified shifted right by 56.
    0x70:
      id: r_cuda_unified32_lo_32
      -orig-id: R_CUDA_UNIFIED32_LO_32
      doc: |
        Bits 32 to 63 get unified.
    0x71:
      id: r_cuda_unified32_hi_32
      -orig-id: R_CUDA_UNIFIED32_HI_32
      doc: |
        Bits 32 to 63 get unified shifted right by 32.
    0x72:
      id: r_cuda_abs56_16_34
      -orig-id: R_CUDA_ABS56_16_34
      doc: |
        Bits 16 to 23 get abs shifted right by 2; bits 34 to 81 get abs shifted
        right by 10.
    0x73:
      id: r_cuda_const_field22_37
      -orig-id: R_CUDA_CONST_FIELD22_37
      doc: |
        Bits 37 to 53 get abs; bits 54 to 58 get const_bank.
    0x74:
      id: r_cuda_none_last
      -orig-id: R_CUDA_NONE_LAST
      doc: |
        Changes nothing.
    0x10000:
      id: r_mercury_none
      -orig-id: R_MERCURY_NONE
      doc: |
        Changes nothing.
    0x10001:
      id: r_mercury_g64
      -orig-id: R_MERCURY_G64
      doc: |
        Bits 0 to 63 get global_generic.
    0x10002:
      id: r_mercury_abs64
      -orig-id: R_MERCURY_ABS64
      doc: |
        Bits 0 to 63 get abs.
    0x10003:
      id: r_mercury_abs32
      -orig-id: R_MERCURY_ABS32
      doc: |
        Bits 0 to 31 get abs.
    0x10004:
      id: r_mercury_abs16
      -orig-id: R_MERCURY_ABS16
      doc: |
        Bits 0 to 15 get abs.
    0x10005:
      id: r_mercury_abs32_lo
      -orig-id: R_MERCURY_ABS32_LO
      doc: |
        Bits 0 to 31 get abs.
    0x10006:
      id: r_mercury_abs32_hi
      -orig-id: R_MERCURY_ABS32_HI
      doc: |
        Bits 0 to 31 get abs shifted right by 32.
    0x10007:
      id: r_mercury_prog_rel64
      -orig-id: R_MERCURY_PROG_REL64
      doc: |
        Bits 0 to 63 get prog_rel.
    0x10008:
      id: r_mercury_prog_rel32
      -orig-id: R_MERCURY_PROG_REL32
      doc: |
        Bits 0 to 31 get prog_rel.
    0x10009:
      id: r_mercury_prog_rel32_lo
      -orig-id: R_MERCURY_PROG_REL32_LO
      doc: |
        Bits 0 to 31 get prog_rel.
    0x1000a:
      id: r_mercury_prog_rel32_hi
      -orig-id: R_MERCURY_PROG_REL32_HI
      doc: |
        Bits 0 to 31 get prog_rel shifted right by 32.
    0x1000b:
      id: r_mercury_tex_header_index
      -orig-id: R_MERCURY_TEX_HEADER_INDEX
      doc: |
        Bits 0 to 19 get header_index.
    0x1000c:
      id: r_mercury_samp_header_index
      -orig-id: R_MERCURY_SAMP_HEADER_INDEX
      doc: |
        Bits 20 to 31 get header_index.
    0x1000d:
      id: r_mercury_surf_header_index
      -orig-id: R_MERCURY_SURF_HEADER_INDEX
      doc: |
        Bits 0 to 19 get header_index.
    0x1000e:
      id: r_mercury_unused_clear64
      -orig-id: R_MERCURY_UNUSED_CLEAR64
      doc: |
        Bits 0 to 63 get zero.
    0x1000f:
      id: r_mercury_func_desc_64
      -orig-id: R_MERCURY_FUNC_DESC_64
      doc: |
        Bits 0 to 63 get func_desc.
    0x10010:
      id: r_mercury_8_0
      -orig-id: R_MERCURY_8_0
      doc: |
        Bits 0 to 7 get abs.
    0x10011:
      id: r_mercury_8_8
      -orig-id: R_MERCURY_8_8
      doc: |
        Bits 0 to 7 get abs shifted right by 8.
    0x10012:
      id: r_mercury_8_16
      -orig-id: R_MERCURY_8_16
      doc: |
        Bits 0 to 7 get abs shifted right by 16.
    0x10013:
      id: r_mercury_8_24
      -orig-id: R_MERCURY_8_24
      doc: |
        Bits 0 to 7 get abs shifted right by 24.
    0x10014:
      id: r_mercury_8_32
      -orig-id: R_MERCURY_8_32
      doc: |
        Bits 0 to 7 get abs shifted right by 32.
    0x10015:
      id: r_mercury_8_40
      -orig-id: R_MERCURY_8_40
      doc: |
        Bits 0 to 7 get abs shifted right by 40.
    0x10016:
      id: r_mercury_8_48
      -orig-id: R_MERCURY_8_48
      doc: |
        Bits 0 to 7 get abs shifted right by 48.
    0x10017:
      id: r_mercury_8_56
      -orig-id: R_MERCURY_8_56
      doc: |
        Bits 0 to 7 get abs shifted right by 56.
    0x10018:
      id: r_mercury_g8_0
      -orig-id: R_MERCURY_G8_0
      doc: |
        Bits 0 to 7 get global_generic.
    0x10019:
      id: r_mercury_g8_8
      -orig-id: R_MERCURY_G8_8
      doc: |
        Bits 0 to 7 get global_generic shifted right by 8.
    0x1001a:
      id: r_mercury_g8_16
      -orig-id: R_MERCURY_G8_16
      doc: |
        Bits 0 to 7 get global_generic shifted right by 16.
    0x1001b:
      id: r_mercury_g8_24
      -orig-id: R_MERCURY_G8_24
      doc: |
        Bits 0 to 7 get global_generic shifted right by 24.
    0x1001c:
      id: r_mercury_g8_32
      -orig-id: R_MERCURY_G8_32
      doc: |
        Bits 0 to 7 get global_generic shifted right by 32.
    0x1001d:
      id: r_mercury_g8_40
      -orig-id: R_MERCURY_G8_40
      doc: |
        Bits 0 to 7 get global_generic shifted right by 40.
    0x1001e:
      id: r_mercury_g8_48
      -orig-id: R_MERCURY_G8_48
      doc: |
        Bits 0 to 7 get global_generic shifted right by 48.
    0x1001f:
      id: r_mercury_g8_56
      -orig-id: R_MERCURY_G8_56
      doc: |
        Bits 0 to 7 get global_generic shifted right by 56.
    0x10020:
      id: r_mercury_func_desc_8_0
      -orig-id: R_MERCURY_FUNC_DESC_8_0
      doc: |
        Bits 0 to 7 get func_desc.
    0x10021:
      id: r_mercury_func_desc_8_8
      -orig-id: R_MERCURY_FUNC_DESC_8_8
      doc: |
        Bits 0 to 7 get func_desc shifted right by 8.
    0x10022:
      id: r_mercury_func_desc_8_16
      -orig-id: R_MERCURY_FUNC_DESC_8_16
      doc: |
        Bits 0 to 7 get func_desc shifted right by 16.
    0x10023:
      id: r_mercury_func_desc_8_24
      -orig-id: R_MERCURY_FUNC_DESC_8_24
      doc: |
        Bits 0 to 7 get func_desc shifted right by 24.
    0x10024:
      id: r_mercury_func_desc_8_32
      -orig-id: R_MERCURY_FUNC_DESC_8_32
      doc: |
        Bits 0 to 7 get func_desc shifted right by 32.
    0x10025:
      id: r_mercury_func_desc_8_40
      -orig-id: R_MERCURY_FUNC_DESC_8_40
      doc: |
        Bits 0 to 7 get func_desc shifted right by 40.
    0x10026:
      id: r_mercury_func_desc_8_48
      -orig-id: R_MERCURY_FUNC_DESC_8_48
      doc: |
        Bits 0 to 7 get func_desc shifted right by 48.
    0x10027:
      id: r_mercury_func_desc_8_56
      -orig-id: R_MERCURY_FUNC_DESC_8_56
      doc: |
        Bits 0 to 7 get func_desc shifted right by 56.
    0x10028:
      id: r_mercury_abs_prog_rel32_lo
      -orig-id: R_MERCURY_ABS_PROG_REL32_LO
      doc: |
        Bits 0 to 31 get abs_prog_rel.
    0x10029:
      id: r_mercury_abs_prog_rel32_hi
      -orig-id: R_MERCURY_ABS_PROG_REL32_HI
      doc: |
        Bits 0 to 31 get abs_prog_rel shifted right by 32.
    0x1002a:
      id: r_mercury_prog_rel8_0
      -orig-id: R_MERCURY_PROG_REL8_0
      doc: |
        Bits 0 to 7 get prog_rel.
    0x1002b:
      id: r_mercury_prog_rel8_8
      -orig-id: R_MERCURY_PROG_REL8_8
      doc: |
        Bits 0 to 7 get prog_rel shifted right by 8.
    0x1002c:
      id: r_mercury_prog_rel8_16
      -orig-id: R_MERCURY_PROG_REL8_16
      doc: |
        Bits 0 to 7 get prog_rel shifted right by 16.
    0x1002d:
      id: r_mercury_prog_rel8_24
      -orig-id: R_MERCURY_PROG_REL8_24
      doc: |
        Bits 0 to 7 get prog_rel shifted right by 24.
    0x1002e:
      id: r_mercury_prog_rel8_32
      -orig-id: R_MERCURY_PROG_REL8_32
      doc: |
        Bits 0 to 7 get prog_rel shifted right by 32.
    0x1002f:
      id: r_mercury_prog_rel8_40
      -orig-id: R_MERCURY_PROG_REL8_40
      doc: |
        Bits 0 to 7 get prog_rel shifted right by 40.
    0x10030:
      id: r_mercury_prog_rel8_48
      -orig-id: R_MERCURY_PROG_REL8_48
      doc: |
        Bits 0 to 7 get prog_rel shifted right by 48.
    0x10031:
      id: r_mercury_prog_rel8_56
      -orig-id: R_MERCURY_PROG_REL8_56
      doc: |
        Bits 0 to 7 get prog_rel shifted right by 56.
    0x10032:
      id: r_mercury_unified
      -orig-id: R_MERCURY_UNIFIED
      doc: |
        Bits 0 to 63 get unified.
    0x10033:
      id: r_mercury_unified_32
      -orig-id: R_MERCURY_UNIFIED_32
      doc: |
        Bits 0 to 31 get unified.
    0x10034:
      id: r_mercury_unified_8_0
      -orig-id: R_MERCURY_UNIFIED_8_0
      doc: |
        Bits 0 to 7 get unified.
    0x10035:
      id: r_mercury_unified_8_8
      -orig-id: R_MERCURY_UNIFIED_8_8
      doc: |
        Bits 0 to 7 get unified shifted right by 8.
    0x10036:
      id: r_mercury_unified_8_16
      -orig-id: R_MERCURY_UNIFIED_8_16
      doc: |
        Bits 0 to 7 get unified shifted right by 16.
    0x10037:
      id: r_mercury_unified_8_24
      -orig-id: R_MERCURY_UNIFIED_8_24
      doc: |
        Bits 0 to 7 get unified shifted right by 24.
    0x10038:
      id: r_mercury_unified_8_32
      -orig-id: R_MERCURY_UNIFIED_8_32
      doc: |
        Bits 0 to 7 get unified shifted right by 32.
    0x10039:
      id: r_mercury_unified_8_40
      -orig-id: R_MERCURY_UNIFIED_8_40
      doc: |
        Bits 0 to 7 get unified shifted right by 40.
    0x1003a:
      id: r_mercury_unified_8_48
      -orig-id: R_MERCURY_UNIFIED_8_48
      doc: |
        Bits 0 to 7 get unified shifted right by 48.
    0x1003b:
      id: r_mercury_unified_8_56
      -orig-id: R_MERCURY_UNIFIED_8_56
      doc: |
        Bits 0 to 7 get unified shifted right by 56.
    0x1003c:
      id: r_mercury_abs_prog_rel32
      -orig-id: R_MERCURY_ABS_PROG_REL32
      doc: |
        Bits 0 to 31 get abs_prog_rel.
    0x1003d:
      id: r_mercury_abs_prog_rel64
      -orig-id: R_MERCURY_ABS_PROG_REL64
      doc: |
        Bits 0 to 63 get abs_prog_rel.
    0x1003e:
      id: r_mercury_unified32_lo
      -orig-id: R_MERCURY_UNIFIED32_LO
      doc: |
        Bits 0 to 31 get unified.
    0x1003f:
      id: r_mercury_unified32_hi
      -orig-id: R_MERCURY_UNIFIED32_HI
      doc: |
        Bits 0 to 31 get unified shifted right by 32.
    0x10040:
      id: r_mercury_none_last
      -orig-id: R_MERCURY_NONE_LAST
      doc: |
        Changes nothing.
  section_type:
    0:
      id: sht_null
      -orig-id: SHT_NULL
      doc: |
        No section.
    1:
      id: sht_progbits
      -orig-id: SHT_PROGBITS
      doc: |
        Bytes.
    2:
      id: sht_symtab
      -orig-id: SHT_SYMTAB
      doc: |
        Symbol table.
    3:
      id: sht_strtab
      -orig-id: SHT_STRTAB
      doc: |
        String table.
    4:
      id: sht_rela
      -orig-id: SHT_RELA
      doc: |
        Relocations with addend.
    5:
      id: sht_hash
      -orig-id: SHT_HASH
      doc: |
        Symbol hash table.
    6:
      id: sht_dynamic
      -orig-id: SHT_DYNAMIC
      doc: |
        Dynamic linking.
    7:
      id: sht_note
      -orig-id: SHT_NOTE
      doc: |
        Notes.
    8:
      id: sht_nobits
      -orig-id: SHT_NOBITS
      doc: |
        No bytes in the file.
    9:
      id: sht_rel
      -orig-id: SHT_REL
      doc: |
        Relocations without addend.
    0xa:
      id: sht_shlib
      -orig-id: SHT_SHLIB
      doc: |
        Reserved.
    0xb:
      id: sht_dynsym
      -orig-id: SHT_DYNSYM
      doc: |
        Dynamic symbols.
    0xe:
      id: sht_init_array
      -orig-id: SHT_INIT_ARRAY
      doc: |
        Constructors.
    0xf:
      id: sht_fini_array
      -orig-id: SHT_FINI_ARRAY
      doc: |
        Destructors.
    0x10:
      id: sht_preinit_array
      -orig-id: SHT_PREINIT_ARRAY
      doc: |
        Early constructors.
    0x11:
      id: sht_group
      -orig-id: SHT_GROUP
      doc: |
        Section group.
    0x12:
      id: sht_symtab_shndx
      -orig-id: SHT_SYMTAB_SHNDX
      doc: |
        Section indices above 0xfeff of the symbol table.
    0x70000000:
      id: sht_cuda_info
      -orig-id: SHT_CUDA_INFO
      doc: |
        EIATTR records.
    0x70000001:
      id: sht_cuda_callgraph
      -orig-id: SHT_CUDA_CALLGRAPH
      doc: |
        Call edges.
    0x70000002:
      id: sht_cuda_prototype
      -orig-id: SHT_CUDA_PROTOTYPE
      doc: |
        Signatures of external functions.
    0x70000003:
      id: sht_cuda_resolved_rela
      -orig-id: SHT_CUDA_RESOLVED_RELA
      doc: |
        Relocations that were applied.
    0x70000004:
      id: sht_cuda_metadata
      -orig-id: SHT_CUDA_METADATA
      doc: |
        Module metadata.
    0x70000006:
      id: sht_cuda_constant
      -orig-id: SHT_CUDA_CONSTANT
      doc: |
        Constant bank named by the section name.
    0x70000007:
      id: sht_cuda_global
      -orig-id: SHT_CUDA_GLOBAL
      doc: |
        Zero-initialised global data.
    0x70000008:
      id: sht_cuda_global_init
      -orig-id: SHT_CUDA_GLOBAL_INIT
      doc: |
        Initialised global data.
    0x70000009:
      id: sht_cuda_local
      -orig-id: SHT_CUDA_LOCAL
      doc: |
        Local memory of a function.
    0x7000000a:
      id: sht_cuda_shared
      -orig-id: SHT_CUDA_SHARED
      doc: |
        Shared memory.
    0x7000000b:
      id: sht_cuda_relocinfo
      -orig-id: SHT_CUDA_RELOCINFO
      doc: |
        Relocation actions for older loaders.
    0x7000000c:
      id: sht_cuda_funcbody
      -orig-id: SHT_CUDA_FUNCBODY
      doc: |
        Function body wrapper.
    0x7000000d:
      id: sht_cuda_funcgroup
      -orig-id: SHT_CUDA_FUNCGROUP
      doc: |
        Function group.
    0x7000000e:
      id: sht_cuda_uft
      -orig-id: SHT_CUDA_UFT
      doc: |
        Slots of the unified function table.
    0x70000010:
      id: sht_cuda_uidx
      -orig-id: SHT_CUDA_UIDX
      doc: |
        Unified index.
    0x70000011:
      id: sht_cuda_uft_entry
      -orig-id: SHT_CUDA_UFT_ENTRY
      doc: |
        Entries of the unified function table.
    0x70000012:
      id: sht_cuda_udt
      -orig-id: SHT_CUDA_UDT
      doc: |
        Unified data table.
    0x70000014:
      id: sht_cuda_udt_entry
      -orig-id: SHT_CUDA_UDT_ENTRY
      doc: |
        Entries of the unified data table.
    0x70000015:
      id: sht_cuda_reserved_shared
      -orig-id: SHT_CUDA_RESERVED_SHARED
      doc: |
        Shared memory reserved for the driver.
    0x70000016:
      id: sht_cuda_capmerc
      -orig-id: SHT_CUDA_CAPMERC
      doc: |
        Mercury capsule of a function.
    0x70000064:
      id: sht_cuda_constant_b0
      -orig-id: SHT_CUDA_CONSTANT_B0
      doc: |
        Constant bank 0.
    0x70000065:
      id: sht_cuda_constant_b1
      -orig-id: SHT_CUDA_CONSTANT_B1
      doc: |
        Constant bank 1.
    0x70000066:
      id: sht_cuda_constant_b2
      -orig-id: SHT_CUDA_CONSTANT_B2
      doc: |
        Constant bank 2.
    0x70000067:
      id: sht_cuda_constant_b3
      -orig-id: SHT_CUDA_CONSTANT_B3
      doc: |
        Constant bank 3.
    0x70000068:
      id: sht_cuda_constant_b4
      -orig-id: SHT_CUDA_CONSTANT_B4
      doc: |
        Constant bank 4.
    0x70000069:
      id: sht_cuda_constant_b5
      -orig-id: SHT_CUDA_CONSTANT_B5
      doc: |
        Constant bank 5.
    0x7000006a:
      id: sht_cuda_constant_b6
      -orig-id: SHT_CUDA_CONSTANT_B6
      doc: |
        Constant bank 6.
    0x7000006b:
      id: sht_cuda_constant_b7
      -orig-id: SHT_CUDA_CONSTANT_B7
      doc: |
        Constant bank 7.
    0x7000006c:
      id: sht_cuda_constant_b8
      -orig-id: SHT_CUDA_CONSTANT_B8
      doc: |
        Constant bank 8.
    0x7000006d:
      id: sht_cuda_constant_b9
      -orig-id: SHT_CUDA_CONSTANT_B9
      doc: |
        Constant bank 9.
    0x7000006e:
      id: sht_cuda_constant_b10
      -orig-id: SHT_CUDA_CONSTANT_B10
      doc: |
        Constant bank 10.
    0x7000006f:
      id: sht_cuda_constant_b11
      -orig-id: SHT_CUDA_CONSTANT_B11
      doc: |
        Constant bank 11.
    0x70000070:
      id: sht_cuda_constant_b12
      -orig-id: SHT_CUDA_CONSTANT_B12
      doc: |
        Constant bank 12.
    0x70000071:
      id: sht_cuda_constant_b13
      -orig-id: SHT_CUDA_CONSTANT_B13
      doc: |
        Constant bank 13.
    0x70000072:
      id: sht_cuda_constant_b14
      -orig-id: SHT_CUDA_CONSTANT_B14
      doc: |
        Constant bank 14.
    0x70000073:
      id: sht_cuda_constant_b15
      -orig-id: SHT_CUDA_CONSTANT_B15
      doc: |
        Constant bank 15.
    0x70000074:
      id: sht_cuda_constant_b16
      -orig-id: SHT_CUDA_CONSTANT_B16
      doc: |
        Constant bank 16.
    0x70000075:
      id: sht_cuda_constant_b17
      -orig-id: SHT_CUDA_CONSTANT_B17
      doc: |
        Constant bank 17.
    0x70000078:
      id: sht_cuda_merc_constant_entry_params
      -orig-id: SHT_CUDA_MERC_CONSTANT_ENTRY_PARAMS
      doc: |
        Mercury parameter block.
    0x70000079:
      id: sht_cuda_merc_constant_image_indices
      -orig-id: SHT_CUDA_MERC_CONSTANT_IMAGE_INDICES
      doc: |
        Indices of the texture, sampler and surface headers that a kernel uses.
    0x7000007a:
      id: sht_cuda_merc_constant_driver
      -orig-id: SHT_CUDA_MERC_CONSTANT_DRIVER
      doc: |
        Mercury driver constants.
    0x7000007b:
      id: sht_cuda_merc_constant_optimizer_module
      -orig-id: SHT_CUDA_MERC_CONSTANT_OPTIMIZER_MODULE
      doc: |
        Mercury compiler constants of the module.
    0x7000007c:
      id: sht_cuda_merc_constant_user
      -orig-id: SHT_CUDA_MERC_CONSTANT_USER
      doc: |
        Mercury twin of user constants.
    0x7000007d:
      id: sht_cuda_merc_constant_pic
      -orig-id: SHT_CUDA_MERC_CONSTANT_PIC
      doc: |
        Mercury twin of address constants.
    0x7000007e:
      id: sht_cuda_merc_constant_tools_data
      -orig-id: SHT_CUDA_MERC_CONSTANT_TOOLS_DATA
      doc: |
        Mercury data of tools.
    0x70000082:
      id: sht_cuda_merc_rela
      -orig-id: SHT_CUDA_MERC_RELA
      doc: |
        Mercury relocations.
    0x70000083:
      id: sht_cuda_merc_info
      -orig-id: SHT_CUDA_MERC_INFO
      doc: |
        Mercury EIATTR records.
    0x70000084:
      id: sht_cuda_merc_constant_optimizer
      -orig-id: SHT_CUDA_MERC_CONSTANT_OPTIMIZER
      doc: |
        Mercury twin of compiler constants.
    0x70000085:
      id: sht_cuda_merc_symtab
      -orig-id: SHT_CUDA_MERC_SYMTAB
      doc: |
        Mercury symbol table.
    0x70000086:
      id: sht_cuda_compat_info
      -orig-id: SHT_CUDA_COMPAT_INFO
      doc: |
        Compatibility records.
    0x70000087:
      id: sht_cuda_embedded_host
      -orig-id: SHT_CUDA_EMBEDDED_HOST
      doc: |
        Data for the host.
    0x70000088:
      id: sht_cuda_merc_resolved_rela
      -orig-id: SHT_CUDA_MERC_RESOLVED_RELA
      doc: |
        Mercury relocations that were applied.
    0x70000089:
      id: sht_cuda_metadata_trace_mark
      -orig-id: SHT_CUDA_METADATA_TRACE_MARK
      doc: |
        Trace mark metadata.
    0x7000008a:
      id: sht_cuda_merc_callgraph
      -orig-id: SHT_CUDA_MERC_CALLGRAPH
      doc: |
        Mercury call edges.
    0x7000008b:
      id: sht_cuda_merc_prototype
      -orig-id: SHT_CUDA_MERC_PROTOTYPE
      doc: |
        Mercury signatures of external functions.
  metadata_format:
    1:
      id: emfmt_word
      -orig-id: EMFMT_WORD
      doc: |
        A number.
    2:
      id: emfmt_index
      -orig-id: EMFMT_INDEX
      doc: |
        A number, perhaps that of another node.
    3:
      id: emfmt_string
      -orig-id: EMFMT_STRING
      doc: |
        A text, as its offset in .strtab.
  st_type:
    0:
      id: stt_notype
      -orig-id: STT_NOTYPE
      doc: |
        None.
    1:
      id: stt_object
      -orig-id: STT_OBJECT
      doc: |
        Variable.
    2:
      id: stt_func
      -orig-id: STT_FUNC
      doc: |
        Kernel or device function.
    3:
      id: stt_section
      -orig-id: STT_SECTION
      doc: |
        Section.
    4:
      id: stt_file
      -orig-id: STT_FILE
      doc: |
        Source file.
    5:
      id: stt_common
      -orig-id: STT_COMMON
      doc: |
        Variable not yet allocated.
    0xa:
      id: stt_cuda_texture
      -orig-id: STT_CUDA_TEXTURE
      doc: |
        Texture reference; a parameter of the same name in several kernels is
        one symbol, of the kernel that is made first.
    0xb:
      id: stt_cuda_sampler
      -orig-id: STT_CUDA_SAMPLER
      doc: |
        Sampler reference.
    0xc:
      id: stt_cuda_surface
      -orig-id: STT_CUDA_SURFACE
      doc: |
        Surface reference.
    0xd:
      id: stt_cuda_object
      -orig-id: STT_CUDA_OBJECT
      doc: |
        Variable in a relocatable file, its memory space in st_other.
  st_bind:
    0:
      id: stb_local
      -orig-id: STB_LOCAL
      doc: |
        Known in this file only.
    1:
      id: stb_global
      -orig-id: STB_GLOBAL
      doc: |
        Known in all files.
    2:
      id: stb_weak
      -orig-id: STB_WEAK
      doc: |
        Gives way to a global symbol.
  symbol_visibility:
    0:
      id: stv_default
      -orig-id: STV_DEFAULT
      doc: |
        Default.
    1:
      id: stv_internal
      -orig-id: STV_INTERNAL
      doc: |
        Internal.
    2:
      id: stv_hidden
      -orig-id: STV_HIDDEN
      doc: |
        Hidden.
    3:
      id: stv_protected
      -orig-id: STV_PROTECTED
      doc: |
        Protected.
  symbol_space:
    0:
      id: sto_cuda_none
      -orig-id: STO_CUDA_NONE
      doc: |
        None, or an executable.
    1:
      id: sto_cuda_global
      -orig-id: STO_CUDA_GLOBAL
      doc: |
        Global memory.
    2:
      id: sto_cuda_shared
      -orig-id: STO_CUDA_SHARED
      doc: |
        Shared memory.
    3:
      id: sto_cuda_local
      -orig-id: STO_CUDA_LOCAL
      doc: |
        Local memory.
    4:
      id: sto_cuda_constant
      -orig-id: STO_CUDA_CONSTANT
      doc: |
        Constant bank.
    5:
      id: sto_cuda_reserved_shared
      -orig-id: STO_CUDA_RESERVED_SHARED
      doc: |
        Shared memory reserved for the driver; until the symbol has a place its
        st_value is its alignment.
  elf_class:
    1:
      id: elfclass32
      -orig-id: ELFCLASS32
      doc: |
        32-bit file: ptxas -m32 of CUDA 11.8 for sm_35 to sm_89, of 12.0 for
        sm_50 to sm_89; ptxas 12.4, 12.8 and 13.0 have no -m32.
    2:
      id: elfclass64
      -orig-id: ELFCLASS64
      doc: |
        64-bit file.
  elf_osabi:
    0x33:
      id: elfosabi_cuda
      -orig-id: ELFOSABI_CUDA
      doc: |
        Older e_flags layout, ABI version 7 and below.
    0x41:
      id: elfosabi_cuda_v2
      -orig-id: ELFOSABI_CUDA_V2
      doc: |
        Newer e_flags layout, ABI version 8.
  elf_type:
    1:
      id: et_rel
      -orig-id: ET_REL
      doc: |
        Relocatable.
    2:
      id: et_exec
      -orig-id: ET_EXEC
      doc: |
        Executable.
    3:
      id: et_dyn
      -orig-id: ET_DYN
      doc: |
        Name only.
    0xff00:
      id: et_ewp
      -orig-id: ET_EWP
      doc: |
        Extensible whole program.
  segment_type:
    0:
      id: pt_null
      -orig-id: PT_NULL
      doc: |
        Unused.
    1:
      id: pt_load
      -orig-id: PT_LOAD
      doc: |
        Loaded bytes.
    2:
      id: pt_dynamic
      -orig-id: PT_DYNAMIC
      doc: |
        Dynamic linking.
    3:
      id: pt_interp
      -orig-id: PT_INTERP
      doc: |
        Interpreter.
    4:
      id: pt_note
      -orig-id: PT_NOTE
      doc: |
        Notes.
    6:
      id: pt_phdr
      -orig-id: PT_PHDR
      doc: |
        The program headers themselves.
  fatbin_kind:
    1:
      id: fatbin_kind_ptx
      -orig-id: FATBIN_KIND_PTX
      doc: |
        PTX text.
    2:
      id: fatbin_kind_elf
      -orig-id: FATBIN_KIND_ELF
      doc: |
        Cubin.
    4:
      id: fatbin_kind_cubin_text
      -orig-id: FATBIN_KIND_CUBIN_TEXT
      doc: |
        Cubin in the text form from before ELF.
    8:
      id: fatbin_kind_nvvm
      -orig-id: FATBIN_KIND_NVVM
      doc: |
        NVVM IR.
    0x10:
      id: fatbin_kind_elf_2
      -orig-id: FATBIN_KIND_ELF_2
      doc: |
        Cubin.
    0x20:
      id: fatbin_kind_index
      -orig-id: FATBIN_KIND_INDEX
      doc: |
        Index.
    0x40:
      id: fatbin_kind_relocatable_ptx
      -orig-id: FATBIN_KIND_RELOCATABLE_PTX
      doc: |
        Relocatable PTX.
    0x80:
      id: fatbin_kind_tile_ir
      -orig-id: FATBIN_KIND_TILE_IR
      doc: |
        Tile IR.
    0x100:
      id: fatbin_kind_concatenated
      -orig-id: FATBIN_KIND_CONCATENATED
      doc: |
        Concatenated entry.
  mbarrier_instr_kind:
    0:
      id: mbarrier_instr_kind_init
      -orig-id: MBARRIER_INSTR_KIND_INIT
      doc: |
        INIT.
    1:
      id: mbarrier_instr_kind_arrive
      -orig-id: MBARRIER_INSTR_KIND_ARRIVE
      doc: |
        ARRIVE.
    2:
      id: mbarrier_instr_kind_arrive_nocomplete
      -orig-id: MBARRIER_INSTR_KIND_ARRIVE_NOCOMPLETE
      doc: |
        ARRIVE_NOCOMPLETE.
    3:
      id: mbarrier_instr_kind_arrive_drop
      -orig-id: MBARRIER_INSTR_KIND_ARRIVE_DROP
      doc: |
        ARRIVE_DROP.
    4:
      id: mbarrier_instr_kind_arrive_drop_nocomplete
      -orig-id: MBARRIER_INSTR_KIND_ARRIVE_DROP_NOCOMPLETE
      doc: |
        ARRIVE_DROP_NOCOMPLETE.
    5:
      id: mbarrier_instr_kind_test_wait
      -orig-id: MBARRIER_INSTR_KIND_TEST_WAIT
      doc: |
        TEST_WAIT.
    6:
      id: mbarrier_instr_kind_test_wait_parity
      -orig-id: MBARRIER_INSTR_KIND_TEST_WAIT_PARITY
      doc: |
        TEST_WAIT_PARITY.
    7:
      id: mbarrier_instr_kind_cp_async_arrive
      -orig-id: MBARRIER_INSTR_KIND_CP_ASYNC_ARRIVE
      doc: |
        CP_ASYNC_ARRIVE.
    8:
      id: mbarrier_instr_kind_inval
      -orig-id: MBARRIER_INSTR_KIND_INVAL
      doc: |
        INVAL.
    9:
      id: mbarrier_instr_kind_try_wait
      -orig-id: MBARRIER_INSTR_KIND_TRY_WAIT
      doc: |
        TRY_WAIT.
    0xa:
      id: mbarrier_instr_kind_try_wait_parity
      -orig-id: MBARRIER_INSTR_KIND_TRY_WAIT_PARITY
      doc: |
        TRY_WAIT_PARITY.
  shader_type:
    0:
      id: shader_type_none
      -orig-id: SHADER_TYPE_NONE
      doc: |
        NONE.
    1:
      id: shader_type_vertex
      -orig-id: SHADER_TYPE_VERTEX
      doc: |
        VERTEX.
    2:
      id: shader_type_pixel
      -orig-id: SHADER_TYPE_PIXEL
      doc: |
        PIXEL.
    3:
      id: shader_type_geometry
      -orig-id: SHADER_TYPE_GEOMETRY
      doc: |
        GEOMETRY.
    4:
      id: shader_type_compute
      -orig-id: SHADER_TYPE_COMPUTE
      doc: |
        COMPUTE.
    5:
      id: shader_type_tessellation_init
      -orig-id: SHADER_TYPE_TESSELLATION_INIT
      doc: |
        TESSELLATION_INIT.
    6:
      id: shader_type_tessellation
      -orig-id: SHADER_TYPE_TESSELLATION
      doc: |
        TESSELLATION.
    7:
      id: shader_type_vertex_a
      -orig-id: SHADER_TYPE_VERTEX_A
      doc: |
        VERTEX_A.
    8:
      id: shader_type_vertex_b
      -orig-id: SHADER_TYPE_VERTEX_B
      doc: |
        VERTEX_B.
    9:
      id: shader_type_vertex_ab
      -orig-id: SHADER_TYPE_VERTEX_AB
      doc: |
        VERTEX_AB.
    0xa:
      id: shader_type_mesh
      -orig-id: SHADER_TYPE_MESH
      doc: |
        MESH.
    0xb:
      id: shader_type_task
      -orig-id: SHADER_TYPE_TASK
      doc: |
        TASK.
    0xc:
      id: shader_type_cuda
      -orig-id: SHADER_TYPE_CUDA
      doc: |
        CUDA.
  entry_fragment:
    1:
      id: entry_fragment_test1
      -orig-id: ENTRY_FRAGMENT_TEST1
      doc: |
        TEST1.
    2:
      id: entry_fragment_test2
      -orig-id: ENTRY_FRAGMENT_TEST2
      doc: |
        TEST2.
    3:
      id: entry_fragment_test3
      -orig-id: ENTRY_FRAGMENT_TEST3
      doc: |
        TEST3.
    4:
      id: entry_fragment_tmem_cta1
      -orig-id: ENTRY_FRAGMENT_TMEM_CTA1
      doc: |
        TMEM_CTA1.
    5:
      id: entry_fragment_tmem_cta2
      -orig-id: ENTRY_FRAGMENT_TMEM_CTA2
      doc: |
        TMEM_CTA2.
    6:
      id: entry_fragment_tmem_cta1_v2
      -orig-id: ENTRY_FRAGMENT_TMEM_CTA1_V2
      doc: |
        TMEM_CTA1_V2.
    7:
      id: entry_fragment_tmem_cta2_v2
      -orig-id: ENTRY_FRAGMENT_TMEM_CTA2_V2
      doc: |
        TMEM_CTA2_V2.
    8:
      id: entry_fragment_resize_smem
      -orig-id: ENTRY_FRAGMENT_RESIZE_SMEM
      doc: |
        RESIZE_SMEM.
    9:
      id: entry_fragment_device_memcpy
      -orig-id: ENTRY_FRAGMENT_DEVICE_MEMCPY
      doc: |
        DEVICE_MEMCPY.
  stub_function_kind:
    1:
      id: stub_function_kind_func_uft_stub
      -orig-id: STUB_FUNCTION_KIND_FUNC_UFT_STUB
      doc: |
        FUNC_UFT_STUB.
    2:
      id: stub_function_kind_func_atentry_stub
      -orig-id: STUB_FUNCTION_KIND_FUNC_ATENTRY_STUB
      doc: |
        FUNC_ATENTRY_STUB.
    3:
      id: stub_function_kind_func_atexit_stub
      -orig-id: STUB_FUNCTION_KIND_FUNC_ATEXIT_STUB
      doc: |
        FUNC_ATEXIT_STUB.
  source_language:
    1:
      id: source_language_sass
      -orig-id: SOURCE_LANGUAGE_SASS
      doc: |
        SASS.
    2:
      id: source_language_nvsal
      -orig-id: SOURCE_LANGUAGE_NVSAL
      doc: |
        NVSAL.
    3:
      id: source_language_ptx
      -orig-id: SOURCE_LANGUAGE_PTX
      doc: |
        PTX.
    4:
      id: source_language_nvvm
      -orig-id: SOURCE_LANGUAGE_NVVM
      doc: |
        NVVM.
    5:
      id: source_language_cuda_cxx
      -orig-id: SOURCE_LANGUAGE_CUDA_CXX
      doc: |
        CUDA_CXX.
    6:
      id: source_language_cuda_cxx_tile
      -orig-id: SOURCE_LANGUAGE_CUDA_CXX_TILE
      doc: |
        CUDA_CXX_TILE.
    7:
      id: source_language_tileir
      -orig-id: SOURCE_LANGUAGE_TILEIR
      doc: |
        TILEIR.
    8:
      id: source_language_cutile
      -orig-id: SOURCE_LANGUAGE_CUTILE
      doc: |
        CUTILE.
    9:
      id: source_language_fortran
      -orig-id: SOURCE_LANGUAGE_FORTRAN
      doc: |
        FORTRAN.
    0xa:
      id: source_language_optix
      -orig-id: SOURCE_LANGUAGE_OPTIX
      doc: |
        OPTIX.
  instr_offsets_kind:
    1:
      id: instr_offsets_kind_prefetch_l1_valid_addr
      -orig-id: INSTR_OFFSETS_KIND_PREFETCH_L1_VALID_ADDR
      doc: |
        PREFETCH_L1_VALID_ADDR.
    2:
      id: instr_offsets_kind_fence_proxy_async_generic_sr_smem_reads_release_cluster
      -orig-id: INSTR_OFFSETS_KIND_FENCE_PROXY_ASYNC_GENERIC_SR_SMEM_READS_RELEASE_CLUSTER
      doc: |
        FENCE_PROXY_ASYNC_GENERIC_SR_SMEM_READS_RELEASE_CLUSTER.
    3:
      id: instr_offsets_kind_fence_alias_sr_read_release_sys
      -orig-id: INSTR_OFFSETS_KIND_FENCE_ALIAS_SR_READ_RELEASE_SYS
      doc: |
        FENCE_ALIAS_SR_READ_RELEASE_SYS.
  indirect_branch_kind:
    0:
      id: indirect_branch_kind_branch
      -orig-id: INDIRECT_BRANCH_KIND_BRANCH
      doc: |
        BRANCH.
    1:
      id: indirect_branch_kind_call
      -orig-id: INDIRECT_BRANCH_KIND_CALL
      doc: |
        CALL.
  mbarrier_stride:
    0:
      id: mbarrier_stride_x4
      -orig-id: MBARRIER_STRIDE_X4
      doc: |
        X4.
    1:
      id: mbarrier_stride_x8
      -orig-id: MBARRIER_STRIDE_X8
      doc: |
        X8.
    2:
      id: mbarrier_stride_x16
      -orig-id: MBARRIER_STRIDE_X16
      doc: |
        X16.
    3:
      id: mbarrier_stride_x1
      -orig-id: MBARRIER_STRIDE_X1
      doc: |
        X1.
  annotation_kind:
    0:
      id: annotation_kind_spill_refill_0
      -orig-id: ANNOTATION_KIND_SPILL_REFILL_0
      doc: |
        SPILL_REFILL_0.
    1:
      id: annotation_kind_spill_refill
      -orig-id: ANNOTATION_KIND_SPILL_REFILL
      doc: |
        SPILL_REFILL.
    2:
      id: annotation_kind_instruction_info
      -orig-id: ANNOTATION_KIND_INSTRUCTION_INFO
      doc: |
        INSTRUCTION_INFO.
    3:
      id: annotation_kind_function_info
      -orig-id: ANNOTATION_KIND_FUNCTION_INFO
      doc: |
        FUNCTION_INFO.
  sampler_addr_mode:
    0:
      id: sampler_addr_mode_wrap
      -orig-id: SAMPLER_ADDR_MODE_WRAP
      doc: |
        WRAP.
    1:
      id: sampler_addr_mode_mirror
      -orig-id: SAMPLER_ADDR_MODE_MIRROR
      doc: |
        MIRROR.
    2:
      id: sampler_addr_mode_clamp_ogl
      -orig-id: SAMPLER_ADDR_MODE_CLAMP_OGL
      doc: |
        CLAMP_OGL.
    3:
      id: sampler_addr_mode_clamp_to_edge
      -orig-id: SAMPLER_ADDR_MODE_CLAMP_TO_EDGE
      doc: |
        CLAMP_TO_EDGE.
    4:
      id: sampler_addr_mode_clamp_to_border
      -orig-id: SAMPLER_ADDR_MODE_CLAMP_TO_BORDER
      doc: |
        CLAMP_TO_BORDER.
    0xff:
      id: sampler_addr_mode_not_given
      -orig-id: SAMPLER_ADDR_MODE_NOT_GIVEN
      doc: |
        NOT_GIVEN.
  sampler_filter_mode:
    0:
      id: sampler_filter_mode_nearest
      -orig-id: SAMPLER_FILTER_MODE_NEAREST
      doc: |
        NEAREST.
    1:
      id: sampler_filter_mode_linear
      -orig-id: SAMPLER_FILTER_MODE_LINEAR
      doc: |
        LINEAR.
    0xff:
      id: sampler_filter_mode_not_given
      -orig-id: SAMPLER_FILTER_MODE_NOT_GIVEN
      doc: |
        NOT_GIVEN.
  sanitizer_tool:
    0:
      id: sanitizer_tool_threadsteer
      -orig-id: SANITIZER_TOOL_THREADSTEER
      doc: |
        THREADSTEER.
    1:
      id: sanitizer_tool_memcheck
      -orig-id: SANITIZER_TOOL_MEMCHECK
      doc: |
        MEMCHECK.
