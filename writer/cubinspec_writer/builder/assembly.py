"""The parts of a cubin put together: sections, symbols and names in the order of ptxas 13.0.

Things are made in the order in which ptxas makes them:

    names, symbols, notes, .nv.info, .nv.compat
    for each function: code, attributes, shared memory; behind the first one the module's own
        sections and symbols; then constants, inner functions, relocations, parameters
    .debug_frame, relocations of data and frames, call graph, prototypes
    sm_90 and up: parameter banks;  sm_100 and up: the Mercury half
"""

from __future__ import annotations

from struct import pack

from cubinspec.errors import BadStructureError
from cubinspec.format.sections import mercury_name
from cubinspec_generated.codes import (
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_INFO,
    SHT_CUDA_PROTOTYPE,
    SHT_CUDA_RELOCINFO,
)
from cubinspec_generated.tables import relocations as relocation_table
from cubinspec_writer.builder import attributes, facts
from cubinspec_writer.builder.attributes import code_of
from cubinspec_writer.builder.frames import default_frame
from cubinspec_writer.builder.mercury import Mercury
from cubinspec_writer.builder.parts import (
    ADDRESS_TAKEN,
    BINDINGS,
    CALLS,
    GLOBAL,
    INDIRECT_CALLS,
    LOCAL,
    REFERENCES,
    SPACES,
    Frame,
    Function,
    Relocation,
    Variable,
    space_of,
)
from cubinspec_writer.builder.records import function_records, module_rows, placed
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.layout import Planner
from cubinspec_writer.emitter.model import Description, Dropped, Header, Section, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.builder.builder import CubinBuilder
    from cubinspec_writer.emitter.bodies import AttributeRecord
    from cubinspec_writer.emitter.model import Body

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL = 1, 2, 3, 4, 7, 8, 9
SHT_CUDA_CONSTANT_B0 = 0x70000064
SHT_CUDA_GLOBAL, SHT_CUDA_GLOBAL_INIT, SHT_CUDA_SHARED = 0x70000007, 0x70000008, 0x7000000A
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_INFO_LINK = 1, 2, 4, 0x40
SHF_CUINFO, SHF_TKINFO = 0x1000000, 0x2000000
ET_REL, ET_EXEC = 1, 2
STT_OBJECT, STT_FUNC, STT_CUDA_OBJECT = 1, 2, 13
STO_ENTRY, STO_MANAGED = 0x10, 0x04
STO_RESERVED_SHARED = 0xA0
#: st_other of the symbols that stand for parts of constant banks: constant space, internal.
STO_BANK_PART = 0x81
ABI_8_FLAGS_SASS, ABI_8_FLAGS_CAPSULE = 0x04, 0x02
NVIDIA = "NVIDIA Corp"
NOTE_CUINFO, NOTE_TKINFO = 1000, 2000
_TEXT_ALIGN = 128
SHN_COMMON = 0xFFF2
_MODULE_SHARED = ".nv_debug.shared"
#: Sections of variables: type in relocatable files, in executables, flags.
_DATA_SECTIONS = {
    ".nv.global": (SHT_CUDA_GLOBAL, SHT_NOBITS, SHF_WRITE | SHF_ALLOC),
    ".nv.global.init": (SHT_CUDA_GLOBAL_INIT, SHT_PROGBITS, SHF_WRITE | SHF_ALLOC),
    ".nv.constant3": (SHT_CUDA_CONSTANT_B0 + 3, SHT_PROGBITS, SHF_ALLOC),
    _MODULE_SHARED: (SHT_CUDA_SHARED, SHT_NOBITS, SHF_WRITE | SHF_ALLOC),
}
_WITHOUT_BYTES = frozenset((".nv.global", _MODULE_SHARED))
_UNIFIED_SYMBOLS = (
    "__UDT_OFFSET",
    "__UFT_OFFSET",
    "__UFT_CANONICAL",
    "__UDT_CANONICAL",
    "__UFT",
    "__UDT",
    "__UFT_END",
    "__UDT_END",
)
#: Helper symbols: name -> (value on sm_90, value from sm_100 on)
_RESERVED_OFFSET, _RESERVED_CAP = ".nv.reservedSmem.offset0", ".nv.reservedSmem.cap"
_RESERVED_ALIAS = "__nv_reservedSMEM_offset_0_alias"
_RESERVED_VALUE, _RESERVED_CAP_VALUE = 64, 1024
#: Relocation types from here on need a description for older drivers: R_CUDA_CONST_FIELD22_37.
_ACTION_BASE, _ACTION = 115, (0, 0, 0, 17, 37, 0, 5, 54)


