"""Kernels and device functions with the resources that a launch needs.

What belongs to a function is scattered: its code in ``.text.<f>``, resources in the module's
``.nv.info`` (keyed by symbol), attributes in ``.nv.info.<f>``, parameters and constants in
``.nv.constant<n>.<f>``, static shared memory in ``.nv.shared.<f>``. The sections of one function
all name the code section in ``sh_info``; that, not the name, is what joins them here.
"""

from __future__ import annotations

from cubinspec.model.info import (
    CODE,
    unpack_kparam_info,
    unpack_kparam_info_v2,
    unpack_pair,
    unpack_triple,
)
from cubinspec.reader.elf import SHF_CUDA_MERCURY, SHT_SYMTAB
from cubinspec.reader.streams import info_rows, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.info import InfoRecord
    from cubinspec.model.section import Section
    from cubinspec.model.symbol import Symbol, SymbolList
    from cubinspec.reader.elf import SymbolRow
    from cubinspec.reader.streams import InfoRow

    Triple = tuple[int, int, int]

SHT_CUDA_INFO, SHT_CUDA_CAPMERC_TEXT, SHT_CUDA_MERC_INFO = 0x70000000, 0x70000016, 0x70000083
SHT_CUDA_MERC_SYMTAB = 0x70000085
SHT_CUDA_CONSTANT_B0, SHT_CUDA_CONSTANT_LAST = 0x70000064, 0x70000075
SHF_EXECINSTR = 0x4
STT_FUNC = 2
STO_CUDA_ENTRY = 0x10
#: ``.nv.merc.nv.constant.<word>`` is the Mercury name of a bank.
_MERCURY_BANKS = {"user": 3, "optimizer": 2, "pic": 4}

_REGCOUNT, _FRAME_SIZE = CODE["EIATTR_REGCOUNT"], CODE["EIATTR_FRAME_SIZE"]
_MIN_STACK, _MAX_STACK = CODE["EIATTR_MIN_STACK_SIZE"], CODE["EIATTR_MAX_STACK_SIZE"]
_KEYED = frozenset((_REGCOUNT, _FRAME_SIZE, _MIN_STACK, _MAX_STACK))
_KPARAM, _KPARAM_V2 = CODE["EIATTR_KPARAM_INFO"], CODE["EIATTR_KPARAM_INFO_V2"]
#: A stack size that cannot be bounded (recursion) is stored as all ones.
UNBOUNDED = 0xFFFFFFFF


class Parameter:
    """One kernel parameter as ``EIATTR_KPARAM_INFO`` states it.

    Attributes:
        ordinal: position in the parameter list.
        offset: bytes from the start of the parameter block.
        size: bytes.
        log_alignment: log2 of the alignment; 0 when not stated.
        space: memory space code.
        cbank: constant bank, 31 when not stated; ``None`` in the second form.
        is_smem: whether it is passed in shared memory; ``None`` in the second form.
    """

    __slots__ = ("cbank", "is_smem", "log_alignment", "offset", "ordinal", "size", "space")

    def __init__(
        self,
        ordinal: int,
        offset: int,
        size: int,
        log_alignment: int,
        space: int,
        cbank: int | None,
        is_smem: bool | None,
    ) -> None:
        self.ordinal = ordinal
        self.offset = offset
        self.size = size
        self.log_alignment = log_alignment
        self.space = space
        self.cbank = cbank
        self.is_smem = is_smem

    @property
    def name(self) -> str:
        """``param_<ordinal>``, as PTX tools call it; a cubin holds no parameter names."""
        return f"param_{self.ordinal}"


class Parts:
    """Section indices and sizes that belong to one code section."""

    __slots__ = ("constant", "info", "local", "shared")

    def __init__(self) -> None:
        self.info: int | None = None
        self.shared = 0
        self.local = 0
        self.constant: dict[int, int] = {}


_NO_PARTS = Parts()


