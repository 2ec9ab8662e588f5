"""Reports names that nothing defines, an index of another program, and aliases that are missing."""

from __future__ import annotations

from cubinspec_generated.codes import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_INFO_LINK,
    STB_GLOBAL,
    STB_LOCAL,
    STO_CUDA_GLOBAL,
    STO_CUDA_SHARED,
    STT_CUDA_OBJECT,
    STT_CUDA_SAMPLER,
    STT_CUDA_SURFACE,
    STT_CUDA_TEXTURE,
    STT_FUNC,
    STT_OBJECT,
)
from cubinspec_writer.linker.diagnostics import PAST_END
from cubinspec_writer.linker.library.copies import aliases, code_owners, is_supplied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.inputs.rows import InSymbol
    from cubinspec_writer.linker.model import InputObject, Symbol
    from cubinspec_writer.linker.state import Job, Unified

READS = (
    "object.bound symbol.bind symbol.definition symbol.first symbol.kind symbol.live symbol.name "
    "symbol.other symbol.size unified.mismatch"
)
WRITES = ""
FREEZES = ""


def run(job: Job, objects: list[InputObject], diagnostics: Diagnostics, unified: Unified) -> None:
    """Report an error for every name that nothing defines, then what the index lacks.

    Raises:
        LinkError: the index is not that of the program, or a function is linked and one of its
            aliases is not.
    """
    if job.index is None and unified.mismatch is not None:
        raise diagnostics.fatal(unified.mismatch)
    for text in _messages(objects, all_variables=not job.options.undefined_globals):
        diagnostics.error(text)
    if unified.mismatch == PAST_END:
        diagnostics.postpone(PAST_END)  # as of any other relocation (rule M22)
    elif unified.mismatch is not None:
        raise diagnostics.fatal(unified.mismatch)
    _check_aliases(objects, diagnostics)


def _check_aliases(objects: list[InputObject], diagnostics: Diagnostics) -> None:
    """Refuse what leaves out aliases of functions that it links (rule M63)."""
    for alias, function in (pair for obj in objects for pair in aliases(obj)):
        if function.live and not function.is_entry and not alias.live:
            if function.bind != STB_LOCAL:
                raise diagnostics.fatal("Internal error: reference to deleted symbol")
            diagnostics.postpone("Internal error: reference to deleted section")


def _messages(objects: list[InputObject], *, all_variables: bool) -> list[str]:
    """A message for every name that live code or data needs and nothing defines.

    They come in the order of merging: functions of the first input, its variables, and so on.

    Rule M7.

    Args:
        all_variables: whether those of global memory need a definition, too (rule M6).
    """
    seen: dict[Symbol, str] = {}
    wanting: list[tuple[InSymbol, Symbol]] = []
    for obj in objects:
        bound = obj.bound
        found = [
            (row, symbol)
            for row in obj.named
            if (symbol := bound[row.index]) is not None
            and symbol.definition is None
            and _is_missing(symbol)
            and (all_variables or symbol.kind == STT_FUNC or symbol.space != STO_CUDA_GLOBAL)
        ]
        wanting += found
        missing = {row.index for row, _ in found}
        if not missing:
            continue
        owner = code_owners(obj)
        for relocs in obj.relocs:
            section = obj.sections[relocs.target]
            if not section.flags & SHF_ALLOC:
                continue
            code = relocs.target if section.flags & SHF_EXECINSTR else section.info
            if section.flags & (SHF_EXECINSTR | SHF_INFO_LINK):
                function = owner.get(code)
                if function is None or not function.live:
                    continue
            for _, _, index, _ in relocs.rows:
                symbol = bound[index]
                if index in missing and symbol is not None and symbol not in seen:
                    seen[symbol] = _undefined(symbol)
    for row, symbol in wanting:
        # Variables need a definition even when nothing uses them, functions also when only code
        # that is not linked takes their address or a replaced copy calls them (rule M8).
        wanted = row.kind in _VARIABLES or (row.kind == STT_FUNC and symbol.live)
        if wanted and row.bind == STB_GLOBAL and symbol not in seen:
            seen[symbol] = _undefined(symbol)
    if not seen:
        return []
    order = (
        symbol
        for obj in objects
        for is_function in (True, False)
        for row in obj.named
        if (symbol := obj.bound[row.index]) in seen and (row.kind == STT_FUNC) == is_function
    )
    return [seen[symbol] for symbol in dict.fromkeys(order) if symbol is not None]


def _undefined(symbol: Symbol) -> str:
    """The message about a name, with the first input that mentions it, linked or not."""
    assert symbol.first is not None
    return f"Undefined reference to '{symbol.name}' in '{symbol.first.name}'"


def _is_missing(symbol: Symbol) -> bool:
    """Whether a name must have a definition and has none."""
    if symbol.definition is not None or symbol.kind in _DRIVER_OBJECTS:
        return False
    if symbol.space == STO_CUDA_SHARED and not symbol.size:
        return False  # an array of dynamic size (rule M6)
    return not is_supplied(symbol.name)


_VARIABLES: Final = frozenset((STT_OBJECT, STT_CUDA_OBJECT))
_DRIVER_OBJECTS: Final = frozenset((STT_CUDA_TEXTURE, STT_CUDA_SAMPLER, STT_CUDA_SURFACE))
