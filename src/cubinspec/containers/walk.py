"""From a path to the images in it, through every container on the way."""

from __future__ import annotations

from cubinspec.allowance import SpentError
from cubinspec.containers import fatbin
from cubinspec.containers.elf_host import ELF_MAGIC, cubin_length
from cubinspec.containers.image import Image, Step
from cubinspec.containers.sniff import (
    ARCHIVES,
    COMPRESSED,
    HOSTS,
    SNIFF_BYTES,
    ptx_target,
    sniff,
)
from cubinspec.containers.source import BytesSource, PathSource, Source
from cubinspec.containers.wrappers import Host
from cubinspec.errors import BadStructureError, CubinError, LimitError
from cubinspec.limits import MAX_CONTAINER_DEPTH, SEARCH_CHUNK_BYTES
from cubinspec.reader.elf import is_cubin_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterator

    from cubinspec.containers.wrappers import Wrapper

    Visit = Callable[[tuple["Step", ...], "Source", str], None]

#: Beyond every file.
_END = 1 << 63
#: PTX names its target in the lines after its leading comment.
_PTX_HEAD_BYTES = 1 << 16


def images(
    what: str | os.PathLike[str] | bytes, *, name: str = "<bytes>", visit: Visit | None = None
) -> Iterator[Image]:
    """Every image of device code in a file, a folder, or bytes.

    Containers in containers are opened to a depth of ``MAX_CONTAINER_DEPTH``. What cannot be read
    is an image too, of kind ``fault``, with the reason in ``error``; the walk goes on after it.

    Args:
        what: path of a file or folder, or the bytes of a file.
        name: what to call the bytes.
        visit: called for every file, archive member and unpacked stream that is walked, before
            its images, with its steps, its source and the kind that
            :func:`cubinspec.containers.sniff.sniff` gives it.

    Raises:
        FileAccessError: the path itself cannot be opened.
    """
    if isinstance(what, (bytes, bytearray, memoryview)):
        yield from images_of(BytesSource(bytes(what), name), visit)
        return
    import os

    path = os.fspath(what)
    if not os.path.isdir(path):
        yield from images_of(PathSource(path), visit)
        return
    for file in files_below(path):
        try:
            source = PathSource(file)
        except CubinError as error:
            yield _fault((Step("file", file),), error)
            continue
        yield from images_of(source, visit)


def images_of(source: Source, visit: Visit | None = None) -> Iterator[Image]:
    """Every image in a source that the caller opened, under the source's name.

    One budget holds for the walk and for the images that it gives; when it runs out, a fault says
    so and the walk ends.
    """
    source.renew_budget()
    budget = source.budget
    steps = (Step("file", source.name, 0, source.size),)
    try:
        for image in _walk(source, steps, 0, visit):
            budget.spend("images" if image.error is None else "messages")
            yield image
            if budget.error is not None:  # it ran out while the image was read, which was told
                return
    except SpentError as error:
        yield _fault(steps, error)


def files_below(folder: str) -> Iterator[str]:
    """Regular files under a folder in sorted order; symbolic links are not followed.

    A link's target is below the folder too, and then counted where it is, or it is not part of
    what was asked for.
    """
    import os

    for base, folders, names in os.walk(folder):
        folders.sort()
        for file in sorted(names):
            path = os.path.join(base, file)
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


def _fault(steps: tuple[Step, ...], error: CubinError) -> Image:
    return Image(steps, "fault", BytesSource(b"", ""), error=error)


def _walk(
    source: Source, steps: tuple[Step, ...], depth: int, visit: Visit | None
) -> Iterator[Image]:
    try:
        kind = sniff(source.read(0, SNIFF_BYTES))
        if visit is not None:
            visit(steps, source, kind)
        if kind in HOSTS or kind == "fatbin":
            yield from _search(source, steps, kind)
        elif kind == "cubin":
            yield Image(steps, "cubin", source, 0, source.size)
        elif kind == "ptx":
            target = ptx_target(source.read(0, _PTX_HEAD_BYTES))
            yield Image(steps, "ptx", source, 0, source.size, arch=target)
        elif kind == "bitcode":
            yield Image(steps, "nvvm", source, 0, source.size, arch="")
        elif kind in ARCHIVES:
            yield from _archive(source, kind, steps, depth, visit)
        elif kind in COMPRESSED:
            yield from _compressed(source, kind, steps, depth, visit)
        elif kind == "thin-ar":
            raise BadStructureError(
                "a thin archive names files and holds none of them",
                file=source.name,
                offset=0,
                expected="an archive that starts with '!<arch>'",
            )
    except SpentError:
        raise
    except CubinError as error:
        yield _fault(steps, error)


def _check_depth(source: Source, depth: int) -> None:
    if depth >= MAX_CONTAINER_DEPTH:
        raise LimitError(
            f"{depth} containers around this one",
            file=source.name,
            expected=f"at most {MAX_CONTAINER_DEPTH} containers inside each other",
        )


def _archive(
    source: Source, kind: str, steps: tuple[Step, ...], depth: int, visit: Visit | None
) -> Iterator[Image]:
    from cubinspec.containers.archives import members

    _check_depth(source, depth)
    for name, member in members(source, kind):
        if isinstance(member, CubinError):
            inner = (*steps, Step("member", name)) if name else steps
            yield _fault(inner, member)
            continue
        yield from _walk(member, (*steps, Step("member", name, 0, member.size)), depth + 1, visit)
        member.close()


