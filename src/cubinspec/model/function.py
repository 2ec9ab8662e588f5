"""Kernels and device functions with the resources that a launch needs.

What belongs to a function is scattered: its code in ``.text.<f>``, resources in the module's
``.nv.info`` (keyed by symbol), attributes in ``.nv.info.<f>``, parameters and constants in
``.nv.constant<n>.<f>``, static shared memory in ``.nv.shared.<f>``. The sections of one function
all name the code section in ``sh_info``; that, not the name, is what joins them here.
"""

from __future__ import annotations

from cubinspec.format.attributes import HEAD_BYTES, info_rows, record_end
from cubinspec.format.packing import barriers_of, registers_of, words
from cubinspec.format.sections import (
    CONSTANT_BANK_TYPES,
    MERCURY_BANKS,
    MERCURY_PREFIX,
    RELOCATION_TYPES,
)
from cubinspec.reader.streams import (
    InfoIndex,
    find_shape,
    keyed_values,
    payload_at,
    read_shape,
    value_at,
)
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
    from collections.abc import Callable, Collection, Iterable
    from typing import Any

    from cubinspec.format.attributes import InfoRow
    from cubinspec.model.function_owner import FunctionOwner
    from cubinspec.model.info import InfoRecord
    from cubinspec.model.parameter import Parameter
    from cubinspec.model.section import Section
    from cubinspec.model.symbol import Symbol, SymbolList
    from cubinspec.reader.elf import SectionRow, SymbolRow
    from cubinspec.reader.streams import Shape

    Triple = tuple[int, int, int]
    #: registers, frame_size, min_stack_size, max_stack_size, shared, local, constant banks with
    #: sizes, barriers; see :class:`Function`.
    Numbers = tuple[int | None, int | None, int | None, int | None, int, int, "Banks", int | None]
    #: Bank -> bytes, in pairs, by bank.
    Banks = tuple[tuple[int, int], ...]

#: Types of sections that never describe a function.
_TABLE_TYPES = RELOCATION_TYPES | {SHT_STRTAB, SHT_SYMTAB, SHT_SYMTAB_SHNDX, SHT_NOTE}
#: Attributes of the whole module, one record for each function.
_KEYED = (EIATTR_REGCOUNT, EIATTR_FRAME_SIZE, EIATTR_MIN_STACK_SIZE, EIATTR_MAX_STACK_SIZE)


def _triple(payload: bytes | None) -> Triple | None:
    """A shape in x, y, z; ``None`` when there is no payload or a shorter one."""
    return None if payload is None or len(payload) < DIM3.size else DIM3.unpack_from(payload)


def _list(triple: tuple[int, int, int] | None) -> list[int] | None:
    return None if triple is None else list(triple)


def _threads(shape: Triple | None) -> int | None:
    return None if shape is None else shape[0] * shape[1] * shape[2]


def stack_of(min_stack_size: int | None, frame_size: int | None) -> int | None:
    """The stack of the whole call tree; before the device link the function's own frame."""
    if min_stack_size is None:
        return frame_size
    return None if min_stack_size == STACK_SIZE_UNKNOWN else min_stack_size


def _param_bank(payload: bytes | None) -> tuple[int, int] | None:
    """``EIATTR_PARAM_CBANK``: where parameters start in constant bank 0, and how long they are."""
    if payload is None or len(payload) < PARAM_CBANK.size:
        return None
    _, offset, size = PARAM_CBANK.unpack_from(payload)
    return offset, size


def numbers_dict(numbers: Numbers) -> dict[str, Any]:
    """:attr:`Function.numbers` by name, ready for JSON."""
    registers, frame_size, min_stack_size, max_stack_size, shared, local, banks, barriers = numbers
    return {
        "registers": registers,
        "stack": stack_of(min_stack_size, frame_size),
        "frame_size": frame_size,
        "min_stack_size": min_stack_size,
        "max_stack_size": max_stack_size,
        "shared": shared,
        "local": local,
        "constant": {str(bank): size for bank, size in banks},
        "barriers": barriers,
    }


def attribute_names(codes: Iterable[int]) -> list[str]:
    """Names of attributes; the number of one without a name."""
    from cubinspec_generated.tables import eiattr

    return [eiattr.NAMES.get(code) or f"{code:#x}" for code in codes]


