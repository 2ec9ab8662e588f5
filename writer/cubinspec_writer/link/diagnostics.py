"""Messages of a link: nvlink's texts, levels and exit codes."""

from __future__ import annotations

from cubinspec.errors import CubinError

from .plain import dataclass, field

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
    """Collects messages; errors are held back so that all of one pass are seen together."""

    warnings_are_errors: bool = False
    messages: list[tuple[str, str]] = field(default_factory=list)

    def info(self, text: str) -> None:
        self.messages.append(("info", text))

    def warning(self, text: str) -> None:
        self.messages.append(("warning", text))

    def strict_warning(self, text: str) -> None:
        """A warning that `-Werror` turns into an error."""
        self.messages.append(("error" if self.warnings_are_errors else "warning", text))

    def error(self, text: str) -> None:
        self.messages.append(("error", text))

    def fatal(self, text: str) -> LinkError:
        self.messages.append(("fatal", text))
        return LinkError(list(self.messages), EXIT_FATAL)

    def stop_on_errors(self) -> None:
        """Raise when any error was recorded so far."""
        if any(level == "error" for level, _ in self.messages):
            raise LinkError(list(self.messages), EXIT_ERRORS)
