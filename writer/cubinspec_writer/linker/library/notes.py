"""The notes of a cubin: which tools made it, for which target."""

from __future__ import annotations

from cubinspec.format.notes import frame
from cubinspec_generated.codes import (
    EF_CUDA_VIRTUAL_SM_MASK,
    EF_CUDA_VIRTUAL_SM_SHIFT,
    NT_NV_TKINFO,
    SHT_NOTE,
)
from cubinspec_generated.records import TKINFO_HEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.model import InputObject

CUINFO: Final = ".note.nv.cuinfo"

_CUDA_NOTES: Final[tuple[str, ...]] = (CUINFO, ".note.nv.cuver")

TOOL: Final = "cubinspec"
TOOL_VERSION: Final = "cubinspec 0.1.0"


def own_tkinfo(arguments: str) -> bytes:
    """Our own tool note."""
    texts = ["", TOOL, TOOL_VERSION, "", arguments]
    pool, offsets = bytearray(), []
    for text in texts:
        offsets.append(len(pool))
        pool += text.encode() + b"\0"
    pool += bytes(-len(pool) % 4)
    return frame(NT_NV_TKINFO, TKINFO_HEAD.pack(2, *offsets) + pool)


def virtual_target(obj: InputObject) -> int | None:
    """The virtual architecture that an input was compiled for.

    It is in `.note.nv.cuinfo`, before CUDA 13 in `.note.nv.cuver` or in bits 16-23 of `e_flags`.
    """
    for section in obj.of_types((SHT_NOTE,)):
        if section.name in _CUDA_NOTES and len(section.data) >= 32:
            return int.from_bytes(section.data[26:28], "little")
    return (obj.flags & EF_CUDA_VIRTUAL_SM_MASK) >> EF_CUDA_VIRTUAL_SM_SHIFT or None


def lowest_virtual(objects: list[InputObject], sm: int) -> int:
    """The lowest virtual architecture of some inputs; that of the target where none says it."""
    found = [virtual for obj in objects if (virtual := virtual_target(obj)) is not None]
    return min(found, default=sm)


def toolkit_of(note: bytes) -> int:
    """The CUDA version in `.note.nv.cuinfo`, major * 10 + minor; 0 when it has none."""
    return int.from_bytes(note[28:30], "little")
