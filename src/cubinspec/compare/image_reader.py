"""Reads what is compared of a cubin: all facts, or an outline of a function.

One pass over a file makes them, in other processes too, and what compares them never opens the file
again.
"""

from __future__ import annotations

from zlib import crc32

from cubinspec.compare.digest import digest
from cubinspec.compare.facts import NOTHING, PLACES, UNKNOWN, FunctionFacts, ImageFacts
from cubinspec.compare.names import stable_name
from cubinspec.compare.noise import CAPSULES, NO_PARTS, check_names, digest_of_sections, notes_in
from cubinspec.compare.streams import module_attributes, module_records, stream_of
from cubinspec.errors import CubinError
from cubinspec.format.metadata import metadata_rows, metadata_size
from cubinspec.format.packing import registers_of
from cubinspec.format.sections import (
    CAPSULE_PREFIX,
    INFO_TYPES,
    RELOCATION_TYPES,
    UNIFIED_ENTRY_TYPES,
    occupies_file,
)
from cubinspec_generated import codes, records
from cubinspec_generated.records import UFT_ENTRY
from cubinspec_generated.tables.elf_header import FLAG_FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import Any

    from cubinspec.compare.streams import Stream
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function
    from cubinspec.model.header import Header
    from cubinspec.reader.elf import Elf

#: Beginnings of the names of sections that tell where code came from.
DEBUG_PREFIXES = (".debug_", ".nv_debug_", ".nv.merc.debug_", ".nv.merc.nv_debug_")
#: Sections that are taken apart into properties of their own.
_NO_DATA = INFO_TYPES | {codes.SHT_CUDA_CALLGRAPH, codes.SHT_CUDA_PROTOTYPE}
#: Bytes of the number of a section.
_INDEX_BYTES = 4
#: Where facts stand that are read one by one.
_REGISTERS, _SHARED, _CODE_SIZE, _CODE = map(
    PLACES.__getitem__, ("registers", "shared", "code_size", "code")
)
_BARRIERS, _MAX_NTID, _REQNTID = map(PLACES.__getitem__, ("barriers", "max_ntid", "reqntid"))
#: Bytes of code that are looked at first; shorter code is known by its digest at once.
_HEAD_BYTES = 1024


def image_facts(
    cubin: Cubin,
    arch: str,
    steps: list[dict[str, object]],
    path: str,
    body: str | None = None,
) -> ImageFacts:
    """The facts of a cubin.

    Args:
        arch: its target; only a fatbin says that it is one for a family.
        steps, path: the way to it.
        body: digest of its bytes as they are stored; without it, that of the cubin's.

    Raises:
        CubinError: a table that has to be read is broken.
    """
    size = cubin.size
    if body is None:
        body = digest(memoryview(cubin.data))
    facts = ImageFacts(steps, path, arch, cubin.header.type_word, size, body)
    reader = ImageReader(cubin)
    facts.functions = [reader.facts_of(function) for function in reader.functions]
    facts.names = [function.name for function in facts.functions]
    facts.values = reader.values()
    facts.noise = reader.noise()
    return facts


def outlines_of(
    cubin: Cubin,
    names: list[str],
    places: Sequence[int] | None = None,
    reader: ImageReader | None = None,
) -> list[FunctionFacts]:
    """What is known of functions without a counterpart.

    Args:
        names: of all functions of the image.
        places: which of its functions; without, all.
        reader: of the image, where there is one.

    Raises:
        CubinError: a table that has to be read is broken.
    """
    elf, functions = cubin.elf, cubin.functions
    if places is None:
        check_names(elf)
        places = range(len(functions))
    check_parts(cubin, {functions[place].row[3] for place in places})
    found = []
    for place in places:
        function = functions[place]
        facts = None
        if not function.owned_code:
            reader = reader or ImageReader(cubin, names)
            facts = _helper(reader, function, place)
        found.append(facts or _outline(elf, function, names[place], place))
    return found


def _helper(reader: ImageReader, function: Function, place: int) -> FunctionFacts | None:
    """All facts about code inside another function's; ``None`` if something is broken.

    Compilers add such code under numbers that move, so that many an image has the code that is
    gone from another one.
    """
    try:
        facts = reader.facts_of(function)
    except CubinError:  # told when somebody asks for more than the outline
        return None
    facts.place = place
    return facts


