"""One reference page per table, for people: ``docs/reference/<table>.md``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cubinspec.report.anchors import table_anchor

from .expand import expand_architectures, producer_rows, toolkit_rows
from .layouts import FIELD_SIZES
from .load import Table, Tables
from .patterns import expand_kinds

FOLDER = Path("docs/reference")

_MARK = re.compile(r'<a id="([^"]+)"></a>')

Column = tuple[str, Callable[[Mapping[str, Any]], str]]
"""Heading of a column and what stands in it for an entry."""


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ").strip()


def _code(text: object) -> str:
    return f"`{text}`" if text not in (None, "") else ""


def _grid(columns: Iterable[Column], entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """A Markdown table."""
    shown = list(columns)
    lines = [
        "| " + " | ".join(heading for heading, _ in shown) + " |",
        "|" + "---|" * len(shown),
    ]
    for entry in entries:
        lines.append("| " + " | ".join(_cell(cell(entry)) for _, cell in shown) + " |")
    return [*lines, ""]


def _get(key: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda entry: str(entry.get(key, ""))


def _names(key: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda entry: ", ".join(f"`{item}`" for item in entry.get(key, ()) if item != "")


def _named(key: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda entry: _code(entry.get(key))


def _hexadecimal(key: str, digits: int = 2) -> Callable[[Mapping[str, Any]], str]:
    return lambda entry: f"`{entry[key]:#0{digits + 2}x}`"


def _evidence(entry: Mapping[str, Any]) -> str:
    source = entry.get("source")
    return f"{entry['evidence']} ({source})" if source else str(entry["evidence"])


def _meaning(entry: Mapping[str, Any]) -> str:
    note = entry.get("note")
    return f"{entry['meaning']}; {note}" if note else str(entry["meaning"])


def _seen(entry: Mapping[str, Any]) -> str:
    seen = entry.get("seen")
    if not seen:
        return ""
    text = f"sm_{seen['sm_min']} to sm_{seen['sm_max']}"
    return f"{text}, {seen['cubins']} cubins" if "cubins" in seen else text


_VALUES: tuple[Column, ...] = (
    ("value", _hexadecimal("value")),
    ("name", _named("name")),
    ("meaning", _meaning),
    ("evidence", _evidence),
)
_MASKS: tuple[Column, ...] = (("mask", _hexadecimal("mask")), *_VALUES[1:])
_WORDS: tuple[Column, ...] = (("name", _named("name")), ("meaning", _meaning))
_BITS: tuple[Column, ...] = (
    ("bits", lambda e: f"{e['bit']} to {e['bit'] + e['width'] - 1}"),
    ("name", _named("name")),
    ("flag", _named("flag")),
    ("meaning", _meaning),
    ("evidence", _evidence),
)


def _field(field: Mapping[str, Any]) -> str:
    kind = field["type"] if field["type"] != "str" else f"text of {field['size']} bytes"
    words = [f"`{field['name']}` {kind}"]
    words += [f"{field['ref']} reference"] if "ref" in field else []
    words += [f"see `{field['enum']}`"] if "enum" in field else []
    words += ["repeated"] if "repeat" in field else []
    text = ", ".join(words)
    if "bits" in field:
        ranges = (f"`{b['name']}` {b['bit']}+{b['width']}" for b in field["bits"])
        text += " (" + ", ".join(ranges) + ")"
    return text


def _layout(entry: Mapping[str, Any]) -> str:
    layout = entry["layout"]
    kind = layout["kind"]
    if kind == "tagged":
        cases = (
            f"{tag}: " + "; ".join(map(_field, fields)) for tag, fields in layout["cases"].items()
        )
        return f"records with {_field(layout['tag'])}; " + " / ".join(cases)
    if "fields" not in layout:
        return str(kind)
    size = sum(FIELD_SIZES[f["type"]] for f in layout["fields"] if "repeat" not in f)
    return f"{kind}, {size} bytes: " + "; ".join(map(_field, layout["fields"]))


def _mark(anchor: str) -> str:
    return f'<a id="{anchor}"></a>'


def _marks(place: tuple[str, str], entry: Mapping[str, Any]) -> str:
    """The anchor of an entry; a section name for all constant banks has one for each, too."""
    banks = expand_kinds([entry]) if "pattern" in entry else []
    anchors = [table_anchor(*place, row) for row in (*banks, dict(entry))]
    return "".join(map(_mark, dict.fromkeys(anchors)))


def _entry_mark(place: tuple[str, str], entry: Mapping[str, Any]) -> str:
    """The anchor of an entry that has a name; rules of order for groups of sections have none."""
    named = not {"name", "pattern"}.isdisjoint(entry)
    return _mark(table_anchor(*place, dict(entry))) if named else ""


def _section(
    title: str,
    columns: Iterable[Column],
    entries: Iterable[Mapping[str, Any]],
    place: tuple[str, str] | None = None,
) -> list[str]:
    """A table below a heading.

    Args:
        place: table and list of the entries, when ``explain`` leads to each of them.
    """
    (first, shown), *others = columns
    if place is not None:
        columns = [(first, lambda e: _entry_mark(place, e) + shown(e)), *others]
    else:
        columns = [(first, shown), *others]
    return [f"## {title}", "", *_grid(columns, entries)]


def _chapter(
    title: str,
    columns: Sequence[Column],
    entries: Sequence[Mapping[str, Any]],
    place: tuple[str, str],
    brief: Sequence[str],
    key: str = "name",
) -> list[str]:
    """A short table of all entries, and below it a heading for each with all that is known.

    Args:
        place: table and list of the entries.
        brief: headings of the columns that the short table has.
        key: heading of the column that names an entry.
    """
    cells = dict(columns)

    def name(entry: Mapping[str, Any]) -> str:
        return cells[key](entry) or table_anchor(*place, dict(entry))

    def linked(entry: Mapping[str, Any]) -> str:
        return f"[{_cell(name(entry))}](#{table_anchor(*place, dict(entry))})"

    def plain(shown: Callable[[Mapping[str, Any]], str]) -> Callable[[Mapping[str, Any]], str]:
        return lambda entry: _MARK.sub("", shown(entry))

    short = [(head, linked if head == key else plain(cells[head])) for head in brief]
    lines = [f"## {title}", "", *_grid(short, entries)]
    for entry in entries:
        lines += [_marks(place, entry), "", f"### {name(entry)}", ""]
        told = ((head, shown(entry)) for head, shown in columns if head != key)
        lines += [f"- {head}: {' '.join(text.split())}" for head, text in told if text]
        lines.append("")
    return lines


def _eiattr(data: Mapping[str, Any]) -> list[str]:
    columns: list[Column] = [
        ("code", _hexadecimal("code")),
        ("name", _named("name")),
        ("format", lambda e: ", ".join(e["formats"])),
        ("meaning", _meaning),
        ("category", _get("category")),
        ("payload", _layout),
        ("payload known from", lambda e: e.get("layout_source", e.get("layout_evidence", ""))),
        ("seen", _seen),
        ("evidence", _evidence),
    ]
    formats = [("code", _get("code")), *_VALUES[1:]]
    lines = _section("Formats", formats, data["formats"], ("eiattr", "formats"))
    lines += _section("Categories", _WORDS, data["categories"], ("eiattr", "categories"))
    brief = ("code", "name", "format", "meaning")
    lines += _chapter("Attributes", columns, data["attributes"], ("eiattr", "attributes"), brief)
    lines += ["## Values of payload fields", ""]
    for enum in data["enums"]:
        heading = "bit" if enum.get("bitset") else "value"
        rows = [{"value": k, "name": v} for k, v in enum["values"].items()]
        lines += [_mark(table_anchor("eiattr", "enums", enum)), "", f"### {enum['name']}", ""]
        lines += [f"{enum['meaning']} ({enum['evidence']})", ""]
        lines += _grid([(heading, _get("value")), ("name", _named("name"))], rows)
    return lines


def _action(action: Mapping[str, Any]) -> str:
    shift = f" >> {action['shift']}" if action["shift"] else ""
    last = action["bit"] + action["width"] - 1
    return f"{action['kind']} {action['bit']}..{last} = {action['value']}{shift}"


def _in_sass(entry: Mapping[str, Any]) -> str:
    """What the finalizer makes of a Mercury relocation type."""
    words = [f"`{entry['sass']}`"] if "sass" in entry else []
    words += [f"`{row['type']}` in `{row['operation']:#x}`" for row in entry.get("sass_of", ())]
    if "sass_of_kernel" in entry:
        words.append(f"`{entry['sass_of_kernel']}` of a kernel")
    if "sass_outside_code" in entry:
        words.append(f"`{entry['sass_outside_code']}` outside of code")
    if "sass_elsewhere" in entry:
        words.append(f"listed as `{entry['sass_elsewhere']['usual']}` in other code")
    return "; ".join(words)


def _relocations(data: Mapping[str, Any]) -> list[str]:
    rules: list[Column] = [
        ("name", _named("name")),
        ("kept for", _names("targets")),
        ("error for", _names("errors")),
        ("meaning", _meaning),
        ("evidence", _evidence),
    ]
    values: list[Column] = [*_WORDS[:1], ("formula", _get("formula")), *_VALUES[2:]]
    actions: list[Column] = [
        *_WORDS[:1],
        ("base type", _named("base")),
        ("rows", lambda e: "; ".join(" ".join(map(str, row)) for row in e["rows"])),
        *_WORDS[1:],
    ]
    columns: list[Column] = [
        ("type", lambda e: f"`{e['type']:#x}`" if e["type"] > 0xFFFF else f"{e['type']}"),
        ("name", _named("name")),
        ("actions", lambda e: "; ".join(map(_action, e["actions"])) or "none"),
        ("actions known from", lambda e: e.get("actions_source", e.get("actions_evidence", ""))),
        ("kept", _get("keep")),
        ("applied", lambda e: e.get("apply", "always") if e["actions"] else ""),
        ("retyped", _named("retype")),
        ("in SASS", _in_sass),
        ("resolver", _get("resolver")),
        ("seen", _seen),
        ("evidence", _evidence),
        ("note", _get("note")),
    ]
    return [
        *_section("Action kinds", _WORDS, data["kinds"], ("relocations", "kinds")),
        *_section("Values", values, data["values"], ("relocations", "values")),
        *_section("Kinds of target", _WORDS, data["targets"], ("relocations", "targets")),
        *_section(
            "What stays in an executable", rules, data["keep_rules"], ("relocations", "keep_rules")
        ),
        *_section("When actions run", _WORDS, data["apply_rules"], ("relocations", "apply_rules")),
        *_section("Resolvers", _WORDS, data["resolvers"], ("relocations", "resolvers")),
        *_section(
            "What .nv.rel.action states",
            actions,
            data["rel_actions"],
            ("relocations", "rel_actions"),
        ),
        *_chapter(
            *("Types", columns, data["relocations"], ("relocations", "relocations")),
            ("type", "name", "actions", "kept"),
        ),
    ]


def _sections(data: Mapping[str, Any]) -> list[str]:
    kinds: list[Column] = [
        ("name", _named("pattern")),
        ("kind", _named("kind")),
        ("purpose", lambda e: e["purpose"] + (f"; {e['note']}" if "note" in e else "")),
        ("relocatable", _named("relocatable")),
        ("executable", _named("executable")),
        ("other types", _names("other_types")),
        ("flags", _names("flags")),
        ("optional flags", _names("optional_flags")),
        ("sh_link", _get("link")),
        ("sh_info", _get("info")),
        ("sh_addralign", lambda e: ", ".join(map(str, e["align"]))),
        ("sh_entsize", _get("entsize")),
        ("body", _get("body")),
        ("evidence", _evidence),
    ]
    ranks: list[Column] = [
        ("half", _get("half")),
        ("rank", _get("rank")),
        ("name", _named("name")),
        ("type", _named("type")),
        ("name begins with", _named("prefix")),
        ("when", _named("when")),
        ("evidence", _evidence),
    ]
    bodies: list[Column] = [*_WORDS, ("spec", lambda e: _code(e.get("ksy", "opaque")))]
    return [
        *_chapter(
            *("Section kinds", kinds, data["kinds"], ("sections", "kinds")),
            ("name", "kind", "purpose"),
        ),
        *_section("Section types", _VALUES, data["types"], ("sections", "types")),
        *_section(
            "Flags", [*_MASKS, ("for", _names("kinds"))], data["flags"], ("sections", "flags")
        ),
        *_section("Numbers in sh_flags", _BITS, data["flag_fields"], ("sections", "flag_fields")),
        *_section("Numbers in sh_info", _BITS, data["info_fields"], ("sections", "info_fields")),
        *_section(
            "Names that no file has", _PATTERNS, data["named_only"], ("sections", "named_only")
        ),
        *_section(
            "Formats of values in .nv.metadata",
            _VALUES,
            data["metadata_formats"],
            ("sections", "metadata_formats"),
        ),
        *_section("Order of the section header table", ranks, data["ranks"], ("sections", "ranks")),
        *_section(
            "When a rank is another one", _WORDS, data["rank_words"], ("sections", "rank_words")
        ),
        *_section("Meanings of sh_link", _WORDS, data["links"], ("sections", "links")),
        *_section("Meanings of sh_info", _WORDS, data["infos"], ("sections", "infos")),
        *_section("Bodies", bodies, data["bodies"], ("sections", "bodies")),
    ]


_PATTERNS: list[Column] = [("name", _named("pattern")), *_VALUES[2:]]
_REGISTRATIONS: list[Column] = [
    ("name", _named("name")),
    ("registers", _get("registers")),
    *_VALUES[3:],
]


def _symbols(data: Mapping[str, Any]) -> list[str]:
    other = data["other"]
    fields: list[Column] = [
        *_BITS[:2],
        ("set for a function", _named("func_name")),
        ("set for others", _named("object_name")),
        *_BITS[3:],
    ]
    return [
        *_section("Types (st_info bits 0 to 3)", _VALUES, data["types"], ("symbols", "types")),
        *_section("Binds (st_info bits 4 to 7)", _VALUES, data["binds"], ("symbols", "binds")),
        *_section("st_other", fields, other["fields"], ("symbols", "other.fields")),
        *_section(
            "Visibilities", _VALUES, other["visibilities"], ("symbols", "other.visibilities")
        ),
        *_section("Memory spaces", _VALUES, other["spaces"], ("symbols", "other.spaces")),
        *_section(
            "Special section indices",
            _VALUES,
            data["special_sections"],
            ("symbols", "special_sections"),
        ),
        *_chapter(
            *(
                "Symbols with a fixed name",
                _PATTERNS,
                data["well_known"],
                ("symbols", "well_known"),
            ),
            ("name", "meaning"),
        ),
    ]


def _compat(data: Mapping[str, Any]) -> list[str]:
    columns: list[Column] = [
        ("code", _get("code")),
        ("name", _named("name")),
        ("format", lambda e: ", ".join(e["formats"])),
        ("meaning", _meaning),
        ("payload", _layout),
        ("values seen", lambda e: ", ".join(f"{v:#x}" for v in e.get("values_seen", ()))),
        ("merge", _get("merge")),
        ("missing counts as", _get("missing")),
        ("evidence", _evidence),
    ]
    return [
        *_chapter(
            *("Records", columns, data["attributes"], ("compat", "attributes")),
            ("code", "name", "format", "meaning", "merge"),
        ),
        *_section("Merge rules", _WORDS, data["merge_rules"], ("compat", "merge_rules")),
        f"A linked section starts with {data['leading']} and ends with {data['trailing']}.",
        "",
    ]


def _targets(arch: Mapping[str, Any]) -> str:
    """The targets of an architecture; each can be linked to."""
    names = [f"sm_{arch['sm']}{variant}" for variant in arch["variants"]]
    return ", ".join(f"{_mark(name) if name[-1].isalpha() else ''}`{name}`" for name in names)


def _arch(data: Mapping[str, Any]) -> list[str]:
    layout: list[Column] = [
        ("name", lambda e: f"`sm_{e['sm']}`"),
        ("generation", lambda e: e["generation"] or "not known"),
        ("targets", _targets),
        ("toolkits", lambda e: f"{e.get('first_toolkit', '')} to {e.get('last_toolkit', '')}"),
        ("link group", _get("link_group")),
        ("embedded", lambda e: "yes" if e["embedded"] else ""),
        ("instruction", lambda e: f"{e['instruction_size']} bytes"),
        ("param_base", _hexadecimal("param_base", 3)),
        (".text align", lambda e: ", ".join(map(str, e["text_align"]))),
        ("capsule", lambda e: "yes" if e["capsule"] else ""),
        ("evidence", _evidence),
    ]
    families, words = data["families"], data["fields"]
    milestones: list[Column] = [
        ("name", _named("milestone")),
        ("first", _get("first")),
        ("meaning", _get("meaning")),
        ("evidence", _evidence),
    ]
    workarounds: list[Column] = [
        ("attribute", _named("attribute")),
        ("meaning", _get("meaning")),
        ("architectures", _workaround),
        ("evidence", _evidence),
    ]
    names = [limit["name"] for limit in data["limits"]]
    limits: list[Column] = [("sm", _get("sm"))]
    limits += [(name.replace("_", " "), _limit(name)) for name in names]
    running: list[Column] = [
        ("rule", lambda e: f"`{e['id']}`"),
        ("images", lambda e: ", ".join(e["images"])),
        ("when", _running_condition),
        ("runs", lambda e: f"yes, rank {e['rank']}" if e["runs"] else "no"),
        ("meaning", _get("meaning")),
        ("evidence", _evidence),
    ]
    return [
        *_chapter(
            *("Architectures", layout, expand_architectures(data), ("arch", "architectures")),
            ("name", "generation", "targets", "toolkits"),
        ),
        *_section("Families", _transposed(families), _facts(families, "family", words)),
        *_section("What changed with an architecture", milestones, data["milestones"]),
        *_section("Work-arounds", workarounds, data["workarounds"]),
        *_section("Which code runs where", running, data["running"]),
        *_section("Limits", limits, data["architectures"]),
        *_section("What the limits mean", _WORDS, data["limits"], ("arch", "limits")),
        *_section("What the fields mean", _WORDS, data["fields"], ("arch", "fields")),
    ]


def _running_condition(rule: Mapping[str, Any]) -> str:
    words = []
    if "variants" in rule:
        words.append(f"variant {' or '.join(rule['variants'])}")
    for key in ("number", "major", "family", "embedded"):
        if key in rule:
            words.append(f"{key}: {rule[key]}")
    return ", ".join(words)


def _workaround(row: Mapping[str, Any]) -> str:
    values = (f"sm_{sm}: {value}" for sm, value in row.get("values", {}).items())
    return ", ".join((*values, *(f"sm_{sm}" for sm in row.get("architectures", ()))))


def _transposed(rows: Iterable[Mapping[str, Any]], key: str = "family") -> list[Column]:
    """Columns of a table that has one column for each row of the spec's table."""
    columns: list[Column] = [("fact", _named("name"))]
    columns += [(row[key], _get(row[key])) for row in rows]
    return [*columns, ("meaning", _get("meaning"))]


