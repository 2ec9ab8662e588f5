"""Places in code that records of `.nv.info` hold: moves them, and finds where jumps lead."""

from __future__ import annotations

from struct import calcsize, unpack_from

from cubinspec.format.attributes import HEAD_BYTES, scan
from cubinspec_generated.codes import EIATTR_INDIRECT_BRANCH_TARGETS, SHT_CUDA_INFO
from cubinspec_generated.codes_enums import INDIRECT_BRANCH_KIND_BRANCH
from cubinspec_generated.codes_sass import SASS_BYTES
from cubinspec_generated.records import INDIRECT_BRANCH
from cubinspec_generated.tables import eiattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec_generated.rows import Layout, Tagged
    from cubinspec_writer.linker.finalizer.moved import Moved
    from cubinspec_writer.linker.model import InputObject

_CODE, _WORD = "code", 4


def move_attributes(stream: bytes, moved: Moved) -> bytes:
    """The attributes of a function with the new places of its instructions (rule F12)."""
    out = bytearray(stream)
    for at, _, code, _, payload in scan(stream)[0]:
        attribute = eiattr.ATTRIBUTES.get(code)
        if attribute is None:
            continue
        if attribute.tagged is not None:
            fields = _in_tagged(attribute.tagged, payload)
        else:
            fields = _in_layout(attribute.layout, payload)
        for offset, leads_there in fields:
            place = at + HEAD_BYTES + offset
            old = int.from_bytes(out[place : place + _WORD], "little")
            new = moved.start(old) if leads_there else moved.place(old)
            out[place : place + _WORD] = new.to_bytes(_WORD, "little")
    return bytes(out)


def attributes_of(obj: InputObject, index: int) -> bytes:
    """The attributes of the function in a section of an input."""
    found = (section.data for section in obj.of_type(SHT_CUDA_INFO) if section.info == index)
    return bytes(next(found, b""))


def jump_tables(stream: bytes) -> dict[int, list[int]]:
    """For every jump through a table the instructions that it leads to, by their numbers.

    The compiler lists them beside the table.
    """
    found: dict[int, list[int]] = {}
    for _, _, code, _, payload in scan(stream)[0]:
        if code != EIATTR_INDIRECT_BRANCH_TARGETS:
            continue
        at = 0
        while at + INDIRECT_BRANCH.size <= len(payload):
            branch, kind, _, count = INDIRECT_BRANCH.unpack_from(payload, at)
            at += INDIRECT_BRANCH.size
            end = min(at + count * _WORD, len(payload))
            if kind == INDIRECT_BRANCH_KIND_BRANCH:
                offsets = payload[at:end]
                found[branch // SASS_BYTES] = [
                    int.from_bytes(offsets[place : place + _WORD], "little") // SASS_BYTES
                    for place in range(0, len(offsets), _WORD)
                ]
            at = end
    return found


def _in_layout(layout: Layout, payload: bytes) -> Iterator[tuple[int, bool]]:
    """(offset of a field, whether it is the target of a branch) of every place in a payload."""
    starts = list(_starts(layout.format, layout.references))
    tail = layout.tail
    size = calcsize(layout.format) if layout.format else 0
    if not size or not (starts or (tail is not None and tail.reference == _CODE)):
        return
    at = 0
    while at + size <= len(payload):
        for start in starts:
            yield at + start, False
        row = dict(zip(layout.names, unpack_from(layout.format, payload, at), strict=True))
        at += size
        if tail is not None:
            step = calcsize(tail.format)
            count = row[tail.count] if tail.count else len(payload)
            end = min(at + count * step, len(payload))
            if tail.reference == _CODE:
                for offset in range(at, end - step + 1, step):
                    yield offset, bool(tail.count)
            at = end


def _in_tagged(tagged: Tagged, payload: bytes) -> Iterator[tuple[int, bool]]:
    at = 0
    while at + _WORD <= len(payload):
        case = tagged.cases.get(int.from_bytes(payload[at : at + _WORD], "little"))
        at += _WORD
        if case is None or at + calcsize(case.format) > len(payload):
            return
        for start in _starts(case.format, case.references):
            yield at + start, False
        row = dict(zip(case.names, unpack_from(case.format, payload, at), strict=True))
        at += calcsize(case.format) + (row[case.size] if case.text else 0)
        at += -at % tagged.align


def _starts(form: str, references: tuple[str, ...]) -> Iterator[int]:
    """Offsets of the fields that are places in code."""
    for number, reference in enumerate(references):
        if reference == _CODE:
            yield calcsize(form[: number + 1])