class Assembly:
    """The steps of :meth:`CubinBuilder.description` over shared state."""

    def __init__(self, parts: CubinBuilder) -> None:
        self.parts = parts
        self.target = facts.target(parts.arch)
        self.relocatable = parts.relocatable
        self.finalizer = self.target.finalizer
        self.has_capsule = any(f.capsule is not None for f in parts.functions)
        self.history: list[Section | Symbol | Dropped] = []
        self.globals: list[Symbol | Dropped] = []
        self.late: list[Section] = []
        self.by_name: dict[str, Section | Symbol] = {}
        self.functions = {function.name: function for function in parts.functions}
        self.symbol_of: dict[str, Symbol] = {}
        self.infos: list[tuple[Function, Section]] = []
        self.placed: list[tuple[Section, list[Relocation]]] = []
        self.offsets: dict[str, tuple[Section, int]] = {}
        self.data_sections: list[tuple[Section, list[Relocation]]] = []
        self.banks: dict[str, Section] = {}
        self.resolved: set[int] = set()
        self._check()

    def _check(self) -> None:
        names: set[str] = set()
        for name in (
            *(function.name for function in self.parts.functions),
            *(variable.name for variable in self.parts.variables),
        ):
            if not name or "\0" in name:
                raise BadStructureError(f"{name!r} is no name")
            if name in names:
                raise BadStructureError(f"two parts are named {name!r}")
            names.add(name)
        if self.has_capsule and self.target.sm < facts.CAPSULE_SM:
            raise BadStructureError(f"{self.target.name} has no Mercury capsules")
        for function in self.parts.functions:
            if (function.capsule is not None) != self.has_capsule:
                raise BadStructureError(
                    "every function needs a capsule, or none", field=function.name
                )
            if function.binding not in BINDINGS:
                raise BadStructureError(
                    f"no such binding {function.binding!r}",
                    field=function.name,
                    expected=", ".join(BINDINGS),
                )

    # -- sections and symbols --------------------------------------------------------------------

    def _section(
        self,
        name: str,
        kind: int,
        body: Body,
        flags: int = 0,
        align: int = 1,
        entry: int = 0,
    ) -> Section:
        section = Section(name, kind, body, flags, sh_addralign=align, sh_entsize=entry)
        self.history.append(section)
        self.by_name[name] = section
        return section

    def _kind(self, relocatable: int, executable: int) -> int:
        return relocatable if self.relocatable else executable

    def _function_symbol(self, function: Function) -> Symbol:
        """Make the symbol of a function when it is first mentioned."""
        known = self.symbol_of.get(function.name)
        if known is not None:
            return known
        other = STO_ENTRY if function.kernel else 0
        info = BINDINGS[function.binding] << 4 | STT_FUNC
        symbol = Symbol(function.name, info, other, 0, 0, len(function.code))
        self.symbol_of[function.name] = symbol
        self.by_name[function.name] = symbol
        if function.binding == GLOBAL:
            self.globals.append(symbol)
        else:
            self.history.append(symbol)
        return symbol

    def _mention(self, name: str) -> None:
        """What is first mentioned here gets its symbol here."""
        if name in self.by_name:
            return
        if name in self.functions:
            self._function_symbol(self.functions[name])
        elif name == _RESERVED_CAP:
            value = 0 if self.target.sm < facts.CAPSULE_SM else _RESERVED_CAP_VALUE
            self._helper(name, value, 4)

    def _helper(self, name: str, value: int, size: int) -> None:
        symbol = Symbol(name, 2 << 4 | STT_OBJECT, 0, 0, value, size)
        if self.target.sm < facts.CAPSULE_SM and name == _RESERVED_CAP:
            # sm_90 has no such memory: the name was made and erased again
            symbol = Symbol("", 0, 1)
            self.history += [symbol, Dropped("", erased=len(name) + 1)]
        else:
            self.history.append(symbol)
        self.by_name[name] = symbol

    # -- the whole -------------------------------------------------------------------------------

    def run(self) -> Description:
        parts, target = self.parts, self.target
        signatures = [f.signature for f in parts.functions if f.signature]
        signatures += parts.signatures.values()
        signatures += [
            text for kind, _, text in parts.edges if kind in (ADDRESS_TAKEN, INDIRECT_CALLS)
        ]
        self.history += [Dropped(text) for text in dict.fromkeys(signatures)]
        self._section(".shstrtab", SHT_STRTAB, bodies.Computed("shstrtab"))
        self._section(".strtab", SHT_STRTAB, bodies.Computed("strtab"))
        self._section(".symtab", SHT_SYMTAB, bodies.Computed("symtab"), align=8, entry=24)
        self.history.append(Dropped(".symtab_shndx", in_shstrtab=True))
        self._notes()
        info = self._section(
            ".nv.info",
            SHT_CUDA_INFO,
            bodies.InfoRecords(self._module_records(False)),
            align=4,
        )
        if self.finalizer:
            given = {record[1]: record for record in parts.compat}
            records = [given.pop(r[1], r) for r in facts.compat_records(target)]
            compat = bodies.InfoRecords([*records, *given.values()])
            self._section(".nv.compat", SHT_CUDA_COMPAT_INFO, compat, align=4)
        for at, function in enumerate(parts.functions):
            self._function(function, first=not at)
        if not parts.functions:
            self._module()
        frame = parts.frame or default_frame(parts.functions, relocatable=self.relocatable)
        self._frames(frame)
        self._call_graph()
        if not self.relocatable and not self.finalizer:
            actions = bodies.RelocActions(_ACTION_BASE, 0, [_ACTION])
            self._section(".nv.rel.action", SHT_CUDA_RELOCINFO, actions, align=8, entry=8)
        self.history += self.late
        self.data_sections.sort(key=_relocation_rank)
        mercury = Mercury(self) if self.has_capsule else None
        if mercury is not None:
            self.history += mercury.sections()
        flags = ABI_8_FLAGS_CAPSULE if self.has_capsule else ABI_8_FLAGS_SASS
        header = Header(
            e_type=ET_REL if self.relocatable else ET_EXEC, e_flags=flags | target.sm << 8
        )
        profile = "classic"
        if self.finalizer:
            profile = "mercury" if self.has_capsule else "finalizer"
        description = Description(header, self.history, self.globals, profile)
        self._resolve(description, info)
        if mercury is not None:
            mercury.resolve(description)
        return description

    def _notes(self) -> None:
        tool, target = self.parts.tool, self.target
        descriptor = bodies.ToolNote(2, "", tool.name, tool.version, tool.branch, tool.arguments)
        note = bodies.Note(NOTE_TKINFO, NVIDIA, descriptor)
        self._section(".note.nv.tkinfo", SHT_NOTE, bodies.Notes([note]), SHF_TKINFO, 4)
        virtual = target.sm if self.parts.virtual_sm is None else self.parts.virtual_sm
        note = bodies.Note(NOTE_CUINFO, NVIDIA, bodies.CuinfoNote(2, virtual, self.parts.toolkit))
        flags = SHF_CUINFO | SHF_INFO_LINK if self.finalizer else SHF_CUINFO
        self._section(".note.nv.cuinfo", SHT_NOTE, bodies.Notes([note]), flags, 4)

    # -- functions -------------------------------------------------------------------------------

    def _function(self, function: Function, *, first: bool) -> None:
        name = function.name
        symbol = self._function_symbol(function)
        flags = SHF_ALLOC | SHF_EXECINSTR
        text = self._section(
            f".text.{name}", SHT_PROGBITS, bodies.Blob(function.code), flags, _TEXT_ALIGN
        )
        symbol.section = text
        text.registers = 0 if self.finalizer else function.registers
        if first and not function.kernel:
            self._module()
        info = self._section(
            f".nv.info.{name}",
            SHT_CUDA_INFO,
            bodies.InfoRecords(function_records(self.parts, self.target, function)),
            SHF_INFO_LINK,
            4,
        )
        self.infos.append((function, info))
        shared = self._shared(function) if function.kernel or function.shared is not None else None
        if first and function.kernel:
            self._module()
        if first:
            for _, relocations in self.data_sections:
                for relocation in relocations:
                    self._mention(relocation.symbol)
        self._constants(function)
        for inner in function.inner:
            info_byte = BINDINGS[inner.binding] << 4 | STT_FUNC
            part = Symbol(inner.name, info_byte, 0, text, inner.value, inner.size)
            (self.globals if inner.binding == GLOBAL else self.history).append(part)
            self.by_name[inner.name] = part
        self._relocations(function, text, shared)
        if function.kernel:
            self._parameters(function)

    def _shared(self, function: Function) -> Section | None:
        name = f".nv.shared.{function.name}"
        if function.shared is None:
            self.history.append(Dropped(name, in_shstrtab=True))
            return None
        size = function.shared
        if self.finalizer and not self.relocatable:
            size += facts.RESERVED_SHARED
        section = self._section(
            name,
            self._kind(SHT_CUDA_SHARED, SHT_NOBITS),
            bodies.NoBytes(size),
            SHF_WRITE | SHF_ALLOC | SHF_INFO_LINK,
            function.shared_align,
        )
        if not function.shared and not self.relocatable:
            section.has_symbol = False
        return section

    def _constants(self, function: Function) -> None:
        if function.constants is None:
            return
        section = self._section(
            f".nv.constant2.{function.name}",
            self._kind(SHT_CUDA_CONSTANT_B0 + 2, SHT_PROGBITS),
            bodies.Blob(function.constants),
            SHF_ALLOC | SHF_INFO_LINK,
            function.constants_align,
        )
        self.data_sections.append((section, function.constants_relocations))
        if function.constants_resolved:
            self.resolved.add(id(section))
        if function.constants_symbol is not None:
            size = len(function.constants)
            part = Symbol(
                function.constants_symbol, STT_CUDA_OBJECT, STO_BANK_PART, section, 0, size
            )
            self.history.append(part)
            self.by_name[part.name] = part

    def _relocations(self, function: Function, text: Section, shared: Section | None) -> None:
        local = {variable.name: variable for variable in function.shared_variables}
        kinds: list[str] = []

        def variable(name: str) -> None:
            part = local.pop(name, None)
            if part is None:
                return
            if shared is None:
                raise BadStructureError(f"{name!r} has no shared memory", field=function.name)
            symbol = Symbol(name, STT_CUDA_OBJECT, SPACES["shared"], shared, part.value, part.size)
            self.history.append(symbol)
            self.by_name[name] = symbol

        def section(kind: str) -> None:
            if kind not in kinds:
                kinds.append(kind)
                self._relocation_section(kind, text, function.relocations)

        if function.reserved_cap:
            self._mention(_RESERVED_CAP)
        for relocation in function.relocations:
            variable(relocation.symbol)
            self._mention(relocation.symbol)
            section(".rel" if not relocation.addend else ".rela")
        for name in list(local):
            variable(name)
        if function.resolved and not kinds and self.finalizer:
            section(".rel")
        if self.finalizer and kinds == [".rel"]:
            self._relocation_section(".rela", text, function.relocations)

    def _relocation_section(self, kind: str, of: Section, rows: list[Relocation]) -> None:
        """A relocation section of one kind; the finalizer writes RELA only and drops the others."""
        name = kind + of.name
        if self.finalizer and kind == ".rel":
            self.history.append(Dropped(mercury_name(name) or name, in_shstrtab=True))
            return
        if not self.finalizer:
            rows = [row for row in rows if (row.addend is None) == (kind == ".rel")]
        rela = kind == ".rela"
        section = self._section(
            name,
            SHT_RELA if rela else SHT_REL,
            bodies.Relocations(rela, (0,) * (len(rows) * (3 if rela else 2))),
            SHF_INFO_LINK,
            8,
            24 if rela else 16,
        )
        self.placed.append((section, rows))

    def _parameters(self, function: Function) -> None:
        base = self.target.param_base
        size = placed(function)[1]
        section = Section(
            f".nv.constant0.{function.name}",
            self._kind(SHT_CUDA_CONSTANT_B0, SHT_PROGBITS),
            bodies.Blob(bytes(base + size)),
            SHF_ALLOC | SHF_INFO_LINK,
            sh_addralign=4,
        )
        self.banks[function.name] = section
        if self.finalizer:
            self.late.append(section)
            return
        self.history.append(section)
        if not self.relocatable:
            self.history.append(Dropped(f".rel.nv.constant0.{function.name}", in_shstrtab=True))
            return
        part = Symbol("_param", STT_CUDA_OBJECT, STO_BANK_PART, section, base, size)
        if not function.parameters:
            part = Symbol("_SREG", STT_CUDA_OBJECT, STO_BANK_PART, section, 0, base)
        self.history.append(part)

    # -- the module's own data -------------------------------------------------------------------

    def _module(self) -> None:
        if self.finalizer:
            if self.relocatable:
                for name in _UNIFIED_SYMBOLS:
                    self._helper(name, 0, 8)
            value = _RESERVED_VALUE if self.target.sm >= facts.CAPSULE_SM else 0
            self._helper(_RESERVED_OFFSET, value, 4)
            if not self.relocatable:
                reserved = self._section(
                    ".nv.shared.reserved.0",
                    SHT_NOBITS,
                    bodies.NoBytes(value),
                    SHF_WRITE | SHF_ALLOC,
                )
                self.history.append(
                    Symbol(_RESERVED_ALIAS, 2 << 4, STO_RESERVED_SHARED, reserved, value, 0)
                )
        self._variables()
        for name, info, other, size in self.parts.undefined:
            symbol = Symbol(name, info, other, st_size=size)
            self.globals.append(symbol)
            self.by_name[name] = symbol

    def _banks(self) -> None:
        for bank in self.parts.banks:
            section = self._section(
                f".nv.constant{bank.number}",
                self._kind(SHT_CUDA_CONSTANT_B0 + bank.number, SHT_PROGBITS),
                bodies.Blob(bank.data),
                SHF_ALLOC,
                bank.align,
            )
            self.data_sections.append((section, bank.relocations))

    def _variables(self) -> None:
        """Sections are made with their first variable; banks of addresses behind the first one."""
        grouped: dict[str, list[Variable]] = {}
        for variable in self.parts.variables:
            if not variable.common:
                grouped.setdefault(self._section_of(variable), []).append(variable)
        made = False
        for variable in self.parts.variables:
            section: Section | int = SHN_COMMON
            offset = variable.align
            if not variable.common:
                name = self._section_of(variable)
                if variable.name not in self.offsets:
                    self._variable_section(name, grouped[name])
                    if not made:
                        self._banks()
                    made = True
                section, offset = self.offsets[variable.name]
            self._variable_symbol(variable, section, offset)
        if not made:
            self._banks()

    def _variable_symbol(self, variable: Variable, section: Section | int, offset: int) -> None:
        other = STO_MANAGED if variable.managed else 0
        kind = STT_OBJECT
        if self.relocatable:
            kind = STT_CUDA_OBJECT
            other |= space_of(variable.space)
        info = BINDINGS[variable.binding] << 4 | kind
        symbol = Symbol(variable.name, info, other, section, offset, _size(variable))
        (self.globals if variable.binding == GLOBAL else self.history).append(symbol)
        self.by_name[variable.name] = symbol

    def _section_of(self, variable: Variable) -> str:
        if variable.space == "constant":
            return ".nv.constant3"
        if variable.space == "global":
            return ".nv.global" if variable.data is None else ".nv.global.init"
        if variable.space == "shared" and self.relocatable and variable.data is None:
            return _MODULE_SHARED
        raise BadStructureError(
            f"no such variable can stand in {variable.space!r}",
            field=variable.name,
            expected="global, constant; shared in relocatable files",
        )

    def _variable_section(self, name: str, variables: list[Variable]) -> None:
        data = bytearray()
        end = 0
        relocations: list[Relocation] = []
        places = []
        for variable in variables:
            at = variable.offset
            if at is None:
                at = -(-end // variable.align) * variable.align
            size = _size(variable)
            end = max(end, at + size)
            if name not in _WITHOUT_BYTES:
                data.extend(bytes(max(end - len(data), 0)))
                data[at : at + size] = bytes(size) if variable.data is None else variable.data
            places.append((variable.name, at))
            # initial contents are gone through from the last variable to the first
            relocations[:0] = [
                Relocation(at + r.offset, r.kind, r.symbol, r.addend) for r in variable.relocations
            ]
        if name == _MODULE_SHARED:
            # its size is that of the variables, wherever they stand
            end = sum(_size(variable) for variable in variables)
        body = bodies.NoBytes(end) if name in _WITHOUT_BYTES else bodies.Blob(bytes(data))
        relocatable, executable, flags = _DATA_SECTIONS[name]
        section = self._section(
            name,
            self._kind(relocatable, executable),
            body,
            flags,
            max(variable.align for variable in variables),
        )
        self.offsets |= {variable: (section, at) for variable, at in places}
        self.data_sections.append((section, relocations))
        if any(variable.resolved for variable in variables):
            self.resolved.add(id(section))

    # -- tables behind the functions -------------------------------------------------------------

    def _frames(self, frame: Frame) -> None:
        section = self._section(".debug_frame", SHT_PROGBITS, bodies.Blob(frame.data))
        for data, relocations in sorted(self.data_sections, key=_relocation_rank):
            if id(data) in self.resolved and not relocations:
                self._resolved(data)
            self._both_kinds(data, relocations, keep_empty=False)
        self._both_kinds(section, frame.relocations, keep_empty=not self.relocatable)

    def _resolved(self, data: Section) -> None:
        """The names of relocation sections whose relocations were all applied.

        Of a function's constants the finalizer writes an empty section; the rest is dropped.
        """
        if not data.name.startswith(".nv.constant2."):
            kinds = (".rel", ".rela") if self.finalizer else (".rel",)
        elif self.finalizer:
            self._relocation_section(".rela", data, [])
            kinds = (".rel",)
        else:
            kinds = (".rela", ".rel")
        made = (mercury_name(data.name) if self.finalizer else None) or data.name
        self.history += [Dropped(kind + made, in_shstrtab=True) for kind in kinds]

    def _both_kinds(self, of: Section, rows: list[Relocation], *, keep_empty: bool) -> None:
        if not rows:
            return
        for kind in (".rel", ".rela"):
            wanted = [row for row in rows if (row.addend is None) == (kind == ".rel")]
            if wanted or self.finalizer:
                self._relocation_section(kind, of, rows)
            elif keep_empty:
                self.history.append(Dropped(kind + of.name, in_shstrtab=True))

    def _call_graph(self) -> None:
        # sizes are known now, symbol numbers only when everything is made
        rows: list[tuple[int, int | str]] = [(0, 0)] * (len(self.parts.edges) + 4)
        self._section(".nv.callgraph", SHT_CUDA_CALLGRAPH, bodies.Pairs(rows), align=4, entry=8)
        taken = {a for kind, a, _ in self.parts.edges if kind == ADDRESS_TAKEN}
        self.prototypes = {
            function.name: function.signature
            for function in self.parts.functions
            if function.signature and function.name not in taken and function.binding != LOCAL
        } | self.parts.signatures
        if self.relocatable and self.prototypes:
            rows = [(0, 0)] * len(self.prototypes)
            self._section(".nv.prototype", SHT_CUDA_PROTOTYPE, bodies.Pairs(rows), align=4, entry=8)
        else:
            self.history.append(Dropped(".nv.prototype", in_shstrtab=True))

    def _module_records(self, resolved: bool) -> list[AttributeRecord]:
        index = self.index if resolved else (lambda name: 0)
        return [
            attributes.sized(code_of(name), pack("<II", index(function), value))
            for name, function, value in module_rows(self.parts)
        ]

    # -- numbers ---------------------------------------------------------------------------------

    def index(self, name: str) -> int:
        """Number of a symbol, by its name or that of its section.

        Raises:
            CubinError: there is none.
        """
        if not name:
            return 0
        entry = self.by_name.get(name)
        number = None if entry is None else self.numbers.get(id(entry))
        if number is None:
            raise BadStructureError(f"no symbol {name!r} is here")
        return number

    def relocation_rows(
        self, rows: list[Relocation], *, rela: bool
    ) -> list[tuple[int, int, int, int | None]]:
        """Rows as they are stored: the last relocation first."""
        return [
            (
                r.offset,
                self.index(r.symbol),
                _kind_number(r.kind),
                (r.addend or 0) if rela else None,
            )
            for r in reversed(rows)
        ]

    def _resolve(self, description: Description, info: Section) -> None:
        planner = Planner(description)
        planner.number_symbols()
        self.numbers = {id(entry): at for at, entry in enumerate(planner.symbol_entries) if at}
        info.body = bodies.InfoRecords(self._module_records(True))
        for section, rows in self.placed:
            rela = section.sh_type == SHT_RELA
            section.body = bodies.Relocations.from_rows(self.relocation_rows(rows, rela=rela), rela)
        for function, section in self.infos:
            body = section.body
            assert isinstance(body, bodies.InfoRecords)
            body.records = [self._with_bank(function, record) for record in body.records]
        graph = self.by_name[".nv.callgraph"]
        assert isinstance(graph, Section)
        graph.body = bodies.Pairs(self._graph_rows())
        prototype = self.by_name.get(".nv.prototype")
        if isinstance(prototype, Section):
            prototype.body = bodies.Pairs(
                [(self.index(name), text) for name, text in self.prototypes.items()]
            )

    def _with_bank(self, function: Function, record: AttributeRecord) -> AttributeRecord:
        form, code, value, payload = record
        if code != code_of("PARAM_CBANK") or any(r[1] == code for r in function.attributes):
            return record
        number = self.numbers[id(self.banks[function.name])]
        return form, code, value, pack("<I", number) + payload[4:]

    def _graph_rows(self) -> list[tuple[int, int | str]]:
        rows: list[tuple[int, int | str]] = []
        for kind, marker in enumerate(bodies.CALLGRAPH_MARKERS):
            rows.append((0, marker))
            for edge, a, b in self.parts.edges:
                if edge == kind:
                    by_name = kind in (CALLS, REFERENCES)
                    rows.append((self.index(a), self.index(b) if by_name else b))
        return rows


def _size(variable: Variable) -> int:
    return variable.size if variable.data is None else len(variable.data)


def _relocation_rank(data: tuple[Section, list[Relocation]]) -> int:
    """Relocation sections of data are made bank by bank, those of functions last."""
    name = data[0].name
    order = (".nv.constant4", ".nv.constant3", ".nv.global.init")
    return order.index(name) if name in order else len(order)


_KIND_NUMBERS = {name: number for number, name in relocation_table.NAMES.items()}


def _kind_number(kind: str | int) -> int:
    if isinstance(kind, int):
        return kind
    number = _KIND_NUMBERS.get(kind)
    if number is None:
        raise BadStructureError(f"no relocation type is named {kind!r}")
    return number