def _facts(
    rows: Sequence[Mapping[str, Any]], key: str, words: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """One row for each fact that rows of the spec's table state."""
    return [
        {
            "name": word["name"],
            "meaning": word["meaning"],
            **{row[key]: _fact(row.get(word["name"])) for row in rows},
        }
        for word in words
        if any(word["name"] in row for row in rows)
    ]


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_fact(item) or 'no'}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _toolkits(data: Mapping[str, Any]) -> list[str]:
    rows = [
        {**row, "compat": ", ".join(f"{r['record']} {r['value']}" for r in row["compat"])}
        for row in toolkit_rows(data)
    ]
    columns: list[Column] = [
        ("version", _get("version")),
        ("measured", _get("release")),
        ("ptxas", lambda e: _fact(e["producers"])),
        ("nvlink", lambda e: _fact(e["linked"])),
        ("stale links", lambda e: _fact(e["stale_links"])),
        ("sums segments", lambda e: _fact(e["sums_segments"])),
        (".nv.compat", _get("compat")),
        ("evidence", _evidence),
    ]
    names = [word["name"] for word in data["producer_fields"]]
    layouts: list[Column] = [("producer", _named("producer"))]
    layouts += [(name.replace("_", " "), _layout_fact(name)) for name in names]
    return [
        f"Files are written here as by CUDA {data['written']}.",
        "",
        *_section("Toolkits", columns, rows),
        *_section("What the fields mean", _WORDS, data["fields"]),
        *_section("Producers", layouts, producer_rows(data).values()),
        *_section("What the facts of a producer mean", _WORDS, data["producer_fields"]),
    ]


