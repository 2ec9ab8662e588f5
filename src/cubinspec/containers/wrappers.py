"""Wrappers: the records through which a host program finds its fat binaries.

The compiler puts one beside each container, in ``.nvFatBinSegment``; start-up code hands it to the
CUDA runtime. A wrapper tells which container the program registers, and whether that is the result
of a device link. It holds an address: in an object file that of a relocation, in a linked file in
place or in the addend of a dynamic relocation (position-independent code of some linkers).

Source of fact: ``ksy/fatbin.ksy``; places and relocations as seen in objects of nvcc 13.0, in
programs linked with GNU ld, in libcusparse 12.5, libnccl 2.27, and, for Windows, nvjpeg 12.4 and
cudadevrt 12.9.
"""

from __future__ import annotations

from struct import Struct

from cubinspec.allowance import SpentError
from cubinspec.containers.elf_host import ElfFrame
from cubinspec.containers.fatbin import CONTAINER
from cubinspec.containers.windows_host import CoffFrame, PeFrame
from cubinspec.errors import CubinError
from cubinspec.limits import MAX_WRAPPERS, SEARCH_CHUNK_BYTES
from cubinspec_generated.codes import (
    ET_REL,
    FATBIN_WRAPPER_DEVICE_LINKED,
    FATBIN_WRAPPER_MAGIC,
    PF_W,
    PT_LOAD,
    SHF_ALLOC,
    SHT_NOBITS,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
)
from cubinspec_generated.tables.fatbin import WRAPPER_VERSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.containers.source import Source

SECTION = ".nvFatBinSegment"
#: Holds the name under which an object registers its code, a linked file those of its objects.
MODULE_SECTION = "__nv_module_id"
#: A longer section was not written by nvcc for one object.
_MAX_MODULE = 1 << 12
#: PE names end after eight characters.
_PE_SECTION = SECTION[:8]
#: Where linked device code is, and where the inputs of a device link are. PE names end early.
FINAL_SECTION = ".nv_fatb"
INPUT_SECTION = "__nv_rel"
#: Magic, version, address of the container, address of a list; by the size of an address.
_RECORD = {8: Struct("<IIQQ"), 4: Struct("<IIII")}
_ADDRESS = 8
_ALIGNMENT = 4
_MAGIC = FATBIN_WRAPPER_MAGIC.to_bytes(4, "little")
_TABLE_TYPES = frozenset((SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_REL))
_TABLE_BYTES = 1 << 18


class Wrapper:
    """One wrapper.

    Attributes:
        offset: where it is in its source.
        version: 1 compiler, 2 device link.
        container: offset of its container in the same source; ``None`` when its address cannot be
            told or lies outside of the file.
        address: what it says, for messages; 0 when nothing can be told.
    """

    __slots__ = ("address", "container", "offset", "version")

    def __init__(self, offset: int, version: int, address: int, container: int | None) -> None:
        self.offset: int = offset
        self.version: int = version
        self.address: int = address
        self.container: int | None = container

    @property
    def is_device_link(self) -> bool:
        """Whether its container is the result of a device link."""
        return self.version == FATBIN_WRAPPER_DEVICE_LINKED