class Function:
    """A kernel or a device function that this cubin defines. All sizes are bytes."""

    __slots__ = ("_cubin", "_parts", "_rows", "_sizes", "_symbols", "row", "symbol_index")

    def __init__(
        self,
        cubin: Cubin,
        symbols: SymbolList,
        symbol_index: int,
        row: SymbolRow,
        parts: Parts,
        sizes: dict[int, int],
    ) -> None:
        self._cubin = cubin
        self._symbols = symbols
        self.symbol_index = symbol_index
        #: The symbol's row.
        self.row = row
        self._parts = parts
        self._sizes = sizes
        self._rows: list[InfoRow] | None = None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @property
    def name(self) -> str:
        """The (mangled) symbol name."""
        return self._symbols.strings.get(self.row[0])

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
        return self._symbols[self.symbol_index]

    @property
    def section(self) -> Section:
        """The section that holds its code."""
        return self._cubin.sections[self.row[3]]

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
        count = self._sizes.get(_REGCOUNT)
        if count is None:
            section = self._cubin.elf.section_rows[self.row[3]]
            # the byte describes the section's owner, not functions that live inside its code
            if section[7] & 0xFFFFFF == self.symbol_index:
                count = section[7] >> 24 or None
        return count

    @property
    def frame_size(self) -> int | None:
        """Local frame of this function alone."""
        return self._sizes.get(_FRAME_SIZE)

    @property
    def min_stack_size(self) -> int | None:
        """Stack needed including callees, as the final link computed it."""
        return self._sizes.get(_MIN_STACK)

    @property
    def max_stack_size(self) -> int | None:
        """Stack bound before linking; 0xffffffff when recursion leaves it open."""
        return self._sizes.get(_MAX_STACK)

    @property
    def stack(self) -> int | None:
        """Stack per thread, callees included; ``None`` when recursion leaves it unbounded.

        The figure of the final link (what ``cuobjdump -res-usage`` prints as ``STACK``); before
        that link, where only the function's own frame is known, that frame.
        """
        size = self._sizes.get(_MIN_STACK)
        if size is None:
            return self._sizes.get(_FRAME_SIZE)
        return None if size == UNBOUNDED else size

    # -- resources kept in sections -------------------------------------------------------------

    @property
    def shared(self) -> int:
        """Static shared memory; in executables from sm_90 on this includes the reserved part."""
        return self._parts.shared

    @property
    def local(self) -> int:
        """Size of ``.nv.local.<f>``, which only old tools made."""
        return self._parts.local

    @property
    def constant(self) -> dict[int, int]:
        """Size of the function's own part of each constant bank, by bank number."""
        return dict(self._parts.constant)

    # -- attributes of the function -------------------------------------------------------------

    @property
    def info_rows(self) -> list[InfoRow]:
        """Rows of its ``.nv.info.<f>``; empty when it has none."""
        rows = self._rows
        if rows is None:
            index = self._parts.info
            if index is None:
                rows = []
            else:
                elf = self._cubin.elf
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
        index = self._parts.info
        return [] if index is None else self._cubin.info_records_of(index)

    def _inline(self, name: str) -> int | None:
        code = CODE[name]
        for _, _, found, value, _ in self.info_rows:
            if found == code:
                return value
        return None

    def _payload(self, name: str) -> bytes | None:
        code = CODE[name]
        for _, _, found, _, payload in self.info_rows:
            if found == code:
                return payload
        return None

    def _triple(self, name: str) -> Triple | None:
        payload = self._payload(name)
        return None if payload is None else unpack_triple(payload)

    @property
    def barriers(self) -> int | None:
        """Named barriers: the attribute of ABI 8, bits 20-26 of the code's flags before."""
        count = self._inline("EIATTR_NUM_BARRIERS")
        if count is None and self._cubin.elf.section_rows[self.row[3]][7]:
            section = self._cubin.elf.section_rows[self.row[3]]
            if section[7] & 0xFFFFFF == self.symbol_index:
                count = section[2] >> 20 & 0x7F
        return None if count is None else count & 0xFF

    @property
    def mbarriers(self) -> int | None:
        """Number of mbarrier objects, where stated."""
        return self._inline("EIATTR_NUM_MBARRIERS")

    @property
    def max_registers(self) -> int | None:
        """Register cap given on compilation; 255 when none was given."""
        return self._inline("EIATTR_MAXREG_COUNT")

    @property
    def max_ntid(self) -> Triple | None:
        """``.maxntid``: upper bounds of the block's shape."""
        return self._triple("EIATTR_MAX_THREADS")

    @property
    def reqntid(self) -> Triple | None:
        """``.reqntid``: the required block shape."""
        return self._triple("EIATTR_REQNTID")

    @property
    def max_threads(self) -> int | None:
        """Largest number of threads per block, from ``.maxntid`` or ``.reqntid``."""
        shape = self.max_ntid or self.reqntid
        return None if shape is None else shape[0] * shape[1] * shape[2]

    @property
    def cluster(self) -> Triple | None:
        """Blocks per cluster in x, y, z."""
        return self._triple("EIATTR_CTA_PER_CLUSTER")

    @property
    def max_cluster_rank(self) -> int | None:
        """Upper bound of blocks per cluster."""
        payload = self._payload("EIATTR_MAX_CLUSTER_RANK")
        if payload:
            return int.from_bytes(payload[:4], "little")
        return self._inline("EIATTR_MAX_CLUSTER_RANK")

    @property
    def param_size(self) -> int | None:
        """Bytes of the parameter block."""
        return self._inline("EIATTR_CBANK_PARAM_SIZE")

    @property
    def param_offset(self) -> int | None:
        """Where parameters start in constant bank 0."""
        payload = self._payload("EIATTR_PARAM_CBANK")
        pair = None if payload is None else unpack_pair(payload)
        return None if pair is None else pair[1] & 0xFFFF

    @property
    def exit_offsets(self) -> list[int]:
        """Byte offsets of the EXIT instructions in the code."""
        payload = self._payload("EIATTR_EXIT_INSTR_OFFSETS")
        return [] if payload is None else words(payload)

    @property
    def params(self) -> list[Parameter]:
        """The parameters, by ordinal."""
        found = []
        for _, _, code, _, payload in self.info_rows:
            if code == _KPARAM:
                fields = unpack_kparam_info(payload)
            elif code == _KPARAM_V2:
                fields = unpack_kparam_info_v2(payload)
            else:
                continue
            if fields is not None:
                found.append(Parameter(*fields))
        found.sort(key=lambda parameter: parameter.ordinal)
        return found


