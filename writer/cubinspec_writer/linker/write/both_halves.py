"""Writes a program that has a SASS half and a Mercury half.

The sections were made under the names that the Mercury half gave them, and in its order; the
finalizer renamed them. So the string tables follow the Mercury half, contents and symbol table are
those of the SASS half, and the Mercury sections stand behind it.
"""

from __future__ import annotations

from collections import defaultdict

from cubinspec.format.packing import is_far
from cubinspec.format.sections import MERCURY_PREFIX, UNIFIED_ENTRY_TYPES, renamed_again
from cubinspec_generated.codes import (
    SHF_CUDA_MERCURY,
    SHF_EXECINSTR,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_CONSTANT_B2,
    SHT_CUDA_GLOBAL,
    SHT_CUDA_METADATA,
    SHT_CUDA_SHARED,
    SHT_CUDA_UFT_ENTRY,
    ST_BIND_SHIFT,
    STB_LOCAL,
    STT_SECTION,
)
from cubinspec_generated.producers import PRODUCERS
from cubinspec_writer.emitter import model as out
from cubinspec_writer.emitter.draft import index_order
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.library.outsymbols import deferred_sections, is_dropped, is_nameless
from cubinspec_writer.linker.model import OutSection, Symbol
from cubinspec_writer.linker.write.contents import (
    callgraph_bytes,
    entered,
    prototype_bytes,
)
from cubinspec_writer.linker.write.described import DescribedHalf, bare_name, encoded, signatures
from cubinspec_writer.linker.write.mercury import MercuryCopies

#: What ptxas has in front of its symbol table besides code, before it lays its file out.
_IN_FRONT = (SHT_CUDA_GLOBAL, SHT_CUDA_SHARED)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cubinspec_writer.emitter import Description
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import LinkState
    from cubinspec_writer.linker.write.described import History


def write(sass: LinkState, mercury: LinkState) -> bytes:
    """The cubin of two finalized halves.

    Raises:
        CubinError: the halves do not belong together, or a number does not fit its field.
    """
    half = DescribedHalf(sass)
    producer = sass.job.toolkit.linked[sass.job.family.name]
    copies = MercuryCopies(half, mercury, producer).sections()
    history = _history(half, mercury, is_large=is_far(len(half.made) + len(copies) + 1))
    history += [
        half.made[section] for section in deferred_sections(sass.job, sass.sections, sass.handles)
    ]
    listed = {id(item) for item in history}
    for section, made in half.made.items():
        if id(made) not in listed:
            raise UnsupportedLinkError(f"section '{section.name}' has no Mercury twin")
    if sass.job.options.relocatable and not PRODUCERS[producer].names_by_index:
        _rename_again(half.made.values())
    history += copies
    described = half.description(history, producer)
    if PRODUCERS[producer].names_by_index:
        _name_last(described, half)
    return encoded(described)


def _name_last(described: Description, half: DescribedHalf) -> None:
    """Let names be entered when all is known (rule K32).

    Raises:
        UnsupportedLinkError: metadata, whose texts have places before.
    """
    job = half.state.job
    if any(made.sh_type == SHT_CUDA_METADATA for made in half.made.values()):
        raise UnsupportedLinkError(f"metadata in a link of CUDA {job.toolkit.version}")
    made: History = [*_without_dropped(half, described.history)]
    symbols = [symbol for symbol in described.symbols if isinstance(symbol, out.Symbol)]
    for symbol in symbols:
        if symbol.st_info >> ST_BIND_SHIFT == STB_LOCAL:
            symbol.in_globals = False
            made.append(symbol)
    kept = [symbol for symbol in symbols if symbol.in_globals is not False]
    described.history = made
    described.symbols = [*kept, *map(out.Dropped, _used_signatures(half.state))]
    _link_entries(described, half.state.objects, is_final=not job.options.relocatable)


def _without_dropped(half: DescribedHalf, history: History) -> Iterator[out.Section | out.Symbol]:
    """What was made and is in the file.

    Symbols of compiler constants have the names of the Mercury half.
    """
    types = {id(made): section.sh_type for section, made in half.made.items()}
    for made in history:
        if isinstance(made, out.Dropped):
            continue
        yield made
        sh_type = types.get(id(made))
        if isinstance(made, out.Symbol) or sh_type == SHT_CUDA_CONSTANT_B0:
            continue
        if sh_type == SHT_CUDA_CONSTANT_B2 and made.has_symbol and made.made_as is not None:
            yield out.Symbol(made.made_as, STT_SECTION, section=made)
            made.has_symbol = False
        made.made_as = None


