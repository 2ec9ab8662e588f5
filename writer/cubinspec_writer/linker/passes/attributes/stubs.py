"""Attributes of the stubs of unified functions, which share one section."""

from __future__ import annotations

from cubinspec.format.attributes import raw_record
from cubinspec_generated.codes import EIATTR_LANGUAGE, EIATTR_SPARSE_MMA_MASK, EIFMT_HVAL
from cubinspec_writer.linker.library.unified import STUB_ATTRIBUTES
from cubinspec_writer.linker.passes.attributes.takeover import (
    Taker,
    fill_externs,
    met_functions,
    with_words,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cubinspec.format.attributes import RawRecord
    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.library.demands import Collected, Demands
    from cubinspec_writer.linker.model import OutSection, Symbol
    from cubinspec_writer.linker.state import Attributes, Sections, Unified

#: What nvlink adds to the attributes of all stubs.
_NO_MASK: Final = raw_record(EIFMT_HVAL, EIATTR_SPARSE_MMA_MASK, 0)


def collect_stubs(
    diagnostics: Diagnostics,
    sections: Sections,
    unified: Unified,
    attributes: Attributes,
    collected: Collected,
    demands: Demands | None,
    *,
    is_alone: bool,
) -> StubAttributes:
    """Let the stubs take over what the functions ask for, if there are several kernels or none.

    Args:
        demands: None with `-r`, where nothing is taken over.
        is_alone: there is one kernel.
    """
    stubs = StubAttributes(sections, unified)
    if demands is None or is_alone:
        return stubs
    met = met_functions(attributes, collected)
    position = {function: at for at, function in enumerate(met)}
    everything = {stub: demands.graph.reachable(stub) for stub in reversed(stubs.records)}
    for function in met:
        reaching = [stub for stub, below in everything.items() if function in below]
        for record in collected.asked.get(function, ()):
            for stub in reaching:
                stubs.take(diagnostics, stub, record)
    for stub, reached in everything.items():
        below = sorted((f for f in reached if f in position), key=position.__getitem__)
        fill_externs(stub, stubs.records[stub], below, collected.externs, None)
    return stubs


class StubAttributes:
    """The attributes of all stubs, which share one section.

    Kernels take records one kernel at a time. Here each function in turn gives each of its records
    to all stubs that reach it, the last stub first. Only the first stub owns the records of the
    section, so what the others take is added (rule U12).

    Rules X4, X5.

    Attributes:
        records: for every stub, those that count as its own, with what it takes behind them.
        languages: what the last record of the program gets behind its payload.
    """

    section: OutSection | None
    records: dict[Symbol, list[RawRecord]]
    languages: list[RawRecord]

    def __init__(self, sections: Sections, unified: Unified) -> None:
        self.section = sections.find(STUB_ATTRIBUTES)
        own = self.section.records if self.section is not None else []
        self.records = {stub: [] if number else own[:] for number, stub in enumerate(unified.stubs)}
        self.taken: list[tuple[Symbol, int]] = []
        self.languages = []
        self._spoken: dict[Symbol, tuple[Symbol, int] | None] = {}

    def take(self, diagnostics: Diagnostics, stub: Symbol, record: RawRecord) -> None:
        """Let a stub take over a record.

        The first language of each is lost, others go to the record that was added last, whatever
        it says (rule X24).
        """
        if record[1] == EIATTR_LANGUAGE:
            if stub in self._spoken:
                self._speak(self._spoken[stub], record)
            else:
                self._spoken[stub] = self.taken[-1] if self.taken else None
            return
        records = self.records[stub]
        num_known = len(records)
        Taker(diagnostics, stub, records).take(record)
        self.taken += [(stub, record[1]) for record in records[num_known:]]

    def _speak(self, place: tuple[Symbol, int] | None, record: RawRecord) -> None:
        if place is None:
            self.languages.append(record)
            return
        stub, code = place
        records = self.records[stub]
        at = next(i for i, known in enumerate(records) if known[1] == code)
        records[at] = with_words(records[at], record)

    def write(self, mercury: Sections | None) -> None:
        """Write the section.

        Args:
            mercury: the sections of the Mercury half, when this is the SASS half.
        """
        if self.section is None:
            return
        taken = [
            record
            for stub, code in self.taken
            for record in self.records[stub]
            if record[1] == code
        ]
        first = next(iter(self.records.values()), [])
        every = first[len(self.section.records) - 1 :: -1]
        twin = mercury.find(STUB_ATTRIBUTES) if mercury is not None else None
        known = {record[1] for record in (twin or self.section).records}
        own = [record for record in every if record[1] in known]
        # A record that the finalizer adds to all stubs stands there once.
        added = dict.fromkeys(record for record in reversed(every) if record[1] not in known)
        self.section.content = b"".join((*own, *taken, _NO_MASK, *added))
