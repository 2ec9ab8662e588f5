"""Renaming a kernel, a device function or a variable, wherever its name stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec.format.sections import MERCURY_PREFIX
from cubinspec_generated.codes import ST_TYPE_MASK, STT_SECTION
from cubinspec_writer.editor import debug_names, functions
from cubinspec_writer.editor.references import mercury_symbols, metadata_texts
from cubinspec_writer.editor.removal import is_debug
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.model import Dropped, Section, Symbol

if TYPE_CHECKING:
    from cubinspec_writer.emitter.model import Description

#: Stub that jumps to a unified function.
_STUB = "__cuda_uf_stub_"
#: Constant that holds the address of a symbol (ptxas -pic).
_ADDRESS = "$ADDRESS$"
#: "$BINDLESS$k$t$s": texture or surface t, with sampler s, as kernel k uses it (up to sm_62).
_BINDLESS = "$BINDLESS$"
#: "f.const_opt.0.8": constants that ptxas -c made for function f.
_CONSTANTS = ".const_opt."


def rename(description: Description, old: str, new: str) -> list[str]:
    """Rename a symbol; of a function also its sections and the copies of callees inside it.

    Returns:
        debug sections that still hold the old name as a word, for example in source text.

    Raises:
        CubinError: there is no such symbol, or several; the new name is taken, or cannot be a
            name; debug data that holds the name is not understood.
    """
    if not new or "\0" in new:
        raise BadStructureError(f"{new!r} is no symbol name")
    if description.pins.strtab is not None or description.pins.shstrtab is not None:
        raise BadStructureError(
            "the rule of this file's string tables is not known, so no name can be changed",
            field=".strtab",
        )
    symbol = _find(description, old, new)
    names = {old: new, **_derived(description, symbol, new)}
    debug_names.rename(description, old, new)
    for other in functions.symbols(description):
        other.name = names.get(other.name, other.name)
    texts = metadata_texts(description)
    for dropped in (*description.history, *description.symbols):
        if isinstance(dropped, Dropped) and dropped.name not in texts:
            dropped.name = names.get(dropped.name, dropped.name)
    for twin in mercury_symbols(description):
        if twin.st_info & ST_TYPE_MASK != STT_SECTION:
            twin.name = names.get(twin.name, twin.name)
    if functions.is_function(symbol):
        _rename_sections(description, old, new)
    return _left_over(description, old)


def _rename_sections(description: Description, old: str, new: str) -> None:
    """Rename the sections of a function, and what is left of dropped ones."""
    for entry in (*description.history, *description.symbols):
        if isinstance(entry, Section | Dropped):
            entry.name = _renamed(entry.name, old, new)
            if entry.made_as is not None:
                entry.made_as = _renamed(entry.made_as, old, new)
    for twin in mercury_symbols(description):
        if twin.st_info & ST_TYPE_MASK == STT_SECTION:
            twin.name = _renamed(twin.name, old, new)


def _derived(description: Description, symbol: Symbol, new: str) -> dict[str, str]:
    """Names that ptxas made from that of ``symbol``, and what they become."""
    old = symbol.name
    others = [
        entry.name
        for entry in (*description.history, *description.symbols)
        if isinstance(entry, Symbol | Dropped)
    ]
    if not functions.is_function(symbol):
        kernels = [_BINDLESS + kernel.name + "$" for kernel in functions.kernels(description)]
        names = {
            name: prefix + "$".join(new if part == old else part for part in parts)
            for prefix in kernels
            for name in others
            if name.startswith(prefix) and old in (parts := name[len(prefix) :].split("$"))
        }
        return {_ADDRESS + old: _ADDRESS + new, **names}
    names = {prefix + old: prefix + new for prefix in (_STUB, _ADDRESS)}
    # "$k$f" is the copy of callee f inside kernel k
    for before, behind in (("$", "$"), (_BINDLESS, "$"), ("", _CONSTANTS)):
        start = before + old + behind
        for name in others:
            if name.startswith(start):
                names[name] = before + new + behind + name[len(start) :]
    return names


def _find(description: Description, old: str, new: str) -> Symbol:
    found = []
    for symbol in functions.symbols(description):
        if symbol.name == old:
            found.append(symbol)
            if symbol.pins:
                raise BadStructureError("the place of this name has no known rule", field=old)
        if symbol.name == new:
            raise BadStructureError(f"the name {new!r} is taken")
    if not old or not found:
        raise BadStructureError(f"no symbol {old!r} is here")
    if len(found) > 1:
        raise BadStructureError(f"{len(found)} symbols are named {old!r}")
    if functions.is_function(found[0]):
        for section in description.sections:
            if functions.owner(section.name) == new:
                raise BadStructureError(f"the name {new!r} is taken by section {section.name}")
            if functions.owner(section.name) == old and "sh_name" in section.pins:
                raise BadStructureError("the place of this name has no known rule", field=old)
    return found[0]


def _renamed(section: str, old: str, new: str) -> str:
    parts = functions.split_owner(section)
    return parts[0] + new if parts is not None and parts[1] == old else section


def _left_over(description: Description, old: str) -> list[str]:
    """Sections in which the old name still stands as a word."""
    word = re.compile(
        rb"(?<![\w$])" + re.escape(old.encode("utf-8", "surrogateescape")) + rb"(?![\w$])"
    )
    return [
        section.name
        for section in description.sections
        if is_debug(section.name.removeprefix(MERCURY_PREFIX))
        and isinstance(section.body, bodies.Blob)
        and word.search(section.body.data)
    ]
