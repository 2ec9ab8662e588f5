"""`cuobjdump -elf` as a view, and the same view of a cubin as cubinspec reads it."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

from cubinspec import Cubin
from cubinspec.model.info import InfoRecord
from cubinspec.model.symbol import Symbol
from cubinspec_generated.tables import eiattr
from cubinspec_generated.tables import symbols as symbol_table
from tests.differential.rows import Row, View

HEADER = re.compile(
    r"^(?P<cls>\d\d)-?bit (?:ELF|elf): type=(?P<type>\w+), (?:ABI|abi)=(?P<abi>\d+), "
    r"sm=(?P<sm>\w+), toolkit=(?P<toolkit>[\d.]+), flags ?= ?(?P<flags>0x[0-9a-f]+)"
)
SECTION = re.compile(
    r"^ *(?P<index>[0-9a-f]+) +(?P<offset>[0-9a-f]+) +(?P<size>[0-9a-f]+) +(?P<entsize>[0-9a-f]+)"
    r" +(?P<align>[0-9a-f]+) +(?P<type>UNKNOWN: *\d+|\S+) +(?P<flags>[0-9a-f]+)"
    r" +(?P<link>[0-9a-f]+) +(?P<info>[0-9a-f]+) (?P<name>.*)$"
)
RELOCATION = re.compile(r"^(0x[0-9a-f]+) {4}(.*?) {4}(\S+)(?: {4}(0x[0-9a-f]+))?$")
PAIR = re.compile(r"^ *<(\d+),(-?\d+)(?:\((.*)\))?>$")

TYPES_WITH_ATTRIBUTES = (0x70000000, 0x70000086)
SHT_REL, SHT_RELA, SHT_CUDA_RESOLVED_RELA = 9, 4, 0x70000003
SHT_CUDA_CALLGRAPH, SHT_CUDA_PROTOTYPE, SHT_NOTE = 0x70000001, 0x70000002, 7
SHT_CUDA_FIRST = 0x70000000


def theirs(text: str) -> View:
    """The view in cuobjdump's output."""
    view: View = {"header": {}, "sections": {}, "symbols": {}}
    for table in ("relocations", "attributes", "pairs", "notes"):
        view[table] = {}
    blocks = _blocks(text, view)
    counts: dict[str, int] = {}
    for name, lines in blocks:
        counts[name] = counts.get(name, 0) + 1
        place = (name, counts[name])
        if name == ".symtab":
            for number, row in enumerate(_symbols(lines)):
                view["symbols"][(number,)] = row
        elif name in (".nv.callgraph", ".nv.prototype"):
            for number, match in enumerate(filter(None, map(PAIR.match, lines))):
                view["pairs"][(*place, number)] = {
                    "first": int(match[1]),
                    "second": int(match[2]),
                    "text": match[3] or "",
                }
        elif name.startswith(".note.nv."):
            view["notes"].update(_notes(lines, place))
        elif name == ".nv.compat" or name.startswith(".nv.info"):
            for number, row_ in enumerate(_attributes(lines)):
                view["attributes"][(*place, number)] = row_
        else:
            for number, match in enumerate(filter(None, map(RELOCATION.match, lines))):
                view["relocations"][(*place, number)] = {
                    "offset": int(match[1], 16),
                    "symbol": match[2],
                    "type": match[3],
                    "addend": None if match[4] is None else int(match[4], 16),
                }
    return view


def _blocks(text: str, view: View) -> Iterator[tuple[str, list[str]]]:
    """Header and section table go into the view; what follows comes out by section."""
    lines = iter(text.splitlines())
    for line in lines:
        if match := HEADER.match(line):
            view["header"][()] = dict(match.groupdict())
        elif line.startswith("Sections:"):
            break
    names = set()
    for line in lines:
        if not line.strip():
            break
        if match := SECTION.match(line):
            row: Row = {
                key: value if key in ("type", "name") else int(value, 16)
                for key, value in match.groupdict().items()
                if key != "index"
            }
            row["type"] = str(row["type"]).replace(" ", "")
            view["sections"][(int(match["index"], 16),)] = row
            names.add(match["name"])
    name, block = "", list[str]()
    for line in lines:
        title = line.removeprefix(".section").strip().split("\t")[0]
        if line.startswith(".") and title in names:
            if name:
                yield name, block
            name, block = title, []
        else:
            block.append(line)
    if name:
        yield name, block


