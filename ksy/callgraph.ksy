meta:
  id: callgraph
  title: Call graph section of a CUDA device binary
  application: NVIDIA CUDA
  file-extension:
    - cubin
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: 0.11
  imports:
    - string_pool
  encoding: UTF-8
  endian: le
doc: |
  Section `.nv.callgraph` (SHT_CUDA_CALLGRAPH, 0x70000001) and its Mercury
  copy `.nv.merc.nv.callgraph` (0x7000008a): pairs of words in up to four
  parts.

  A pair whose first word is 0 and whose second word is negative starts a
  part: -1 direct calls, -2 functions whose address is taken, -3 indirect
  calls, -4 references to functions from data or code. Files of CUDA 11 and
  later have all four starts in this order, also when a part is empty; older
  files lack -4. A linked file can hold several sequences of parts.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
params:
  - id: names
    type: string_pool
    doc: The string table of the symbol table named by `sh_link`.
seq:
  - id: entries
    type: |
      callgraph_entry(
        names,
        _index == 0 ? 0.as<s8> : entries[_index - 1].part
      )
    repeat: expr
    repeat-expr: _io.size / 8
    doc: Starts of parts and members of parts in file order.
  - id: trailing
    size-eos: true
    -opaque: unclaimed
    doc: Bytes after the last whole pair; empty in files seen.
types:
  callgraph_entry:
    doc: One pair of words.
    doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
    -webide-representation: 'part {part:dec}: {symbol:dec}, {target:dec}'
    params:
      - id: names
        type: string_pool
        doc: The string table with the signatures.
      - id: previous_part
        type: s8
        doc: Part that the pair before belongs to, 0 at the start.
    seq:
      - id: symbol
        type: u4
        doc: |
          Index of a function symbol: the caller in parts 1 and 3, the
          function itself in part 2, the referencing function in part 4.
          0 for the start of a part.
      - id: target
        type: u4
        doc: |
          In parts 1 and 4 the index of the called or referenced function, in
          parts 2 and 3 the offset of a signature in the string table. For
          the start of a part 0xffffffff down to 0xfffffffc.
    instances:
      is_marker:
        value: symbol == 0 and target >= 0xfffffffc.as<u4>
        doc: True for the start of a part.
      part:
        value: |
          is_marker
            ? (0x100000000.as<s8> - target.as<s8>).as<s8>
            : previous_part
        doc: |
          Part that the pair belongs to or starts: 1 direct calls, 2 address
          taken, 3 indirect calls, 4 references; 0 before the first start.
      signature:
        io: names._io
        pos: target
        type: strz
        eos-error: false
        if: |
          (part == 2 or part == 3) and not is_marker
            and target.as<s8> < names._io.size
        doc: |
          Signature such as `#iil`: one letter for the result and for each
          parameter, `i` for four and `l` for eight bytes, followed on newer
          GPUs by `|` and a description of the registers.
