"""Pass 6: offsets that need the whole program: commons, shared memory, compiler constants.

Fixed from here on: `Symbol.value` and the size of every data section.

*Commons* lie at the end of `.nv.global`, last name first.

*Shared memory.* A variable that several kernels reach (directly or through functions they call) has
one offset for all of them; these are packed from 0, largest first. What only one kernel reaches
follows the last common variable that this kernel uses, by alignment, largest first. Arrays of
dynamic size lie behind: one offset for all kernels that share a device function with such an array.
sm_90 and later reserve 0x400 bytes in front, which count in the section size only.

*Compiler constants* (`.nv.constant2.F`) of device functions are copied into the bank of every
kernel that reaches the function, at one offset for all of them.
"""

from __future__ import annotations

from cubinspec_generated.tables.arch import ARCHES
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.graph import Below, Graph
from cubinspec_writer.linker.inputs.options import debugger_sees
from cubinspec_writer.linker.model import (
    SHF_ALLOC,
    SHF_INFO_LINK,
    SHF_WRITE,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_GLOBAL,
    SHT_CUDA_SHARED,
    STO_CUDA_SPACE,
    InSection,
    OutSection,
    Reloc,
    Space,
    Symbol,
    align_up,
)
from cubinspec_writer.linker.passes.instances import size_shared
from cubinspec_writer.linker.passes.liveness import code_relocations
from cubinspec_writer.linker.passes.merge import SHARED_POOL
from cubinspec_writer.linker.passes.relocate import NO_ADDRESS
from cubinspec_writer.linker.state import LinkState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_GLOBAL = ".nv.global"
_SHARED_LIMIT = 0xC000
_CONSTANT_LIMIT = 0x10000
_DYNAMIC_ALIGN = 16
_SHARED_BITS = Space.SHARED << 5
_CONSTANT2, _CONSTANT3 = SHT_CUDA_CONSTANT_B0 + 2, SHT_CUDA_CONSTANT_B0 + 3


def place_commons(state: LinkState) -> None:
    """Allocate common variables, the one that was first met as common last."""
    commons = [
        symbol for name in state.symbols.commons if (symbol := state.symbols.by_name[name]).common
    ]
    if not commons:
        return
    section = state.sections.find(_GLOBAL) or state.create_section(
        _GLOBAL, SHT_CUDA_GLOBAL, SHF_ALLOC | SHF_WRITE, 0
    )
    for symbol in reversed(commons):
        symbol.value = section.append(b"", symbol.size, symbol.alignment)
        symbol.section = section


def place(state: LinkState, graph: Graph) -> None:
    """Lay out shared memory and compiler constants."""
    below = Below(graph, state)
    if state.options.relocatable:
        size_shared(state)
    else:
        _place_shared(state, below)
        _place_constants(state, below)
        _mark_last_block(state)
        _check_limits(state)
    for section in state.constants.mixed:
        # nvlink refuses the link when the copy that gave way had larger tables (wide seed 424).
        relocs = state.reloc_section(section, is_rela=True)
        if relocs is None or all(row.offset < section.size for row in relocs.relocs):
            continue
        if state.options.relocatable and section.content:
            raise UnsupportedLinkError(f"-r with a larger weak copy of section '{section.name}'")
        relocs.relocs = [row for row in relocs.relocs if row.offset < section.size]
    # Banks that stay empty leave no name either (weak_replaced, wide seed 199).
    for section in state.sections.vacated:
        section.emitted = bool(section.content)
    gone = {section for section in state.sections.vacated if not section.emitted}
    for section in list(gone):
        # Relocations of the copy that gave way (weak_jump_tables).
        relocs = state.reloc_section(section, is_rela=True)
        if relocs is not None:
            relocs.relocs.clear()
            gone.add(relocs)
    if gone:
        state.names.drop(gone)


def _larger(a: Symbol, b: Symbol) -> bool:
    return a.size > b.size