class Launch:
    """What the attributes of a function say of a launch; many functions of a library share one.

    Attributes:
        shape: where the records of the streams are.
        codes: the attributes that occur, in file order.
        exits: where the stream holds the offsets of EXIT instructions, from byte to byte.
        num_params: how many parameters there are.
        barriers: named barriers, where an attribute states them.
        mbarriers, max_ntid, reqntid, max_threads, cluster, max_cluster_rank, max_registers,
        param_size, param_offset: see :class:`Function`.
        param_bank: where parameters start in constant bank 0, and how many bytes they are.
    """

    __slots__ = (
        *("barriers", "cluster", "codes", "exits", "max_cluster_rank", "max_ntid"),
        *("max_registers", "max_threads", "mbarriers", "num_params", "param_bank"),
        *("param_offset", "param_size", "reqntid", "shape"),
    )

    def __init__(self, shape: Shape, body: bytes) -> None:
        get = shape.places.get
        self.shape: Shape = shape
        self.codes: Collection[int] = shape.places
        self.num_params: int = shape.num_params
        exits = get(EIATTR_EXIT_INSTR_OFFSETS)
        self.exits: tuple[int, int] = (
            (0, 0) if exits is None else (exits + HEAD_BYTES, record_end(body, exits))
        )
        barriers = value_at(body, get(EIATTR_NUM_BARRIERS))
        self.barriers: int | None = None if barriers is None else barriers & 0xFF
        self.mbarriers: int | None = value_at(body, get(EIATTR_NUM_MBARRIERS))
        self.max_ntid: Triple | None = _triple(payload_at(body, get(EIATTR_MAX_THREADS)))
        self.reqntid: Triple | None = _triple(payload_at(body, get(EIATTR_REQNTID)))
        self.max_threads: int | None = _threads(self.max_ntid or self.reqntid)
        self.cluster: Triple | None = _triple(payload_at(body, get(EIATTR_CTA_PER_CLUSTER)))
        rank = get(EIATTR_MAX_CLUSTER_RANK)
        payload = payload_at(body, rank)
        self.max_cluster_rank: int | None = (
            int.from_bytes(payload[:4], "little") if payload else value_at(body, rank)
        )
        self.max_registers: int | None = value_at(body, get(EIATTR_MAXREG_COUNT))
        self.param_size: int | None = value_at(body, get(EIATTR_CBANK_PARAM_SIZE))
        self.param_bank: tuple[int, int] | None = _param_bank(
            payload_at(body, get(EIATTR_PARAM_CBANK))
        )
        self.param_offset: int | None = None if self.param_bank is None else self.param_bank[0]

    def __repr__(self) -> str:
        return f"<Launch: {self.num_params} parameters, {len(self.codes)} attributes>"

    def as_dict(self) -> dict[str, Any]:
        """Its part of :meth:`Function.figures`."""
        return {
            "mbarriers": self.mbarriers,
            "max_threads": self.max_threads,
            "max_ntid": _list(self.max_ntid),
            "reqntid": _list(self.reqntid),
            "cluster": _list(self.cluster),
            "max_cluster_rank": self.max_cluster_rank,
            "max_registers": self.max_registers,
            "param_size": self.param_size,
            "param_offset": self.param_offset,
        }


#: By what their streams have alike.
_launches: dict[tuple[Shape, int], Launch] = {}
_MAX_LAUNCHES = 1 << 10


