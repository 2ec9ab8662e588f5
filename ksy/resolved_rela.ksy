meta:
  id: resolved_rela
  title: Resolved relocations of a CUDA device binary
  application: NVIDIA CUDA
  file-extension:
    - cubin
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: 0.11
  imports:
    - rela_table_32
    - rela_table_64
  encoding: UTF-8
  endian: le
doc: |
  Section `.nv.resolvedrela` + name of the relocated section
  (SHT_CUDA_RESOLVED_RELA, 0x70000003) and its Mercury copy
  (0x70000088): relocations that `nvlink --preserve-relocs` has applied and
  kept for tools. The rows are those of a RELA section.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
params:
  - id: is_64
    type: bool
    doc: True in an ELF64 file.
seq:
  - id: table
    type:
      switch-on: is_64
      cases:
        true: rela_table_64
        false: rela_table_32
    doc: The relocations.
