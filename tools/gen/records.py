"""Record scanners: a ``struct`` format and the field names of every fixed-size type of the spec.

The Kaitai classes read field by field; tables with many rows are read with
``struct.Struct.iter_unpack`` instead. Both come from the same ``.ksy``, so they cannot disagree
about a layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.gen.spec import Attr, Spec, SpecError, Type, digest

#: Condition of a field that only files of one ELF class have -> what its name ends with.
CLASSES = {"is_64": "_64", "not is_64": "_32"}

_CODES = {
    "u1": "B",
    "u2": "H",
    "u4": "I",
    "u8": "Q",
    "s1": "b",
    "s2": "h",
    "s4": "i",
    "s8": "q",
    "f4": "f",
    "f8": "d",
}


_UNSIGNED = {8: "B", 16: "H", 32: "I", 64: "Q"}


def bit_width(kind: Type) -> int | None:
    """Bits of a type made of bit fields only, ``None`` for any other type."""
    widths = [attr.raw.get("type") for attr in kind.seq]
    if not widths or not all(isinstance(w, str) and re.fullmatch(r"b\d+", w) for w in widths):
        return None
    return sum(int(str(w)[1:]) for w in widths)


def _code(attr: Attr, types: dict[str, Type]) -> str | None:
    """``struct`` code of a field, ``None`` when its size is not fixed.

    A type of bit fields that fill a whole integer counts as that integer, so that a scanner reads
    ``st_info`` as one byte.
    """
    raw = attr.raw
    if any(key in raw for key in ("repeat", "pos", "process")):
        return None
    if "if" in raw and raw["if"] not in CLASSES:
        return None
    if "contents" in raw:
        contents = raw["contents"]
        parts = contents if isinstance(contents, list) else [contents]
        return f"{sum(len(p) if isinstance(p, str) else 1 for p in parts)}s"
    kind = raw.get("type")
    if kind is None or kind == "str":
        size = raw.get("size")
        return f"{size}s" if isinstance(size, int) else None
    if not isinstance(kind, str):
        return None
    if kind in _CODES:
        return _CODES[kind]
    nested = types.get(kind)
    return _UNSIGNED.get(bit_width(nested) or 0) if nested else None


def fixed_head(
    kind: Type, types: dict[str, Type], elf_class: str = ""
) -> tuple[str, list[str], bool]:
    """Format, field names and completeness of the leading fixed-size fields of a type.

    Args:
        kind: the type.
        types: the types that it may use, by name.
        elf_class: ``_64`` or ``_32`` for a type whose fields differ between the ELF classes.

    Returns:
        the little-endian ``struct`` format, one name per value, and whether these fields are
        the whole type.
    """
    codes: list[str] = []
    names: list[str] = []
    for attr in kind.seq:
        only_in = CLASSES.get(attr.raw.get("if", ""), elf_class)
        if only_in != elf_class:
            continue
        code = _code(attr, types)
        if code is None:
            return "<" + "".join(codes), names, False
        codes.append(code)
        names.append(attr.id.removesuffix(elf_class) if "if" in attr.raw else attr.id)
    return "<" + "".join(codes), names, True


def elf_classes(kind: Type) -> list[str]:
    """The suffixes of the classes that a type's fields differ between, else one empty string."""
    found = {CLASSES[attr.raw["if"]] for attr in kind.seq if attr.raw.get("if") in CLASSES}
    return sorted(found, reverse=True) or [""]


def records(specs: dict[str, Spec]) -> Iterator[tuple[str, Type, str, list[str], bool]]:
    """Name, type, format, field names and completeness of every type that starts fixed."""
    seen: dict[str, Type] = {}
    tops = {name: spec.root for name, spec in specs.items()}
    for spec in specs.values():
        types = {name: tops[name] for name in spec.imports if name in tops} | spec.root.types
        for kind in spec.root.walk():
            for elf_class in elf_classes(kind):
                layout, names, whole = fixed_head(kind, types, elf_class)
                if not names:
                    continue
                name = (kind.name + elf_class).upper()
                if name in seen:
                    raise SpecError(
                        f"{spec.file}:{kind.line}: record name {name} is also that of "
                        + "::".join(seen[name].path)
                    )
                seen[name] = kind
                yield name, kind, layout, names, whole


def emit(specs: dict[str, Spec]) -> str:
    """Text of ``records.py``."""
    lines = [
        _head(specs),
        '"""Layouts of all fixed-size records of the spec, for ``iter_unpack`` and friends.',
        "",
        "``NAME`` is the layout of the type ``name``; ``# head`` marks one that goes on with parts",
        "of varying size. ``record_fields`` has the names of the fields.",
        '"""',
        "",
        "from _struct import Struct",
    ]
    for name, kind, layout, _, whole in records(specs):
        lines += [
            "",
            f"# {'::'.join(kind.path)}" + ("" if whole else " (head)"),
            f'{name} = Struct("{layout}")',
        ]
    return "\n".join(lines) + "\n"


def emit_fields(specs: dict[str, Spec]) -> str:
    """Text of ``record_fields.py``, which few commands import."""
    lines = [
        _head(specs),
        '"""Names of the fields of ``records``: ``NAME_FIELDS``, one per value of ``NAME``."""',
        "",
    ]
    for name, _, _, names, _ in records(specs):
        fields = ", ".join(f'"{n}"' for n in names) + ("," if len(names) == 1 else "")
        lines.append(f"{name}_FIELDS = ({fields})")
    return "\n".join(lines) + "\n"


def _head(specs: dict[str, Spec]) -> str:
    sources = digest("".join(spec.text for spec in specs.values()))
    return f"# Generated by `make gen` from ksy/*.ksy (sha256 {sources}); do not edit."
