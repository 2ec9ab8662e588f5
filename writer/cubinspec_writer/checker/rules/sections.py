"""Rules about section headers: types, flags, and what they refer to."""

from __future__ import annotations

from cubinspec.format.sections import UFT, info_target
from cubinspec.format.targets import family_of, toolkit_of
from cubinspec.model.section import kind_row
from cubinspec_generated.codes import (
    SHF_ALLOC,
    SHF_CUDA_MERCURY,
    SHF_EXECINSTR,
    SHI_SYMBOL_MASK,
    SHN_LORESERVE,
    SHN_XINDEX,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_CONSTANT_B0,
    SHT_CUDA_CONSTANT_B2,
    SHT_CUDA_CONSTANT_B3,
    SHT_CUDA_GLOBAL,
    SHT_CUDA_GLOBAL_INIT,
    SHT_CUDA_INFO,
    SHT_CUDA_MERC_INFO,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_SHARED,
    SHT_CUDA_UFT_ENTRY,
    SHT_NOTE,
    SHT_PROGBITS,
    SHT_STRTAB,
    SHT_SYMTAB,
    STT_FUNC,
)
from cubinspec_generated.rows import SectionKind
from cubinspec_writer.checker.rules.base import CENSUS, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cubinspec_writer.checker.rules.base import Found
    from cubinspec_writer.checker.view import View

_SYMBOL_TABLES = (SHT_SYMTAB, SHT_CUDA_MERC_SYMTAB)
#: Meaning of sh_link in ksy/tables/sections.yaml -> section types that it may name.
_LINKED_TYPES = {
    "symtab": _SYMBOL_TABLES,
    "merc_symtab": _SYMBOL_TABLES,
    "strtab": (SHT_STRTAB,),
    "tkinfo": (SHT_NOTE,),
}
#: Type of a section in a relocatable file -> what its type is called in an executable.
_RELOCATABLE_ONLY = {
    SHT_CUDA_GLOBAL: "NOBITS",
    SHT_CUDA_SHARED: "NOBITS",
    SHT_CUDA_GLOBAL_INIT: "PROGBITS",
    SHT_CUDA_CONSTANT_B0: "PROGBITS",
    SHT_CUDA_CONSTANT_B2: "PROGBITS",
    SHT_CUDA_CONSTANT_B3: "PROGBITS",
}
#: What the names of Mercury sections start with.
_MERCURY_NAMES = (".nv.merc.", ".nv.capmerc.")
_CAPSULE = ".nv.capmerc"
#: Bytes of the section index at the start of a capsule.
_WORD = 4


#: Stands for a name that the table does not have: nothing is demanded of such a section.
_NO_KIND = SectionKind("", "", "", True, 0, 0, 0, "", "", (), 0, "")


def kind_of(view: View, index: int) -> SectionKind:
    """The row of the section table for a section."""
    found = kind_row(view.names[index])
    return _NO_KIND if found is None else found[1]


def _has_stale_links(view: View) -> bool:
    """Whether links were written before .nv.uft.entry was dropped, as CUDA 12.0 to 12.3 do."""
    return toolkit_of(view.header.e_version).stale_links


@rule(
    "CUB002",
    "Section indices in section headers and symbols name sections of the file.",
    CENSUS,
    "Renumber the reference; a removed section leaves stale indices in sh_link, sh_info, st_shndx.",
)
def _indices(view: View) -> Iterator[Found]:
    count = len(view.sections)
    for index, header in enumerate(view.sections[1:], 1):
        if header.sh_link >= count and not _has_stale_links(view):
            yield *view.header_place(index), f"sh_link is {header.sh_link}"
        names_section = info_target(view.names[index], header.sh_type) is not None
        if names_section and header.sh_info >= count:
            yield *view.header_place(index), f"sh_info is {header.sh_info}"
    for symtab, symbols in view.symbol_tables():
        for number, symbol in enumerate(symbols):
            st_shndx = symbol.st_shndx
            if count <= st_shndx and not SHN_LORESERVE <= st_shndx <= SHN_XINDEX:
                where = view.sections[symtab].sh_offset
                yield where, f"{view.names[symtab]}[{number}].st_shndx", f"section {st_shndx}"


@rule(
    "CUB003",
    "sh_link is what the kind of section asks for: a symbol table, a string table, the other note.",
    CENSUS + " (CUDA 12.0 to 12.3 leave a stale index after dropping .nv.uft.entry; the second "
    "writer links .nv.info and .nv.callgraph to nothing)",
    "Set sh_link to .symtab (.nv.merc.symtab in the Mercury half), .strtab for symbol tables, "
    ".note.nv.tkinfo for .note.nv.cuinfo.",
)
def _links(view: View) -> Iterator[Found]:
    if _has_stale_links(view):
        return
    for index, header in enumerate(view.sections):
        if header.sh_link >= len(view.sections):
            continue
        meaning = kind_of(view, index).link
        wanted = _LINKED_TYPES.get(meaning)
        if wanted is None or view.sections[header.sh_link].sh_type in wanted:
            continue
        if not header.sh_link and _may_link_to_nothing(view, header.sh_type, meaning):
            continue
        yield *view.header_place(index), f"sh_link is section {header.sh_link}"


def _may_link_to_nothing(view: View, sh_type: int, meaning: str) -> bool:
    # nvlink makes the rows of a table of functions before there are symbols
    if sh_type == SHT_CUDA_UFT_ENTRY and UFT in view.index_of:
        return True
    # the cuinfo note of a file without tool note links to nothing
    return view.has_table_first or meaning == "tkinfo"