def _outline(elf: Elf, function: Function, name: str, place: int) -> FunctionFacts:
    """What is shown of a function, the head of its code, and all of short code."""
    _, _, _, index, start, size = function.row
    info = function.info_bytes
    function.table.shape_of(function.owned_code, info)  # raises where attributes are cut off
    read = [*NOTHING]
    read[_REGISTERS], read[_SHARED], read[_CODE_SIZE] = function.registers, function.shared, size
    code = elf.section_view(index)[start : start + size]
    head = 0
    if size > _HEAD_BYTES:
        head, info = crc32(code[:_HEAD_BYTES]), b""
    else:
        read[_CODE] = digest(code)
    return FunctionFacts(name, function.kind, tuple(read), (info, ()), place, head, is_whole=False)


def check_parts(cubin: Cubin, code: set[int]) -> None:
    """See that what belongs to some code sections is whole, though it is not read.

    Raises:
        CubinError: a section is cut off, or a table of relocations is none.
    """
    elf = cubin.elf
    end, record = elf.size, records.RELA_64.size if elf.is_64 else records.RELA_32.size
    rows = elf.section_rows
    for index in [index for index, row in enumerate(rows) if row[7] in code]:
        _, kind, flags, _, at, size, _, _, _, _ = rows[index]
        if kind in RELOCATION_TYPES:
            if kind == codes.SHT_REL or size % record or at + size > end:
                cubin.relocation_rows(index)  # raises where it is none
        elif at + size > end and kind not in NO_PARTS and occupies_file(kind, flags):
            elf.section_view(index)  # raises


