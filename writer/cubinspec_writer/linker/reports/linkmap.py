"""The link map: where every input section and symbol went and why, as JSON (map.schema.json)."""

from __future__ import annotations

from cubinspec.reader.elf import Elf
from cubinspec_generated.codes import (
    SHF_EXECINSTR,
    SHF_INFO_LINK,
    SHN_UNDEF,
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_INFO,
    SHT_CUDA_PROTOTYPE,
    SHT_CUDA_RELOCINFO,
    SHT_CUDA_SHARED,
    SHT_CUDA_UDT_ENTRY,
    SHT_CUDA_UFT_ENTRY,
    SHT_NOTE,
    SHT_NULL,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    STO_CUDA_SHARED,
    STT_FUNC,
    STT_SECTION,
)
from cubinspec_writer.linker.inputs.options import TOOL_VERSION
from cubinspec_writer.linker.library.copies import defined_here
from cubinspec_writer.linker.library.outsymbols import is_linked
from cubinspec_writer.linker.reports.reasons import Demand, Reasons, function_reason, verdict
from cubinspec_writer.linker.reports.sharing import shared_constants, shared_memory
from cubinspec_writer.linker.write.contents import has_mercury_copy, mercury_copy_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec_writer.linker.inputs.rows import InSection, InSymbol
    from cubinspec_writer.linker.inputs.sources import HostObject
    from cubinspec_writer.linker.model import InputObject, OutSection, Symbol
    from cubinspec_writer.linker.state import LinkState

    Json = dict[str, Any]

_VERSION = 1
#: Type of sections that are written anew -> from what.
_REBUILT = {
    SHT_STRTAB: "string tables are written for the symbols of the output",
    SHT_SYMTAB: "the symbol table is written for the whole program",
    SHT_CUDA_INFO: "attributes of all inputs are joined, entries get those of what they call",
    SHT_CUDA_CALLGRAPH: "the call graphs of all inputs are joined",
    SHT_CUDA_PROTOTYPE: "signatures of all inputs are joined",
    SHT_CUDA_COMPAT_INFO: "records of all inputs are joined, value by value",
    SHT_CUDA_RELOCINFO: "written by the linker",
    SHT_NOTE: "notes of all inputs are joined behind the linker's own",
    SHT_CUDA_UFT_ENTRY: "rows of all inputs are joined",
    SHT_CUDA_UDT_ENTRY: "rows of all inputs are joined",
    SHT_REL: "rows are applied or moved with the section that they belong to",
    SHT_RELA: "rows are applied or moved with the section that they belong to",
}


def link_map(
    data: bytes,
    messages: list[tuple[str, str]],
    hosts: list[HostObject],
    half: LinkState,
    mercury: LinkState | None,
) -> Json:
    """The map of one link.

    Args:
        data: the linked cubin.
        messages: (level, text) of all messages.
        hosts: inputs as the host program sees them.
        half, mercury: the linked program.
    """
    main = _HalfMap(half, half, _indices(data))
    halves = [main] if mercury is None else [main, _HalfMap(mercury, half, main.indices)]
    objects = half.objects
    return {
        "schema": f"cubinspec.link-map/{_VERSION}",
        "version": _VERSION,
        "tool": TOOL_VERSION,
        "arch": half.job.options.arch,
        "relocatable": half.job.options.relocatable,
        "messages": [{"level": level, "text": text} for level, text in messages],
        "host_objects": [
            {"register": h.register, "names_kernels": h.external is not None} for h in hosts
        ],
        "inputs": [
            {
                "name": obj.name,
                "sections": [row for part in halves for row in part.input_sections(number)],
                "symbols": [main.symbol(obj, row) for row in obj.symbols if row.index],
            }
            for number, obj in enumerate(objects)
        ],
        "sections": [row for part in halves for row in part.output_sections()],
        "kernels": main.kernels(),
        "unfinished": [
            {"name": function.name, "reason": reason}
            for function, reason in half.sections.unfinished.items()
        ],
        "shared_memory": shared_memory(half),
        "shared_constants": shared_constants(half.constants),
    }


def _indices(data: bytes) -> dict[str, list[int]]:
    """Section name -> its indices in the output; sections of one name keep their order."""
    found: dict[str, list[int]] = {}
    for index, name in enumerate(Elf(data, "output").section_names):
        found.setdefault(name, []).append(index)
    return found


