"""What a host file says about names of device code: which it registers, and which it uses.

nvcc writes into host objects of separate compilation which device names host code uses
(``.nvHRKE``: kernels of external linkage, ``.nvHRKI``: kernels of this file only; the same for
variables with D and constants with C), and into all objects the name under which they register
their code (``__nv_module_id``). The names are separated by NUL, and ``*`` in a name matches any
text.

Start-up code registers each name with the CUDA runtime. In an object the relocations around the
call tell the name; in a linked file its text stands somewhere in the data.
"""

from __future__ import annotations

from cubinspec.containers.elf_host import ElfFrame
from cubinspec.containers.wrappers import MODULE_SECTION
from cubinspec.limits import SEARCH_CHUNK_BYTES
from cubinspec.values import FrozenValue
from cubinspec_generated.codes import (
    ET_REL,
    R_X86_64_PC32,
    R_X86_64_PLT32,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_WRITE,
    SHN_UNDEF,
    SHT_NOBITS,
    SHT_PROGBITS,
)
from cubinspec_generated.tables.fatbin import HOST_USES, REGISTRATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from cubinspec.containers.source import Source

#: A longer list of names was not written by nvcc.
_MAX_NAMES = 1 << 26
#: Relocations of one section; more are not read, which only the names of calls would come from.
_MAX_RELOCATIONS = 1 << 20
#: Bytes from the place of a relative address to the end of its instruction.
_RELATIVE = frozenset((R_X86_64_PC32, R_X86_64_PLT32))
_RELATIVE_BYTES = 4
#: Longest name of device code; templates make long ones.
_MAX_NAME = 1 << 16


class Use(FrozenValue):
    """A name that host code uses.

    Attributes:
        kind: ``kernel``, ``variable`` or ``constant``.
        linkage: ``external``, or ``internal`` for a name that only this file knows.
        pattern: the name; ``*`` in it matches any text.
    """

    __match_args__ = ("kind", "linkage", "pattern")
    __slots__ = __match_args__
    kind: str
    linkage: str
    pattern: str

    def __init__(self, kind: str, linkage: str, pattern: str) -> None:
        put = object.__setattr__
        put(self, "kind", kind)
        put(self, "linkage", linkage)
        put(self, "pattern", pattern)


class HostNames(FrozenValue):
    """The names in one host file.

    Attributes:
        module: the name under which it registers its code; ``None`` when it does not say.
        uses: what host code uses, in the order of the file; nothing without separate compilation.
        registered: name -> kind, for the calls of an object that register one.
        is_object: whether the relocations of calls can tell; else only texts can.
    """

    __match_args__ = ("module", "uses", "registered", "is_object")
    __slots__ = __match_args__
    module: str | None
    uses: list[Use]
    registered: dict[str, str]
    is_object: bool

    def __init__(
        self, module: str | None, uses: list[Use], registered: dict[str, str], is_object: bool
    ) -> None:
        put = object.__setattr__
        put(self, "module", module)
        put(self, "uses", uses)
        put(self, "registered", registered)
        put(self, "is_object", is_object)

    def used(self, kind: str, linkage: str) -> list[str]:
        """The patterns of one kind and linkage."""
        return [use.pattern for use in self.uses if (use.kind, use.linkage) == (kind, linkage)]


def host_names(source: Source) -> HostNames:
    """The names in a host ELF file.

    Raises:
        CubinError: it is no ELF file, or its headers are broken.
    """
    frame = ElfFrame(source)
    module = None
    uses: list[Use] = []
    for index, header in enumerate(frame.sections):
        name = frame.name(index)
        _, sh_type, _, _, offset, size, *_ = header
        if (name != MODULE_SECTION and name not in HOST_USES) or size > _MAX_NAMES:
            continue
        if sh_type == SHT_NOBITS:
            continue
        data = source.read(frame.base + offset, size)
        if name == MODULE_SECTION:
            module = _text(data.partition(b"\0")[0])
        else:
            uses += [Use(*HOST_USES[name], _text(text)) for text in data.split(b"\0") if text]
    is_object = frame.e_type == ET_REL
    registered = dict(_registered(source, frame)) if is_object else {}
    return HostNames(module, uses, registered, is_object)


def _registered(source: Source, frame: ElfFrame) -> Iterator[tuple[str, str]]:
    """Name and kind of every call that registers one.

    The text nearest in front of the call is the name: the code loads it once, or twice.
    """
    for index, (_, sh_type, flags, *_) in enumerate(frame.sections):
        if sh_type != SHT_PROGBITS or not flags & SHF_EXECINSTR:
            continue
        rows = sorted(frame.references(index, _MAX_RELOCATIONS), key=lambda row: row[0])
        last = None
        for _, kind, symbol, addend in rows:
            _, _, shndx, value = symbol
            if shndx == SHN_UNDEF:
                what = REGISTRATIONS.get(frame.symbol_name(symbol))
                if what is not None and last is not None:
                    yield _text_at(source, last), what
                last = None
            elif shndx < len(frame.sections):
                _, sh_type, flags, _, start, size, *_ = frame.sections[shndx]
                at = value + addend + (_RELATIVE_BYTES if kind in _RELATIVE else 0)
                is_text = not flags & (SHF_WRITE | SHF_EXECINSTR) and sh_type == SHT_PROGBITS
                if is_text and 0 <= at < size:
                    last = frame.base + start + at


def _text_at(source: Source, offset: int) -> str:
    return _text(source.read(offset, _MAX_NAME).partition(b"\0")[0])


def texts_among(source: Source, names: Collection[str]) -> set[str]:
    """Those of the names that stand in data that a host ELF file loads.

    A linker keeps a text that another one ends in only there, so the end of a text counts, too.

    Raises:
        CubinError: it is no ELF file, or its headers are broken.
    """
    frame = ElfFrame(source)
    wanted = {name.encode("utf-8", "surrogateescape") for name in names}
    found: set[bytes] = set()
    for index, (_, sh_type, flags, _, offset, size, *_) in enumerate(frame.sections):
        if sh_type != SHT_PROGBITS or not flags & SHF_ALLOC or flags & SHF_EXECINSTR:
            continue
        name = frame.name(index)
        if "fatbin" in name.lower() or name in HOST_USES:
            continue
        for at in range(0, size, SEARCH_CHUNK_BYTES):
            data = source.read(
                frame.base + offset + at, min(SEARCH_CHUNK_BYTES + _MAX_NAME, size - at)
            )
            found |= wanted.intersection(data.split(b"\0"))
            found |= {name for name in wanted - found if name + b"\0" in data}
    return {_text(text) for text in found}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


class Patterns:
    """Patterns of names, in which `*` matches any text."""

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
        """Whether a pattern matches the whole name."""
        if name in self._exact:
            return True
        return any(
            _parts_follow(name, length, parts)
            for length in self._lengths
            for parts in self._starred.get(name[:length], ())
        )


def _parts_follow(name: str, at: int, parts: list[str]) -> bool:
    """Whether the parts follow in this order from `at` on, the last one at the end of the name."""
    *middle, last = parts
    for part in middle:
        found = name.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return name.endswith(last) and len(name) - len(last) >= at
