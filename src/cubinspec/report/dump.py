"""Everything a cubin says, in file order, as dictionaries and lists ready for JSON."""

from __future__ import annotations

from fnmatch import fnmatchcase
from math import isfinite

from cubinspec.format.metadata import metadata_rows
from cubinspec.format.packing import memory_space, words
from cubinspec.format.sections import CALLGRAPH_TYPES, INFO_TYPES, PROTOTYPE_TYPES, RELOCATION_TYPES
from cubinspec.model.symbol import SymbolList
from cubinspec_generated import record_fields, records
from cubinspec_generated.codes import (
    CAPSULE_COUNT,
    CAPSULE_COUNT_SHIFT,
    CAPSULE_MARK,
    CAPSULE_SHORT,
    CAPSULE_SHORT_BYTES,
    CAPSULE_UNIT,
    CAPSULE_UNITS_MASK,
    CAPSULE_UNMARKED,
    EMFMT_STRING,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_METADATA,
    SHT_NOTE,
    SHT_STRTAB,
    SHT_SYMTAB,
    STT_FUNC,
)
from cubinspec_generated.tables import eiattr as eiattr_table
from cubinspec_generated.tables import elf_header as header_table
from cubinspec_generated.tables import symbols as symbol_table
from cubinspec_generated.tables.sections import METADATA_FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cubinspec.model.callgraph import CallGraph, Edge, Signature
    from cubinspec.model.cubin import Cubin
    from cubinspec.model.info import InfoRecord
    from cubinspec.model.notes import Note
    from cubinspec.model.section import Section
    from cubinspec.model.symbol import Symbol

#: Bytes of the word with which a counting record of a capsule starts.
_LEN_COUNT = 2
#: Bodies of fixed-size records: heads, then the record that repeats to the end.
_RECORD_BODIES = {
    "rel_action": (
        (records.REL_ACTION_HEADER, record_fields.REL_ACTION_HEADER_FIELDS),
        (records.REL_ACTION_ENTRY, record_fields.REL_ACTION_ENTRY_FIELDS),
    ),
    "uft": ((records.UFT_ENTRY, record_fields.UFT_ENTRY_FIELDS),),
}


def dump_record(cubin: Cubin, pattern: str | None = None) -> dict[str, Any]:
    """The whole file (schema ``dump.schema.json``).

    Args:
        pattern: shell pattern; only sections whose name fits it are included.
    """
    return {
        "file": cubin.name,
        "size": cubin.size,
        "header": header_record(cubin),
        "segments": segment_records(cubin),
        "sections": [section_record(cubin, section) for section in matching(cubin, pattern)],
    }


def matching(cubin: Cubin, pattern: str | None) -> list[Section]:
    """Sections in file order: by offset, those without bytes at the place they name."""
    order = sorted(cubin.sections, key=lambda section: (section.sh_offset, section.index))
    return [s for s in order if pattern is None or fnmatchcase(s.name, pattern)]


def header_record(cubin: Cubin) -> dict[str, Any]:
    """The ELF header; ``flags`` holds the bit fields of ``e_flags`` for the file's ABI."""
    header = cubin.header
    layout = header_table.FLAG_FIELDS.get(header.os_abi, ())
    return {
        "class": 64 if header.is_64 else 32,
        "os_abi": header.os_abi,
        "os_abi_name": header_table.OSABI_NAMES.get(header.os_abi),
        "abi_version": header.abi_version,
        "e_type": header.e_type,
        "type_name": header.type_name,
        "e_machine": header.e_machine,
        "e_version": header.e_version,
        "e_entry": header.e_entry,
        "e_phoff": header.e_phoff,
        "e_shoff": header.e_shoff,
        "e_flags": header.e_flags,
        "flags": {part.name: header.e_flags >> part.bit & (1 << part.width) - 1 for part in layout},
        "e_ehsize": header.e_ehsize,
        "e_phentsize": header.e_phentsize,
        "e_phnum": header.e_phnum,
        "e_shentsize": header.e_shentsize,
        "e_shnum": header.e_shnum,
        "e_shstrndx": header.e_shstrndx,
        "arch": cubin.arch,
    }


