meta:
  id: fatbin
  title: CUDA fat binary
  application: NVIDIA CUDA
  file-extension:
    - fatbin
  tags:
    - archive
    - executable
    - gpu
  license: CC0-1.0
  ks-version: 0.11
  imports:
    - compat
    - cuda_codes
    - elf_cuda
  encoding: UTF-8
  endian: le
  bit-endian: le
doc: |
  Container for the device code of one translation unit: PTX, cubins and
  NVVM IR for several GPUs, each plain or compressed. A `.fatbin` file and the
  host sections `.nv_fatbin` and `__nv_relfatbin` hold one or more containers.

  The host section `.nvFatBinSegment` holds small wrappers that point to the
  containers; they can be read with this file too.
doc-ref: https://docs.nvidia.com/cuda/cuda-binary-utilities/
seq:
  - id: blocks
    type: fat_block
    repeat: eos
    doc: Containers or wrappers in file order.
types:
  fat_block:
    doc: A container, a wrapper or a gap between them.
    doc-ref: ksy/tables/fatbin.yaml
    -webide-representation: '{content}'
    seq:
      - id: magic
        type: u4
        doc: |
          What follows: 0xba55ed50 container, 0x466243b1 wrapper, 0 filler.
      - id: content
        type:
          switch-on: magic_kind
          cases:
            0: gap
            1: container
            2: wrapper
            _: unknown_block
        doc: The block after its magic.
    instances:
      magic_kind:
        value: |
          magic == 0xba55ed50.as<u4> ? 1
            : magic == 0x466243b1 ? 2
            : magic == 0 ? 0 : 3
        -webide-parse-mode: lazy
        doc: 1 container, 2 wrapper, 0 filler, 3 anything else.
  container:
    doc: A container after its magic.
    doc-ref: ksy/tables/fatbin.yaml
    -webide-representation: '{head.len_entries:dec} bytes of entries'
    seq:
      - id: head
        type: container_head
        doc: Version and size.
      - id: extra
        size: |
          head.len_header < 16
            ? 0.as<s8>
            : head.len_header.as<s8> - 16 <= _io.size.as<s8> - _io.pos.as<s8>
            ? (head.len_header.as<s8> - 16).as<s8>
            : (_io.size.as<s8> - _io.pos.as<s8>).as<s8>
        -opaque: unclaimed
        doc: More of the header than is known; empty in files seen.
      - id: entries
        size: |
          head.len_entries.as<s8> >= 0
            and head.len_entries.as<s8> <= _io.size.as<s8> - _io.pos.as<s8>
            ? head.len_entries.as<s8>
            : (_io.size.as<s8> - _io.pos.as<s8>).as<s8>
        type: entry_list
        doc: The images.
  container_head:
    doc: Version and size of a container.
    doc-ref: ksy/tables/fatbin.yaml
    -webide-representation: '{len_entries:dec} bytes of entries'
    seq:
      - id: version
        type: u2
        doc: 1.
      - id: len_header
        type: u2
        doc: 16, the size of the header with its magic.
      - id: len_entries
        type: u8
        doc: Size of all entries; there is no end mark.
  entry_list:
    doc: Entries of one container.
    doc-ref: ksy/tables/fatbin.yaml
    seq:
      - id: entries
        type: entry
        repeat: eos
        doc: In the order given to fatbinary.
  entry:
    doc: One image.
    doc-ref: ksy/tables/fatbin.yaml
    -webide-representation: '{head}'
    seq:
      - id: head
        type: entry_head
        doc: Fixed part of the header.
      - id: header_rest
        size: |
          head.len_header < 64
            ? 0.as<s8>
            : head.len_header.as<s8> - 64 <= _io.size.as<s8> - _io.pos.as<s8>
            ? (head.len_header.as<s8> - 64).as<s8>
            : (_io.size.as<s8> - _io.pos.as<s8>).as<s8>
        type: header_rest(head.ofs_extension, has_compat)
        doc: Varying part of the header.
      - id: payload
        size: |
          head.len_payload.as<s8> >= 0
            and head.len_payload.as<s8> <= _io.size.as<s8> - _io.pos.as<s8>
            ? head.len_payload.as<s8>
            : (_io.size.as<s8> - _io.pos.as<s8>).as<s8>
        type:
          switch-on: payload_kind
          cases:
            1: ptx_payload
            2: elf_cuda
            3: compressed_payload
            _: raw_payload
        doc: The image, padded with zeros to a multiple of eight.
    instances:
      is_compressed:
        value: |
          head.flags.is_zlib or head.flags.is_lz4
            or head.flags.is_lz4_frame or head.flags.is_zstd
        doc: True when the payload is compressed.
      has_extension:
        value: head.ofs_extension != 0
        -webide-parse-mode: lazy
        doc: True when the header ends in an extension.
      has_compat:
        value: head.flags.has_compat
        -webide-parse-mode: lazy
        doc: True when the extension holds a copy of `.nv.compat`.
      payload_kind:
        value: |
          is_compressed ? 3
            : head.kind == cuda_codes::fatbin_kind::fatbin_kind_ptx ? 1
            : head.kind == cuda_codes::fatbin_kind::fatbin_kind_elf ? 2
            : 0
        -webide-parse-mode: lazy
        doc: How to read the payload.
  entry_head:
    doc: Fixed part of the header of an entry, 64 bytes.
    doc-ref: ksy/tables/fatbin.yaml
    -webide-representation: '{kind} for sm_{sm:dec}, {len_payload:dec} bytes'
    seq:
      - id: kind
        type: u2
        enum: cuda_codes::fatbin_kind
        doc: What the payload is.
      - id: version
        type: u2
        doc: 0x101.
      - id: len_header
        type: u4
        doc: Size of the header, 64 and more.
      - id: len_payload
        type: u8
        doc: Size of the payload with its padding.
      - id: len_compressed
        type: u4
        doc: Exact size of a compressed payload, else 0.
      - id: ofs_extension
        type: u4
        doc: |
          Offset of the extension from the start of the entry: 64, more after an
          identifier, 0 for none.
      - id: code_version_minor
        type: u2
        doc: Minor version of the PTX; 8 for a cubin with ABI version 8.
      - id: code_version_major
        type: u2
        doc: Major version of the PTX; 1 for a cubin.
      - id: sm
        type: u4
        doc: GPU the image is for, 90 for sm_90.
      - id: ofs_identifier
        type: u4
        doc: Offset of the identifier from the start of the entry, 64 or 0.
      - id: len_identifier
        type: u4
        doc: Size of the identifier without the NUL that ends it.
      - id: flags
        type: entry_flags
        doc: Compression and kind of target.
      - id: scramble_word
        type: u8
        doc: |
          Not 0 in scrambled entries: the same for all compressions of an
          input, another one for another input. 0 in all others.
      - id: len_uncompressed
        type: u8
        doc: Size of the image when the payload is compressed, else 0.
  entry_flags:
    doc: Compression and kind of target.
    doc-ref: ksy/tables/fatbin.yaml
    -webide-representation: '{this:flags}'
    seq:
      - id: is_64_bit
        type: b1
        doc: 64-bit code.
      - id: is_debug
        type: b1
        doc: Made with `fatbinary -g`.
      - id: unknown_2
        type: b2
        doc: 0 in files seen.
      - id: is_linux
        type: b1
        doc: Made for Linux.
      - id: is_mac
        type: b1
        doc: Made for macOS.
      - id: is_windows
        type: b1
        doc: Made for Windows.
      - id: unknown_7
        type: b5
        doc: 0 in files seen.
      - id: is_zlib
        type: b1
        doc: The payload is a zlib stream; the scheme of CUDA 4.
      - id: is_lz4
        type: b1
        doc: The payload is an LZ4 block.
      - id: is_lz4_frame
        type: b1
        doc: The payload is an LZ4 frame; cuobjdump reads it.
      - id: is_zstd
        type: b1
        doc: The payload is a zstd frame.
      - id: is_scrambled
        type: b1
        doc: |
          The payload is scrambled, so that no decompressor reads it. nvcc 13.0
          stores compressed LTO IR so.
      - id: unknown_17
        type: b3
        doc: 0 in files seen.
      - id: is_arch_specific
        type: b1
        doc: For exactly one GPU, such as sm_90a.
      - id: is_family_specific
        type: b1
        doc: For the GPUs of one family, such as sm_100f.
      - id: unknown_22
        type: b2
        doc: 0 in files seen.
      - id: has_compat
        type: b1
        doc: The extension holds a copy of `.nv.compat`.
      - id: unknown_25
        type: b7
        doc: 0 in files seen.
      - id: unknown_32
        type: b32
        doc: 0 in files seen.
  header_rest:
    doc: Varying part of the header of an entry.
    doc-ref: ksy/tables/fatbin.yaml
    params:
      - id: ofs_extension
        type: u4
        doc: Offset of the extension from the start of the entry, 0 for none.
      - id: has_compat
        type: bool
        doc: True when the extension holds a copy of `.nv.compat`.
    seq:
      - id: identifier
        size: ofs_extension - 64
        if: has_extension and ofs_extension > 64
        -opaque: entry header
        doc: Identifier with its NUL, padded to eight.
      - id: extension
        type: extension_head
        if: has_extension
        doc: Place and size of the extension's data.
      - id: nul
        type: u1
        if: has_compat_copy
        doc: 0, where the data of other extensions starts.
      - id: compat_copy
        size: extension.len_data
        type: compat
        if: has_compat_copy
        doc: Copy of `.nv.compat`, so that a loader need not open the image.
      - id: rest
        size-eos: true
        -opaque: entry header
        doc: |
          Options for ptxas with their NUL, an identifier without extension, or
          padding.
    instances:
      has_extension:
        value: |
          ofs_extension >= 64
            and ofs_extension.as<s8> - 56 <= _io.size.as<s8>
        -webide-parse-mode: lazy
        doc: True when there is an extension inside the header.
      has_compat_copy:
        value: |
          has_extension and has_compat
            and extension.ofs_data == ofs_extension + 8
            and (extension.len_data & 3) == 0
            and extension.len_data.as<s8> + ofs_extension.as<s8> - 55
              <= _io.size.as<s8>
        -webide-parse-mode: lazy
        doc: |
          True when whole records lie inside the header, after the extension.
          Older entries for sm_100 have two numbers of 2 bytes there.
  extension_head:
    doc: Place and size of the data of an extension.
    doc-ref: ksy/tables/fatbin.yaml
    -webide-representation: '{len_data:dec} bytes at {ofs_data:dec}'
    seq:
      - id: ofs_data
        type: u4
        doc: |
          Offset of the data from the start of the entry, eight more than
          that of the extension.
      - id: len_data
        type: u4
        doc: |
          One less than the size of the data. For PTX and IR that is the length
          of the options without their NUL; for a cubin the size of the copy of
          `.nv.compat`, which follows a NUL.
  ptx_payload:
    doc: PTX text.
    doc-ref: ksy/tables/fatbin.yaml
    seq:
      - id: data
        size-eos: true
        -opaque: PTX
        doc: The text, padded with zeros.
  compressed_payload:
    doc: A compressed image.
    doc-ref: ksy/tables/fatbin.yaml
    seq:
      - id: data
        size-eos: true
        -opaque: compressed image
        doc: The bytes; the flags say which scheme.
  raw_payload:
    doc: An image of another kind.
    doc-ref: ksy/tables/fatbin.yaml
    seq:
      - id: data
        size-eos: true
        -opaque: image
        doc: The bytes.
  wrapper:
    doc: |
      Wrapper of a container in the host section `.nvFatBinSegment`, after its
      magic. In an object file each pointer has a relocation; a linked file has
      the address in place, or 0 and the address in a dynamic relocation.
    doc-ref: ksy/tables/fatbin.yaml
    -webide-representation: '{version}'
    seq:
      - id: version
        type: u4
        enum: wrapper_versions
        doc: Who wrote the wrapper.
      - id: ptr_container
        type: u8
        doc: Address of the container.
      - id: ptr_linked
        type: u8
        doc: |
          Address of a list of the linked containers in the wrapper of a device
          link, else 0. The list is in `.bss` and is filled when the program
          starts.
  gap:
    doc: Four zero bytes between containers.
    doc-ref: ksy/tables/fatbin.yaml
    seq: []
  unknown_block:
    doc: Anything else, up to the end.
    doc-ref: ksy/tables/fatbin.yaml
    seq:
      - id: data
        size-eos: true
        -opaque: unclaimed
        doc: The bytes.
enums:
  wrapper_versions:
    1:
      id: compiled
      doc: A compiler.
    2:
      id: device_linked
      doc: A device link.
