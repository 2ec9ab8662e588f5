meta:
  id: rel_action
  title: Relocation actions of a CUDA device binary
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
  Section `.nv.rel.action` (SHT_CUDA_RELOCINFO, 0x7000000b): tells a loader
  that is older than the file how to apply relocation types it does not know.
  Constant for a version of the tools; only in executables up to sm_90. One
  action belongs to each relocation type from `base_type` on.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
seq:
  - id: header
    type: rel_action_header
    doc: Which relocation types are described.
  - id: actions
    type: rel_action_entry
    repeat: expr
    repeat-expr: (_io.size - 8) / 8
    doc: Entry n describes the type `base_type + n`.
  - id: trailing
    size-eos: true
    -opaque: unclaimed
    doc: Bytes after the last whole entry; empty in files seen.
types:
  rel_action_header:
    doc: Start of the section.
    doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
    -webide-representation: 'from type {base_type:dec}'
    seq:
      - id: base_type
        type: u4
        doc: First relocation type that is described, 75 or 115 seen.
      - id: reserved
        type: u4
        doc: Always 0.
  rel_action_entry:
    doc: |
      How one relocation type changes the code: up to two bit fields of the
      value go to bit positions counted from `r_offset`.
    doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
    -webide-representation: '{symbol_kind}'
    seq:
      - id: symbol_kind
        type: u1
        enum: symbol_kinds
        doc: What the value is made of.
      - id: addend_shift
        type: u1
        doc: Shift of the addend.
      - id: source_position_1
        type: u1
        doc: First bit of the value for the first field.
      - id: len_1
        type: u1
        doc: Number of bits of the first field.
      - id: destination_position_1
        type: u1
        doc: Bit of the code where the first field starts.
      - id: source_position_2
        type: u1
        doc: First bit of the value for the second field.
      - id: len_2
        type: u1
        doc: Number of bits of the second field, 0 when there is none.
      - id: destination_position_2
        type: u1
        doc: Bit of the code where the second field starts.
enums:
  symbol_kinds:
    0:
      id: address
      -orig-id: EIVALUE_SYM_KIND_ADDR
      doc: Address of the symbol.
    1:
      id: generic_address
      -orig-id: EIVALUE_SYM_KIND_GADDR
      doc: Generic address of the symbol.
    2:
      id: function_descriptor
      -orig-id: EIVALUE_SYM_KIND_FDESC
      doc: Descriptor of the function, which the driver makes.
    3:
      id: header_index
      -orig-id: EIVALUE_SYM_KIND_HEADER_INDEX
      doc: Index of a texture, sampler or surface header.
    4:
      id: bindless_offset
      -orig-id: EIVALUE_SYM_KIND_BINDLESSOFF
      doc: Offset of a bindless handle in its constant bank.
    5:
      id: pc_relative
      -orig-id: EIVALUE_SYM_KIND_PCREL
      doc: Distance of the symbol from the instruction.
    6:
      id: constant_bank
      -orig-id: EIVALUE_SYM_KIND_CBANK
      doc: Number of the constant bank of the symbol.
    7:
      id: instruction
      -orig-id: EIVALUE_SYM_KIND_INSTR
      doc: A whole instruction that the driver writes.
    8:
      id: clear
      -orig-id: EIVALUE_SYM_KIND_CLEAR
      doc: Nothing; the field becomes 0.
    9:
      id: unified_address
      -orig-id: EIVALUE_SYM_KIND_UADDR
      doc: Address in the unified table of functions or data.