def read_functions(cubin: Cubin) -> list[Function]:
    """All functions defined in the file, in symbol order.

    The SASS half is read; when no function symbol lies in a SASS section, the Mercury half.
    """
    return _read_half(cubin, mercury=False) or _read_half(cubin, mercury=True)


def _read_half(cubin: Cubin, *, mercury: bool) -> list[Function]:
    elf = cubin.elf
    table = elf.find_section(SHT_CUDA_MERC_SYMTAB if mercury else SHT_SYMTAB)
    if table is None:
        return []
    sections = elf.section_rows
    symbols = cubin.symbol_table(table)
    by_code = _collect_parts(cubin, mercury)
    sizes = _module_sizes(cubin, mercury)
    functions = []
    for index, row in enumerate(symbols.rows):
        if row[1] & 0xF != STT_FUNC or not 0 < row[3] < len(sections):
            continue
        # a function inside another's code owns none of the sections that describe that code
        owner = sections[row[3]][7] & 0xFFFFFF == index
        parts = by_code.get(row[3], _NO_PARTS) if owner else _NO_PARTS
        functions.append(Function(cubin, symbols, index, row, parts, sizes.get(index, {})))
    return functions


def _collect_parts(cubin: Cubin, mercury: bool) -> dict[int, Parts]:
    """What describes each code section, by the index of that section."""
    elf = cubin.elf
    rows = elf.section_rows
    info_type = SHT_CUDA_MERC_INFO if mercury else SHT_CUDA_INFO
    name_of = elf.shstrtab.get
    found: dict[int, Parts] = {}
    for index, row in enumerate(rows):
        sh_type, code = row[1], row[7]
        # relocation and symbol tables use sh_info differently, code itself holds a symbol there
        if not 0 < code < len(rows) or row[2] & SHF_EXECINSTR or 1 < sh_type < 8 or sh_type == 9:
            continue
        if bool(row[2] & SHF_CUDA_MERCURY) is not mercury or row[5] == 0:
            continue
        if sh_type == info_type:
            _parts(found, code).info = index
            continue
        name = name_of(row[0])
        if mercury:
            name = name.replace(".nv.merc", "", 1)
        if name.startswith(".nv.shared."):
            _parts(found, code).shared = row[5]
        elif name.startswith(".nv.constant"):
            bank = _bank(sh_type, name)
            if bank is not None:
                _parts(found, code).constant[bank] = row[5]
        elif name.startswith(".nv.local."):
            _parts(found, code).local = row[5]
    return found


def _parts(found: dict[int, Parts], code: int) -> Parts:
    parts = found.get(code)
    if parts is None:
        parts = found[code] = Parts()
    return parts


def _bank(sh_type: int, name: str) -> int | None:
    if SHT_CUDA_CONSTANT_B0 <= sh_type <= SHT_CUDA_CONSTANT_LAST:
        return sh_type - SHT_CUDA_CONSTANT_B0
    word = name[len(".nv.constant") :].lstrip(".").partition(".")[0]
    return int(word) if word.isdecimal() else _MERCURY_BANKS.get(word)


def _module_sizes(cubin: Cubin, mercury: bool) -> dict[int, dict[int, int]]:
    """Records of the module's ``.nv.info`` that are keyed by a function symbol."""
    elf = cubin.elf
    sizes: dict[int, dict[int, int]] = {}
    wanted = SHT_CUDA_MERC_INFO if mercury else SHT_CUDA_INFO
    for index, row in enumerate(elf.section_rows):
        if row[1] != wanted or row[7]:
            continue
        field = f"sections[{index}]"
        for _, _, code, _, payload in info_rows(elf.section_bytes(index), row[4], elf.file, field):
            if code in _KEYED:
                pair = unpack_pair(payload)
                if pair is not None:
                    sizes.setdefault(pair[0], {})[code] = pair[1]
    return sizes
