"""Every way in which input can be refused, each naming the place and what was expected there."""

from __future__ import annotations

__all__ = [
    "BadIndexError",
    "BadOffsetError",
    "BadStringError",
    "BadStructureError",
    "CubinError",
    "FileAccessError",
    "LimitError",
    "MissingPackageError",
    "NotCubinError",
    "TruncatedError",
]


class CubinError(Exception):
    """Root of all errors of this package.

    Attributes:
        reason: one sentence, what is wrong.
        file: name of the file, as given by the caller; ``None`` when unknown.
        offset: absolute byte offset in the file; ``None`` when the fault has no single place.
        field: path of the field in the spec's terms, such as ``section_headers[3].sh_offset``.
        expected: what would have been accepted.
    """

    def __init__(
        self,
        reason: str,
        *,
        file: str | None = None,
        offset: int | None = None,
        field: str | None = None,
        expected: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.file = file
        self.offset = offset
        self.field = field
        self.expected = expected

    def as_dict(self) -> dict[str, object]:
        """The error as JSON knows it; where it occurred is told beside it."""
        return {
            "type": type(self).__name__,
            "reason": self.reason,
            "offset": self.offset,
            "field": self.field,
            "expected": self.expected,
        }

    def __str__(self) -> str:
        place = self.file or "<bytes>"
        if self.offset is not None:
            place += f":{self.offset:#x}"
        text = f"{place}: "
        if self.field:
            text += f"{self.field}: "
        text += self.reason
        if self.expected:
            text += f" (expected {self.expected})"
        return text


class FileAccessError(CubinError):
    """The file cannot be opened or read."""


class NotCubinError(CubinError):
    """The bytes are something else: not ELF, or an ELF file of another machine."""


class TruncatedError(CubinError):
    """The file ends before a structure that its headers promise."""


class BadOffsetError(CubinError):
    """An offset, size or count points outside the file or overflows."""


class BadIndexError(CubinError):
    """An index (section, symbol, string) is out of range."""


class BadStringError(CubinError):
    """A string has no terminator inside its table."""


class BadStructureError(CubinError):
    """Fields contradict each other: wrong entry size, overlapping headers, cyclic links."""


class LimitError(CubinError):
    """A count or size is above the named limit (see ``cubinspec.limits``)."""


class MissingPackageError(CubinError, ImportError):
    """A Python package that a command needs is not installed."""

    @classmethod
    def of(
        cls,
        package: str,
        purpose: str,
        *,
        file: str | None = None,
        offset: int | None = None,
        field: str | None = None,
    ) -> MissingPackageError:
        """The error for one package, with the command that installs it anywhere.

        Args:
            package: its name in a package index, with extras if it needs them.
            purpose: what it does here, such as ``zstd``.
        """
        quoted = f"'{package}'" if "[" in package else package
        return cls(
            f"the Python package {package} is needed for {purpose} and is not installed",
            file=file,
            offset=offset,
            field=field,
            expected=f"pip install {quoted}",
        )

    def __str__(self) -> str:
        if self.file:
            return super().__str__()
        return f"{self.reason} (expected {self.expected})" if self.expected else self.reason
