"""Messages of a link: nvlink's texts, levels and exit codes."""

from __future__ import annotations

from cubinspec.errors import CubinError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Final

    from cubinspec_writer.linker.inputs.sources import HostObject

#: Exit code after errors that the link itself finds, and after a fatal error.
EXIT_ERRORS: Final = 255
EXIT_FATAL: Final = 1
#: What is told of a relocation behind the end of its section that would stay.
PAST_END: Final = "Internal error: relocation is past end of offset"


class LinkError(CubinError):
    """The link cannot be done.

    Attributes:
        messages: all lines in the order they arose, each as (level, text).
        exit_code: what a command has to end with.
        plain_dot: the call graph in the form of ``-dot``; empty where the link ended before it was
            known.
        hosts: the inputs as the host program sees them; None where none was merged.
    """

    def __init__(self, messages: list[tuple[str, str]], exit_code: int) -> None:
        super().__init__("; ".join(text for _, text in messages))
        self.messages = messages
        self.exit_code = exit_code
        self.plain_dot: str = ""
        self.hosts: Sequence[HostObject] | None = None


class UnsupportedLinkError(LinkError):
    """The inputs use something that this linker does not link; nothing is written."""

    def __init__(self, what: str) -> None:
        super().__init__([("fatal", f"not supported by this linker: {what}")], EXIT_FATAL)


class Diagnostics:
    """Collects messages; errors are kept so that all errors of one pass are reported together.

    Attributes:
        warnings_are_errors: `-Werror`.
        target: architecture to name at the end of every message (`-report-arch`); empty: none.
        has_warnings: whether warnings count at all.
        later: a fatal error that is told when the call graph is known; empty: none.
        messages: (level, text) of everything so far. Levels are nvlink's, and `note` for what
            nvlink ignores without a message, `usage` for resources, `ptxas` for what that program
            says, `text` for lines of a report.
    """

    __slots__ = ("has_warnings", "later", "messages", "target", "warnings_are_errors")

    def __init__(
        self, warnings_are_errors: bool = False, target: str = "", has_warnings: bool = True
    ) -> None:
        self.warnings_are_errors: bool = warnings_are_errors
        self.target: str = target
        self.has_warnings: bool = has_warnings
        self.later: str = ""
        self.messages: list[tuple[str, str]] = []

    def _add(self, level: str, text: str) -> None:
        where = f" (target: {self.target})" if self.target else ""
        self.messages.append((level, text + where))

    def note(self, text: str) -> None:
        """A message that only `--summary` shows and nvlink does not have."""
        self._add("note", text)

    def info(self, text: str) -> None:
        self._add("info", text)

    def warning(self, text: str) -> None:
        """A warning, which `-Werror` turns into an error."""
        if not self.has_warnings:
            return
        self._add("error" if self.warnings_are_errors else "warning", text)

    def report(self, level: str, lines: Iterable[str]) -> None:
        """Add lines that an option asks for, of the level `usage`, `ptxas` or `text`."""
        for text in lines:
            if level == "text":
                self.messages.append((level, text))
            else:
                self._add(level, text)

    def error(self, text: str) -> None:
        self._add("error", text)

    def take(self) -> list[tuple[str, str]]:
        """All messages so far; the list is empty afterwards."""
        taken, self.messages = self.messages, []
        return taken

    def fatal(self, *texts: str) -> LinkError:
        for text in texts:
            self._add("fatal", text)
        return LinkError(list(self.messages), EXIT_FATAL)

    def postpone(self, text: str) -> None:
        """A fatal error that nvlink tells behind stacks and call graph; the first one counts."""
        self.later = self.later or text

    def stop_late(self) -> None:
        """Raise what was postponed."""
        if self.later:
            raise self.fatal(self.later)

    def has_errors(self) -> bool:
        """Whether any error was recorded so far."""
        return any(level == "error" for level, _ in self.messages)

    def stop_on_errors(self) -> None:
        """Raise if any error was recorded so far."""
        if self.has_errors():
            raise LinkError(list(self.messages), EXIT_ERRORS)
