"""Writes a program that has a SASS half and a Mercury half.

The sections were made under the names that the Mercury half gave them, and in its order; the
finalizer renamed them. So the string tables follow the Mercury half, contents and symbol table are
those of the SASS half, and the Mercury sections stand behind it.
"""

from __future__ import annotations

from collections import defaultdict

from cubinspec.format.packing import is_far
from cubinspec.format.sections import renamed_again
from cubinspec_writer.emitter import model as out
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.library.outsymbols import deferred_sections, is_dropped, is_nameless
from cubinspec_writer.linker.model import OutSection, Symbol
from cubinspec_writer.linker.write.contents import entered
from cubinspec_writer.linker.write.described import DescribedHalf, bare_name, encoded, signatures
from cubinspec_writer.linker.write.mercury import MercuryCopies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec_writer.linker.state import LinkState
    from cubinspec_writer.linker.write.described import History

_PRODUCER = "mercury"


def write(sass: LinkState, mercury: LinkState) -> bytes:
    """The cubin of two finalized halves.

    Raises:
        CubinError: the halves do not belong together, or a number does not fit its field.
    """
    half = DescribedHalf(sass)
    copies = MercuryCopies(half, mercury).sections()
    history = _history(half, mercury, is_large=is_far(len(half.made) + len(copies) + 1))
    history += [
        half.made[section] for section in deferred_sections(sass.job, sass.sections, sass.handles)
    ]
    listed = {id(item) for item in history}
    for section, made in half.made.items():
        if id(made) not in listed:
            raise UnsupportedLinkError(f"section '{section.name}' has no Mercury twin")
    if sass.job.options.relocatable:
        _rename_again(half.made.values())
    history += copies
    return encoded(half.description(history, _PRODUCER))


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
