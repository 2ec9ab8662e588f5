meta:
  id: symbol_other
  title: Visibility and memory space of a symbol
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
  imports:
    - cuda_codes
  encoding: UTF-8
  endian: le
  bit-endian: le
-orig-id: st_other
doc: Visibility and what CUDA adds to it.
doc-ref: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.intro.html
-webide-representation: '{this:flags}'
seq:
  - id: visibility
    -orig-id: ELF64_ST_VISIBILITY
    type: b2
    enum: cuda_codes::symbol_visibility
    doc: Visibility of the symbol.
  - id: is_unified_or_managed
    type: b1
    doc: |
      For a function: declared `.unified`. For data: a `__managed__`
      variable.
  - id: is_obscure
    type: b1
    doc: Printed as OBSCURE by cuobjdump; not seen in files.
  - id: is_entry_or_unified_object
    -orig-id: STO_CUDA_ENTRY
    type: b1
    doc: For a function it is a kernel. For data it is unified data.
  - id: memory_space
    type: b3
    enum: cuda_codes::symbol_space
    doc: |
      Memory space of data in relocatable files. None in executables,
      except that the alias of the reserved shared window keeps its own.
