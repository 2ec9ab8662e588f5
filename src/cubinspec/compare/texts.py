"""What matters of images that are no cubins: PTX without what changes from build to build.

Most texts of two builds are the same or differ early, so that ends are looked at before a whole.
"""

from __future__ import annotations

import re

from cubinspec.compare.digest import digest
from cubinspec.compare.names import HASHED, HASHED_START, without_hashes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec.containers import Image
    from cubinspec.containers.arena import Arena

#: Bytes of PTX, without white space and the like, that tell most texts apart.
_HEAD_BYTES = 4096
#: Bytes of PTX that are looked at together.
_STEP = 1 << 16
#: Begins the debug data in PTX, which is behind all code.
_SECTION = b".section"
#: Stands between lines that are compared together; no PTX has it.
_BETWEEN = b"\x01"
_WHITE = b" \t\n\r\v\f\0"
_COMMENT = re.compile(rb"//[^\n]*")
_LINE = re.compile(rb"\n[ \t]*\.(?:loc|file)\b[^\n]*")


def text_digest(image: Image, arena: Arena) -> str:
    """Digest of what matters of an image that is no cubin.

    Raises:
        CubinError: it cannot be read.
    """
    # IR that its producer scrambled can be compared, though not be read
    data = image.stored_view(arena) if image.scrambled else image.view(arena)
    return digest(_essence(data) if image.kind == "ptx" else data)


def head_digest(image: Image, arena: Arena) -> str:
    """As :func:`text_digest`, but of the first lines; two images that it tells apart are not alike.

    Raises:
        CubinError: it cannot be read.
    """
    if image.kind != "ptx":
        return text_digest(image, arena)
    start = image.start(arena, _STEP)
    if len(start) == _STEP:
        lines = bytes(start)
        found = _essence(lines[: lines.rfind(b"\n") + 1])
        if len(found) >= _HEAD_BYTES:
            return digest(found[:_HEAD_BYTES])
    return digest(_end_of(image.view(arena), _beginning)[:_HEAD_BYTES])


def tail_digest(image: Image, arena: Arena) -> str:
    """As :func:`head_digest`, but of the last lines, which tell nearly all texts apart.

    Raises:
        CubinError: it cannot be read.
    """
    if image.kind != "ptx":
        return text_digest(image, arena)
    return digest(_last_lines(image.view(arena)))


def _last_lines(data: memoryview) -> bytes:
    """The end of what matters of some PTX; nothing of it where debug data hide where that is."""
    return b"" if _has_debug_data(data) else _end_of(data, _ending)[-_HEAD_BYTES:]


def _end_of(data: memoryview, read: Callable[[memoryview, int], bytes]) -> bytes:
    """What matters of one end of some PTX: so many bytes, or all of a short one."""
    size = 2 * _HEAD_BYTES
    while True:
        found = read(data, size)
        if len(found) >= _HEAD_BYTES or size >= len(data):
            return found
        size *= 4


def _has_debug_data(ptx: memoryview) -> bool:
    """Whether any of it is left out by :func:`_essence` with all that follows."""
    more = len(_SECTION) - 1
    return any(_SECTION in bytes(ptx[at : at + _STEP + more]) for at in range(0, len(ptx), _STEP))


def are_same_texts(old: Image, new: Image, arena: Arena, second: Arena) -> bool:
    """Whether :func:`text_digest` gives the same for two images; most differ early.

    Raises:
        CubinError: one of them cannot be read.
    """
    if old.kind != "ptx" or new.kind != "ptx":
        return text_digest(old, arena) == text_digest(new, second)
    texts, size = [old.view(arena), new.view(second)], 16 * _HEAD_BYTES
    ends = [_last_lines(text) for text in texts]
    if all(ends) and ends[0] != ends[1]:
        return False
    places = _first_difference(*texts)
    if places is None:
        return True
    texts = [text[at:] for text, at in zip(texts, places, strict=True)]
    while True:
        one, other = (_beginning(text, size) for text in texts)
        if size >= max(map(len, texts)):
            return one == other
        shared = min(len(one), len(other))
        if one[:shared] != other[:shared]:
            return False
        size *= 4


