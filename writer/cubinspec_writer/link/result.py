"""The outcome of a link."""

from __future__ import annotations

from .plain import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .half import Half
    from .host import HostObject


@dataclass(slots=True)
class LinkResult:
    """The outcome of a link.

    Attributes:
        bytes: the linked cubin.
        messages: (level, text) of infos and warnings, in order.
        hosts: every input as its host program sees it.
        half: the linked program (of sm_100 and later: its SASS half) as the passes left it.
        mercury: the Mercury half, from sm_100 on.
    """

    bytes: bytes
    messages: list[tuple[str, str]]
    hosts: list[HostObject]
    half: Half
    mercury: Half | None

    @property
    def warnings(self) -> list[str]:
        """Texts of the warnings."""
        return [text for level, text in self.messages if level == "warning"]
