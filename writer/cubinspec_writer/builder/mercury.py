"""The Mercury half of a file for sm_100 and later.

It repeats the SASS half: the attributes except those that only SASS needs, the data sections, whose
bytes both halves share, the relocations with the Mercury types, and a symbol table with the numbers
of ``.symtab``. The caller gives the capsules themselves.
"""

from __future__ import annotations

from dataclasses import replace

from cubinspec.errors import BadStructureError
from cubinspec.format.packing import symbol_info
from cubinspec.format.sections import CAPSULE_PREFIX, MERCURY_PREFIX, TEXT, UFT_REL, mercury_name
from cubinspec_generated import records
from cubinspec_generated.codes import (
    EIATTR_FRAME_SIZE,
    SHF_CUDA_MERCURY,
    SHF_INFO_LINK,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_MERC_CONSTANT_IMAGE_INDICES,
    SHT_CUDA_MERC_CONSTANT_OPTIMIZER,
    SHT_CUDA_MERC_CONSTANT_PIC,
    SHT_CUDA_MERC_CONSTANT_USER,
    SHT_CUDA_MERC_INFO,
    SHT_CUDA_MERC_RELA,
    SHT_CUDA_MERC_RESOLVED_RELA,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_RESERVED_SHARED,
    SHT_CUDA_UDT,
    SHT_PROGBITS,
    SHT_STRTAB,
    ST_BIND_SHIFT,
    ST_TYPE_MASK,
    STT_CUDA_OBJECT,
    STT_OBJECT,
    STT_SECTION,
)
from cubinspec_generated.codes_sizes import SIZEOF_RELA_64, SIZEOF_SYMBOL_64
from cubinspec_generated.tables import relocations as relocation_table
from cubinspec_writer.builder import attributes
from cubinspec_writer.builder.assembly import RELOCATION_TYPES
from cubinspec_writer.builder.attributes import record_code
from cubinspec_writer.builder.data import (
    RESERVED_SECTION,
    RESERVED_SPACE,
    reserved_places,
    unified_rows,
)
from cubinspec_writer.builder.frames import default_frame
from cubinspec_writer.builder.functions import IMAGE_INDICES, instance_rows
from cubinspec_writer.builder.images import index_relocations, scoped_rows, table_size
from cubinspec_writer.builder.parts import SPACES
from cubinspec_writer.builder.records import (
    function_records,
    module_records,
    module_rows,
    no_index,
    num_later_rows,
    numbered,
    with_library_record,
)
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.layout import Planner
from cubinspec_writer.emitter.model import Dropped, Section, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.builder.assembly import Assembly
    from cubinspec_writer.builder.parts import Function, Relocation
    from cubinspec_writer.emitter.bodies import AttributeRecord
    from cubinspec_writer.emitter.model import Body, Description

    #: Name of a section, and its relocations.
    _Rows = tuple[str, list[Relocation]]

#: Types of data sections; any other section of data has no Mercury twin.
_DATA_TYPES = {
    ".nv.constant.user": SHT_CUDA_MERC_CONSTANT_USER,
    ".nv.constant.pic": SHT_CUDA_MERC_CONSTANT_PIC,
    ".nv.udt": SHT_CUDA_UDT,
    ".nv.global.init": SHT_CUDA_GLOBAL_INIT,
}
#: Memory of the variables of a section, in ``st_other``.
_SPACES = {
    ".nv.global.init": SPACES["global"],
    ".nv.global": SPACES["global"],
    ".nv.constant3": SPACES["constant"],
    ".nv.constant4": SPACES["constant"],
    RESERVED_SECTION: RESERVED_SPACE,
}
#: Sections of variables with contents, which stand behind all constants.
_VARIABLES = (".nv.udt", ".nv.global.init")
_SHARED = ".nv.shared."
_MODULE_SHARED = ".nv_debug.shared"
_CONSTANTS = ".nv.constant2."
_OPTIMIZER = ".nv.constant.optimizer."
#: Bytes of a section header in front of ``sh_size``: that field is in the middle.
_UP_TO_SIZE = records.SECTION_HEADER_64.size // 2