def _first_difference(one: memoryview, other: memoryview) -> tuple[int, int] | None:
    """Where the first lines of two PTX begin that may say something else.

    Returns:
        Both places; ``None`` when debug data, which do not matter, begin before.
    """
    at = at_too = 0
    renamed: dict[bytes, bytes] = {}
    while True:
        lines, lines_too = _whole_lines(one, at), _whole_lines(other, at_too)
        if not lines or not lines_too:
            return at, at_too
        if _say_the_same(lines, lines_too, renamed):
            at, at_too = at + len(lines), at_too + len(lines_too)
            continue
        rows, rows_too = lines[:-1].split(b"\n"), lines_too[:-1].split(b"\n")
        for row, row_too in zip(rows, rows_too, strict=False):
            if row != row_too and _essence(row) != _essence(row_too):
                return at, at_too
            if _SECTION in row or _SECTION in row_too:
                is_end = row.startswith(_SECTION) and row_too.startswith(_SECTION)
                return None if is_end else (at, at_too)
            at, at_too = at + len(row) + 1, at_too + len(row_too) + 1


def _whole_lines(data: memoryview, at: int) -> bytes:
    lines = bytes(data[at : at + _STEP])
    return lines[: lines.rfind(b"\n") + 1]


def _say_the_same(lines: bytes, lines_too: bytes, renamed: dict[bytes, bytes]) -> bool:
    """Whether lines of PTX, none of debug data, differ in what does not matter; in doubt no.

    Args:
        renamed: beginnings of names with a hash and what stands for them in the other text, as far
            as they were met; most texts have one.
    """
    if _SECTION in lines or _SECTION in lines_too or _BETWEEN in lines or _BETWEEN in lines_too:
        return False
    known = lines
    for start, start_too in renamed.items():
        known = known.replace(start, start_too)
    if known == lines_too:
        return True
    rows, rows_too = lines.split(b"\n"), lines_too.split(b"\n")
    if len(rows) != len(rows_too):
        return False
    unlike = [pair for pair in zip(rows, rows_too, strict=True) if pair[0] != pair[1]]
    line = b"\n%b\n" % _BETWEEN
    old, new = (_essence(line.join(side)) for side in zip(*unlike, strict=True))
    if old == new and not renamed:
        starts = [[found[0] for found in HASHED_START.finditer(row)] for row in unlike[0]]
        renamed.update(zip(*starts, strict=False))
    return old == new


def _beginning(data: memoryview, size: int) -> bytes:
    """What matters of the whole lines in the first bytes of some PTX."""
    lines = bytes(data[:size])
    return _essence(lines if size >= len(data) else lines[: lines.rfind(b"\n") + 1])


def _ending(data: memoryview, size: int) -> bytes:
    """As :func:`_beginning`, of the last bytes."""
    lines = bytes(data[-size:])
    if size >= len(data):
        return _essence(lines)
    _, end, rest = lines.partition(b"\n")
    return _essence(rest) if end else b""


def _essence(ptx: bytes | memoryview) -> bytes:
    """PTX without white space, comments, file names, line numbers and the hashes in its names."""
    code = b"\n" + _COMMENT.sub(b"", ptx)
    end = code.find(_SECTION)
    if end >= 0:
        code = code[:end]
    if b".loc" in code or b".file" in code:
        code = _LINE.sub(b"", code)
    return _without_hashes(code).translate(None, _WHITE)


def _without_hashes(code: bytes) -> bytes:
    """Lines of PTX with the same names in two builds; few have a name with a hash."""
    starts: set[int] = set()
    for mark in HASHED:
        at = code.find(mark)
        while at >= 0:
            start, stop = code.rfind(b"\n", 0, at) + 1, code.find(b"\n", at)
            starts.add(start)
            at = code.find(mark, stop) if stop >= 0 else -1
    parts, at = [], 0
    for start in sorted(starts):
        stop = code.find(b"\n", start)
        line = code[start : stop if stop >= 0 else len(code)]
        text = without_hashes(line.decode("utf-8", "surrogateescape"))
        parts += [code[at:start], text.encode("utf-8", "surrogateescape")]
        at = start + len(line)
    return b"".join([*parts, code[at:]])