def segment_records(cubin: Cubin) -> list[dict[str, Any]]:
    """The program headers."""
    return [
        {
            "index": segment.index,
            "p_type": segment.p_type,
            "type_name": segment.name,
            "p_flags": segment.p_flags,
            "p_offset": segment.p_offset,
            "p_vaddr": segment.p_vaddr,
            "p_paddr": segment.p_paddr,
            "p_filesz": segment.p_filesz,
            "p_memsz": segment.p_memsz,
            "p_align": segment.p_align,
        }
        for segment in cubin.segments
    ]


def section_record(cubin: Cubin, section: Section) -> dict[str, Any]:
    """One section header and its decoded body under ``content``."""
    return {
        "index": section.index,
        "name": section.name,
        "kind": section.kind,
        "body": section.body,
        "sh_type": section.sh_type,
        "type_name": section.type_name,
        "sh_flags": section.sh_flags,
        "flag_names": section.flag_names,
        "sh_addr": section.sh_addr,
        "sh_offset": section.sh_offset,
        "sh_size": section.sh_size,
        "sh_link": section.sh_link,
        "sh_info": section.sh_info,
        "sh_addralign": section.sh_addralign,
        "sh_entsize": section.sh_entsize,
        "content": content(cubin, section),
    }


def content(cubin: Cubin, section: Section) -> dict[str, Any]:
    """The decoded body: one key that says what it is; ``bytes`` (hex) when it is opaque."""
    sh_type = section.sh_type
    if not section.has_bytes or not section.sh_size:
        return {}
    if sh_type == SHT_STRTAB:
        return {"strings": _strings(section.data)}
    if sh_type in (SHT_SYMTAB, SHT_CUDA_MERC_SYMTAB):
        return {"symbols": [symbol_record(s) for s in cubin.symbol_table(section.index)]}
    if sh_type in RELOCATION_TYPES:
        return {"relocations": _relocations(section)}
    if sh_type in INFO_TYPES:
        symbols = _symbols_of(cubin, section)
        return {"records": [info_record(record, symbols) for record in section.info_records]}
    if sh_type in CALLGRAPH_TYPES:
        return {"callgraph": _callgraph(cubin.callgraph_of(section.index))}
    if sh_type in PROTOTYPE_TYPES:
        return {"prototypes": [_signature(s) for s in cubin.prototypes_of(section.index)]}
    if section.body == "nv_debug":
        from cubinspec.report.debug import debug_content

        return debug_content(cubin, section)
    if section.body == "dwarf":
        return _dwarf(cubin, section)
    if sh_type == SHT_NOTE:
        return {"notes": [note_record(note) for note in cubin.notes_of(section.index)]}
    fields = _fields(cubin, section)
    if fields is not None:
        return {"fields": fields}
    return {"bytes": section.data.hex()}


def _dwarf(cubin: Cubin, section: Section) -> dict[str, Any]:
    if section.name.endswith(".debug_str"):
        return {"strings": _strings(section.data)}
    from cubinspec.report.dwarf import dwarf_content

    return dwarf_content(cubin, section)


def _fields(cubin: Cubin, section: Section) -> list[dict[str, Any]] | None:
    """A body of fixed-size records, a head before entries; ``None`` for any other body."""
    if section.body == "capmerc":
        return _capsule(section.data)
    if section.body == "uidx":
        return _uidx(section.data)
    if section.body == "metadata" and section.sh_type == SHT_CUDA_METADATA:
        return _metadata(cubin, section.data)
    if section.body == "symtab_shndx":
        return [{"index": index} for index in words(section.data)]
    layouts = _RECORD_BODIES.get(section.body)
    data = section.data
    if layouts is None:
        return None
    *heads, (layout, names) = layouts
    if len(data) < sum(head.size for head, _ in heads):
        return None
    found: list[dict[str, Any]] = []
    at = 0
    for head, head_names in heads:
        found.append(dict(zip(head_names, head.unpack_from(data, at), strict=True)))
        at += head.size
    while at + layout.size <= len(data):
        found.append(dict(zip(names, layout.unpack_from(data, at), strict=True)))
        at += layout.size
    if at < len(data):
        found.append({"offset": at, "bytes": data[at:].hex()})
    return found


