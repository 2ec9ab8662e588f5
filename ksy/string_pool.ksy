meta:
  id: string_pool
  title: Bytes of a string table, to look strings up
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
  The bytes of a string table as a stream for those that look strings up
  in it by their offset.
doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.intro.html
seq: []
