"""What host objects say about device code: which kernels the host names, and who registers them.

nvcc writes into every host object, beside the fatbin, the names that host code uses
(`.nvHRKE`: kernels with external linkage, `.nvHRKI`: kernels of the file; the same for variables
with D and C) and the name by which the object registers its code (`__nv_module_id`). The names are
separated by NUL, and `*` in a name stands for any characters.
"""

from __future__ import annotations

import os

from cubinspec.errors import CubinError
from cubinspec_writer.linker.model import STB_LOCAL, Symbol
from cubinspec_writer.plain import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.containers.source import Source

_EXTERNAL, _INTERNAL, _MODULE = ".nvHRKE", ".nvHRKI", "__nv_module_id"
#: Longer lists of names are no nvcc output.
_MAX_NAMES = 1 << 26


@dataclass(slots=True)
class HostObject:
    """One input as the host sees it.

    Attributes:
        register: the name by which its code is registered; empty when it has no device code.
        system: from the device runtime's library.
        external: names of kernels with external linkage that host code uses; None when the input
            does not say.
        internal: the same for kernels that only this file knows.
    """

    register: str
    external: list[str] | None = None
    internal: list[str] = field(default_factory=list)
    system: bool = False


def read_host_object(source: Source, path: str) -> HostObject:
    """What a host ELF file says; nothing but its path when it cannot be read."""
    from cubinspec.containers.elf_host import ElfFrame

    found = HostObject(register_name(path))
    try:
        frame = ElfFrame(source)
        for index, section in enumerate(frame.sections):
            name = frame.name(index)
            if name in (_EXTERNAL, _INTERNAL, _MODULE) and section[5] <= _MAX_NAMES:
                data = source.read(section[4], section[5])
                if name == _MODULE:
                    found.register = _text(data.partition(b"\0")[0])
                elif name == _INTERNAL:
                    found.internal = _names(data)
                elif data:
                    found.external = _names(data)
    except CubinError:
        return HostObject(register_name(path))
    return found


def register_name(path: str) -> str:
    """The name for an input without one of its own: its absolute path in letters and digits."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in os.path.abspath(path))


def _names(data: bytes) -> list[str]:
    return [_text(name) for name in data.split(b"\0") if name]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


class Patterns:
    """Names with `*` for any characters; a name fits when one pattern covers all of it."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._exact: set[str] = set()
        #: Text before the first star -> the other parts.
        self._starred: dict[str, list[list[str]]] = {}
        for pattern in patterns:
            first, *rest = pattern.split("*")
            if rest:
                self._starred.setdefault(first, []).append(rest)
            else:
                self._exact.add(first)
        self._lengths = sorted({len(first) for first in self._starred})

    def fits(self, name: str) -> bool:
        """Whether a pattern covers the name."""
        if name in self._exact:
            return True
        return any(
            _parts_follow(name, length, parts)
            for length in self._lengths
            for parts in self._starred.get(name[:length], ())
        )


def _parts_follow(name: str, at: int, parts: list[str]) -> bool:
    """Whether the parts come in this order from `at` on, the last one at the end."""
    *middle, last = parts
    for part in middle:
        found = name.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return name.endswith(last) and len(name) - len(last) >= at


@dataclass(slots=True)
class KernelFilter:
    """Which kernels an option or the host keeps.

    Attributes:
        external: names of kernels with external linkage.
        internal: names of kernels that only one file knows.
        by_host: the host's names; kernels that go leave the name of their shared section then.
    """

    external: Patterns
    internal: Patterns
    by_host: bool = False

    def keeps(self, kernel: Symbol) -> bool:
        """Whether a kernel is named."""
        patterns = self.internal if kernel.bind == STB_LOCAL else self.external
        return patterns.fits(kernel.name)


def named_by_options(kernels: Iterable[str]) -> KernelFilter:
    """The filter of `--kernels-used`: a text anywhere in the name."""
    patterns = Patterns(f"*{text}*" for text in kernels)
    return KernelFilter(patterns, patterns)


def named_by_host(objects: Iterable[HostObject]) -> KernelFilter | None:
    """The filter of the host's names; None when they cannot be used.

    They count only when every input has them and at least one kernel is named.
    """
    external: list[str] = []
    internal: list[str] = []
    for host in objects:
        if host.external is None:
            return None
        external += host.external
        internal += host.internal
    if not external and not internal:
        return None
    return KernelFilter(Patterns(external), Patterns(internal), by_host=True)


def register_text(objects: Iterable[HostObject]) -> str:
    """The file of `--register-link-binaries`: a macro call for every input with device code."""
    names = [host.register for host in objects if host.register]
    lines = [f"#define NUM_PRELINKED_OBJECTS {len(names)}"]
    lines += [f"DEFINE_REGISTER_FUNC({name})" for name in names]
    return "\n".join(lines) + "\n"
