"""What a file says about its target and its maker: the cuinfo and tkinfo notes.

Files of ABI 7 have no notes; they state the virtual architecture in ``e_flags`` and the toolkit in
``e_version``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from cubinspec.errors import BadStructureError
from cubinspec_generated.codes import (
    ABI_7,
    EF_CUDA_VIRTUAL_SM_MASK,
    EF_CUDA_VIRTUAL_SM_SHIFT,
)
from cubinspec_writer.emitter import bodies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec_writer.emitter.bodies import Note
    from cubinspec_writer.emitter.model import Description

#: Largest number that a field of a note holds.
_MAX_HALF = 0xFFFF


@dataclass(frozen=True, slots=True)
class NoteChange:
    """New values of the notes; ``None`` leaves a field as it is.

    Attributes:
        virtual_sm: architecture of the PTX that the code was made from, 80 for compute_80.
        toolkit: 10 * major + minor, 130 for CUDA 13.0.
        tool_name, tool_version, tool_branch, arguments, object_file: texts of the tool note.
    """

    virtual_sm: int | None = None
    toolkit: int | None = None
    tool_name: str | None = None
    tool_version: str | None = None
    tool_branch: str | None = None
    arguments: str | None = None
    object_file: str | None = None


_TEXTS = tuple(field.name for field in fields(NoteChange))[2:]


def retarget(description: Description, change: NoteChange) -> None:
    """Change the notes.

    Raises:
        CubinError: the file has no such note, or the value does not fit.
    """
    numbers = {"virtual_sm": change.virtual_sm, "toolkit_version": change.toolkit}
    for name, number in numbers.items():
        if number is not None and not 0 <= number <= _MAX_HALF:
            raise BadStructureError(f"{name} {number} does not fit into 16 bits")
    if any(number is not None for number in numbers.values()):
        _numbers(description, change)
    texts = {name: text for name in _TEXTS if (text := getattr(change, name)) is not None}
    if texts:
        _texts(description, texts)


def _numbers(description: Description, change: NoteChange) -> None:
    header = description.header
    if header.ei_abiversion == ABI_7:
        if change.virtual_sm is not None:
            field = change.virtual_sm << EF_CUDA_VIRTUAL_SM_SHIFT
            if field & ~EF_CUDA_VIRTUAL_SM_MASK:
                raise BadStructureError("virtual_sm has eight bits in this file")
            header.e_flags = header.e_flags & ~EF_CUDA_VIRTUAL_SM_MASK | field
        if change.toolkit is not None:
            header.e_version = change.toolkit
        return
    missing = {
        name
        for name, number in (("virtual_sm", change.virtual_sm), ("toolkit", change.toolkit))
        if number is not None
    }
    for note in _notes(description):
        descriptor = note.descriptor
        if isinstance(descriptor, bodies.CuinfoNote | bodies.CuverNote):
            if change.virtual_sm is not None:
                descriptor.virtual_sm = change.virtual_sm
                missing.discard("virtual_sm")
            if isinstance(descriptor, bodies.CuinfoNote) and change.toolkit is not None:
                descriptor.toolkit_version = change.toolkit
                missing.discard("toolkit")
    if missing:
        raise BadStructureError(
            f"the file has no note with {' and '.join(sorted(missing))}", field=".note.nv.cuinfo"
        )


def _texts(description: Description, texts: dict[str, str]) -> None:
    for note in _notes(description):
        descriptor = note.descriptor
        if isinstance(descriptor, bodies.ToolNote):
            for name, text in texts.items():
                if "\0" in text:
                    raise BadStructureError(f"{name} holds a NUL character")
                setattr(descriptor, name, text)
            descriptor.padding = None
            return  # the first note is the linker's; those of its inputs follow
    raise BadStructureError("the file has no such note", field=".note.nv.tkinfo")


def _notes(description: Description) -> Iterator[Note]:
    for section in description.sections:
        if isinstance(section.body, bodies.Notes):
            yield from section.body.notes
