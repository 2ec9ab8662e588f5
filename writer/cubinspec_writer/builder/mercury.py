"""The Mercury half of a file of sm_100 and up.

It repeats the plain half: attributes without what only SASS needs, data sections (whose bytes are
shared), relocations of type 0x10000 and up, and a symbol table with the numbers of ``.symtab``. The
capsules themselves are given by the caller.
"""

from __future__ import annotations

from dataclasses import replace
from struct import pack

from cubinspec.errors import BadStructureError
from cubinspec.format.sections import mercury_name
from cubinspec_generated.codes import (
    SHT_CUDA_CAPMERC,
    SHT_CUDA_MERC_INFO,
    SHT_CUDA_MERC_RELA,
    SHT_CUDA_MERC_SYMTAB,
)
from cubinspec_generated.tables import relocations as relocation_table
from cubinspec_writer.builder import attributes
from cubinspec_writer.builder.attributes import code_of
from cubinspec_writer.builder.frames import default_frame
from cubinspec_writer.builder.records import function_records, module_rows
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.layout import Planner
from cubinspec_writer.emitter.model import Section, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.builder.assembly import Assembly
    from cubinspec_writer.builder.parts import Function, Relocation
    from cubinspec_writer.emitter.bodies import AttributeRecord
    from cubinspec_writer.emitter.model import Body, Description

SHF_MERCURY, SHF_INFO_LINK = 0x10000000, 0x40
#: Types of data sections; those not listed are PROGBITS in executables, CUDA types otherwise.
_DATA_TYPES = {
    ".nv.constant.user": 0x7000007C,
    ".nv.constant.pic": 0x7000007D,
    ".nv.global.init": 0x70000008,
}
SHT_CONSTANT_OPTIMIZER, SHT_RESERVED_SHARED, SHT_PROGBITS = 0x70000084, 0x70000015, 1
_SPACES = {".nv.global.init": 0x20, ".nv.global": 0x20, ".nv.constant3": 0x80}
STT_OBJECT, STT_SECTION, STT_CUDA_OBJECT = 1, 3, 13
_TEXT, _OPTIMIZER = ".nv.capmerc.text.", ".nv.constant.optimizer."


