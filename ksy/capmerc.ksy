meta:
  id: capmerc
  title: Mercury capsule of a CUDA function
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
  Section `.nv.capmerc.text.<function>` (0x70000016), present from sm_100 on
  beside the machine code of the same function: the Mercury form of the code,
  which a finalizer turns into machine code of a related GPU.

  One bit per item: a set bit stands for an instruction that is taken over
  from the machine code, a clear one for an item with a record. A record is an
  instruction of Mercury code or what is told of it. A counting record says how
  many instructions of machine code the instruction behind it becomes, or how
  many the padding behind the code takes; all other items are one instruction
  each. The sum is the number of instructions of the machine code in all
  functions seen, over twenty thousand. nvlink changes the section number and
  writes values of relocations into the instructions. What Mercury instructions
  mean is not known. CUDA 12.8 has no mark in the head; all else is the same.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
seq:
  - id: header
    type: capsule_header
    if: is_marked
    doc: Fixed start of the section.
  - id: unmarked_header
    type: unmarked_capsule_header
    if: is_unmarked
    doc: Fixed start of the section in CUDA 12.8.
  - id: flags
    type: u4
    repeat: expr
    repeat-expr: |
      num_flag_words < (_io.size.as<s8> - len_header) / 4
        ? num_flag_words
        : ((_io.size.as<s8> - len_header) / 4).as<s8>
    if: is_marked or is_unmarked
    doc: One bit per item, lowest bit first; bits past the count are clear.
  - id: records
    type: record
    repeat: eos
    if: is_marked or is_unmarked
    doc: Records of the items whose bit is clear, in order.
  - id: other_records
    size-eos: true
    -opaque: capsule records
    if: not is_marked and not is_unmarked
    doc: Contents of unknown layout.
instances:
  is_marked:
    value: second_word == 0xc0000001.as<u4>
    doc: The section has the form of CUDA 12.9 and later.
  is_unmarked:
    value: (second_word >> 30) == 1
    doc: The section has the form of CUDA 12.8.
  num_items:
    value: |
      is_marked ? header.num_items.as<s8>
        : is_unmarked ? (unmarked_header.marked_count & 0x3fffffff).as<s8>
        : 0.as<s8>
    doc: Number of items.
  second_word:
    pos: 4
    type: u4
    -alias: true
    -webide-parse-mode: lazy
    doc: The mark, or the number of items of CUDA 12.8.
  len_header:
    value: 'is_marked ? 12.as<s8> : 8.as<s8>'
    -webide-parse-mode: lazy
    doc: Size of the fixed start.
  num_flag_words:
    value: ((num_items + 31) / 32).as<s8>
    -webide-parse-mode: lazy
    doc: Number of words that the bits of all items need.
types:
  capsule_header:
    doc: Fixed start of the section.
    doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
    -webide-representation: 'section {text_section:dec}, {num_items:dec} items'
    seq:
      - id: text_section
        type: u4
        doc: |
          Index of the section with the machine code of the function, also from
          0xff00 on.
      - id: mark
        type: u4
        doc: 0xc0000001.
      - id: num_items
        type: u4
        doc: Number of items, one or more machine instructions each.
  unmarked_capsule_header:
    doc: Fixed start of the section in CUDA 12.8.
    doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
    -webide-representation: 'code in section {text_section:dec}'
    seq:
      - id: text_section
        type: u4
        doc: |
          Index of the section with the machine code of the function, also from
          0xff00 on.
      - id: marked_count
        type: u4
        doc: Number of items in bits 0 to 29; bit 30 is set, bit 31 is clear.
  record:
    doc: One Mercury instruction, or a number of machine instructions.
    doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
    -webide-representation: 'head {head:dec}, for {num_instructions:dec}'
    seq:
      - id: head
        type: u1
        doc: |
          Bits 0 to 3 length of the Mercury instruction in units of 16 bytes,
          bit 6 only 4 bytes are there, bits 4 and 6 a count.
      - id: count_high
        type: u1
        if: is_count
        doc: Bits 1 to 8 of the count.
      - id: rest
        size: |
          len_rest > _io.size - _io.pos
            ? (_io.size - _io.pos).as<s8> : len_rest
        -opaque: capsule records
        doc: The rest of the instruction.
    instances:
      is_count:
        value: (head & 0x50) == 0x50
        doc: The record counts machine instructions.
      num_instructions:
        value: |
          is_count
            ? ((head.as<s4> >> 7) | (count_high.as<s4> << 1)).as<s4>
            : 1.as<s4>
        doc: |
          Machine instructions that the record behind this one becomes, or those
          of the padding when bits 0 to 3 are 0.
      len_rest:
        value: |
          is_count ? 0.as<s8>
            : (head & 0x40) != 0 ? 3.as<s8>
            : (head & 0x0f) > 0 ? ((head & 0x0f).as<s8> * 16 - 1).as<s8>
            : 0.as<s8>
        -webide-parse-mode: lazy
        doc: Bytes behind the first one.
