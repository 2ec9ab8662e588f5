"""The whole cubin."""

from __future__ import annotations

from cubinspec.errors import BadIndexError, CubinError, NotCubinError
from cubinspec.files import ClosedBytes, open_file
from cubinspec.format.attributes import info_rows
from cubinspec.format.packing import words
from cubinspec.format.sections import (
    CALLGRAPH_TYPES,
    PROTOTYPE_TYPES,
    RELOCATION_TYPES,
    SYMBOL_TABLE_TYPES,
)
from cubinspec.format.strings import StringTable
from cubinspec.model.header import Header
from cubinspec.reader.elf import Elf
from cubinspec_generated.codes import (
    EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET,
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_INFO,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_PROTOTYPE,
    SHT_NOTE,
    SHT_SYMTAB,
)
from cubinspec_generated.records import CALLGRAPH_ENTRY

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from types import TracebackType
    from typing import Any

    from cubinspec.files import FileBytes
    from cubinspec.model.callgraph import CallGraph, Signature
    from cubinspec.model.function import Function
    from cubinspec.model.functions import FunctionList
    from cubinspec.model.info import InfoRecord
    from cubinspec.model.notes import Note
    from cubinspec.model.relocation import Relocation
    from cubinspec.model.section import SectionList, Segment
    from cubinspec.model.symbol import SymbolList
    from cubinspec.model.tables import Tables
    from cubinspec.reader.elf import Buffer, RelocationRow


