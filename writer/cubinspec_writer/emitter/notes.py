"""Notes: the bodies of ``.note.nv.tkinfo``, ``.note.nv.cuinfo`` and ``.note.nv.cuver``."""

from __future__ import annotations

from cubinspec.values import ValueObject
from cubinspec_generated import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.emitter.model import Context

#: Owner and descriptor of a note are padded to a multiple of this.
_ALIGN = 4


def _padding(size: int) -> bytes:
    return bytes(-size % _ALIGN)


class ToolNote(ValueObject):
    """Descriptor of ``.note.nv.tkinfo``: five strings in a pool.

    Attributes:
        padding: number of NUL bytes behind the pool; ``None``: up to a multiple of four.
    """

    __match_args__ = (
        "note_version",
        "object_file",
        "tool_name",
        "tool_version",
        "tool_branch",
        "arguments",
        "padding",
    )
    __slots__ = __match_args__

    def __init__(
        self,
        note_version: int,
        object_file: str,
        tool_name: str,
        tool_version: str,
        tool_branch: str,
        arguments: str,
        padding: int | None = None,
    ) -> None:
        self.note_version = note_version
        self.object_file = object_file
        self.tool_name = tool_name
        self.tool_version = tool_version
        self.tool_branch = tool_branch
        self.arguments = arguments
        self.padding = padding

    def encode(self) -> bytes:
        """The bytes."""
        # without an object file the pool begins with the empty string
        pool = bytearray(b"" if self.object_file else b"\0")
        offsets = []
        for text in (
            self.object_file,
            self.tool_name,
            self.tool_version,
            self.tool_branch,
            self.arguments,
        ):
            if text:
                offsets.append(len(pool))
                pool += text.encode("utf-8", "surrogateescape") + b"\0"
            elif self.object_file:
                offsets.append(len(pool))
                pool += b"\0"
            else:
                offsets.append(0)
        padding = _padding(len(pool)) if self.padding is None else bytes(self.padding)
        return records.TKINFO_HEAD.pack(self.note_version, *offsets) + pool + padding


class RawNote(ValueObject):
    """A descriptor of another layout."""

    __match_args__ = ("data",)
    __slots__ = __match_args__

    def __init__(self, data: bytes) -> None:
        self.data = data

    def encode(self) -> bytes:
        """The bytes."""
        return self.data


class CuinfoNote(ValueObject):
    """Descriptor of ``.note.nv.cuinfo``."""

    __match_args__ = ("note_version", "virtual_sm", "toolkit_version", "reserved")
    __slots__ = __match_args__

    def __init__(
        self, note_version: int, virtual_sm: int, toolkit_version: int, reserved: int = 0
    ) -> None:
        self.note_version = note_version
        self.virtual_sm = virtual_sm
        self.toolkit_version = toolkit_version
        self.reserved = reserved

    def encode(self) -> bytes:
        """The bytes."""
        return records.CUINFO.pack(
            self.note_version, self.virtual_sm, self.toolkit_version, self.reserved
        )


class CuverNote(ValueObject):
    """Descriptor of ``.note.nv.cuver`` (CUDA 12.7 to 12.9)."""

    __match_args__ = ("note_version", "virtual_sm", "unknown_1", "unknown_2")
    __slots__ = __match_args__

    def __init__(self, note_version: int, virtual_sm: int, unknown_1: int, unknown_2: int) -> None:
        self.note_version = note_version
        self.virtual_sm = virtual_sm
        self.unknown_1 = unknown_1
        self.unknown_2 = unknown_2

    def encode(self) -> bytes:
        """The bytes."""
        return records.CUVER.pack(
            self.note_version, self.virtual_sm, self.unknown_1, self.unknown_2
        )


class Note(ValueObject):
    """One note entry.

    Attributes:
        owner: without its terminating NUL.
        overrides: ``len_owner``, ``len_description`` that contradict the contents (broken files).
    """

    __match_args__ = ("kind", "owner", "descriptor", "overrides")
    __slots__ = __match_args__

    def __init__(
        self,
        kind: int,
        owner: str,
        descriptor: ToolNote | CuinfoNote | CuverNote | RawNote,
        overrides: dict[str, int] | None = None,
    ) -> None:
        self.kind = kind
        self.owner = owner
        self.descriptor = descriptor
        self.overrides: dict[str, int] = {} if overrides is None else overrides


class Notes(ValueObject):
    """A note section.

    Attributes:
        padded: false where the last descriptor lacks its padding.
    """

    __match_args__ = ("notes", "padded")
    __slots__ = __match_args__

    def __init__(self, notes: list[Note], padded: bool = True) -> None:
        self.notes = notes
        self.padded = padded

    @property
    def size(self) -> int:
        return len(self._bytes())

    def _bytes(self) -> bytes:
        parts = bytearray()
        for index, note in enumerate(self.notes):
            owner = note.owner.encode("utf-8", "surrogateescape") + b"\0"
            descriptor = note.descriptor.encode()
            parts += records.NOTE_HEADER.pack(
                note.overrides.get("len_owner", len(owner)),
                note.overrides.get("len_description", len(descriptor)),
                note.kind,
            )
            parts += owner + _padding(len(owner)) + descriptor
            if self.padded or index + 1 < len(self.notes):
                parts += _padding(len(descriptor))
        return bytes(parts)

    def encode(self, context: Context) -> bytes:
        return self._bytes()
