"""The NVIDIA notes: which tool made the file, for which target, with which options."""

from __future__ import annotations

from cubinspec.format.notes import note_rows
from cubinspec.format.strings import decode
from cubinspec.values import FrozenValue
from cubinspec_generated.codes import NT_NV_CUINFO, NT_NV_TKINFO
from cubinspec_generated.records import TKINFO_HEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.model.section import Section


class Note(FrozenValue):
    """One note entry.

    The descriptor of ``tkinfo`` (type 2000) is a version word, four offsets and a pool of
    NUL-terminated strings; that of ``cuinfo``/``cuver`` (type 1000) is a version, the virtual
    target and the toolkit version. Source: cuobjdump 13.5 over patched notes.

    Attributes:
        section_name: name of the note section.
        offset: absolute offset of the entry.
        type: note type.
        owner: without its NUL.
        desc: the descriptor.
    """

    __match_args__ = ("section_name", "offset", "type", "owner", "desc")
    __slots__ = __match_args__
    section_name: str
    offset: int
    type: int
    owner: str
    desc: bytes

    def __init__(self, section_name: str, offset: int, type: int, owner: str, desc: bytes) -> None:
        put = object.__setattr__
        put(self, "section_name", section_name)
        put(self, "offset", offset)
        put(self, "type", type)
        put(self, "owner", owner)
        put(self, "desc", desc)

    def __repr__(self) -> str:
        return f"<Note {self.name} of {self.owner!r}, {len(self.desc)} bytes>"

    @property
    def name(self) -> str:
        """``tkinfo``, ``cuinfo``, ``cuver``: the last part of the section's name."""
        return self.section_name.rpartition(".")[2]

    def _word(self, at: int, size: int) -> int | None:
        if at + size > len(self.desc):
            return None
        return int.from_bytes(self.desc[at : at + size], "little")

    def _pooled(self, number: int) -> str | None:
        if self.type != NT_NV_TKINFO or len(self.desc) < TKINFO_HEAD.size:
            return None
        start = TKINFO_HEAD.unpack_from(self.desc)[1 + number]
        pool = self.desc[TKINFO_HEAD.size :]
        if start >= len(pool):
            return None
        end = pool.find(0, start)
        return decode(pool[start : len(pool) if end < 0 else end])

    @property
    def note_version(self) -> int | None:
        """Version of the note's layout."""
        return self._word(0, 4 if self.type == NT_NV_TKINFO else 2)

    @property
    def object_file(self) -> str | None:
        """Name of the object file; mostly empty."""
        return self._pooled(0)

    @property
    def tool_name(self) -> str | None:
        """``ptxas``, ``nvlink``, …"""
        return self._pooled(1)

    @property
    def tool_version(self) -> str | None:
        """The tool's version line."""
        return self._pooled(2)

    @property
    def tool_branch(self) -> str | None:
        """The tool's build."""
        return self._pooled(3)

    @property
    def arguments(self) -> str | None:
        """The command line options the tool was given."""
        return self._pooled(4)

    @property
    def virtual_sm(self) -> int | None:
        """Number of the virtual target (cuinfo, cuver)."""
        return self._word(2, 2) if self.type == NT_NV_CUINFO else None

    @property
    def toolkit_version(self) -> int | None:
        """``major * 10 + minor`` of the toolkit (cuinfo)."""
        return self._word(4, 4) if self.type == NT_NV_CUINFO and self.name == "cuinfo" else None


def read_notes(section: Section, file: str) -> list[Note]:
    """All entries of a note section."""
    name = section.name
    base = section.sh_offset
    return [
        Note(name, base + at, kind, decode(owner), desc)
        for at, kind, owner, desc in note_rows(
            section.data, base, file, f"sections[{section.index}]"
        )
    ]