def _notes(lines: list[str], place: tuple[object, ...]) -> Iterator[tuple[tuple[object, ...], Row]]:
    row: Row = {}
    number = 0
    for line in lines:
        if line.startswith("Entry:"):
            row = {}
            yield (*place, number), row
            number += 1
        elif line.startswith("\t"):
            label, _, value = line.strip().partition(":")
            row[label] = value.strip()


def _symbols(lines: list[str]) -> Iterator[Row]:
    for line in lines:
        words = line.split(None, 8)
        if len(words) < 8 or words[0] == "Num":
            continue
        yield {
            "value": int(words[1], 16),
            "size": int(words[2], 16),
            "type": words[3],
            "bind": words[4],
            "visibility": words[5],
            "other": words[6],
            "section": int(words[7], 16),
            "name": words[8].rstrip() if len(words) > 8 else "",
        }


def _attributes(lines: list[str]) -> Iterator[Row]:
    row: Row = {}
    for line in lines:
        rest = line.partition(":")[2]
        if line.startswith("\tAttribute:"):
            row = {"name": rest.strip(), "value": ""}
        elif line.startswith("\tFormat:"):
            row["format"] = rest.strip()
            yield row
        elif line.startswith("\tValue:"):
            row["value"] = _squeeze(rest)
        elif line.startswith(("\t\t", "\t0x")) and row:
            row["value"] = _squeeze(f"{row['value']} {line}")


def _squeeze(text: str) -> str:
    return " ".join(text.split())


# -- the same, as cubinspec reads it ----------------------------------------------------------


def ours(cubin: Cubin) -> View:
    """The view of a cubin, through the public API."""
    header = cubin.header
    new = header.os_abi == 0x41
    notes = {note.name: note for note in cubin.notes}
    toolkit = str(header.e_version)
    if new:
        # files of the cuver generation keep the toolkit's version in front of the other note
        version = (
            notes["tkinfo"].note_version if "cuver" in notes else notes["cuinfo"].toolkit_version
        )
        toolkit = _version(version)
    view: View = {
        "header": {
            (): {
                "cls": "64" if header.is_64 else "32",
                "type": header.type_name if new else str(header.e_type),
                "abi": str(header.abi_version),
                "sm": cubin.arch.removeprefix("sm_"),
                "toolkit": toolkit,
                "flags": f"{header.e_flags:#x}",
            }
        },
        "sections": {},
        "symbols": {},
        "relocations": {},
        "attributes": {},
        "pairs": {},
        "notes": {},
    }
    counts: dict[str, int] = {}
    for section in cubin.sections:
        if section.index == 0:
            continue
        name = section.name
        view["sections"][(section.index,)] = {
            "offset": section.sh_offset,
            "size": section.sh_size,
            "entsize": section.sh_entsize,
            "align": section.sh_addralign,
            "type": (section.type_name or hex(section.sh_type)).removeprefix("SHT_"),
            "flags": section.sh_flags,
            "link": section.sh_link,
            "info": section.sh_info,
            "name": name,
        }
        counts[name] = counts.get(name, 0) + 1
        place = (name, counts[name])
        kind = section.sh_type
        if kind in (SHT_REL, SHT_RELA, SHT_CUDA_RESOLVED_RELA):
            for number, relocation in enumerate(section.relocations):
                symbol = relocation.symbol
                view["relocations"][(*place, number)] = {
                    "offset": relocation.r_offset,
                    "symbol": None if symbol is None else symbol.display_name,
                    "type": relocation.name,
                    "addend": None
                    if relocation.r_addend is None
                    else relocation.r_addend & 0xFFFFFFFFFFFFFFFF,
                }
        elif kind in TYPES_WITH_ATTRIBUTES:
            for number, record in enumerate(section.info_records):
                view["attributes"][(*place, number)] = {
                    "name": record.name,
                    "format": record.format_name,
                    "value": attribute_value(cubin, record),
                }
        elif kind == SHT_CUDA_CALLGRAPH:
            view["pairs"].update(_callgraph_rows(cubin, section.index, place))
        elif kind == SHT_CUDA_PROTOTYPE:
            for number, item in enumerate(cubin.prototypes_of(section.index)):
                view["pairs"][(*place, number)] = {
                    "first": item.symbol_index,
                    "second": item.ofs_signature,
                    "text": item.signature,
                }
        elif kind == SHT_NOTE:
            for number, note in enumerate(cubin.notes_of(section.index)):
                view["notes"][(*place, number)] = _note_row(note, number, old="cuver" in notes)
    for symbol in cubin.symbols:
        view["symbols"][(symbol.index,)] = {
            "value": symbol.st_value,
            "size": symbol.st_size,
            "type": (symbol.type_name or "").removeprefix("STT_"),
            "bind": (symbol.bind_name or "").removeprefix("STB_"),
            "visibility": symbol_table.VISIBILITY_NAMES[symbol.visibility].removeprefix("STV_"),
            "other": _other(symbol),
            "section": symbol.st_shndx,
            "name": symbol.display_name or "(null)",
        }
    return view


