"""What differs between architectures and kinds of output, as data.

Three families share every rule but these: sm_75 to sm_89, sm_90, and sm_100 up (which carry a
Mercury half beside the SASS code). Values were observed in outputs of nvlink 13.0.88.
"""

from __future__ import annotations

from cubinspec_writer.linker.model import STT_CUDA_SAMPLER, STT_CUDA_SURFACE, STT_CUDA_TEXTURE
from cubinspec_writer.plain import dataclass, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Profile:
    """The rules of one family.

    Attributes:
        has_compat: a `.nv.compat` section exists.
        has_rel_action: executables carry `.nv.rel.action`.
        constant0_companion: creating a parameter bank also names its `.rel` section.
        register_count_in_text: `sh_info` of code holds the register count in its top byte.
        always_rela: relocations are kept with addends only.
        reserved_shared: bytes of shared memory that precede a kernel's own.
        mercury: the cubin carries a Mercury half.
        flags_kind: low byte of `e_flags`.
        cuinfo_flags: `sh_flags` of `.note.nv.cuinfo`.
        constant0_late: parameter banks are made by the finalizer, after everything else.
        reserved_start: where variables in reserved shared memory begin.
        keeps_symbols: kinds and spaces of symbols stay as in the inputs (Mercury symbols).
        keeps_aligned_shared: empty shared sections with more than that alignment of arrays of
            dynamic size stay, too.
        names_dynamic: `--preserve-relocs` keeps names of arrays of dynamic size with the pool.
        drops_dead_frames: frame and line tables lose the entries of dead functions.
        handle_relocs: kind of reference -> relocation type that writes its header index.
        slot_align: alignment of the slots of references behind the parameters.
    """

    has_compat: bool
    has_rel_action: bool
    constant0_companion: bool
    register_count_in_text: bool
    always_rela: bool
    reserved_shared: int
    mercury: bool
    flags_kind: int
    cuinfo_flags: int
    constant0_late: bool
    handle_relocs: Mapping[int, int]
    slot_align: int = 4
    reserved_start: int = 0
    keeps_symbols: bool = False
    drops_dead_frames: bool = False
    keeps_aligned_shared: bool = False
    names_dynamic: bool = False


def _handles(texture: int, sampler: int, surface: int) -> Mapping[int, int]:
    return {STT_CUDA_TEXTURE: texture, STT_CUDA_SAMPLER: sampler, STT_CUDA_SURFACE: surface}


_OLD = Profile(
    has_compat=False,
    has_rel_action=True,
    constant0_companion=True,
    register_count_in_text=True,
    always_rela=False,
    reserved_shared=0,
    mercury=False,
    flags_kind=4,
    cuinfo_flags=0x1000000,
    constant0_late=False,
    handle_relocs=_handles(6, 7, 52),
)
_HOPPER = Profile(
    has_compat=True,
    has_rel_action=True,
    constant0_companion=True,
    register_count_in_text=False,
    always_rela=True,
    reserved_shared=0x400,
    mercury=False,
    flags_kind=4,
    cuinfo_flags=0x1000040,
    constant0_late=False,
    handle_relocs=_handles(6, 7, 52),
    keeps_aligned_shared=True,
    names_dynamic=True,
)
_BLACKWELL = Profile(
    has_compat=True,
    has_rel_action=False,
    constant0_companion=False,
    register_count_in_text=False,
    always_rela=True,
    reserved_shared=0x400,
    mercury=True,
    flags_kind=2,
    cuinfo_flags=0x1000040,
    constant0_late=True,
    handle_relocs=_handles(6, 101, 52),
    slot_align=16,
    reserved_start=0x40,
    drops_dead_frames=True,
)
#: The Mercury half of a program beside its SASS half.
MERCURY_HALF = replace(
    _BLACKWELL,
    reserved_start=0,
    keeps_symbols=True,
    drops_dead_frames=False,
    handle_relocs=_handles(0x1000B, 0x1000C, 0x1000D),
)
#: First sm number of each family, highest first.
_FAMILIES = ((100, _BLACKWELL), (90, _HOPPER), (0, _OLD))


def profile_for(sm: int) -> Profile:
    """The family that an sm number belongs to."""
    return next(p for first, p in _FAMILIES if sm >= first)