class Mercury:
    """Makes the Mercury sections of an assembly."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.made: dict[str, Section] = {}
        self.relocated: list[tuple[Section, list[Relocation]]] = []
        self.symtab: Section | None = None

    def _section(
        self,
        name: str,
        sh_type: int,
        body: Body,
        flags: int = 0,
        align: int = 1,
        entry_size: int = 0,
    ) -> Section:
        flags |= SHF_CUDA_MERCURY
        section = Section(name, sh_type, body, flags, sh_addralign=align, sh_entsize=entry_size)
        self.made[name] = section
        return section

    def sections(self) -> list[Section]:
        """All Mercury sections in the order in which they are made."""
        assembly = self.assembly
        functions = assembly.parts.functions
        for function in functions:
            text = assembly.by_name[function.section]
            assert isinstance(text, Section)
            assert function.capsule is not None
            body = bodies.Capsule(text, function.capsule.data)
            name = CAPSULE_PREFIX + function.section
            self._section(name, SHT_CUDA_CAPMERC, body, align=16, entry_size=text.sh_entsize)
        frame = assembly.parts.mercury_frame or default_frame(
            functions, relocatable=assembly.relocatable, mercury=True
        )
        self._section(".nv.merc.debug_frame", SHT_PROGBITS, bodies.Blob(frame.data))
        for part in assembly.parts.debug:
            data = part.data if part.mercury is None else part.mercury
            self._section(".nv.merc" + part.name, SHT_PROGBITS, bodies.Blob(data))
        info = bodies.InfoRecords(self._module_records(with_numbers=False))
        self._section(".nv.merc.nv.info", SHT_CUDA_MERC_INFO, info, align=4)
        self._tables()
        given: dict[str, list[Relocation]] = {}
        for function in functions:
            assert function.capsule is not None
            rows = scoped_rows(function, function.capsule.relocations)
            self._relocations(function.section, instance_rows(function, rows))
            tables = function.capsule.constants_relocations
            given[f".nv.constant2.{function.name}"] = [] if function.jump_tables else tables
            if function.jump_tables:
                self._relocations(_OPTIMIZER + function.name, tables)
        for part in assembly.parts.debug:
            self._relocations(part.name, part.mercury_relocations)
        images, other_images = self._image_banks()
        number = assembly.num_first_data
        for name, rows in (
            *self._data_relocations(assembly.data_sections[:number], given),
            *images,
            (".debug_frame", frame.relocations),
            *self._data_relocations(assembly.data_sections[number:], given),
            *other_images,
        ):
            self._relocations(name, rows)
        self._data()
        table = bodies.MercurySymbols([])
        self.symtab = self._section(
            ".nv.merc.symtab", SHT_CUDA_MERC_SYMTAB, table, align=8, entry_size=SIZEOF_SYMBOL_64
        )
        return list(self.made.values())

    def _tables(self) -> None:
        """Attributes of functions and tables of unified ones, in the order of the SASS half."""
        assembly = self.assembly
        owners = {id(section): function for function, section in assembly.infos}
        for made in assembly.history:
            function_of = owners.get(id(made))
            if function_of is not None:
                self._section(
                    MERCURY_PREFIX + made.name,
                    SHT_CUDA_MERC_INFO,
                    bodies.InfoRecords(self._records(function_of)),
                    SHF_INFO_LINK,
                    4,
                )
            elif isinstance(made, Section) and made in assembly.unified:
                entries = bodies.UftEntries(unified_rows(assembly, made.name))
                name = MERCURY_PREFIX + made.name
                kind, size = made.sh_type, made.sh_entsize
                self._section(name, kind, entries, align=made.sh_addralign, entry_size=size)

    def _data_relocations(
        self, sections: list[tuple[Section, list[Relocation]]], given: dict[str, list[Relocation]]
    ) -> list[_Rows]:
        """Relocations of sections of data.

        Args:
            given: name of a section -> what a capsule gives in place of those of the SASS half.
        """
        found: list[_Rows] = []
        for section, rows in sections:
            twins = given.get(section.name)
            if id(section) in self.assembly.mercury_contents:
                _, twins = self.assembly.mercury_contents[id(section)]
            if twins is None:
                twins = [replace(row, kind=_mercury_type(row.kind)) for row in rows]
            found.append((mercury_name(section.name) or section.name, twins))
        return found

    def _image_banks(self) -> tuple[list[_Rows], list[_Rows]]:
        """Relocations of the indices of images: of the first function, and of the others."""
        functions = self.assembly.parts.functions
        half = self.assembly.target.family.mercury_half
        assert half is not None
        found: tuple[list[_Rows], list[_Rows]] = ([], [])
        for bank in self.assembly.image_banks:
            rows = index_relocations(self.assembly, bank.function, 0, half)
            is_other = bank.function is not functions[0] or self.assembly.parts.names_shared
            if bank.relocations:
                found[is_other].append((IMAGE_INDICES + bank.function.name, rows))
        return found

    def _relocations(self, of: str, rows: list[Relocation]) -> None:
        kept = [row for row in rows if row.applied]
        for name, kind, own in (
            (f".nv.merc.rela{of}", SHT_CUDA_MERC_RELA, [row for row in rows if not row.applied]),
            (f".nv.merc.nv.resolvedrela{of}", SHT_CUDA_MERC_RESOLVED_RELA, kept),
        ):
            if own:
                body = bodies.Relocations(True, (0,) * (3 * len(own)))
                section = self._section(name, kind, body, SHF_INFO_LINK, 8, SIZEOF_RELA_64)
                self.relocated.append((section, own))

    def _data(self) -> None:
        # constants first, as in the index order of the SASS half
        sections = [section for section, _ in self.assembly.data_sections]
        for section in sections:
            if section.name not in _VARIABLES:
                self._twin_of(section)
        for bank in self.assembly.image_banks:
            self._section(
                f".nv.merc{IMAGE_INDICES}{bank.function.name}",
                SHT_CUDA_MERC_CONSTANT_IMAGE_INDICES,
                bodies.Blob(bytes(table_size(bank.function))),
                bank.section.sh_flags,
                bank.section.sh_addralign,
            )
        for made in self.assembly.history:
            if isinstance(made, Section) and made.name in _VARIABLES:
                self._twin_of(made)
        reserved = self.assembly.by_name.get(RESERVED_SECTION)
        if isinstance(reserved, Section):
            *_, size = reserved_places(self.assembly.parts.reserved, 0)
            self._section(
                f".nv.merc{RESERVED_SECTION}",
                SHT_CUDA_RESERVED_SHARED,
                bodies.Blob(self._stale_bytes(size)),
                reserved.sh_flags,
                reserved.sh_addralign,
            )

    def _stale_bytes(self, size: int) -> bytes:
        """What the finalizer takes for the contents of reserved shared memory, which has none.

        That is what follows in the file that it reads: section headers. The second one tells how
        long the names of that file are, without those of what is made late, and the third one
        where the names of symbols follow; how long these are is not known.
        """
        row = records.SECTION_HEADER_64
        known = 2 * row.size + _UP_TO_SIZE
        if size > known:
            raise BadStructureError(
                f"variables of {size} bytes in reserved shared memory",
                expected=f"at most {known}, of which the Mercury half is known",
            )
        late = {id(section) for section in (*self.assembly.deferred, *self.assembly.last)}
        names = {
            getattr(entry, "made_as", None) or mercury_name(entry.name) or entry.name
            for entry in self.assembly.history
            if id(entry) not in late
            if isinstance(entry, Section) or (isinstance(entry, Dropped) and entry.in_shstrtab)
        }
        length = 1 + sum([len(name.encode("utf-8", "surrogateescape")) + 1 for name in names])
        first, second = 1, 1 + len(".shstrtab") + 1
        rows = (
            (first, SHT_STRTAB, 0, 0, row.size, length, 0, 0, 1, 0),
            (second, SHT_STRTAB, 0, 0, row.size + length, 0, 0, 0, 0, 0),
        )
        return (bytes(row.size) + b"".join([row.pack(*one) for one in rows]))[:size]

    def _twin_of(self, section: Section) -> None:
        """Make the Mercury form of a section of data, if it has one."""
        name = mercury_name(section.name) or section.name
        kind = _DATA_TYPES.get(name)
        data = None
        if name.startswith(_OPTIMIZER):
            kind = SHT_CUDA_MERC_CONSTANT_OPTIMIZER
            capsule = self.assembly.functions[name.removeprefix(_OPTIMIZER)].capsule
            data = None if capsule is None else capsule.constants
        if id(section) in self.assembly.mercury_contents:
            data, _ = self.assembly.mercury_contents[id(section)]
        if kind is None or not isinstance(section.body, bodies.Blob):
            return
        body = bodies.Blob(section.body.data if data is None else data)
        self._section(".nv.merc" + name, kind, body, section.sh_flags, section.sh_addralign)

    def _records(self, function: Function) -> list[AttributeRecord]:
        assert function.capsule is not None
        records = function_records(self.assembly, function, function.capsule.attributes)
        given = {record_code(record) for record in function.capsule.attributes}
        sass_only = attributes.SASS_ONLY - given
        return [record for record in records if record_code(record) not in sass_only]

    def _module_records(self, *, with_numbers: bool) -> list[AttributeRecord]:
        """``.nv.merc.nv.info``; without symbol numbers as long as they are not known."""
        assembly = self.assembly
        index = assembly.index if with_numbers else no_index
        rows = self._module_rows()
        records, number = module_records(rows, index), num_later_rows(assembly, rows)
        return with_library_record(assembly.parts, assembly.target, records, number)

    def _module_rows(self) -> list[tuple[int, str, int]]:
        parts = self.assembly.parts
        frames = {part.name: part.mercury_frame for f in parts.functions for part in f.inner}
        return [
            (code, function, frames.get(function, value) if code == EIATTR_FRAME_SIZE else value)
            for code, function, value in module_rows(self.assembly)
        ]

    # -- numbers ---------------------------------------------------------------------------------

    def resolve(self, description: Description) -> None:
        """Fill in symbols and everything that refers to them."""
        assembly = self.assembly
        planner = Planner(description)
        planner.number_symbols()
        with_images = {id(bank.section) for bank in assembly.image_banks}
        late = {id(bank) for bank in assembly.parameter_banks.values()} - with_images
        table = self.symtab.body if self.symtab is not None else None
        assert isinstance(table, bodies.MercurySymbols)
        table.symbols = [
            self._section_symbol(entry) if isinstance(entry, Section) else self._symbol(entry)
            for entry in planner.symbol_entries
            if entry is not None and id(entry) not in late
        ]
        self.made[".nv.merc.nv.info"].body = bodies.InfoRecords(
            self._module_records(with_numbers=True)
        )
        for function in assembly.parts.functions:
            records = self.made[f".nv.merc.nv.info.{function.name}"].body
            assert isinstance(records, bodies.InfoRecords)
            records.records = [numbered(assembly, function, record) for record in records.records]
        for made in assembly.unified:
            entries = bodies.UftEntries(unified_rows(assembly, made.name))
            self.made[MERCURY_PREFIX + made.name].body = entries
        for section, rows in self.relocated:
            section.body = bodies.Relocations.from_rows(
                assembly.relocation_rows(rows, rela=True), True
            )

    def _twin(self, section: Section) -> Section:
        name = section.made_as or mercury_name(section.name) or section.name
        if name.startswith((TEXT, UFT_REL)):
            return self.made[CAPSULE_PREFIX + name]
        return self.made.get(MERCURY_PREFIX + name, section)

    def _section_symbol(self, section: Section) -> bodies.MercurySymbol:
        name = section.made_as or mercury_name(section.name) or section.name
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
            # this half states the memory of data in executables, too
            if info & ST_TYPE_MASK == STT_OBJECT:
                info = symbol_info(info >> ST_BIND_SHIFT, STT_CUDA_OBJECT)
                other |= _SPACES.get(section.name, 0)
                if section.name.startswith(_CONSTANTS):
                    other |= SPACES["constant"]
                is_own = section.name.removeprefix(_SHARED) in self.assembly.functions
                if is_own or section.name == _MODULE_SHARED:
                    # here it is counted from the kernel's own memory on
                    other |= SPACES["shared"]
                    value -= self.assembly.target.family.reserved_shared
            if section.name == RESERVED_SECTION and self.assembly.final:
                value -= self.assembly.target.family.reserved_start
            section = self._twin(section)
        elif symbol.name.startswith(".nv.reservedSmem."):
            value = 0
        return bodies.MercurySymbol(symbol.name, info, other, section, value, size)


def _mercury_type(kind: str | int) -> int:
    """The type with the same effect in Mercury relocation sections."""
    name = relocation_table.NAMES.get(kind, "") if isinstance(kind, int) else kind
    effect = name.removeprefix("R_CUDA_")
    for candidate in (f"R_MERCURY_{effect}", f"R_MERCURY_ABS{effect}"):
        if candidate in RELOCATION_TYPES:
            return RELOCATION_TYPES[candidate]
    raise BadStructureError(f"relocation type {name or kind} has no Mercury form")
