meta:
  id: compat
  title: Compatibility section of a CUDA device binary
  file-extension:
    - cubin
  tags:
    - executable
    - gpu
  license: CC0-1.0
  ks-version: 0.9
  imports:
    - cuda_codes
  encoding: UTF-8
  endian: le
doc: |
  Section `.nv.compat` (SHT_CUDA_COMPAT_INFO, 0x70000086), present from sm_90
  on: what the code needs from the GPU and from the tools that finalise it.
  The records have the form of those in `.nv.info`.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
seq:
  - id: records
    type: compat_record
    repeat: eos
    doc: In the order of the producer.
types:
  compat_record:
    doc: One compatibility attribute.
    seq:
      - id: format
        type: u1
        enum: cuda_codes::eifmt
        doc: Where the value is.
      - id: code
        type: u1
        enum: cuda_codes::compat_code
        doc: Which attribute it is.
      - id: value
        type: u2
        doc: |
          The value of a BVAL (low byte) or HVAL record, the size of the
          payload of an SVAL record.
      - id: payload
        size: value
        type:
          switch-on: code
          cases:
            cuda_codes::compat_code::eicompat_attr_can_fastpath_finalize: flag_set
            _: raw_payload
        if: format == cuda_codes::eifmt::eifmt_sval
        doc: Value of an SVAL record.
  flag_set:
    doc: A set of 64 flags whose meanings are not known.
    seq:
      - id: low
        type: u4
        doc: Flags 0 to 31; 0, 1, 9, 0xd, 0x10 and 0x50 seen.
      - id: high
        type: u4
        doc: Flags 32 to 63, 0 in files seen.
      - id: trailing
        size-eos: true
        -opaque: unclaimed
        doc: Empty in files seen.
  raw_payload:
    doc: A payload whose layout is not known.
    seq:
      - id: data
        size-eos: true
        -opaque: attribute payload
        doc: The bytes.
