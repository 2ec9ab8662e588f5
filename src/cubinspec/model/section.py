"""Sections and program headers."""

from __future__ import annotations

from cubinspec.format.sections import occupies_file
from cubinspec.values import FrozenValue
from cubinspec_generated.codes import SHF_CUDA_MERCURY
from cubinspec_generated.tables import sections as table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from cubinspec.model.info import InfoRecord
    from cubinspec.model.protocols import RelocationLike, SectionOwner
    from cubinspec.reader.elf import SectionRow
    from cubinspec_generated.rows import SectionKind


def kind_row(name: str) -> tuple[str, SectionKind] | None:
    """The row of the section table for a section name.

    Returns:
        The pattern's fixed part and the row; ``None`` when no pattern fits.
    """
    kind = table.EXACT.get(name)
    if kind is not None:
        return name, kind
    for prefix, kind in table.PREFIXES:
        if name.startswith(prefix):
            return prefix, kind
    return None


class Section:
    """One section header and its body."""

    __slots__ = ("_file", "index", "row")

    def __init__(self, file: SectionOwner, index: int, row: SectionRow) -> None:
        self._file = file
        #: Index in the section header table.
        self.index: int = index
        #: The ten header fields as integers.
        self.row: SectionRow = row

    def __repr__(self) -> str:
        return f"<Section {self.index} {self.name} {self.type_name or hex(self.sh_type)}>"

    def _repr_html_(self) -> str:
        from cubinspec.model.frames import SECTION_COLUMNS, html_table

        rows = [(name, getattr(self, name)) for name, _ in SECTION_COLUMNS]
        return html_table(f"section {self.index} {self.name}", (), rows)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Section) and self._file is other._file and self.index == other.index
        )

    def __hash__(self) -> int:
        return hash((id(self._file), self.index))

    @property
    def name(self) -> str:
        """The name from ``.shstrtab``."""
        return self._file.elf.section_name(self.index)

    @property
    def sh_name(self) -> int:
        """Index of the name in ``.shstrtab``."""
        return self.row[0]

    @property
    def sh_type(self) -> int:
        """Section type."""
        return self.row[1]

    @property
    def type_name(self) -> str | None:
        """``SHT_…`` name of the type; ``None`` when it has none."""
        return table.TYPE_NAMES.get(self.row[1])

    @property
    def sh_flags(self) -> int:
        """Flag bits."""
        return self.row[2]

    @property
    def flag_names(self) -> list[str]:
        """Names of the set flag bits that have one."""
        flags = self.row[2]
        return [name for bit, name in table.FLAG_NAMES.items() if flags & bit == bit]

    @property
    def sh_addr(self) -> int:
        """Virtual address (0 in every cubin seen)."""
        return self.row[3]

    @property
    def sh_offset(self) -> int:
        """Absolute offset of the body."""
        return self.row[4]

    @property
    def sh_size(self) -> int:
        """Bytes in memory; also in the file unless the section holds none."""
        return self.row[5]

    @property
    def sh_link(self) -> int:
        """Index of the section this one needs."""
        return self.row[6]

    @property
    def sh_info(self) -> int:
        """Meaning by type: a section, a symbol, a count."""
        return self.row[7]

    @property
    def sh_addralign(self) -> int:
        """Alignment in bytes."""
        return self.row[8]

    @property
    def sh_entsize(self) -> int:
        """Bytes per entry of a table."""
        return self.row[9]

    @property
    def is_mercury(self) -> bool:
        """Whether the section belongs to the Mercury half (sm_100 and up)."""
        return bool(self.row[2] & SHF_CUDA_MERCURY)

    @property
    def has_bytes(self) -> bool:
        """Whether the section has a body in the file."""
        return occupies_file(self.row[1], self.row[2])

    @property
    def data(self) -> bytes:
        """The body, empty when the section holds no bytes.

        Raises:
            BadOffsetError, TruncatedError: the file ends before the body does.
        """
        return self._file.elf.section_bytes(self.index)

    @property
    def kind(self) -> str | None:
        """Kind by the section table, such as ``function_info``; ``None`` for an unknown name."""
        found = kind_row(self.name)
        return None if found is None else found[1].kind

    @property
    def body(self) -> str:
        """What the body holds by the section table, such as ``eiattr`` or ``sass``."""
        found = kind_row(self.name)
        return "data" if found is None else found[1].body

    @property
    def function_name(self) -> str | None:
        """Name of the function that the section's own name states, if it states one."""
        found = kind_row(self.name)
        if found is None or found[0] == self.name or not found[0].endswith("."):
            return None
        return self.name[len(found[0]) :]

    @property
    def info_records(self) -> list[InfoRecord]:
        """The attributes of an ``.nv.info`` or ``.nv.compat`` stream; empty for other types."""
        return self._file.info_records_of(self.index)

    @property
    def relocations(self) -> Sequence[RelocationLike]:
        """The relocations held by this section (:class:`.relocation.Relocation`), if any."""
        return self._file.relocations_of(self.index)