class FunctionTable:
    """What one half of a file (SASS or Mercury) says about functions, by what it is keyed with.

    Attributes:
        section_rows: all section headers.
        info: code section -> section with the attributes of its function.
        shared, local: code section -> bytes.
        banks: code section -> constant banks and their bytes, by bank.
        sizes: attribute code -> function symbol -> value.
        getters: of the values that :attr:`Function.numbers` begins with.
        first: code section that names no owner -> the first function met in it.
    """

    __slots__ = (
        *("banks", "file", "first", "getters", "info", "local", "section_rows", "shared"),
        *("sizes", "symbols"),
    )

    def __init__(self, file: FunctionOwner, symbols: SymbolList, *, mercury: bool) -> None:
        self.file: FunctionOwner = file
        self.symbols: SymbolList = symbols
        self.section_rows: list[SectionRow] = file.elf.section_rows
        self.info: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.shared: dict[int, int] = {}
        self.local: dict[int, int] = {}
        self.banks: dict[int, Banks] = {}
        self.sizes: dict[int, dict[int, int]] = {code: {} for code in _KEYED}
        self.getters: tuple[Callable[[int], int | None], ...] = tuple(
            [self.sizes[code].get for code in _KEYED]
        )
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
        banks_by_name = {b"%b%d." % (constant, bank): bank for bank in range(10)}
        length = len(constant) + 2
        constants: dict[int, dict[int, int]] = {}
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
                constants.setdefault(sh_type - SHT_CUDA_CONSTANT_B0, {})[code] = size
                continue
            name = names[sh_name : sh_name + length]
            named = banks_by_name.get(name)
            if named is None and name.startswith(constant):
                named = _named_bank(names, sh_name + len(constant))
            if named is not None:
                constants.setdefault(named, {})[code] = size
            elif name.startswith(shared):
                self.shared[code] = size
            elif name.startswith(local):
                self.local[code] = size
        banks = self.banks
        for bank, sizes in sorted(constants.items()):
            for code, size in sizes.items():
                banks[code] = (*banks.get(code, ()), (bank, size))

    def _collect_sizes(self, index: int) -> None:
        elf = self.file.elf
        body, base = elf.section_bytes(index), elf.section_rows[index][4]
        found = keyed_values(body, _KEYED, base, elf.file, f"sections[{index}]")
        for code, values in found.items():
            self.sizes[code].update(values)


def _named_bank(names: bytes, at: int) -> int | None:
    """Bank number by what follows ``.nv.constant`` in the section's name."""
    word = names[at : at + 12].partition(b"\0")[0].lstrip(b".").partition(b".")[0]
    return int(word) if word.isdigit() else MERCURY_BANKS.get(word.decode("latin-1"))