def _other(symbol: Symbol) -> str:
    """What cuobjdump shows of st_other: memory space and flags of a symbol."""
    words = []
    if symbol.st_type == 2:
        names = symbol_table.OTHER_FUNC_NAMES
        words = [name for mask, name in names.items() if symbol.st_other & mask]
    else:
        space = symbol_table.SPACE_NAMES.get(symbol.st_other >> 5, "")
        if symbol.st_other >> 5:
            words.append(space.removeprefix("STO_CUDA_"))
        names = symbol_table.OTHER_OBJECT_NAMES
        words += [name for mask, name in names.items() if symbol.st_other & mask]
    return "|".join(words) or "-"


def _callgraph_rows(
    cubin: Cubin, index: int, place: tuple[object, ...]
) -> dict[tuple[object, ...], Row]:
    """Every pair with its marker, in file order; signature texts are not printed here."""
    graph = cubin.callgraph_of(index)
    parts: dict[int, list[tuple[int, int]]] = {
        1: [(edge.caller_index, edge.callee_index) for edge in graph.calls],
        2: [(item.symbol_index, item.ofs_signature) for item in graph.address_taken],
        3: [(item.symbol_index, item.ofs_signature) for item in graph.indirect_calls],
        4: [(edge.caller_index, edge.callee_index) for edge in graph.references],
    }
    pairs = [pair for marker in graph.markers for pair in [(0, -marker), *parts[marker]]]
    return {
        (*place, number): {"first": first, "second": second, "text": ""}
        for number, (first, second) in enumerate(pairs)
    }


def _version(number: int | None) -> str:
    """130 -> 13.0"""
    return f"{(number or 0) // 10}.{(number or 0) % 10}"


def _note_row(note: Any, number: int, *, old: bool) -> Row:
    row: Row = {}
    if number == 0:  # printed for the first entry only
        if old and note.name == "tkinfo":
            row["Tool Kit Version"] = _version(note.note_version)
        else:
            row["Note Version"] = str(note.note_version)
    if note.name == "tkinfo":
        if note.object_file:
            row["Object File"] = note.object_file
        row["Tool Name"] = note.tool_name
        row["Tool Version"] = note.tool_version
        row["Tool Branch"] = note.tool_branch
        row["Tool Command Line Arguments"] = (note.arguments or "").strip()
    else:
        row["CUDA Virtual SM"] = f"sm_{note.virtual_sm}"
        if note.toolkit_version is not None:
            row["CUDA Tool Kit Version"] = _version(note.toolkit_version)
    return row


def attribute_value(cubin: Cubin, record: InfoRecord) -> str:
    """The value in cuobjdump's words."""
    if record.format_name == "EIFMT_NVAL":
        return ""
    render = _RENDERERS.get(record.name or "")
    fields = record.fields
    if render is not None and fields is not None:
        return render(cubin, fields)
    if record.name == "EIATTR_ANNOTATIONS":
        return _annotations(record.payload)
    if record.format_name == "EIFMT_SVAL":
        count = len(record.payload) // 4
        return " ".join(hex(word) for word in struct.unpack_from(f"<{count}I", record.payload))
    return hex(record.value & (0xFF if record.format_name == "EIFMT_BVAL" else 0xFFFF))


def _symbol_name(cubin: Cubin, index: int) -> str:
    return f"{cubin.symbols.name_of(index)}({index:#x})"


def _keyed(label: str, name: str, form: str = "{:#x}") -> Callable[[Cubin, dict[str, Any]], str]:
    def render(cubin: Cubin, fields: dict[str, Any]) -> str:
        value = form.format(fields[name])
        return f"function: {_symbol_name(cubin, fields['function'])} {label}: {value}"

    return render


def _parameter(_: Cubin, fields: dict[str, Any]) -> str:
    space = fields["space"]
    text = (
        f"Index : {fields['index']:#x} Ordinal : {fields['ordinal']:#x} "
        f"Offset : {fields['offset']:#x} Size : {fields['size']:#x} "
        f"Pointee's logAlignment : {fields['log_alignment']:#x} Space : {space:#x}"
    )
    if "cbank" not in fields:
        return text
    where = "SMEM" if fields["is_smem"] else "CBANK"
    return f"{text} cbank : {fields['cbank']:#x} Parameter Space : {where}"