class Mercury:
    """Makes the Mercury sections of an assembly."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.made: dict[str, Section] = {}
        self.placed: list[tuple[Section, list[Relocation]]] = []
        self.symtab: Section | None = None

    def _section(
        self,
        name: str,
        kind: int,
        body: Body,
        flags: int = 0,
        align: int = 1,
        entry: int = 0,
    ) -> Section:
        section = Section(
            name, kind, body, SHF_MERCURY | flags, sh_addralign=align, sh_entsize=entry
        )
        self.made[name] = section
        return section

    def sections(self) -> list[Section]:
        """All Mercury sections in the order in which they are made."""
        assembly = self.assembly
        functions = assembly.parts.functions
        for function in functions:
            text = assembly.by_name[f".text.{function.name}"]
            assert isinstance(text, Section)
            assert function.capsule is not None
            body = bodies.Capsule(text, function.capsule.data)
            self._section(_TEXT + function.name, SHT_CUDA_CAPMERC, body, align=16)
        frame = assembly.parts.mercury_frame or default_frame(
            functions, relocatable=assembly.relocatable, mercury=True
        )
        self._section(".nv.merc.debug_frame", SHT_PROGBITS, bodies.Blob(frame.data))
        info = bodies.InfoRecords(self._module_records())
        self._section(".nv.merc.nv.info", SHT_CUDA_MERC_INFO, info, align=4)
        for function in functions:
            self._section(
                f".nv.merc.nv.info.{function.name}",
                SHT_CUDA_MERC_INFO,
                bodies.InfoRecords(self._records(function)),
                SHF_INFO_LINK,
                4,
            )
        for function in functions:
            assert function.capsule is not None
            self._relocations(f".text.{function.name}", function.capsule.relocations)
        given = {
            f".nv.constant2.{function.name}": function.capsule.constants_relocations
            for function in functions
            if function.capsule is not None
        }
        for section, rows in assembly.data_sections:
            twins = given.get(section.name)
            if twins is None:
                twins = [replace(row, kind=_mercury_kind(row.kind)) for row in rows]
            self._relocations(mercury_name(section.name) or section.name, twins)
        self._relocations(".debug_frame", frame.relocations)
        self._data()
        table = bodies.MercurySymbols([])
        self.symtab = self._section(
            ".nv.merc.symtab", SHT_CUDA_MERC_SYMTAB, table, align=8, entry=24
        )
        return list(self.made.values())

    def _relocations(self, of: str, rows: list[Relocation]) -> None:
        if not rows:
            return
        body = bodies.Relocations(True, (0,) * (3 * len(rows)))
        section = self._section(
            f".nv.merc.rela{of}", SHT_CUDA_MERC_RELA, body, SHF_INFO_LINK, 8, 24
        )
        self.placed.append((section, rows))

    def _data(self) -> None:
        # constants first, as in the index order of the plain half
        for section, _ in sorted(
            self.assembly.data_sections, key=lambda data: data[0].name == ".nv.global.init"
        ):
            name = mercury_name(section.name) or section.name
            kind = _DATA_TYPES.get(name)
            data = None
            if name.startswith(_OPTIMIZER):
                kind = SHT_CONSTANT_OPTIMIZER
                capsule = self.assembly.functions[name.removeprefix(_OPTIMIZER)].capsule
                data = None if capsule is None else capsule.constants
            if kind is None or not isinstance(section.body, bodies.Blob):
                continue
            body = bodies.Blob(section.body.data if data is None else data)
            self._section(".nv.merc" + name, kind, body, section.sh_flags, section.sh_addralign)
        reserved = self.assembly.by_name.get(".nv.shared.reserved.0")
        if isinstance(reserved, Section):
            name = ".nv.merc.nv.shared.reserved.0"
            self._section(name, SHT_RESERVED_SHARED, bodies.Blob(b""), reserved.sh_flags)

    def _records(self, function: Function) -> list[AttributeRecord]:
        assert function.capsule is not None
        own = function.capsule.attributes
        replaced = {record[1] for record in own} | attributes.SASS_ONLY
        records = [
            record
            for record in function_records(self.assembly.parts, self.assembly.target, function)
            if record[1] not in replaced
        ]
        records += own
        records.sort(key=lambda record: attributes.rank(record[1], finalizer=True))
        return records

    def _module_records(self) -> list[AttributeRecord]:
        return [
            attributes.sized(code, pack("<II", 0, value)) for code, _, value in self._module_rows()
        ]

    def _module_rows(self) -> list[tuple[int, str, int]]:
        frames = {
            part.name: part.mercury_frame for f in self.assembly.parts.functions for part in f.inner
        }
        return [
            (
                code_of(name),
                function,
                frames.get(function, value) if name == "FRAME_SIZE" else value,
            )
            for name, function, value in module_rows(self.assembly.parts)
        ]

    # -- numbers ---------------------------------------------------------------------------------

    def resolve(self, description: Description) -> None:
        """Fill in symbols and everything that refers to them."""
        assembly = self.assembly
        planner = Planner(description)
        planner.number_symbols()
        late = {id(section) for section in assembly.late}
        table = self.symtab.body if self.symtab is not None else None
        assert isinstance(table, bodies.MercurySymbols)
        table.symbols = [
            self._section_symbol(entry) if isinstance(entry, Section) else self._symbol(entry)
            for entry in planner.symbol_entries
            if entry is not None and id(entry) not in late
        ]
        self.made[".nv.merc.nv.info"].body = bodies.InfoRecords(
            [
                attributes.sized(code, pack("<II", assembly.index(function), value))
                for code, function, value in self._module_rows()
            ]
        )
        for section, rows in self.placed:
            section.body = bodies.Relocations.from_rows(
                assembly.relocation_rows(rows, rela=True), True
            )

    def _twin(self, section: Section) -> Section:
        name = mercury_name(section.name) or section.name
        if name.startswith(".text."):
            return self.made[_TEXT + name.removeprefix(".text.")]
        return self.made.get(".nv.merc" + name, section)

    def _section_symbol(self, section: Section) -> bodies.MercurySymbol:
        name = mercury_name(section.name) or section.name
        return bodies.MercurySymbol(name, STT_SECTION, 0, self._twin(section), 0, 0)

    def _symbol(self, symbol: Symbol) -> bodies.MercurySymbol:
        value, size, info, other = symbol.st_value, symbol.st_size, symbol.st_info, symbol.st_other
        section = symbol.section
        function = self.assembly.functions.get(symbol.name)
        if function is not None and function.capsule is not None:
            size = function.capsule.size
        for owner in self.assembly.parts.functions:
            for part in owner.inner:
                if part.name == symbol.name:
                    value, size = part.mercury
        if isinstance(section, Section):
            # executables keep the space of data in this half
            if info & 0xF == STT_OBJECT:
                info = info & 0xF0 | STT_CUDA_OBJECT
                other |= _SPACES.get(section.name, 0)
            if section.name == ".nv.shared.reserved.0":
                value = 0
            section = self._twin(section)
        elif symbol.name.startswith(".nv.reservedSmem."):
            value = 0
        return bodies.MercurySymbol(symbol.name, info, other, section, value, size)


_KINDS = {name: number for number, name in relocation_table.NAMES.items()}


def _mercury_kind(kind: str | int) -> int:
    """The type with the same effect in Mercury relocation sections."""
    name = relocation_table.NAMES.get(kind, "") if isinstance(kind, int) else kind
    effect = name.removeprefix("R_CUDA_")
    for candidate in (f"R_MERCURY_{effect}", f"R_MERCURY_ABS{effect}"):
        if candidate in _KINDS:
            return _KINDS[candidate]
    raise BadStructureError(f"relocation type {name or kind} has no Mercury form")
