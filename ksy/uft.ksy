meta:
  id: uft
  title: Unified function and data tables of a CUDA device binary
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
  Sections `.nv.uft.entry` (SHT_CUDA_UFT_ENTRY, 0x70000011), `.nv.udt.entry`
  (SHT_CUDA_UDT_ENTRY, 0x70000014) and `.nv.uidx` (SHT_CUDA_UIDX,
  0x70000010): which 128-bit identifier a function or variable declared
  `.unified` has, so that separately linked modules agree about its slot.
doc-ref: https://docs.nvidia.com/cuda/parallel-thread-execution/
seq:
  - id: entries
    type: uft_entry
    repeat: expr
    repeat-expr: _io.size / 32
    doc: One entry per unified function or variable.
  - id: trailing
    size-eos: true
    -opaque: unclaimed
    doc: Bytes after the last whole entry; empty in files seen.
types:
  uft_entry:
    doc: Identifier and slot of one symbol, 32 bytes.
    seq:
      - id: symbol
        type: u4
        doc: Index in the symbol table named by `sh_link`.
      - id: unknown
        type: u4
        doc: 1 in files seen.
      - id: ofs_slot
        type: u8
        doc: Offset of the slot; 0 in relocatable files.
      - id: uuid_first
        type: u8
        doc: First operand of the `.unified` attribute.
      - id: uuid_second
        type: u8
        doc: Second operand of the `.unified` attribute.
