meta:
  id: uidx
  title: Index of unified functions and data of CUDA device binaries
  file-extension:
    - uidx
    - cubin
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: '0.10'
  encoding: UTF-8
  endian: le
doc: |
  The file that `nvlink --uidx-file` takes, and its copy in the linked file:
  section `.nv.uidx` (SHT_CUDA_UIDX, 0x70000010) and its Mercury twin.

  It says at which offset of `.nv.uft` (jump slots of unified functions) and of
  `.nv.udt` (unified data) each 128-bit identifier has its place, so that
  separately linked programs agree about it. nvlink refuses an index that names
  another identifier than the rows of `.nv.uft.entry` and `.nv.udt.entry`, or
  that gives the tables another size than they have.

  The layout is known from public notes on nvlink; every field was seen to
  matter, or not to, in links of made files with nvlink 13.0.88.
doc-ref: https://docs.nvidia.com/cuda/parallel-thread-execution/
seq:
  - id: header
    type: uidx_header
    if: _io.size >= 48
    doc: Sizes and counts; absent from a file that is too short for it.
  - id: uft_entries
    type: uidx_entry
    repeat: expr
    repeat-expr: num_uft_entries
    doc: Places of functions, in any order.
  - id: udt_entries
    type: uidx_entry
    repeat: expr
    repeat-expr: num_udt_entries
    doc: Places of variables, in any order.
  - id: extension
    size: len_extension
    -opaque: index extension
    doc: |
      From version 2 on 16 more bytes for each function, which change nothing
      in a link.
  - id: trailing
    size-eos: true
    -opaque: unclaimed
    doc: Further bytes; nvlink refuses a file that has any.
instances:
  num_places:
    value: '_io.size < 48 ? 0 : (_io.size - 48) / 24'
    doc: Places that the file has room for.
  num_uft_entries:
    value: |
      _io.size < 48
        ? 0
        : header.num_uft < num_places ? header.num_uft : num_places
    doc: Places of functions that are in the file.
  num_udt_entries:
    value: |
      _io.size < 48
        ? 0
        : header.num_udt < num_places - num_uft_entries
        ? header.num_udt
        : num_places - num_uft_entries
    doc: Places of variables that are in the file.
  len_rest:
    value: |
      _io.size < 48
        ? 0
        : _io.size - 48 - 24 * (num_uft_entries + num_udt_entries)
    doc: Bytes behind the places.
  len_extension:
    value: |
      _io.size < 48 or header.version < 2
        ? 0
        : 16 * num_uft_entries < len_rest ? 16 * num_uft_entries : len_rest
    doc: Bytes of the extension that are in the file.
types:
  uidx_header:
    doc: What the index is for, 48 bytes.
    seq:
      - id: magic
        size: 8
        doc: |
          7F 55 46 54 49 4E 44 58, that is 0x7f and `UFTINDX`; not enforced, so
          that a damaged section does not keep a cubin from being read.
      - id: version
        type: u4
        doc: 1; 0 reads the same, from 2 on there are more bytes at the end.
      - id: reserved
        type: u4
        doc: Any value; nvlink does not look at it.
      - id: len_uft
        type: u8
        doc: Size of `.nv.uft`, 128 bytes for every unified function.
      - id: num_uft
        type: u8
        doc: Number of functions.
      - id: len_udt
        type: u8
        doc: Size of `.nv.udt`, where the last variable ends.
      - id: num_udt
        type: u8
        doc: Number of variables.
  uidx_entry:
    doc: Place of one function or variable, 24 bytes.
    seq:
      - id: uuid_first
        type: u8
        doc: First operand of the `.unified` attribute.
      - id: uuid_second
        type: u8
        doc: Second operand of the `.unified` attribute.
      - id: ofs_slot
        type: u8
        doc: |
          Offset in the table, a multiple of 128 for a function; from sm_100 on
          it counts in slots of SASS code as they are in the linked file.
