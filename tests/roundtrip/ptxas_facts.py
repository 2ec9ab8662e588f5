"""What an assembler would tell the builder about a file of ptxas: its code and the facts beside it.

Nothing of the layout is taken over: no section list, no symbol table, no string table, no offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from struct import unpack

from cubinspec.format import packing
from cubinspec.format.sections import STUB, mercury_name
from cubinspec.model.info import CODE
from cubinspec_generated.codes import (
    EF_CUDA_TEXMODE_INDEPENDENT,
    ELFCLASS32,
    ET_EWP,
    ET_REL,
    SHF_BARRIERS_MASK,
    SHF_BARRIERS_SHIFT,
)
from cubinspec_writer.builder import (
    Capsule,
    CubinBuilder,
    Frame,
    Function,
    ImageSlot,
    Inner,
    Parameter,
    Relocation,
    Sampler,
    SharedVariable,
    Tool,
    Variable,
    attributes,
)
from cubinspec_writer.builder.facts import Target, target
from cubinspec_writer.builder.parts import BINDINGS
from cubinspec_writer.emitter import bodies, describe
from cubinspec_writer.emitter.layout import Planner
from cubinspec_writer.emitter.model import Description, Dropped, Section, Symbol
from cubinspec_writer.emitter.symbols import MercurySymbol

STT_FUNC, STO_ENTRY, SHN_COMMON = 2, 0x10, 0xFFF2
#: Images by the types of their symbols, and by the spaces of parameters.
IMAGE_TYPES = {10: "texture", 11: "sampler", 12: "surface"}
IMAGE_SPACES = {6: "texture", 7: "surface", 8: "sampler"}
_BINDING = {number: name for name, number in BINDINGS.items()}
#: What the builder computes; everything else of .nv.info.<f> is a fact about the code.
_COMPUTED = frozenset(
    CODE[f"EIATTR_{name}"]
    for name in (
        "CUDA_API_VERSION",
        "STUB_FUNCTION_KIND",
        "PARAM_CBANK",
        "CBANK_PARAM_SIZE",
        "KPARAM_INFO",
        "KPARAM_INFO_V2",
        "MAXREG_COUNT",
        "NUM_BARRIERS",
        "MERCURY_ISA_VERSION",
        "EXIT_INSTR_OFFSETS",
        "MAX_THREADS",
        "REQNTID",
        "SW_WAR",
        "SW2861232_WAR",
        "EXTERNS",
    )
)


#: Attributes that kernels of programs for debuggers have of functions that they call, too.
_INHERITED = frozenset(
    CODE[f"EIATTR_{name}"] for name in ("NUM_BARRIERS", "EXTERNS", "CTAIDZ_USED")
)
#: Attributes of functions that stand in .nv.info of the module.
_OF_FUNCTIONS = frozenset(
    CODE[f"EIATTR_{name}"]
    for name in ("REGCOUNT", "FRAME_SIZE", "MIN_STACK_SIZE", "MAX_STACK_SIZE")
)


class _Facts:
    """A file of ptxas, with tables of what is where: files have tens of thousands of functions.

    Attributes:
        places: id of a section, symbol or name -> its place in the order of making.
        named: name -> the places of all that has it.
        symbol_places: id of a symbol -> its place among the symbols.
        within: id of a section -> its symbols.
        values: section -> what its attributes say of functions.
        framed: names of functions with a frame, in the order of their records.
    """

    def __init__(self, data: bytes, arch: str) -> None:
        self.file: Description = describe(data)
        self.goal: Target = target(arch)
        self.moved: set[int] = set()
        self.relocatable = self.file.header.e_type == ET_REL
        self.is_final = not self.relocatable and self.file.header.e_type != ET_EWP
        self.extensible = self.file.header.e_type == ET_EWP
        self.dropped = {entry.name for entry in self.file.history if isinstance(entry, Dropped)}
        self.keeps_relocations = any(
            entry.name.startswith(".nv.resolvedrela") for entry in self.file.history
        )
        self.for_debugger = any(
            section.name == ".nv_debug_info_reg_sass" for section in self.file.sections
        )
        is_narrow = self.file.header.ei_class == ELFCLASS32
        self.has_aliases = self.relocatable or (self.for_debugger and not is_narrow)
        notes = [one.body.notes[0].descriptor for one in self.file.sections if "tkinfo" in one.name]
        arguments = notes[0].arguments if notes else ""
        is_plain = "-O 0" not in arguments and "-sanitize memcheck" not in arguments
        self.is_optimized = is_plain and not self.for_debugger
        planner = Planner(self.file)
        planner.number_symbols()
        self.entries = planner.symbol_entries
        self.sections = {section.name: section for section in self.file.sections}
        self.symbols = [entry for entry in self.entries if isinstance(entry, Symbol)]
        self.places: dict[int, int] = {}
        self.named: dict[str, list[int]] = {}
        for at, one in enumerate(self.file.history):
            self.places.setdefault(id(one), at)
            self.named.setdefault(one.name, []).append(at)
        self.symbol_places = {id(one): at for at, one in enumerate(self.symbols)}
        self.within: dict[int, list[Symbol]] = {}
        for symbol in self.symbols:
            if isinstance(symbol.section, Section):
                self.within.setdefault(id(symbol.section), []).append(symbol)
        if not self.relocatable:
            self.moved = self.module_shared()
        table = self.sections.get(".nv.merc.symtab")
        rows = table.body.symbols if table is not None else []
        self.mercury = {one.name: one for one in reversed(rows)}
        self.values = {name: self._values(name) for name in (".nv.info", ".nv.merc.nv.info")}
        self.framed = self._framed()

    def name(self, index: int) -> str:
        entry = self.entries[index]
        if entry is None:
            return ""
        if isinstance(entry, Symbol) and not entry.name and not self.goal.family.capsule:
            return ".nv.reservedSmem.cap"
        return entry.name

    def called(self, function: str) -> set[str]:
        """What the call graph says that a function calls."""
        graph = self.sections.get(".nv.callgraph")
        rows = graph.body.rows if graph is not None else []
        return {self.name(b) for a, b in rows if isinstance(b, int) and self.name(a) == function}

    def records(self, section: str) -> list[tuple[int, int, int, bytes]]:
        found = self.sections.get(section)
        return list(found.body.records) if found is not None else []

    def keyed(self, name: str, symbol: str, section: str = ".nv.info") -> int | None:
        return self.values[section].get((CODE[f"EIATTR_{name}"], symbol))

    @cached_property
    def indices(self) -> dict[str, int]:
        """Images and where the kernels have their indices."""
        banks = [name for name in self.sections if name.startswith(".nv.constant0.")]
        rows = [row for name in banks for row in self.relocations(f".rel{name}", f".rela{name}")]
        return {row.symbol: row.offset for row in rows}

    @cached_property
    def indices_start(self) -> int:
        """Where all kernels have the indices of images."""
        return min(self.indices.values(), default=0)

    def _values(self, section: str) -> dict[tuple[int, str], int]:
        """Attributes that functions have in a section of the module, by code and name."""
        found: dict[tuple[int, str], int] = {}
        for _, code, _, payload in self.records(section):
            if code in _OF_FUNCTIONS:
                index, value = unpack("<II", payload)
                found.setdefault((code, self.name(index)), value)
        return found

    def _framed(self) -> dict[str, int]:
        """Names of functions with a record of their frame, and which one of the records it is."""
        code = CODE["EIATTR_FRAME_SIZE"]
        rows = [payload for _, found, _, payload in self.records(".nv.info") if found == code]
        return {self.name(unpack("<II", row)[0]): at for at, row in enumerate(rows)}

    def relocations(self, *names: str) -> list[Relocation]:
        """In the order of making: files hold them last first. Applied ones follow."""
        found = []
        half = ".nv.merc" if names[0].startswith(".nv.merc") else ""
        of = names[0].removeprefix(half).removeprefix(".rela").removeprefix(".rel")
        kept = f"{half}.nv.resolvedrela{of}"
        # in constants of a function the ones with addends were made first
        order = (kept, *names) if ".nv.constant2." in kept else (*names, kept)
        for name in order:
            section = self.sections.get(name)
            if section is None:
                continue
            for offset, symbol, kind, addend in reversed(section.body.rows()):
                applied = name == kept
                if (self.goal.family.finalizer or applied) and addend == 0 and kind < 0x10000:
                    addend = None
                found.append(Relocation(offset, kind, self.name(symbol), addend, applied))
        return found

    def had_relocations(self, data: Section) -> bool:
        """Whether all relocations of some data were applied: their section was then dropped."""
        made = mercury_name(data.name) if self.goal.family.finalizer else None
        return not self.relocatable and f".rel{made or data.name}" in self.dropped

    def module_shared(self) -> set[int]:
        """Shared variables of the module, in the memory of the kernel that uses them.

        Symbols of a kernel's own ones are made behind that; those for debuggers are made at once.
        """
        found = {id(one) for one in self.symbols if _is_shared(one) and one.st_info >> 4 == 1}
        allowed, own = False, None
        for entry in self.file.history:
            if isinstance(entry, Symbol) and _is_shared(entry):
                is_before = not self.is_made_before(entry.section, entry)
                is_next = entry.section is own and self.keeps_relocations and not self.for_debugger
                is_next = is_next and entry.name[:1] != "$"
                is_local = entry.name[:1] == "$" and not self.for_debugger
                if (allowed and not is_local) or is_next or is_before:
                    found.add(id(entry))
                    continue
            if entry.name == ".nv_debug.shared":
                allowed = True
            elif isinstance(entry, Dropped) and not entry.in_shstrtab:
                continue
            elif not isinstance(entry, Symbol):
                allowed, own = False, entry
            elif entry.section is own:
                own = None
        return found if ".nv_debug.shared" in {*self.sections, *self.dropped} else set()

    def made_by(self, symbol: Symbol) -> str:
        """The function with whose code a symbol was made; of the first one if the name says so."""
        before = self.file.history[: self.places[id(symbol)]]
        texts = [one.name for one in before if isinstance(one, Section)]
        texts = [name.removeprefix(".text.") for name in texts if name.startswith(".text.")]
        is_own = self.relocatable and self.is_optimized and symbol.name.startswith("$__")
        return texts[-1] if len(texts) > 1 or (texts and is_own) else ""

    def is_made_before(self, first: Section, second: object) -> bool:
        found = self.places.get(id(second))
        return found is not None and self.places[id(first)] < found

    def made_as(self, *names: str) -> list[int]:
        """Where sections, symbols or names of these names were made, in order."""
        return sorted(at for name in names for at in self.named.get(name, ()))

    def made_in(self, function: str) -> Iterator[Section | Symbol | Dropped]:
        """Everything made with a function, behind its code."""
        history = self.file.history
        found = (at for at in self.made_as(function) if isinstance(history[at], Section))
        for entry in history[next(found) + 1 :]:
            if isinstance(entry, Section) and entry.name.startswith((".text.", ".debug_frame")):
                return
            yield entry

    def dropped_symbols(self, function: str) -> list[str]:
        """Symbols of a function that were made and not written (extensible programs)."""
        return [
            entry.name
            for entry in self.made_in(f".text.{function}")
            if isinstance(entry, Dropped) and entry.name and not entry.in_shstrtab
        ]

    def function_ids(self, data: Section) -> list[str]:
        """Functions whose numbers some data holds: their names stand around its own."""
        prefix = "$funcID$"
        made = (mercury_name(data.name) if self.goal.family.finalizer else None) or data.name
        dropped = [entry for entry in self.file.history if isinstance(entry, Dropped)]
        names = [entry.name for entry in dropped]
        ids = [name for name in names if name.startswith(prefix)]
        at = names.index(f".rel{made}")
        # the first one is named before, here or with other data; the rest behind
        found = [name for name in names[:at] if name in ids][-1:]
        left = (f".rela{made}", f".nv.resolvedrela{made}")
        behind = at + 1 + len(list(takewhile(lambda name: name in left, names[at + 1 :])))
        for name, following in zip(names[behind:], [*names[behind + 1 :], ""], strict=True):
            if name not in ids or following == ".rel.nv.global.init":
                break
            found.append(name)
        return [name.removeprefix(prefix) for name in found]

    def unified(self, name: str, entries: str) -> tuple[int, int] | None:
        """The numbers of a unified function or variable."""
        table = self.sections.get(entries)
        for symbol, _, _, first, second in table.body.rows if table is not None else ():
            if self.name(symbol) == name:
                return first, second
        return None

    def code_relocations(self, section: str) -> list[Relocation]:
        rows = self.relocations(f".rela{section}", f".rel{section}")
        is_sorted = self.goal.family.finalizer and not self.keeps_relocations
        return rows if is_sorted else sorted(rows, key=lambda row: row.offset)


def _is_shared(symbol: Symbol) -> bool:
    return isinstance(symbol.section, Section) and symbol.section.name.startswith(".nv.shared.")


def builder_of(data: bytes, arch: str, *, frames: bool = True) -> CubinBuilder:
    """The builder calls that stand for a file of ptxas 13.0.

    Args:
        frames: hand over the frame data too, which only a compiler can make.
    """
    facts = _Facts(data, arch)
    builder = CubinBuilder(arch, relocatable=facts.relocatable, extensible=facts.extensible)
    names = {symbol.name for symbol in facts.symbols}
    is_usual = {"__UFT", "__UDT"} <= names or not facts.goal.family.finalizer
    builder.position_independent = facts.relocatable and (
        ".nv.constant4" in facts.sections or not is_usual
    )
    _producer(facts, builder)
    compat = facts.sections.get(".nv.compat")
    builder.compat = list(compat.body.records) if compat is not None else []
    owned = {}
    for symbol in facts.symbols:
        section = symbol.section
        if isinstance(section, Section) and section.name in (
            f".text.{symbol.name}",
            f".nv.uft.rel.{symbol.name.removeprefix(STUB)}",
        ):
            owned[id(section)] = symbol
    for section in facts.file.sections:
        if id(section) in owned:
            builder.functions.append(_function(facts, owned[id(section)], section))
    unified = {one.name for one in builder.functions if one.unified is not None}
    if not facts.is_optimized and builder.functions:
        # they are named in the order of the PTX
        builder.functions[0].mentioned += [one.name for one in facts.symbols if one.name in unified]
    for symbol in facts.symbols:
        is_second = symbol.st_info & 15 == STT_FUNC and not symbol.st_size
        if is_second and symbol.section and facts.has_aliases:
            builder.alias(symbol.name, owned[id(symbol.section)].name)
    _reserved_cap(facts, builder)
    reserved = facts.sections.get(".nv.shared.reserved.0")
    for symbol in facts.symbols:
        if reserved is not None and symbol.section is reserved and symbol.st_size:
            has_place = not (facts.relocatable or facts.extensible)
            align = reserved.sh_addralign if has_place else symbol.st_value
            builder.reserved_variable(symbol.name, symbol.st_size, align=align)
    _variables(facts, builder)
    _samplers(facts, builder)
    _call_graph(facts, builder)
    for entry in facts.file.history:
        if isinstance(entry, Section) and builder.address_size == 64:
            break
        builder.declared += [entry.name] if entry.name.startswith("#") else []
    table = facts.sections.get(".nv.metadata")
    for number, name, values in table.body.nodes[:-1] if table is not None else ():
        builder.metadata_node(number, name, [value for _, value in values])
    _debug(facts, builder)
    builder.queries = not facts.relocatable and ".nv.callgraph" not in facts.sections
    builder.instrumented = "-sanitize memcheck" in builder.tool.arguments
    builder.keeps_relocations = facts.keeps_relocations or builder.instrumented
    builder.tool_functions = [
        symbol.name
        for symbol in facts.symbols
        if symbol.name.startswith("__cuda_sanitizer_")
        if facts.relocatable or facts.for_debugger
        # with -sanitize=threadsteer they are local, and made with their code
        if symbol.st_info >> 4
    ]
    builder.tools_patch = any(
        record[1] == CODE["EIATTR_TOOLS_PATCH_FUNC"]
        for function in builder.functions
        for record in function.attributes
    )
    builder.for_debugger = facts.for_debugger
    builder.optimized = "-O 0" not in builder.tool.arguments
    _orders(facts, builder)
    for symbol in facts.symbols:
        if symbol.name.startswith(".nv.") and symbol.name.lower().endswith("size"):
            value = None if symbol.st_info >> 4 else symbol.st_value
            builder.size_symbol(symbol.name, value=value)
    for name in facts.dropped:
        if name == ".nv.ptx.const0.size":
            builder.size_symbol(name, value=0)
    builder.errors_at_exit = any(
        record[1] == CODE["EIATTR_GEN_ERRBAR_AT_EXIT"] for record in facts.records(".nv.info")
    )
    if frames:
        builder.frame = Frame(
            facts.sections[".debug_frame"].body.data,
            facts.relocations(".rel.debug_frame", ".rela.debug_frame"),
        )
        if ".nv.merc.debug_frame" in facts.sections:
            builder.mercury_frame = Frame(
                facts.sections[".nv.merc.debug_frame"].body.data,
                facts.relocations(".nv.merc.rela.debug_frame"),
            )
    return builder


def _orders(facts: _Facts, builder: CubinBuilder) -> None:
    """Which function ends the PTX, and in which order executables state stacks."""
    rows = [(record[1], record[3]) for record in facts.records(".nv.info")]
    codes = [code for code, _ in rows]
    isa = CODE["EIATTR_MERCURY_ISA_VERSION"]
    if isa in codes:
        behind = [payload for _, payload in rows[codes.index(isa) + 1 :] if len(payload) == 8]
        builder.last_declared = facts.name(unpack("<II", behind[0])[0]) if behind else ""
    if facts.is_final:
        stacks = [row for code, row in rows if code == CODE["EIATTR_MIN_STACK_SIZE"]]
        kernels = {one.name for one in builder.functions if one.kernel}
        names = [facts.name(unpack("<II", row)[0]) for row in stacks]
        builder.stated_stacks = [name for name in names if name in kernels]


def _producer(facts: _Facts, builder: CubinBuilder) -> None:
    """What made the file, and from what."""
    header = facts.file.header
    if header.ei_class == ELFCLASS32:
        builder.address_size = 32
        builder.toolkit = header.e_version
        builder.independent_samplers = bool(header.e_flags & EF_CUDA_TEXMODE_INDEPENDENT)
        builder.virtual_sm = packing.virtual_sm_of(header.ei_osabi, header.e_flags)
        return
    notes = facts.sections[".note.nv.tkinfo"].body.notes[0].descriptor
    builder.tool = Tool(
        notes.tool_name, notes.tool_version, notes.tool_branch, notes.arguments, notes.object_file
    )
    builder.virtual_sm = facts.sections[".note.nv.cuinfo"].body.notes[0].descriptor.virtual_sm


def _function(facts: _Facts, symbol: Symbol, text: Section) -> Function:
    name = symbol.name
    kernel = bool(symbol.st_other & STO_ENTRY)
    function = Function(name, text.body.data, kernel, facts.keyed("REGCOUNT", name) or 0)
    if text.name.startswith(".nv.uft.rel."):
        function.stub_of = name.removeprefix(STUB)
    function.unified = facts.unified(name, ".nv.uft.entry")
    code = text.name
    function.binding = _BINDING[symbol.st_info >> 4]
    function.frame = facts.keyed("FRAME_SIZE", name) or 0
    function.stack = facts.keyed("MIN_STACK_SIZE", name) or 0
    function.stack_limit = facts.keyed("MAX_STACK_SIZE", name) or 0
    every = facts.records(f".nv.info.{name}")
    records = _own_records(facts, every)
    if facts.for_debugger and facts.is_final and not facts.goal.family.finalizer:
        function.registers = text.registers
    by_code = {record[1]: record for record in records}

    def of(attribute: str) -> tuple[int, int, int, bytes] | None:
        return by_code.get(CODE[f"EIATTR_{attribute}"])

    if found := of("NUM_BARRIERS"):
        function.barriers = found[2]
    function.barriers = (
        function.barriers or (text.sh_flags & SHF_BARRIERS_MASK) >> SHF_BARRIERS_SHIFT
    )
    if found := of("MAXREG_COUNT"):
        function.max_registers = found[2]
    if found := {record[1]: record for record in every}.get(CODE["EIATTR_EXTERNS"]):
        numbers = unpack(f"<{len(found[3]) // 4}I", found[3])
        function.externs = _own_externs(facts, name, list(numbers))
    if found := of("EXIT_INSTR_OFFSETS"):
        function.exit_offsets = list(unpack(f"<{len(found[3]) // 4}I", found[3]))
    if found := of("MAX_THREADS"):
        function.max_threads = unpack("<III", found[3])
    if found := of("REQNTID"):
        function.required_threads = unpack("<III", found[3])
    function.attributes = [record for record in records if record[1] not in _COMPUTED]
    function.parameters = [
        _parameter(facts, record)
        for record in reversed(records)
        if record[1] in (CODE["EIATTR_KPARAM_INFO"], CODE["EIATTR_KPARAM_INFO_V2"])
    ]
    shared = facts.sections.get(f".nv.shared.{name}")
    if shared is not None:
        function.shared = shared.body.size
        is_final = not (facts.relocatable or facts.extensible)
        reserved = facts.goal.family.reserved_shared if is_final else 0
        function.shared -= reserved
        function.shared_align = shared.sh_addralign
        tables = facts.made_as(f".rel{code}", f".rela{code}")
        is_used = not facts.relocatable and tables and not facts.keeps_relocations
        function.shared_variables = [
            SharedVariable(
                part.name,
                part.st_value - reserved,
                part.st_size,
                0 if is_used and facts.places.get(id(part), tables[0]) < tables[0] else None,
                _BINDING[part.st_info >> 4],
            )
            for part in facts.within.get(id(shared), ())
            if id(part) not in facts.moved
        ] + [
            SharedVariable(name, 0, 0)
            for name in facts.dropped_symbols(name)
            if name[0] == "$" and "$BINDLESS$" not in name
        ]
    constants = facts.sections.get(f".nv.constant2.{name}")
    for one in () if facts.relocatable else facts.dropped_symbols(name):
        if one == "__ocg_const" or one.startswith(f"{name}.const_opt."):
            function.constants_symbol = one
    if constants is not None:
        function.constants = constants.body.data
        function.constants_align = constants.sh_addralign
        for part in facts.within.get(id(constants), ()):
            if part.st_value:
                function.constants_parts[part.name] = (part.st_value, part.st_size)
            else:
                function.constants_symbol = part.name
                function.constants_own = part.st_size
        function.constants_relocations = facts.relocations(
            f".rel.nv.constant2.{name}", f".rela.nv.constant2.{name}"
        )
        function.constants_resolved = (
            f".rela.nv.constant2.{name}" in facts.sections
            or facts.had_relocations(constants)
            or f".rela.nv.constant2.{name}" in facts.dropped
        )
    rows = [facts.named[one][0] for one in (f".rel{code}", f".rela{code}") if one in facts.named]
    if constants is not None and rows:
        function.constants_last = facts.named[constants.name][0] > max(rows)
        function.constants_first = facts.named[constants.name][0] < min(rows)
    made_as = mercury_name(f".nv.constant2.{name}")
    table = facts.made_as(f".rela.nv.constant2.{name}", f".rela{made_as}")
    is_early = table and table[0] < facts.named[".debug_frame"][0]
    is_elsewhere = constants is None and f".nv.resolvedrela{made_as}" in facts.dropped
    function.jump_tables = facts.goal.family.finalizer and bool(is_early or is_elsewhere)
    if not rows:
        rows = facts.made_as(f".nv.constant0.{name}")
    function.mentioned = _mentioned(facts, code, min(rows, default=0))
    bank = f".nv.constant0.{name}"
    if bank in facts.sections and not facts.relocatable:
        rows = facts.relocations(f".rel{bank}", f".rela{bank}")
        if facts.goal.family.finalizer or facts.keeps_relocations or facts.for_debugger:
            # all kernels have the indices at one place
            start = facts.indices_start
        else:
            start = min((row.offset for row in rows), default=0)
        function.images = [ImageSlot(row.symbol, row.offset - start) for row in rows]
        if not rows and (facts.keeps_relocations or facts.for_debugger):
            # parameters of one name are filled in once
            named = {part.name for part in function.parameters if part.image}
            function.images = [
                ImageSlot(name, offset - start)
                for name, offset in facts.indices.items()
                if name in named
            ]
    function.relocations = facts.code_relocations(code)
    if facts.keeps_relocations or facts.for_debugger:
        _add_unknown(facts, function)
    _add_order(facts, function)
    is_finalized = facts.goal.family.finalizer
    is_dropped = not kernel and not is_finalized and f".rel{code}" in facts.dropped
    function.resolved = f".rela{code}" in facts.sections or (is_dropped and not facts.relocatable)
    if not facts.relocatable:
        names = (f".rel{code}", f".rela{code}")
        made = [facts.file.history[at].name for at in facts.made_as(*names)]
        if all(one in facts.dropped for one in made):
            function.resolved_sections = [one.removesuffix(code) for one in made]
    function.inner = [
        Inner(
            part.name,
            part.st_value,
            part.st_size,
            _BINDING[part.st_info >> 4],
            facts.keyed("FRAME_SIZE", part.name),
            _place(facts.mercury.get(part.name)),
            facts.keyed("FRAME_SIZE", part.name, ".nv.merc.nv.info") or 0,
            facts.keyed("MIN_STACK_SIZE", part.name) or 0,
        )
        for part in facts.within[id(text)]
        if part is not symbol and part.st_info & 15 == STT_FUNC
        if part.st_size or not facts.has_aliases
    ]
    # the records of what was made first stand last
    function.inner.sort(key=lambda part: -facts.framed.get(part.name, 0))
    capsule = facts.sections.get(f".nv.capmerc{code}")
    if capsule is not None:
        own = {record[1]: record for record in facts.records(f".nv.merc.nv.info.{name}")}
        function.capsule = Capsule(
            capsule.body.data,
            facts.mercury[name].st_size,
            [
                record
                for kind, record in own.items()
                if record not in every
                and kind
                not in (
                    CODE["EIATTR_KPARAM_INFO"],
                    CODE["EIATTR_KPARAM_INFO_V2"],
                    CODE["EIATTR_EXTERNS"],
                )
            ],
            facts.relocations(f".nv.merc.rela{code}"),
            _bytes(facts, f".nv.merc.nv.constant.optimizer.{name}"),
            facts.relocations(f".nv.merc.rela.nv.constant.optimizer.{name}"),
        )
    return function


def _own_records(
    facts: _Facts, records: list[bodies.AttributeRecord]
) -> list[bodies.AttributeRecord]:
    """Attributes without those that a kernel of a program for debuggers has of its callees.

    These stand behind its own, so that they break the order.
    """
    if not (facts.for_debugger and facts.is_final):
        return records
    found: list[bodies.AttributeRecord] = []
    last = 0
    for record in records:
        rank = attributes.rank(record[1], finalizer=facts.goal.family.finalizer)
        if rank >= last or record[1] not in _INHERITED:
            found.append(record)
            last = max(rank, last)
    return found


def _own_externs(facts: _Facts, function: str, numbers: list[int]) -> list[str]:
    """Functions elsewhere that code calls itself; those of callees are computed."""
    if not (facts.for_debugger and facts.is_final):
        return [facts.name(number) for number in numbers]
    own = facts.called(function)
    return [facts.name(number) for number in numbers if facts.name(number) in own]


def _mentioned(facts: _Facts, code: str, end: int) -> list[str]:
    """What a function names in front of its relocations: helpers, and inner functions before."""
    made = takewhile(lambda one: facts.places[id(one)] < end, facts.made_in(code))
    names = [one.name for one in made if isinstance(one, Symbol)]
    helpers = [name for name in names if name.startswith(("__cuda_sm", "$ADDRESS$__U"))]
    asked = [one.name for one in facts.made_in(code) if one.name == ".nv.ptx.const0.size"]
    asked = [name for name in asked if name in facts.dropped]
    inner = {one.name for one in facts.within[id(facts.sections[code])]}
    before = names[: names.index(helpers[-1])] if helpers else []
    return asked + [name for name in names if name in helpers or (name in before and name in inner)]


def _place(symbol: MercurySymbol | None) -> tuple[int, int]:
    return (0, 0) if symbol is None else (symbol.st_value, symbol.st_size)


def _add_unknown(facts: _Facts, function: Function) -> None:
    """Add relocations that the file shows by names alone: of images, of memory of dynamic size."""
    if facts.relocatable or (facts.for_debugger and not function.images):
        return
    names = [f"{prefix}{function.section}" for prefix in (".rel", ".rela")]
    places = facts.made_as(*names)
    made = [facts.file.history[at] for at in places]
    rows = function.relocations
    are_dropped = facts.dropped.issuperset(names) and facts.goal.family.finalizer
    if are_dropped and not (rows or function.images):
        return  # their names say it
    if made and not rows:
        entries = [
            one
            for one in facts.file.history[facts.named[function.section][0] : places[-1] + 1]
            if one in made or (isinstance(one, Symbol) and one.st_info in IMAGE_TYPES)
        ]
        has_addend = made[0].name == names[1]
        for at, one in enumerate(entries):
            if isinstance(one, Symbol):
                rows.append(Relocation(at, 0, one.name, 1 if has_addend else None, True))
            else:
                has_addend = one.name == names[1]
                has_images = names[1] in facts.dropped and function.images
                image = function.images[0].image if has_images else ""
                rows.append(Relocation(at, 0, image, 1 if has_addend else None, True))
        return
    images = [
        one.name
        for one in facts.within[id(facts.sections[function.section])]
        if one.st_info in IMAGE_TYPES
    ]
    if rows and images != [part.name for part in function.parameters if part.image]:
        rows += [Relocation(rows[-1].offset, 0, name, None, True) for name in images]
    have = {row.addend is not None for row in rows}
    for at, entry in enumerate(made):
        has_addend = entry.name == names[1]
        if has_addend not in have and not facts.goal.family.finalizer:
            end = 0 if not at else len(function.code) - 1
            rows.insert(end and len(rows), Relocation(end, 0, "", 1 if has_addend else None, True))


def _add_order(facts: _Facts, function: Function) -> None:
    """Add applied relocations in front, where names show an order that those left do not give."""
    prefixes = {f"{prefix}{function.section}": prefix for prefix in (".rel", ".rela")}
    names = {row.symbol for row in function.relocations}
    names |= {variable.name for variable in function.shared_variables}
    events: list[str] = []
    for entry in facts.made_in(function.section):
        if entry.name in prefixes:
            events.append(prefixes[entry.name])
        elif isinstance(entry, Symbol) and entry.st_info >> 4 == 1:
            continue  # global ones show no order: files with notes have them behind all others
        elif isinstance(entry, Symbol) and entry.name in names and entry.name not in events:
            events.append(entry.name)
    if events == _natural_order(facts, function, events):
        return
    rows: list[Relocation] = []
    waiting: list[str] = []
    for event in events:
        if event not in (".rel", ".rela"):
            waiting.append(event)
            continue
        addend = 1 if event == ".rela" else None
        rows += [Relocation(0, 0, name, addend, True) for name in waiting or [""]]
        waiting = []
    last = rows[-1].addend if rows else None
    rows += [Relocation(0, 0, name, last, True) for name in waiting]
    function.relocations[:0] = rows


def _natural_order(facts: _Facts, function: Function, events: list[str]) -> list[str]:
    found: list[str] = []
    for row in function.relocations:
        prefix = ".rel" if not row.addend else ".rela"
        found += [name for name in (row.symbol, prefix) if name in events and name not in found]
    if facts.goal.family.finalizer and found and ".rela" in events and ".rela" not in found:
        found.append(".rela")
    rest = [name for name in events if name not in found]
    if facts.goal.family.finalizer:
        rest.sort(key=lambda name: (name in (".rel", ".rela")) == facts.relocatable)
    return found + rest


def _bytes(facts: _Facts, section: str) -> bytes | None:
    found = facts.sections.get(section)
    return None if found is None else found.body.data


def _reserved_cap(facts: _Facts, builder: CubinBuilder) -> None:
    """Which function first asks for it; on sm_90 an unnamed symbol is left of that."""
    functions = {function.name: function for function in builder.functions}
    current = None
    for entry in facts.file.history:
        if isinstance(entry, Section) and entry.name.startswith(".text."):
            current = functions[entry.name.removeprefix(".text.")]
        elif isinstance(entry, Symbol) and current is not None:
            unnamed = not entry.name and entry.st_other == 1
            current.reserved_cap |= unnamed or entry.name == ".nv.reservedSmem.cap"


def _parameter(facts: _Facts, record: tuple[int, int, int, bytes]) -> Parameter:
    _, code, _, payload = record
    index, _, offset, bits = unpack("<IHHI", payload)
    if code == CODE["EIATTR_KPARAM_INFO_V2"]:
        return Parameter(bits & 0xFFFF, None, offset, bits >> 16 & 0xFF, bits >> 24 & 15)
    if image := IMAGE_SPACES.get(bits >> 8 & 15):
        return Parameter(0, image=image, name=facts.name(index))
    return Parameter(
        bits >> 18, None, offset, bits & 0xFF, bits >> 8 & 15, bits >> 12 & 31, bool(bits >> 17 & 1)
    )


def _variables(facts: _Facts, builder: CubinBuilder) -> None:
    spaces = {
        ".nv.global": "global",
        ".nv.global.init": "global",
        ".nv.udt": "global",
        ".nv.constant3": "constant",
        ".nv_debug.shared": "shared",
    }
    relocations = {name: facts.relocations(f".rel{name}", f".rela{name}") for name in spaces}
    bank = facts.sections.get(".nv.constant4")
    has_names = facts.relocatable or facts.keeps_relocations
    if bank is not None and has_names:
        spaces[".nv.constant4"] = "address"
        relocations[".nv.constant4"] = facts.relocations(".rel.nv.constant4", ".rela.nv.constant4")
        bank = None
    undefined = _undefined(facts)
    declared = _by_contents(facts, _declared(facts, spaces))
    for part in _in_order(facts, declared, relocations):
        _add_undefined(facts, builder, undefined, facts.symbol_places[id(part)])
        if bank is not None and facts.is_made_before(bank, part.section):
            _bank(facts, builder, bank)
            bank = None
        if part.st_info & 15 in IMAGE_TYPES:
            builder.variables.append(Variable(part.name, IMAGE_TYPES[part.st_info & 15]))
            continue
        if not isinstance(part.section, Section):
            common = builder.variable(part.name, "global", size=part.st_size, align=part.st_value)
            common.common = True
            continue
        section = part.section
        if id(part) in facts.moved or (section.name == ".nv_debug.shared" and facts.is_final):
            variable = builder.variable(
                part.name, "shared", size=part.st_size, align=section.sh_addralign
            )
            is_local = part.st_info >> 4 == 0 and id(part) not in facts.moved
            variable.owner = facts.made_by(part) if is_local else ""
            reserved = facts.goal.family.reserved_shared if facts.is_final else 0
            variable.offset = part.st_value - reserved
            variable.binding = _BINDING[part.st_info >> 4]
            if id(part) in facts.moved:
                variable.function = section.name.removeprefix(".nv.shared.")
            continue
        start, end = part.st_value, part.st_value + part.st_size
        is_owned = section.name == ".nv_debug.shared" and part.st_info >> 4 == 0
        owner = facts.made_by(part) if is_owned else ""
        data = None if isinstance(section.body, bodies.NoBytes) else section.body.data[start:end]
        variable = builder.variable(
            part.name, spaces[section.name], data, size=part.st_size, align=section.sh_addralign
        )
        variable.offset = start
        variable.owner = owner
        variable.binding = _BINDING[part.st_info >> 4]
        variable.resolved = facts.had_relocations(section)
        made_as = mercury_name(section.name) or section.name
        made_as = made_as if facts.goal.family.finalizer else section.name
        names = [] if facts.relocatable else facts.dropped
        left = [one for one in (".rel", ".rela") if f"{one}{made_as}" in names]
        if left == [".rela"] and not relocations[section.name]:
            variable.resolved, variable.resolved_sections = True, left
        if variable.resolved and start == 0 and not variable.resolved_sections:
            variable.function_ids = facts.function_ids(section)
        twin = _bytes(facts, f".nv.merc{made_as}")
        has_twin = f".nv.merc.rela{made_as}" in facts.sections
        is_kept = any(not row.applied for row in relocations[section.name])
        if variable.resolved and has_twin and twin is not None and not is_kept:
            variable.mercury = twin[start:end]
            variable.mercury_relocations = [
                replace(row, offset=row.offset - start)
                for row in facts.relocations(f".nv.merc.rela{made_as}")
                if start <= row.offset < end
            ]
        if section.name == ".nv.udt":
            variable.unified = facts.unified(part.name, ".nv.udt.entry")
        variable.managed = bool(part.st_other & 0x04)
        variable.relocations = [
            Relocation(row.offset - start, row.kind, row.symbol, row.addend, row.applied)
            for row in relocations[section.name]
            if start <= row.offset < end
        ]
    if bank is not None:
        _bank(facts, builder, bank)
    _dynamic_shared(facts, builder)
    _unnamed_shared(facts, builder)
    shared = facts.sections.get(".nv_debug.shared")
    if (
        shared is not None
        and facts.is_final
        and not any(part.section is shared for part in facts.symbols)
        and all(one.space != "shared" or one.function for one in builder.variables)
    ):
        # a variable of dynamic size, which has no symbol
        builder.variable(".dynamic", "shared", align=shared.sh_addralign)
    _add_undefined(facts, builder, undefined, len(facts.symbols))


def _dynamic_shared(facts: _Facts, builder: CubinBuilder) -> None:
    """Add the shared variables of dynamic size of which only the names are left."""
    shared = facts.sections.get(".nv_debug.shared")
    if shared is None or not facts.keeps_relocations:
        return
    known = {variable.name for variable in builder.variables}
    entries = facts.file.symbols
    for at, entry in enumerate(entries):
        if not isinstance(entry, Dropped):
            continue
        later = [one.name for one in entries[at:] if one.name in known]
        builder.variable(entry.name, "shared", align=shared.sh_addralign)
        if later:
            names = [variable.name for variable in builder.variables]
            builder.variables.insert(names.index(later[0]), builder.variables.pop())


def _unnamed_shared(facts: _Facts, builder: CubinBuilder) -> None:
    """Add the module's shared variables of which files of older toolkits have only names.

    Files for debuggers show neither in which kernel each stands nor how large it is; others have
    only those of dynamic size.
    """
    made = facts.made_as(".nv_debug.shared")
    if facts.relocatable or builder.address_size == 64 or not made:
        return
    kernels = [one.name for one in builder.functions if one.shared is not None]
    align = getattr(facts.file.history[made[0]], "sh_addralign", 4)
    known = {variable.name for variable in builder.variables}
    of_function = (".text.", ".nv.info.", ".rel", ".nv.constant0.", ".nv.constant2.")
    behind = facts.file.history[made[0] :]
    names = list(takewhile(lambda one: not one.name.startswith(of_function), behind))
    for at, entry in enumerate(names):
        if isinstance(entry, Dropped) and not entry.in_shstrtab and entry.name:
            variable = builder.variable(entry.name, "shared", align=align)
            variable.function = kernels[0] if facts.for_debugger else ""
            later = [one.name for one in names[at:] if one.name in known]
            if later:
                order = [one.name for one in builder.variables]
                builder.variables.insert(order.index(later[0]), builder.variables.pop())


def _undefined(facts: _Facts) -> list[Symbol]:
    return [
        symbol
        for symbol in facts.symbols
        if symbol.section == 0
        and (symbol.st_info >> 4 == 1 or symbol.name[:1] == "$" or _is_weak_function(symbol))
        and symbol.st_info & 15 not in IMAGE_TYPES
    ]


def _is_weak_function(symbol: Symbol) -> bool:
    return symbol.st_info == packing.symbol_info(BINDINGS["weak"], STT_FUNC)


def _add_undefined(
    facts: _Facts, builder: CubinBuilder, undefined: list[Symbol], before: int
) -> None:
    """Name what the file does not define, as far as it stands in front of a symbol."""
    while undefined and facts.symbol_places[id(undefined[0])] < before:
        symbol = undefined.pop(0)
        space = {0x20: "global", 0x40: "shared", 0x80: "constant"}.get(symbol.st_other & 0xE0)
        if symbol.st_info >> 4 == 0:
            builder.label(symbol.name)
        elif space is None:
            binding = _BINDING[symbol.st_info >> 4]
            signature = _signatures(facts).get(symbol.name)
            builder.extern(symbol.name, signature=signature, binding=binding)
        else:
            managed = bool(symbol.st_other & 0x04)
            builder.extern_variable(symbol.name, space, size=symbol.st_size, managed=managed)


def _bank(facts: _Facts, builder: CubinBuilder, bank: Section) -> None:
    rows = facts.relocations(".rel.nv.constant4", ".rela.nv.constant4")
    texts = [
        section.name.removeprefix(".text.")
        for section in facts.file.history
        if section.name.startswith(".text.") and facts.is_made_before(section, bank)
    ]
    function = texts[-1] if len(texts) > 1 else ""
    data, align = bank.body.data, bank.sh_addralign
    builder.bank(4, data, align=align, relocations=rows, function=function)


def _debug(facts: _Facts, builder: CubinBuilder) -> None:
    names = [getattr(entry, "name", "") for entry in facts.file.history]
    for name in names:
        if not name.startswith((".debug_", ".nv_debug_")) or name not in facts.sections:
            continue
        if name in (".debug_frame", ".nv_debug.shared"):
            continue
        rows = facts.relocations(f".rel{name}", f".rela{name}")
        if f".rel{name}" not in names:
            for row in rows:
                row.addend = row.addend or 0
        both = [one for one in names if one in (f".rel{name}", f".rela{name}")]
        is_finalized = facts.goal.family.finalizer
        section = builder.debug_section(name, facts.sections[name].body.data, relocations=rows)
        section.names_strings = both[:1] == [f".rela{name}"] and (is_finalized or len(both) > 1)
        section.resolved = f".rel{name}" in names and all(row.addend is not None for row in rows)
        section.mercury = _bytes(facts, f".nv.merc{name}")
        section.mercury_relocations = facts.relocations(f".nv.merc.rela{name}")
        named = {row.symbol for row in rows}
        if f".rela{name}" in names and not facts.relocatable:
            # labels stand behind the relocations that named them
            behind = names[names.index(f".rela{name}") + 1 :]
            labels = takewhile(lambda one: one.startswith("$"), behind)
            section.labels = [one for one in labels if one not in named]


def _samplers(facts: _Facts, builder: CubinBuilder) -> None:
    for _, code, _, payload in reversed(facts.records(".nv.info")):
        if code == CODE["EIATTR_SAMPLER_INIT"]:
            index, *modes, filter_mode = unpack("<I4B", payload)
            builder.samplers.append(Sampler(facts.name(index), tuple(modes), filter_mode))
        elif code == CODE["EIATTR_SAMPLER_FORCE_UNNORMALIZED"]:
            builder.samplers[-1].unnormalized = True
        elif code == CODE["EIATTR_TEXMODE_INDEPENDENT"]:
            builder.independent_samplers = True


def _by_contents(facts: _Facts, declared: list[Symbol]) -> list[Symbol]:
    """With initial contents in the order that their relocations show: the last one first."""
    rows = facts.relocations(".rel.nv.global.init") or facts.relocations(".rela.nv.global.init")
    if {".rel.nv.global.init", ".rela.nv.global.init"} <= facts.sections.keys():
        return declared
    found: list[Symbol] = []
    for row in reversed(rows):
        for one in declared:
            is_here = 0 <= row.offset - one.st_value < one.st_size
            if is_here and one not in found and _section_name(one) == ".nv.global.init":
                found.append(one)
    known = iter(found)
    return [next(known) if one in found else one for one in declared]


def _section_name(symbol: Symbol) -> str:
    return symbol.section.name if isinstance(symbol.section, Section) else ""


def _in_order(
    facts: _Facts, declared: list[Symbol], relocations: dict[str, list[Relocation]]
) -> list[Symbol]:
    """With constants of addresses in the order of their relocations, each behind what it names."""
    rows = relocations.get(".nv.constant4")
    if rows is None:
        return declared
    named = {one.name: one for one in declared}
    ordered: list[Symbol] = []
    for row in rows:
        target = named.get(row.symbol)
        ordered += [] if target is None else [target]
        ordered.append(named[f"$ADDRESS${row.symbol}"])
    before: dict[bool, Symbol] = {}
    bank = next((one.section for one in ordered), None)
    for one in declared:
        # only global ones stand in their order
        is_global = one.st_info >> 4 == 1
        if one not in ordered:
            at = 0
            if is_global in before:
                at = ordered.index(before[is_global]) + 1
            elif isinstance(bank, Section) and facts.is_made_before(bank, one.section):
                at = len(ordered)
            ordered.insert(at, one)
        before[False] = named.get(f"$ADDRESS${one.name}", one)
        if is_global:
            before[True] = before[False]
    return ordered


def _declared(facts: _Facts, spaces: dict[str, str]) -> list[Symbol]:
    """Variables in the order in which they were declared, as far as the file shows it.

    Global ones stand in that order; of others only the sections made before them are known.
    """

    def is_variable(entry: object) -> bool:
        if not isinstance(entry, Symbol):
            return False
        if isinstance(entry.section, Section):
            return entry.section.name in spaces or id(entry) in facts.moved
        if entry.st_info & 15 in IMAGE_TYPES:
            return True
        return entry.section == SHN_COMMON

    declared = [symbol for symbol in facts.file.symbols if is_variable(symbol)]
    before: set[int] = set()
    has_shared = False
    for entry in facts.file.history:
        if isinstance(entry, Section):
            before.add(id(entry))
        has_shared |= entry.name == ".nv_debug.shared"
        if is_variable(entry):
            later = (
                at
                for at, other in enumerate(declared)
                if isinstance(other.section, Section)
                and id(other.section) not in before
                and not (has_shared and id(other) in facts.moved)
            )
            declared.insert(next(later, len(declared)), entry)
    return declared


def _signatures(facts: _Facts) -> dict[str, str]:
    prototypes = facts.sections.get(".nv.prototype")
    rows = prototypes.body.rows if prototypes is not None else []
    return {facts.name(a): b for a, b in rows}


def _call_graph(facts: _Facts, builder: CubinBuilder) -> None:
    kind = -1
    signatures = _signatures(facts)
    graph = facts.sections.get(".nv.callgraph")
    for a, b in graph.body.rows if graph is not None else ():
        if a == 0 and b in bodies.CALLGRAPH_MARKERS:
            kind = bodies.CALLGRAPH_MARKERS.index(b)
            continue
        builder.edges.append((kind, facts.name(a), facts.name(b) if isinstance(b, int) else b))
        if kind == 1:
            signatures[facts.name(a)] = b
    for function in builder.functions:
        function.signature = signatures.get(function.name)
