"""PTX inside of cubins: the texts that debug data is about."""

from __future__ import annotations

from cubinspec.containers.arena import Arena
from cubinspec.containers.image import Image, Step
from cubinspec.containers.sniff import ptx_target
from cubinspec.containers.source import BytesSource
from cubinspec.errors import CubinError
from cubinspec.model.debug import ptx_lines, ptx_sections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def with_embedded_ptx(found: Iterable[Image]) -> Iterator[Image]:
    """The images, each cubin followed by the PTX texts in it."""
    arena = Arena()
    for image in found:
        yield image
        if image.kind != "cubin" or image.error is not None:
            continue
        try:
            texts = list(_texts(image, arena))
        except CubinError as error:
            texts = [Image(image.provenance, "fault", BytesSource(b"", ""), error=error)]
        yield from texts


def _texts(image: Image, arena: Arena) -> Iterator[Image]:
    with image.cubin(arena) as cubin:
        for section in ptx_sections(cubin):
            text = "".join(f"{line}\n" for line in ptx_lines(section))
            data = text.encode("utf-8", "surrogateescape")
            step = Step("section", section.name, section.sh_offset, section.sh_size)
            yield Image(
                (*image.provenance, step),
                "ptx",
                BytesSource(data, cubin.name),
                size=len(data),
                arch=ptx_target(data),
            )
