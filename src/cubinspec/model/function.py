"""Kernels and device functions with the resources that a launch needs.

What belongs to a function is scattered: its code in ``.text.<f>``, resources in the module's
``.nv.info`` (keyed by symbol), attributes in ``.nv.info.<f>``, parameters and constants in
``.nv.constant<n>.<f>``, static shared memory in ``.nv.shared.<f>``. The sections of one function
all name the code section in ``sh_info``; that, not the name, is what joins them here.
"""

from __future__ import annotations

from cubinspec.format.attributes import info_rows
from cubinspec.format.packing import barriers_of, registers_of, words
from cubinspec.model.function_table import FunctionTable, stack_of
from cubinspec.reader.streams import InfoIndex
from cubinspec_generated.codes import (
    EIATTR_FRAME_SIZE,
    EIATTR_MAX_STACK_SIZE,
    EIATTR_MIN_STACK_SIZE,
    EIATTR_REGCOUNT,
    STO_CUDA_ENTRY,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cubinspec.format.attributes import InfoRow
    from cubinspec.model.function_table import Launch, Numbers, Triple
    from cubinspec.model.info import InfoRecord
    from cubinspec.model.parameter import Parameter
    from cubinspec.model.section import Section
    from cubinspec.model.symbol import Symbol
    from cubinspec.reader.elf import SymbolRow


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


class Function:
    """A kernel or a device function that this cubin defines. All sizes are bytes."""

    __slots__ = ("_by_code", "_launch", "_rows", "owned_code", "row", "symbol_index", "table")

    def __init__(self, table: FunctionTable, symbol_index: int, row: SymbolRow) -> None:
        #: What its half of the file says about functions.
        self.table: FunctionTable = table
        self.symbol_index: int = symbol_index
        #: The symbol's row.
        self.row: SymbolRow = row
        #: The code section that was made for it; 0 for a function inside another's.
        self.owned_code: int = table.owned_code(symbol_index, row)
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
        barriers = (self._launch or self.launch).barriers
        return self.table.numbers(self.symbol_index, self.owned_code, barriers)

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
        return bool(self.owned_code)

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
        if count is None and self.owned_code:
            count = registers_of(self.table.section_rows[self.owned_code][7]) or None
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
        return self.table.shared.get(self.owned_code, 0)

    @property
    def local(self) -> int:
        """Size of ``.nv.local.<f>``, which only old tools made."""
        return self.table.local.get(self.owned_code, 0)

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
        return dict(self.table.banks.get(self.owned_code, ()))

    # -- attributes of the function -------------------------------------------------------------

    @property
    def info_rows(self) -> list[InfoRow]:
        """Rows of its ``.nv.info.<f>``; empty when it has none."""
        rows = self._rows
        if rows is None:
            index = self.table.info.get(self.owned_code)
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
        index = self.table.info.get(self.owned_code)
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
        return self.table.info_bytes(self.owned_code)

    @property
    def launch(self) -> Launch:
        """What its attributes say of a launch.

        Raises:
            CubinError: they are cut off.
        """
        found = self._launch
        if found is None:
            found = self._launch = self.table.launch(self.owned_code)
        return found

    @property
    def barriers(self) -> int | None:
        """Named barriers: the attribute of ABI 8, bits 20-26 of the code's flags before."""
        count = self.launch.barriers
        if count is not None or not self.owned_code:
            return count
        return barriers_of(self.table.section_rows[self.owned_code][2])

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
