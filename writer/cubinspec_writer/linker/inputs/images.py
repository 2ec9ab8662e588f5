"""Host objects and device images inside of containers: objects, fatbins, archives."""

from __future__ import annotations

from cubinspec.containers.walk import images
from cubinspec.format.targets import target
from cubinspec_writer.linker.inputs.archives import no_fatbin
from cubinspec_writer.linker.inputs.host import read_host_object
from cubinspec_writer.linker.inputs.sources import HostObject, register_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.containers.image import Image, Step
    from cubinspec.containers.source import Source
    from cubinspec.format.targets import Target
    from cubinspec_writer.linker.diagnostics import Diagnostics

_HOST = "elf"
#: Where an error is of a fatbin that the host registers.
_WRAPPER = "fatbin.wrapper"
#: Containers that count as one input of the host program.
_INPUTS = (_HOST, "fatbin", "wrapper")
#: Steps on the way to an image that name a file or a part of one.
_FILES = frozenset(("file", "member", "compressed"))
#: Kinds of images that link-time optimisation takes.
_LTO = ("nvvm", "lto")
_VARIANT_RANK = {"": 0, "f": 1, "a": 2}


class Content:
    """What a container holds.

    Attributes:
        hosts: its inputs as the host program sees them.
        groups: the images of each fatbin.
    """

    __slots__ = ("groups", "hosts")

    def __init__(self) -> None:
        self.hosts: list[HostObject] = []
        self.groups: list[list[Image]] = []


def read_container(name: str, data: bytes, diagnostics: Diagnostics) -> Content:
    """Read a container to its end.

    Raises:
        CubinError: a part of it cannot be read.
        LinkError: the host registers a fatbin that is none.
    """
    content = Content()
    objects: dict[tuple[str, ...], HostObject] = {}

    def look(steps: tuple[Step, ...], source: Source, kind: str) -> None:
        if kind in _INPUTS:
            is_host = kind == _HOST
            host = read_host_object(source, name) if is_host else HostObject(register_name(name))
            objects[tuple(step.name for step in steps)] = host

    groups: dict[tuple[str, ...], list[Image]] = {}
    with_code: set[tuple[str, ...]] = set()
    for image in images(data, name=name, visit=look):
        if image.error is not None:
            if image.error.field == _WRAPPER:
                raise no_fatbin(name, diagnostics)
            raise image.error
        if image.entry is None:
            continue
        with_code.add(tuple(step.name for step in image.provenance if step.kind in _FILES))
        key = tuple(step.name for step in image.provenance if step.kind != "entry")
        groups.setdefault(key, []).append(image)
    for key, host in objects.items():
        if key not in with_code:
            host.register = ""
        content.hosts.append(host)
    if not objects:
        content.hosts.append(HostObject(""))
    content.groups = list(groups.values())
    return content


def best_image(group: list[Image], wanted: Target, *, parts_variants: bool) -> Image | None:
    """The image of the highest sm number that a target accepts (rule T4).

    Of the same number, cubins come before PTX, then `a` variants before `f` before the base.

    Args:
        parts_variants: whether only an `a` target accepts such cubins (rule K37).
    """
    best: Image | None = None
    best_rank = (-1, False, -1)
    for image in group:
        arch = image.arch.replace("compute_", "sm_")
        own = target(arch) if image.kind in ("cubin", "ptx") else None
        if own is None:
            continue
        is_cubin = image.kind == "cubin"
        if is_cubin:
            accepted = wanted.links(own.sm, specific=own.is_specific)
            accepted &= not (parts_variants and own.is_specific) or wanted.is_specific
        else:
            accepted = wanted.assembles(own)
        rank = (own.sm, is_cubin, _VARIANT_RANK[own.variant])
        if accepted and rank > best_rank:
            best, best_rank = image, rank
    return best


def needs_optimisation(group: list[Image]) -> bool:
    """Whether a fatbin has code for link-time optimisation."""
    return any(image.kind in _LTO for image in group)


def member_name(name: str, image: Image) -> str:
    """The name that messages use for an image of a container."""
    return ":".join([name, *(step.name for step in image.provenance if step.kind == "member")])