def _layout_fact(name: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda row: _fact(row[name])


def _limit(name: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda arch: str(arch["limits"].get(name, ""))


def _elf_header(data: Mapping[str, Any]) -> list[str]:
    lines = []
    for title, key in (
        ("e_machine", "machine"),
        ("EI_CLASS", "classes"),
        ("EI_OSABI", "osabis"),
        ("EI_ABIVERSION", "abi_versions"),
        ("e_type", "types"),
        ("p_type", "segment_types"),
    ):
        rows = [data[key]] if isinstance(data[key], dict) else data[key]
        lines += _section(title, _VALUES, rows, ("elf_header", key))
    place = ("elf_header", "segment_flags")
    lines += _section("p_flags", _MASKS, data["segment_flags"], place)
    for layout in data["flags"]:
        lines += [_mark(table_anchor("elf_header", "flags", layout)), ""]
        title = f"e_flags with EI_OSABI {layout['osabi']:#x}"
        lines += _section(title, _BITS, layout["fields"], ("elf_header", "flags.fields"))
    return lines


def _notes(data: Mapping[str, Any]) -> list[str]:
    columns: list[Column] = [
        ("section", _named("section")),
        ("type", _get("value")),
        *_VALUES[1:3],
        ("descriptor", _layout),
        ("evidence", _evidence),
    ]
    return [
        f"Owner: `{data['owner']}`.",
        "",
        *_section("Notes", columns, data["types"], ("notes", "types")),
    ]


def _fatbin(data: Mapping[str, Any]) -> list[str]:
    return [
        *_section("Magic words", _VALUES, data["magics"], ("fatbin", "magics")),
        *_section("Kinds of entry", _VALUES, data["kinds"], ("fatbin", "kinds")),
        *_section("Flags of an entry", _MASKS, data["flags"], ("fatbin", "flags")),
        *_section(
            "Versions of the wrapper",
            _VALUES,
            data["wrapper_versions"],
            ("fatbin", "wrapper_versions"),
        ),
        *_section(
            "Sections of host files", _PATTERNS, data["host_sections"], ("fatbin", "host_sections")
        ),
        *_section(
            "Functions that register names",
            _REGISTRATIONS,
            data["registrations"],
            ("fatbin", "registrations"),
        ),
        *_section(
            "Other names in host files", _PATTERNS, data["host_names"], ("fatbin", "host_names")
        ),
    ]


def _constants(data: Mapping[str, Any]) -> list[str]:
    return [
        line
        for group in data["groups"]
        for line in _section(group["meaning"].capitalize(), _VALUES, group["values"])
    ]


def _operand(name: str, facts: Any) -> str:
    if isinstance(facts, int):
        return f"{name} {facts}"
    words = [name, f"size `{facts['size']}`" if "size" in facts else str(facts["registers"])]
    words += ["uniform"] if "uniform" in facts else []
    words += [f"in forms {', '.join(map(str, facts['forms']))}"] if "forms" in facts else []
    words += [f"if `{facts['flag']}`"] if "flag" in facts else []
    return " ".join(words)


def _operand_list(entry: Mapping[str, Any]) -> str:
    if "operands" not in entry:
        return "not known"
    words = [_operand(*item) for item in entry["operands"].items()] or ["none"]
    words += ["all uniform"] if "uniform" in entry else []
    words += ["by form"] if "by_form" in entry else []
    words += [f"pairs in form {form}" for form in entry.get("wide", ())]
    return "; ".join(words)


def _cycles(entry: Mapping[str, Any]) -> str:
    pairs = {
        "result": "result_after",
        "operands": "read_after",
        "next instruction": "least_stall",
    }
    return ", ".join(f"{name} {entry[key]}" for name, key in pairs.items() if key in entry)


def _sass(data: Mapping[str, Any]) -> list[str]:
    opcodes: list[Column] = [
        ("opcode", _hexadecimal("opcode", 3)),
        ("name", _named("name")),
        ("meaning", _meaning),
        ("registers", _operand_list),
        ("cycles", _cycles),
        ("traits", _names("traits")),
        (
            "Mercury units, by form",
            lambda e: ", ".join(f"{form}: {units}" for form, units in e.get("mercury", {}).items()),
        ),
        ("evidence", _evidence),
    ]
    words: list[Column] = [("number", _get("word")), *_VALUES[1:]]
    sizes: list[Column] = [
        ("name", _named("name")),
        ("field", _named("field")),
        ("flag", lambda e: f"`{e['flag']}`" if "flag" in e else ""),
        ("registers, by value", lambda e: ", ".join(map(str, e["registers"]))),
        *_VALUES[2:],
    ]
    forms: list[Column] = [
        ("form", _get("form")),
        ("place of B", _get("place_b")),
        ("place of C", _get("place_c")),
        *_VALUES[2:],
    ]
    lengths: list[Column] = [
        ("name", _named("name")),
        (
            "fields",
            lambda e: ", ".join(f"`{name}`" for name in (*e.get("short", ()), *e.get("long", ()))),
        ),
        ("values in the short form", lambda e: ", ".join(map(str, e.get("short", {}).values()))),
        ("values in the long form", lambda e: ", ".join(map(str, e.get("long", {}).values()))),
        *_VALUES[2:],
    ]
    unknown = {"name": "any", "operands": data["any_operands"]}
    return [
        *_section("Parts of an instruction", _BITS, data["fields"]),
        *(
            line
            for group in data["groups"]
            for line in _section(group["meaning"].capitalize(), _VALUES, group["values"])
        ),
        *_section("Forms", forms, data["forms"]),
        *_section("Numbers of registers", sizes, data["sizes"]),
        *_section("Opcodes", opcodes, data["opcodes"]),
        f"Where the operands are not known they may be: {_operand_list(unknown)}.",
        "",
        *_section("Traits", _WORDS, data["traits"]),
        *_section("Lengths of Mercury instructions", lengths, data["lengths"]),
        *_section("Whole instructions", words, data["words"]),
    ]


_PAGES: dict[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "eiattr": _eiattr,
    "relocations": _relocations,
    "sections": _sections,
    "symbols": _symbols,
    "compat": _compat,
    "arch": _arch,
    "toolkits": _toolkits,
    "elf_header": _elf_header,
    "notes": _notes,
    "fatbin": _fatbin,
    "constants": _constants,
    "sass": _sass,
}


def _page(table: Table) -> str:
    source = table.file.as_posix()
    lines = [
        f"<!-- Generated from {source} (sha256 {table.digest}) by tools.gen; do not edit. -->",
        f"# {table.data['title']}",
        "",
        table.data["doc"].strip(),
        "",
        f"Source: [`{source}`](../../{source}). [What the evidence levels mean](../tables.md).",
        "",
        *_PAGES[table.name](table.data),
    ]
    seen: set[str] = set()
    return _MARK.sub(lambda mark: _once(mark, seen), "\n".join(lines).rstrip()) + "\n"


def _once(mark: re.Match[str], seen: set[str]) -> str:
    """An anchor, unless one of its name stands further up."""
    if mark[1] in seen:
        return ""
    seen.add(mark[1])
    return mark[0]


def emit_pages(tables: Tables) -> dict[Path, str]:
    """``docs/reference/<table>.md`` and the list of them."""
    files = {FOLDER / f"{name}.md": _page(table) for name, table in tables.items()}
    index = [
        "<!-- Generated by tools.gen; do not edit. -->",
        "# Reference",
        "",
        *(f"- [{table.data['title']}]({name}.md)" for name, table in tables.items()),
    ]
    files[FOLDER / "README.md"] = "\n".join(index) + "\n"
    return files
