"""Removes what no launch needs: debug data, line tables, the tool note."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cubinspec.format.sections import MERCURY_PREFIX
from cubinspec_writer.editor.removal import is_debug, remove_sections

if TYPE_CHECKING:
    from cubinspec_writer.emitter.model import Description

#: What ``ptxas -lineinfo`` adds to a file.
_LINE_SECTIONS = (".debug_line", ".nv_debug_line_sass", ".nv_debug_ptx_txt")
TOOL_NOTE = ".note.nv.tkinfo"


def strip(
    description: Description,
    *,
    debug: bool = False,
    lineinfo: bool = False,
    tkinfo: bool = False,
) -> list[str]:
    """Remove sections by purpose; a file without them stays as it is.

    Args:
        debug: all debug data, apart from ``.debug_frame``, which every build has.
        lineinfo: line tables and the PTX text they point into.
        tkinfo: the note that names the tool and its arguments.

    Returns:
        the names of the removed sections.

    Raises:
        CubinError: something that stays refers to what would go.
    """

    def wanted(name: str) -> bool:
        purpose = _without_prefixes(name)
        if debug and is_debug(purpose) and purpose != ".debug_frame":
            return True
        if lineinfo and any(
            purpose == line or purpose.startswith(line + ".") for line in _LINE_SECTIONS
        ):
            return True
        return tkinfo and purpose == TOOL_NOTE

    gone = [section for section in description.sections if wanted(section.name)]
    if gone:
        remove_sections(description, gone, wanted)
    return [section.name for section in gone]


def _without_prefixes(name: str) -> str:
    """The name of the section that a Mercury twin or a relocation section belongs to."""
    name = name.removeprefix(MERCURY_PREFIX)
    for prefix in (".rela", ".rel"):
        if name.startswith((prefix + ".debug_", prefix + ".nv_debug")):
            return name[len(prefix) :]
    return name
