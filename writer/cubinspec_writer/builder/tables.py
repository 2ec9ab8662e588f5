"""The tables behind the functions: frames, relocations of data, call graph, prototypes."""

from __future__ import annotations

from itertools import islice

from cubinspec.format.sections import mercury_name
from cubinspec_generated.codes import (
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_PROTOTYPE,
    SHT_CUDA_RELOCINFO,
    SHT_PROGBITS,
)
from cubinspec_generated.codes_sizes import (
    SIZEOF_CALLGRAPH_ENTRY,
    SIZEOF_PROTOTYPE_ENTRY,
    SIZEOF_REL_ACTION_ENTRY,
)
from cubinspec_generated.columns import REL_ACTIONS
from cubinspec_writer.builder.parts import ADDRESS_TAKEN, CALLS, LOCAL, REFERENCES
from cubinspec_writer.emitter import bodies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec_writer.builder.assembly import Assembly, ImageBank
    from cubinspec_writer.builder.parts import CubinParts, DebugSection, Frame, Relocation
    from cubinspec_writer.emitter.model import Section

#: In extensible programs a function whose address is taken has a number, a symbol of this prefix.
_FUNCTION_ID = "$funcID$"
#: Constants of a function.
_CONSTANTS = ".nv.constant2."
#: Texts of line and debug data.
_STRINGS = ".debug_str"
#: Sections of data in the order of their relocation sections; those of functions follow.
_DATA_ORDER = (".nv.constant4", ".nv.constant3", ".nv.global.init")


def add_frames(assembly: Assembly, frame: Frame) -> None:
    """Make ``.debug_frame``, and the relocation sections of data and frames."""
    section = assembly.add_section(".debug_frame", SHT_PROGBITS, bodies.Blob(frame.data))
    section.has_symbol = bool(frame.data)
    _add_debug(assembly)
    number = assembly.num_first_data
    _add_data_relocations(assembly, assembly.data_sections[:number])
    banks = [] if assembly.parts.names_shared else assembly.image_banks
    mixed = any(bank.function is assembly.parts.functions[0] for bank in banks)
    first, others = banks[:mixed], banks[mixed:]
    _add_indices(assembly, first)
    _add_both(assembly, section, frame.relocations)
    if frame.relocations and not assembly.relocatable and not assembly.finalizer:
        assembly.drop_section(".rela" + section.name)
    _add_data_relocations(assembly, assembly.data_sections[number:])
    _add_indices(assembly, others)


def _add_data_relocations(
    assembly: Assembly, sections: list[tuple[Section, list[Relocation]]]
) -> None:
    for data, relocations in sorted(sections, key=data_rank):
        if id(data) in assembly.resolved and not relocations:
            _name_resolved(assembly, data)
        elif _has_applied_addends(assembly, data, relocations):
            assembly.drop_section(".rela" + data.name)
        _add_both(assembly, data, relocations)


def _add_debug(assembly: Assembly) -> None:
    """Make line and debug sections, each with its relocations behind it."""
    parts = assembly.parts.debug
    waiting: list[tuple[Section, DebugSection]] = []
    for at, part in enumerate(parts):
        section = assembly.add_section(part.name, SHT_PROGBITS, bodies.Blob(part.data))
        section.has_symbol = None if part.data else False
        waiting.append((section, part))
        if [one.name for one in parts[at + 1 : at + 2]] == [_STRINGS]:
            # made with the first relocation that names it
            continue
        for made, described in waiting:
            _add_debug_relocations(assembly, made, described)
        waiting = []


def _add_debug_relocations(assembly: Assembly, section: Section, part: DebugSection) -> None:
    rows = part.relocations
    # ptxas gives all relocations of some sections an addend, although it is 0
    with_rel = part.resolved or any(row.addend is None for row in rows)
    prefixes = [".rel"] if with_rel else []
    if assembly.finalizer or any(row.addend is not None for row in rows):
        prefixes.insert(0 if part.names_strings else len(prefixes), ".rela")
    elif part.names_strings:
        assembly.drop_section(".rela" + section.name)
    for prefix in prefixes if rows or part.names_strings else ():
        if prefix == ".rela" and not assembly.finalizer:
            _mention_all(assembly, rows)
        assembly.add_relocations(prefix, section, rows)
    _mention_all(assembly, rows)
    for name in part.labels:
        assembly.mention(name)


def _mention_all(assembly: Assembly, rows: list[Relocation]) -> None:
    for row in rows:
        assembly.mention(row.symbol)


def _add_indices(assembly: Assembly, banks: list[ImageBank]) -> None:
    prefixes = [".rela", ".rel"] if assembly.finalizer else [".rel"]
    if not assembly.parts.has_call_graph:
        prefixes.reverse()
    for bank in banks:
        for prefix in prefixes:
            assembly.add_relocations(prefix, bank.section, bank.relocations)


def data_rank(data: tuple[Section, list[Relocation]]) -> int:
    """Relocation sections of data are made bank by bank, those of functions last."""
    section, _ = data
    name = section.name
    return _DATA_ORDER.index(name) if name in _DATA_ORDER else len(_DATA_ORDER)


