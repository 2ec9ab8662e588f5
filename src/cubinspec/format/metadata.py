"""The nodes of ``.nv.metadata``."""

from __future__ import annotations

from cubinspec_generated.records import METADATA_NODE, METADATA_VALUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    #: Number, offset of the name, values of a format and a word, offset in the section.
    MetadataRow = tuple[int, int, list[tuple[int, int]], int]


def metadata_rows(data: bytes) -> Iterator[MetadataRow]:
    """The whole nodes of a section; one that says more values than there are ends them."""
    at = 0
    while at + METADATA_NODE.size <= len(data):
        number, ofs_name, count = METADATA_NODE.unpack_from(data, at)
        start = at + METADATA_NODE.size
        end = start + METADATA_VALUE.size * count
        if end > len(data):
            return
        yield number, ofs_name, [*METADATA_VALUE.iter_unpack(data[start:end])], at
        at = end


def metadata_size(data: bytes) -> int:
    """Bytes of the whole nodes of a section."""
    return sum(
        METADATA_NODE.size + METADATA_VALUE.size * len(values)
        for _, _, values, _ in metadata_rows(data)
    )
