"""Another name for a symbol in debug data.

The name stands in the PTX text, in the two register tables of ``ptxas -g``, and in ``.debug_info``
(``dwarf``). The first three are sequences of texts and counts, and no offset refers into them.
"""

from __future__ import annotations

import re
from struct import Struct
from typing import TYPE_CHECKING

from cubinspec.format.sections import MERCURY_PREFIX
from cubinspec_writer.editor import dwarf
from cubinspec_writer.editor.dwarf import refuse, text_end
from cubinspec_writer.emitter import bodies

if TYPE_CHECKING:
    from cubinspec_writer.emitter.model import Description, Section

_PTX_TEXT = ".nv_debug_ptx_txt"
_REGISTER_PLACES, _REGISTER_TYPES = ".nv_debug_info_reg_sass", ".nv_debug_info_reg_type"
_WORD = Struct("<I")
#: Bytes behind the name of a PTX register: the register, first and last instruction.
_LEN_PLACE = 12


def rename(description: Description, old: str, new: str) -> None:
    """Replace a symbol's name in all debug sections.

    Raises:
        CubinError: a section that holds the name cannot be read, or an offset no longer fits.
    """
    before, after = (name.encode("utf-8", "surrogateescape") for name in (old, new))
    for section in description.sections:
        if not isinstance(section.body, bodies.Blob) or before not in section.body.data:
            continue
        data = section.body.data
        name = section.name.removeprefix(MERCURY_PREFIX)
        if name == _PTX_TEXT or name.startswith(_PTX_TEXT + "."):
            section.body = bodies.Blob(_in_ptx(data, before, after))
        elif name in (_REGISTER_PLACES, _REGISTER_TYPES):
            section.body = bodies.Blob(_in_registers(section, data, before, after))
        elif name == ".debug_info":
            dwarf.rename(description, section, data, before, after)


def _in_ptx(data: bytes, old: bytes, new: bytes) -> bytes:
    """Replace whole words.

    PTX names are made of letters, digits, ``_`` and ``$``; a word behind ``%`` is a register, one
    behind ``.`` a directive.
    """
    word = re.compile(rb"(?<![\w$%.])" + re.escape(old) + rb"(?![\w$])")
    return word.sub(lambda _: new, data)


def _in_registers(section: Section, data: bytes, old: bytes, new: bytes) -> bytes:
    """Replace the name of a function in a register table.

    The table has for each function its name and a count, then as many types of one byte, or as
    many registers with their places.
    """
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        end = text_end(section, data, at)
        name = data[at:end]
        start = end + 1
        if start + _WORD.size > len(data):
            refuse(section, at, "the table of a function is cut off")
        (count,) = _WORD.unpack_from(data, start)
        at = start + _WORD.size
        if section.name.endswith(_REGISTER_TYPES):
            at += count
        else:
            for _ in range(count):
                at = text_end(section, data, at + _WORD.size) + 1 + _LEN_PLACE
                if at > len(data):
                    break
        if at > len(data):
            refuse(section, start, "the table of a function is cut off")
        parts += [new if name == old else name, b"\0", data[start:at]]
    return b"".join(parts)