class Function:
    """A kernel or a device function that this cubin defines. All sizes are bytes."""

    __slots__ = ("_by_code", "_code", "_launch", "_rows", "row", "symbol_index", "table")

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
        self._launch: Launch | None = None

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
            "attributes": attribute_names(self.launch.codes),
        }

    def figures(self) -> dict[str, Any]:
        """What :meth:`as_dict` says, without the file, the parameters and the attributes."""
        return {
            "name": self.name,
            "kind": self.kind,
            "arch": self.arch,
            "type": self.table.file.header.type_word,
            **numbers_dict(self.numbers),
            **self.launch.as_dict(),
            "code_size": self.row[5],
            "exit_offsets": self.exit_offsets,
        }

    @property
    def numbers(self) -> Numbers:
        """Registers, the three stack figures, shared, local, constant banks, barriers: a tuple.

        A library has tens of thousands of functions, so each thing is looked up once.
        """
        table, number, code = self.table, self.symbol_index, self._code
        get_registers, get_frame, get_min, get_max = table.getters
        registers = get_registers(number)
        barriers = (self._launch or self.launch).barriers
        if code:
            _, _, flags, _, _, _, _, info, _, _ = table.section_rows[code]
            if registers is None:
                registers = registers_of(info) or None
            if barriers is None:
                barriers = barriers_of(flags)
        return (
            registers,
            get_frame(number),
            get_min(number),
            get_max(number),
            table.shared.get(code, 0),
            table.local.get(code, 0),
            table.banks.get(code, ()),
            barriers,
        )

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

    @property
    def path(self) -> str:
        """Name of the cubin, the same as ``file``: images and scans use this word."""
        return self.file

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
        return stack_of(
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
        return self.constant.get(bank)

    @property
    def constant(self) -> dict[int, int]:
        """Size of the function's own part of each constant bank, by bank number."""
        return dict(self.table.banks.get(self._code, ()))

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

    @property
    def info_index(self) -> InfoIndex:
        """Where the records of its ``.nv.info.<f>`` are."""
        found = self._by_code
        if found is None:
            found = self._by_code = InfoIndex(self.info_bytes, self.launch.shape)
        return found

    @property
    def info_bytes(self) -> bytes:
        """Its ``.nv.info.<f>``."""
        table = self.table
        index = table.info.get(self._code)
        if index is None:
            return b""
        _, _, _, _, offset, size, _, _, _, _ = table.section_rows[index]
        elf = table.file.elf
        if offset + size > elf.size:
            elf.bytes_at(offset, size, f"sections[{index}]")  # raises
        return bytes(elf.data[offset : offset + size])

    def _place_of_info(self) -> tuple[int, str, str]:
        """Where :attr:`info_bytes` is, for messages."""
        table = self.table
        index = table.info.get(self._code, 0)
        _, _, _, _, offset, _, _, _, _, _ = table.section_rows[index]
        return offset, table.file.elf.file, f"sections[{index}]"

    @property
    def launch(self) -> Launch:
        """What its attributes say of a launch.

        Raises:
            CubinError: they are cut off.
        """
        found = self._launch
        if found is None:
            body = self.info_bytes
            shape, number = find_shape(body)
            if shape is None:
                shape = read_shape(body, *self._place_of_info())
                number = int.from_bytes(body, "little")
            key = shape, number & shape.launch_mask
            found = _launches.get(key)
            if found is None:
                if len(_launches) >= _MAX_LAUNCHES:
                    _launches.clear()
                found = _launches[key] = Launch(shape, body)
            self._launch = found
        return found

    @property
    def barriers(self) -> int | None:
        """Named barriers: the attribute of ABI 8, bits 20-26 of the code's flags before."""
        count = self.launch.barriers
        if count is not None or not self._code:
            return count
        return barriers_of(self.table.section_rows[self._code][2])

    @property
    def mbarriers(self) -> int | None:
        """Number of mbarrier objects, where stated."""
        return self.launch.mbarriers

    @property
    def max_registers(self) -> int | None:
        """Register cap given on compilation; 255 when none was given."""
        return self.launch.max_registers

    @property
    def max_ntid(self) -> Triple | None:
        """``.maxntid``: upper bounds of the block's shape."""
        return self.launch.max_ntid

    @property
    def reqntid(self) -> Triple | None:
        """``.reqntid``: the required block shape."""
        return self.launch.reqntid

    @property
    def max_threads(self) -> int | None:
        """Largest number of threads per block, from ``.maxntid`` or ``.reqntid``."""
        return self.launch.max_threads

    @property
    def cluster(self) -> Triple | None:
        """Blocks per cluster in x, y, z."""
        return self.launch.cluster

    @property
    def max_cluster_rank(self) -> int | None:
        """Upper bound of blocks per cluster."""
        return self.launch.max_cluster_rank

    @property
    def param_size(self) -> int | None:
        """Bytes of the parameter block."""
        return self.launch.param_size

    @property
    def param_offset(self) -> int | None:
        """Where parameters start in constant bank 0."""
        return self.launch.param_offset

    @property
    def exit_offsets(self) -> list[int]:
        """Byte offsets of the EXIT instructions in the code."""
        start, stop = self.launch.exits
        return words(self.info_bytes[start:stop]) if stop else []

    @property
    def num_params(self) -> int:
        """How many parameters there are."""
        return self.launch.num_params

    @property
    def params(self) -> list[Parameter]:
        """The parameters, by ordinal."""
        from cubinspec.model.parameter import read_parameters

        return read_parameters(self.info_rows)


def defined_functions(
    file: FunctionOwner, mask: int, mercury: bool
) -> tuple[SymbolList | None, list[tuple[int, SymbolRow]]]:
    """The symbols of a half of the file, and those among them that are functions defined there.

    Args:
        mask: bits that their ``st_other`` must have.
    """
    index = file.elf.find_section(SHT_CUDA_MERC_SYMTAB if mercury else SHT_SYMTAB)
    if index is None:
        return None, []
    symbols = file.symbol_table(index)
    count = len(file.elf.section_rows)
    defined: list[tuple[int, SymbolRow]] = []
    for number, row in enumerate(symbols.rows):
        _, info, other, section, _, _ = row
        if info & ST_TYPE_MASK == STT_FUNC and 0 < section < count and other & mask == mask:
            defined.append((number, row))
    return symbols, defined
