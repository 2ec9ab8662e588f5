"""Who calls whom: the four lists of ``.nv.callgraph`` and the signatures of ``.nv.prototype``."""

from __future__ import annotations

from cubinspec.reader.streams import MARKERS, lists_of
from cubinspec_generated.codes import (
    CALLGRAPH_ADDRESS_TAKEN,
    CALLGRAPH_CALLS,
    CALLGRAPH_INDIRECT_CALLS,
    CALLGRAPH_REFERENCES,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.model.symbol import SymbolList


class Edge:
    """A pair of functions: ``caller`` calls or mentions ``callee``."""

    __slots__ = ("callee_index", "caller_index", "symbols")

    def __init__(self, symbols: SymbolList, caller: int, callee: int) -> None:
        self.symbols: SymbolList = symbols
        self.caller_index: int = caller
        self.callee_index: int = callee

    def __repr__(self) -> str:
        return f"<Edge {self.name}>"

    @property
    def caller(self) -> str | None:
        """Name of the calling function."""
        return self.symbols.name_of(self.caller_index)

    @property
    def callee(self) -> str | None:
        """Name of the function called."""
        return self.symbols.name_of(self.callee_index)

    @property
    def name(self) -> str:
        """``caller -> callee``"""
        return f"{self.caller} -> {self.callee}"


class Signature:
    """A function and a signature such as ``#iil`` (one letter per value).

    Letters after ``|`` carry ABI data (registers). Source: strings of real files; the meaning of
    the letters beyond ``i`` (4 bytes) and ``l`` (8 bytes) is inferred.
    """

    __slots__ = ("ofs_signature", "symbol_index", "symbols")

    def __init__(self, symbols: SymbolList, symbol_index: int, ofs_signature: int) -> None:
        self.symbols: SymbolList = symbols
        self.symbol_index: int = symbol_index
        #: Index of the text in the symbol table's string table.
        self.ofs_signature: int = ofs_signature

    def __repr__(self) -> str:
        return f"<Signature of {self.name or self.symbol_index}>"

    @property
    def name(self) -> str | None:
        """Name of the function."""
        return self.symbols.name_of(self.symbol_index)

    @property
    def signature(self) -> str:
        """The signature text.

        Raises:
            BadIndexError, BadStringError: the index points outside the string table.
        """
        return self.symbols.strings.get(self.ofs_signature)


class CallGraph:
    """The four lists of ``.nv.callgraph``, each started by its marker ``<0, -n>``.

    Attributes:
        calls: direct calls.
        address_taken: functions whose address is taken, with their signature.
        indirect_calls: functions that call through a pointer, with the signature called.
        references: functions that mention another one in data or code.
        markers: number of the lists present, in file order.
        other: pairs before any marker (not seen in a real file).
    """

    __slots__ = ("address_taken", "calls", "indirect_calls", "markers", "other", "references")

    def __init__(self, rows: list[tuple[int, int]], symbols: SymbolList) -> None:
        self.calls: list[Edge] = []
        self.address_taken: list[Signature] = []
        self.indirect_calls: list[Signature] = []
        self.references: list[Edge] = []
        self.markers: list[int] = []
        self.other: list[tuple[int, int]] = []
        firsts, seconds = zip(*rows, strict=True) if rows else ((), ())
        for marker, start, stop in lists_of(firsts, seconds):
            pairs = rows[start:stop]
            if marker is None:
                self.other += pairs
                continue
            self.markers.append(MARKERS.index(marker) + 1)
            if marker == CALLGRAPH_CALLS:
                self.calls += [Edge(symbols, *pair) for pair in pairs]
            elif marker == CALLGRAPH_ADDRESS_TAKEN:
                self.address_taken += [Signature(symbols, *pair) for pair in pairs]
            elif marker == CALLGRAPH_INDIRECT_CALLS:
                self.indirect_calls += [
                    Signature(symbols, first, second) for first, second in pairs
                ]
            elif marker == CALLGRAPH_REFERENCES:
                self.references += [Edge(symbols, *pair) for pair in pairs]

    def __repr__(self) -> str:
        return f"<CallGraph: {len(self.calls)} calls, {len(self.references)} references>"

    def _repr_html_(self) -> str:
        from cubinspec.model.frames import html_table

        rows = [(edge.caller, "calls", edge.callee) for edge in self.calls]
        rows += [(edge.caller, "refers to", edge.callee) for edge in self.references]
        rows += [(each.name, "calls a", each.signature) for each in self.indirect_calls]
        rows += [(each.name, "may be called as", each.signature) for each in self.address_taken]
        return html_table(f"call graph: {len(rows)} rows", ("function", "", ""), rows)
