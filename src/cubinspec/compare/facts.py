"""What is compared of a cubin: facts about its kernels and functions, and about the whole image.

Facts are small: code, constants and data are there as digests. They leave out on purpose what does
not matter to who runs the code: where things lie in the file, the order of tables, numbers of
symbols and sections, and names that hold a hash of the build. One pass over a file makes them, in
other processes too, and what compares them never opens the file again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from struct import pack

from cubinspec.compare.names import stable_name
from cubinspec.format.packing import registers_of
from cubinspec.format.sections import (
    CAPSULE_PREFIX,
    INFO_TYPES,
    RELOCATION_TYPES,
    occupies_file,
)
from cubinspec.model.function import attribute_names
from cubinspec.model.info import InfoRecord
from cubinspec_generated import codes
from cubinspec_generated.records import PARAM_CBANK
from cubinspec_generated.tables.elf_header import FLAG_FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.format.attributes import InfoRow
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.function import Function
    from cubinspec.model.header import Header
    from cubinspec.model.symbol import SymbolList

#: Attributes that are a property of their own.
OWN_ATTRIBUTES = frozenset(
    (
        codes.EIATTR_REGCOUNT,
        codes.EIATTR_FRAME_SIZE,
        codes.EIATTR_MIN_STACK_SIZE,
        codes.EIATTR_MAX_STACK_SIZE,
        codes.EIATTR_NUM_BARRIERS,
        codes.EIATTR_NUM_MBARRIERS,
        codes.EIATTR_MAX_THREADS,
        codes.EIATTR_REQNTID,
        codes.EIATTR_CTA_PER_CLUSTER,
        codes.EIATTR_MAX_CLUSTER_RANK,
        codes.EIATTR_MAXREG_COUNT,
        codes.EIATTR_CBANK_PARAM_SIZE,
        codes.EIATTR_PARAM_CBANK,
        codes.EIATTR_KPARAM_INFO,
        codes.EIATTR_KPARAM_INFO_V2,
    )
)
_KEYED = frozenset(
    (
        codes.EIATTR_REGCOUNT,
        codes.EIATTR_FRAME_SIZE,
        codes.EIATTR_MIN_STACK_SIZE,
        codes.EIATTR_MAX_STACK_SIZE,
    )
)
#: Beginnings of the names of sections that tell where code came from.
DEBUG_PREFIXES = (".debug_", ".nv_debug_", ".nv.merc.debug_", ".nv.merc.nv_debug_")
_TABLES = RELOCATION_TYPES | {
    codes.SHT_STRTAB,
    codes.SHT_SYMTAB,
    codes.SHT_SYMTAB_SHNDX,
    codes.SHT_CUDA_MERC_SYMTAB,
    codes.SHT_NOTE,
}
_CAPSULES = frozenset((codes.SHT_CUDA_CAPMERC,))
_DIGEST = 12
#: Value of a stack that nobody can know; one that the file does not state is ``None``.
UNKNOWN = "unknown"


def digest(*parts: bytes | memoryview) -> str:
    """A short hash of some bytes."""
    made = blake2b(digest_size=_DIGEST)
    for part in parts:
        made.update(part)
    return made.hexdigest()


@dataclass(slots=True)
class FunctionFacts:
    """A kernel or device function.

    Attributes:
        name: the mangled name.
        kind: ``kernel`` or ``function``.
        values: property -> value. Values are numbers, texts, tuples, or dictionaries of these;
            a property that the file does not state is ``None``.
    """

    name: str
    kind: str
    values: dict[str, Any]


@dataclass(slots=True)
class ImageFacts:
    """A cubin.

    Attributes:
        steps: the way from the file to it, as JSON knows it.
        path: the same as text.
        arch: the target.
        type: ``exe`` or ``rel``.
        size: bytes when decompressed.
        body: digest of all its bytes.
        functions: its kernels and functions, in the order of the file.
        values: property of the whole image -> value, as in :class:`FunctionFacts`.
        noise: what may differ between builds of the same thing: notes, tool options, debug data,
            tables of the Mercury half that repeat those of the SASS half.
    """

    steps: list[dict[str, object]]
    path: str
    arch: str
    type: str
    size: int
    body: str
    functions: list[FunctionFacts] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    noise: dict[str, Any] = field(default_factory=dict)

    @property
    def kernels(self) -> list[FunctionFacts]:
        """The functions that the host can launch."""
        return [function for function in self.functions if function.kind == "kernel"]


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
        body: digest of its bytes, if it was made before.

    Raises:
        CubinError: a table that has to be read is broken.
    """
    size = cubin.size
    if body is None:
        body = digest(memoryview(cubin.data))
    facts = ImageFacts(steps, path, arch, cubin.header.type_word, size, body)
    _Reader(cubin).read(facts)
    return facts