def _place_shared(state: LinkState, below: Below) -> None:
    used_by_function = _shared_uses(state)
    uses = {
        kernel: {v: None for f in below[kernel] for v in used_by_function.get(f, ())}
        if used_by_function
        else {}
        for kernel in below.kernels
    }
    users: dict[Symbol, list[Symbol]] = {}
    for kernel, variables in uses.items():
        for variable in variables:
            users.setdefault(variable, []).append(kernel)
    end = 0
    pool = state.sections.find(SHARED_POOL)
    for members in state.sections.members.values():
        for variable in members:
            if variable.space == Space.SHARED:
                variable.value = 0  # what no kernel reaches stays there
    pooled = split_sort(_variables_of(state, pool), _larger)
    named = _named_in_code(state) if pooled else set()
    # What no kernel reaches takes up place among the rest when any code names it (seed 112).
    for variable in pooled:
        variable.live = variable in users or variable in named
    pooled = [v for v in pooled if v.is_defined]
    common = [v for v in pooled if v in named and len(users.get(v, ())) != 1]
    # Sections are known to hold arrays of dynamic size by their alignment of 16 alone, so taking 16
    # from the pool makes empty sections stay (seeds 1, 14), and taking 32 makes them go (seed 50).
    arrays = [x for x in state.symbols.globals if x.space == Space.SHARED and not x.is_defined]
    has_dynamic = bool(arrays)
    # One common variable makes every kernel take the pool's alignment.
    taken = pool.align if pool is not None and common else 0
    everywhere = has_dynamic and (
        taken == _DYNAMIC_ALIGN or (state.family.keeps_aligned_shared and taken > _DYNAMIC_ALIGN)
    )
    end = _place_common(common, users)
    sizes: dict[Symbol, int] = {}
    aligns: dict[Symbol, int] = {}
    placed: dict[Symbol, OutSection] = {}
    made = {s.owner: s for s in state.sections.by_type.get(SHT_CUDA_SHARED, ())}
    if len(below.kernels) > len(state.linked_kernels()):
        for kernel in _without_section(state, pooled, users, made):
            section = state.shared_section(kernel, make=True)
            if section is not None:
                made[kernel] = section
    for kernel, variables in uses.items():
        if not variables and kernel not in made and not everywhere:
            continue
        section = made.get(kernel) or state.shared_section(kernel, make=bool(variables))
        if section is None:
            continue
        shared = [v for v in variables if len(users[v]) > 1]
        size = max((v.value + v.size for v in shared if v.is_defined), default=0)
        own = list(_variables_of(state, section))
        own += [v for v in pooled if v in variables and len(users[v]) == 1]
        for variable in split_sort(own, _larger_alignment):
            variable.value = align_up(size, variable.alignment)
            size = variable.value + variable.size
            variable.section = section
        placed[kernel], sizes[kernel] = section, size
        aligns[kernel] = max((v.alignment for v in own), default=0)
        if state.is_kernel(kernel) or any(v.is_defined for v in variables):
            aligns[kernel] = max(aligns[kernel], taken)
    _place_dynamic(state, below, used_by_function, sizes, aligns)
    for kernel, section in placed.items():
        section.align = aligns[kernel]
        section.nobits_size = sizes[kernel]
        dynamic = any(not v.is_defined for v in uses[kernel])
        dynamic = dynamic and section.align == _DYNAMIC_ALIGN
        section.emitted = bool(sizes[kernel]) or dynamic or everywhere
        if sizes[kernel] > _SHARED_LIMIT and not _allows_more_shared(state):
            state.diagnostics.error(
                f"Entry function '{kernel.name}' uses too much shared data "
                f"({sizes[kernel]:#x} bytes, {_SHARED_LIMIT:#x} max)"
            )
        if section.emitted:
            section.reserved = state.family.reserved_shared
    if pool is not None:
        options = state.options
        named_later = options.preserve_relocs or debugger_sees(options)
        listed = named_later and bool(common)
        pool.emitted = (has_dynamic and taken <= _DYNAMIC_ALIGN) or listed
        if has_dynamic:
            pool.align = max(_DYNAMIC_ALIGN, pool.align if listed else 0)
        pool.nobits_size = end if listed else 0
        if pool.emitted and (state.family.constant0_deferred or named_later):
            pool.reserved = state.family.reserved_shared
        if listed and options.preserve_relocs and state.family.names_dynamic:
            for array in arrays:
                array.section, array.value = pool, NO_ADDRESS
                array.internal = array.live = True


def _without_section(
    state: LinkState,
    pooled: list[Symbol],
    users: dict[Symbol, list[Symbol]],
    made: dict[Symbol | None, OutSection],
) -> list[Symbol]:
    """Kernels whose section merging did not make, as they are not wanted, in nvlink's order.

    First those with a variable that only they use, then those with common ones, in the order of
    relocations (kernels_preserved, wide seed 339).
    """
    single = [users[v][0] for v in pooled if len(users.get(v, ())) == 1]
    naming = [
        (row.serial, target.owner, row.symbol)
        for (target, _), relocs in state.relocations.sections.items()
        if target.owner is not None
        for row in relocs.relocs
    ]
    naming.sort(key=lambda item: item[0])
    several = [
        function
        for v in pooled
        if len(users.get(v, ())) > 1
        for _, function, symbol in naming
        if symbol is v and function in users[v]
    ]
    return [k for k in dict.fromkeys((*single, *several)) if k not in made]