class SectionList:
    """All sections, by index or by name. Objects are made when asked for."""

    __slots__ = ("_by_name", "_file")

    def __init__(self, file: SectionOwner) -> None:
        self._file = file
        self._by_name: dict[str, int] | None = None

    def __repr__(self) -> str:
        return f"<SectionList: {len(self)} sections>"

    def _repr_html_(self) -> str:
        from cubinspec.model.frames import html_table

        head = ("index", "name", "type_name", "sh_offset", "sh_size", "sh_addralign")
        rows = [[getattr(section, name) for name in head] for section in self]
        return html_table(f"{len(self)} sections", head, rows)

    def rows(self) -> list[dict[str, Any]]:
        """One flat dictionary per section."""
        from cubinspec.model.frames import SECTION_COLUMNS, flat_rows

        return flat_rows(self, SECTION_COLUMNS)

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``, one row per section.

        Raises:
            MissingPackageError: pyarrow is not installed.
        """
        from cubinspec.model.frames import SECTION_COLUMNS, arrow_table

        return arrow_table(self, SECTION_COLUMNS)

    def __len__(self) -> int:
        return len(self._file.elf.section_rows)

    def __iter__(self) -> Iterator[Section]:
        file = self._file
        for index, row in enumerate(file.elf.section_rows):
            yield Section(file, index, row)

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __getitem__(self, key: int | str) -> Section:
        rows = self._file.elf.section_rows
        if isinstance(key, str):
            return Section(self._file, self._names()[key], rows[self._names()[key]])
        if key < 0:
            key += len(rows)
        if not 0 <= key < len(rows):
            raise IndexError(key)
        return Section(self._file, key, rows[key])

    def get(self, name: str) -> Section | None:
        """The first section of that name."""
        index = self._names().get(name)
        return None if index is None else self[index]

    def _names(self) -> dict[str, int]:
        names = self._by_name
        if names is None:
            names = {}
            for index, name in enumerate(self._file.elf.section_names):
                names.setdefault(name, index)
            self._by_name = names
        return names


class Segment(FrozenValue):
    """One program header; the fields are those of the file.

    Attributes:
        index: position in the program header table.
    """

    __match_args__ = (
        "index",
        "p_type",
        "p_flags",
        "p_offset",
        "p_vaddr",
        "p_paddr",
        "p_filesz",
        "p_memsz",
        "p_align",
    )
    __slots__ = __match_args__
    index: int
    p_type: int
    p_flags: int
    p_offset: int
    p_vaddr: int
    p_paddr: int
    p_filesz: int
    p_memsz: int
    p_align: int

    def __init__(
        self,
        index: int,
        p_type: int,
        p_flags: int,
        p_offset: int,
        p_vaddr: int,
        p_paddr: int,
        p_filesz: int,
        p_memsz: int,
        p_align: int,
    ) -> None:
        put = object.__setattr__
        put(self, "index", index)
        put(self, "p_type", p_type)
        put(self, "p_flags", p_flags)
        put(self, "p_offset", p_offset)
        put(self, "p_vaddr", p_vaddr)
        put(self, "p_paddr", p_paddr)
        put(self, "p_filesz", p_filesz)
        put(self, "p_memsz", p_memsz)
        put(self, "p_align", p_align)

    @property
    def name(self) -> str | None:
        """``PT_…`` name of the type."""
        from cubinspec_generated.tables.elf_header import SEGMENT_TYPE_NAMES

        return SEGMENT_TYPE_NAMES.get(self.p_type)
