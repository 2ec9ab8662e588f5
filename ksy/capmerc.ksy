meta:
  id: capmerc
  title: Mercury capsule of a CUDA function
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
  Section `.nv.capmerc.text.<function>` (0x70000016), present from sm_100 on
  beside the machine code of the same function: the Mercury form of the code,
  which a finalizer turns into machine code of a related GPU.

  The section number, a mark, a count and one bit per counted item are
  established over thousands of sections. What follows is not: its size grows
  with the number of clear bits, so that a set bit may stand for an item that
  is taken over from the machine code and a clear one for an item with a
  record of its own. nvlink changes only the section number.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
seq:
  - id: header
    type: capsule_header
    doc: Fixed start of the section.
  - id: flags
    type: u4
    repeat: expr
    repeat-expr: |
      num_flag_words < (_io.size - 12) / 4
        ? num_flag_words
        : ((_io.size - 12) / 4).as<s8>
    doc: One bit per item, lowest bit first; bits past the count are clear.
  - id: records
    size-eos: true
    -opaque: capsule records
    doc: Contents of unknown layout.
instances:
  num_flag_words:
    value: ((header.num_items.as<s8> + 31) / 32).as<s8>
    doc: Number of words that the bits of all items need.
types:
  capsule_header:
    doc: Fixed start of the section.
    seq:
      - id: text_section
        type: u4
        doc: Index of the section with the machine code of the function.
      - id: mark
        type: u4
        doc: 0xc0000001 in all files seen.
      - id: num_items
        type: u4
        doc: Number of items, perhaps Mercury instructions.