def _place_common(common: list[Symbol], users: dict[Symbol, list[Symbol]]) -> int:
    """Give variables of several kernels their offsets; returns the end of the last one.

    Variables that no kernel needs together share a group. A variable goes into the first group in
    which it meets nobody; groups lie one behind the other, each with the largest size and alignment
    of its members.
    """
    groups: list[tuple[list[Symbol], set[Symbol]]] = []
    for variable in common:
        kernels = set(users.get(variable, ()))
        for members, occupied in groups:
            if occupied.isdisjoint(kernels):
                members.append(variable)
                occupied |= kernels
                break
        else:
            groups.append(([variable], kernels))
    end = 0
    for members, _ in groups:
        start = align_up(end, max(v.alignment for v in members))
        end = start + max(v.size for v in members)
        for variable in members:
            variable.value = start
    return end


def _named_in_code(state: LinkState) -> set[Symbol]:
    """Shared variables that code of the inputs names, linked or not."""
    rows = ((obj, row) for obj in state.objects for row in code_relocations(obj))
    symbols = (obj.bound[index] for obj, (_, _, index, _) in rows)
    return {s for s in symbols if s is not None and s.space == Space.SHARED}


def _allows_more_shared(state: LinkState) -> bool:
    """nvlink does not check the limit for the `a` variants (smem_too_big on all targets)."""
    return ARCHES[state.options.arch][1] == "a"


def _place_dynamic(
    state: LinkState,
    below: Below,
    used: dict[Symbol, list[Symbol]],
    sizes: dict[Symbol, int],
    aligns: dict[Symbol, int],
) -> None:
    """Put arrays of dynamic size behind the static part.

    A kernel's own code finds them behind the kernel's variables. A device function has one place
    for all kernels that reach it, so those kernels are padded to the largest of them.
    """
    named = {f: [v for v in variables if not v.is_defined] for f, variables in used.items()}
    reaching = {f: below.reaching(f) for f, arrays in named.items() if arrays}
    if debugger_sees(state.options):
        # A name has one place for all kernels that reach it (shared_dyn with -g, debug_arrays).
        functions = reaching
        reaching = {}
        for function, kernels in functions.items():
            for array in named[function]:
                reaching[array] = [*reaching.get(array, ()), *kernels]
    groups: list[list[Symbol]] = []
    for kernels in reaching.values():
        joined = [g for g in groups if any(k in g for k in kernels)]
        groups = [g for g in groups if g not in joined]
        groups.append(list(dict.fromkeys(k for g in [*joined, kernels] for k in g)))
    for group in groups:
        start = align_up(max((sizes[k] for k in group), default=0), _DYNAMIC_ALIGN)
        for kernel in group:
            sizes[kernel] = start
            aligns[kernel] = max(aligns[kernel], _DYNAMIC_ALIGN)
            for function in below[kernel]:
                state.shared.dynamic_start[function] = start
    if debugger_sees(state.options):
        for array in [
            s for s in state.symbols.globals if s.space == Space.SHARED and not s.is_defined
        ]:
            array.section = state.sections.find(SHARED_POOL)
            first = next(iter(reaching.get(array, ())), None)
            array.value = state.shared.dynamic_start.get(first, 0) if first is not None else 0


def split_sort(items: list[Symbol], first_wins: Callable[[Symbol, Symbol], bool]) -> list[Symbol]:
    """Sort as nvlink does: a merge sort that is not stable, so equal items change places.

    A list is dealt onto two piles in turn, each sorted the same way; `first_wins` says whether the
    head of the first pile goes first. The order of 2 to 12 equal variables in one pool and in one
    kernel shows both the dealing and who wins a tie.
    """
    if len(items) < 2:
        return items
    first = split_sort(items[-1 - (len(items) - 1) % 2 :: -2], first_wins)
    second = split_sort(items[-1 - len(items) % 2 :: -2], first_wins)
    merged: list[Symbol] = []
    i = j = 0
    while i < len(first) and j < len(second):
        if first_wins(first[i], second[j]):
            merged.append(first[i])
            i += 1
        else:
            merged.append(second[j])
            j += 1
    return merged + first[i:] + second[j:]


def _larger_alignment(a: Symbol, b: Symbol) -> bool:
    return (-a.alignment, a.size) <= (-b.alignment, b.size)


def _variables_of(state: LinkState, section: OutSection | None) -> list[Symbol]:
    """The defined symbols of a section, in the order they were merged."""
    if section is None:
        return []
    return state.sections.members.get(section, [])


def _shared_uses(state: LinkState) -> dict[Symbol, list[Symbol]]:
    """Function -> shared variables that its code names, in order of first use."""
    uses: dict[Symbol, list[Symbol]] = {}
    if not any(
        row[4] & STO_CUDA_SPACE == _SHARED_BITS for obj in state.objects for row in obj.named
    ):
        return uses
    for (target, _), relocs in state.relocations.sections.items():
        if target.owner is None:
            continue
        for reloc in relocs.relocs:
            if reloc.symbol.other & STO_CUDA_SPACE == _SHARED_BITS:
                uses.setdefault(target.owner, []).append(reloc.symbol)
    for section, variables in state.sections.members.items():
        if section.sh_type == SHT_CUDA_SHARED and section.owner is not None:
            known = uses.setdefault(section.owner, [])
            known += [v for v in variables if v not in known]
    return uses