class ImageReader:
    """Reads facts of one cubin, those that are asked for.

    Args:
        names: the names of its functions, where they are known.

    Attributes:
        cubin: what is read.
        functions: its functions, in the order of the file.
        names: their mangled names.
        parts: code section -> all other sections of its function.
        relocations: section -> sections with relocations for it.
        notes: sections with notes.
        capsules: name of a section with Mercury code -> the section.
    """

    def __init__(self, cubin: Cubin, names: list[str] | None = None) -> None:
        self.cubin: Cubin = cubin
        self.functions: list[Function] = list(cubin.functions)
        self._elf = cubin.elf
        self.names: list[str] = cubin.functions.names if names is None else names
        self._code = {f.row[3] for f in self.functions}
        rows = self._rows = self._elf.section_rows
        #: Code sections of the Mercury half: those of a file that has no SASS.
        self._mercury = {c for c in self._code if rows[c][2] & codes.SHF_CUDA_MERCURY}
        self.relocations: dict[int, list[int]] = {}
        self.parts: dict[int, list[int]] = {}
        self.notes: list[int] = []
        self.capsules: dict[str, int]
        self._name_of = self._elf.section_name
        #: Tables of the Mercury half, which say what those of the SASS half say.
        self._twins: list[int] = []
        #: Sections that belong to no function.
        self._rest: list[int] = []
        #: Of symbol tables: the names of symbols that relocations were seen to name.
        self._symbol_names: dict[int | None, dict[int, str]] = {}
        #: Headers that many functions have alike.
        self._shared: dict[Hashable, dict[str, tuple[int, ...]]] = {}
        check_names(self._elf)
        self._sort_sections()

    def _sort_sections(self) -> None:
        """Say of every section which function it belongs to, if any."""
        rows = self._rows
        code, count, parts = self._code, len(rows), self.parts
        half = 0 if self._mercury else codes.SHF_CUDA_MERCURY
        capsules: list[int] = []
        for index, (_, kind, flags, _, _, _, _, info, _, _) in enumerate(rows):
            if kind in NO_PARTS:
                if kind in RELOCATION_TYPES and info < count:
                    self.relocations.setdefault(info, []).append(index)
                elif kind in CAPSULES and index not in code:
                    capsules.append(index)
                elif kind == codes.SHT_NOTE:
                    self.notes.append(index)
            elif index in code or not index:
                continue
            elif flags & half:
                self._twins.append(index)
            elif info in code and not flags & codes.SHF_EXECINSTR:
                parts.setdefault(info, []).append(index)
            else:
                self._rest.append(index)
        names = self._elf.shstrtab.get_many([rows[index][0] for index in capsules])
        self.capsules = dict(zip(names, capsules, strict=True))
        self._rest_names = self._elf.shstrtab.get_many([rows[index][0] for index in self._rest])

    # -- functions ------------------------------------------------------------------------------

    def function_of(self, facts: FunctionFacts) -> Function:
        """The function of an outline."""
        assert facts.place is not None
        return self.functions[facts.place]

    def read_code(self, facts: FunctionFacts) -> None:
        """Read the code and the parameters of a function of which the outline is known."""
        function = self.function_of(facts)
        _, _, _, index, start, size = function.row
        read = list(facts.read)
        read[_CODE] = digest(self._elf.section_view(index)[start : start + size])
        facts.read = tuple(read)
        facts.stream = _stream_of(function)

    def read_launch(self, facts: FunctionFacts) -> None:
        """Read what is shown of a function whose changes are known, and is not in its outline."""
        function = self.function_of(facts)
        launch, read = function.launch, list(facts.read)
        *_, read[_BARRIERS] = function.numbers
        read[_MAX_NTID], read[_REQNTID] = launch.max_ntid, launch.reqntid
        facts.read = tuple(read)

    def facts_of(
        self,
        function: Function,
        *,
        with_code: bool = True,
        with_parts: bool = True,
        with_capsule: bool = True,
        word: str | None = None,
    ) -> FunctionFacts:
        """All facts about one of the functions.

        Args:
            with_code: with a digest of its code.
            with_parts: with what is known of its other sections.
            with_capsule: with a digest of its Mercury code.
            word: stands for the digest of its code where there is none.
        """
        name = function.name
        _, info, other, index, start, size = function.row
        owns = function.owns_section
        launch = function.launch
        registers, frame_size, stack, max_stack, shared, local, banks, barriers = function.numbers
        data, headers = self._parts_of(index, name) if with_parts and owns else ({}, {})
        read = (
            registers,
            _stack(stack),
            frame_size,
            _stack(max_stack),
            shared,
            local,
            dict(banks),
            barriers,
            launch.mbarriers,
            launch.max_ntid,
            launch.reqntid,
            launch.cluster,
            launch.max_cluster_rank,
            launch.max_registers,
            launch.param_size,
            launch.param_bank,
            size,
            digest(self._elf.section_view(index)[start : start + size]) if with_code else word,
            data,
            self._relocations_of(index, start, start + size, name),
            self._capsule(name) if with_capsule and self.capsules else None,
            (info, other),
            registers_of(self._rows[index][7]) if owns else None,
            headers,
        )
        return FunctionFacts(name, function.kind, read, _stream_of(function))

    def _relocations_of(self, code: int, start: int, stop: int, owner: str) -> tuple[str, ...]:
        """Relocations of some code."""
        tables = self.relocations.get(code)
        if tables is None:
            return ()
        entries = [entry for index in tables for entry in self._entries(index, start, stop, owner)]
        return tuple(sorted(entries))

    def _parts_of(self, code: int, owner: str) -> tuple[dict[str, str], dict[str, tuple[int, ...]]]:
        """What belongs to a function beside its code: digests, and headers of sections.

        Headers are type, flags and alignment. Sizes are properties of their own, and so are
        barriers that stand in flags.
        """
        name_of, rows = self._name_of, self._rows
        tail = f".{owner}"
        _, kind, flags, _, _, _, _, _, align, _ = rows[code]
        data: dict[str, str] = {}
        headers: dict[str, tuple[int, ...]] = {
            name_of(code).removesuffix(tail): (kind, flags & ~codes.SHF_BARRIERS_MASK, align)
        }
        for index in self.parts.get(code, ()):
            _, kind, flags, _, _, _, _, _, align, _ = rows[index]
            name = name_of(index).removesuffix(tail)
            headers[name] = (kind, flags, align)
            if kind not in INFO_TYPES and occupies_file(kind, flags):
                data[name] = digest(self._elf.section_view(index), *self._moved(index))
        return data, self._shared.setdefault(tuple(headers.items()), headers)

    def _capsule(self, name: str) -> str | None:
        """Digest of the Mercury code of a function, which the driver may finish again."""
        body = self.capsule(name)
        return None if body is None else digest(body)

    def capsule(self, name: str) -> memoryview | None:
        """The Mercury code of a function, without the number of its code section before it."""
        index = self.capsules.get(f"{CAPSULE_PREFIX}.text.{name}")
        return None if index is None else self._elf.section_view(index)[_INDEX_BYTES:]

    def code_relocations(self, function: Function) -> tuple[str, ...]:
        """The relocations of a function's code."""
        _, _, _, code, start, size = function.row
        return self._relocations_of(code, start, start + size, function.name)

    def _entries(
        self, index: int, start: int = 0, stop: int | None = None, owner: str | None = None
    ) -> list[str]:
        """The relocations in a section for some bytes, counted from the first of these.

        Args:
            owner: the function whose bytes they are; it may get another name.
        """
        found = []
        for offset, kind, name, addend in self._moves(index, start, stop, owner):
            more = "" if addend is None else f" {addend:+#x}"
            found.append(f"{offset:#x} {kind} {name}{more}")
        return found

    def _moves(
        self, index: int, start: int, stop: int | None, owner: str | None
    ) -> list[tuple[int, int, str, int | None]]:
        """:meth:`_entries` as offset, type, name and addend."""
        symbols = self.cubin.linked_symbols(index)
        known = self._symbol_names.setdefault(symbols.section_index, {})
        found = []
        for offset, kind, symbol, addend in self.cubin.relocation_rows(index):
            if offset < start or (stop is not None and offset >= stop):
                continue
            name = known.get(symbol)
            if name is None:
                name = known[symbol] = symbols.name_of(symbol) or ""
            name = "itself" if name == owner else stable_name(name)
            found.append((offset - start, kind, name, addend))
        return found

    def moves_of(self, function: Function) -> list[tuple[int, int, str, int | None]]:
        """The relocations of a function's code, in the order of the file."""
        _, _, _, code, start, size = function.row
        name, stop = function.name, start + size
        return [
            move
            for index in self.relocations.get(code, ())
            for move in self._moves(index, start, stop, name)
        ]

    # -- the image ------------------------------------------------------------------------------

    def rest(self) -> dict[str, int]:
        """Sections with data that belong to no function: name -> section, -1 for several."""
        found: dict[str, int] = {}
        for index, word in zip(self._rest, self._rest_names, strict=True):
            name = stable_name(word)
            kind = self._rows[index][1]
            if kind and kind not in _NO_DATA and not name.startswith(DEBUG_PREFIXES):
                found[name] = -1 if name in found else index
        return found

    def moves(self, index: int) -> list[tuple[int, str | int, int, str]]:
        """The relocations of a section, as they are compared."""
        symbols = self.cubin.linked_symbols
        return sorted(
            (offset, kind, addend or 0, stable_name(symbols(table).name_of(symbol) or ""))
            for table in self.relocations.get(index, ())
            for offset, kind, symbol, addend in self.cubin.relocation_rows(table)
        )

    def values(self, settled: frozenset[str] = frozenset()) -> dict[str, Any]:
        """Property of the whole image -> value.

        Args:
            settled: names of sections whose bytes are left out.
        """
        cubin = self.cubin
        header = cubin.header
        sections: dict[str, tuple[int, ...]] = {}
        data: dict[str, str] = {}
        module: dict[str, str] = {}
        rows = self._elf.section_rows
        for index, word in zip(self._rest, self._rest_names, strict=True):
            name = stable_name(word)
            _, kind, flags, _, at, size, _, _, align, _ = rows[index]
            if name.startswith(DEBUG_PREFIXES) or not kind:
                continue
            if kind in INFO_TYPES:
                symbols = cubin.linked_symbols(index)
                module.update(module_attributes(module_records(self._elf, index), symbols))
                continue
            if kind in _NO_DATA:
                continue
            sections[name] = (kind, flags, align, size)
            if name in settled:
                if occupies_file(kind, flags) and at + size > self._elf.size:
                    self._elf.section_view(index)  # raises
            elif kind in UNIFIED_ENTRY_TYPES:
                data[name] = self._unified(index)
            elif kind == codes.SHT_CUDA_METADATA:
                data[name] = self._metadata(index)
            elif occupies_file(kind, flags):
                data[name] = digest(self._elf.section_view(index), *self._moved(index))
        return {
            "type": header.type_word,
            "os_abi": (header.os_abi, header.abi_version),
            "e_version": header.e_version,
            "e_flags": _flags(header),
            "sections": sections,
            "data": data,
            "attributes": module,
            "variables": self._variables(),
            "calls": self._calls(),
        }

    def _unified(self, index: int) -> str:
        """Digest of a list of unified functions or variables, by their names."""
        symbols = self.cubin.linked_symbols(index)
        body = self._elf.section_view(index)
        end = len(body) - len(body) % UFT_ENTRY.size
        rows = [
            f"{stable_name(symbols.name_of(symbol) or '')} {numbers}"
            for symbol, *numbers in UFT_ENTRY.iter_unpack(body[:end])
        ]
        texts = [row.encode("utf-8", "surrogateescape") for row in sorted(rows)]
        return digest(*texts, body[end:])

    def _metadata(self, index: int) -> str:
        """Digest of the nodes of a module, their texts in place of where these lie."""
        body = bytes(self._elf.section_view(index))
        text_at = self.cubin.symbols.strings.text_or_offset
        texts = []
        for number, name, values, _ in metadata_rows(body):
            said = [
                (form, text_at(value) if form == codes.EMFMT_STRING else value)
                for form, value in values
            ]
            texts.append(f"{number} {text_at(name)!r} {said}")
        rest = body[metadata_size(body) :]
        return digest(*(text.encode("utf-8", "surrogateescape") for text in texts), rest)

    def _moved(self, index: int) -> list[bytes]:
        """Relocations of a data section, as bytes."""
        tables = self.relocations.get(index)
        if tables is None:
            return []
        entries = [entry for at in tables for entry in self._entries(at)]
        return [entry.encode("utf-8", "surrogateescape") for entry in sorted(entries)]

    def _variables(self) -> dict[str, tuple[int, ...]]:
        """Named variables and their section: binding and kind, visibility, size."""
        found: dict[str, tuple[int, ...]] = {}
        wanted = (codes.STT_OBJECT, codes.STT_COMMON, codes.STT_CUDA_OBJECT)
        symbols = self.cubin.symbols
        text_of, count = symbols.strings.get, len(self._rows)
        homes: dict[int, str] = {}
        mask = codes.ST_TYPE_MASK
        variables = [row for row in symbols.rows if row[1] & mask in wanted]
        for at, info, other, section, _, size in variables:
            home = homes.get(section)
            if home is None:
                home = self._name_of(section) if 0 < section < count else "undefined"
                home = homes[section] = stable_name(home)
            name = stable_name(text_of(at) if at else "")
            found[f"{name} in {home}"] = (info, other, size)
        return found

    def _calls(self) -> tuple[str, ...]:
        graph = self.cubin.callgraph
        if graph is None:
            return ()
        lines = [f"call {stable_name(e.name)}" for e in graph.calls]
        lines += [f"reference {stable_name(e.name)}" for e in graph.references]
        for word, signatures in (
            ("address", graph.address_taken),
            ("indirect", graph.indirect_calls),
            ("prototype", self.cubin.prototypes),
        ):
            lines += [f"{word} {stable_name(s.name or '')} {s.signature}" for s in signatures]
        lines += [f"pair {first} {second}" for first, second in graph.other]
        return tuple(sorted(lines))

    def noise(self, with_notes: bool = True) -> dict[str, Any]:
        """What may differ between builds of the same thing.

        Args:
            with_notes: with what notes say.
        """
        debug = [name for name in self._rest_names if name.startswith(DEBUG_PREFIXES)]
        tables = digest_of_sections(self._elf, self._twins)
        notes = notes_in(self.cubin, self.notes) if with_notes else {}
        return {"notes": notes, "debug": tuple(sorted(debug)), "mercury_tables": tables}


def _stream_of(function: Function) -> Stream:
    return stream_of(function.launch.shape, function.info_bytes, function.table.symbols)


def _stack(size: int | None) -> int | str | None:
    return UNKNOWN if size == codes.STACK_SIZE_UNKNOWN else size


def _flags(header: Header) -> dict[str, int]:
    """The fields of ``e_flags``, without the one that is the number of a section."""
    fields = {
        part.name: header.e_flags >> part.bit & (1 << part.width) - 1
        for part in FLAG_FIELDS.get(header.os_abi, ())
    }
    fields.pop("cuinfo_section", None)
    return fields or {"e_flags": header.e_flags}
