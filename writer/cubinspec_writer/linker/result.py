"""The outcome of a link."""

from __future__ import annotations

from cubinspec.values import ValueObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from typing import Any

    from cubinspec_writer.linker.inputs.host import HostObject
    from cubinspec_writer.linker.state import LinkState


class LinkResult(ValueObject):
    """The outcome of a link.

    Attributes:
        parts: the linked cubin, in parts that follow each other.
        messages: (level, text) of infos and warnings, in order.
        hosts: every input as its host program sees it.
        half: the linked program (of sm_100 and later: its SASS half) as the passes left it.
        mercury: the Mercury half, from sm_100 on.
    """

    __match_args__ = ("parts", "messages", "hosts", "half", "mercury")
    __slots__ = __match_args__
    parts: list[bytes | bytearray]

    def __init__(
        self,
        parts: list[builtins.bytes | bytearray],
        messages: list[tuple[str, str]],
        hosts: list[HostObject],
        half: LinkState,
        mercury: LinkState | None,
    ) -> None:
        self.parts = parts
        self.messages = messages
        self.hosts = hosts
        self.half = half
        self.mercury = mercury

    def __repr__(self) -> str:
        size = sum(map(len, self.parts))
        return f"<LinkResult: {size} bytes, {len(self.messages)} messages>"

    @property
    def bytes(self) -> builtins.bytes:
        """The linked cubin."""
        whole = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
        self.parts = [whole]
        return bytes(whole)

    @property
    def warnings(self) -> list[str]:
        """Texts of the warnings."""
        return [text for level, text in self.messages if level == "warning"]

    @property
    def map(self) -> dict[str, Any]:
        """Where every input section and symbol went and why (map.schema.json); made anew."""
        from cubinspec_writer.linker.reports.linkmap import link_map

        return link_map(self.bytes, self.messages, self.hosts, self.half, self.mercury)

    @property
    def summary(self) -> dict[str, Any]:
        """What was linked, dropped and shared, and the sizes, in numbers; made anew."""
        from cubinspec_writer.linker.reports.summary import summary

        return summary(self.bytes, self.half)

    def why(self, name: str) -> list[str]:
        """Lines that say whether and why a symbol is in the output."""
        from cubinspec_writer.linker.reports.reasons import explain

        return explain(self.half, name)

    @property
    def callgraph_dot(self) -> str:
        """The call graph as text for Graphviz."""
        from cubinspec_writer.linker.reports.drawing import dot_text

        return dot_text(self.half)

    @property
    def plain_dot(self) -> str:
        """The same as nvlink writes it: who calls whom, and nothing else."""
        from cubinspec_writer.linker.reports import usage

        return usage.plain_dot(self.mercury or self.half)

    @property
    def callgraph_svg(self) -> builtins.bytes:
        """The call graph as a picture, self-contained."""
        from cubinspec_writer.linker.reports.drawing import svg_text

        return svg_text(self.half).encode("utf-8", "backslashreplace")
