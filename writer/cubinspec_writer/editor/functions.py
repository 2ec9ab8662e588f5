"""Which sections belong to a function.

The sections of a function are named after it and, where they have one, refer to its code by
``sh_info``. Both halves of a file with a Mercury capsule have a set of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec.format.sections import info_target
from cubinspec_generated.codes import (
    SHT_CUDA_INFO,
    SHT_CUDA_MERC_INFO,
    ST_TYPE_MASK,
    STO_CUDA_ENTRY,
    STT_FUNC,
)
from cubinspec_writer.editor.references import mercury_symbols
from cubinspec_writer.emitter.model import Section, Symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cubinspec_writer.emitter.model import Description

#: What stands before the function's name in the name of a section.
_OWNED = re.compile(
    r"(?:\.nv\.(?:cap)?merc)?"
    r"(?:\.rela?|\.nv\.resolvedrela)?"
    r"(?:\.text|\.nv\.info|\.nv\.shared|\.nv\.local|\.nv\.uft\.rel"
    r"|\.nv\.constant(?:\d+|\.optimizer|\.entry_image_header_indices))\."
)
#: Start of names that look like a function's shared memory, but belong to the driver.
_RESERVED_SHARED = ".nv.shared.reserved."
_INFO_TYPES = frozenset((SHT_CUDA_INFO, SHT_CUDA_MERC_INFO))


def split_owner(name: str) -> tuple[str, str] | None:
    """A section name as prefix and function name; ``None`` when no function owns such a section."""
    match = _OWNED.match(name)
    if match is None or match.end() == len(name):
        return None
    if name.removeprefix(".nv.merc").startswith(_RESERVED_SHARED):
        return None
    return name[: match.end()], name[match.end() :]


def owner(name: str) -> str | None:
    """The function that a section of this name belongs to."""
    parts = split_owner(name)
    return None if parts is None else parts[1]


def symbols(description: Description) -> Iterator[Symbol]:
    """All symbols of ``.symtab`` except section symbols, which the layout makes."""
    for entry in (*description.history, *description.symbols):
        if isinstance(entry, Symbol):
            yield entry


def is_function(symbol: Symbol) -> bool:
    """Whether it is a function with code in this file."""
    return symbol.st_info & ST_TYPE_MASK == STT_FUNC and isinstance(symbol.section, Section)


def is_kernel(symbol: Symbol) -> bool:
    """Whether it is a kernel with code in this file."""
    return is_function(symbol) and bool(symbol.st_other & STO_CUDA_ENTRY)


def kernels(description: Description) -> list[Symbol]:
    """All kernels."""
    return [symbol for symbol in symbols(description) if is_kernel(symbol)]


def find_function(
    description: Description, name: str, among: Iterable[Symbol] | None = None
) -> Symbol:
    """The function of that name.

    Args:
        among: all symbols of that name, for callers that look up many names.

    Raises:
        CubinError: there is none, or there are several.
    """
    given = symbols(description) if among is None else among
    found = [s for s in given if s.name == name and is_function(s)]
    if not found:
        from cubinspec.report.resolve import hint, short

        defined = [symbol.name for symbol in symbols(description) if is_function(symbol)]
        raise BadStructureError(
            f"no function {short(name)!r} is defined here",
            expected=hint(name, defined, "function"),
        )
    if len(found) > 1:
        raise BadStructureError(f"{len(found)} functions are named {name!r}")
    return found[0]


def info_section(description: Description, code: Section) -> Section | None:
    """The attribute section of the function whose code stands in ``code``."""
    for section in description.sections:
        if section.sh_type not in _INFO_TYPES:
            continue
        if section.info is code or (
            section.info is None and info_target(section.name, section.sh_type) == code.name
        ):
            return section
    return None


def capsule(description: Description, symbol: Symbol) -> Section | None:
    """The section with the Mercury code of a function."""
    for twin in mercury_symbols(description):
        if twin.name == symbol.name and twin.st_info & ST_TYPE_MASK == STT_FUNC:
            return twin.section if isinstance(twin.section, Section) else None
    return None
