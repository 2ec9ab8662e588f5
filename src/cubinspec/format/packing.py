"""Alignment, numbers that share one field of the file, and tables field by field.

Loops over many rows use the masks and shifts of ``codes`` in place (``ST_TYPE_MASK``,
``SHI_SYMBOL_MASK``, ``SHF_BARRIERS_SHIFT``, …); these functions are for everything else:

* ``align_up(value, alignment)``; ``words(body)``
* tables: ``split(record, table)``, ``join(record, columns)``
* ``st_info``: ``symbol_info(binding, kind)``
* ``st_other``: ``memory_space(other)``
* ``sh_info`` of code: ``code_info(symbol, registers)``, ``registers_of(info)``
* ``sh_flags`` of code before ABI 8: ``barriers_of(flags)``
* ``e_flags``: ``sm_of(os_abi, flags)``, ``virtual_sm_of(os_abi, flags)``, ``abi_8_flags(kind,
  sm)``, ``with_note(flags, index)``
* ``st_shndx``, ``e_shnum``, ``e_shstrndx``: ``is_far(index)``
"""

from __future__ import annotations

from _struct import Struct, calcsize, pack, unpack_from

from cubinspec_generated.codes import (
    EF_CUDA_64BIT_ADDRESS,
    EF_CUDA_ACCELERATORS,
    EF_CUDA_SM_MASK,
    EF_CUDA_TEXMODE_INDEPENDENT,
    EF_CUDA_TEXMODE_UNIFIED,
    EF_CUDA_V2_CUINFO_SECTION_MASK,
    EF_CUDA_V2_CUINFO_SECTION_SHIFT,
    EF_CUDA_V2_SM_MASK,
    EF_CUDA_V2_SM_SHIFT,
    EF_CUDA_VIRTUAL_SM_MASK,
    EF_CUDA_VIRTUAL_SM_SHIFT,
    ELFOSABI_CUDA_V2,
    SHF_BARRIERS_MASK,
    SHF_BARRIERS_SHIFT,
    SHI_REGISTERS_SHIFT,
    SHN_LORESERVE,
    ST_BIND_SHIFT,
    STO_CUDA_SPACE_MASK,
    STO_CUDA_SPACE_SHIFT,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Final

#: Largest index of a note that ``e_flags`` can hold; readers take it for "not said, search it".
MAX_NOTE_INDEX: Final = EF_CUDA_V2_CUINFO_SECTION_MASK >> EF_CUDA_V2_CUINFO_SECTION_SHIFT
_LITTLE = unpack_from("=H", b"\1\0")[0] == 1
#: Of so few rows a table is made faster row by row.
_FEW_ROWS: Final = 128


def align_up(value: int, alignment: int) -> int:
    """The next multiple of ``alignment``; 0 and 1 ask for none."""
    return value if alignment < 2 else -(-value // alignment) * alignment


def words(body: bytes) -> list[int]:
    """All whole 32-bit words of a body."""
    return list(unpack_from(f"<{len(body) // 4}I", body))


def split(record: Struct, table: bytes) -> list[Sequence[int]]:
    """The columns of a table, one for each field of the record, in its order.

    Args:
        record: little-endian integers, each of which is aligned.
        table: whole records.
    """
    if not _LITTLE or len(table) <= _FEW_ROWS * record.size:
        columns = [*zip(*record.iter_unpack(table), strict=True)]
        return [*columns] or [()] * (len(record.format) - 1)
    views = _views(record, memoryview(table))
    return [_cast(memoryview(view.tobytes()), view.format) for view in views]


def join(record: Struct, columns: Sequence[Sequence[int]]) -> bytearray:
    """The table that has these columns; the inverse of :func:`split`.

    Raises:
        struct.error: a number does not fit its field.
    """
    count = len(columns[0])
    if not _LITTLE or count <= _FEW_ROWS:
        return bytearray().join(map(record.pack, *columns))
    table = bytearray(count * record.size)
    for view, column in zip(_views(record, memoryview(table)), columns, strict=True):
        if not isinstance(column, memoryview):
            first = column[0]
            if first == column[-1] and column.count(first) == count:
                if not first:
                    continue  # the table is made of zeros
                packed = pack(f"={view.format}", first) * count
            else:
                packed = pack(f"={count}{view.format}", *column)
            column = _cast(memoryview(packed), view.format)
        view[:] = column
    return table


def _cast(table: memoryview, code: str) -> memoryview:
    return table.cast(code)  # type: ignore[call-overload,no-any-return]


def _views(record: Struct, table: memoryview) -> Iterator[memoryview]:
    at = 0
    for code in record.format.lstrip("<"):
        width = calcsize(f"={code}")
        yield _cast(table, code)[at // width :: record.size // width]
        at += width


def symbol_info(binding: int, kind: int) -> int:
    """``st_info`` of a binding and a symbol type."""
    return binding << ST_BIND_SHIFT | kind


def memory_space(other: int) -> int:
    """The memory space (``STO_CUDA_GLOBAL`` …) in ``st_other``; only relocatable files have it."""
    return (other & STO_CUDA_SPACE_MASK) >> STO_CUDA_SPACE_SHIFT


def code_info(symbol: int, registers: int) -> int:
    """``sh_info`` of a code section: the symbol of its function, and the register count."""
    return registers << SHI_REGISTERS_SHIFT | symbol


def registers_of(info: int) -> int:
    """The register count in ``sh_info`` of a code section; 0 from sm_90 on."""
    return info >> SHI_REGISTERS_SHIFT


def barriers_of(flags: int) -> int:
    """The number of named barriers in ``sh_flags`` of a code section, up to CUDA 12."""
    return (flags & SHF_BARRIERS_MASK) >> SHF_BARRIERS_SHIFT


def sm_of(os_abi: int, flags: int) -> int:
    """Number of the target in ``e_flags``, 90 for sm_90."""
    if os_abi == ELFOSABI_CUDA_V2:
        return (flags & EF_CUDA_V2_SM_MASK) >> EF_CUDA_V2_SM_SHIFT
    return flags & EF_CUDA_SM_MASK


def virtual_sm_of(os_abi: int, flags: int) -> int | None:
    """Number of the virtual target in ``e_flags``; ABI 8 keeps it in a note."""
    if os_abi == ELFOSABI_CUDA_V2:
        return None
    return (flags & EF_CUDA_VIRTUAL_SM_MASK) >> EF_CUDA_VIRTUAL_SM_SHIFT


def abi_8_flags(kind: int, sm: int) -> int:
    """``e_flags`` of ABI 8 without the note.

    Args:
        kind: ``EF_CUDA_V2_SASS_ONLY``, ``EF_CUDA_V2_CAPSULE``, ….
    """
    return sm << EF_CUDA_V2_SM_SHIFT | kind


def abi_7_flags(
    sm: int, virtual: int, *, specific: bool, is_64: bool = True, independent: bool = False
) -> int:
    """``e_flags`` of ABI 7.

    Args:
        virtual: number of the architecture that the PTX was written for.
        specific: whether the code is of an ``a`` variant.
        is_64: whether addresses have 64 bits.
        independent: whether textures and samplers are apart.
    """
    bits = EF_CUDA_TEXMODE_INDEPENDENT if independent else EF_CUDA_TEXMODE_UNIFIED
    bits |= EF_CUDA_64BIT_ADDRESS if is_64 else 0
    bits |= EF_CUDA_ACCELERATORS if specific else 0
    return sm | bits | virtual << EF_CUDA_VIRTUAL_SM_SHIFT


def with_note(flags: int, index: int) -> int:
    """``e_flags`` of ABI 8 with the section index of the CUDA note."""
    return flags | min(index, MAX_NOTE_INDEX) << EF_CUDA_V2_CUINFO_SECTION_SHIFT


def is_far(index: int) -> bool:
    """Whether a section index (or count) does not fit into the 16 bits of the ELF header."""
    return index >= SHN_LORESERVE
