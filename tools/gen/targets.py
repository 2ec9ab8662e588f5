"""``targets.py`` and ``producers.py``: architectures, toolkits and ELF writers as typed rows.

Both are imported by programs that run for some hundredths of a second: they are literals and slot
classes with written-out constructors, and import little.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tools.gen.spec import digest
from tools.gen.tables.expand import (
    Row,
    family_of,
    number,
    producer_rows,
    toolkit_flags,
    toolkit_rows,
)
from tools.gen.tables.load import Table, Tables
from tools.gen.tables.rows import BASE_CLASS, Field, RowClass, class_text

#: Keys that say how a fact is known, or stand for another row; code asks for none of them.
NOT_FACTS = frozenset(("meaning", "evidence", "limits_evidence", "source", "note", "like"))


def _row_class(name: str, doc: str, fields: Mapping[str, tuple[str, str]]) -> RowClass:
    return RowClass(
        name, doc, tuple(Field(key, kind, text) for key, (kind, text) in fields.items())
    )


def _row(kind: RowClass, values: Mapping[str, str]) -> str:
    """The call that makes a row out of literals."""
    return f"{kind.name}({', '.join(values[field.name] for field in kind.fields)})"


def _meanings(words: Iterable[Row]) -> dict[str, str]:
    return {word["name"]: word["meaning"] for word in words}


def _family_class(data: Row, families: Sequence[Row]) -> RowClass:
    meanings = _meanings(data["fields"])
    fields = {"name": ("str", "its name")}
    for key, value in families[0].items():
        if key not in NOT_FACTS and key != "family":
            kind = "dict[int, int]" if isinstance(value, dict) else _kind_of(value)
            fields[key] = (kind, meanings[key])
    fields["mercury_half"] = ("Family | None", meanings["mercury_half"])
    return _row_class("Family", "Architectures whose cubins have the same form.", fields)


def _kind_of(value: object) -> str:
    return "bool" if isinstance(value, bool) else "str" if value is str else "int"


def _family_values(family: Row, names: Mapping[str, int], half: str) -> dict[str, str]:
    values = {"name": repr(family["family"]), "mercury_half": half}
    for key, value in family.items():
        if isinstance(value, Mapping) and key != "mercury_half":
            pairs = (f"{names[kind]}: {names[reloc]}" for kind, reloc in value.items())
            values[key] = "{" + ", ".join(pairs) + "}"
        elif isinstance(value, list):
            values[key] = hex(sum(names[flag] for flag in value))
        elif isinstance(value, str):
            values[key] = repr(names.get(value, value)) if key == "file_kind" else repr(value)
        else:
            values.setdefault(key, repr(value))
    return values


def _workarounds(data: Row, names: Mapping[str, int], sm: int) -> str:
    """(attribute, value or None for a mark) of the records that every function has."""
    found = []
    for row in data["workarounds"]:
        if sm in row.get("values", ()):
            found.append(f"({names[row['attribute']]:#x}, {row['values'][sm]})")
        elif sm in row.get("architectures", ()):
            found.append(f"({names[row['attribute']]:#x}, None)")
    return "(" + "".join(f"{item}, " for item in found).rstrip() + ")"


def _toolkit_or_none(row: Row, key: str) -> str:
    return repr(number(row[key])) if key in row else "None"


def _architectures(data: Row, compat: Row, names: Mapping[str, int]) -> list[str]:
    meanings = _meanings(data["fields"])
    by_architecture = [a for a in compat["attributes"] if a["merge"] == "architecture"]
    kinds = {
        "sm": "int",
        "variants": "tuple[str, ...]",
        "first_toolkit": "int | None",
        "last_toolkit": "int | None",
        "embedded": "bool",
        "link_group": "int",
        "renamed_to": "int | None",
        "instruction_size": "int",
        "param_base": "int",
    }
    fields = {name: (kind, meanings[name]) for name, kind in kinds.items()}
    fields["family"] = ("Family", "the family it belongs to")
    fields["workarounds"] = (
        "tuple[tuple[int, int | None], ...]",
        "attributes that every function has, with their value",
    )
    fields["compat"] = ("dict[int, int]", "values of .nv.compat that depend on the architecture")
    row_class = _row_class("Architecture", "One architecture, whatever the variant.", fields)
    lines = [class_text(row_class), "", "ARCHITECTURES: dict[int, Architecture] = {"]
    for arch in data["architectures"]:
        sm = arch["sm"]
        pairs = (
            f"{a['code']}: {a['target_values'][sm]}"
            for a in by_architecture
            if sm in a["target_values"]
        )
        values = {
            "sm": str(sm),
            "variants": repr(tuple(arch["variants"])),
            "first_toolkit": _toolkit_or_none(arch, "first_toolkit"),
            "last_toolkit": _toolkit_or_none(arch, "last_toolkit"),
            "embedded": repr(arch["embedded"]),
            "link_group": str(arch["link_group"]),
            "renamed_to": repr(arch.get("renamed_to")),
            "instruction_size": str(arch["instruction_size"]),
            "param_base": hex(arch["param_base"]),
            "family": family_of(data["families"], sm)["family"].upper(),
            "workarounds": _workarounds(data, names, sm),
            "compat": "{" + ", ".join(pairs) + "}",
        }
        lines.append(f"    {sm}: {_row(row_class, values)},")
    variants = {
        variant: {
            a["code"]: a["target_values"][variant]
            for a in compat["attributes"]
            if a["merge"] == "variant"
        }
        for variant in sorted({v for arch in data["architectures"] for v in arch["variants"]})
    }
    return [
        *lines,
        "}",
        '"""By number, ascending."""',
        "",
        f"COMPAT_OF_VARIANT: dict[str, dict[int, int]] = {variants!r}",
        '"""Values of .nv.compat that depend on the variant."""',
    ]


def _families(data: Row, names: Mapping[str, int]) -> list[str]:
    families = data["families"]
    row_class = _family_class(data, families)
    lines = [class_text(row_class), ""]
    for family in families:
        half = "None"
        if "mercury_half" in family:
            own = _family_values({**family, **family["mercury_half"]}, names, "None")
            half = _row(row_class, own)
        row = _row(row_class, _family_values(family, names, half))
        lines.append(f"{family['family'].upper()} = {row}")
    row = ", ".join(family["family"].upper() for family in families)
    lines += ["", f"FAMILIES = ({row},)", '"""By their first architecture, ascending."""', ""]
    for milestone in data["milestones"]:
        lines += [
            f"FIRST_WITH_{milestone['milestone'].upper()} = {milestone['first']}",
            f'"""First architecture where this holds: {milestone["meaning"]}."""',
        ]
    return lines


def _merges(
    rows: Iterable[Row], compat: Row, names: Mapping[str, int]
) -> dict[int, tuple[str, int | None, bool]]:
    """Rule, value of an input without the record, whether 0 is left out; by code."""
    found: dict[int, tuple[str, int | None, bool]] = {}
    base = {row["code"]: row for row in compat["attributes"]}
    for row in rows:
        code = names[row["record"]]
        own = base[code]
        rule, missing, omits = found.get(code, (own["merge"], own.get("missing"), False))
        found[code] = (
            row.get("merge", rule),
            row.get("missing", missing),
            row.get("omit_zero", omits),
        )
    return found


def _toolkits(data: Row, compat: Row, names: Mapping[str, int]) -> list[str]:
    meanings = _meanings(data["fields"])
    kinds = {
        "number": "int",
        "version": "str",
        "release": "str | None",
        "producers": "dict[str, str]",
        "linked": "dict[str, str]",
        "compat": "tuple[tuple[int, int | str], ...]",
        "merges": "dict[int, tuple[str, int | None, bool]]",
        **dict.fromkeys(toolkit_flags(data), "bool"),
    }
    meanings["number"] = "ten times the major plus the minor number of its version"
    row_class = _row_class(
        "Toolkit",
        "What the ptxas and the nvlink of one CUDA version write.",
        {name: (kind, meanings[name]) for name, kind in kinds.items()},
    )
    lines = [class_text(row_class), "", "TOOLKITS: dict[int, Toolkit] = {"]
    for row in toolkit_rows(data):
        values = {key: repr(row.get(key)) for key in kinds}
        values["number"] = str(number(row["version"]))
        records = "".join(f"({names[r['record']]}, {r['value']!r}), " for r in row["compat"])
        values["compat"] = f"({records.rstrip()})"
        values["merges"] = repr(_merges(row["merges"], compat, names))
        lines.append(f"    {values['number']}: {_row(row_class, values)},")
    return [
        *lines,
        "}",
        '"""By number, ascending."""',
        "",
        f"WRITTEN = TOOLKITS[{number(data['written'])}]",
        '"""The toolkit whose files are written here."""',
    ]


def emit(tables: Tables, names: Mapping[str, int]) -> str:
    """Text of ``targets.py``.

    Args:
        names: every number of ``codes.py`` by its name.
    """
    arch, compat = tables["arch"].data, tables["compat"].data
    lines = [
        _header([tables["arch"], tables["toolkits"], tables["compat"]]),
        '"""Architectures, families and toolkits; `cubinspec.format.targets` looks them up."""',
        "",
        "from __future__ import annotations",
        BASE_CLASS.rstrip("\n"),
        *_families(arch, names),
        "",
        *_architectures(arch, compat, names),
        "",
        *_toolkits(tables["toolkits"].data, compat, names),
    ]
    return "\n".join(lines) + "\n"


def emit_producers(tables: Tables) -> str:
    """Text of ``producers.py``."""
    data = tables["toolkits"].data
    meanings = _meanings(data["producer_fields"])
    meanings["shstrtab_hole"] = "bytes left free behind .shstrtab"
    rows = producer_rows(data)
    fields = {"name": ("str", "key in `PRODUCERS`, written into the YAML form")}
    for key, meaning in meanings.items():
        value = next(iter(rows.values()))[key]
        fields[key] = ("str" if isinstance(value, str) else _kind_of(value), meaning)
    row_class = _row_class("Producer", "One way in which a tool lays out a cubin.", fields)
    lines = [
        _header([tables["toolkits"]]),
        '"""ELF writers: how each of them lays out a cubin."""',
        "",
        "from __future__ import annotations",
        "",
        "from cubinspec_generated.targets import Row",
        class_text(row_class),
        "",
        "PRODUCERS: dict[str, Producer] = {",
    ]
    for name, row in rows.items():
        values = {key: repr(row[key]) for key in meanings}
        values["name"] = repr(name)
        values["shstrtab_hole"] = str(sum(len(dropped) + 1 for dropped in row["shstrtab_hole"]))
        lines.append(f"    {name!r}: {_row(row_class, values)},")
    return "\n".join([*lines, "}", '"""By name."""']) + "\n"


def _header(tables: Iterable[Table]) -> str:
    sources = [*tables]
    files = ", ".join(table.file.name for table in sources)
    return (
        f"# Generated by `make gen` from ksy/tables ({files}, "
        f"sha256 {digest(''.join(table.text for table in sources))}); do not edit."
    )
