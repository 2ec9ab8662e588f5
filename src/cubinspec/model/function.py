"""Kernels and device functions with the resources that a launch needs.

What belongs to a function is scattered: its code in ``.text.<f>``, resources in the module's
``.nv.info`` (keyed by symbol), attributes in ``.nv.info.<f>``, parameters and constants in
``.nv.constant<n>.<f>``, static shared memory in ``.nv.shared.<f>``. The sections of one function
all name the code section in ``sh_info``; that, not the name, is what joins them here.
"""

from __future__ import annotations

from cubinspec.format.attributes import info_rows
from cubinspec.format.packing import barriers_of, registers_of, words
from cubinspec.format.sections import (
    CONSTANT_BANK_TYPES,
    MERCURY_BANKS,
    MERCURY_PREFIX,
    RELOCATION_TYPES,
)
from cubinspec.reader.streams import InfoIndex, keyed_rows
from cubinspec_generated.codes import (
    EIATTR_CBANK_PARAM_SIZE,
    EIATTR_CTA_PER_CLUSTER,
    EIATTR_EXIT_INSTR_OFFSETS,
    EIATTR_FRAME_SIZE,
    EIATTR_MAX_CLUSTER_RANK,
    EIATTR_MAX_STACK_SIZE,
    EIATTR_MAX_THREADS,
    EIATTR_MAXREG_COUNT,
    EIATTR_MIN_STACK_SIZE,
    EIATTR_NUM_BARRIERS,
    EIATTR_NUM_MBARRIERS,
    EIATTR_PARAM_CBANK,
    EIATTR_REGCOUNT,
    EIATTR_REQNTID,
    SHF_CUDA_MERCURY,
    SHF_EXECINSTR,
    SHI_SYMBOL_MASK,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_INFO,
    SHT_CUDA_MERC_INFO,
    SHT_CUDA_MERC_SYMTAB,
    SHT_NOTE,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    ST_TYPE_MASK,
    STACK_SIZE_UNKNOWN,
    STO_CUDA_ENTRY,
    STT_FUNC,
)
from cubinspec_generated.records import DIM3, PARAM_CBANK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    from cubinspec.format.attributes import InfoRow
    from cubinspec.model.header import Header
    from cubinspec.model.info import InfoRecord
    from cubinspec.model.parameter import Parameter
    from cubinspec.model.section import Section, SectionList
    from cubinspec.model.symbol import Symbol, SymbolList
    from cubinspec.reader.elf import Elf, SectionRow, SymbolRow

    Triple = tuple[int, int, int]

    class FunctionOwner(Protocol):
        """A cubin as its functions see it."""

        elf: Elf

        @property
        def name(self) -> str:
            """The file name given on opening."""

        @property
        def arch(self) -> str:
            """The target."""

        @property
        def header(self) -> Header:
            """The ELF header."""

        @property
        def sections(self) -> SectionList:
            """All sections."""

        def symbol_table(self, index: int) -> SymbolList:
            """The symbol table in section ``index``."""

        def info_records_of(self, index: int) -> list[InfoRecord]:
            """Attributes of the stream in section ``index``."""


#: Types of sections that never describe a function.
_TABLE_TYPES = RELOCATION_TYPES | {SHT_STRTAB, SHT_SYMTAB, SHT_SYMTAB_SHNDX, SHT_NOTE}
#: Attributes of the whole module, one record for each function.
_KEYED = frozenset(
    (EIATTR_REGCOUNT, EIATTR_FRAME_SIZE, EIATTR_MIN_STACK_SIZE, EIATTR_MAX_STACK_SIZE)
)


def _triple(payload: bytes) -> tuple[int, int, int] | None:
    """A shape in x, y, z; ``None`` when the payload is shorter."""
    return DIM3.unpack_from(payload) if len(payload) >= DIM3.size else None


def _list(triple: tuple[int, int, int] | None) -> list[int] | None:
    return None if triple is None else list(triple)


def _threads(shape: Triple | None) -> int | None:
    return None if shape is None else shape[0] * shape[1] * shape[2]


def _stack(min_stack_size: int | None, frame_size: int | None) -> int | None:
    """The stack of the whole call tree; before the device link the function's own frame."""
    if min_stack_size is None:
        return frame_size
    return None if min_stack_size == STACK_SIZE_UNKNOWN else min_stack_size


