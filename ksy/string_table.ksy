meta:
  id: string_table
  title: Strings of a CUDA device binary
  application: NVIDIA CUDA
  file-extension:
    - cubin
  xref:
    wikidata: Q1343830
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: 0.11
  encoding: UTF-8
  endian: le
  bit-endian: le
doc: |
  Bytes of a string table (SHT_STRTAB). Strings are named by the offset of
  their first byte, and an offset may point into the middle of a longer
  string. In `.strtab` the strings that `.nv.callgraph` and
  `.nv.prototype` use as signatures stand between the symbol names.
doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.intro.html
instances:
  entries:
    pos: 0
    type: strz
    eos-error: false
    repeat: eos
    doc: |
      All strings in file order. The first one is empty. Reading goes on
      to the end of the table when the last one has no terminator.