def _metadata(cubin: Cubin, data: bytes) -> list[dict[str, Any]]:
    """The nodes of ``.nv.metadata``, each followed by its values, and further bytes."""
    found: list[dict[str, Any]] = []
    text_at = cubin.symbols.strings.text_or_offset
    end = 0
    for number, ofs_name, values, at in metadata_rows(data):
        end = at + records.METADATA_NODE.size + records.METADATA_VALUE.size * len(values)
        found.append({"number": number, "name": text_at(ofs_name)})
        for form, value in values:
            shown = text_at(value) if form == EMFMT_STRING else value
            found.append({"format": METADATA_FORMATS.get(form, form), "value": shown})
    if end < len(data):
        found.append({"offset": end, "bytes": data[end:].hex()})
    return found


def _uidx(data: bytes) -> list[dict[str, Any]] | None:
    """An index of unified functions and data: the head, the entries, and further bytes."""
    head, row = records.UIDX_HEADER, records.UIDX_ENTRY
    if len(data) < head.size:
        return None
    fields = dict(zip(record_fields.UIDX_HEADER_FIELDS, head.unpack_from(data), strict=True))
    num_rows = min(fields["num_uft"] + fields["num_udt"], (len(data) - head.size) // row.size)
    end = head.size + num_rows * row.size
    found: list[dict[str, Any]] = [fields | {"magic": fields["magic"].hex()}]
    found += [
        dict(zip(record_fields.UIDX_ENTRY_FIELDS, values, strict=True))
        for values in row.iter_unpack(data[head.size : end])
    ]
    if end < len(data):
        found.append({"offset": end, "bytes": data[end:].hex()})
    return found


def _capsule(data: bytes) -> list[dict[str, Any]] | None:
    """A Mercury capsule: the head, one bit per item, and the records, each with its bytes.

    A record that counts says how many machine instructions the one behind it becomes.
    """
    head, names = records.CAPSULE_HEADER, record_fields.CAPSULE_HEADER_FIELDS
    old, old_names = records.UNMARKED_CAPSULE_HEADER, record_fields.UNMARKED_CAPSULE_HEADER_FIELDS
    if len(data) < old.size:
        return None
    fields = dict(zip(old_names, old.unpack_from(data), strict=True))
    number = fields["marked_count"] ^ CAPSULE_UNMARKED
    at = old.size
    if fields["marked_count"] == CAPSULE_MARK and len(data) >= head.size:
        fields = dict(zip(names, head.unpack_from(data), strict=True))
        number, at = fields["num_items"], head.size
    elif number >= CAPSULE_UNMARKED:
        return None
    end = min(at + 4 * ((number + 31) // 32), len(data))
    return [fields, {"flags": data[at:end].hex()}, *_capsule_records(data, end)]


def _capsule_records(data: bytes, at: int) -> Iterator[dict[str, Any]]:
    while at < len(data):
        first = data[at]
        record: dict[str, Any] = {"offset": at}
        if first & CAPSULE_COUNT == CAPSULE_COUNT:
            size = _LEN_COUNT
            word = int.from_bytes(data[at : at + size], "little")
            record["num_instructions"] = word >> CAPSULE_COUNT_SHIFT
        elif first & CAPSULE_SHORT:
            size = CAPSULE_SHORT_BYTES
        else:
            size = max((first & CAPSULE_UNITS_MASK) * CAPSULE_UNIT, 1)
        yield record | {"bytes": data[at : at + size].hex()}
        at += size


def _symbols_of(cubin: Cubin, section: Section) -> SymbolList:
    return cubin.mercury_symbols if section.is_mercury else cubin.symbols


def _strings(data: bytes) -> list[dict[str, Any]]:
    found = []
    at = 0
    for part in data.split(b"\0"):
        if part:
            found.append({"offset": at, "text": part.decode("utf-8", "surrogateescape")})
        at += len(part) + 1
    return found


def symbol_record(symbol: Symbol) -> dict[str, Any]:
    """One symbol with its CUDA bits by name."""
    other = symbol.st_other
    is_function = symbol.st_type == STT_FUNC
    names = symbol_table.OTHER_FUNC_NAMES if is_function else symbol_table.OTHER_OBJECT_NAMES
    section = symbol.section
    return {
        "index": symbol.index,
        "name": symbol.display_name,
        "type": symbol.st_type,
        "type_name": symbol.type_name,
        "bind": symbol.st_bind,
        "bind_name": symbol.bind_name,
        "visibility": symbol_table.VISIBILITY_NAMES.get(symbol.visibility),
        "other": other,
        "other_names": [name for bit, name in names.items() if other & bit],
        "space": symbol_table.SPACE_NAMES.get(memory_space(other)),
        "st_shndx": symbol.st_shndx,
        "section": section.name if section else symbol_table.SPECIAL_SECTIONS.get(symbol.st_shndx),
        "value": symbol.st_value,
        "size": symbol.st_size,
    }


def _relocations(section: Section) -> list[dict[str, Any]]:
    found = []
    for relocation in section.relocations:
        symbol = relocation.symbol
        found.append(
            {
                "offset": relocation.r_offset,
                "type": relocation.r_type,
                "name": relocation.name,
                "symbol_index": relocation.symbol_index,
                "symbol": symbol.display_name if symbol else None,
                "addend": relocation.r_addend,
                "meaning": relocation.meaning,
            }
        )
    return found


def info_record(record: InfoRecord, symbols: SymbolList) -> dict[str, Any]:
    """One attribute; symbol indices get their name in ``symbols``, values of sets in ``names``."""
    found: dict[str, Any] = {
        "offset": record.offset,
        "code": record.code,
        "name": record.name,
        "format": record.format,
        "format_name": record.format_name,
        "value": record.value,
        "payload": record.payload.hex(),
        "fields": _json_value(record.fields),
    }
    referenced = {
        index: symbols.name_of(index) for kind, index in record.references if kind == "symbol"
    }
    if referenced:
        found["symbols"] = {str(index): name for index, name in referenced.items()}
    names = _value_names(record)
    if names:
        found["names"] = names
    return found


def _json_value(value: Any) -> Any:
    """Fields as JSON can hold them: infinite and undefined numbers become ``None``."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _json_value(item) for key, item in value.items()}
    return [_json_value(item) for item in value] if isinstance(value, list) else value


def _value_names(record: InfoRecord) -> list[str]:
    """Meanings of the values that an enumeration of the table names."""
    layout, fields = record.layout, record.fields
    if layout is None or not fields:
        return []
    tagged = record.tagged
    if tagged is not None:
        tags = dict.fromkeys(entry[tagged.tag] for entry in fields["entries"])
        return [eiattr_table.ENUMS[tagged.enum][tag] for tag in tags]
    found: list[str] = []
    for entry in fields.get("entries", [fields]):
        for name, kind in zip(layout.names, layout.references, strict=True):
            # a word that the table splits into bit fields is shown by those
            if not kind.startswith("enum:") or name not in entry:
                continue
            enum = kind[len("enum:") :]
            values, value = eiattr_table.ENUMS[enum], entry[name]
            if enum in eiattr_table.BITSETS:
                found += [text for bit, text in values.items() if value >> bit & 1]
            elif value in values:
                found.append(values[value])
    return found


def _callgraph(graph: CallGraph) -> dict[str, Any]:
    return {
        "markers": graph.markers,
        "calls": [_edge(edge) for edge in graph.calls],
        "address_taken": [_signature(item) for item in graph.address_taken],
        "indirect_calls": [_signature(item) for item in graph.indirect_calls],
        "references": [_edge(edge) for edge in graph.references],
        "other": [list(pair) for pair in graph.other],
    }


def _edge(edge: Edge) -> dict[str, Any]:
    return {
        "caller_index": edge.caller_index,
        "caller": edge.caller,
        "callee_index": edge.callee_index,
        "callee": edge.callee,
    }


def _signature(item: Signature) -> dict[str, Any]:
    return {
        "symbol_index": item.symbol_index,
        "symbol": item.name,
        "ofs_signature": item.ofs_signature,
        "signature": item.signature,
    }


def note_record(note: Note) -> dict[str, Any]:
    """One note with the fields its type has."""
    found: dict[str, Any] = {
        "offset": note.offset,
        "owner": note.owner,
        "type": note.type,
        "name": note.name,
        "desc": note.desc.hex(),
        "note_version": note.note_version,
    }
    for field in (
        "object_file",
        "tool_name",
        "tool_version",
        "tool_branch",
        "arguments",
        "virtual_sm",
        "toolkit_version",
    ):
        value = getattr(note, field)
        if value is not None:
            found[field] = value
    return found
