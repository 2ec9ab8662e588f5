"""Messages of a link: nvlink's texts, levels and exit codes."""

from __future__ import annotations

from cubinspec.errors import CubinError
from cubinspec_writer.plain import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: Exit code after errors that the link itself finds, and after a fatal error.
EXIT_ERRORS, EXIT_FATAL = 255, 1


class LinkError(CubinError):
    """The link cannot be done.

    Attributes:
        messages: all lines in the order they arose, each as (level, text).
        exit_code: what a command has to end with.
    """

    def __init__(self, messages: list[tuple[str, str]], exit_code: int) -> None:
        super().__init__("; ".join(text for _, text in messages))
        self.messages = messages
        self.exit_code = exit_code


class UnsupportedLinkError(LinkError):
    """The inputs use something that this linker does not link; nothing is written."""

    def __init__(self, what: str) -> None:
        super().__init__([("fatal", f"not supported by this linker: {what}")], EXIT_FATAL)


@dataclass(slots=True)
class Diagnostics:
    """Collects messages; errors are held back so that all of one pass are seen together.

    Attributes:
        warnings_are_errors: `-Werror`.
        has_warnings: whether warnings count at all.
        target: architecture to name behind every message (`-report-arch`); empty: none.
        messages: (level, text) of everything so far. Levels are nvlink's, and `note` for what
            nvlink passes over in silence, `usage` for resources, `text` for lines of a report.
    """

    warnings_are_errors: bool = False
    target: str = ""
    has_warnings: bool = True
    messages: list[tuple[str, str]] = field(default_factory=list)

    def _add(self, level: str, text: str) -> None:
        where = f" (target: {self.target})" if self.target else ""
        self.messages.append((level, text + where))

    def note(self, text: str) -> None:
        """What only `-v` shows, and nvlink does not say at all."""
        self._add("note", text)

    def info(self, text: str) -> None:
        self._add("info", text)

    def warning(self, text: str) -> None:
        """A warning, which `-Werror` turns into an error."""
        if not self.has_warnings:
            return
        self._add("error" if self.warnings_are_errors else "warning", text)

    def report(self, level: str, lines: Iterable[str]) -> None:
        """Lines that an option asks for: `usage` or `text`."""
        for text in lines:
            if level == "text":
                self.messages.append((level, text))
            else:
                self._add(level, text)

    def error(self, text: str) -> None:
        self._add("error", text)

    def take(self) -> list[tuple[str, str]]:
        """All messages so far, which are forgotten here."""
        taken, self.messages = self.messages, []
        return taken

    def fatal(self, *texts: str) -> LinkError:
        for text in texts:
            self._add("fatal", text)
        return LinkError(list(self.messages), EXIT_FATAL)

    def stop_on_errors(self) -> None:
        """Raise when any error was recorded so far."""
        if any(level == "error" for level, _ in self.messages):
            raise LinkError(list(self.messages), EXIT_ERRORS)
