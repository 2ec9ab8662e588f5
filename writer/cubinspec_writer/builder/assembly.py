"""The state while a cubin is built, and the operations that all steps use.

``assemble`` runs the steps; ``functions``, ``data``, ``tables`` and ``mercury`` are the steps.
Sections and symbols are made first, without symbol numbers; when everything is made, the numbers
are known and the bodies that hold them are encoded again.
"""

from __future__ import annotations

from dataclasses import dataclass

from cubinspec.allowance import Budget
from cubinspec.errors import BadStructureError
from cubinspec.format.packing import symbol_info
from cubinspec.format.sections import mercury_name
from cubinspec_generated.codes import (
    SHF_INFO_LINK,
    SHT_CUDA_RESOLVED_RELA,
    SHT_REL,
    SHT_RELA,
    ST_BIND_SHIFT,
    STB_GLOBAL,
    STB_WEAK,
    STO_CUDA_ENTRY,
    STT_FUNC,
    STT_OBJECT,
)
from cubinspec_generated.codes_relocation import R_CUDA_NONE
from cubinspec_generated.codes_sizes import (
    SIZEOF_REL_32,
    SIZEOF_REL_64,
    SIZEOF_RELA_32,
    SIZEOF_RELA_64,
)
from cubinspec_generated.tables import relocations as relocation_table
from cubinspec_writer.builder import facts
from cubinspec_writer.builder.call_tree import CallTree
from cubinspec_writer.builder.parts import (
    GLOBAL,
    IMAGES,
    LOCAL,
    SHARED,
    Function,
    Relocation,
    binding_of,
)
from cubinspec_writer.emitter import bodies
from cubinspec_writer.emitter.model import Dropped, Section, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.format.targets import Target
    from cubinspec_writer.builder.parts import CubinParts, Variable
    from cubinspec_writer.emitter.model import Body

#: Symbol for the end of the reserved shared memory.
RESERVED_CAP = ".nv.reservedSmem.cap"
#: Size of a field of a relocation, in files of 64 and of 32 bits.
_WORD, _HALF = 8, 4
#: Sizes of relocations, by whether they have addends and 64 bits.
_SIZES = {
    (False, False): SIZEOF_REL_32,
    (False, True): SIZEOF_REL_64,
    (True, False): SIZEOF_RELA_32,
    (True, True): SIZEOF_RELA_64,
}


@dataclass(slots=True)
class ImageBank:
    """The bank of a kernel with indices of images.

    Attributes:
        start: where the indices begin.
        relocations: those of the indices.
    """

    function: Function
    section: Section
    start: int
    relocations: list[Relocation]


