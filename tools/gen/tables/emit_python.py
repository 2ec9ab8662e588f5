"""The tables as frozen Python data: literals only, so that importing one costs next to nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .layouts import FORMAT_CODES, python_layout, python_tagged, symbol_offsets
from .load import Table, Tables
from .patterns import expand_kinds

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
    attributes = data["attributes"]
    module.mapping(
        "FORMATS",
        "dict[int, str]",
        _names(data["formats"], "code", 1),
        "Names of the record formats.",
    )
    module.mapping(
        "NAMES",
        "dict[int, str]",
        _names(attributes, "code", 2),
        "Names of the attributes, by code.",
    )
    module.mapping(
        "CATEGORIES",
        "dict[int, str]",
        [(_hex(a["code"]), repr(a["category"])) for a in attributes],
        "What an attribute is about.",
    )
    module.mapping(
        "FORMATS_SEEN",
        "dict[int, tuple[int, ...]]",
        [
            (_hex(a["code"]), repr(tuple(FORMAT_CODES[f] for f in a["formats"])))
            for a in attributes
            if a["formats"]
        ],
        "Format bytes that real files use for a code.",
    )
    module.mapping(
        "LAYOUTS",
        "dict[int, tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]]",
        [(_hex(a["code"]), python_layout(a["layout"])) for a in attributes],
        "Payloads: (kind, struct format, field names, references, tail).\n\n"
        "kind: none, inline (in the two bytes after the code), struct, array (of the struct),\n"
        "records (structs, each followed by as many tails as one of its fields says), list (a\n"
        "struct, then tails to the end), opaque (bytes without known parts) or unknown.\n"
        "references: symbol (symbol table index), code (byte offset of an instruction),\n"
        "enum:<name> (see ENUMS) or nothing. tail: (count field or '', name, format, reference).",
    )
    module.mapping(
        "TAGGED",
        "dict[int, tuple[str, str, int, "
        "dict[int, tuple[str, tuple[str, ...], tuple[str, ...], str, str]]]]",
        [
            (_hex(a["code"]), python_tagged(a["layout"]))
            for a in attributes
            if a["layout"]["kind"] == "tagged"
        ],
        "Payloads made of records that start with a u4 tag: (name of the tag, its enum, alignment\n"
        "of a record, {tag: (struct format after the tag, names, references, name of the text\n"
        "that follows, name of the field with its length)}).",
    )
    module.mapping(
        "SYMBOL_FIELDS",
        "dict[int, tuple[int, ...]]",
        [
            (_hex(a["code"]), repr(offsets))
            for a in attributes
            if (offsets := symbol_offsets(a["layout"]))
        ],
        "Byte offsets of symbol indices inside a payload (inside each element of an array).",
    )
    module.mapping(
        "PLACES",
        "dict[int, tuple[str, ...]]",
        [(_hex(a["code"]), repr(tuple(a["places"]))) for a in attributes if "places" in a],
        "Where a code stands: module (.nv.info), function (.nv.info.<f>).",
    )
    module.mapping(
        "MERCURY",
        "dict[int, str]",
        [(_hex(a["code"]), repr(a["mercury"])) for a in attributes if "mercury" in a],
        "Whether the Mercury copy of a section has the code too: copied, never or only (there).",
    )
    module.mapping(
        "MIN_SM",
        "dict[int, int]",
        [(_hex(a["code"]), str(a["min_sm"])) for a in attributes if "min_sm" in a],
        "First architecture with the instructions that an attribute is about.",
    )
    _bit_fields(attributes, module)
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


def _bit_fields(attributes: Iterable[Mapping[str, Any]], module: _Module) -> None:
    module.mapping(
        "BIT_FIELDS",
        "dict[tuple[int, str], tuple[tuple[str, int, int], ...]]",
        [
            (
                f"({_hex(a['code'])}, {f['name']!r})",
                repr(tuple((b["name"], b["bit"], b["width"]) for b in f["bits"])),
            )
            for a in attributes
            for f in a["layout"].get("fields", ())
            if "bits" in f
        ],
        "Bit fields of a payload word: (name, first bit, width).",
    )
    module.mapping(
        "BIT_FIELD_ENUMS",
        "dict[tuple[int, str], str]",
        [
            (f"({_hex(a['code'])}, {b['name']!r})", repr(b["enum"]))
            for a in attributes
            for f in a["layout"].get("fields", ())
            for b in f.get("bits", ())
            if "enum" in b
        ],
        "Enums of bit fields, by code and name of the bit field.",
    )


def _relocations(table: Table, module: _Module) -> None:
    entries = table.data["relocations"]
    numbers = {entry["name"]: entry["type"] for entry in entries}
    module.mapping(
        "NAMES", "dict[int, str]", _names(entries, "type", 2), "Names of the relocation types."
    )
    module.mapping(
        "ACTIONS",
        "dict[int, tuple[tuple[str, int, int, str, int], ...]]",
        [
            (
                _hex(e["type"]),
                repr(
                    tuple(
                        (a["kind"], a["bit"], a["width"], a["value"], a["shift"])
                        for a in e["actions"]
                    )
                ),
            )
            for e in entries
        ],
        "What applying a type does: (kind, first bit, width, value, right shift) in order.",
    )
    module.mapping(
        "RESOLVERS",
        "dict[int, str]",
        [(_hex(e["type"]), repr(e["resolver"])) for e in entries],
        "Who applies a type.",
    )
    rules = {rule["name"]: rule for rule in table.data["keep_rules"]}
    for name, key, doc in (
        ("KEEP", "targets", "leaves the entry in the executable"),
        ("ERRORS", "errors", "ends with an internal error"),
    ):
        module.mapping(
            name,
            "dict[int, tuple[str, ...]]",
            [
                (_hex(e["type"]), repr(tuple(kinds)))
                for e in entries
                if (kinds := rules[e["keep"]].get(key))
            ],
            f"Target kinds for which a final link {doc}.",
        )
    module.mapping(
        "RETYPE",
        "dict[int, int]",
        [(_hex(e["type"]), _hex(numbers[e["retype"]])) for e in entries if "retype" in e],
        "Type that a kept entry gets.",
    )
    module.mapping(
        "APPLY",
        "dict[int, str]",
        [(_hex(e["type"]), repr(e["apply"])) for e in entries if "apply" in e],
        "Rule by which the actions run, where it is not: always.",
    )
    module.constant(
        "HANDLES",
        "frozenset[int]",
        "frozenset((" + ", ".join(_hex(e["type"]) for e in entries if e.get("handle")) + "))",
        "Types for which S of a texture, sampler or surface reference is the offset of its handle\n"
        "in constant bank 0; for others it is 0.",
    )
    module.mapping(
        "VALUES",
        "dict[str, str]",
        [(repr(v["name"]), repr(v["formula"])) for v in table.data["values"]],
        "Formulas of the values that actions use.",
    )
    module.constant(
        "MERCURY_OFFSET",
        "int",
        _hex(table.data["mercury_offset"]),
        "Added to a type in Mercury relocation sections.",
    )


def _sections(table: Table, module: _Module) -> None:
    data = table.data
    types = {t["name"]: t["value"] for t in data["types"]}
    flags = {f["name"]: f["mask"] for f in data["flags"]}
    kinds = expand_kinds(data["kinds"])
    opaque = {b["name"]: b.get("opaque", False) for b in data["bodies"]}
    module.mapping(
        "TYPE_NAMES", "dict[int, str]", _names(data["types"], "value", 1), "Names of sh_type."
    )
    module.mapping(
        "FLAG_NAMES", "dict[int, str]", _names(data["flags"], "mask", 1), "Names of sh_flags bits."
    )
    module.mapping(
        "FLAG_FIELDS",
        "dict[str, tuple[int, int]]",
        [(repr(f["name"]), repr((f["bit"], f["width"]))) for f in data["flag_fields"]],
        "Numbers inside sh_flags: (first bit, width).",
    )
    module.mapping(
        "INFO_FIELDS",
        "dict[str, tuple[int, int]]",
        [(repr(f["name"]), repr((f["bit"], f["width"]))) for f in data["info_fields"]],
        "Numbers inside sh_info of code sections: (first bit, width).",
    )
    module.constant(
        "KIND_FIELDS",
        "tuple[str, ...]",
        repr(
            (
                "pattern",
                "kind",
                "body",
                "opaque",
                "relocatable",
                "executable",
                "flags",
                "link",
                "info",
                "aligns",
                "entsize",
                "twin",
            )
        ),
        "What the columns of KINDS are.",
    )
    module.rows(
        "KINDS",
        "tuple[tuple[str, str, str, bool, int, int, int, str, str, tuple[int, ...], int, str], "
        "...]",
        [
            repr(
                (
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
                )
            )
            for k in kinds
        ],
        "Section kinds; a pattern that ends in * is a prefix. See EXACT and PREFIXES.",
    )
    first = {k["kind"]: k for k in reversed(kinds)}
    module.mapping(
        "OPTIONAL_FLAGS",
        "dict[str, int]",
        [
            (repr(name), _hex(sum(flags[f] for f in k["optional_flags"]), 1))
            for name, k in first.items()
            if "optional_flags" in k
        ],
        "Flags of a kind that some files lack or have in addition.",
    )
    module.mapping(
        "OTHER_TYPES",
        "dict[str, tuple[int, ...]]",
        [
            (repr(name), repr(tuple(types[o] for o in k["other_types"])))
            for name, k in first.items()
            if "other_types" in k
        ],
        "Values of sh_type that some files have for a kind.",
    )
    module.mapping(
        "EXACT",
        "dict[str, int]",
        [(repr(k["pattern"]), str(i)) for i, k in enumerate(kinds) if "*" not in k["pattern"]],
        "Row in KINDS of a whole section name.",
    )
    prefixes = [(k["pattern"][:-1], i) for i, k in enumerate(kinds) if k["pattern"].endswith("*")]
    module.rows(
        "PREFIXES",
        "tuple[tuple[str, int], ...]",
        [repr(p) for p in sorted(prefixes, key=lambda p: (-len(p[0]), p[0]))],
        "Prefixes and their rows in KINDS, longest first; used when EXACT has no such name.",
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
    module.mapping(
        "OTHER_FIELDS",
        "dict[str, tuple[int, int]]",
        [(repr(f["name"]), repr((f["bit"], f["width"]))) for f in other["fields"]],
        "Fields of st_other: (first bit, width).",
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
    module.mapping(
        "WELL_KNOWN",
        "dict[str, str]",
        [(repr(w["pattern"]), repr(w["meaning"])) for w in data["well_known"]],
        "Symbols with a fixed name (or prefix*), and what they are.",
    )


def _compat(table: Table, module: _Module) -> None:
    attributes = table.data["attributes"]
    module.mapping(
        "NAMES",
        "dict[int, str]",
        _names(attributes, "code", 1),
        "Names of the attributes, by code.",
    )
    module.mapping(
        "LAYOUTS",
        "dict[int, tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]]",
        [(_hex(a["code"], 1), python_layout(a["layout"])) for a in attributes],
        "Payloads, in the form of the LAYOUTS of the eiattr table.",
    )
    module.mapping(
        "MERGE",
        "dict[int, str]",
        [(_hex(a["code"], 1), repr(a["merge"])) for a in attributes],
        "Rule by which a link merges the values of its inputs.",
    )
    module.mapping(
        "MISSING",
        "dict[int, int]",
        [(_hex(a["code"], 1), repr(a["missing"])) for a in attributes if "missing" in a],
        "Value that an input without the record stands for.",
    )
    for merge, name, doc in (
        ("variant", "VARIANT_VALUES", "variant of the target"),
        ("architecture", "ARCHITECTURE_VALUES", "sm of the target"),
    ):
        kind = "str" if merge == "variant" else "int"
        module.mapping(
            name,
            f"dict[int, dict[{kind}, int]]",
            [
                (_hex(a["code"], 1), _pairs(a["target_values"]))
                for a in attributes
                if a["merge"] == merge
            ],
            f"Values of a linked section by the {doc}.",
        )
    _bit_fields(attributes, module)
    for key, doc in (("leading", "start"), ("trailing", "end")):
        codes = repr(tuple(table.data[key]))
        module.constant(
            key.upper(), "tuple[int, ...]", codes, f"Codes that {doc} a linked section."
        )


def _arch(table: Table, module: _Module) -> None:
    archs = table.data["architectures"]
    module.mapping(
        "ARCHES",
        "dict[str, tuple[int, str]]",
        [
            (repr(f"sm_{a['sm']}{variant}"), repr((a["sm"], variant)))
            for a in archs
            for variant in a["variants"]
        ],
        "Architectures: (sm number, variant: '', 'a' or 'f').",
    )
    for key, name, kind, doc in (
        ("generation", "GENERATIONS", "str", "Marketing name."),
        ("link_group", "LINK_GROUP", "int", "Smallest sm whose code a link for this one accepts."),
        ("embedded", "EMBEDDED", "bool", "True for devices of embedded systems."),
        ("renamed_to", "RENAMED_TO", "int", "Number under which later toolkits know it."),
        ("param_base", "PARAM_BASE", "int", "Offset of the first parameter in constant bank 0."),
        ("instruction_size", "INSTRUCTION_SIZE", "int", "Bytes of one instruction."),
        ("rel_sections", "REL_SECTIONS", "bool", "True where addends of 0 go to .rel sections."),
        ("registers_in_sh_info", "REGISTERS_IN_SH_INFO", "bool", "True for sh_info of .text."),
        ("compat_section", "COMPAT_SECTION", "bool", "True where ABI 8 has .nv.compat."),
        ("capsule", "CAPSULE", "bool", "True where cubins carry a Mercury half."),
        ("text_align", "TEXT_ALIGN", "tuple[int, ...]", "Alignments of .text sections."),
        (
            "shared_configs",
            "SHARED_CONFIGS",
            "tuple[int, ...]",
            "Sizes of the shared memory.",
        ),
    ):
        module.mapping(
            name,
            f"dict[int, {kind}]",
            [
                (str(a["sm"]), repr(tuple(value) if isinstance(value, list) else value))
                for a in archs
                if (value := a.get(key)) is not None
            ],
            doc,
        )
    module.mapping(
        "LIMITS",
        "dict[int, dict[str, int]]",
        [(str(a["sm"]), repr(a["limits"])) for a in archs],
        "What an SM has; sizes in bytes, registers of 4 bytes.",
    )


def _elf_header(table: Table, module: _Module) -> None:
    data = table.data
    module.constant("EM_CUDA", "int", repr(data["machine"]["value"]), "e_machine of a cubin.")
    for key, name, digits, doc in (
        ("classes", "CLASS_NAMES", 1, "EI_CLASS."),
        ("osabis", "OSABI_NAMES", 2, "EI_OSABI."),
        ("abi_versions", "ABI_VERSION_NAMES", 1, "EI_ABIVERSION."),
        ("types", "TYPE_NAMES", 1, "e_type."),
        ("segment_types", "SEGMENT_TYPE_NAMES", 1, "p_type."),
    ):
        module.mapping(name, "dict[int, str]", _names(data[key], "value", digits), doc)
    module.mapping(
        "SEGMENT_FLAG_NAMES",
        "dict[int, str]",
        _names(data["segment_flags"], "mask", 1),
        "p_flags bits.",
    )
    module.mapping(
        "FLAG_FIELDS",
        "dict[int, tuple[tuple[str, int, int], ...]]",
        [
            (
                _hex(layout["osabi"]),
                repr(tuple((f["name"], f["bit"], f["width"]) for f in layout["fields"])),
            )
            for layout in data["flags"]
        ],
        "Fields of e_flags by EI_OSABI: (name, first bit, width).",
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
    module.mapping(
        "TYPES",
        "dict[tuple[str, int], str]",
        [(repr((t["section"], t["value"])), repr(t["name"])) for t in table.data["types"]],
        "Names of notes by section and type.",
    )
    module.mapping(
        "LAYOUTS",
        "dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]]",
        [(repr(t["section"]), python_layout(t["layout"])) for t in table.data["types"]],
        "Start of the descriptor by section, in the form of the LAYOUTS of the eiattr table.",
    )


def _fatbin(table: Table, module: _Module) -> None:
    data = table.data
    module.mapping("MAGICS", "dict[int, str]", _names(data["magics"], "value", 8), "Magic words.")
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
}


def emit_python(tables: Tables) -> dict[Path, str]:
    """One module per table and the package's ``__init__.py``."""
    init = '# Generated by tools.gen; do not edit.\n"""The tables of the spec as Python data."""\n'
    files = {FOLDER / "__init__.py": init}
    for name, writer in _WRITERS.items():
        table = tables[name]
        module = _Module(table)
        writer(table, module)
        files[FOLDER / f"{name}.py"] = re.sub(r"\n{3,}", "\n\n", module.text())
    return files
