"""The tables as frozen Python data: literals only, so that importing one costs next to nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .layouts import FORMAT_CODES, layout_row, symbol_offsets, tagged_row
from .load import Table, Tables
from .patterns import expand_kinds
from .rows import (
    ACTION,
    ATTRIBUTE,
    BIT_FIELD,
    COMPAT_ATTRIBUTE,
    LENGTH,
    OPERAND,
    REGISTER_COUNT,
    RELOCATION,
    SECTION_KIND,
    Literal,
    row,
    rows_literal,
)

FOLDER = Path("generated/python/cubinspec_generated/tables")


class _Module:
    """A Python module under construction."""

    def __init__(self, table: Table) -> None:
        title = table.data["title"]
        self._parts = [
            f"# Generated from {table.file.as_posix()} (sha256 {table.digest}) by tools.gen; "
            "do not edit.",
            f'"""{title}."""',
            "",
        ]

    def needs(self, *classes: str) -> None:
        """Adds the import of the classes of its rows."""
        names = "".join(f"    {name},\n" for name in sorted(classes))
        self._parts += [f"from cubinspec_generated.rows import (\n{names})", ""]

    def constant(self, name: str, kind: str, literal: str, doc: str) -> None:
        """Adds ``name: kind = literal`` and its docstring."""
        self._parts += [f"{name}: {kind} = {literal}", f'"""{doc}"""', ""]

    def mapping(self, name: str, kind: str, items: Iterable[tuple[str, str]], doc: str) -> None:
        """Adds a dict, one item a line; keys and values are literals."""
        body = "".join(f"    {key}: {value},\n" for key, value in items)
        self.constant(name, kind, "{\n" + body + "}" if body else "{}", doc)

    def rows(self, name: str, kind: str, items: Iterable[str], doc: str) -> None:
        """Adds a tuple, one item a line."""
        body = "".join(f"    {item},\n" for item in items)
        self.constant(name, kind, "(\n" + body + ")" if body else "()", doc)

    def text(self) -> str:
        """The module."""
        return "\n".join(self._parts)


def _hex(value: int, digits: int = 2) -> str:
    return f"{value:#0{digits + 2}x}"


def _names(entries: Iterable[Mapping[str, Any]], key: str, digits: int) -> list[tuple[str, str]]:
    return [(_hex(e[key], digits), repr(e["name"])) for e in entries if e["name"] is not None]


def _pairs(values: Mapping[Any, Any]) -> str:
    return "{" + ", ".join(f"{key!r}: {value!r}" for key, value in values.items()) + "}"


def _eiattr(table: Table, module: _Module) -> None:
    data = table.data
    module.needs("Attribute", "BitField", "Layout", "Tagged", "TaggedCase", "Tail")
    module.mapping(
        "FORMATS",
        "dict[int, str]",
        _names(data["formats"], "code", 1),
        "Names of the record formats.",
    )
    module.mapping(
        "NAMES",
        "dict[int, str]",
        _names(data["attributes"], "code", 2),
        "Names of the attributes, by code.",
    )
    module.mapping(
        "ATTRIBUTES",
        "dict[int, Attribute]",
        [(_hex(a["code"]), _attribute(a)) for a in data["attributes"]],
        "The attributes, by code.",
    )
    module.constant(
        "UNKNOWN",
        "Attribute",
        row(ATTRIBUTE, -1, None, "", (), layout_row({"kind": "unknown"}), None, (), (), "", 0),
        "Stands for a code that the table does not have.",
    )
    module.mapping(
        "ENUMS",
        "dict[str, dict[int, str]]",
        [(repr(e["name"]), _pairs(e["values"])) for e in data["enums"]],
        "Named values of payload fields; for a bit set the keys are bit numbers.",
    )
    module.constant(
        "BITSETS",
        "tuple[str, ...]",
        repr(tuple(e["name"] for e in data["enums"] if e.get("bitset"))),
        "Those of ENUMS whose values combine as bits.",
    )


def _attribute(entry: Mapping[str, Any]) -> str:
    layout = entry["layout"]
    return row(
        ATTRIBUTE,
        entry["code"],
        entry["name"],
        entry["category"],
        tuple(FORMAT_CODES[f] for f in entry["formats"]),
        layout_row(layout),
        tagged_row(layout) if layout["kind"] == "tagged" else None,
        symbol_offsets(layout),
        tuple(entry.get("places", ())),
        entry.get("mercury", ""),
        entry.get("min_sm", 0),
    )


def _relocations(table: Table, module: _Module) -> None:
    entries = table.data["relocations"]
    numbers = {entry["name"]: entry["type"] for entry in entries}
    rules = {rule["name"]: rule for rule in table.data["keep_rules"]}
    module.needs("Action", "RelocationType")
    module.mapping(
        "NAMES", "dict[int, str]", _names(entries, "type", 2), "Names of the relocation types."
    )
    module.mapping(
        "TYPES",
        "dict[int, RelocationType]",
        [
            (
                _hex(e["type"]),
                row(
                    RELOCATION,
                    e["type"],
                    e["name"],
                    rows_literal(
                        row(ACTION, a["kind"], a["bit"], a["width"], a["value"], a["shift"])
                        for a in e["actions"]
                    ),
                    e["resolver"],
                    tuple(rules[e["keep"]]["targets"]),
                    tuple(rules[e["keep"]].get("errors", ())),
                    numbers[e.get("retype", e["name"])],
                    e.get("apply", "always"),
                    e.get("handle", False),
                ),
            )
            for e in entries
        ],
        "The relocation types, by number.",
    )


def _sections(table: Table, module: _Module) -> None:
    data = table.data
    types = {t["name"]: t["value"] for t in data["types"]}
    flags = {f["name"]: f["mask"] for f in data["flags"]}
    kinds = expand_kinds(data["kinds"])
    opaque = {b["name"]: b.get("opaque", False) for b in data["bodies"]}
    module.needs("SectionKind")
    module.mapping(
        "TYPE_NAMES", "dict[int, str]", _names(data["types"], "value", 1), "Names of sh_type."
    )
    module.mapping(
        "FLAG_NAMES", "dict[int, str]", _names(data["flags"], "mask", 1), "Names of sh_flags bits."
    )
    module.mapping(
        "METADATA_FORMATS",
        "dict[int, str]",
        _names(data["metadata_formats"], "value", 1),
        "Formats of the values in .nv.metadata.",
    )
    module.rows(
        "KINDS",
        "tuple[SectionKind, ...]",
        [
            row(
                SECTION_KIND,
                k["pattern"],
                k["kind"],
                k["body"],
                opaque[k["body"]],
                types[k["relocatable"]],
                types[k["executable"]],
                sum(flags[f] for f in k["flags"]),
                k["link"],
                k["info"],
                tuple(k["align"]),
                k["entsize"],
                k.get("twin", ""),
                sum(flags[f] for f in k.get("optional_flags", ())),
                tuple(types[o] for o in k.get("other_types", ())),
            )
            for k in kinds
        ],
        "Section kinds; a pattern that ends in * is a prefix. See EXACT and PREFIXES.",
    )
    module.constant(
        "EXACT",
        "dict[str, SectionKind]",
        '{kind.pattern: kind for kind in KINDS if not kind.pattern.endswith("*")}',
        "Kind of a whole section name.",
    )
    prefixes = [(k["pattern"][:-1], i) for i, k in enumerate(kinds) if k["pattern"].endswith("*")]
    module.rows(
        "PREFIXES",
        "tuple[tuple[str, SectionKind], ...]",
        [f"({p!r}, KINDS[{i}])" for p, i in sorted(prefixes, key=lambda p: (-len(p[0]), p[0]))],
        "Prefixes and their kinds, longest first; used when EXACT has no such name.",
    )


def _symbols(table: Table, module: _Module) -> None:
    data = table.data
    other = data["other"]
    module.mapping("TYPE_NAMES", "dict[int, str]", _names(data["types"], "value", 1), "st_type.")
    module.mapping("BIND_NAMES", "dict[int, str]", _names(data["binds"], "value", 1), "st_bind.")
    module.mapping(
        "VISIBILITY_NAMES",
        "dict[int, str]",
        _names(other["visibilities"], "value", 1),
        "st_other bits 0 and 1.",
    )
    module.mapping(
        "SPACE_NAMES",
        "dict[int, str]",
        _names(other["spaces"], "value", 1),
        "st_other bits 5 to 7, as a number.",
    )
    for attribute, name in (
        ("func_name", "OTHER_FUNC_NAMES"),
        ("object_name", "OTHER_OBJECT_NAMES"),
    ):
        module.mapping(
            name,
            "dict[int, str]",
            [(_hex(1 << f["bit"]), repr(f[attribute])) for f in other["fields"] if attribute in f],
            f"Names of the one-bit flags of st_other for {attribute[:-5]} symbols, by mask.",
        )
    module.mapping(
        "SPECIAL_SECTIONS",
        "dict[int, str]",
        _names(data["special_sections"], "value", 1),
        "Values of st_shndx that are no section index.",
    )


def _compat(table: Table, module: _Module) -> None:
    attributes = table.data["attributes"]
    module.needs("BitField", "CompatAttribute", "Layout")
    module.mapping(
        "NAMES",
        "dict[int, str]",
        _names(attributes, "code", 1),
        "Names of the attributes, by code.",
    )
    module.mapping(
        "ATTRIBUTES",
        "dict[int, CompatAttribute]",
        [(_hex(a["code"], 1), _compat_attribute(a)) for a in attributes],
        "The attributes, by code.",
    )
    for key, doc in (("leading", "start"), ("trailing", "end")):
        codes = repr(tuple(table.data[key]))
        module.constant(
            key.upper(), "tuple[int, ...]", codes, f"Codes that {doc} a linked section."
        )


def _compat_attribute(entry: Mapping[str, Any]) -> str:
    values = {
        merge: entry["target_values"] if entry["merge"] == merge else {}
        for merge in ("variant", "architecture")
    }
    return row(
        COMPAT_ATTRIBUTE,
        entry["code"],
        entry["name"],
        layout_row(entry["layout"]),
        entry["merge"],
        entry.get("missing"),
        values["variant"],
        values["architecture"],
    )


def _arch(table: Table, module: _Module) -> None:
    module.mapping(
        "LIMITS",
        "dict[int, dict[str, int]]",
        [(str(a["sm"]), repr(a["limits"])) for a in table.data["architectures"]],
        "What an SM has; sizes in bytes, registers of 4 bytes.",
    )


def _elf_header(table: Table, module: _Module) -> None:
    data = table.data
    module.needs("BitField")
    for key, name, digits, doc in (
        ("osabis", "OSABI_NAMES", 2, "EI_OSABI."),
        ("types", "TYPE_NAMES", 1, "e_type."),
        ("segment_types", "SEGMENT_TYPE_NAMES", 1, "p_type."),
    ):
        module.mapping(name, "dict[int, str]", _names(data[key], "value", digits), doc)
    module.mapping(
        "FLAG_FIELDS",
        "dict[int, tuple[BitField, ...]]",
        [
            (
                _hex(layout["osabi"]),
                rows_literal(
                    row(BIT_FIELD, f["name"], f["bit"], f["width"], "") for f in layout["fields"]
                ),
            )
            for layout in data["flags"]
        ],
        "Fields of e_flags by EI_OSABI.",
    )
    module.mapping(
        "FLAG_NAMES",
        "dict[int, dict[int, str]]",
        [
            (
                _hex(layout["osabi"]),
                _pairs({1 << f["bit"]: f["flag"] for f in layout["fields"] if "flag" in f}),
            )
            for layout in data["flags"]
        ],
        "Names of one-bit flags of e_flags by EI_OSABI and mask.",
    )


def _notes(table: Table, module: _Module) -> None:
    module.constant("OWNER", "str", repr(table.data["owner"]), "Owner of NVIDIA's notes.")


def _fatbin(table: Table, module: _Module) -> None:
    data = table.data
    module.mapping("KINDS", "dict[int, str]", _names(data["kinds"], "value", 1), "Entry kinds.")
    module.mapping(
        "FLAG_NAMES", "dict[int, str]", _names(data["flags"], "mask", 1), "Entry flag bits."
    )
    module.mapping(
        "WRAPPER_VERSIONS",
        "dict[int, str]",
        _names(data["wrapper_versions"], "value", 1),
        "Versions of the wrapper in .nvFatBinSegment.",
    )
    module.mapping(
        "HOST_USES",
        "dict[str, tuple[str, str]]",
        [
            (repr(row["pattern"]), repr((row["use"], row["linkage"])))
            for row in data["host_sections"]
            if "use" in row
        ],
        "Sections of a host file with names that it uses: what they are of, and their linkage.",
    )
    module.mapping(
        "REGISTRATIONS",
        "dict[str, str]",
        [(repr(row["name"]), repr(row["registers"])) for row in data["registrations"]],
        "Functions that register names of device code: what the names are of.",
    )


def _sass(table: Table, module: _Module) -> None:
    data = table.data
    opcodes = data["opcodes"]
    fields = {field["name"]: field for field in data["fields"]}
    module.needs("MercuryLength", "Operand", "RegisterCount")
    module.mapping("NAMES", "dict[int, str]", _names(opcodes, "opcode", 3), "Names of the opcodes.")
    uniform = _uniform_opcodes(data)
    for name, found, doc in (
        ("UNIFORM", uniform, "Opcodes whose registers are uniform ones."),
        (
            "BY_FORM",
            [e["opcode"] for e in opcodes if "by_form" in e],
            "Opcodes whose form tells what stands in the places of operands B and C.",
        ),
        *(
            (
                trait["name"].upper(),
                [e["opcode"] for e in opcodes if trait["name"] in e.get("traits", ())],
                f"Opcodes: {trait['meaning']}.",
            )
            for trait in data["traits"]
        ),
    ):
        numbers = ", ".join(_hex(opcode, 3) for opcode in sorted(found))
        module.constant(name, "frozenset[int]", f"frozenset(({numbers},))", doc)
    counts = {size["name"]: _register_count(size, fields) for size in data["sizes"]}
    module.mapping(
        "OPERANDS",
        "dict[int, tuple[Operand, ...]]",
        [
            (
                _hex(e["opcode"], 3),
                _operands(e["operands"], e["opcode"] in uniform, counts, fields),
            )
            for e in opcodes
            if "operands" in e
        ],
        "Operands that can be registers, by opcode; an opcode without a row may have any.",
    )
    module.constant(
        "ANY_OPERANDS",
        "tuple[Operand, ...]",
        _operands(data["any_operands"], False, counts, fields),
        "What an instruction may have whose operands are not known.",
    )
    module.mapping(
        "PLACES",
        "dict[int, tuple[str, str]]",
        [(str(form["form"]), repr((form["place_b"], form["place_c"]))) for form in data["forms"]],
        "What stands in the places of operands B and C, by form.",
    )
    module.mapping(
        "WIDE",
        "dict[tuple[int, int], str]",
        [
            (f"({_hex(e['opcode'], 3)}, {form})", repr(place))
            for e in opcodes
            for form, place in e.get("wide", {}).items()
        ],
        "Opcodes and forms whose registers are pairs: what stands in the place of operand B.",
    )
    for key, doc in (
        ("result_after", "Cycles until the result of an instruction is there, by opcode."),
        ("seen_wait_after", "Cycles from which on a wait for a result is not seen, by opcode."),
        ("read_after", "Cycles until the operands of an instruction are read, by opcode."),
        ("least_stall", "Cycles until the next instruction may start, at least, if not one."),
    ):
        items = [(_hex(e["opcode"], 3), str(e[key])) for e in opcodes if key in e]
        module.mapping(key.upper(), "dict[int, int]", items, doc)
    _mercury_lengths(data, module)
    module.constant(
        "STUB_UNITS",
        "tuple[int, ...]",
        repr(tuple(data["stub_units"])),
        "Length of each Mercury instruction of a stub of a unified function, in units.",
    )


def _uniform_opcodes(data: Mapping[str, Any]) -> set[int]:
    """Opcodes of the uniform datapath, which follow each other, and single other ones."""
    numbers = {value["name"]: value["value"] for g in data["groups"] for value in g["values"]}
    uniform = {*range(numbers["FIRST_UNIFORM_OPCODE"], numbers["LAST_UNIFORM_OPCODE"] + 1)}
    return uniform | {e["opcode"] for e in data["opcodes"] if "uniform" in e}


def _place(field: Mapping[str, Any]) -> tuple[int, Literal]:
    """First bit of a field, and its bits in place."""
    mask = ((1 << field["width"]) - 1) << field["bit"]
    return field["bit"], Literal(hex(mask))


def _register_count(size: Mapping[str, Any], fields: Mapping[str, Any]) -> str:
    flag = _place(fields[size["flag"]])[1] if "flag" in size else 0
    return row(REGISTER_COUNT, *_place(fields[size["field"]]), flag, tuple(size["registers"]))


def _operands(
    entry: Mapping[str, Any],
    all_uniform: bool,
    counts: Mapping[str, str],
    fields: Mapping[str, Any],
) -> Literal:
    """The operands of one opcode, in the order d, e, a, b, c."""
    found = []
    for name in sorted(entry, key="deabcfghi".index):
        facts = entry[name] if isinstance(entry[name], dict) else {"registers": entry[name]}
        size = facts.get("size")
        found.append(
            row(
                OPERAND,
                name,
                facts.get("registers", 1),
                counts[size] if size else None,
                all_uniform or facts.get("uniform", False),
                tuple(facts.get("forms", ())),
                _place(fields[facts["flag"]])[1] if "flag" in facts else 0,
            )
        )
    return rows_literal(found)


def _mercury_lengths(data: Mapping[str, Any], module: _Module) -> None:
    """Lengths by opcode with form, which are the bits 0 to 11 of an instruction."""
    fields = {field["name"]: field for field in data["fields"]}
    shift = fields["form"]["bit"]
    rules = {}
    for rule in data["lengths"]:
        mask = values = 0
        for name, value in (rule.get("short") or rule["long"]).items():
            field = fields[name]
            mask |= ((1 << field["width"]) - 1) << field["bit"]
            values |= value << field["bit"]
        units = (1, 2) if "short" in rule else (2, 1)
        rules[rule["name"]] = row(LENGTH, Literal(hex(mask)), Literal(hex(values)), *units)
    known = [
        (_hex(entry["opcode"] | form << shift, 3), units)
        for entry in data["opcodes"]
        for form, units in entry.get("mercury", {}).items()
    ]
    module.mapping(
        "MERCURY_UNITS",
        "dict[int, int]",
        [(code, str(units)) for code, units in known if isinstance(units, int)],
        "Length of the Mercury instruction in units, by opcode with form.",
    )
    module.mapping(
        "MERCURY_LENGTHS",
        "dict[int, MercuryLength]",
        [(code, rules[units]) for code, units in known if not isinstance(units, int)],
        "What tells whether the Mercury instruction has one unit or two, by opcode with form.",
    )


_WRITERS: dict[str, Callable[[Table, _Module], None]] = {
    "eiattr": _eiattr,
    "relocations": _relocations,
    "sections": _sections,
    "symbols": _symbols,
    "compat": _compat,
    "arch": _arch,
    "elf_header": _elf_header,
    "notes": _notes,
    "fatbin": _fatbin,
    "sass": _sass,
}


def emit_python(tables: Tables) -> dict[Path, str]:
    """One module per table and the package's ``__init__.py``."""
    init = '# Generated by tools.gen; do not edit.\n"""The tables of the spec as Python data."""\n'
    files = {FOLDER / "__init__.py": init}
    for name, writer in _WRITERS.items():
        table = tables[name]
        module = _Module(table)
        writer(table, module)
        text = re.sub(r"\n{3,}", "\n\n", module.text())
        files[FOLDER / f"{name}.py"] = text
    return files
