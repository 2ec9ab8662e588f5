"""Columns of tables as plain literals, for programs that have to start fast.

Making the rows of a large table takes longer than a small link, which needs a few of their fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from struct import calcsize
from typing import Any

from .layouts import struct_format, symbol_offsets
from .load import Tables

FILE = Path("generated/python/cubinspec_generated/columns.py")
_HEAD = '''\
# Generated from {sources} by tools.gen; do not edit.
"""Columns of the tables of attributes, relocation types, sections and compatibility records.

They say what the rows in ``tables`` say, as literals: the linker imports them at start-up.
"""

'''


def emit_columns(tables: Tables) -> dict[Path, str]:
    """The one module."""
    sources = " and ".join(
        f"{tables[name].file.as_posix()} (sha256 {tables[name].digest})"
        for name in ("eiattr", "relocations", "sections", "compat")
    )
    relocations = tables["relocations"].data
    types = relocations["relocations"]
    kept = {rule["name"]: tuple(rule.get("targets", ())) for rule in relocations["keep_rules"]}
    failing = {rule["name"] for rule in relocations["keep_rules"] if rule.get("errors")}
    numbers = {entry["name"]: entry["type"] for entry in types}
    parts = [
        _mapping(
            "SYMBOL_FIELDS",
            "tuple[int, ...]",
            {
                entry["code"]: offsets
                for entry in tables["eiattr"].data["attributes"]
                if (offsets := symbol_offsets(entry["layout"]))
            },
            "Offsets of symbol indices inside a payload (inside each element of an array).",
        ),
        _mapping(
            "ACTIONS",
            "tuple[tuple[str, int, int, str, int], ...]",
            {
                entry["type"]: tuple(
                    (a["kind"], a["bit"], a["width"], a["value"], a["shift"])
                    for a in entry["actions"]
                )
                for entry in types
            },
            "What applying a type does: kind, first bit, width, value and right shift in order.",
        ),
        _mapping(
            "WHOLE_ADDRESSES",
            "int",
            {
                entry["type"]: entry["actions"][0]["width"] // 8
                for entry in types
                if "apply" not in entry and _is_whole_address(entry["actions"])
            },
            "Bytes that a type writes that always writes an address into whole bytes, and no more.",
        ),
        _mapping(
            "STAYING",
            "tuple[int, ...]",
            {
                target: tuple(e["type"] for e in types if target in kept[e["keep"]])
                for target in dict.fromkeys(t for targets in kept.values() for t in targets)
            },
            "By kind of target: types of entries that a final link leaves in the executable.",
        ),
        _mapping(
            "FAILS",
            "str",
            {entry["type"]: entry["keep"] for entry in types if entry["keep"] in failing},
            "The rule of the types that end a final link where the entry does not stay.",
        ),
        _mapping(
            "RETYPE",
            "int",
            {entry["type"]: numbers[entry["retype"]] for entry in types if "retype" in entry},
            "The type that a kept entry gets, where it is another one.",
        ),
        _mapping(
            "APPLY",
            "str",
            {entry["type"]: entry["apply"] for entry in types if "apply" in entry},
            "The rule by which the actions run, where it is not: always.",
        ),
        _mapping(
            "IN_SASS",
            "int",
            {entry["type"]: numbers[entry["sass"]] for entry in types if "sass" in entry},
            "By Mercury type: what the finalizer makes of it in code.",
        ),
        _mapping(
            "IN_SASS_OF_KERNEL",
            "int",
            {
                entry["type"]: numbers[entry["sass_of_kernel"]]
                for entry in types
                if "sass_of_kernel" in entry
            },
            "By Mercury type: what the finalizer makes of it where code names a kernel.",
        ),
        _mapping(
            "IN_SASS_DATA",
            "int",
            {
                entry["type"]: numbers[entry["sass_outside_code"]]
                for entry in types
                if "sass_outside_code" in entry
            },
            "By Mercury type: what the finalizer makes of it outside of code, if another type.",
        ),
        _mapping(
            "IN_SASS_OPERATION",
            "tuple[tuple[int, int], ...]",
            {
                entry["type"]: tuple(
                    (row["operation"], numbers[row["type"]]) for row in entry["sass_of"]
                )
                for entry in types
                if "sass_of" in entry
            },
            "By Mercury type: operations, and what the finalizer makes of it in those.",
        ),
        _mapping(
            "ELSEWHERE",
            "tuple[int, int, dict[int, int]]",
            {
                entry["type"]: (
                    numbers[entry["sass_elsewhere"]["usual"]],
                    numbers[entry["sass_elsewhere"]["behind"]],
                    {
                        operation: numbers[row["type"]]
                        for row in entry["sass_elsewhere"]["of"]
                        for operation in row["operations"]
                    },
                )
                for entry in types
                if "sass_elsewhere" in entry
            },
            "By Mercury type: what is listed in other code, behind its end, in some operations.",
        ),
    ]
    parts += [
        _constant(
            "CLEARING",
            "tuple[int, ...]",
            tuple(e["type"] for e in types if e.get("apply") == "target_dropped"),
            "Types that only clear a field, and only when its target is gone.",
        ),
        _constant(
            "DESCRIPTORS",
            "tuple[int, ...]",
            tuple(e["type"] for e in types if e["keep"] == "func_desc"),
            "Types of descriptors of functions, whose address is taken then.",
        ),
    ]
    parts.append(
        _mapping(
            "REL_ACTIONS",
            "tuple[int, tuple[tuple[int, ...], ...]]",
            {
                one["name"]: (numbers[one["base"]], tuple(map(tuple, one["rows"])))
                for one in relocations["rel_actions"]
            },
            "What .nv.rel.action states: the first type, and the row of each type from there on.",
        )
    )
    parts.append(
        _constant(
            "SASS_END",
            "int",
            numbers["R_CUDA_NONE_LAST"],
            "Types from here on mean nothing to code that has no Mercury half.",
        )
    )
    farthest = max(a["bit"] + a["width"] for entry in types for a in entry["actions"])
    parts.append(
        _constant(
            "LONGEST_FIELD",
            "int",
            (farthest + 7) // 8,
            "Bytes from the place of a relocation to the end of the farthest field, at most.",
        )
    )
    parts += _ranks(tables["sections"].data)
    parts += _compat(tables["compat"].data)
    return {FILE: _HEAD.format(sources=sources) + "\n".join(parts)}


def _is_whole_address(actions: Sequence[Mapping[str, Any]]) -> bool:
    if len(actions) != 1:
        return False
    (action,) = actions
    is_address = (action["value"], action["shift"]) == ("abs", 0) and action["kind"] != "clear"
    return is_address and action["bit"] == 0 and action["width"] % 8 == 0


def _ranks(sections: Mapping[str, Any]) -> Iterator[str]:
    """The order of the section header table, for either half."""
    types = {entry["name"]: entry["value"] for entry in sections["types"]}
    for half, prefix in (("sass", ""), ("mercury", "MERCURY_")):
        rows = [row for row in sections["ranks"] if row["half"] == half]
        plain = [row for row in rows if "when" not in row]
        by_name = {row["name"]: row["rank"] for row in plain if "name" in row}
        by_type = {
            types[row["type"]]: row["rank"]
            for row in plain
            if "type" in row and "prefix" not in row
        }
        by_prefix = tuple(
            (row["prefix"], types[row["type"]] if "type" in row else None, row["rank"])
            for row in plain
            if "prefix" in row
        )
        (others,) = (row["rank"] for row in plain if row.keys().isdisjoint(_RANKED_BY))
        when: dict[str, dict[Any, int]] = {}
        for row in rows:
            if "when" in row:
                text = row.get("prefix", row.get("name"))
                key = types[row["type"]] if text is None else text
                when.setdefault(row["when"], {})[key] = row["rank"]
        about = f"of the {half} half"
        yield _mapping(f"{prefix}RANK_OF_NAME", "int", by_name, f"Rank by name, {about}.")
        yield _mapping(f"{prefix}RANK_OF_TYPE", "int", by_type, f"Rank by type, {about}.")
        yield _constant(
            f"{prefix}RANK_OF_PREFIX",
            "tuple[tuple[str, int | None, int], ...]",
            by_prefix,
            f"Beginning of the name, type (None: any) and rank, {about}.",
        )
        yield _constant(f"{prefix}RANK_OF_OTHERS", "int", others, f"Of all others {about}.")
        yield _mapping(
            f"{prefix}RANKS_WHEN",
            "dict[int | str, int]",
            when,
            f"By word: types, names or beginnings of names that then have another rank, {about}.",
        )


def _compat(compat: Mapping[str, Any]) -> Iterator[str]:
    """How a linker merges the records of `.nv.compat`."""
    entries = compat["attributes"]
    formats = {
        entry["code"]: struct_format(entry["layout"]["fields"])
        for entry in entries
        if "fields" in entry["layout"]
    }
    parts = {
        entry["code"]: tuple((part["bit"], part["width"]) for part in field["bits"])
        for entry in entries
        for field in entry["layout"].get("fields", ())
        if "bits" in field
    }
    yield _mapping(
        "COMPAT_MERGE",
        "str",
        {entry["code"]: entry["merge"] for entry in entries},
        "By code: the rule by which a linker merges the values of its inputs.",
    )
    yield _mapping(
        "COMPAT_MISSING",
        "int",
        {entry["code"]: entry["missing"] for entry in entries if "missing" in entry},
        "By code: the value that an input without the record stands for.",
    )
    yield _mapping(
        "COMPAT_BYTES",
        "int",
        {code: calcsize(text) for code, text in formats.items()},
        "By code: bytes of the value.",
    )
    yield _mapping(
        "COMPAT_PARTS",
        "tuple[tuple[int, int], ...]",
        parts,
        "By code: first bit and width of the parts of the value.",
    )
    for key, doc in (("leading", "start"), ("trailing", "end")):
        codes = tuple(compat[key])
        about = f"Codes of records that {doc} a linked section."
        yield _constant(f"COMPAT_{key.upper()}", "tuple[int, ...]", codes, about)


#: What a rank may be asked by.
_RANKED_BY = {"name", "type", "prefix"}


def _constant(name: str, kind: str, value: Any, doc: str) -> str:
    return f'{name}: {kind} = {value!r}\n"""{doc}"""\n'


def _mapping(name: str, kind: str, items: Mapping[int, Any] | Mapping[str, Any], doc: str) -> str:
    keys = "str" if any(isinstance(key, str) for key in items) else "int"
    shown = [(hex(key) if isinstance(key, int) else repr(key), item) for key, item in items.items()]
    body = "".join(f"    {key}: {item!r},\n" for key, item in shown)
    return f'{name}: dict[{keys}, {kind}] = {{\n{body}}}\n"""{doc}"""\n'
