"""Rules about relocation sections."""

from __future__ import annotations

from functools import lru_cache

from cubinspec.errors import CubinError
from cubinspec.format.sections import RELOCATION_TYPES
from cubinspec_generated.codes import SHF_EXECINSTR, SHT_CUDA_CAPMERC, SHT_CUDA_MERC_RESOLVED_RELA
from cubinspec_generated.codes_relocation import R_MERCURY_OFFSET
from cubinspec_generated.tables import relocations as table
from cubinspec_writer.checker.rules.base import CENSUS, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec.reader.elf import RelocationRow
    from cubinspec_writer.checker.rules.base import Found
    from cubinspec_writer.checker.view import View

#: Instructions are made of words of this many bytes on every architecture.
_CODE_WORD = 8


def _relocation_rows(view: View, index: int) -> list[RelocationRow]:
    try:
        return view.elf.relocation_rows(index)
    except CubinError:
        return []


@rule(
    "CUB016",
    "Relocations name symbols of their table and fields inside the section they apply to, in code "
    "those of whole instruction words.",
    CENSUS + "; bit fields of ksy/tables/relocations.yaml",
    "Renumber r_info, or correct r_offset; Mercury offsets count in Mercury code.",
)
def _relocations(view: View) -> Iterator[Found]:
    for index in view.of_type(*RELOCATION_TYPES):
        rows = _relocation_rows(view, index)
        if not rows:
            continue
        header = view.sections[index]
        num_symbols = len(view.symbols_for(index))
        target = view.sections[header.sh_info] if header.sh_info < len(view.sections) else None
        # the code in a capsule is not laid out as the offsets count
        is_capsule = target is not None and target.sh_type == SHT_CUDA_CAPMERC
        if view.is_mercury(index) and is_capsule:
            target = None
        row_size = header.sh_size // len(rows)
        for number, (r_offset, r_type, symbol, _) in enumerate(rows):
            where, path = header.sh_offset + number * row_size, f"{view.path(index)}[{number}]"
            if symbol >= num_symbols:
                yield where, path, f"symbol {symbol} of {num_symbols}"
            if target is None:
                continue
            # a type that writes nothing still has a place
            end = r_offset + max(_field_bytes(r_type), 1)
            if end > target.sh_size:
                yield where, path, f"field at {r_offset:#x} to {end:#x} of {target.sh_size:#x}"
            elif target.sh_flags & SHF_EXECINSTR and r_offset % _CODE_WORD:
                yield where, path, f"offset {r_offset:#x} is inside an instruction word"


@lru_cache(maxsize=1024)
def _field_bytes(r_type: int) -> int:
    """Bytes from the place of a relocation to the end of the last field that it writes."""
    kind = table.TYPES.get(r_type)
    if kind is None:
        return 0
    return max(((action.bit + action.width + 7) // 8 for action in kind.actions), default=0)


@rule(
    "CUB017",
    "Relocation types belong to the half they stand in: R_CUDA below 0x10000, R_MERCURY above.",
    "ksy/tables/relocations.yaml; 1,084 Mercury cubins",
    "Use the numbers of the right table.",
)
def _relocation_types(view: View) -> Iterator[Found]:
    for index in view.of_type(*RELOCATION_TYPES):
        header = view.sections[index]
        if header.sh_type == SHT_CUDA_MERC_RESOLVED_RELA:
            continue
        is_mercury = view.is_mercury(index)
        for number, (_, r_type, _, _) in enumerate(_relocation_rows(view, index)):
            if (r_type >= R_MERCURY_OFFSET) != is_mercury:
                yield header.sh_offset, f"{view.path(index)}[{number}]", f"type {r_type:#x}"
