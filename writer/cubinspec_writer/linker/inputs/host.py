"""Which kernels host objects name, and by which name each registers its device code.

nvcc writes into every host object, beside the fatbin, the device names that host code uses
(`.nvHRKE`: kernels with external linkage, `.nvHRKI`: kernels of this file only; the same for
variables with D and C) and the name under which the object registers its code
(`__nv_module_id`). The names are separated by NUL, and `*` in a name matches any text.
"""

from __future__ import annotations

from cubinspec.containers.host_names import Patterns, host_names
from cubinspec.errors import CubinError
from cubinspec_generated.codes import STB_LOCAL
from cubinspec_writer.linker.inputs.sources import HostObject, register_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.containers.source import Source
    from cubinspec_writer.linker.model import Symbol


def read_host_object(source: Source, path: str) -> HostObject:
    """Reads the names in a host ELF file; a file that cannot be read has none."""
    try:
        names = host_names(source)
    except CubinError:
        return HostObject(register_name(path))
    used = {linkage: names.used("kernel", linkage) for linkage in ("external", "internal")}
    return HostObject(
        register_name(path) if names.module is None else names.module,
        None if names.module is None else used["external"],
        used["internal"],
    )


class KernelFilter:
    """Which kernels an option or the host objects keep.

    Attributes:
        external: names of kernels with external linkage.
        internal: names of kernels that only one file knows.
        by_host: the names come from host objects; then a removed kernel leaves the name of its
            shared section in the string table.
    """

    __slots__ = ("by_host", "external", "internal")

    def __init__(
        self,
        external: Patterns,
        internal: Patterns,
        by_host: bool = False,
    ) -> None:
        self.external: Patterns = external
        self.internal: Patterns = internal
        self.by_host: bool = by_host

    def keeps(self, kernel: Symbol) -> bool:
        """Whether a kernel is named."""
        patterns = self.internal if kernel.bind == STB_LOCAL else self.external
        return patterns.fits(kernel.name)


def named_by_options(kernels: Iterable[str]) -> KernelFilter:
    """The filter of `--kernels-used`: each text may stand anywhere in a name (rule V6)."""
    patterns = Patterns(f"*{text}*" for text in kernels)
    return KernelFilter(patterns, patterns)


def named_by_host(objects: Iterable[HostObject]) -> KernelFilter | None:
    """The filter made of the host objects' names; None when they do not count.

    They count when an object that is not of the device runtime names a kernel (rule V4).

    Args:
        objects: all inputs, each of which has names.
    """
    external: list[str] = []
    internal: list[str] = []
    is_named = False
    for host in objects:
        external += host.external or ()
        internal += host.internal
        is_named |= not host.system and bool(host.external or host.internal)
    if not is_named:
        return None
    return KernelFilter(Patterns(external), Patterns(internal), by_host=True)


def register_text(objects: Iterable[HostObject]) -> str:
    """The file of `--register-link-binaries`: one macro call per input with device code."""
    names = [host.register for host in objects if host.register]
    lines = [f"#define NUM_PRELINKED_OBJECTS {len(names)}"]
    lines += [f"DEFINE_REGISTER_FUNC({name})" for name in names]
    return "\n".join(lines) + "\n"
