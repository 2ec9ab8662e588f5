"""What the tables of a file say about its functions, by what they are keyed with.

Here are the loops over all sections and all functions; what users get of them, one function at a
time, is in :mod:`cubinspec.model.function`.
"""

from __future__ import annotations

from cubinspec.format.attributes import HEAD_BYTES, record_end
from cubinspec.format.packing import barriers_of, registers_of
from cubinspec.format.sections import (
    CONSTANT_BANK_TYPES,
    MERCURY_BANKS,
    MERCURY_PREFIX,
    RELOCATION_TYPES,
)
from cubinspec.reader.streams import find_shape, keyed_values, payload_at, read_shape, value_at
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
    STT_FUNC,
)
from cubinspec_generated.records import DIM3, PARAM_CBANK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, Final

    from cubinspec.model.function_owner import FunctionOwner
    from cubinspec.model.symbol import SymbolList
    from cubinspec.reader.elf import Elf, SectionRow, SymbolRow
    from cubinspec.reader.streams import Shape

    Triple = tuple[int, int, int]
    #: Bank -> bytes, in pairs, by bank.
    Banks = tuple[tuple[int, int], ...]
    #: registers, frame_size, min_stack_size, max_stack_size, shared, local, constant banks with
    #: sizes, barriers; see :class:`cubinspec.model.function.Function`.
    Numbers = tuple[int | None, int | None, int | None, int | None, int, int, Banks, int | None]
    #: registers, stack, shared, local, const0, barriers, max_threads, num_params, param_size; None:
    #: the file does not say it.
    Number = int | None
    Summary = tuple[Number, Number, int, int, Number, Number, Number, int, Number]

#: Types of sections that never describe a function.
_TABLE_TYPES: Final = RELOCATION_TYPES | {SHT_STRTAB, SHT_SYMTAB, SHT_SYMTAB_SHNDX, SHT_NOTE}
#: Attributes of the whole module, one record for each function.
_KEYED: Final = (EIATTR_REGCOUNT, EIATTR_FRAME_SIZE, EIATTR_MIN_STACK_SIZE, EIATTR_MAX_STACK_SIZE)

#: The bits of a value that count named barriers.
_BARRIERS: Final = 0xFF


def _triple(payload: bytes | None) -> Triple | None:
    """A shape in x, y, z; ``None`` when there is no payload or a shorter one."""
    return None if payload is None or len(payload) < DIM3.size else DIM3.unpack_from(payload)


def _list(triple: tuple[int, int, int] | None) -> list[int] | None:
    return None if triple is None else list(triple)


def _threads(shape: Triple | None) -> int | None:
    return None if shape is None else shape[0] * shape[1] * shape[2]


def _param_bank(payload: bytes | None) -> tuple[int, int] | None:
    """``EIATTR_PARAM_CBANK``: where parameters start in constant bank 0, and how long they are."""
    if payload is None or len(payload) < PARAM_CBANK.size:
        return None
    _, offset, size = PARAM_CBANK.unpack_from(payload)
    return offset, size


def stack_of(min_stack_size: int | None, frame_size: int | None) -> int | None:
    """The stack of the whole call tree; before the device link the function's own frame."""
    if min_stack_size is None:
        return frame_size
    return None if min_stack_size == STACK_SIZE_UNKNOWN else min_stack_size


def exits_in(body: bytes, at: int | None) -> tuple[int, int]:
    """Where a stream holds the offsets of EXIT instructions, of which the record begins here."""
    return (0, 0) if at is None else (at + HEAD_BYTES, record_end(body, at))