def _place_constants(state: LinkState, below: Below) -> None:
    sharing = None
    if state.options.share_constants and not state.family.capsule:
        from cubinspec_writer.linker.passes.share import Sharing

        sharing = Sharing(state)
    for part in reversed([s for s in state.sections.staging if s.sh_type == _CONSTANT2]):
        kernels = below.reaching(part.owner) if part.owner is not None else []
        aliases = sharing.reduce(part, frozenset(kernels)) if sharing and kernels else {}
        if aliases and not part.content:
            for symbol, offset in aliases.items():
                symbol.value = offset
            continue
        # Kernels without constants of their own get a bank, last kernel first (const2_order).
        targets = [_bank_of(state, k, part) for k in reversed(kernels)]
        if not targets:
            continue
        # All of them take the largest alignment, and the copy is padded to it.
        align = max(part.align, *(t.align for t in targets))
        at = align_up(max(t.size for t in targets), align)
        size = align_up(part.size, align)
        # Tables are copied one by one, with what has a place in them (weak_jump_tables), in the
        # order of their places (jump_tables_apart).
        rows = [
            row
            for start, size in sorted(state.constants.tables.get(part, ()))
            for row in state.relocations.staged.get(part, ())
            if start <= row.offset < start + size
        ]
        state.constants.copies[part] = [(target, at) for target in targets]
        for target in targets:
            _copy_relocs(state, rows, target, at)
            target.align = align
            target.data.extend(bytes(at - target.size))
            target.data += part.data
            target.data.extend(bytes(size - part.size))
        for symbol in _variables_of(state, part):
            symbol.value = aliases[symbol] if symbol in aliases else symbol.value + at
        for section, offset in state.constants.lost:
            if section is part:
                # nvlink writes the place of these into the symbol that they do not have (305).
                state.symbols.null_value = at + offset
        if sharing is not None:
            sharing.placed(part, frozenset(kernels), at)


def _mark_last_block(state: LinkState) -> None:
    """With options that remove kernels, the null symbol has the place of some constant data.

    nvlink then looks for equal blocks among the `.nv.constant3` of all inputs, and leaves the
    second of two out while code goes on to read its old place, behind the section's end. So nothing
    is left out here; the place of the last block that is a new one is harmless (kernels_constants).
    """
    if state.kernels is None or state.options.debug:
        return
    known: set[tuple[int, bytes]] = set()
    for obj in state.objects:
        for source in obj.sections:
            place = obj.placed[source.index]
            if source.sh_type != _CONSTANT3 or place is None or not _is_shared_size(source):
                continue
            is_new = (source.align, source.data) not in known
            if is_new or (source.size in _WORDS and not any(source.data)):
                state.symbols.null_value = place[1]
            known.add((source.align, source.data))


def _is_shared_size(block: InSection) -> bool:
    return block.size in _BLOCKS or (block.size in _WORDS and block.align == block.size)


#: Sizes of blocks of which nvlink looks for equal ones, whatever their alignment, and those whose
#: alignment has to be as large.
_BLOCKS, _WORDS = frozenset((12, 16, 20, 24, 32, 48, 64)), frozenset((4, 8))


def _copy_relocs(state: LinkState, rows: list[Reloc], bank: OutSection, shift: int) -> None:
    """Give a bank the relocations of constants that were copied into it, before its own."""
    if not rows:
        return
    section = state.reloc_section(bank, is_rela=True) or state.create_reloc_section(
        ".rela" + bank.name, bank, True, 8, 24
    )
    section.relocs[:0] = [
        Reloc(r.offset + shift, r.r_type, r.symbol, r.addend, r.serial) for r in rows
    ]


def _bank_of(state: LinkState, kernel: Symbol, like: OutSection) -> OutSection:
    assert like.owner is not None
    name = like.name.removesuffix(like.owner.name) + kernel.name
    section = state.sections.find(name, kernel)
    if section is None:
        section = state.create_section(
            name, like.sh_type, SHF_ALLOC | SHF_INFO_LINK, like.align, owner=kernel
        )
        section.info_section = kernel.section
        # It goes again when nothing comes: the linked copy of the function may have no constants.
        state.sections.vacated.append(section)
    return section


def _check_limits(state: LinkState) -> None:
    for section in state.sections.by_type.get(_CONSTANT3, ()):
        if section.size > _CONSTANT_LIMIT:
            state.diagnostics.error(
                f"File uses too much global constant data ({section.size:#x} bytes, "
                f"{_CONSTANT_LIMIT:#x} max)"
            )


__all__ = ["SHT_CUDA_SHARED", "place", "place_commons"]