class Host:
    """A host file: names of its sections, and the wrappers in it.

    Attributes:
        regions: start, end and name of the sections with bytes, in file order; none when the
            section table is missing or damaged.
        wrappers: in file order.
        tables: start and end of large symbol tables and debug information that no segment loads:
            half of some libraries, and nothing that could be given to a driver.
        module: the name under which it registers its code; empty when it says none or several.
    """

    __slots__ = ("_has_final", "_has_link", "module", "regions", "tables", "wrappers")

    def __init__(self, source: Source, kind: str) -> None:
        self._has_final: bool | None = None
        self._has_link: bool | None = None
        self.regions: list[tuple[int, int, str]] = []
        self.wrappers: list[Wrapper] = []
        self.tables: list[tuple[int, int]] = []
        self.module = ""
        try:
            if kind == "elf":
                self._read_elf(source)
            elif kind == "pe":
                self._read_pe(source)
            elif kind == "coff":
                self._read_coff(source)
        except SpentError:
            raise
        except CubinError:
            return  # cut or damaged: the magic numbers in it are found all the same

    def superseded(self, section: str, wrapper: Wrapper | None) -> bool | None:
        """Whether a container holds inputs of a device link whose result is in this host, too.

        Args:
            section: the section that holds the container; empty when no name tells.
            wrapper: the wrapper that names the container.

        Returns:
            ``None`` when only the images themselves can tell.
        """
        if self.regions:
            return section.startswith(INPUT_SECTION) and self._final_is_here()
        if wrapper is not None and wrapper.is_device_link:
            return False
        return None if self._is_linked() else False

    def _final_is_here(self) -> bool:
        if self._has_final is None:
            self._has_final = any(
                name.startswith(FINAL_SECTION) and end - start >= CONTAINER.size
                for start, end, name in self.regions
            )
        return self._has_final

    def _is_linked(self) -> bool:
        if self._has_link is None:
            self._has_link = any(wrapper.is_device_link for wrapper in self.wrappers)
        return self._has_link

    def _read_elf(self, source: Source) -> None:
        frame = ElfFrame(source, sections=False)
        _ = frame.segments
        # A stream is read forwards: segments stand at the start, the section table at the end.
        forwards = not source.random and frame.e_type != ET_REL
        if forwards:
            self._search_segments(source, frame)
        try:
            frame.read_sections()
            self.regions = frame.regions()
            self.tables = _tables(frame)
        except SpentError:
            raise
        except CubinError:
            frame.sections = []
        if forwards:
            return
        if not frame.sections:
            self._search_segments(source, frame)
            return
        for index, (_, sh_type, _, _, offset, size, *_) in enumerate(frame.sections):
            if sh_type == SHT_NOBITS:
                continue
            name = frame.name(index)
            if name == SECTION:
                self._search_section(source, frame, index)
            elif name == MODULE_SECTION:
                self._name_module(source, offset, size)

    def _name_module(self, source: Source, offset: int, size: int) -> None:
        if size > _MAX_MODULE:
            return
        modules = [text for text in source.read(offset, size).split(b"\0") if text]
        if len(modules) == 1:
            self.module = modules[0].decode("utf-8", "replace")

    def _search_segments(self, source: Source, frame: ElfFrame) -> None:
        for kind, flags, offset, address, size in frame.segments:
            if kind == PT_LOAD and flags & PF_W:
                found = _records(source, offset, size, frame.word)
                _resolve(frame, found, address - offset)
                self.wrappers += found

    def _search_section(self, source: Source, frame: ElfFrame, index: int) -> None:
        _, _, _, address, offset, size, *_ = frame.sections[index]
        found = _records(source, offset, size, frame.word)
        if frame.e_type == ET_REL:
            places = frame.relocated(index)
            for wrapper in found:
                wrapper.container = places.get(wrapper.offset - offset + _ADDRESS)
        else:
            _resolve(frame, found, address - offset)
        self.wrappers += found

    def _read_pe(self, source: Source) -> None:
        frame = PeFrame(source)
        self.regions = frame.regions()
        for name, _, offset, size in frame.sections:
            if name != _PE_SECTION:
                continue
            found = _records(source, offset, size, frame.word)
            for wrapper in found:
                wrapper.container = frame.offset_of(wrapper.address)
            self.wrappers += found

    def _read_coff(self, source: Source) -> None:
        frame = CoffFrame(source)
        self.regions = frame.regions()
        for section in frame.sections:
            if section.name == MODULE_SECTION:
                self._name_module(source, section.offset, section.size)
            elif section.name == SECTION:
                found = _records(source, section.offset, section.size, _ADDRESS)
                places = frame.relocated(section, MAX_WRAPPERS)
                for wrapper in found:
                    wrapper.container = places.get(wrapper.offset - section.offset + _ADDRESS)
                self.wrappers += found


def _tables(frame: ElfFrame) -> list[tuple[int, int]]:
    loaded = [
        (offset, offset + size) for kind, _, offset, _, size in frame.segments if kind == PT_LOAD
    ]
    found: list[tuple[int, int]] = []
    budget = frame.budget
    for index, (_, kind, flags, _, start, size, *_) in enumerate(frame.sections):
        if size < _TABLE_BYTES or flags & SHF_ALLOC or kind == SHT_NOBITS or not loaded:
            continue
        end = start + size
        budget.spend("work", len(loaded))
        if any(start < b and a < end for a, b in loaded):
            continue
        if kind in _TABLE_TYPES or frame.name(index).startswith(".debug_"):
            found.append((start, end))
    return _merged(sorted(found))


def _merged(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same parts without what they share; in order."""
    apart: list[tuple[int, int]] = []
    for start, end in parts:
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(apart[-1][1], end))
        else:
            apart.append((start, end))
    return apart


def _resolve(frame: ElfFrame, found: list[Wrapper], bias: int) -> None:
    """Find the containers of wrappers in a linked file; ``bias`` makes addresses of offsets."""
    wanted = {w.offset + bias + _ADDRESS for w in found if not w.address}
    moved = frame.relative(wanted) if wanted else {}
    for wrapper in found:
        wrapper.address = wrapper.address or moved.get(wrapper.offset + bias + _ADDRESS, 0)
        if wrapper.address:
            wrapper.container = frame.offset_of(wrapper.address)


def _records(source: Source, offset: int, size: int, word: int) -> list[Wrapper]:
    """The wrappers in a part of a file, at most ``MAX_WRAPPERS``; other data may be around them."""
    record = _RECORD[word]
    found: list[Wrapper] = []
    end = min(offset + size, source.size)
    source.budget.spend("work", max(end - offset, 0) // record.size)
    while offset < end and len(found) < MAX_WRAPPERS:
        # so much more that a record that begins in this chunk ends in it, and none of the next
        step = min(SEARCH_CHUNK_BYTES, end - offset)
        data = source.read(offset, min(step + record.size - _ALIGNMENT, end - offset))
        at = data.find(_MAGIC)
        while 0 <= at <= len(data) - record.size and len(found) < MAX_WRAPPERS:
            _, version, address, _ = record.unpack_from(data, at)
            if at % _ALIGNMENT == 0 and version in WRAPPER_VERSIONS:
                found.append(Wrapper(offset + at, version, address, None))
            at = data.find(_MAGIC, at + _ALIGNMENT)
        offset += step
    return found