class Launch:
    """What the attributes of a function say of a launch; many functions of a library share one.

    Attributes:
        shape: where the records of the streams are.
        codes: the attributes that occur, in file order.
        exits: where the stream holds the offsets of EXIT instructions, from byte to byte.
        num_params: how many parameters there are.
        barriers: named barriers, where an attribute states them.
        mbarriers, max_ntid, reqntid, max_threads, cluster, max_cluster_rank, max_registers,
        param_size, param_offset: see :class:`cubinspec.model.function.Function`.
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
        self.exits: tuple[int, int] = exits_in(body, get(EIATTR_EXIT_INSTR_OFFSETS))
        barriers = value_at(body, get(EIATTR_NUM_BARRIERS))
        self.barriers: int | None = None if barriers is None else barriers & _BARRIERS
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
        """Its part of :meth:`cubinspec.model.function.Function.figures`."""
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
_launches: Final[dict[tuple[Shape, int], Launch]] = {}
_MAX_LAUNCHES: Final = 1 << 10


class FunctionTable:
    """What one half of a file (SASS or Mercury) says about functions, by what it is keyed with.

    Attributes:
        section_rows: all section headers.
        info: code section -> section with the attributes of its function.
        shared, local: code section -> bytes.
        banks: code section -> constant banks and their bytes, by bank.
        sizes: attribute code -> function symbol -> value.
        first: code section that names no owner -> the first function met in it.
    """

    __slots__ = (
        *(
            "_const0",
            "_elf",
            "_frame",
            "_max_stack",
            "_min_stack",
            "_registers",
            "banks",
            "file",
            "first",
        ),
        *("info", "local", "section_rows", "shared", "sizes", "symbols"),
    )

    def __init__(self, file: FunctionOwner, symbols: SymbolList, *, mercury: bool) -> None:
        self.file: FunctionOwner = file
        self.symbols: SymbolList = symbols
        self._elf: Elf = file.elf
        self.section_rows: list[SectionRow] = self._elf.section_rows
        self.info: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.shared: dict[int, int] = {}
        self.local: dict[int, int] = {}
        self.banks: dict[int, Banks] = {}
        self._const0: dict[int, int] = {}
        self.sizes: dict[int, dict[int, int]] = {code: {} for code in _KEYED}
        self._registers: dict[int, int] = self.sizes[EIATTR_REGCOUNT]
        self._frame: dict[int, int] = self.sizes[EIATTR_FRAME_SIZE]
        self._min_stack: dict[int, int] = self.sizes[EIATTR_MIN_STACK_SIZE]
        self._max_stack: dict[int, int] = self.sizes[EIATTR_MAX_STACK_SIZE]
        self._collect(mercury)

    def __repr__(self) -> str:
        return f"<FunctionTable of {self.file.name!r}>"

    def _collect(self, mercury: bool) -> None:
        rows = self.section_rows
        count = len(rows)
        info_type = SHT_CUDA_MERC_INFO if mercury else SHT_CUDA_INFO
        half = SHF_CUDA_MERCURY if mercury else 0
        prefix = MERCURY_PREFIX.encode() if mercury else b""
        constant, shared, local = prefix + b".nv.constant", b".nv.shared.", b".nv.local."
        names = self._elf.shstrtab.data
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
        self._const0 = constants.get(0, {})
        banks = self.banks
        for bank, sizes in sorted(constants.items()):
            for code, size in sizes.items():
                banks[code] = (*banks.get(code, ()), (bank, size))

    def _collect_sizes(self, index: int) -> None:
        elf = self._elf
        body, base = elf.section_bytes(index), elf.section_rows[index][4]
        found = keyed_values(body, _KEYED, base, elf.file, f"sections[{index}]")
        for code, values in found.items():
            self.sizes[code].update(values)

    def owned_code(self, symbol_index: int, row: SymbolRow) -> int:
        """The code section that was made for a function; 0 if that is another one's.

        A function inside another's code owns none of the sections that describe that code. The
        second writer (seen in CUPTI) leaves the owner 0 and has one function per section; were
        there more, each would be given all the attributes again.
        """
        section = row[3]
        owner = self.section_rows[section][7] & SHI_SYMBOL_MASK
        if not owner:
            owner = self.first.setdefault(section, symbol_index)
        return section if owner == symbol_index else 0

    def info_bytes(self, code: int) -> bytes:
        """The attributes of the function that owns this code section."""
        index = self.info.get(code)
        if index is None:
            return b""
        row = self.section_rows[index]
        offset, end = row[4], row[4] + row[5]
        if end > self._elf.size:
            self._elf.bytes_at(offset, row[5], f"sections[{index}]")  # raises
        return self._elf.between(offset, end)

    def launch(self, code: int) -> Launch:
        """What the attributes of the function that owns this code section say of a launch.

        Raises:
            CubinError: they are cut off.
        """
        body = self.info_bytes(code)
        shape, number = self.shape_of(code, body)
        key = shape, number & shape.launch_mask
        found = _launches.get(key)
        if found is None:
            if len(_launches) >= _MAX_LAUNCHES:
                _launches.clear()
            found = _launches[key] = Launch(shape, body)
        return found

    def shape_of(self, code: int, body: bytes) -> tuple[Shape, int]:
        """The shape of the attributes of the function that owns this code section.

        Returns:
            it, and the stream as one number.
        """
        shape, number = find_shape(body)
        if shape is None:
            index = self.info.get(code, 0)
            offset = self.section_rows[index][4]
            shape = read_shape(body, offset, self._elf.file, f"sections[{index}]")
            number = int.from_bytes(body, "little")
        return shape, number

    def summary(self, symbol_index: int, code: int) -> Summary:
        """What a table of kernels says of the function with this symbol.

        Args:
            code: the code section that it owns; 0 for none.

        Raises:
            CubinError: the attributes are cut off.
        """
        body = self.info_bytes(code)
        shape, _ = self.shape_of(code, body)
        get = shape.places.get
        stated = value_at(body, get(EIATTR_NUM_BARRIERS))
        if stated is not None:
            stated &= _BARRIERS
        registers, barriers = self._registers_and_barriers(symbol_index, code, stated)
        most = _triple(payload_at(body, get(EIATTR_MAX_THREADS)))
        return (
            registers,
            stack_of(self._min_stack.get(symbol_index), self._frame.get(symbol_index)),
            self.shared.get(code, 0),
            self.local.get(code, 0),
            self._const0.get(code),
            barriers,
            _threads(most or _triple(payload_at(body, get(EIATTR_REQNTID)))),
            shape.num_params,
            value_at(body, get(EIATTR_CBANK_PARAM_SIZE)),
        )

    def stacks(self, symbols: list[int]) -> list[int | None]:
        """The stacks of the functions with these symbols."""
        least, frame = self._min_stack, self._frame
        return [stack_of(least.get(number), frame.get(number)) for number in symbols]

    def numbers(self, symbol_index: int, code: int, barriers: int | None) -> Numbers:
        """The figures of the function with this symbol that owns this code section, or none.

        Args:
            barriers: where an attribute states them.
        """
        registers, barriers = self._registers_and_barriers(symbol_index, code, barriers)
        return (
            registers,
            self._frame.get(symbol_index),
            self._min_stack.get(symbol_index),
            self._max_stack.get(symbol_index),
            self.shared.get(code, 0),
            self.local.get(code, 0),
            self.banks.get(code, ()),
            barriers,
        )

    def _registers_and_barriers(
        self, symbol_index: int, code: int, barriers: int | None
    ) -> tuple[int | None, int | None]:
        """As attributes state them, else as the header of the code does."""
        registers = self._registers.get(symbol_index)
        if code:
            row = self.section_rows[code]
            if registers is None:
                registers = registers_of(row[7]) or None
            if barriers is None:
                barriers = barriers_of(row[2])
        return registers, barriers


def _named_bank(names: bytes, at: int) -> int | None:
    """Bank number by what follows ``.nv.constant`` in the section's name."""
    word = names[at : at + 12].partition(b"\0")[0].lstrip(b".").partition(b".")[0]
    return int(word) if word.isdigit() else MERCURY_BANKS.get(word.decode("latin-1"))


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