@rule(
    "CUB004",
    "sh_info of .nv.info.<f>, constant banks and relocations is the section they belong to, that "
    "of code the symbol of its function.",
    CENSUS + " (two files of an early sm_100 compiler mix the halves)",
    "Set sh_info to the index of the section whose name follows the prefix, for .text.<f> and its "
    "capsule to the index of the function symbol.",
)
def _owners(view: View) -> Iterator[Found]:
    for index, header in enumerate(view.sections):
        name = view.names[index]
        if kind_of(view, index).info == "function_symbol":
            yield from _code_owner(view, index, header.sh_info & SHI_SYMBOL_MASK)
            continue
        target = info_target(name, header.sh_type)
        if target is None or name.startswith((".note.", ".nv.constant0")):
            continue
        if target not in view.index_of or header.sh_info >= len(view.sections):
            continue
        stated = view.names[header.sh_info]
        # two files of an early sm_100 compiler mix the halves
        mixes_halves = view.is_mercury(index) and stated.startswith(".text.")
        if stated != target and not mixes_halves:
            message = f"sh_info is {stated or header.sh_info}, expected {target}"
            yield *view.header_place(index), message


def _code_owner(view: View, index: int, number: int) -> Iterator[Found]:
    """Faults of the symbol number in the header of code; it is 0 in files of the second writer."""
    symbols = view.symbols_for(index)
    if number >= max(len(symbols), 1):
        yield *view.header_place(index), f"sh_info names symbol {number} of {len(symbols)}"
        return
    if not number:
        return
    symbol = symbols[number]
    if symbol.st_type != STT_FUNC:
        yield *view.header_place(index), f"sh_info names symbol {number}, which is no function"
    elif symbol.st_shndx != index and not view.is_mercury(index):
        message = f"sh_info names a function of section {symbol.st_shndx}"
        yield *view.header_place(index), message


@rule(
    "CUB023",
    "Executables hold data as PROGBITS and NOBITS; the CUDA data types are for relocatable files.",
    CENSUS,
    "Change sh_type (Mercury sections keep theirs).",
)
def _data_types(view: View) -> Iterator[Found]:
    if not view.is_executable:
        return
    for index, header in enumerate(view.sections):
        wanted = _RELOCATABLE_ONLY.get(header.sh_type)
        if wanted is not None and not view.is_mercury(index):
            yield *view.header_place(index), f"{header.sh_type:#x}, expected {wanted}"


@rule(
    "CUB025",
    "Word 0 of a capsule is the index of its text section.",
    "745 of 745 capsules of CUDA 13.0, 22,321 of the census",
    "Set it to the section index of .text.<f>.",
)
def _capsules(view: View) -> Iterator[Found]:
    for index in view.of_type(SHT_CUDA_CAPMERC):
        body = view.body(index)
        if len(body) < _WORD:
            continue
        text = int.from_bytes(body[:_WORD], "little")
        wanted = view.names[index].removeprefix(_CAPSULE)
        if text >= len(view.names) or view.names[text] != wanted:
            where = view.sections[index].sh_offset
            yield where, view.path(index), f"section {text}, expected {wanted}"


@rule(
    "CUB026",
    "Mercury sections carry SHF_CUDA_MERCURY and stand only in files for sm_100 and later.",
    CENSUS,
    "Remove the sections or set the flag 0x10000000.",
)
def _mercury(view: View) -> Iterator[Found]:
    for index, header in enumerate(view.sections):
        is_named = view.names[index].startswith(_MERCURY_NAMES)
        if is_named != bool(header.sh_flags & SHF_CUDA_MERCURY):
            yield *view.header_place(index), f"sh_flags {header.sh_flags:#x}"
        elif is_named and view.is_abi_8 and not family_of(view.sm).capsule:
            yield *view.header_place(index), f"in a file for sm_{view.sm}"


@rule(
    "CUB028",
    "Code is loadable, executable and linked to the symbol table.",
    CENSUS,
    "sh_flags SHF_ALLOC and SHF_EXECINSTR, type PROGBITS.",
)
def _code(view: View) -> Iterator[Found]:
    needed = SHF_ALLOC | SHF_EXECINSTR
    for index, header in enumerate(view.sections):
        is_code = view.names[index].startswith(".text.") and header.sh_type == SHT_PROGBITS
        if is_code and header.sh_flags & needed != needed:
            yield *view.header_place(index), f"sh_flags {header.sh_flags:#x}"


@rule(
    "CUB030",
    "A section has a type and the flags of its kind; attributes stand in sections named for them.",
    "ksy/tables/sections.yaml; " + CENSUS,
    "Give sh_type and sh_flags the values of the table; tools find sections by type.",
)
def _section_kinds(view: View) -> Iterator[Found]:
    for index, header in enumerate(view.sections):
        row = kind_of(view, index)
        if not row.kind:
            if header.sh_type in (SHT_CUDA_INFO, SHT_CUDA_MERC_INFO):
                yield *view.header_place(index), f"attributes in {view.names[index]!r}"
            continue
        types = (row.relocatable, row.executable, *row.other_types)
        if header.sh_type not in types:
            yield *view.header_place(index), f"sh_type {header.sh_type:#x}"
        missing = row.flags & ~header.sh_flags & ~row.optional_flags
        if missing:
            yield *view.header_place(index), f"sh_flags lacks {missing:#x}"