class _Reader:
    """Reads one cubin.

    Args:
        cubin: what is read.
    """

    def __init__(self, cubin: Cubin) -> None:
        self._cubin = cubin
        self._elf = cubin.elf
        self._functions = list(cubin.functions)
        self._code = {f.row[3] for f in self._functions}
        rows = self._elf.section_rows
        #: Code sections of the Mercury half: those of a file that has no SASS.
        self._mercury = {c for c in self._code if rows[c][2] & codes.SHF_CUDA_MERCURY}
        #: Code section -> sections with relocations for it, with constants of it.
        self._relocations: dict[int, list[int]] = {}
        #: Code section -> sections with bytes that belong to it: constants, mostly.
        self._owned: dict[int, list[int]] = {}
        #: Code section -> all other sections of its function.
        self._parts: dict[int, list[int]] = {}
        self._capsules: dict[str, int] = {}
        #: Tables of the Mercury half, which say what those of the SASS half say.
        self._twins: list[int] = []
        self._rest: list[int] = []
        self._sort_sections()

    def _sort_sections(self) -> None:
        """Say of every section which function it belongs to, if any."""
        rows = self._elf.section_rows
        code = self._code
        for index, (_, kind, flags, _, _, _, _, info, _, _) in enumerate(rows):
            if kind in RELOCATION_TYPES and info < len(rows):
                self._relocations.setdefault(info, []).append(index)
            elif kind in _TABLES or index in code or not index:
                continue
            elif kind in _CAPSULES:
                self._capsules[self._elf.section_name(index)] = index
            elif flags & codes.SHF_CUDA_MERCURY and not self._mercury:
                self._twins.append(index)
            elif info in code and not flags & codes.SHF_EXECINSTR:
                self._parts.setdefault(info, []).append(index)
                if kind not in INFO_TYPES and occupies_file(kind, flags):
                    self._owned.setdefault(info, []).append(index)
            else:
                self._rest.append(index)

    def read(self, facts: ImageFacts) -> None:
        """Fill in all facts."""
        facts.functions = [self._function(function) for function in self._functions]
        facts.values = self._image()
        facts.noise = self._noise()

    # -- functions ------------------------------------------------------------------------------

    def _function(self, function: Function) -> FunctionFacts:
        index = function.row[3]
        symbols = function.table.symbols
        banks = function.constant
        attributes, params = self._attributes(function.info_rows, symbols)
        relocations, owned = self._bodies(function)
        code = bytes(self._elf.section_bytes(index))
        start = function.code_offset
        values = {
            "registers": function.registers,
            "stack": _stack(function.min_stack_size),
            "frame": function.frame_size,
            "max_stack": _stack(function.max_stack_size),
            "shared": function.shared,
            "local": function.local,
            "constants": banks,
            "barriers": function.barriers,
            "mbarriers": function.mbarriers,
            "max_ntid": function.max_ntid,
            "reqntid": function.reqntid,
            "cluster": function.cluster,
            "max_cluster_rank": function.max_cluster_rank,
            "max_registers": function.max_registers,
            "param_size": function.param_size,
            "param_bank": self._param_bank(function),
            "params": params,
            "code_size": function.code_size,
            "code": digest(code[start : start + function.code_size]),
            "data": owned,
            "attributes": attributes,
            "relocations": relocations,
            "capsule": self._capsule(function.name),
            "symbol": function.row[1:3],
            "section_registers": self._section_registers(function),
            "sections": self._headers(function),
        }
        return FunctionFacts(function.name, function.kind, values)

    def _attributes(
        self, rows: list[InfoRow], symbols: SymbolList
    ) -> tuple[dict[str, str], tuple[bytes, ...]]:
        """Attributes without those that are properties of their own, and the parameter records."""
        found: dict[int, list[bytes]] = {}
        params = []
        for at, form, code, word, payload in rows:
            if code in OWN_ATTRIBUTES:
                if code in (codes.EIATTR_KPARAM_INFO, codes.EIATTR_KPARAM_INFO_V2):
                    params.append(bytes((code,)) + payload)
                continue
            record = InfoRecord(at, form, code, word, payload)
            names = [
                stable_name(symbols.name_of(number) or f"symbol {number}")
                for kind, number in record.references
                if kind == "symbol"
            ]
            text = "\0".join(names).encode("utf-8", "surrogateescape")
            # where a record names symbols, their numbers say nothing
            body = text if names else payload or pack("<H", word)
            found.setdefault(code, []).append(body)
        words = dict(zip(attribute_names(found), found.values(), strict=True))
        return {name: _shown(bodies) for name, bodies in words.items()}, tuple(sorted(params))

    def _bodies(self, function: Function) -> tuple[tuple[str, ...], dict[str, str]]:
        """Relocations of the code, and digests of what else belongs to the function."""
        code, start = function.row[3], function.code_offset
        entries = [
            entry
            for index in self._relocations.get(code, ())
            for entry in self._entries(index, start, start + function.code_size, function.name)
        ]
        owned = {}
        if function.owns_section:
            for index in self._owned.get(code, ()):
                section = self._elf.section_name(index).removesuffix(f".{function.name}")
                owned[section] = digest(self._elf.section_bytes(index), *self._moved(index))
        return tuple(sorted(entries)), owned

    def _section_registers(self, function: Function) -> int | None:
        """The register count that stands in the header of the code section."""
        if not function.owns_section:
            return None
        return registers_of(self._elf.section_rows[function.row[3]][7])

    def _param_bank(self, function: Function) -> tuple[int, ...] | None:
        """Where parameters start in their bank, and how many bytes there are."""
        payload = function.info_index.payload(codes.EIATTR_PARAM_CBANK)
        if payload is None or len(payload) < PARAM_CBANK.size:
            return None
        _, *numbers = PARAM_CBANK.unpack_from(payload)
        return tuple(numbers)

    def _headers(self, function: Function) -> dict[str, tuple[int, ...]]:
        """Type, flags and alignment of the sections of a function.

        Sizes are properties of their own, and so are barriers that stand in flags.
        """
        if not function.owns_section:
            return {}
        rows = self._elf.section_rows
        found: dict[str, tuple[int, ...]] = {}
        code = function.row[3]
        for index in (code, *self._parts.get(code, ())):
            _, kind, flags, _, _, _, _, _, align, _ = rows[index]
            name = self._elf.section_name(index).removesuffix(f".{function.name}")
            if index == code:
                flags &= ~codes.SHF_BARRIERS_MASK
            found[name] = (kind, flags, align)
        return found

    def _capsule(self, name: str) -> str | None:
        """Digest of the Mercury code of a function, which the driver may finish again."""
        index = self._capsules.get(f"{CAPSULE_PREFIX}.text.{name}")
        return None if index is None else digest(self._elf.section_bytes(index))

    def _entries(
        self, index: int, start: int = 0, stop: int | None = None, owner: str | None = None
    ) -> list[str]:
        """The relocations in a section for some bytes, counted from the first of these.

        Args:
            owner: the function whose bytes they are; it may get another name.
        """
        symbols = self._cubin.linked_symbols(index)
        rows = self._cubin.relocation_rows(index)
        named = ((symbols.name_of(symbol) or "", row) for row in rows for symbol in row[2:3])
        return [
            f"{offset - start:#x} {kind} {'itself' if name == owner else stable_name(name)}"
            f"{'' if addend is None else f' {addend:+#x}'}"
            for name, (offset, kind, _, addend) in named
            if offset >= start and (stop is None or offset < stop)
        ]

    # -- the image ------------------------------------------------------------------------------

    def _image(self) -> dict[str, Any]:
        cubin = self._cubin
        header = cubin.header
        sections: dict[str, tuple[int, ...]] = {}
        data: dict[str, str] = {}
        module: dict[str, str] = {}
        rows = self._elf.section_rows
        for index in self._rest:
            name = stable_name(cubin.sections[index].name)
            _, kind, flags, _, _, size, _, _, align, _ = rows[index]
            if name.startswith(DEBUG_PREFIXES) or not kind:
                continue
            if kind in INFO_TYPES:
                module.update(self._module(index))
                continue
            if kind in (codes.SHT_CUDA_CALLGRAPH, codes.SHT_CUDA_PROTOTYPE):
                continue
            sections[name] = (kind, flags, align, size)
            if occupies_file(kind, flags):
                data[name] = digest(self._elf.section_bytes(index), *self._moved(index))
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

    def _moved(self, index: int) -> list[bytes]:
        """Relocations of a data section, as bytes."""
        entries = [e for at in self._relocations.get(index, ()) for e in self._entries(at)]
        return [entry.encode("utf-8", "surrogateescape") for entry in sorted(entries)]

    def _module(self, index: int) -> dict[str, str]:
        """Attributes of the whole module, and compat records."""
        found: dict[str, list[bytes]] = {}
        symbols = self._cubin.linked_symbols(index)
        for record in self._cubin.info_records_of(index):
            if record.code in _KEYED and not record.is_compat:
                continue
            name = record.name or f"{record.code:#x}"
            names = [
                stable_name(symbols.name_of(number) or f"symbol {number}")
                for kind, number in record.references
                if kind == "symbol"
            ]
            text = "\0".join(names).encode("utf-8", "surrogateescape")
            rest = record.payload[4 * len(names) :] if names else record.payload
            found.setdefault(name, []).append(text + rest or pack("<H", record.value))
        return {name: _shown(sorted(bodies)) for name, bodies in found.items()}

    def _variables(self) -> dict[str, tuple[int, ...]]:
        """Named variables and their section: binding and kind, visibility, size."""
        found: dict[str, tuple[int, ...]] = {}
        wanted = (codes.STT_OBJECT, codes.STT_COMMON, codes.STT_CUDA_OBJECT)
        sections = self._cubin.sections
        for symbol in self._cubin.symbols:
            _, info, other, section, _, size = symbol.row
            if info & codes.ST_TYPE_MASK in wanted:
                home = sections[section].name if 0 < section < len(sections) else "undefined"
                name = stable_name(symbol.name)
                found[f"{name} in {stable_name(home)}"] = (info, other, size)
        return found

    def _calls(self) -> tuple[str, ...]:
        graph = self._cubin.callgraph
        if graph is None:
            return ()
        lines = [f"call {stable_name(e.name)}" for e in graph.calls]
        lines += [f"reference {stable_name(e.name)}" for e in graph.references]
        for word, signatures in (
            ("address", graph.address_taken),
            ("indirect", graph.indirect_calls),
            ("prototype", self._cubin.prototypes),
        ):
            lines += [f"{word} {stable_name(s.name or '')} {s.signature}" for s in signatures]
        lines += [f"pair {first} {second}" for first, second in graph.other]
        return tuple(sorted(lines))

    def _noise(self) -> dict[str, Any]:
        cubin = self._cubin
        notes = {}
        for note in cubin.notes:
            words = (note.tool_name, note.tool_version, note.tool_branch, note.arguments)
            text = " ".join(filter(None, words))
            if note.toolkit_version is not None:
                text = f"toolkit {note.toolkit_version} virtual sm_{note.virtual_sm}"
            notes[note.name] = text or digest(note.desc)
        names = (cubin.sections[index].name for index in self._rest)
        debug = [name for name in names if name.startswith(DEBUG_PREFIXES)]
        twins = [bytes(self._elf.section_bytes(index)) for index in self._twins]
        return {
            "notes": notes,
            "debug": tuple(sorted(debug)),
            "mercury_tables": digest(*twins) if twins else None,
        }


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


def _shown(bodies: list[bytes]) -> str:
    """What a record says, short enough to print: its bytes, or a digest of them."""
    whole = b"|".join(bodies)
    return whole.hex() if len(whole) <= 16 else digest(whole)