def _name_resolved(assembly: Assembly, data: Section) -> None:
    """Leave the names of relocation sections whose relocations were all applied.

    For the constants of a function the finalizer writes an empty section instead, in an extensible
    program for other data, too, unless it holds numbers of functions.
    """
    is_own = data.name.startswith(_CONSTANTS)
    has_ids = bool(assembly.function_ids.get(id(data)))
    given = assembly.resolved_prefixes.get(id(data))
    is_kept = assembly.finalizer and assembly.parts.extensible and not given
    if is_kept and not (is_own or has_ids):
        for prefix in (".rel", ".rela"):
            assembly.add_relocations(prefix, data, [])
        return
    if not is_own:
        prefixes = given or ((".rel", ".rela") if assembly.finalizer else (".rel",))
    elif assembly.finalizer:
        assembly.add_relocations(".rela", data, [])
        prefixes = (".rel",)
    else:
        prefixes = (".rela", ".rel")
    name = (mercury_name(data.name) if assembly.finalizer else None) or data.name
    ids = iter(assembly.function_ids.get(id(data), ()))
    _name_ids(assembly, islice(ids, 1))
    left = [prefix + name for prefix in prefixes]
    if assembly.parts.keeps_relocations and id(data) not in assembly.kept:
        # the finalizer makes it behind .rela, ptxas behind the first one
        left.insert(2 if assembly.finalizer else 1, f".nv.resolvedrela{name}")
    for one in left:
        assembly.drop_section(one)
    _name_ids(assembly, ids)


def _has_applied_addends(assembly: Assembly, data: Section, rows: list[Relocation]) -> bool:
    """Whether a classic file keeps only the name of the relocations with addends."""
    is_applied = id(data) in assembly.resolved and not assembly.finalizer
    if assembly.parts.extensible and assembly.parts.keeps_relocations:
        return False
    return is_applied and all(row.addend is None for row in rows)


def _name_ids(assembly: Assembly, functions: Iterator[str]) -> None:
    """Leave the names of the symbols that stand for numbers of functions."""
    for function in functions:
        name = _FUNCTION_ID + function
        if name not in assembly.named_ids:
            assembly.named_ids.add(name)
            assembly.drop_name(name)


def _add_both(assembly: Assembly, of: Section, rows: list[Relocation]) -> None:
    """Make the relocation sections of both kinds."""
    if not rows:
        return
    prefixes = [".rel", ".rela"]
    if of.name.startswith(_CONSTANTS) and rows[0].addend is not None:
        prefixes.reverse()
    for prefix in prefixes:
        wanted = [row for row in rows if (row.addend is None) == (prefix == ".rel")]
        if wanted or assembly.finalizer:
            assembly.add_relocations(prefix, of, rows)


def add_call_graph(assembly: Assembly) -> None:
    """Make call graph and prototypes; their sizes are known, their symbol numbers not yet."""
    parts = assembly.parts
    if not parts.has_call_graph:
        return
    num_rows = len(parts.edges) + len(_graph_lists(parts))
    assembly.add_section(
        ".nv.callgraph",
        SHT_CUDA_CALLGRAPH,
        bodies.Pairs([(0, 0)] * num_rows),
        align=4,
        entry_size=SIZEOF_CALLGRAPH_ENTRY,
    )
    taken = {function for kind, function, _ in parts.edges if kind == ADDRESS_TAKEN}
    signatures = {
        function.name: function.signature
        for function in parts.functions
        if function.signature and function.name not in taken and function.binding != LOCAL
    } | parts.signatures
    signatures |= {
        alias: signatures[name] for alias, name in parts.aliases.items() if name in signatures
    }
    # in the order in which the symbols were made
    assembly.prototypes = {
        name: signatures[name] for name in assembly.by_name if name in signatures
    }
    if assembly.relocatable and assembly.prototypes:
        assembly.add_section(
            ".nv.prototype",
            SHT_CUDA_PROTOTYPE,
            bodies.Pairs([(0, 0)] * len(assembly.prototypes)),
            align=4,
            entry_size=SIZEOF_PROTOTYPE_ENTRY,
        )
    else:
        assembly.drop_section(".nv.prototype")


def add_relocation_actions(assembly: Assembly) -> None:
    """Make the section that tells older drivers how to apply relocations."""
    first, rows = REL_ACTIONS["OF_FIELD" if assembly.parts.written.notes else "OF_BYTES"]
    actions = bodies.RelocActions(first, 0, list(rows))
    assembly.add_section(
        ".nv.rel.action",
        SHT_CUDA_RELOCINFO,
        actions,
        align=8,
        entry_size=SIZEOF_REL_ACTION_ENTRY,
    )


def _graph_lists(parts: CubinParts) -> tuple[int, ...]:
    """What begins the lists of the call graph; older files have no references."""
    return bodies.CALLGRAPH_MARKERS[: None if parts.written.lists_references else REFERENCES]


def graph_rows(assembly: Assembly) -> list[tuple[int, int | str]]:
    """The call graph with symbol numbers."""
    rows: list[tuple[int, int | str]] = []
    for kind, marker in enumerate(_graph_lists(assembly.parts)):
        rows.append((0, marker))
        for edge_kind, first, second in assembly.parts.edges:
            if edge_kind == kind:
                # the second one is a function, or in two of the lists a signature
                is_function = kind in (CALLS, REFERENCES)
                entry = assembly.index(second) if is_function else second
                rows.append((assembly.index(first), entry))
    return rows


def prototype_rows(assembly: Assembly) -> list[tuple[int, int | str]]:
    """The prototypes with symbol numbers."""
    return [(assembly.index(name), text) for name, text in assembly.prototypes.items()]
