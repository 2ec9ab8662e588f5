"""What must hold in and between the tables, each fault with file and line.

The JSON Schemas in ``ksy/tables/schema`` check the shape of each table; the functions here check
what a schema cannot say. Every rule has a test that plants the fault.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema
from referencing import Registry, Resource

from .emit_json import plain
from .expand import number
from .layouts import FIELD_SIZES, FORMAT_CODES
from .load import TABLES, DataPath, Table, Tables
from .patterns import expand_kinds

KAITAI_ENUM_MAX = 0x7FFFFFFF
"""Largest enum value that every Kaitai target can hold (C# enums are 32-bit signed)."""

Fault = tuple[DataPath, str]
"""Place in a table and what is wrong there."""

_COMMON = "common.schema.json"


def check(root: Path, tables: Tables) -> list[str]:
    """All faults, as ``file:line: sentence``, in the order of the tables."""
    problems: list[str] = []
    sound = True
    for table in tables.values():
        faults = schema_faults(root, table)
        sound = sound and not faults
        problems += _located(table, faults)
    if not sound:
        # The rules below trust the shape that the schemas guarantee.
        return problems
    for name, rules in _RULES.items():
        for rule in rules:
            problems += _located(tables[name], rule(tables))
    problems += _located(tables["sections"], missing_specs(root, tables))
    return problems


def _located(table: Table, faults: Iterable[Fault]) -> list[str]:
    return [f"{table.at(*path)}: {text}" for path, text in faults]


# --- shape --------------------------------------------------------------------------------------


def _schema(root: Path, name: str) -> str:
    return (root / "ksy" / "tables" / "schema" / name).read_text(encoding="utf-8")


def schema_faults(root: Path, table: Table) -> list[Fault]:
    """Places where a table does not have the shape that its schema asks for."""
    return _shape_faults(table, _schema(root, f"{table.name}.schema.json"), _schema(root, _COMMON))


@lru_cache(maxsize=2 * len(TABLES))
def _shape_faults(table: Table, schema: str, common: str) -> list[Fault]:
    """The same; most tables are checked often and change seldom."""
    registry: Registry[Any] = Registry().with_resource(
        _COMMON, Resource.from_contents(json.loads(common))
    )
    validator = jsonschema.Draft202012Validator(json.loads(schema), registry=registry)
    deepest = map(
        jsonschema.exceptions.best_match,
        ([error] for error in validator.iter_errors(plain(table.data))),
    )
    return [(_native(table, error.absolute_path), error.message) for error in deepest]


def _native(table: Table, path: Iterable[str | int]) -> DataPath:
    """A path through the JSON form as a path through the YAML form, where keys may be integers."""
    result: DataPath = ()
    for key in path:
        number = int(key) if isinstance(key, str) and key.isdigit() else key
        result = (*result, number if (*result, number) in table.lines else key)
    return result


# --- rules that several tables share --------------------------------------------------------------


def duplicates(entries: Iterable[Mapping[str, Any]], key: str, path: DataPath) -> Iterator[Fault]:
    """Entries whose value of a key occurred before; ``None`` may repeat."""
    first: dict[object, int] = {}
    for index, entry in enumerate(entries):
        value = entry.get(key)
        if value is None:
            continue
        if value in first:
            shown = hex(value) if isinstance(value, int) else value
            yield (*path, index), f"{key} {shown} is used twice (also by entry {first[value]})"
        first.setdefault(value, index)


def overlaps(
    fields: Iterable[Mapping[str, Any]], path: DataPath, size: int, *, cover: bool = False
) -> Iterator[Fault]:
    """Bit ranges that overlap, leave ``size`` bits, or (with ``cover``) leave a bit unnamed."""
    taken: dict[int, str] = {}
    for index, item in enumerate(fields):
        name = item.get("name", f"entry {index}")
        for bit in range(item["bit"], item["bit"] + item["width"]):
            if bit >= size:
                yield (*path, index), f"{name} reaches bit {bit}, there are {size} bits"
                break
            if bit in taken:
                yield (*path, index), f"{name} and {taken[bit]} both have bit {bit}"
                break
            taken[bit] = name
    if cover and len(taken) < size:
        missing = min(set(range(size)) - set(taken))
        yield path, f"no field has bit {missing}"


def unknown_words(
    entries: Iterable[Mapping[str, Any]],
    key: str,
    words: Iterable[object],
    path: DataPath,
    what: str,
) -> Iterator[Fault]:
    """Entries that use a word (or a list of words) which no list of the table defines."""
    known = set(words)
    for index, entry in enumerate(entries):
        used = entry.get(key)
        for word in used if isinstance(used, list | dict) else [used]:
            if word is not None and word not in known:
                yield (*path, index, key), f"{what} {word!r} is not defined"


def _names(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    return [entry["name"] for entry in entries]


def layout_faults(
    layout: Mapping[str, Any], formats: list[str], enums: Iterable[str], path: DataPath
) -> Iterator[Fault]:
    """Faults of one payload layout: names, enums, bit fields, counts, sizes, formats."""
    kind = layout["kind"]
    groups: list[tuple[DataPath, list[dict[str, Any]]]] = []
    if kind == "tagged":
        groups = [((*path, "cases", tag), fields) for tag, fields in layout["cases"].items()]
        yield from _field_faults([layout["tag"]], enums, (*path, "tag"))
    elif "fields" in layout:
        groups = [((*path, "fields"), layout["fields"])]
    for place, fields in groups:
        yield from duplicates(fields, "name", place)
        yield from _field_faults(fields, enums, place)
    fields = layout.get("fields", [])
    tails = [f for f in fields if "repeat" in f]
    if kind in ("records", "list"):
        wanted = "eos" if kind == "list" else None
        heads = _names(f for f in fields if "repeat" not in f)
        if len(tails) != 1 or fields[-1] is not tails[0]:
            yield path, f"{kind} needs exactly one repeated field, the last"
        elif wanted and tails[0]["repeat"] != wanted:
            yield path, "the repeated field of a list runs to the end (repeat: eos)"
        elif not wanted and tails[0]["repeat"] not in heads:
            yield path, f"repeat names no field before it: {tails[0]['repeat']!r}"
    elif tails:
        yield path, f"a {kind} has no repeated field"
    if kind == "inline":
        if sum(FIELD_SIZES[f["type"]] for f in fields) > 2:
            yield path, "an inline value has at most two bytes"
        if "SVAL" in formats or "NVAL" in formats:
            yield path, "an inline value is a BVAL or HVAL record"
    elif kind == "none" and set(formats) - {"NVAL"}:
        yield path, "a record without payload is an NVAL record"
    elif kind not in ("none", "unknown") and set(formats) - {"SVAL"}:
        yield path, f"a {kind} payload is an SVAL record"


def _field_faults(
    fields: Iterable[Mapping[str, Any]], enums: Iterable[str], path: DataPath
) -> Iterator[Fault]:
    for index, item in enumerate(fields):
        place = (*path, index)
        if "enum" in item and item["enum"] not in enums:
            yield place, f"enum {item['enum']!r} is not defined"
        if "bits" in item:
            yield from overlaps(
                item["bits"], (*place, "bits"), 8 * FIELD_SIZES.get(item["type"], 0)
            )
            yield from unknown_words(item["bits"], "enum", enums, (*place, "bits"), "enum")
        if item["type"] == "str" and "size" not in item:
            yield place, "a text field names the field that has its size"


# --- rules of single tables -----------------------------------------------------------------------


def eiattr_rules(tables: Tables) -> Iterator[Fault]:
    """Codes, names, categories and layouts of the attributes."""
    data = tables["eiattr"].data
    attributes = data["attributes"]
    yield from duplicates(attributes, "code", ("attributes",))
    yield from duplicates(attributes, "name", ("attributes",))
    yield from duplicates(data["enums"], "name", ("enums",))
    yield from unknown_words(
        attributes, "category", _names(data["categories"]), ("attributes",), "category"
    )
    enums = _names(data["enums"])
    for index, attribute in enumerate(attributes):
        path: DataPath = ("attributes", index)
        if index and attribute["code"] <= attributes[index - 1]["code"]:
            yield path, "attributes stand in the order of their codes"
        yield from layout_faults(
            attribute["layout"], attribute["formats"], enums, (*path, "layout")
        )
        if attribute["layout"]["kind"] != "unknown" and "layout_evidence" not in attribute:
            yield path, "a known layout says how it is known (layout_evidence)"
    codes = {a["code"] for a in attributes}
    missing = set(range(max(codes))) - codes
    if missing:
        yield ("attributes",), f"no entry for code {min(missing):#x}"
    formats = {f["name"]: f["code"] for f in data["formats"]}
    if formats != {f"EIFMT_{name}": code for name, code in FORMAT_CODES.items()}:
        yield ("formats",), "formats are EIFMT_NVAL, BVAL, HVAL and SVAL with codes 1 to 4"


def relocation_rules(tables: Tables) -> Iterator[Fault]:
    """Types, names, actions, rules and retypings of the relocations."""
    data = tables["relocations"].data
    entries = data["relocations"]
    yield from duplicates(entries, "type", ("relocations",))
    yield from duplicates(entries, "name", ("relocations",))
    for key, group, what in (
        ("resolver", "resolvers", "resolver"),
        ("keep", "keep_rules", "keep rule"),
        ("apply", "apply_rules", "apply rule"),
    ):
        yield from unknown_words(entries, key, _names(data[group]), ("relocations",), what)
    for key in ("targets", "errors"):
        yield from unknown_words(
            data["keep_rules"], key, _names(data["targets"]), ("keep_rules",), "target"
        )
    for index, rule in enumerate(data["keep_rules"]):
        both = set(rule["targets"]) & set(rule.get("errors", ()))
        if both:
            yield ("keep_rules", index), f"{min(both)} is both kept and an error"
    by_name = {entry["name"]: entry for entry in entries}
    for index, entry in enumerate(entries):
        yield from _relocation_faults(data, entry, by_name, ("relocations", index))
    for offset, prefix in ((0, "R_CUDA_"), (data["mercury_offset"], "R_MERCURY_")):
        numbers = sorted(e["type"] - offset for e in entries if e["name"].startswith(prefix))
        if numbers != list(range(len(numbers))):
            yield ("relocations",), f"{prefix} types do not run from {offset:#x} without a gap"


def _relocation_faults(
    data: Mapping[str, Any],
    entry: Mapping[str, Any],
    by_name: Mapping[str, Mapping[str, Any]],
    path: DataPath,
) -> Iterator[Fault]:
    actions = entry["actions"]
    place = (*path, "actions")
    yield from unknown_words(actions, "kind", _names(data["kinds"]), place, "action kind")
    yield from unknown_words(actions, "value", _names(data["values"]), place, "value")
    yield from overlaps(actions, place, 128)
    for index, action in enumerate(actions):
        if action["width"] > 64 and action["value"] != "instruction":
            yield (*place, index), "a value has 64 bits"
        if (action["kind"] == "clear") != (action["value"] == "zero"):
            yield (*place, index), "clear and the value zero belong together"
    if actions and "actions_evidence" not in entry:
        yield path, "actions say how they are known (actions_evidence)"
    if "retype" in entry:
        target = by_name.get(entry["retype"])
        if target is None:
            yield (*path, "retype"), f"retype names no type: {entry['retype']!r}"
        elif _fields(target) != _fields(entry):
            yield (*path, "retype"), f"{entry['retype']} writes other bits"
    for key in ("sass", "sass_of_kernel", "sass_outside_code"):
        if key in entry and entry[key] not in by_name:
            yield (*path, key), f"{key} names no type: {entry[key]!r}"
    for index, row in enumerate(entry.get("sass_of", ())):
        if row["type"] not in by_name:
            yield (*path, "sass_of", index), f"sass_of names no type: {row['type']!r}"
    elsewhere = entry.get("sass_elsewhere")
    if elsewhere is not None:
        used = [row["type"] for row in elsewhere["of"]]
        for name in (elsewhere["usual"], elsewhere["behind"], *used):
            if name not in by_name:
                yield (*path, "sass_elsewhere"), f"sass_elsewhere names no type: {name!r}"


def _fields(entry: Mapping[str, Any]) -> list[tuple[int, int, int]]:
    return [(a["bit"], a["width"], a["shift"]) for a in entry["actions"]]


def section_rules(tables: Tables) -> Iterator[Fault]:
    """Types, flags, kinds and what they refer to."""
    data = tables["sections"].data
    yield from duplicates(data["types"], "value", ("types",))
    yield from duplicates(data["types"], "name", ("types",))
    yield from duplicates(data["flags"], "name", ("flags",))
    yield from duplicates(data["bodies"], "name", ("bodies",))
    yield from duplicates(data["named_only"], "pattern", ("named_only",))
    yield from _value_faults(data["metadata_formats"], ("metadata_formats",))
    kinds = data["kinds"]
    yield from duplicates(kinds, "kind", ("kinds",))
    yield from duplicates(kinds, "pattern", ("kinds",))
    kind_names = [kind["kind"] for kind in kinds]
    for key, words, what in (
        ("body", _names(data["bodies"]), "body"),
        ("link", _names(data["links"]), "meaning of sh_link"),
        ("info", _names(data["infos"]), "meaning of sh_info"),
        ("flags", _names(data["flags"]), "flag"),
        ("optional_flags", _names(data["flags"]), "flag"),
        ("other_types", _names(data["types"]), "section type"),
        ("twin", kind_names, "kind"),
    ):
        yield from unknown_words(kinds, key, words, ("kinds",), what)
    types = _names(data["types"])
    for index, kind in enumerate(kinds):
        for expanded in expand_kinds([kind]):
            for form in ("relocatable", "executable"):
                if expanded[form] not in types:
                    yield ("kinds", index, form), f"section type {expanded[form]} is not defined"
    for group, size in (("flag_fields", 64), ("info_fields", 32)):
        yield from unknown_words(data[group], "kinds", kind_names, (group,), "kind")
        yield from overlaps(data[group], (group,), size)
    yield from unknown_words(data["flags"], "kinds", kind_names, ("flags",), "kind")
    yield from _flag_faults(data)
    yield from _rank_faults(data)
    for index, body in enumerate(data["bodies"]):
        if body["name"] != "none" and ("ksy" in body) == bool(body.get("opaque")):
            yield ("bodies", index), "a body is opaque or has a ksy"


def _rank_faults(data: Mapping[str, Any]) -> Iterator[Fault]:
    """Words and types of ranks exist, and every section of either half has exactly one rank."""
    ranks, path = data["ranks"], ("ranks",)
    yield from duplicates(data["rank_words"], "name", ("rank_words",))
    yield from unknown_words(ranks, "when", _names(data["rank_words"]), path, "word")
    yield from unknown_words(ranks, "type", _names(data["types"]), path, "section type")
    keys = ("half", "name", "type", "prefix", "when")
    asked = [{"asks": tuple(row.get(key) for key in keys)} for row in ranks]
    yield from duplicates(asked, "asks", path)
    for index, row in enumerate(ranks):
        if "name" in row and ("type" in row or "prefix" in row):
            yield (*path, index), "a name alone decides"
        if "when" in row and len(row.keys() & {"name", "type", "prefix"}) != 1:
            yield (*path, index), "what is asked with `when` is a name, a type or a prefix"
    for half in ("sass", "mercury"):
        if not any(row["half"] == half and len(row.keys() & {*keys}) == 1 for row in ranks):
            yield path, f"no rank of all other sections of the {half} half"


def _flag_faults(data: Mapping[str, Any]) -> Iterator[Fault]:
    """Flag masks are single bits; two meanings of a bit need different section kinds."""
    everywhere = {kind["kind"] for kind in data["kinds"]}
    users: dict[int, set[str]] = {}
    fields = [
        (f, bit) for f in data["flag_fields"] for bit in range(f["bit"], f["bit"] + f["width"])
    ]
    for item, bit in fields:
        users.setdefault(bit, set()).update(item.get("kinds", everywhere))
    for index, flag in enumerate(data["flags"]):
        mask = flag["mask"]
        if mask & (mask - 1):
            yield ("flags", index), f"mask {mask:#x} is not a single bit"
            continue
        kinds = set(flag.get("kinds", everywhere))
        bit = mask.bit_length() - 1
        if users.get(bit, set()) & kinds:
            yield ("flags", index), f"bit {bit} has another meaning for the same kind of section"
        users.setdefault(bit, set()).update(kinds)


def missing_specs(root: Path, tables: Tables) -> Iterator[Fault]:
    """Section bodies whose ``.ksy`` file does not exist."""
    for index, body in enumerate(tables["sections"].data["bodies"]):
        if "ksy" in body and not (root / "ksy" / f"{body['ksy']}.ksy").is_file():
            yield ("bodies", index, "ksy"), f"ksy/{body['ksy']}.ksy does not exist"


def symbol_rules(tables: Tables) -> Iterator[Fault]:
    """Types, binds and the fields of ``st_other``."""
    data = tables["symbols"].data
    other = data["other"]
    groups: list[tuple[DataPath, list[dict[str, Any]], int]] = [
        (("types",), data["types"], 15),
        (("binds",), data["binds"], 15),
        (("other", "visibilities"), other["visibilities"], 3),
        (("other", "spaces"), other["spaces"], 7),
        (("special_sections",), data["special_sections"], 0xFFFF),
    ]
    for path, entries, most in groups:
        yield from _value_faults(entries, path, most)
    yield from duplicates(data["well_known"], "pattern", ("well_known",))
    yield from overlaps(other["fields"], ("other", "fields"), 8, cover=True)


def _value_faults(
    entries: list[dict[str, Any]], path: DataPath, most: int = 0xFFFFFFFF, key: str = "value"
) -> Iterator[Fault]:
    yield from duplicates(entries, key, path)
    yield from duplicates(entries, "name", path)
    for index, entry in enumerate(entries):
        if entry[key] > most:
            yield (*path, index), f"{entry['name']} is {entry[key]:#x}, the field ends at {most:#x}"


def compat_rules(tables: Tables) -> Iterator[Fault]:
    """Codes, layouts and merge rules of the compatibility records."""
    data = tables["compat"].data
    attributes = data["attributes"]
    yield from duplicates(attributes, "code", ("attributes",))
    yield from duplicates(attributes, "name", ("attributes",))
    yield from unknown_words(
        attributes, "merge", _names(data["merge_rules"]), ("attributes",), "merge rule"
    )
    merges = {a["code"]: a["merge"] for a in attributes}
    for place in ("leading", "trailing"):
        for index, code in enumerate(data[place]):
            if merges.get(code, "drop") == "drop":
                yield (place, index), f"code {code} is not written"
    for code in set(data["leading"]) & set(data["trailing"]):
        yield ("trailing",), f"code {code} is also a leading one"
    archs = {str(a["sm"]) for a in tables["arch"].data["architectures"]}
    wanted = {"variant": {"", "a", "f"}, "architecture": archs}
    for index, attribute in enumerate(attributes):
        path: DataPath = ("attributes", index)
        yield from layout_faults(attribute["layout"], attribute["formats"], (), (*path, "layout"))
        values = {str(key) for key in attribute.get("target_values", ())}
        allowed = wanted.get(attribute["merge"], set())
        if values - allowed:
            yield path, f"target_values has no place for {min(values - allowed)!r}"
        if attribute["merge"] in wanted and not values:
            yield path, "a merge by target needs target_values"
        if attribute["merge"] in ("drop", *wanted) and "missing" in attribute:
            yield path, "the value of a missing record plays no part in this merge"


def arch_rules(tables: Tables) -> Iterator[Fault]:
    """Numbers, groups and limits of the architectures."""
    data = tables["arch"].data
    archs = data["architectures"]
    yield from duplicates(archs, "sm", ("architectures",))
    numbers = {a["sm"] for a in archs}
    described = set(_names(data["fields"]))
    versions = [toolkit["version"] for toolkit in tables["toolkits"].data["toolkits"]]
    limits = set(_names(data["limits"]))
    always = limits - {"barriers_per_sm", "virtual_resources_per_sm", "launch_sub_partitions"}
    for index, arch in enumerate(archs):
        path: DataPath = ("architectures", index)
        for key in ("link_group", "renamed_to"):
            if key in arch and arch[key] not in numbers:
                yield (*path, key), f"{key} {arch[key]} is no architecture of the table"
        if arch["link_group"] > arch["sm"] or arch["link_group"] // 10 != arch["sm"] // 10:
            yield (*path, "link_group"), "a link group is an earlier sm of the same major number"
        for key in set(arch) - described - {"limits_evidence", "evidence", "source", "note"}:
            yield (*path, key), f"field {key!r} is not described"
        have = arch["limits"]
        for key in set(have) - limits:
            yield (*path, "limits", key), f"limit {key!r} is not described"
        for key in sorted(always - set(have)):
            yield (*path, "limits"), f"limit {key!r} is missing"
        yield from _limit_faults(have, (*path, "limits"))
        configs = arch.get("shared_configs", [])
        if configs and max(configs) != have.get("shared_per_sm"):
            yield (*path, "shared_configs"), "the largest size is shared_per_sm"
        for key in ("first_toolkit", "last_toolkit"):
            if arch.get(key, versions[0]) not in versions:
                yield (*path, key), f"toolkit {arch[key]} is no row of the toolkits table"
    for index, arch in enumerate(archs[1:], 1):
        if arch["sm"] <= archs[index - 1]["sm"]:
            yield ("architectures", index), "architectures stand in the order of their numbers"
    yield from _family_faults(tables)
    yield from _workaround_faults(tables, numbers)
    yield from _running_faults(data["running"])


def _family_faults(tables: Tables) -> Iterator[Fault]:
    """Families in the order of their architectures, with names that other tables define."""
    data = tables["arch"].data
    families = data["families"]
    yield from duplicates(families, "family", ("families",))
    numbers = {arch["sm"] for arch in data["architectures"]}
    described = set(_names(data["fields"])) | {"family", "meaning", "evidence", "source", "note"}
    relocations = set(_names(tables["relocations"].data["relocations"]))
    references = set(_names(tables["symbols"].data["types"]))
    flags = _names(tables["sections"].data["flags"])
    yield from unknown_words(families, "cuinfo_flags", flags, ("families",), "section flag")
    header = tables["elf_header"].data["flags"]
    bits = {f"EF_CUDA_V2_{name.upper()}" for name in _names(header[-1]["fields"])}
    yield from unknown_words(families, "file_kind", bits, ("families",), "bit of e_flags")
    for index, family in enumerate(families):
        path: DataPath = ("families", index)
        for key in sorted(set(family) - described):
            yield (*path, key), f"field {key!r} is not described"
        if index and family["first"] <= families[index - 1]["first"]:
            yield (*path, "first"), "families stand in the order of their first architectures"
        if family["first"] not in numbers:
            yield (*path, "first"), f"first {family['first']} is no architecture of the table"
        if family["capsule"] and not family["compat_section"]:
            yield path, "a cubin with a capsule has .nv.compat"
        if family["capsule"] != ("mercury_half" in family):
            yield path, "a family with capsules, and no other, says what its Mercury half is like"
        half = family.get("mercury_half", {})
        for part, place in ((family, path), (half, (*path, "mercury_half"))):
            for kind, relocation in part.get("handle_relocs", {}).items():
                if kind not in references or relocation not in relocations:
                    text = f"{kind}: {relocation} is no symbol type and relocation type"
                    yield (*place, "handle_relocs"), text


def _workaround_faults(tables: Tables, numbers: set[int]) -> Iterator[Fault]:
    rows = tables["arch"].data["workarounds"]
    names = _names(tables["eiattr"].data["attributes"])
    yield from duplicates(rows, "attribute", ("workarounds",))
    yield from unknown_words(rows, "attribute", names, ("workarounds",), "attribute")
    for index, row in enumerate(rows):
        for sm in (*row.get("values", ()), *row.get("architectures", ())):
            if sm not in numbers:
                yield ("workarounds", index), f"{sm} is no architecture of the table"


def toolkits_rules(tables: Tables) -> Iterator[Fault]:
    """Toolkits in their order, producers that exist, records that the compat table has."""
    data = tables["toolkits"].data
    toolkits, producers = data["toolkits"], data["producers"]
    yield from duplicates(toolkits, "version", ("toolkits",))
    yield from duplicates(producers, "producer", ("producers",))
    names = [row["producer"] for row in producers]
    yield from unknown_words(producers, "like", names, ("producers",), "producer")
    yield from _producer_circles(producers)
    versions = [row["version"] for row in toolkits]
    if data["written"] not in versions:
        yield ("written",), f"toolkit {data['written']} has no row"
    for index in range(1, len(toolkits)):
        if number(versions[index]) <= number(versions[index - 1]):
            yield ("toolkits", index), "toolkits stand in the order of their versions"
    families = {row["family"] for row in tables["arch"].data["families"]}
    for index, row in enumerate(toolkits):
        for key in ("producers", "linked"):
            for family, producer in row.get(key, {}).items():
                if family not in families:
                    yield ("toolkits", index, key), f"family {family!r} is not defined"
                if producer not in names:
                    yield ("toolkits", index, key), f"producer {producer!r} is not defined"
        release = row.get("release", row["version"])
        if not f"{release}.".startswith(f"{row['version']}."):
            yield ("toolkits", index, "release"), f"{release} is no {row['version']}"
        yield from _written_records(tables, row.get("compat", []), ("toolkits", index, "compat"))
    yield from _since_faults(tables, versions)


def _producer_circles(producers: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    like = {row["producer"]: row.get("like") for row in producers}
    for index, row in enumerate(producers):
        met, name = [], row.get("like")
        while name is not None and name not in met:
            met.append(name)
            name = like.get(name)
        if name is not None:
            yield ("producers", index), f"{row['producer']} is like {name}, which is like itself"


def _written_records(
    tables: Tables, records: Sequence[Mapping[str, Any]], path: DataPath
) -> Iterator[Fault]:
    """A record is one of the compat table; a word as its value is the way it is merged."""
    merges = {a["name"]: a["merge"] for a in tables["compat"].data["attributes"]}
    yield from duplicates(records, "record", path)
    yield from unknown_words(records, "record", merges, path, "record")
    for index, row in enumerate(records):
        value, merge = row["value"], merges.get(row["record"])
        if isinstance(value, str) and merge is not None and value != merge:
            yield (*path, index), f"{row['record']} is not merged by {value}"


def _since_faults(tables: Tables, versions: Sequence[str]) -> Iterator[Fault]:
    """A toolkit since which there is an attribute has a row."""
    since = {a["since"]: a["name"] for a in tables["eiattr"].data["attributes"] if "since" in a}
    for version, name in since.items():
        if version not in versions:
            yield ("toolkits",), f"{name} is there since {version}, which has no row"


_RUNNING_CONDITIONS = ("variants", "number", "major", "family", "embedded")


def _running_faults(rules: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    """Rules of running: each has a name and a rank of its own, and none is left undecided."""
    yield from duplicates(rules, "id", ("running",))
    yield from duplicates([rule for rule in rules if "rank" in rule], "rank", ("running",))
    for image in ("cubin", "ptx"):
        own = [rule for rule in rules if image in rule["images"]]
        last = [index for index, rule in enumerate(own) if not set(_RUNNING_CONDITIONS) & set(rule)]
        if last != [len(own) - 1]:
            yield ("running",), f"the last rule of {image}, and no other, is without conditions"


def _limit_faults(have: Mapping[str, int], path: DataPath) -> Iterator[Fault]:
    """Limits that contradict each other."""
    if not {"max_threads_per_sm", "max_warps_per_sm", "warp_size"} - set(have) and (
        have["max_threads_per_sm"] != have["max_warps_per_sm"] * have["warp_size"]
    ):
        yield path, "max_threads_per_sm is max_warps_per_sm times warp_size"
    for small, large in (
        ("max_registers_per_block", "registers_per_sm"),
        ("max_shared_per_block_optin", "shared_per_sm"),
        ("max_shared_per_block", "max_shared_per_block_optin"),
        ("max_threads_per_block", "max_threads_per_sm"),
    ):
        if have.get(small, 0) > have.get(large, 0) and small in have and large in have:
            yield path, f"{small} is larger than {large}"


def elf_header_rules(tables: Tables) -> Iterator[Fault]:
    """Values and bit fields of the ELF header."""
    data = tables["elf_header"].data
    for key, most in (
        ("classes", 0xFF),
        ("osabis", 0xFF),
        ("abi_versions", 0xFF),
        ("types", 0xFFFF),
        ("segment_types", 0xFFFFFFFF),
    ):
        yield from _value_faults(data[key], (key,), most)
    yield from _value_faults(data["segment_flags"], ("segment_flags",), key="mask")
    yield from duplicates(data["flags"], "osabi", ("flags",))
    osabis = {o["value"] for o in data["osabis"]}
    for index, layout in enumerate(data["flags"]):
        path: DataPath = ("flags", index)
        yield from overlaps(layout["fields"], (*path, "fields"), 32, cover=True)
        yield from duplicates(layout["fields"], "name", (*path, "fields"))
        if layout["osabi"] not in osabis:
            yield path, f"OSABI {layout['osabi']:#x} is not defined"


def notes_rules(tables: Tables) -> Iterator[Fault]:
    """Names of notes, and the sections they stand in."""
    types = tables["notes"].data["types"]
    yield from duplicates(types, "name", ("types",))
    patterns = {kind["pattern"] for kind in tables["sections"].data["kinds"]}
    yield from unknown_words(types, "section", patterns, ("types",), "section")
    for index, note in enumerate(types):
        yield from layout_faults(note["layout"], [], (), ("types", index, "layout"))


def fatbin_rules(tables: Tables) -> Iterator[Fault]:
    """Values and flag bits of fat binaries."""
    data = tables["fatbin"].data
    for key in ("magics", "kinds", "wrapper_versions"):
        yield from _value_faults(data[key], (key,))
    yield from _value_faults(data["flags"], ("flags",), key="mask")
    yield from duplicates(data["host_sections"], "pattern", ("host_sections",))
    yield from duplicates(data["registrations"], "name", ("registrations",))


def constants_rules(tables: Tables) -> Iterator[Fault]:
    """Names of the other numbers."""
    groups = tables["constants"].data["groups"]
    yield from duplicates(groups, "name", ("groups",))
    for index, group in enumerate(groups):
        yield from duplicates(group["values"], "name", ("groups", index, "values"))


def sass_rules(tables: Tables) -> Iterator[Fault]:
    """Fields, opcodes and what they refer to."""
    data = tables["sass"].data
    fields, opcodes = data["fields"], data["opcodes"]
    widths = {field["name"]: field["width"] for field in fields}
    for key, entries, group in (
        ("name", fields, "fields"),
        ("opcode", opcodes, "opcodes"),
        ("name", opcodes, "opcodes"),
        ("form", data["forms"], "forms"),
        ("name", data["words"], "words"),
    ):
        yield from duplicates(entries, key, (group,))
    for index, field in enumerate(fields):
        if field["bit"] + field["width"] > _INSTRUCTION_BITS:
            yield ("fields", index), f"{field['name']} leaves the instruction"
    yield from unknown_words(data["sizes"], "field", widths, ("sizes",), "field")
    for form in ("short", "long"):
        yield from unknown_words(data["lengths"], form, widths, ("lengths",), "field")
    for index, size in enumerate(data["sizes"]):
        if "flag" in size and widths.get(size["flag"]) != 1:
            yield ("sizes", index), f"flag {size['flag']!r} is no field of one bit"
        if len(size["registers"]) != 1 << widths.get(size["field"], 0) + ("flag" in size):
            yield ("sizes", index), f"{size['name']} has no number for every value of its field"
    yield from unknown_words(opcodes, "traits", _names(data["traits"]), ("opcodes",), "trait")
    if {form["form"] for form in data["forms"]} != set(range(1 << widths.get("form", 0))):
        yield ("forms",), "every form has a row"
    for index, row in enumerate(opcodes):
        path: DataPath = ("opcodes", index)
        if index and row["opcode"] <= opcodes[index - 1]["opcode"]:
            yield path, "opcodes stand in their order"
        yield from _operand_faults(data, row.get("operands", {}), widths, path)
        for units in row.get("mercury", {}).values():
            if isinstance(units, str) and units not in _names(data["lengths"]):
                yield path, f"length {units!r} is not defined"
    yield from _operand_faults(data, data["any_operands"], widths, ("any_operands",))


_INSTRUCTION_BITS = 128


def _operand_faults(
    data: Mapping[str, Any], operands: Mapping[str, Any], widths: Mapping[str, int], path: DataPath
) -> Iterator[Fault]:
    for name, facts in operands.items():
        if isinstance(facts, int):
            continue
        if ("size" in facts) == ("registers" in facts):
            yield path, f"operand {name} has either a size or a number of registers"
        if "size" in facts and facts["size"] not in _names(data["sizes"]):
            yield path, f"size {facts['size']!r} is not defined"
        if "flag" in facts and widths.get(facts["flag"]) != 1:
            yield path, f"flag {facts['flag']!r} is no field of one bit"


def enum_rules(tables: Tables) -> Iterator[Fault]:
    """Values that a Kaitai enum cannot hold in every language."""
    for group in ("types",):
        for index, entry in enumerate(tables["sections"].data[group]):
            if entry["value"] > KAITAI_ENUM_MAX:
                yield (group, index), f"{entry['value']:#x} does not fit a 32-bit signed enum"


_RULES: dict[str, tuple[Callable[[Tables], Iterator[Fault]], ...]] = {
    "eiattr": (eiattr_rules,),
    "relocations": (relocation_rules,),
    "sections": (section_rules, enum_rules),
    "symbols": (symbol_rules,),
    "compat": (compat_rules,),
    "arch": (arch_rules,),
    "toolkits": (toolkits_rules,),
    "elf_header": (elf_header_rules,),
    "notes": (notes_rules,),
    "fatbin": (fatbin_rules,),
    "constants": (constants_rules,),
    "sass": (sass_rules,),
}
