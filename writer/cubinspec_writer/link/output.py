"""Pass 11: order of sections, symbol numbers, string tables, program headers, bytes."""

from __future__ import annotations

import struct

from . import callgraph, info, notes
from .callgraph import Graph
from .model import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_WRITE,
    SHT_CUDA_COMPAT,
    SHT_CUDA_GLOBAL,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_INFO,
    SHT_CUDA_RELOCINFO,
    SHT_CUDA_RESOLVED_RELA,
    SHT_CUDA_SHARED,
    SHT_CUDA_SHARED_RESERVED,
    SHT_NOBITS,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    STB_GLOBAL,
    STB_LOCAL,
    STB_WEAK,
    STO_CUDA_ENTRY,
    STO_CUDA_MANAGED,
    STV_INTERNAL,
    STT_CUDA_OBJECT,
    STT_OBJECT,
    STT_SECTION,
    InputObject,
    OutSection,
    Space,
    Symbol,
    align_up,
    is_constant,
)
from .relocate import is_table_placeholder
from .state import LinkState

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_REL, _RELA = struct.Struct("<QQ"), struct.Struct("<QQq")
PT_LOAD, PT_PHDR = 1, 6
PF_X, PF_W, PF_R = 1, 2, 4
_REL_ACTION = bytes.fromhex("73000000000000000000001125000536")
_FIXED = (".shstrtab", ".strtab", ".symtab", ".symtab_shndx", ".note.nv.tkinfo", ".note.nv.cuinfo")


