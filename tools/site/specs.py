"""The pages of the ``.ksy`` files: byte layout, picture, enums, and use in each language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cubinspec.report.anchors import slug, spec_anchor
from tools.gen.spec import Attr, Spec, Type, load_specs
from tools.site.drawing import Box, svg
from tools.site.languages import anchor, programs, tabs

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "spec"
_SIZES = {"u1": 1, "s1": 1, "u2": 2, "s2": 2, "u4": 4, "s4": 4, "u8": 8, "s8": 8, "f4": 4, "f8": 8}
_BIT = re.compile(r"b(\d+)(?:le|be)?")


class Row(NamedTuple):
    """A field with its place; ``offset`` and ``size`` are in bits, ``None`` when they vary."""

    field: Attr
    offset: int | None
    size: int | None


def pages() -> dict[str, str]:
    """Path -> text of a page per file, and of their list."""
    specs = load_specs(ROOT / "ksy")
    index = ["# The spec, file by file", "", "How the parts fit is in the", ""]
    index[2] += " [guide to the spec](../spec-guide.md)."
    index += ["| file | what it describes |", "|---|---|"]
    texts = {}
    for name, spec in specs.items():
        index.append(f"| [`{name}.ksy`]({name}.md) | {_cell(spec.meta.get('title', ''))} |")
        texts[f"{FOLDER}/{name}.md"] = page(spec, specs)
    return {f"{FOLDER}/README.md": "\n".join(index) + "\n", **texts}


def page(spec: Spec, specs: Mapping[str, Spec]) -> str:
    """The page of one file."""
    name = spec.file.stem
    lines = [f"# {name}.ksy", "", f"{spec.meta.get('title', '')}.", "", *_doc(spec.root.raw), ""]
    lines += [f"- The file: [`{name}.ksy`](../source/ksy/{name}.ksy)"]
    for label, names in (("Imports", spec.imports), ("Imported by", _users(name, specs))):
        if names:
            links = ", ".join(f"[`{other}`]({other}.md)" for other in names)
            lines.append(f"- {label}: {links}")
    lines.append("")
    for kind in spec.root.walk():
        lines += _type(kind, spec, specs)
    lines += _enums(spec)
    if name != "cuda_codes":
        lines += ["## Use", "", *tabs(spec), *_whole_programs(name)]
    return "\n".join(lines) + "\n"


def _users(name: str, specs: Mapping[str, Spec]) -> list[str]:
    return [other for other, spec in specs.items() if name in spec.imports]


def _type(kind: Type, spec: Spec, specs: Mapping[str, Spec]) -> list[str]:
    """One type: what it is, its picture, its fields and its computed fields."""
    is_root = kind is spec.root
    seq_group = "seq" if is_root else f"type {kind.name}"
    other_group = "instances" if is_root else f"type {kind.name}"
    lines = []
    if not is_root:
        lines = [_mark("types", kind.name), "", f"## {kind.name}", "", *_doc(kind.raw), ""]
    if kind.params:
        lines += ["Parameters: " + ", ".join(f"`{p.id}` ({p.raw['type']})" for p in kind.params)]
        lines.append("")
    rows = layout(kind, spec, specs)
    picture = _picture(rows, kind.name)
    lines += [picture, ""] if picture else []
    if rows:
        lines += ["## Fields" if is_root else "### Fields of `" + kind.name + "`", ""]
        lines += ["| offset | size | field | type | meaning |", "|---|---|---|---|---|"]
        lines += [_row(row, seq_group, spec, specs) for row in rows]
        lines.append("")
    if kind.instances:
        title = "On demand" if is_root else f"On demand in `{kind.name}`"
        lines += [f"{'##' if is_root else '###'} {title}", ""]
        lines += ["| field | type | where, or computed as | meaning |", "|---|---|---|---|"]
        lines += [_instance(field, other_group, spec, specs) for field in kind.instances]
        lines.append("")
    return lines


def layout(kind: Type, spec: Spec, specs: Mapping[str, Spec]) -> list[Row]:
    """The fields of a type with their places, as far as these do not vary."""
    rows: list[Row] = []
    offset: int | None = 0
    for field in kind.seq:
        size = size_of(field, spec, specs)
        if offset is not None and not _BIT.fullmatch(str(field.raw.get("type"))):
            offset += -offset % 8
        rows.append(Row(field, offset, size))
        certain = size is not None and "if" not in field.raw
        offset = offset + size if certain and offset is not None and size is not None else None
    return rows


def size_of(field: Attr, spec: Spec, specs: Mapping[str, Spec]) -> int | None:
    """Bits of a field; ``None`` when they vary."""
    raw = field.raw
    if "repeat" in raw:
        count = raw.get("repeat-expr")
        one = _size(raw, spec, specs) if isinstance(count, int) else None
        return one * count if one is not None and isinstance(count, int) else None
    return _size(raw, spec, specs)


def _size(raw: Mapping[str, Any], spec: Spec, specs: Mapping[str, Spec]) -> int | None:
    if isinstance(raw.get("size"), int):
        return 8 * int(raw["size"])
    if "size" in raw:
        return None
    contents, name = raw.get("contents"), raw.get("type")
    if contents is not None:
        return 8 * len(contents if isinstance(contents, list) else str(contents).encode())
    if not isinstance(name, str):
        return None
    if name in _SIZES:
        return 8 * _SIZES[name]
    if bits := _BIT.fullmatch(name):
        return int(bits[1])
    found = _find(name, spec, specs)
    if found is None:
        return None
    inner, owner = found
    sizes = [None if "if" in f.raw else size_of(f, owner, specs) for f in inner.seq]
    return None if None in sizes or not sizes else sum(size for size in sizes if size is not None)


def _find(name: str, spec: Spec, specs: Mapping[str, Spec]) -> tuple[Type, Spec] | None:
    """The type of a name as a field writes it, and the file it stands in."""
    last = name.partition("(")[0].strip().split("::")[-1]
    for kind in spec.root.walk():
        if kind.name == last:
            return kind, spec
    if last in spec.imports and last in specs:
        return specs[last].root, specs[last]
    return None


def _picture(rows: list[Row], title: str) -> str:
    """The fields up to the first one that varies; none for a single field."""
    boxes: list[Box] = []
    for row in rows:
        if row.offset is None or row.offset % 8:
            break
        size = row.size if "if" not in row.field.raw else None
        if size is not None and size % 8:
            break
        boxes.append(Box(row.field.id, row.offset // 8, (size or 0) // 8))
        if not size:
            break
    return svg(boxes, f"bytes of {title}") if len(boxes) > 1 else ""


def _row(row: Row, group: str, spec: Spec, specs: Mapping[str, Spec]) -> str:
    cells = (
        "" if row.offset is None else _place(row.offset),
        "varies" if row.size is None else _length(row.size),
        _mark(group, row.field.id) + _name(row.field),
        _kind(row.field, spec, specs),
        _meaning(row.field),
    )
    return "| " + " | ".join(cells) + " |"


def _instance(field: Attr, group: str, spec: Spec, specs: Mapping[str, Spec]) -> str:
    raw = field.raw
    where = str(raw["value"]) if "value" in raw else f"at {raw['pos']}" if "pos" in raw else ""
    cells = (
        _mark(group, field.id) + _name(field),
        _kind(field, spec, specs),
        f"`{_cell(where)}`" if where else "",
        _meaning(field),
    )
    return "| " + " | ".join(cells) + " |"


def _place(bits: int) -> str:
    return f"`{bits // 8:#04x}`" if bits % 8 == 0 else f"`{bits // 8:#04x}` bit {bits % 8}"


def _length(bits: int) -> str:
    return str(bits // 8) if bits % 8 == 0 else f"{bits} bits"


def _mark(group: str, name: str) -> str:
    return f'<a id="{spec_anchor(group, name)}"></a>'


def _name(field: Attr) -> str:
    original = field.raw.get("-orig-id")
    return f"`{field.id}`" + (f" ({original})" if original and original != field.id else "")


def _kind(field: Attr, spec: Spec, specs: Mapping[str, Spec]) -> str:
    """The type of a field, with a link where it is one of ours."""
    raw = field.raw
    name = raw.get("type")
    if isinstance(name, dict):
        cases = {str(case) for case in name["cases"].values()}
        text = "one of " + ", ".join(_linked(case, spec, specs) for case in sorted(cases)[:8])
        text += f" and {len(cases) - 8} more" if len(cases) > 8 else ""
        text += f", by `{_cell(name['switch-on'])}`"
    elif name is None:
        text = "bytes" if "value" not in raw else "value"
    else:
        text = _linked(str(name), spec, specs)
    text += f", [`{raw['enum']}`]({_enum_link(raw['enum'], spec)})" if "enum" in raw else ""
    text += f", repeated ({_cell(raw['repeat'])})" if "repeat" in raw else ""
    return text + (f", if `{_cell(raw['if'])}`" if "if" in raw else "")


def _linked(name: str, spec: Spec, specs: Mapping[str, Spec]) -> str:
    found = _find(name, spec, specs)
    if found is None:
        return f"`{_cell(name)}`"
    kind, owner = found
    page = "" if owner is spec else f"{owner.file.stem}.md"
    place = "" if kind is owner.root else f"#{spec_anchor('types', kind.name)}"
    return f"[`{kind.name}`]({page + place or '#'})" if page + place else f"`{kind.name}`"


def _enum_link(name: str, spec: Spec) -> str:
    file, _, last = str(name).rpartition("::")
    return f"{file + '.md' if file and file != spec.id else ''}#{slug(f'enum {last}')}"


def _meaning(field: Attr) -> str:
    text = _cell(field.raw.get("doc", ""))
    opaque = field.raw.get("-opaque")
    return text + (f" Opaque: {opaque}." if opaque else "")


def _doc(raw: Mapping[str, Any]) -> list[str]:
    refs = raw.get("doc-ref", [])
    lines = [str(raw.get("doc", "")).strip(), ""]
    for ref in refs if isinstance(refs, list) else [refs]:
        lines.append(f"See <{ref}>." if str(ref).startswith("http") else f"See {ref}.")
    return lines


def _enums(spec: Spec) -> list[str]:
    lines: list[str] = []
    for kind in spec.root.walk():
        for name, values in kind.raw.get("enums", {}).items():
            lines += [f'<a id="{slug(f"enum {name}")}"></a>', "", f"## enum {name}", ""]
            lines += ["| value | name | meaning |", "|---|---|---|"]
            for value, item in values.items():
                known = item if isinstance(item, dict) else {"id": item}
                mark = _mark(f"enum {name}", known["id"])
                original = known.get("-orig-id")
                told = f" ({original})" if original else ""
                cells = (
                    f"`{value:#x}` | {mark}`{known['id']}`{told} | {_cell(known.get('doc', ''))}"
                )
                lines.append(f"| {cells} |")
            lines.append("")
    return lines


def _whole_programs(name: str) -> list[str]:
    """Programs that read whole files, for the specs of whole files."""
    links = ", ".join(
        f"[{language}](../languages.md#{anchor(language)})" for language in programs()
    )
    text = f"Whole programs that read cubins and fatbins: {links}."
    return ["", text, ""]


def _cell(text: object) -> str:
    return " ".join(str(text).replace("|", "\\|").split())
