"""PTX and other texts in debug data."""

from __future__ import annotations

import re
from typing import Any

from cubinspec_writer.yaml_form.debug.cursor import Cursor, refuse, text_bytes
from cubinspec_writer.yaml_form.text import Literal

#: A character that a block of text in YAML cannot hold, or that would end a line there.
_NO_TEXT = re.compile(
    "[^\t\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


def ptx(data: bytes) -> Literal:
    """PTX, a NUL behind each line, as a block of text."""
    if not data.endswith(b"\0") or b"\n" in data:
        refuse("no lines that are ended by NULs")
    text = data.decode("utf-8").replace("\0", "\n")
    if _NO_TEXT.search(text):
        refuse("a character that YAML does not hold")
    return Literal(text)


def ptx_bytes(value: Any) -> bytes:
    lines = value.split("\n")
    if not lines[-1]:
        lines.pop()
    try:
        return b"".join([line.encode() + b"\0" for line in lines])
    except UnicodeEncodeError:
        refuse("half of a character")


def strings(data: bytes) -> list[str]:
    """Texts, each ended by a NUL."""
    cursor = Cursor(data)
    found = []
    while not cursor.is_done:
        found.append(cursor.text())
    return found


def strings_bytes(value: Any) -> bytes:
    return b"".join([text_bytes(text, at) for at, text in enumerate(value)])