class _HalfMap:
    """The map of one half of the program.

    Args:
        half: this half.
        main: the SASS half, or the only one; sections that exist once belong to it.
        indices: see `_indices`.
    """

    def __init__(self, half: LinkState, main: LinkState, indices: dict[str, list[int]]) -> None:
        self.half = half
        self.main = main
        self.name = "sass" if half is main else "mercury"
        self.indices = indices
        self.reasons = Reasons(half)
        self.index: dict[OutSection, int] = {}
        self.sources: dict[OutSection, list[Json]] = {}
        #: Functions of every input by their code section.
        self._owners: dict[int, dict[int, tuple[InSymbol, Symbol]]] = {}
        counts: dict[str, int] = {}
        for section in self._emitted():
            final = self._final_name(section)
            at = counts.get(final, 0)
            counts[final] = at + 1
            if at < len(indices.get(final, ())):
                self.index[section] = indices[final][at]
        for obj in half.objects:
            for number, placed in enumerate(obj.placed):
                if placed is None:
                    continue
                section, offset = placed
                source = {"input": obj.name, "section": number, "offset": offset}
                for place, shift in self._places(section):
                    self.sources.setdefault(place, []).append(source | {"offset": offset + shift})

    def _emitted(self) -> list[OutSection]:
        emitted = [section for section in self.half.sections.all() if section.emitted]
        if self.half is self.main:
            return emitted
        return [section for section in emitted if has_mercury_copy(self.half.job.toolkit, section)]

    def _final_name(self, section: OutSection) -> str:
        if self.half is self.main:
            return section.name
        return mercury_copy_name(section)

    def _places(self, section: OutSection) -> list[tuple[OutSection, int]]:
        """Sections of the output that hold the bytes of a section, with offsets."""
        if section in self.half.sections.staging:
            return self.half.constants.copies.get(section, [])
        return [(section, 0)]

    # -- sections ------------------------------------------------------------------------------

    def input_sections(self, number: int) -> list[Json]:
        """Every section of one input that belongs to this half."""
        obj = self.half.objects[number]
        rows = []
        for section, twin in zip(obj.sections, self.main.objects[number].sections, strict=True):
            is_own = self.half is self.main or twin.sh_type == SHT_NULL
            if section.sh_type != SHT_NULL and is_own:
                rows.append(self._input_section(obj, section, twin.name))
        return rows

    def _input_section(self, obj: InputObject, section: InSection, name: str) -> Json:
        fate, reason, places = self._fate(obj, section)
        return {
            "index": section.index,
            "name": name,
            "half": self.name,
            "type": section.sh_type,
            "size": section.size,
            "fate": fate,
            "reason": reason,
            "to": [
                {
                    "section": self._final_name(place),
                    "index": self.index[place],
                    "offset": offset,
                }
                for place, offset in places
                if place in self.index
            ],
        }

    def _fate(
        self, obj: InputObject, section: InSection
    ) -> tuple[str, str, list[tuple[OutSection, int]]]:
        placed = obj.placed[section.index]
        if placed is not None:
            target, offset = placed
            places = [(place, offset + shift) for place, shift in self._places(target)]
            if target in self.half.sections.staging:
                if not places:
                    return "dropped", "constants of a function that no kernel reaches", []
                return "copied", "constants are in the bank of every kernel that needs them", places
            if section.sh_type == SHT_CUDA_SHARED:
                return "merged", "its variables are placed one by one", places
            if section.sh_type == SHT_CUDA_INFO:
                return "rebuilt", _REBUILT[SHT_CUDA_INFO], places
            return "merged", _merge_reason(target), places
        if section.sh_type in _REBUILT and not self._is_of_dropped(obj, section):
            return "rebuilt", _REBUILT[section.sh_type], []
        return "dropped", self._drop_reason(obj, section), []

    def _owner(self, obj: InputObject, section: InSection) -> tuple[InSymbol, Symbol] | None:
        """The function whose code a section is, or belongs to."""
        owners = self._owners.get(id(obj))
        if owners is None:
            owners = self._owners[id(obj)] = {
                row.shndx: (row, symbol)
                for row, symbol in zip(obj.symbols, obj.bound, strict=True)
                if row.kind == STT_FUNC and row.shndx and symbol is not None
            }
        if section.flags & SHF_EXECINSTR:
            return owners.get(section.index)
        return owners.get(section.info) if section.flags & SHF_INFO_LINK else None

    def _is_of_dropped(self, obj: InputObject, section: InSection) -> bool:
        owner = self._owner(obj, section)
        return owner is not None and not (owner[1].live and defined_here(obj, owner[0].index))

    def _drop_reason(self, obj: InputObject, section: InSection) -> str:
        owner = self._owner(obj, section)
        if owner is None:
            return "nothing of it is needed in the output"
        row, function = owner
        if not function.live:
            return f"{function.name}: {function_reason(self.reasons, function)}"
        if not defined_here(obj, row.index) and function.definition is not None:
            return f"{function.name} of {function.definition[0].name} is linked instead"
        return f"empty, or made anew for {function.name}"

    def output_sections(self) -> list[Json]:
        """Every section of the output that this half makes."""
        state = self.half
        rows = []
        for section in self._emitted():
            rows.append(
                {
                    "index": self.index.get(section),
                    "name": self._final_name(section),
                    "half": self.name,
                    "size": section.size,
                    "align": section.align,
                    "owner": section.owner.name if section.owner is not None else None,
                    "from": self.sources.get(section, []),
                    "relocations": {
                        "applied": len(state.relocations.applied.get(section, ())),
                        "kept": sum(
                            len(found.relocs)
                            for is_rela in (False, True)
                            if (found := state.relocations.find(section, is_rela)) is not None
                        ),
                    },
                }
            )
        return rows

    # -- symbols -------------------------------------------------------------------------------

    def symbol(self, obj: InputObject, row: InSymbol) -> Json:
        """One symbol of an input."""
        symbol = obj.bound[row.index]
        fate, reason = self._symbol_fate(obj, row, symbol)
        place = symbol.section if symbol is not None and fate == "linked" else None
        return {
            "index": row.index,
            "name": obj.sections[row.shndx].name if row.kind == STT_SECTION else row.name,
            "fate": fate,
            "reason": reason,
            "to": None
            if symbol is None or place is None
            else {
                "section": self._final_name(place),
                "index": self.index.get(place),
                "value": symbol.value,
                "symbol": symbol.index or None,
            },
        }

    def _symbol_fate(
        self, obj: InputObject, row: InSymbol, symbol: Symbol | None
    ) -> tuple[str, str]:
        if symbol is None:
            if row.kind == STT_SECTION:
                return "rebuilt", "sections of the output have symbols of their own"
            return "dropped", "it has no name"
        if not is_linked(self.half.shared, symbol):
            return "dropped", function_reason(self.reasons, symbol)
        if row.shndx == SHN_UNDEF or not defined_here(obj, row.index):
            if symbol.definition is None:
                return "undefined", "the driver supplies it, or it stays open"
            other = f"{symbol.definition[0].name} (symbol {symbol.definition[1].index})"
            if row.shndx == SHN_UNDEF:
                return "resolved", f"defined in {other}"
            return "duplicate", f"the definition of {other} is linked"
        what = verdict(self.half, symbol)
        if symbol.is_function:
            return "linked", function_reason(self.reasons, symbol)
        if what == "linked, without a symbol":
            return "linked", "it serves relocations only, which are applied"
        return "linked", "variables are linked whether something uses them or not"

    # -- kernels -------------------------------------------------------------------------------

    def kernels(self) -> list[Json]:
        """What every kernel needs, and where that comes from."""
        return [
            {
                "name": kernel.name,
                "symbol": kernel.index,
                "functions": [f.name for f in self.half.graph.reachable(kernel)],
                "registers": self._demand(self.reasons.registers(kernel)),
                "stack": self._demand(self.reasons.stack(kernel)),
                "shared": [
                    {"name": v.name, "offset": v.value, "size": v.size}
                    for section in self.half.sections.made
                    if section.owner is kernel and section.sh_type == SHT_CUDA_SHARED
                    for v in self._variables(kernel)
                ],
                **self._unfinished(kernel),
            }
            for kernel in self.reasons.kernels
        ]

    def _unfinished(self, kernel: Symbol) -> Json:
        """Why the code of a kernel is the input's although nvlink's finalizer changes it."""
        reason = self.half.sections.unfinished.get(kernel)
        return {} if reason is None else {"unfinished": reason}

    def _variables(self, kernel: Symbol) -> list[Symbol]:
        """Static shared variables that the code of a kernel and of what it calls names."""
        functions = set(self.half.graph.reachable(kernel))
        found: dict[Symbol, None] = {}
        for target, applied in self.half.relocations.applied.items():
            if target.owner in functions:
                for reloc in applied:
                    if reloc.symbol.space == STO_CUDA_SHARED and reloc.symbol.is_defined:
                        found.setdefault(reloc.symbol)
        return list(found)

    def _demand(self, demand: Demand) -> Json:
        facts = self.reasons.facts
        return {
            "value": demand.value,
            "path": [
                {
                    "function": f.name,
                    "registers": facts.registers.get(f),
                    "frame": facts.frame.get(f, 0),
                }
                for f in demand.path
            ],
        }


def _merge_reason(target: OutSection) -> str:
    if target.flags & SHF_EXECINSTR and target.owner is not None:
        return f"code of {target.owner.name}, which is linked"
    if target.owner is not None:
        return f"belongs to {target.owner.name}, which is linked"
    return "data and debug sections of all inputs are joined by name"
