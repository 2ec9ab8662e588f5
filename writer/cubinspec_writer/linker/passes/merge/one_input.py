"""Merging: what is known about one input."""

from __future__ import annotations

from cubinspec_writer.linker.library.copies import accepted_here, defined_here
from cubinspec_writer.linker.model import FRAMES, LINE_TABLES, OutSection, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec_writer.linker.finalizer.kept import Kept
    from cubinspec_writer.linker.inputs.rows import InSymbol
    from cubinspec_writer.linker.model import InputObject
    from cubinspec_writer.linker.state import (
        Attributes,
        Constants,
        Debug,
        Job,
        Maker,
        Names,
        Reach,
        Relocations,
        Sections,
        Symbols,
        Unified,
    )

#: Debug tables with an entry for every function.
TABLES_OF_CODE: Final = (FRAMES, *LINE_TABLES)
SHARED: Final = ".nv.shared."


class OneInput:
    """What merging has to know about one input, and the parts of the output that it fills.

    Attributes:
        owner: code section -> its function, for copies that are linked or were for a time.
        duplicates: the same for duplicates; of these, constants and shared variables stay.
        seen_duplicates: sections of such copies that were merged.
        duplicate_places: where their constants went; only their relocations ask.
        num_parts: parts of banks of compiler constants so far.
        skipped: code sections that are not linked.
        named_ends: for every section the end of its last named part; None: not computed yet.
        functions: symbols of functions.
        aliases: functions of which the code is that of another one.
        linked: output symbol by symbol number, of those that relocations name and that are linked
            as they stand in the input.
        cut: what stayed of debug tables, where entries of functions that are not linked go.
        is_counted: whether relocations are numbered in the order of merging.
    """

    __slots__ = (
        "aliases",
        "attributes",
        "constants",
        "cut",
        "debug",
        "duplicate_places",
        "duplicates",
        "functions",
        "is_counted",
        "job",
        "linked",
        "maker",
        "named_ends",
        "names",
        "num_parts",
        "obj",
        "owner",
        "reach",
        "relocations",
        "sections",
        "seen_duplicates",
        "skipped",
        "symbols",
        "unified",
    )

    def __init__(
        self,
        obj: InputObject,
        job: Job,
        names: Names,
        symbols: Symbols,
        sections: Sections,
        relocations: Relocations,
        constants: Constants,
        unified: Unified,
        attributes: Attributes,
        debug: Debug,
        reach: Reach,
        maker: Maker,
    ) -> None:
        self.obj: InputObject = obj
        self.job: Job = job
        self.names: Names = names
        self.symbols: Symbols = symbols
        self.sections: Sections = sections
        self.relocations: Relocations = relocations
        self.constants: Constants = constants
        self.unified: Unified = unified
        self.attributes: Attributes = attributes
        self.debug: Debug = debug
        self.reach: Reach = reach
        self.maker: Maker = maker
        self.owner: dict[int, Symbol] = {}
        self.duplicates: dict[int, Symbol] = {}
        self.seen_duplicates: set[int] = set()
        self.duplicate_places: dict[int, tuple[OutSection, int]] = {}
        self.num_parts: int = 0
        self.skipped: set[int] = set()
        self.named_ends: dict[int, int] | None = None
        self.functions: list[tuple[InSymbol, Symbol]] = []
        self.aliases: list[tuple[Symbol, InSymbol]] = []
        self.linked: dict[int, Symbol] = {}
        self.cut: dict[int, Kept] = {}
        self.is_counted: bool = job.options.preserve_relocs or job.options.relocatable


def is_dead(one: OneInput, index: int) -> bool:
    """Whether a symbol is a function that is not linked; what names it goes (rule X8)."""
    symbol = one.obj.bound[index]
    return symbol is not None and symbol.is_function and not symbol.live


def is_forgotten(one: OneInput, index: int) -> bool:
    """Whether the entry of a replaced copy loses its relocations.

    nvlink takes them from frame and line tables, of those with addends, when the code of any
    copy that gave way had relocations with addends (rule W3).
    """
    symbol = one.obj.bound[index]
    if symbol is None or not symbol.replaced or defined_here(one.obj, index):
        return False
    if not accepted_here(one.obj, index):
        return False
    return any(
        relocs.target == row.shndx and relocs.rows
        for obj, row in symbol.replaced
        for relocs in obj.relocs
    )
