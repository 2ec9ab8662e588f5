"""Columns of a scan: one row per image, one per kernel in it, one per fault."""

from __future__ import annotations

#: Name, type (``string``, ``int64``, ``bool``) and meaning. Sizes are bytes; a column that does
#: not apply to a row is null.
COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("record", "string", "what the row is about: image, kernel or fault"),
    ("file", "string", "path as it was given or found below a folder"),
    ("path", "string", "way to the image: file → member → fatbin n → entry m"),
    ("member", "string", "archive members on the way, joined by →"),
    ("section", "string", "section of the host file that holds the image"),
    ("image", "int64", "number of the image in the file, from 0"),
    ("kind", "string", "cubin, ptx, lto, …"),
    ("arch", "string", "target: sm_90a, compute_90"),
    ("sm", "int64", "number of the target"),
    ("offset", "int64", "where the stored bytes begin in the innermost file or member"),
    ("stored_size", "int64", "bytes stored"),
    ("size", "int64", "bytes after decompression"),
    ("compression", "string", "none, zstd, lz4, lz4-frame or zlib"),
    ("sha256", "string", "of the decompressed image; null when it is scrambled"),
    ("superseded", "bool", "whether it is an input of a device link whose result is in the file"),
    ("type", "string", "exe for final images, rel for relocatable ones, of cubins and kernels"),
    ("elf_type", "string", "ET_EXEC, ET_REL, …"),
    ("tool", "string", "what made the cubin, from its note"),
    ("tool_version", "string", "version of that tool"),
    ("num_kernels", "int64", "kernels in the image"),
    ("name", "string", "mangled name of the kernel"),
    ("demangled", "string", "its readable name"),
    ("registers", "int64", "registers per thread"),
    ("stack", "int64", "stack per thread; null when recursion leaves it unbounded"),
    ("shared", "int64", "static shared memory per block"),
    ("local", "int64", "static local memory per thread"),
    ("const0", "int64", "size of constant bank 0"),
    ("barriers", "int64", "named barriers"),
    ("max_threads", "int64", "most threads per block"),
    ("num_params", "int64", "parameters"),
    ("param_size", "int64", "size of the parameter block"),
    ("code_size", "int64", "size of the code"),
    ("error", "string", "what was wrong, in a fault row"),
)
NAMES = tuple(name for name, _, _ in COLUMNS)