def _param_offset(payload: bytes) -> int | None:
    """``EIATTR_PARAM_CBANK``: where parameters start in constant bank 0."""
    if len(payload) < PARAM_CBANK.size:
        return None
    _, offset, _ = PARAM_CBANK.unpack_from(payload)
    found: int = offset
    return found


def attribute_names(codes: Iterable[int]) -> list[str]:
    """Names of attributes; the number of one without a name."""
    from cubinspec_generated.tables import eiattr

    return [eiattr.NAMES.get(code) or f"{code:#x}" for code in codes]


class FunctionTable:
    """What one half of a file (SASS or Mercury) says about functions, by what it is keyed with.

    Attributes:
        section_rows: all section headers.
        info: code section -> section with the attributes of its function.
        shared, local: code section -> bytes.
        constants: bank -> code section -> bytes.
        sizes: attribute code -> function symbol -> value.
        first: code section that names no owner -> the first function met in it.
    """

    __slots__ = (
        *("constants", "file", "first", "info", "local", "section_rows", "shared", "sizes"),
        "symbols",
    )

    def __init__(self, file: FunctionOwner, symbols: SymbolList, *, mercury: bool) -> None:
        self.file: FunctionOwner = file
        self.symbols: SymbolList = symbols
        self.section_rows: list[SectionRow] = file.elf.section_rows
        self.info: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.shared: dict[int, int] = {}
        self.local: dict[int, int] = {}
        self.constants: dict[int, dict[int, int]] = {}
        self.sizes: dict[int, dict[int, int]] = {code: {} for code in _KEYED}
        self._collect(mercury)

    def __repr__(self) -> str:
        return f"<FunctionTable of {self.file.name!r}>"

    def _collect(self, mercury: bool) -> None:
        elf = self.file.elf
        rows = self.section_rows
        count = len(rows)
        info_type = SHT_CUDA_MERC_INFO if mercury else SHT_CUDA_INFO
        half = SHF_CUDA_MERCURY if mercury else 0
        prefix = MERCURY_PREFIX.encode() if mercury else b""
        constant, shared, local = prefix + b".nv.constant", b".nv.shared.", b".nv.local."
        names = elf.shstrtab.data
        for index, (sh_name, sh_type, flags, _, _, size, _, code, _, _) in enumerate(rows):
            if sh_type == info_type:
                if 0 < code < count:
                    self.info[code] = index
                elif not code:
                    self._collect_sizes(index)
                continue
            # tables use sh_info differently, and code itself names a symbol there
            if not 0 < code < count or flags & SHF_EXECINSTR or sh_type in _TABLE_TYPES:
                continue
            if flags & SHF_CUDA_MERCURY != half:
                continue
            if sh_type in CONSTANT_BANK_TYPES:
                self.constants.setdefault(sh_type - SHT_CUDA_CONSTANT_B0, {})[code] = size
            elif names.startswith(constant, sh_name):
                bank = _named_bank(names, sh_name + len(constant))
                if bank is not None:
                    self.constants.setdefault(bank, {})[code] = size
            elif names.startswith(shared, sh_name):
                self.shared[code] = size
            elif names.startswith(local, sh_name):
                self.local[code] = size

    def _collect_sizes(self, index: int) -> None:
        elf = self.file.elf
        body, base = elf.section_bytes(index), elf.section_rows[index][4]
        sizes = self.sizes
        for code, symbol, value in keyed_rows(body, base, elf.file, f"sections[{index}]"):
            if code in sizes:
                sizes[code][symbol] = value


def _named_bank(names: bytes, at: int) -> int | None:
    """Bank number by what follows ``.nv.constant`` in the section's name."""
    word = names[at : at + 12].partition(b"\0")[0].lstrip(b".").partition(b".")[0]
    return int(word) if word.isdigit() else MERCURY_BANKS.get(word.decode("latin-1"))


