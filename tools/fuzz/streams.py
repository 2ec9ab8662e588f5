"""Targets that take the body of one section: small inputs, thousands in a second.

A grammar that several functions read is read by all of them, and what they say has to agree.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from cubinspec.errors import CubinError
from cubinspec.format import attributes, notes
from cubinspec.format.call_frames import frame_entries
from cubinspec.format.escapes import escape_stray_bytes, escaped, unescaped
from cubinspec.format.leb128 import sleb, uleb
from cubinspec.format.line_tables import line_units
from cubinspec.format.sections import CALLGRAPH_TYPES, INFO_TYPES, PROTOTYPE_TYPES
from cubinspec.format.strings import StringTable, decode, encode
from cubinspec.model.cubin import Cubin
from cubinspec.reader.streams import InfoIndex, keyed_values, pair_rows
from cubinspec_generated.codes import SHT_NOTE, SHT_STRTAB
from tools.corpus import samples
from tools.fuzz.oracle import OracleError

_FILE, _FIELD = "fuzz.cubin", "sections[1]"
_KEYED_PAYLOAD = 8
_CODES = range(256)


def attribute_stream(body: bytes) -> None:
    """An attribute stream, read by all who read one: they agree."""
    raw = attributes.split_records(body)
    with contextlib.suppress(CubinError):
        keyed_values(body, _CODES, 0, _FILE, _FIELD)
    try:
        rows = attributes.info_rows(body, 0, _FILE, _FIELD)
    except CubinError:
        return
    if raw != [attributes.raw_record(*row[1:]) for row in rows if row[1]]:
        raise OracleError("split_records and info_rows differ")
    index = InfoIndex.read(body, 0, _FILE, _FIELD)
    last = {row[2]: row for row in rows}
    if set(index.codes) != set(last):
        raise OracleError("InfoIndex and info_rows know other codes")
    for code, (at, _, _, value, payload) in last.items():
        if (index.place(code), index.value(code), index.payload(code)) != (at, value, payload):
            raise OracleError(f"InfoIndex and info_rows differ in code {code:#x}")
    keyed: dict[int, dict[int, int]] = {code: {} for code in _CODES}
    for row in rows:
        if len(row[4]) == _KEYED_PAYLOAD:
            symbol, value = (int.from_bytes(row[4][at : at + 4], "little") for at in (0, 4))
            keyed[row[2]][symbol] = value
    if keyed_values(body, _CODES, 0, _FILE, _FIELD) != keyed:
        raise OracleError("keyed_values and info_rows differ")


def note_section(body: bytes) -> None:
    """Notes: the linker's pieces are the section, and the reader takes them one by one."""
    pieces = notes.split_notes(body)
    if not body.startswith(b"".join(pieces)):
        raise OracleError("split_notes loses bytes")
    try:
        rows = notes.note_rows(body, 0, _FILE, _FIELD)
    except CubinError:
        return
    if len(rows) != len(pieces):
        raise OracleError(f"{len(rows)} notes are {len(pieces)} for the linker")


def pair_section(body: bytes) -> None:
    """Pairs of words: call edges and prototypes."""
    with contextlib.suppress(CubinError):
        rows = pair_rows(body, 0, _FILE, _FIELD)
        if b"".join(word.to_bytes(4, "little") for row in rows for word in row) != body:
            raise OracleError("pair_rows loses bytes")


def string_table(body: bytes) -> None:
    """A string table, asked for every index, one by one and all at once."""
    one, many = (StringTable(body, 0, _FILE, _FIELD) for _ in range(2))
    found: list[int] = []
    for index in range(-1, len(body) + 1):
        with contextlib.suppress(CubinError):
            if encode(one.get(index)) != body[index:].partition(b"\0")[0]:
                raise OracleError(f"string {index} is another one")
            found.append(index)
    with contextlib.suppress(CubinError):
        if many.get_many(found) != [one.get(index) for index in found]:
            raise OracleError("get_many and get differ")


def name(body: bytes) -> None:
    """A name as it is shown and read back."""
    text = decode(body)
    shown = escaped(text)
    if not shown.isprintable() or (b"\\" not in body and unescaped(shown) != text):
        raise OracleError(f"{shown!r} does not stand for {text!r}")
    escape_stray_bytes(text).encode()


def line_section(body: bytes) -> None:
    """A line table."""
    with contextlib.suppress(CubinError):
        for unit in line_units(body, 0, _FILE, _FIELD):
            for number in range(len(body)):
                unit.path(number)


def frame_section(body: bytes) -> None:
    """Call frames; the numbers of variable length in them end within the section."""
    for read in (uleb, sleb):
        with contextlib.suppress(CubinError, IndexError):
            _, end = read(body, 0)
            if end > len(body):
                raise OracleError(f"{read.__name__} reads behind the end")
    for word in (4, 8):
        with contextlib.suppress(CubinError):
            frame_entries(body, word, 0, _FILE, _FIELD)


STREAMS: tuple[Callable[[bytes], None], ...] = (
    *(attribute_stream, note_section, pair_section, string_table, name),
    *(line_section, frame_section),
)
#: Seeds are bodies of the samples' sections of these kinds.
_KINDS: dict[str, Callable[[int, str], bool]] = {
    attribute_stream.__name__: lambda kind, _: kind in INFO_TYPES,
    note_section.__name__: lambda kind, _: kind == SHT_NOTE,
    pair_section.__name__: lambda kind, _: kind in CALLGRAPH_TYPES | PROTOTYPE_TYPES,
    string_table.__name__: lambda kind, _: kind == SHT_STRTAB,
    name.__name__: lambda kind, _: False,
    line_section.__name__: lambda _, name: name in (".debug_line", ".nv_debug_line_sass"),
    frame_section.__name__: lambda _, name: name == ".debug_frame",
}
_LONGEST = 1024
_NAMES = ("_Z6kernelPfS_i", "_ZN12_GLOBAL__N_11kEv", "_RNvC1a1b", "r\xf4le", "k\udce9", "a\u202eb")


def bodies(target: str) -> list[bytes]:
    """Different bodies of at most 1 KB that the samples have of a target's kind of section."""
    if target == name.__name__:
        return [encode(text) for text in _NAMES]
    wanted = _KINDS[target]
    found: set[bytes] = set()
    for file in sorted(samples.CUBINS.glob("*.cubin")):
        with Cubin.open(file) as cubin:
            found |= {
                section.data
                for section in cubin.sections
                if wanted(section.sh_type, section.name) and 0 < section.sh_size <= _LONGEST
            }
    return sorted(found)