class Assembly:
    """What has been made so far.

    Attributes:
        parts: what is to be built.
        target: the architecture.
        has_capsule: whether the functions have Mercury code beside their SASS.
        history: sections, symbols and names in the order in which ptxas makes them.
        globals: global symbols, which stand behind all others.
        deferred: parameter banks, which from sm_90 on are made after everything else.
        last: those of them whose names stand behind those of all indices of images.
        by_name: section or symbol of each name.
        functions: the functions to be built, by name.
        infos: functions with their attribute sections.
        relocated: relocation sections with their contents.
        places: name of a variable -> its section and its offset there.
        data_sections: sections of data with their relocations.
        image_parameters: name of an image parameter -> its symbol, which all kernels share.
        image_banks: kernels with images, in the order in which they were made.
        indexed: images with an index in a table that kernels share.
        parameter_banks: name of a kernel -> its constant bank 0.
        late: name of a variable without a symbol yet -> the variable.
        resolved: ids of data sections whose relocations were all applied.
        resolved_prefixes: id of such a section -> the sections of these that were made, if given.
        named_ids: names of functions' numbers that were made.
        function_ids: id of such a section -> functions that it names by number.
        prototypes: name of a function -> its signature in ``.nv.prototype``.
        numbers: id of a section or symbol -> its symbol number; filled when all is made.
        undefined: symbols of other files that no relocation has named yet.
        unified: tables of unified functions and data.
        call_tree: who calls whom.
        users: name of a variable in shared memory -> the functions whose code names it.
        shared_of: name of a function -> the shared variables that it declares, in a library also
            those that its code names.
        is_library, has_kernel: as of the parts.
        mercury_contents: id of a section of data -> its bytes and relocations in the Mercury half,
            where these are others than those of the SASS half.
        kept: ids of sections with a place for applied relocations, or without any that stay.
        instances: symbols of shared memory of dynamic size, made behind everything else.
        waiting_shared: variables in the memory of a kernel that is not made yet, with their
            symbols, and whether these are made.
        num_first_data: how many sections of data were made with the first function.
        budget: bytes that places of variables ask for and nothing gives.
    """

    target: Target
    has_capsule: bool
    functions: dict[str, Function]

    def __init__(self, parts: CubinParts) -> None:
        self.parts = parts
        self.budget = Budget("<built>", 0)
        self.target = facts.target(parts.arch)
        # ptxas writes the Mercury half of a module without functions, too
        self.has_capsule = self.target.family.capsule and all(
            function.capsule is not None for function in parts.functions
        )
        self.history: list[Section | Symbol | Dropped] = []
        self.globals: list[Symbol | Dropped] = []
        self.deferred: list[Section | Dropped] = []
        self.last: list[Section] = []
        self.by_name: dict[str, Section | Symbol] = {}
        self.functions = {function.name: function for function in parts.functions}
        self.infos: list[tuple[Function, Section]] = []
        self.relocated: list[tuple[Section, list[Relocation]]] = []
        self.places: dict[str, tuple[Section, int]] = {}
        self.data_sections: list[tuple[Section, list[Relocation]]] = []
        self.image_parameters: dict[str, Symbol] = {}
        self.image_banks: list[ImageBank] = []
        self.indexed: set[str] = set()
        self.parameter_banks: dict[str, Section] = {}
        self.late: dict[str, Variable] = {}
        self.resolved: set[int] = set()
        self.resolved_prefixes: dict[int, tuple[str, ...]] = {}
        self.named_ids: set[str] = set()
        self.function_ids: dict[int, list[str]] = {}
        self.prototypes: dict[str, str] = {}
        self.numbers: dict[int, int] = {}
        self.undefined = {symbol.name: symbol for symbol in parts.undefined}
        self.num_first_data = 0
        self.unified: list[Section] = []
        self.call_tree = CallTree(parts)
        self.is_library, self.has_kernel = parts.is_library, parts.has_kernel
        self._images = {one.name for one in parts.variables if one.space in IMAGES}
        self.users: dict[str, list[Function]] = {}
        self.shared_of: dict[str, list[Variable]] = {}
        self._note_shared()
        self.mercury_contents: dict[int, tuple[bytes, list[Relocation]]] = {}
        self._function_symbols: dict[str, Symbol] = {}
        self.kept: set[int] = set()
        self.instances: list[Symbol] = []
        self.waiting_shared: list[tuple[Variable, Symbol, bool]] = []

    @property
    def relocatable(self) -> bool:
        """Whether it is an input for nvlink."""
        return self.parts.relocatable

    @property
    def keeps_memory(self) -> bool:
        """Whether sections and symbols still say which memory they are of, for a linker."""
        return self.parts.relocatable or self.parts.extensible

    @property
    def final(self) -> bool:
        """Whether it is an executable that nothing is added to."""
        return not self.keeps_memory

    @property
    def finalizer(self) -> bool:
        """Whether ptxas writes such a file through its finalizer."""
        return self.target.family.finalizer

    @property
    def mixes_images(self) -> bool:
        """Whether some kernels of an extensible program have images and share a table, others not.

        The finalizer then makes banks of all kernels as if they had images.
        """
        parts = self.parts
        if not (self.finalizer and parts.extensible and parts.names_shared):
            return False
        return len({bool(one.images) for one in parts.functions if one.kernel}) > 1

    def is_image(self, name: str) -> bool:
        """Whether a relocation with that symbol is of an image: one of the module, or a parameter.

        The latter have the name of the kernel in front, and a NUL between.
        """
        return "\0" in name or name in self._images

    def _note_shared(self) -> None:
        shared = [one for one in self.parts.variables if one.space == SHARED]
        self.users = {one.name: [] for one in shared}
        for function in self.parts.functions:
            for name in dict.fromkeys(row.symbol for row in function.relocations):
                if name in self.users:
                    self.users[name].append(function)
        for variable in shared:
            users = self.users[variable.name] if self.is_library else []
            for name in dict.fromkeys((variable.owner, *[user.name for user in users])):
                self.shared_of.setdefault(name, []).append(variable)

    # -- sections --------------------------------------------------------------------------------

    def add_section(
        self,
        name: str,
        sh_type: int,
        body: Body,
        flags: int = 0,
        align: int = 1,
        entry_size: int = 0,
    ) -> Section:
        """Make a section."""
        section = self.make_section(name, sh_type, body, flags, align, entry_size)
        self.history.append(section)
        self.by_name[name] = section
        return section

    def make_section(
        self, name: str, sh_type: int, body: Body, flags: int, align: int, entry_size: int = 0
    ) -> Section:
        """A section that has no place yet; files without notes do not flag links."""
        if not self.parts.written.notes:
            flags &= ~SHF_INFO_LINK
        return Section(name, sh_type, body, flags, sh_addralign=align, sh_entsize=entry_size)

    def drop_name(self, name: str) -> None:
        """Leave the name of a symbol that ptxas makes and does not write."""
        self.history.append(Dropped(name))

    def drop_section(self, name: str, made_as: str | None = None) -> None:
        """Leave the name of a section that ptxas makes and does not write."""
        self.history.append(Dropped(name, in_shstrtab=True, made_as=made_as))

    def type_of(self, linked: int, executable: int) -> int:
        """The type of a section: for files that may still be linked, or for executables."""
        return linked if self.keeps_memory else executable

    def add_relocations(self, prefix: str, of: Section, rows: list[Relocation]) -> None:
        """Make a relocation section, ``.rel`` or ``.rela``.

        The finalizer writes all relocations into ``.rela`` and drops ``.rel``; before it, a section
        is dropped when all of its relocations are applied.
        """
        name = prefix + of.name
        if self.finalizer and prefix == ".rel":
            self.drop_section(prefix + of.made_as if of.made_as else mercury_name(name) or name)
            return
        own = rows
        if not self.finalizer:
            own = [row for row in rows if (row.addend is None) == (prefix == ".rel")]
        left = [row for row in own if not row.applied]
        # the finalizer keeps a section without relocations, but for those of images
        named = [row.symbol for row in rows if row.symbol]
        is_of_images = named and all(self.is_image(name) for name in named)
        if not left and (not self.finalizer or (self.parts.names_shared and is_of_images)):
            self.drop_section(name)
        else:
            is_rela = prefix == ".rela"
            self._add_rows(name, SHT_RELA if is_rela else SHT_REL, of, left)
        if self.parts.keeps_relocations and id(of) not in self.kept:
            self.kept.add(id(of))
            self._keep(of, [row for row in rows if row.applied and self._stays(row)])

    def keep_none(self, of: Section) -> None:
        """Leave the name of the section of applied relocations, where files have one."""
        if self.parts.keeps_relocations and id(of) not in self.kept:
            self.kept.add(id(of))
            self._keep(of, [])

    def take(self, prefix: str, of: Section, rows: list[Relocation]) -> Section:
        """Make a relocation section that stands elsewhere."""
        self.add_relocations(prefix, of, rows)
        made = self.history.pop()
        assert isinstance(made, Section)
        return made

    def _keep(self, of: Section, applied: list[Relocation]) -> None:
        """Make the section of applied relocations, behind the first one of others."""
        name = ".nv.resolvedrela" + of.name
        if applied:
            self._add_rows(name, SHT_CUDA_RESOLVED_RELA, of, applied)
        elif self.finalizer:
            made = of.made_as or mercury_name(of.name) or of.name
            self.drop_section(".nv.resolvedrela" + made)
        else:
            self.drop_section(name)

    def _stays(self, row: Relocation) -> bool:
        """Whether the file keeps an applied relocation: not one of images."""
        is_known = row.kind != R_CUDA_NONE and RELOCATION_TYPES.get(str(row.kind)) != R_CUDA_NONE
        return is_known and not self.is_image(row.symbol)

    def _add_rows(self, name: str, kind: int, of: Section, rows: list[Relocation]) -> None:
        is_rela, is_64 = kind != SHT_REL, self.parts.is_64
        size, word = _SIZES[is_rela, is_64], _WORD if is_64 else _HALF
        body = bodies.Relocations(is_rela, (0,) * (len(rows) * size // word), is_64)
        section = self.add_section(name, kind, body, SHF_INFO_LINK, word, size)
        section.made_as = name.removesuffix(of.name) + of.made_as if of.made_as else None
        self.relocated.append((section, rows))

    # -- symbols ---------------------------------------------------------------------------------

    def add_symbol(self, symbol: Symbol, binding: str) -> None:
        """Make a symbol; global ones stand behind all others, in files with notes."""
        is_last = binding == GLOBAL and self.parts.written.notes
        (self.globals if is_last else self.history).append(symbol)
        self.by_name[symbol.name] = symbol

    def function_symbol(self, function: Function) -> Symbol:
        """The symbol of a function, made when the function is first mentioned."""
        made = self._function_symbols.get(function.name)
        if made is not None:
            return made
        other = STO_CUDA_ENTRY if function.kernel else 0
        info = symbol_info(binding_of(function.binding), STT_FUNC)
        symbol = Symbol(function.name, info, other, 0, 0, len(function.code))
        self._function_symbols[function.name] = symbol
        self.add_symbol(symbol, function.binding)
        return symbol

    def mention(self, name: str) -> None:
        """Make the symbol of a function, an undefined one or the driver's when it is needed."""
        if name in self.by_name:
            return
        if name in self.undefined:
            part = self.undefined[name]
            if part.is_size and part.value is not None and not self.relocatable:
                # the finished file holds the value, and the name is left
                self.drop_name(name)
                self.by_name[name] = Symbol(name, part.st_info)
                return
            binding = GLOBAL if part.st_info >> ST_BIND_SHIFT == STB_GLOBAL else LOCAL
            symbol = Symbol(name, part.st_info, part.st_other, 0, part.value or 0, part.size)
            self.add_symbol(symbol, binding)
            return
        if name in self.functions:
            self.function_symbol(self.functions[name])
        elif name == RESERVED_CAP:
            self.add_helper(name, self.target.family.reserved_cap, 4)

    def add_helper(self, name: str, value: int, size: int) -> None:
        """Make a weak symbol for the driver."""
        symbol = Symbol(name, symbol_info(STB_WEAK, STT_OBJECT), 0, 0, value, size)
        if name == RESERVED_CAP and not self.target.family.reserved_cap:
            # sm_90 has no such memory: ptxas makes the name and erases it again
            symbol = Symbol("", 0, 1)
            self.history += [symbol, Dropped("", erased=len(name) + 1)]
        else:
            self.history.append(symbol)
        self.by_name[name] = symbol

    # -- symbol numbers --------------------------------------------------------------------------

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
                row.offset,
                self.index(row.symbol),
                _relocation_type(row.kind),
                (row.addend or 0) if rela else None,
            )
            for row in reversed(rows)
        ]


#: Name of a relocation type -> its number.
RELOCATION_TYPES = {name: number for number, name in relocation_table.NAMES.items()}


def _relocation_type(kind: str | int) -> int:
    if isinstance(kind, int):
        return kind
    number = RELOCATION_TYPES.get(kind)
    if number is None:
        raise BadStructureError(f"no relocation type is named {kind!r}")
    return number
