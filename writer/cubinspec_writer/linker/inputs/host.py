"""Which kernels host objects name, and by which name each registers its device code.

nvcc writes into every host object, beside the fatbin, the device names that host code uses
(`.nvHRKE`: kernels with external linkage, `.nvHRKI`: kernels of this file only; the same for
variables with D and C) and the name under which the object registers its code
(`__nv_module_id`). The names are separated by NUL, and `*` in a name matches any text.
"""

from __future__ import annotations

import os

from cubinspec.errors import CubinError
from cubinspec.values import ValueObject
from cubinspec_generated.codes import STB_LOCAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.containers.host_names import Patterns
    from cubinspec.containers.source import Source
    from cubinspec_writer.linker.model import Symbol


class HostObject(ValueObject):
    """One input as the host program sees it.

    Attributes:
        register: the name under which its code is registered; empty when it has no device code.
        external: names of kernels with external linkage that host code uses; None when the input
            has no list of names.
        internal: the same for kernels that only this file knows.
        system: whether it belongs to the device runtime.
    """

    __match_args__ = ("register", "external", "internal", "system")
    __slots__ = __match_args__

    def __init__(
        self,
        register: str,
        external: list[str] | None = None,
        internal: list[str] | None = None,
        system: bool = False,
    ) -> None:
        self.register = register
        self.system = system
        self.external = external
        self.internal: list[str] = [] if internal is None else internal


def read_host_object(source: Source, path: str) -> HostObject:
    """Reads the names in a host ELF file; a file that cannot be read has none."""
    from cubinspec.containers.host_names import host_names

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


def register_name(path: str) -> str:
    """The default name: the absolute path with `_` for all that is no letter or digit."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in os.path.abspath(path))


class KernelFilter:
    """Which kernels an option or the host objects keep.

    Attributes:
        external: names of kernels with external linkage.
        internal: names of kernels that only one file knows.
        by_host: the names come from host objects; then a removed kernel leaves the name of its
            shared section in the string table.
        launches: the device runtime is linked, so that device code can launch kernels.
    """

    __slots__ = ("by_host", "external", "internal", "launches")

    def __init__(
        self,
        external: Patterns,
        internal: Patterns,
        by_host: bool = False,
        launches: bool = False,
    ) -> None:
        self.external: Patterns = external
        self.internal: Patterns = internal
        self.by_host: bool = by_host
        self.launches: bool = launches

    def keeps(self, kernel: Symbol) -> bool:
        """Whether a kernel is named."""
        patterns = self.internal if kernel.bind == STB_LOCAL else self.external
        return patterns.fits(kernel.name)


def named_by_options(kernels: Iterable[str]) -> KernelFilter:
    """The filter of `--kernels-used`: each text may stand anywhere in a name (rule V6)."""
    from cubinspec.containers.host_names import Patterns

    patterns = Patterns(f"*{text}*" for text in kernels)
    return KernelFilter(patterns, patterns)


def named_by_host(objects: Iterable[HostObject], *, launches: bool = False) -> KernelFilter | None:
    """The filter made of the host objects' names; None when they cannot be used.

    They count only when every input has them and at least one kernel is named by an object that is
    not of the device runtime.

    Args:
        launches: the device runtime is linked.

    Rules V4, V5.
    """
    external: list[str] = []
    internal: list[str] = []
    is_named = False
    for host in objects:
        if host.external is None:
            return None
        external += host.external
        internal += host.internal
        is_named |= not host.system and bool(host.external or host.internal)
    if not is_named:
        return None
    from cubinspec.containers.host_names import Patterns  # links of cubins alone need none

    return KernelFilter(Patterns(external), Patterns(internal), by_host=True, launches=launches)


def register_text(objects: Iterable[HostObject]) -> str:
    """The file of `--register-link-binaries`: one macro call per input with device code."""
    names = [host.register for host in objects if host.register]
    lines = [f"#define NUM_PRELINKED_OBJECTS {len(names)}"]
    lines += [f"DEFINE_REGISTER_FUNC({name})" for name in names]
    return "\n".join(lines) + "\n"
