"""What a host file says about names of device code: which it registers, and which it uses.

nvcc writes into host objects of separate compilation which device names host code uses
(``.nvHRKE``: kernels of external linkage, ``.nvHRKI``: kernels of this file only; the same for
variables with D and constants with C), and into all objects the name under which they register
their code (``__nv_module_id``). The names are separated by NUL, and ``*`` in a name matches any
text.

Start-up code registers each name with the CUDA runtime. In an object the relocations around the
call tell the name; in a linked file its text stands somewhere in the data. Objects of Windows have
the same sections and calls (``cudadevrt.lib`` of CUDA 12.9), libraries of Windows the same texts
(``curand64_10.dll`` of CUDA 13.5).
"""

from __future__ import annotations

from bisect import bisect_left

from cubinspec.containers.elf_host import ElfFrame
from cubinspec.containers.windows_host import CoffFrame, PeFrame
from cubinspec.containers.wrappers import FINAL_SECTION, INPUT_SECTION, MODULE_SECTION
from cubinspec.limits import SEARCH_CHUNK_BYTES
from cubinspec.values import FrozenValue
from cubinspec_generated.codes import (
    ET_REL,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_WRITE,
    SHN_UNDEF,
    SHT_NOBITS,
    SHT_PROGBITS,
)
from cubinspec_generated.codes_relocation import R_X86_64_PC32, R_X86_64_PLT32
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
#: Names of texts in objects of Windows begin so; a constant variable may stand beside them.
_TEXT_SYMBOL = "??_C@"
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


#: Kinds of files that say names.
KINDS = frozenset(("elf", "coff", "pe"))


def host_names(source: Source, kind: str = "elf") -> HostNames:
    """The names in a host file.

    Args:
        kind: ``elf``, ``coff`` (an object of Windows) or ``pe``.

    Raises:
        CubinError: it is not of this kind, or its headers are broken.
    """
    if kind == "coff":
        coff = CoffFrame(source)
        module, uses = _said(source, ((s.name, s.offset, s.size) for s in coff.sections))
        return HostNames(module, uses, dict(_registered_in_coff(source, coff)), True)
    if kind == "pe":
        pe = PeFrame(source)
        module, uses = _said(source, ((name, at, size) for name, _, at, size in pe.sections))
        return HostNames(module, uses, {}, False)
    frame = ElfFrame(source)
    parts = (
        (frame.name(index), frame.base + offset, size)
        for index, (_, sh_type, _, _, offset, size, *_) in enumerate(frame.sections)
        if sh_type != SHT_NOBITS
    )
    module, uses = _said(source, parts)
    is_object = frame.e_type == ET_REL
    registered = dict(_registered(source, frame)) if is_object else {}
    return HostNames(module, uses, registered, is_object)


def _said(source: Source, sections: Iterable[tuple[str, int, int]]) -> tuple[str | None, list[Use]]:
    """What sections with names say: the module, and what host code uses.

    Args:
        sections: name, offset and size of each.
    """
    module = None
    uses: list[Use] = []
    for name, offset, size in sections:
        if (name != MODULE_SECTION and name not in HOST_USES) or size > _MAX_NAMES:
            continue
        data = source.read(offset, size)
        if name == MODULE_SECTION:
            module = _text(data.partition(b"\0")[0])
        else:
            uses += [Use(*HOST_USES[name], _text(text)) for text in data.split(b"\0") if text]
    return module, uses


def _registered_in_coff(source: Source, frame: CoffFrame) -> Iterator[tuple[str, str]]:
    """The same as :func:`_registered` of an object of Windows."""
    for section in frame.sections:
        if not section.is_code:
            continue
        last = None
        rows = sorted(frame.references(section, _MAX_RELOCATIONS), key=lambda row: row[0])
        for place, symbol in rows:
            target = frame.section_of(symbol)
            if target is None:
                what = REGISTRATIONS.get(frame.name_of(symbol))
                if what is not None and last is not None:
                    yield _text_at(source, last), what
                last = None
            elif target.is_read_only_data and frame.name_of(symbol).startswith(_TEXT_SYMBOL):
                last = frame.target_of(section, place, symbol)


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


def texts_among(
    source: Source,
    names: Collection[str],
    kind: str = "elf",
    images: Iterable[tuple[int, int]] = (),
) -> set[str]:
    """Those of the names that stand in data that a host file loads.

    A linker keeps a text that another one ends in only there, so the end of a text counts, too.

    Args:
        kind: as for :func:`host_names`.
        images: start and end of device code, which names itself.

    Raises:
        CubinError: it is not of this kind, or its headers are broken.
    """
    wanted = {name.encode("utf-8", "surrogateescape") for name in names}
    found: set[bytes] = set()
    code = sorted(images)
    for start, end in _data_of(source, kind):
        for begin, stop in _without(start, end, code):
            for at in range(begin, stop, SEARCH_CHUNK_BYTES):
                data = source.read(at, min(SEARCH_CHUNK_BYTES + _MAX_NAME, stop - at))
                found |= wanted.intersection(data.split(b"\0"))
                found |= {name for name in wanted - found if name + b"\0" in data}
    return {_text(text) for text in found}


def _data_of(source: Source, kind: str) -> Iterator[tuple[int, int]]:
    """Start and end of the sections in which the data of a host program is."""
    if kind == "pe":
        pe = PeFrame(source)
        for name, _, offset, size in pe.sections:
            if name not in pe.code and not name.startswith((FINAL_SECTION, INPUT_SECTION)):
                yield offset, offset + size
        return
    frame = ElfFrame(source)
    for index, (_, sh_type, flags, _, offset, size, *_) in enumerate(frame.sections):
        if sh_type != SHT_PROGBITS or not flags & SHF_ALLOC or flags & SHF_EXECINSTR:
            continue
        name = frame.name(index)
        if "fatbin" not in name.lower() and name not in HOST_USES:
            yield frame.base + offset, frame.base + offset + size


def _without(start: int, end: int, parts: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What is left of a run of bytes when parts are taken out; the parts are in order."""
    for first, last in parts[bisect_left(parts, (start, start)) :]:
        if first >= end:
            break
        if start < first:
            yield start, first
        start = max(start, last)
    if start < end:
        yield start, end


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
