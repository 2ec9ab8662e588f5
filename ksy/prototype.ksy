meta:
  id: prototype
  title: Function prototype section of a CUDA device binary
  application: NVIDIA CUDA
  file-extension:
    - cubin
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - string_pool
  encoding: UTF-8
  endian: le
doc: |
  Section `.nv.prototype` (SHT_CUDA_PROTOTYPE, 0x70000002) and its Mercury
  copy `.nv.merc.nv.prototype` (0x7000008b): the signature of every function
  with external linkage that is no kernel, whether it is defined here or only
  called. Present in relocatable files and in what nvlink makes of them.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
params:
  - id: names
    type: string_pool
    doc: The string table of the symbol table named by `sh_link`.
seq:
  - id: entries
    type: prototype_entry(names)
    repeat: expr
    repeat-expr: _io.size / 8
    doc: In the order of the producer.
  - id: trailing
    size-eos: true
    -opaque: unclaimed
    doc: Bytes after the last whole entry; empty in files seen.
types:
  prototype_entry:
    doc: Signature of one function.
    doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
    -webide-representation: '{symbol:dec} {signature:str}'
    params:
      - id: names
        type: string_pool
        doc: The string table with the signatures.
    seq:
      - id: symbol
        type: u4
        doc: Index of the function symbol.
      - id: ofs_signature
        type: u4
        doc: Offset of the signature in the string table.
    instances:
      signature:
        io: names._io
        pos: ofs_signature
        type: strz
        eos-error: false
        if: ofs_signature.as<s8> < names._io.size
        -webide-parse-mode: eager
        doc: Signature, written as in `callgraph`.