class StringPool:
    """A string table in order of first use, each string once."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self.offsets: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        """Offset of a string, which is appended when it is new."""
        at = self.offsets.get(text)
        return self.append(text) if at is None else at

    def append(self, text: str) -> int:
        at = len(self.data)
        self.offsets.setdefault(text, at)
        self.data += text.encode("utf-8", "surrogateescape") + b"\0"
        return at


def start(state: LinkState) -> dict[str, OutSection]:
    """Name the sections that every output has, before anything else is named."""
    fixed = {
        ".shstrtab": OutSection(".shstrtab", SHT_STRTAB, 0, 1),
        ".strtab": OutSection(".strtab", SHT_STRTAB, 0, 1),
        ".symtab": OutSection(".symtab", SHT_SYMTAB, 0, 8, _SYMBOL.size),
        ".nv.info": OutSection(".nv.info", SHT_CUDA_INFO, 0, 4),
    }
    for note in notes.note_sections(state):
        note.symbol = Symbol("", STB_LOCAL, STT_SECTION, 0, section=note, entered=True)
        fixed[note.name] = note
    if state.profile.has_compat:
        fixed[".nv.compat"] = OutSection(".nv.compat", SHT_CUDA_COMPAT, 0, 4)
    for name in (*_FIXED, ".nv.info", *([".nv.compat"] if state.profile.has_compat else [])):
        state.section_names.setdefault(name)
        state.entries.append(fixed.get(name, name))
    return fixed


def group_of(state: LinkState, section: OutSection) -> int:
    """Which part of the file a section lies in; creation order holds inside a part."""
    kind = section.sh_type
    if kind in (SHT_REL, SHT_RELA, SHT_CUDA_RESOLVED_RELA):
        return 5
    if kind == SHT_CUDA_INFO:
        return 3
    if section.name.startswith((".nv.callgraph", ".nv.prototype", ".nv.rel.action")):
        return 4
    if is_constant(kind):
        last = state.profile.constant0_last and kind == 0x70000064
        return 10 if last else 6
    if section.flags & SHF_EXECINSTR:
        return 7
    if kind == SHT_CUDA_GLOBAL_INIT:
        return 8
    if section.is_nobits:
        return 9
    return 1


def order_sections(state: LinkState, fixed: dict[str, OutSection]) -> list[OutSection]:
    """All sections of the output in index order, the null section excluded."""
    emitted = [s for s in state.sections if s.emitted]
    emitted.sort(key=lambda s: (group_of(state, s), s.order))
    debug = [s for s in emitted if group_of(state, s) == 1]
    rest = [s for s in emitted if group_of(state, s) != 1]
    head = [fixed[".shstrtab"], fixed[".strtab"], fixed[".symtab"]]
    middle = [fixed[".note.nv.tkinfo"], fixed[".note.nv.cuinfo"]]
    if any(info.global_records(obj) for obj in state.objects):
        middle.append(fixed[".nv.info"])
    if ".nv.compat" in fixed:
        middle.append(fixed[".nv.compat"])
    ordered = head + debug + middle + rest
    for index, section in enumerate(ordered, 1):
        section.index = index
    return ordered


def is_empty_shared(section: OutSection) -> bool:
    """A shared section of size 0 is in the output without a section symbol."""
    return section.sh_type == SHT_CUDA_SHARED and section.size == 0


def is_dropped(state: LinkState, symbol: Symbol) -> bool:
    """Whether a symbol that was entered is left out of the symbol table of an executable."""
    if state.options.relocatable:
        return False
    return is_table_placeholder(symbol) or is_hidden(state, symbol)


def number_symbols(state: LinkState) -> tuple[list[Symbol], int]:
    """Final symbol order; returns the symbols (null excluded) and the index of the first global."""
    first: list[Symbol] = []
    for entry in state.entries:
        if isinstance(entry, str):
            continue
        if isinstance(entry, OutSection):
            if entry.symbol is not None and entry.emitted and not is_empty_shared(entry):
                first.append(entry.symbol)
        elif not is_dropped(state, entry):
            first.append(entry)
    second = [s for s in state.globals if not is_dropped(state, s)]
    for index, symbol in enumerate(first + second, 1):
        symbol.index = index
    return first + second, len(first) + 1


def output_info(state: LinkState, symbol: Symbol) -> tuple[int, int]:
    """st_info and st_other as an executable has them."""
    kind, other, bind = symbol.kind, symbol.other, symbol.bind
    if not state.options.relocatable:
        if kind == STT_CUDA_OBJECT:
            kind = STT_OBJECT
        if symbol.internal:
            other = STV_INTERNAL
        else:
            other &= STO_CUDA_ENTRY | STO_CUDA_MANAGED | 3 if symbol.is_function else 0x07
    return bind << 4 | kind, other


def build(
    state: LinkState,
    graph: Graph,
    fixed: dict[str, OutSection],
    graph_sections: tuple[OutSection, OutSection],
) -> bytes:
    """Number, fill and serialise."""
    ordered = order_sections(state, fixed)
    symbols, first_global = number_symbols(state)
    strings = StringPool()
    # An empty signature has a place of its own, apart from the table's first byte.
    signatures = {text: strings.append(text) for text in state.signatures}
    for entry in state.entries:
        if isinstance(entry, str):
            strings.add(entry)
        elif not isinstance(entry, Symbol) or not is_hidden(state, entry):
            strings.add(entry.name)
    for symbol in state.globals:
        if not is_hidden(state, symbol):
            strings.add(symbol.name)
    names = StringPool()
    for name in state.section_names:
        names.add(name)
    fixed[".shstrtab"].data += names.data
    fixed[".strtab"].data += strings.data
    symtab = fixed[".symtab"]
    symtab.link, symtab.info_value = fixed[".strtab"], first_global
    symtab.data += bytes(_SYMBOL.size)
    for symbol in symbols:
        st_info, other = output_info(state, symbol)
        shndx = symbol.section.index if symbol.section else 0
        value = symbol.value
        if symbol.space == Space.SHARED and not state.options.relocatable:
            value += state.profile.reserved_shared
        symtab.data += _SYMBOL.pack(
            strings.add(symbol.section.name)
            if symbol.kind == STT_SECTION and symbol.section
            else strings.add(symbol.name),
            st_info,
            other,
            shndx,
            value,
            symbol.size,
        )
    tkinfo, cuinfo = fixed[".note.nv.tkinfo"], fixed[".note.nv.cuinfo"]
    tkinfo.data += notes.tool_notes(state)
    cuinfo.data += notes.cuda_note(state)
    cuinfo.link = tkinfo
    cuinfo.info_section = fixed.get(".nv.compat")
    if ".nv.compat" in fixed:
        fixed[".nv.compat"].data += notes.compat_bytes(state)
    info.fill(state, graph, fixed[".nv.info"].data)
    callgraph.fill(state, graph, graph_sections, signatures)
    for section in ordered:
        if section.sh_type in (SHT_REL, SHT_RELA, SHT_CUDA_RESOLVED_RELA):
            pack_relocs(section)
        if section.flags & SHF_EXECINSTR and section.owner:
            top = section.info_value if state.profile.register_count_in_text else 0
            section.info_value = top | section.owner.index
        if section.sh_type in (
            SHT_CUDA_INFO, SHT_REL, SHT_RELA, SHT_CUDA_RESOLVED_RELA, 0x70000001, 0x70000002
        ) or section.flags & SHF_EXECINSTR:
            section.link = symtab
    return serialise(state, ordered, names.offsets)


def is_hidden(state: LinkState, symbol: Symbol) -> bool:
    """Whether not even the name of a symbol is in the string table."""
    if state.options.relocatable or state.options.preserve_relocs:
        return False
    return symbol.internal or (symbol.space == Space.SHARED)


def pack_relocs(section: OutSection) -> None:
    rows = bytearray()
    for r in reversed(section.relocs):
        r_info = r.symbol.index << 32 | r.r_type
        if section.sh_type != SHT_REL:
            rows += _RELA.pack(r.offset, r_info, r.addend)
        else:
            rows += _REL.pack(r.offset, r_info)
    section.data = rows


def output_type(state: LinkState, section: OutSection) -> int:
    if state.options.relocatable:
        return section.sh_type
    if section.sh_type in (SHT_CUDA_GLOBAL, SHT_CUDA_SHARED, SHT_CUDA_SHARED_RESERVED):
        return SHT_NOBITS
    if section.sh_type == SHT_CUDA_GLOBAL_INIT or is_constant(section.sh_type):
        return SHT_PROGBITS
    return section.sh_type


def serialise(state: LinkState, ordered: list[OutSection], names: dict[str, int]) -> bytes:
    at = _HEADER.size
    for section in ordered:
        at = align_up(at, section.align)
        section.offset = at
        if not section.is_nobits:
            at += section.size
    e_shoff = align_up(at, 8)
    e_phoff = e_shoff + _SECTION.size * (len(ordered) + 1)
    executable = not state.options.relocatable
    segments = program_headers(ordered, e_phoff) if executable else []
    cuinfo = next(s.index for s in ordered if s.name == ".note.nv.cuinfo")
    flags = notes.target_sm(state.options.arch) << 8 | state.profile.flags_kind | cuinfo << 24
    ident = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7)
    out = bytearray(
        _HEADER.pack(
            ident, 2 if executable else 1, 190, 1, 0, e_phoff if executable else 0, e_shoff, flags, 64, 56,
            len(segments), 64, len(ordered) + 1, 1,
        )
    )
    for section in ordered:
        if not section.is_nobits:
            out += bytes(section.offset - len(out))
            out += section.data
    out += bytes(e_shoff - len(out))
    out += bytes(_SECTION.size)
    for s in ordered:
        out += _SECTION.pack(
            names[s.name], output_type(state, s), s.flags, 0, s.offset, s.size,
            s.link.index if s.link else 0,
            s.info_section.index if s.info_section else s.info_value, s.align, s.entsize,
        )
    for segment in segments:
        out += _SEGMENT.pack(*segment)
    return bytes(out)


def program_headers(ordered: list[OutSection], e_phoff: int) -> list[tuple[int, ...]]:
    alloc = [s for s in ordered if s.flags & SHF_ALLOC]
    code = [s for s in alloc if not s.flags & SHF_WRITE]
    data = [s for s in alloc if s.flags & SHF_WRITE]
    count = 2 + bool(code) + bool(data)
    size = count * _SEGMENT.size
    rows = [(PT_PHDR, PF_R | PF_X, e_phoff, 0, 0, size, size, 8)]
    if code:
        begin, end = code[0].offset, code[-1].offset + code[-1].size
        rows.append((PT_LOAD, PF_R | PF_X, begin, 0, 0, end - begin, end - begin, 8))
    if data:
        begin = data[0].offset
        file_end = begin
        for s in data:
            file_end = s.offset + (0 if s.is_nobits else s.size)
        memory = file_end - begin
        for s in data:
            if s.is_nobits:
                memory = align_up(memory, s.align) + s.size
        rows.append((PT_LOAD, PF_R | PF_W, begin, 0, 0, file_end - begin, memory, 8))
    rows.append((PT_LOAD, PF_R | PF_X, e_phoff, 0, 0, size, size, 8))
    return rows


__all__ = ["SHT_CUDA_RELOCINFO", "STB_GLOBAL", "STB_WEAK", "InputObject", "build", "start"]