def _link_entries(described: Description, objects: list[InputObject], *, is_final: bool) -> None:
    """Let tables of unified functions and data refer to what CUDA 13.5 lets them refer to.

    That is the section whose number the symbol table had where ptxas made the first of them, behind
    code, global and shared memory.

    Raises:
        UnsupportedLinkError: there is no such section.
    """
    creation = described.sections
    entries = [
        made
        for made in creation
        if made.sh_type in UNIFIED_ENTRY_TYPES
        and not (is_final and made.sh_type == SHT_CUDA_UFT_ENTRY)
    ]
    if not entries:
        return
    order = index_order(PRODUCERS[described.profile], creation)
    for made in entries:
        obj = next((obj for obj in objects if obj.of_type(made.sh_type)), None)
        number = PRODUCERS[described.profile].entry_link
        number += sum(
            bool(section.flags & SHF_EXECINSTR) or section.sh_type in _IN_FRONT
            for section in (obj.sections if obj is not None else ())
        )
        if obj is None or number > len(order):
            raise UnsupportedLinkError("tables of unified data beside more code than sections")
        target = creation[order[number - 1]]
        twin = MERCURY_PREFIX + target.name
        copy = next((made for made in creation if made.name == twin), target)
        made.link = copy if made.sh_flags & SHF_CUDA_MERCURY else target


def _used_signatures(state: LinkState) -> Iterable[str]:
    """The signatures of calls and of prototypes, in their order."""
    used: dict[str, int] = {}

    def offset_of(signature: str) -> int:
        return used.setdefault(signature, 0)

    callgraph_bytes(state.symbols, state.graph, offset_of, state.job.toolkit)
    prototype_bytes(state.symbols, state.graph, offset_of)
    return used


def _history(half: DescribedHalf, mercury: LinkState, *, is_large: bool) -> History:
    """What was made, in the order of the Mercury half.

    Args:
        is_large: section indices do not fit into 16 bits.
    """
    history = signatures(mercury)
    twins = mercury.sections.twins
    renamed = {
        section.name: half.made[twin].name for section, twin in twins.items() if twin.emitted
    }
    for entry in entered(mercury.names):
        if isinstance(entry, OutSection):
            twin = twins.get(entry)
            made = half.made.get(twin) if twin is not None else None
            if made is not None and made.name != entry.name:
                made.made_as = entry.name
            history.append(made or _left_name(entry.name, renamed))
        elif isinstance(entry, str):
            history.append(bare_name(entry, is_large=is_large))
        elif is_dropped(mercury.job, mercury.shared, entry):
            if not is_nameless(mercury.job, mercury.shared, entry):
                history.append(out.Dropped(entry.name))
        else:
            history.append(half.kept_symbol(_twin_symbol(half.state, entry)))
    return history


def _left_name(name: str, renamed: dict[str, str]) -> out.Dropped:
    """The name of a section that is not in the output; the finalizer renames it as others.

    Args:
        renamed: names of sections of the Mercury half -> those of their twins.
    """
    final = renamed.get(name, name)
    return out.Dropped(final, in_shstrtab=True, made_as=name if final != name else None)


def _rename_again(sections: Iterable[out.Section]) -> None:
    """Sections made under one name share a string, renamed for each of them (rule F40)."""
    shared: dict[str, list[out.Section]] = defaultdict(list)
    for section in sections:
        if section.made_as is not None:
            shared[section.made_as].append(section)
    for made_as, namesakes in shared.items():
        for section in namesakes if len(namesakes) > 1 else ():
            section.name = renamed_again(made_as, len(namesakes))


def _twin_symbol(sass: LinkState, symbol: Symbol) -> Symbol:
    """The symbol of the SASS half with the number of a Mercury symbol."""
    numbered = sass.symbols.numbered
    twin = numbered[symbol.index - 1] if symbol.index <= len(numbered) else None
    if not isinstance(twin, Symbol):
        raise UnsupportedLinkError(f"Mercury symbol '{symbol.name}' without a twin")
    return twin