class Cubin:
    """One CUDA device binary, opened lazily: only the header is checked on opening.

    Make one with :meth:`open` or :meth:`parse`. It can be used as a context manager; closing
    closes the file, after which nothing more can be read.
    """

    __slots__ = (
        "_arch",
        "_file",
        "_functions",
        "_info",
        "_kernels",
        "_relocation_rows",
        "_sections",
        "_symbol_lists",
        "elf",
        "header",
    )

    def __init__(self, data: Buffer, name: str) -> None:
        #: The rows behind everything.
        self.elf: Elf = Elf(data, name)
        #: The ELF header.
        self.header: Header = Header(self.elf)
        self._file: FileBytes | bytes | None = None
        self._arch: str | None = None
        self._sections: SectionList | None = None
        self._functions: FunctionList | None = None
        self._kernels: FunctionList | None = None
        self._symbol_lists: dict[int | None, SymbolList] = {}
        self._relocation_rows: dict[int, list[RelocationRow]] = {}
        self._info: dict[int, list[InfoRecord]] = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str] | bytes) -> Cubin:
        """Open a cubin file. Of a large one only what is asked for is read.

        Args:
            path: of a bare cubin, or its bytes. :func:`cubinspec.images` opens what holds cubins:
                a library, an object, an archive, a fatbin, a wheel.

        Raises:
            FileAccessError: it cannot be opened.
            CubinError: it is no cubin or its header is broken.
        """
        import os

        if isinstance(path, bytes | bytearray | memoryview):
            return cls.parse(path)
        name = os.fspath(path)
        content = open_file(name)
        file = None if isinstance(content, bytes) else content
        try:
            cubin = cls(content, name)
        except NotCubinError as error:
            if file is not None:
                file.close()
            error.expected = (
                f"{error.expected}; cubinspec.images(path) finds the cubins in libraries, objects, "
                "archives and wheels"
            )
            raise
        except BaseException:
            if file is not None:
                file.close()
            raise
        cubin._file = content
        return cubin

    @classmethod
    def parse(cls, data: bytes | bytearray | memoryview, name: str = "<bytes>") -> Cubin:
        """Read a cubin that is already in memory.

        Args:
            data: the whole file.
            name: what error messages call it.

        Raises:
            CubinError: it is no cubin or its header is broken.
        """
        return cls(bytes(data), name)

    def close(self) -> None:
        """Close the file and release what was read; walking many cubins needs no cycle search."""
        self._sections = self._functions = self._kernels = None
        self._symbol_lists.clear()
        self._relocation_rows.clear()
        self._info.clear()
        if self._file is None:
            return
        if not isinstance(self._file, bytes):
            self._file.close()
        self._file = None
        # The bytes of a small file are let go, too, and a later look at them fails.
        self.elf.data = ClosedBytes()

    def __enter__(self) -> Cubin:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            return f"<Cubin {self.name!r} {self.arch}>"
        except CubinError:  # the target may stand in a section that is broken
            return f"<Cubin {self.name!r}>"

    def _repr_html_(self) -> str:
        from cubinspec.model.frames import escaped

        kind = self.header.type_name or f"{self.header.e_type:#x}"
        facts = f"{self.name}: cubin for {self.arch}, {kind}, {self.size} bytes"
        return f"<p>{escaped(facts)}</p>\n{self.kernels._repr_html_()}"

    # -- what the file is -----------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The file name given on opening."""
        return self.elf.file

    @property
    def data(self) -> bytes | memoryview:
        """The bytes of the file.

        Raises:
            ValueError: the file was closed.
        """
        data = self.elf.data
        return data if isinstance(data, bytes | memoryview) else bytes(data)

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self.elf.size

    @property
    def arch(self) -> str:
        """The target as tools write it: ``sm_90``, ``sm_90a``.

        An ``a`` target shows in ``e_flags`` (CUDA 12) or in ``.nv.compat`` code 9 (from 13.0); an
        ``f`` target leaves no mark in a cubin.
        """
        if self._arch is None:
            accelerated = self.header.is_accelerated or self._says_accelerated()
            self._arch = f"sm_{self.header.sm}{'a' if accelerated else ''}"
        return self._arch

    def _says_accelerated(self) -> bool:
        """Whether ``.nv.compat`` names an ``a`` target; asked without the tables of attributes."""
        elf = self.elf
        index = elf.find_section(SHT_CUDA_COMPAT_INFO)
        if index is None:
            return False
        _, _, _, _, base, _, _, _, _, _ = elf.section_row(index, "section")
        rows = info_rows(elf.section_bytes(index), base, elf.file, f"sections[{index}]")
        return any(
            code == EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET and value == 1
            for _, _, code, value, _ in rows
        )

    # -- tables ---------------------------------------------------------------------------------

    @property
    def sections(self) -> SectionList:
        """All sections, index 0 included."""
        if self._sections is None:
            from cubinspec.model.section import SectionList

            self._sections = SectionList(self)
        return self._sections

    @property
    def segments(self) -> list[Segment]:
        """All program headers."""
        from cubinspec.model.section import Segment

        return [Segment(index, *row) for index, row in enumerate(self.elf.segment_rows)]

    @property
    def symbols(self) -> SymbolList:
        """The symbol table of the SASS half, ``.symtab``."""
        return self._table(SHT_SYMTAB)

    @property
    def mercury_symbols(self) -> SymbolList:
        """``.nv.merc.symtab``; empty below sm_100."""
        return self._table(SHT_CUDA_MERC_SYMTAB)

    def _table(self, sh_type: int) -> SymbolList:
        index = self.elf.find_section(sh_type)
        return self._empty_symbols() if index is None else self.symbol_table(index)

    def _empty_symbols(self) -> SymbolList:
        if None not in self._symbol_lists:
            from cubinspec.model.symbol import SymbolList

            strings = StringTable(b"\0", 0, self.name, "symbols")
            self._symbol_lists[None] = SymbolList(self, None, [], strings)
        return self._symbol_lists[None]

    def symbol_table(self, index: int) -> SymbolList:
        """The symbol table in section ``index``; empty when that section is none.

        Raises:
            BadIndexError: there is no such section.
        """
        symbols = self._symbol_lists.get(index)
        if symbols is None:
            _, sh_type, _, _, _, _, sh_link, _, _, _ = self.elf.section_row(index, "sh_link")
            if sh_type not in SYMBOL_TABLE_TYPES:
                return self._empty_symbols()
            from cubinspec.model.symbol import SymbolList

            rows = self.elf.symbol_rows(index)
            symbols = SymbolList(self, index, rows, self.elf.string_table(sh_link))
            self._symbol_lists[index] = symbols
        return symbols

    @property
    def relocations(self) -> list[Relocation]:
        """All relocations of the file, resolved and Mercury ones too, in file order."""
        found: list[Relocation] = []
        for index, (_, sh_type, _, _, _, _, _, _, _, _) in enumerate(self.elf.section_rows):
            if sh_type in RELOCATION_TYPES:
                found += self.relocations_of(index)
        return found

    def relocation_rows(self, index: int) -> list[RelocationRow]:
        """Rows of the relocation section ``index``; empty when it holds no relocations."""
        rows = self._relocation_rows.get(index)
        if rows is None:
            if self.elf.section_row(index, "section")[1] not in RELOCATION_TYPES:
                return []
            rows = self._relocation_rows[index] = self.elf.relocation_rows(index)
        return rows

    def relocations_of(self, index: int) -> list[Relocation]:
        """Relocations held by section ``index``; empty when it holds none."""
        from cubinspec.model.relocation import Relocation

        return [
            Relocation(self, index, number, row)
            for number, row in enumerate(self.relocation_rows(index))
        ]

    def tables(self) -> Tables:
        """All sections, symbols, relocations and attributes at once, as tuples.

        Raises:
            CubinError: any of the tables is broken.
        """
        from cubinspec.gc_pause import GcPaused
        from cubinspec.model.tables import Tables

        with GcPaused():
            return Tables(self)

    # -- NVIDIA's sections ----------------------------------------------------------------------

    def info_records_of(self, index: int) -> list[InfoRecord]:
        """Attributes of the ``.nv.info``/``.nv.compat`` stream in section ``index``."""
        records = self._info.get(index)
        if records is None:
            from cubinspec.model.info import read_records

            records = self._info[index] = read_records(self.elf, index)
        return records

    @property
    def info(self) -> list[InfoRecord]:
        """Attributes of the whole module: the ``.nv.info`` section without a function."""
        index = self.elf.find_section(SHT_CUDA_INFO)
        while index is not None and self.elf.section_name(index) != ".nv.info":
            rows = self.elf.section_rows
            index = next(
                (i for i in range(index + 1, len(rows)) if rows[i][1] == SHT_CUDA_INFO), None
            )
        return [] if index is None else self.info_records_of(index)

    @property
    def compat(self) -> list[InfoRecord]:
        """Records of ``.nv.compat`` (from sm_90)."""
        index = self.elf.find_section(SHT_CUDA_COMPAT_INFO)
        return [] if index is None else self.info_records_of(index)

    @property
    def notes(self) -> list[Note]:
        """All notes, in section order."""
        rows = enumerate(self.elf.section_rows)
        places = [index for index, row in rows if row[1] == SHT_NOTE]
        return [note for index in places for note in self.notes_of(index)]

    def notes_of(self, index: int) -> list[Note]:
        """The entries of the note section ``index``; empty when it is none."""
        from cubinspec.model.notes import read_notes

        if self.elf.section_row(index, "section")[1] != SHT_NOTE:
            return []
        return read_notes(self.sections[index], self.name)

    @property
    def callgraph(self) -> CallGraph | None:
        """The call graph; ``None`` when the file has none."""
        index = self.elf.find_section(SHT_CUDA_CALLGRAPH)
        return None if index is None else self.callgraph_of(index)

    def callgraph_of(self, index: int) -> CallGraph:
        """The call graph in section ``index``; empty when that section is none.

        The Mercury half may have one of its own.
        """
        from cubinspec.model.callgraph import CallGraph

        return CallGraph(self.callgraph_pairs(index), self.linked_symbols(index))

    def callgraph_pairs(self, index: int) -> list[tuple[int, int]]:
        """The pairs of the call graph in section ``index`` as they stand in the file."""
        return self._pairs(index, CALLGRAPH_TYPES)

    def knows_all_stacks(self) -> bool:
        """Whether no call leaves open which stack a function needs.

        ``cubinspec.report.stack`` tells why, where this is false, or finds that all stacks are
        known.
        """
        index = self.elf.find_section(SHT_CUDA_CALLGRAPH)
        if index is None:
            return True
        from cubinspec.reader.streams import stacks_are_known

        body = self.elf.section_bytes(index)
        if len(body) % CALLGRAPH_ENTRY.size:
            return False  # reading the call graph itself raises the error
        numbers = words(body)
        return stacks_are_known(numbers[::2], numbers[1::2], self.linked_symbols(index).rows)

    @property
    def prototypes(self) -> list[Signature]:
        """Signatures of the functions that ``.nv.prototype`` lists."""
        index = self.elf.find_section(SHT_CUDA_PROTOTYPE)
        return [] if index is None else self.prototypes_of(index)

    def prototypes_of(self, index: int) -> list[Signature]:
        """The signatures in section ``index``; empty when it holds none."""
        from cubinspec.model.callgraph import Signature

        symbols = self.linked_symbols(index)
        pairs = self._pairs(index, PROTOTYPE_TYPES)
        return [Signature(symbols, first, second) for first, second in pairs]

    def _pairs(self, index: int, types: frozenset[int]) -> list[tuple[int, int]]:
        from cubinspec.reader.streams import pair_rows

        if self.elf.section_row(index, "section")[1] not in types:
            return []
        body = self.elf.section_bytes(index)
        return pair_rows(body, self.elf.section_rows[index][4], self.name, f"sections[{index}]")

    def linked_symbols(self, index: int) -> SymbolList:
        """The symbol table that section ``index`` refers to.

        Some tools (ptxas 12.0, the writer seen in CUPTI) leave ``sh_link`` 0 in relocation and
        call graph sections; ``.symtab`` is meant then. ``ptxas -ewp`` 12.0 even counts one
        section too many in the call graph of a module without code.
        """
        _, sh_type, _, _, _, _, sh_link, _, _, _ = self.elf.section_row(index, "section")
        if sh_type in CALLGRAPH_TYPES and sh_link == self.elf.num_sections:
            return self.symbols
        symbols = self.symbol_table(sh_link)
        return symbols if symbols.section_index is not None else self.symbols

    # -- functions ------------------------------------------------------------------------------

    @property
    def functions(self) -> FunctionList:
        """Every function defined here, kernels included, in symbol order.

        They come from the SASS half; from the Mercury half when the file has no SASS.
        """
        if self._functions is None:
            from cubinspec.model.functions import read_functions

            self._functions = read_functions(self)
        return self._functions

    @property
    def kernels(self) -> FunctionList:
        """The functions that the host can launch."""
        if self._kernels is None:
            from cubinspec.model.functions import read_functions

            self._kernels = read_functions(self, only_kernels=True)
        return self._kernels

    def kernel(self, name: str) -> Function:
        """The kernel of that (mangled) name.

        Raises:
            BadIndexError: there is no such kernel.
        """
        for function in self.kernels:
            if function.name == name:
                return function
        raise BadIndexError(f"no kernel is named {name!r}", file=self.name)

    def tree(self) -> Any:
        """The file as the Kaitai Struct object of ``elf_cuda.ksy``: authoritative, slow.

        Its parts are read when touched, and then raise what Kaitai Struct raises;
        :func:`cubinspec.reader.kaitai.walk` goes through them with errors of this package.

        Raises:
            CubinError: the header does not follow the spec, or sections or their names pile up.
        """
        from cubinspec.reader.kaitai import parse

        # the generated classes have no limits of their own
        _ = self.elf.section_names
        return parse(bytes(self.data), self.name)