class Function:
    """A kernel or a device function that this cubin defines. All sizes are bytes."""

    __slots__ = ("_by_code", "_code", "_rows", "row", "symbol_index", "table")

    def __init__(self, table: FunctionTable, symbol_index: int, row: SymbolRow) -> None:
        #: What its half of the file says about functions.
        self.table: FunctionTable = table
        self.symbol_index: int = symbol_index
        #: The symbol's row.
        self.row: SymbolRow = row
        # A function inside another's code owns none of the sections that describe that code.
        # The second writer (seen in CUPTI) leaves the owner 0 and has one function per section;
        # were there more, each would be given all the attributes again.
        _, _, _, section, _, _ = row
        _, _, _, _, _, _, _, info, _, _ = table.section_rows[section]
        owner = info & SHI_SYMBOL_MASK or table.first.setdefault(section, symbol_index)
        self._code = section if owner == symbol_index else 0
        self._rows: list[InfoRow] | None = None
        self._by_code: InfoIndex | None = None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    def _repr_html_(self) -> str:
        from cubinspec.model.frames import html_table

        rows = [(name, value) for name, value in self.as_dict().items() if name != "params"]
        params = ", ".join(f"{p.size} at {p.offset}" for p in self.params)
        return html_table(self.demangled, (), [*rows, ("params", params)])

    def as_dict(self) -> dict[str, Any]:
        """Everything known about it, ready for JSON (``kernels.schema.json``)."""
        return {
            "file": self.file,
            **self.figures(),
            "params": [parameter.as_dict() for parameter in self.params],
            "attributes": self._attribute_names(),
        }

    def figures(self) -> dict[str, Any]:
        """What :meth:`as_dict` says, without the file, the parameters and the attributes.

        A library has tens of thousands of functions, so each thing is looked up once.
        """
        sizes, number = self.table.sizes, self.symbol_index
        min_stack_size = sizes[EIATTR_MIN_STACK_SIZE].get(number)
        frame_size = sizes[EIATTR_FRAME_SIZE].get(number)
        index = self.info_index
        value, payload = index.value, index.payload
        max_ntid, reqntid = self.max_ntid, self.reqntid
        exits = payload(EIATTR_EXIT_INSTR_OFFSETS)
        return {
            "name": self.name,
            "kind": self.kind,
            "arch": self.arch,
            "type": self.table.file.header.type_word,
            "registers": self.registers,
            "stack": _stack(min_stack_size, frame_size),
            "frame_size": frame_size,
            "min_stack_size": min_stack_size,
            "max_stack_size": sizes[EIATTR_MAX_STACK_SIZE].get(number),
            "shared": self.table.shared.get(self._code, 0),
            "local": self.table.local.get(self._code, 0),
            "constant": {str(bank): size for bank, size in sorted(self.constant.items())},
            "barriers": self.barriers,
            "mbarriers": value(EIATTR_NUM_MBARRIERS),
            "max_threads": _threads(max_ntid or reqntid),
            "max_ntid": _list(max_ntid),
            "reqntid": _list(reqntid),
            "cluster": _list(self.cluster),
            "max_cluster_rank": self.max_cluster_rank,
            "max_registers": value(EIATTR_MAXREG_COUNT),
            "param_size": value(EIATTR_CBANK_PARAM_SIZE),
            "param_offset": self.param_offset,
            "code_size": self.row[5],
            "exit_offsets": [] if exits is None else words(exits),
        }

    @property
    def name(self) -> str:
        """The (mangled) symbol name."""
        return self.table.symbols.strings.get(self.row[0])

    @property
    def demangled(self) -> str:
        """The readable C++ or Rust name; the name itself when it is not a mangled one."""
        from cubinspec.format.demangle import readable

        return readable(self.name)

    @property
    def file(self) -> str:
        """Name of the cubin: the path given on opening, or the way to it through containers."""
        return self.table.file.name

    #: The same word that images and scans use.
    path = file

    @property
    def arch(self) -> str:
        """The target of its cubin, such as ``sm_90a``."""
        return self.table.file.arch

    @property
    def kind(self) -> str:
        """``kernel`` or ``function``."""
        return "kernel" if self.is_kernel else "function"

    @property
    def is_kernel(self) -> bool:
        """Whether the host can launch it."""
        return bool(self.row[2] & STO_CUDA_ENTRY)

    @property
    def symbol(self) -> Symbol:
        """Its symbol."""
        return self.table.symbols[self.symbol_index]

    @property
    def section(self) -> Section:
        """The section that holds its code."""
        return self.table.file.sections[self.row[3]]

    @property
    def owns_section(self) -> bool:
        """Whether it is the function that its code section was made for, not one inside it."""
        return bool(self._code)

    @property
    def code_offset(self) -> int:
        """Where its code starts in the section."""
        return self.row[4]

    @property
    def code_size(self) -> int:
        """Bytes of code."""
        return self.row[5]

    # -- resources kept per module, keyed by symbol ---------------------------------------------

    @property
    def registers(self) -> int | None:
        """Registers per thread: ``EIATTR_REGCOUNT``, else the top byte of the code's ``sh_info``.

        The attribute exists from sm_30 on; where both exist the attribute counts callees too.
        """
        count = self.table.sizes[EIATTR_REGCOUNT].get(self.symbol_index)
        if count is None and self._code:
            count = registers_of(self.table.section_rows[self._code][7]) or None
        return count

    @property
    def frame_size(self) -> int | None:
        """Local frame of this function alone."""
        return self.table.sizes[EIATTR_FRAME_SIZE].get(self.symbol_index)

    @property
    def min_stack_size(self) -> int | None:
        """Stack needed including callees, as the final link computed it."""
        return self.table.sizes[EIATTR_MIN_STACK_SIZE].get(self.symbol_index)

    @property
    def max_stack_size(self) -> int | None:
        """Stack bound before linking; 0xffffffff when recursion leaves it open."""
        return self.table.sizes[EIATTR_MAX_STACK_SIZE].get(self.symbol_index)

    @property
    def stack(self) -> int | None:
        """Stack per thread, callees included; ``None`` when recursion leaves it unbounded.

        The figure of the final link (what ``cuobjdump -res-usage`` prints as ``STACK``); before
        that link, where only the function's own frame is known, that frame.
        """
        sizes, number = self.table.sizes, self.symbol_index
        return _stack(
            sizes[EIATTR_MIN_STACK_SIZE].get(number), sizes[EIATTR_FRAME_SIZE].get(number)
        )

    # -- resources kept in sections -------------------------------------------------------------

    @property
    def shared(self) -> int:
        """Static shared memory; in executables from sm_90 on this includes the reserved part."""
        return self.table.shared.get(self._code, 0)

    @property
    def local(self) -> int:
        """Size of ``.nv.local.<f>``, which only old tools made."""
        return self.table.local.get(self._code, 0)

    @property
    def const0(self) -> int | None:
        """Size of its constant bank 0, which holds the parameters."""
        return self.constant_size(0)

    def constant_size(self, bank: int) -> int | None:
        """Size of the function's own part of one constant bank."""
        sizes = self.table.constants.get(bank)
        return None if sizes is None else sizes.get(self._code)

    @property
    def constant(self) -> dict[int, int]:
        """Size of the function's own part of each constant bank, by bank number."""
        code = self._code
        return {bank: sizes[code] for bank, sizes in self.table.constants.items() if code in sizes}

    # -- attributes of the function -------------------------------------------------------------

    @property
    def info_rows(self) -> list[InfoRow]:
        """Rows of its ``.nv.info.<f>``; empty when it has none."""
        rows = self._rows
        if rows is None:
            index = self.table.info.get(self._code)
            if index is None:
                rows = []
            else:
                elf = self.table.file.elf
                rows = info_rows(
                    elf.section_bytes(index),
                    elf.section_rows[index][4],
                    elf.file,
                    f"sections[{index}]",
                )
            self._rows = rows
        return rows

    @property
    def attributes(self) -> list[InfoRecord]:
        """The records of its ``.nv.info.<f>``."""
        index = self.table.info.get(self._code)
        return [] if index is None else self.table.file.info_records_of(index)

    def _attribute_names(self) -> list[str]:
        return attribute_names(self.info_index.codes)

    @property
    def info_index(self) -> InfoIndex:
        """Where the records of its ``.nv.info.<f>`` are."""
        return self._by_code or self._index()

    def _index(self) -> InfoIndex:
        elf = self.table.file.elf
        index = self.table.info.get(self._code)
        if index is None:
            found = InfoIndex(b"", 0, elf.file, "")
        else:
            field = f"sections[{index}]"
            _, _, _, _, offset, size, _, _, _, _ = self.table.section_rows[index]
            found = InfoIndex(elf.bytes_at(offset, size, field), offset, elf.file, field)
        self._by_code = found
        return found

    def _inline(self, code: int) -> int | None:
        return (self._by_code or self._index()).value(code)

    def _payload(self, code: int) -> bytes | None:
        return (self._by_code or self._index()).payload(code)

    def _triple(self, code: int) -> Triple | None:
        payload = (self._by_code or self._index()).payload(code)
        return None if payload is None else _triple(payload)

    @property
    def barriers(self) -> int | None:
        """Named barriers: the attribute of ABI 8, bits 20-26 of the code's flags before."""
        count = (self._by_code or self._index()).value(EIATTR_NUM_BARRIERS)
        if count is not None:
            return count & 0xFF
        if not self._code:
            return None
        return barriers_of(self.table.section_rows[self._code][2])

    @property
    def mbarriers(self) -> int | None:
        """Number of mbarrier objects, where stated."""
        return self._inline(EIATTR_NUM_MBARRIERS)

    @property
    def max_registers(self) -> int | None:
        """Register cap given on compilation; 255 when none was given."""
        return self._inline(EIATTR_MAXREG_COUNT)

    @property
    def max_ntid(self) -> Triple | None:
        """``.maxntid``: upper bounds of the block's shape."""
        return self._triple(EIATTR_MAX_THREADS)

    @property
    def reqntid(self) -> Triple | None:
        """``.reqntid``: the required block shape."""
        return self._triple(EIATTR_REQNTID)

    @property
    def max_threads(self) -> int | None:
        """Largest number of threads per block, from ``.maxntid`` or ``.reqntid``."""
        return _threads(self._triple(EIATTR_MAX_THREADS) or self._triple(EIATTR_REQNTID))

    @property
    def cluster(self) -> Triple | None:
        """Blocks per cluster in x, y, z."""
        return self._triple(EIATTR_CTA_PER_CLUSTER)

    @property
    def max_cluster_rank(self) -> int | None:
        """Upper bound of blocks per cluster."""
        payload = self._payload(EIATTR_MAX_CLUSTER_RANK)
        if payload:
            return int.from_bytes(payload[:4], "little")
        return self._inline(EIATTR_MAX_CLUSTER_RANK)

    @property
    def param_size(self) -> int | None:
        """Bytes of the parameter block."""
        return self._inline(EIATTR_CBANK_PARAM_SIZE)

    @property
    def param_offset(self) -> int | None:
        """Where parameters start in constant bank 0."""
        payload = self._payload(EIATTR_PARAM_CBANK)
        return None if payload is None else _param_offset(payload)

    @property
    def exit_offsets(self) -> list[int]:
        """Byte offsets of the EXIT instructions in the code."""
        payload = self._payload(EIATTR_EXIT_INSTR_OFFSETS)
        return [] if payload is None else words(payload)

    @property
    def num_params(self) -> int:
        """How many parameters there are."""
        return (self._by_code or self._index()).num_params

    @property
    def params(self) -> list[Parameter]:
        """The parameters, by ordinal."""
        from cubinspec.model.parameter import read_parameters

        return read_parameters(self.info_rows)