def _externs(cubin: Cubin, fields: dict[str, Any]) -> str:
    names = [_symbol_name(cubin, entry["symbol"]) for entry in fields["entries"]]
    return " ".join(["externs:", *names])


def _branches(_: Cubin, fields: dict[str, Any]) -> str:
    words = []
    for entry in fields["entries"]:
        words.append(f"Offset of Indirect Branch: {entry['branch_offset']:#x}")
        if entry["kind"]:
            words.append("(kind_call)")
        words.append(f"Number of targets: {entry['num_targets']}")
        if entry["targets"]:
            words += ["Targets:", *map(hex, entry["targets"])]
    return " ".join(words)


def _named(
    label: str, field: str, enum: str, prefix: str = ""
) -> Callable[[Cubin, dict[str, Any]], str]:
    names = eiattr.ENUMS[enum]

    def render(_: Cubin, fields: dict[str, Any]) -> str:
        entries = fields.get("entries", [fields])
        return " ".join([*label.split(), *(f"{prefix}{names[e[field]]}" for e in entries)])

    return render


def _sparse(_: Cubin, fields: dict[str, Any]) -> str:
    mask = fields["mask"]
    if not mask:
        return "0x0"
    names = eiattr.ENUMS["sparse_mma"]
    bits = [names.get(bit) for bit in range(16) if mask >> bit & 1]
    return " ".join(
        ["Used Sparse Variants :", *(f"{name}.SP" if name else "UNKNOWN" for name in bits)]
    )


def _mbarriers(_: Cubin, fields: dict[str, Any]) -> str:
    words = []
    for e in fields["entries"]:
        kind = eiattr.ENUMS["mbarrier_instr_kind"][e["kind"]]
        offset = f" + {e['immediate_offset']}" if e["immediate_offset"] else ""
        words.append(
            f"{e['offset']:#x} : Instruction Kind : MBARRIER_{kind} "
            f"(R{e['address_register']} + UR{e['uniform_register']}{offset}) "
            f"Stride : MBARRIER_STRIDE_{eiattr.ENUMS['mbarrier_stride'][e['stride']]}"
        )
    return " ".join(words)


def _annotations(payload: bytes) -> str:
    """Entries of a kind, then an offset (kinds 0 and 1) or a counted text (kind 3)."""
    words = []
    at = 0
    while at < len(payload):
        kind, value = struct.unpack_from("<II", payload, at)
        at += 8
        if kind in (0, 1):
            words.append(f"SpillRefill : Offset : {value:#x}")
        else:
            assert kind == 3, kind
            text = payload[at : at + value].rstrip(b"\0").decode()
            words.append(f"FunctionInfo : {text}")
            at += (value + 3) // 4 * 4
    return " ".join(words)


def _half_atomics(_: Cubin, fields: dict[str, Any]) -> str:
    return " ".join(f"({entry['offset']:#x}, {entry['register']})" for entry in fields["entries"])


def _version_of_three(_: Cubin, fields: dict[str, Any]) -> str:
    return f"{fields['major']}.{fields['minor']}.{fields['patch']}"


_RENDERERS: dict[str, Callable[[Cubin, dict[str, Any]], str]] = {
    "EIATTR_REGCOUNT": _keyed("register count", "registers", "{}"),
    "EIATTR_FRAME_SIZE": _keyed("frame size", "frame_size"),
    "EIATTR_MIN_STACK_SIZE": _keyed("min stack size", "min_stack_size"),
    "EIATTR_KPARAM_INFO": _parameter,
    "EIATTR_KPARAM_INFO_V2": _parameter,
    "EIATTR_EXTERNS": _externs,
    "EIATTR_INDIRECT_BRANCH_TARGETS": _branches,
    "EIATTR_ATOM16_EMUL_INSTR_REG_MAP": _half_atomics,
    "EIATTR_MBARRIER_INSTR_OFFSETS": _mbarriers,
    "EIATTR_SPARSE_MMA_MASK": _sparse,
    "EICOMPAT_ATTR_FINALIZER_VERSION": _version_of_three,
    "EIATTR_LANGUAGE": _named("Language:", "language", "source_language"),
    "EIATTR_STUB_FUNCTION_KIND": _named("", "kind", "stub_function_kind"),
    "EIATTR_AT_ENTRY_FRAGMENTS": _named(
        "At Entry Fragments :", "fragment", "entry_fragment", "AT_ENTRY_FRAGMENT_"
    ),
}
