"""The passes from resolved inputs to finished sections, for one program.

A link of sm_75 to sm_90 runs them once. From sm_100 on they run for the Mercury half and for the
SASS half, which `output` then joins.
"""

from __future__ import annotations

from cubinspec_writer.linker.diagnostics import Diagnostics
from cubinspec_writer.linker.family import Family
from cubinspec_writer.linker.inputs.host import KernelFilter
from cubinspec_writer.linker.inputs.options import LinkOptions
from cubinspec_writer.linker.model import (
    LINE_TABLES,
    SHF_EXECINSTR,
    SHT_CUDA_COMPAT,
    SHT_CUDA_INFO,
    SHT_CUDA_RELOCINFO,
    SHT_NOTE,
    SHT_STRTAB,
    SHT_SYMTAB,
    InputObject,
    OutSection,
)
from cubinspec_writer.linker.passes import callgraph, compat, info, notes, unified
from cubinspec_writer.linker.passes.callgraph import join_callgraphs
from cubinspec_writer.linker.passes.liveness import mark_live, undefined_names
from cubinspec_writer.linker.passes.merge import merge
from cubinspec_writer.linker.passes.number import number_symbols
from cubinspec_writer.linker.passes.place import place, place_commons
from cubinspec_writer.linker.passes.relocate import relocate
from cubinspec_writer.linker.passes.resolve import resolve
from cubinspec_writer.linker.passes.textures import place_textures
from cubinspec_writer.linker.state import LinkState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.inputs.uidx import Index

#: `.nv.rel.action` of every executable up to sm_90: what relocation type 115 does.
_REL_ACTION = bytes.fromhex("73000000000000000000001125000536")


def link_half(
    objects: list[InputObject],
    options: LinkOptions,
    family: Family,
    diagnostics: Diagnostics,
    twin: LinkState | None = None,
    kernels: KernelFilter | None = None,
    index: Index | None = None,
) -> LinkState:
    """Run all passes up to the numbering of symbols.

    Args:
        twin: the Mercury half of the same program, when this is its SASS half.
        kernels: which kernels are wanted; None: all.
        index: where unified functions and data have their places.
    """
    state = LinkState(options, family, objects, diagnostics, kernels, index)
    fixed = state.sections.fixed = _name_fixed_sections(state)
    resolve(state)
    diagnostics.stop_on_errors()  # of warnings about inputs and options, with -Werror
    mark_live(state)
    undefined = undefined_names(state)
    merge(state)
    place_commons(state)
    join_callgraphs(state)
    graph = state.graph
    callgraph.create_sections(state, graph)
    place_textures(state, graph)
    place(state, graph)
    mismatch = _arrange_unified(state)
    if family.has_rel_action and not options.relocatable:
        action = state.create_section(".nv.rel.action", SHT_CUDA_RELOCINFO, 0, 8, entsize=8)
        action.data += _REL_ACTION
    relocate(state)
    state.symbols.numbered = number_symbols(state)
    if family.drops_dead_frames:
        for (target, _), rows in state.relocations.sections.items():
            if target.name in LINE_TABLES:
                from cubinspec_writer.linker.finalizer.lines import sort_sequences

                sort_sequences(target, rows)
    unified.fill(state)
    info.fill(state, graph, fixed[".nv.info"], twin)
    for text in undefined:
        diagnostics.error(text)
    if mismatch is not None:
        raise diagnostics.fatal(mismatch)
    _fill_notes(state, fixed)
    for function in state.symbols.functions:
        section = function.section
        if section is not None and section.owner is function and section.flags & SHF_EXECINSTR:
            count = section.info_value if family.registers_in_sh_info else 0
            section.info_value = function.index | count
    return state


def _arrange_unified(state: LinkState) -> str | None:
    """Give stubs and unified variables the places that the index says.

    Returns:
        What is wrong, in nvlink's words where it has some; it is told after what is undefined.
    """
    if state.options.relocatable:
        return None
    if state.index is None:
        return unified.MISSING_INDEX if unified.has_rows(state) else None
    from cubinspec_writer.linker.passes.arrange import arrange  # with an index only

    return arrange(state, state.index)


def _name_fixed_sections(state: LinkState) -> dict[str, OutSection]:
    """Enter the sections that every output has, before anything else is named."""
    fixed = {
        ".shstrtab": OutSection(".shstrtab", SHT_STRTAB, 0, 1),
        ".strtab": OutSection(".strtab", SHT_STRTAB, 0, 1),
        ".symtab": OutSection(".symtab", SHT_SYMTAB, 0, 8, 24),
        ".note.nv.tkinfo": OutSection(".note.nv.tkinfo", SHT_NOTE, notes.SHF_TKINFO, 4),
        ".note.nv.cuinfo": OutSection(".note.nv.cuinfo", SHT_NOTE, state.family.cuinfo_flags, 4),
        ".nv.info": OutSection(".nv.info", SHT_CUDA_INFO, 0, 4),
        ".nv.compat": OutSection(".nv.compat", SHT_CUDA_COMPAT, 0, 4),
    }
    if not state.family.compat_section:
        del fixed[".nv.compat"]
    for name, section in fixed.items():
        if name == ".nv.info":
            unified.create_function_rows(state)
        section.has_symbol = section.sh_type == SHT_NOTE
        state.names.entries.append(section)
        if name == ".symtab":
            state.names.add(".symtab_shndx")
    unified.copy_index(state)
    fixed[".nv.info"].emitted = any(info.has_globals(obj) for obj in state.objects)
    return fixed


def _fill_notes(state: LinkState, fixed: dict[str, OutSection]) -> None:
    fixed[".note.nv.tkinfo"].data += notes.tool_notes(state)
    cuinfo = fixed[".note.nv.cuinfo"]
    cuinfo.data += notes.cuda_note(state)
    cuinfo.info_section = fixed.get(".nv.compat")
    if cuinfo.info_section is not None:
        cuinfo.info_section.data += compat.compat_bytes(state)