def _compressed(
    source: Source, kind: str, steps: tuple[Step, ...], depth: int, visit: Visit | None
) -> Iterator[Image]:
    from cubinspec.containers.archives import decompressed

    _check_depth(source, depth)
    inner = decompressed(source, kind)
    if sniff(inner.read(0, SNIFF_BYTES)) == "tar":
        if visit is not None:
            visit(steps, inner, "tar")
        yield from _archive(inner, "tar", steps, depth, visit)
    else:
        step = Step("compressed", kind, 0, inner.size)
        yield from _walk(inner, (*steps, step), depth + 1, visit)
    inner.close()


def _search(source: Source, steps: tuple[Step, ...], kind: str) -> Iterator[Image]:
    """Containers and bare cubins anywhere in a host file, in file order."""
    host = Host(source, kind)
    wrapped = {wrapper.container: wrapper for wrapper in host.wrappers}
    wrapped.pop(None, None)
    number = 0
    at = 0
    while (found := _find(source, at, host.tables)) is not None:
        at, head = found
        section = _region_at(host.regions, at)
        if fatbin.looks_like_container(head):
            size = fatbin.CONTAINER.unpack_from(head)[3]
            wrapper = wrapped.pop(at, None)
            step = Step(
                "fatbin", f"fatbin {number}", at, fatbin.CONTAINER.size + size, section, wrapper
            )
            number += 1
            superseded = host.superseded(section, wrapper)
            at = yield from _container(source, (*steps, step), at, size, superseded, host.module)
        elif is_cubin_header(head):
            try:
                length = cubin_length(source, at, source.budget)
            except SpentError:
                raise
            except CubinError as error:
                step = Step("cubin", f"cubin at {at:#x}", at, 0, section)
                yield _fault((*steps, step), error)
                at += 4
                continue
            step = Step("cubin", f"cubin at {at:#x}", at, length, section)
            yield Image((*steps, step), "cubin", source, at, length)
            at += length
        else:
            at += 4
    for wrapper in host.wrappers:
        unmapped = wrapper.container is None and wrapper.address
        if unmapped or wrapped.pop(wrapper.container, None) is not None:
            yield _lost(source, steps, wrapper)


def _lost(source: Source, steps: tuple[Step, ...], wrapper: Wrapper) -> Image:
    """A container that the host registers and that is not there."""
    if wrapper.container is None:
        what, where = f"address {wrapper.address:#x}, which is not in the file", wrapper.offset
    elif wrapper.container >= source.size:
        what, where = f"offset {wrapper.container:#x}, behind the end", wrapper.offset
    else:
        what, where = f"offset {wrapper.container:#x}, where none begins", wrapper.container
    error = BadStructureError(
        f"the wrapper at {wrapper.offset:#x} says that a container is at {what}",
        file=source.name,
        offset=where,
        field="fatbin.wrapper",
        expected="a container of version 1",
    )
    return _fault((*steps, Step("wrapper", f"wrapper at {wrapper.offset:#x}", where)), error)


def _container(
    source: Source,
    steps: tuple[Step, ...],
    offset: int,
    size: int,
    superseded: bool | None,
    module: str,
) -> Generator[Image, None, int]:
    """Images of one container; returns where the search goes on."""
    at = offset + fatbin.CONTAINER.size
    number = 0
    try:
        for entry in fatbin.entries(source, offset, size):
            at = entry.payload_offset + entry.payload_size
            number = entry.number + 1
            step = Step("entry", f"entry {entry.number}", entry.offset - offset, at - entry.offset)
            yield Image(
                (*steps, step),
                entry.kind_name,
                source,
                entry=entry,
                superseded=superseded,
                module=module,
            )
    except CubinError as error:
        yield _fault((*steps, Step("entry", f"entry {number}", at - offset)), error)
    return at


def _find(source: Source, start: int, tables: list[tuple[int, int]]) -> tuple[int, bytes] | None:
    """Offset and first 20 bytes of the next magic number at or after ``start``.

    Args:
        tables: parts that are passed over.
    """
    at = start
    overlap = 19
    for begin, end in (*tables, (_END, _END)):
        while at < begin:
            chunk = source.read(at, min(SEARCH_CHUNK_BYTES, begin - at))
            hit = chunk.find(fatbin.MAGIC_BYTES)
            elf = chunk.find(ELF_MAGIC, 0, hit if hit >= 0 else len(chunk))
            if elf >= 0:
                hit = elf
            if hit >= 0:
                head = chunk[hit : hit + 20]
                if len(head) < 20:
                    head = source.read(at + hit, 20)
                return at + hit, head
            if len(chunk) < SEARCH_CHUNK_BYTES:
                break
            at += len(chunk) - overlap
        at = max(at, end)
    return None


def _region_at(regions: list[tuple[int, int, str]], offset: int) -> str:
    from bisect import bisect_right

    index = bisect_right(regions, offset, key=lambda region: region[0]) - 1
    if index >= 0 and offset < regions[index][1]:
        return regions[index][2]
    return ""