class FunctionList(list[Function]):
    """Functions of a cubin: a list that notebooks show as a table and Arrow takes as one."""

    __slots__ = ()

    def rows(self) -> list[dict[str, Any]]:
        """One flat dictionary per function: integers, text, or ``None``."""
        from cubinspec.model.frames import FUNCTION_COLUMNS, flat_rows

        return flat_rows(self, FUNCTION_COLUMNS)

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``, one row per function; absent integers are null.

        Raises:
            MissingPackageError: pyarrow is not installed.
        """
        from cubinspec.model.frames import FUNCTION_COLUMNS, arrow_table

        return arrow_table(self, FUNCTION_COLUMNS)

    def _repr_html_(self) -> str:
        from cubinspec.model.frames import html_table

        head = (
            *("arch", "registers", "stack", "shared", "local", "const0", "barriers"),
            *("max_threads", "num_params", "demangled"),
        )
        rows = [[getattr(function, name) for name in head] for function in self]
        return html_table(f"{len(self)} functions", head, rows)


def read_functions(file: FunctionOwner, *, only_kernels: bool = False) -> FunctionList:
    """All functions (or kernels) defined in the file, in symbol order.

    The SASS half is read; when no function symbol lies in a SASS section, the Mercury half.
    """
    return _read_half(file, only_kernels, mercury=False) or _read_half(
        file, only_kernels, mercury=True
    )


def _read_half(file: FunctionOwner, only_kernels: bool, *, mercury: bool) -> FunctionList:
    index = file.elf.find_section(SHT_CUDA_MERC_SYMTAB if mercury else SHT_SYMTAB)
    if index is None:
        return FunctionList()
    symbols = file.symbol_table(index)
    count = len(file.elf.section_rows)
    mask = STO_CUDA_ENTRY if only_kernels else 0
    defined: list[tuple[int, SymbolRow]] = []
    for number, row in enumerate(symbols.rows):
        _, info, other, section, _, _ = row
        if info & ST_TYPE_MASK == STT_FUNC and 0 < section < count and other & mask == mask:
            defined.append((number, row))
    if not defined:
        return FunctionList()
    table = FunctionTable(file, symbols, mercury=mercury)
    return FunctionList([Function(table, number, row) for number, row in defined])
