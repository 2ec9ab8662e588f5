"""Names as they are shown: what no terminal can print is escaped, and can be read back."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

_CONTROL = {r"\n": "\n", r"\r": "\r", r"\t": "\t"}
_LAST_CHARACTER = 0x10FFFF


def escaped(text: str) -> str:
    r"""Text in which stray bytes of a name stand as ``\xe9``, control characters as ``\n``."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if 0x80 <= code <= 0xFF:  # a control character, not that byte
        return f"\\u{code:04x}"
    return char.encode("unicode_escape").decode()


def escape_stray_bytes(text: str) -> str:
    """Text that is Unicode: :func:`escaped` for bytes that are not UTF-8, all else stays."""
    if text.isascii():
        return text
    return "".join(_escape(char) if "\ud800" <= char <= "\udfff" else char for char in text)


def unescaped(text: str) -> str:
    """The name that :func:`escaped` made ``text`` of; text that holds no escapes stays."""
    if "\\" not in text:
        return text
    from re import sub

    return sub(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt])", _unescape, text)


def _unescape(found: Match[str]) -> str:
    word = found.group()
    if word in _CONTROL:
        return _CONTROL[word]
    code = int(word[2:], 16)
    if code > _LAST_CHARACTER:
        return word
    return chr(0xDC00 + code if word[1] == "x" and code >= 0x80 else code)
