"""Names of device code in host files: what is registered, what is used, what images define."""

from __future__ import annotations

from dataclasses import dataclass

from cubinspec.containers.host_names import Patterns
from cubinspec.format.sections import CONSTANT_BANK_TYPES
from cubinspec.report.archs import in_order
from cubinspec.report.names import readable
from cubinspec_generated.codes import (
    STB_LOCAL,
    STO_CUDA_ENTRY,
    STO_CUDA_MANAGED,
    STT_CUDA_OBJECT,
    STT_CUDA_SAMPLER,
    STT_CUDA_SURFACE,
    STT_CUDA_TEXTURE,
    STT_FUNC,
    STT_OBJECT,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.containers.host_names import HostNames
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.symbol import Symbol

_HANDLES = {
    STT_CUDA_TEXTURE: "texture",
    STT_CUDA_SAMPLER: "sampler",
    STT_CUDA_SURFACE: "surface",
}
_VARIABLES = frozenset((STT_OBJECT, STT_CUDA_OBJECT))
_CONSTANT_PREFIX = ".nv.constant"
#: Sections whose variables a host can name.
_VISIBLE = (".nv.global", _CONSTANT_PREFIX)


@dataclass(slots=True)
class DeviceName:
    """A kernel, variable, constant or handle that images define.

    Attributes:
        kind: which of these.
        is_local: a variable that a linked image keeps to itself; a compiler's own are, too.
        archs: targets of the images.
    """

    kind: str
    is_local: bool
    archs: set[str]


def add_names(cubin: Cubin, names: dict[str, DeviceName]) -> None:
    """Add what a host could register of the names in a cubin."""
    for symbol in cubin.symbols:
        kind = _kind_of(symbol)
        if kind and symbol.name:
            is_local = kind != "kernel" and symbol.st_bind == STB_LOCAL
            known = names.setdefault(symbol.name, DeviceName(kind, is_local, set()))
            known.archs.add(cubin.arch)


def _kind_of(symbol: Symbol) -> str:
    if not symbol.is_defined:
        return ""
    if symbol.st_type == STT_FUNC:
        return "kernel" if symbol.st_other & STO_CUDA_ENTRY else ""
    if symbol.st_type in _HANDLES:
        return _HANDLES[symbol.st_type]
    section = symbol.section
    if symbol.st_type not in _VARIABLES or section is None:
        return ""
    if not section.name.startswith(_VISIBLE):
        return ""
    if section.name.startswith(_CONSTANT_PREFIX) or section.sh_type in CONSTANT_BANK_TYPES:
        return "constant"
    return "managed variable" if symbol.st_other & STO_CUDA_MANAGED else "variable"


def host_record(names: HostNames, defined: dict[str, DeviceName], said: set[str]) -> dict[str, Any]:
    """One host file (schema ``host.schema.json``).

    Args:
        names: what it says.
        defined: names of device code.
        said: names that stand in its data.
    """
    patterns = {
        kind: Patterns(use.pattern for use in names.uses if use.kind == kind)
        for kind in ("kernel", "variable", "constant")
    }
    found = []
    for name in sorted({*defined, *names.registered}):
        device = defined.get(name)
        registered = name in names.registered if names.is_object else name in said
        if device is not None and device.is_local and not registered:
            continue
        kind = names.registered.get(name, "") if device is None else device.kind
        use = kind.removeprefix("managed ")
        used = patterns[use].fits(name) if names.uses and use in patterns else None
        found.append(
            {
                "name": name,
                "demangled": readable(name),
                "kind": kind,
                "registered": registered,
                "used": used,
                "archs": [] if device is None else in_order(device.archs),
            }
        )
    return {
        "module": names.module,
        "is_object": names.is_object,
        "uses": [
            {"kind": use.kind, "linkage": use.linkage, "pattern": use.pattern} for use in names.uses
        ],
        "names": found,
    }
