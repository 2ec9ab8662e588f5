"""Textures, samplers and surfaces: their symbols, their state, and the indices behind parameters.

In relocatable files code refers to an image by relocations. In others a kernel has a table of
indices behind its parameters, which the driver fills in by relocations of the parameter bank.
"""

from __future__ import annotations

from dataclasses import replace

from cubinspec.format.packing import align_up
from cubinspec_generated.codes import (
    EIATTR_SAMPLER_FORCE_UNNORMALIZED,
    EIATTR_SAMPLER_INIT,
    KPARAM_SPACE_SAMPLER,
    KPARAM_SPACE_SURFACE,
    KPARAM_SPACE_TEXTURE,
    STT_CUDA_SAMPLER,
    STT_CUDA_SURFACE,
    STT_CUDA_TEXTURE,
)
from cubinspec_generated.codes_enums import (
    SAMPLER_ADDR_MODE_NOT_GIVEN,
    SAMPLER_FILTER_MODE_NOT_GIVEN,
)
from cubinspec_writer.builder.parts import SAMPLER, SURFACE, TEXTURE, Relocation, placed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.format.targets import Family
    from cubinspec_writer.builder.assembly import Assembly
    from cubinspec_writer.builder.parts import CubinParts, Function, Sampler

#: Type of the symbol of an image.
SYMBOL_TYPES = {
    TEXTURE: STT_CUDA_TEXTURE,
    SAMPLER: STT_CUDA_SAMPLER,
    SURFACE: STT_CUDA_SURFACE,
}
#: What the attribute of a parameter says of an image.
PARAMETER_SPACES = {
    TEXTURE: KPARAM_SPACE_TEXTURE,
    SAMPLER: KPARAM_SPACE_SAMPLER,
    SURFACE: KPARAM_SPACE_SURFACE,
}
#: Each index is a word.
INDEX_SIZE = 4
#: Relocation of the index of a sampler that is not joined with that of a texture.
_SAMPLER_INDEX = "R_CUDA_SAMP_HEADER_INDEX_0"
#: How many dimensions the state of a sampler has modes for.
DIMENSIONS = 3


def scoped(function: str, name: str) -> str:
    """What a parameter of a function is known by here: two kernels may use the same name."""
    return f"{function}\0{name}"


def unscoped(name: str) -> str:
    """The name in the file of something that may be a parameter."""
    return name.partition("\0")[2] or name


def scoped_rows(function: Function, rows: list[Relocation]) -> list[Relocation]:
    """Relocations of a function, where its own parameters have the names that are known here."""
    own = {parameter.name for parameter in function.parameters if parameter.image}
    if not own:
        return rows
    return [
        replace(row, symbol=scoped(function.name, row.symbol)) if row.symbol in own else row
        for row in rows
    ]


def kinds(parts: CubinParts, function: Function) -> dict[str, str]:
    """What each name is that the code of a function may use as an image."""
    found = {one.name: one.space for one in parts.variables if one.space in SYMBOL_TYPES}
    return found | {one.name: one.image for one in function.parameters if one.image}


def offsets(function: Function) -> list[int]:
    """Place of each index of a kernel, counted from the first one."""
    found: list[int] = []
    end = 0
    for slot in function.images:
        at = end if slot.offset is None else slot.offset
        found.append(at)
        end = max(end, at + INDEX_SIZE)
    return found


def module_table_size(assembly: Assembly, function: Function) -> int:
    """Size of the indices of a kernel, or of all of them where they share a table."""
    sharing = assembly.parts.functions if assembly.parts.names_shared else [function]
    return max(map(table_size, sharing))


def table_size(function: Function) -> int:
    """Size of the indices of a kernel."""
    return max(offsets(function), default=-INDEX_SIZE) + INDEX_SIZE


def table_start(assembly: Assembly, function: Function) -> int:
    """Where the indices of a kernel begin.

    All kernels of a file have one place for them, but for executables before sm_90 that keep
    neither relocations nor symbols of shared memory.
    """
    is_shared = assembly.finalizer or assembly.parts.names_shared
    functions = assembly.parts.functions if is_shared else [function]
    end = max(placed(one)[1] for one in functions)
    return align_up(
        assembly.target.architecture.param_base + end, assembly.target.family.slot_align
    )


def index_relocations(
    assembly: Assembly, function: Function, start: int, family: Family
) -> list[Relocation]:
    """Relocations that fill in the indices of a kernel.

    Args:
        start: where the indices begin in the section.
        family: with the types of the relocations.
    """
    known = kinds(assembly.parts, function)
    types: dict[int, int | str] = {**family.handle_relocs}
    if assembly.finalizer and family is assembly.target.family:
        # nvlink writes the other one for sm_90
        types[STT_CUDA_SAMPLER] = _SAMPLER_INDEX
    rows = [
        Relocation(start + at, types[SYMBOL_TYPES[known[slot.image]]], slot.image)
        for slot, at in zip(function.images, offsets(function), strict=True)
    ]
    return scoped_rows(function, rows)


def handle_names(function: Function) -> list[str]:
    """Names that extensible programs make for the indices: a texture stands with its sampler."""
    together: dict[int, list[str]] = {}
    for slot, at in zip(function.images, offsets(function), strict=True):
        together.setdefault(at, []).append(slot.image)
    return ["$".join(("$BINDLESS", function.name, *names)) for names in together.values()]


def shared_handle_names(parts: CubinParts) -> list[str]:
    """Names of the indices in a table for all kernels: of each kind the last one made first."""
    found: list[str] = []
    for space in SYMBOL_TYPES:
        made = [one.name for one in parts.variables if one.space == space]
        made += [
            one.name
            for function in parts.functions
            for one in function.parameters
            if one.image == space
        ]
        found += [f"$NVLINKBINDLESSOFF_{name}" for name in reversed(made)]
    return found


def sampler_rows(samplers: list[Sampler]) -> list[tuple[int, str, int]]:
    """Rows of ``.nv.info`` about samplers, in the order in which ptxas makes them."""
    rows = []
    for sampler in samplers:
        modes = [*sampler.address_modes, *[SAMPLER_ADDR_MODE_NOT_GIVEN] * DIMENSIONS][:DIMENSIONS]
        filter_mode = sampler.filter_mode
        if filter_mode is None:
            filter_mode = SAMPLER_FILTER_MODE_NOT_GIVEN
        state = int.from_bytes(bytes((*modes, filter_mode)), "little")
        rows.append((EIATTR_SAMPLER_INIT, sampler.name, state))
        if sampler.unnormalized:
            rows.append((EIATTR_SAMPLER_FORCE_UNNORMALIZED, sampler.name, 1))
    return rows
