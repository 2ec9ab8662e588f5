"""Two cubins compared part by part, with names instead of numbers.

Where numbers follow from an order, one change of order must not make everything differ.
"""

from __future__ import annotations

from struct import calcsize, unpack_from
from typing import Any

from cubinspec_generated.codes import SHF_CUDA_MERCURY, SHT_CUDA_COMPAT_INFO
from cubinspec_generated.tables import eiattr
from cubinspec_writer.emitter import bodies, describe
from cubinspec_writer.emitter.layout import Planner, plan
from cubinspec_writer.emitter.model import Section


class _Names:
    def __init__(self, data: bytes) -> None:
        self.description = describe(data)
        planner = Planner(self.description)
        planner.number_symbols()
        self.plan = plan(self.description)
        self.plain = [self._entry(entry) for entry in planner.symbol_entries]
        self.mercury = [""]
        for section in self.description.sections:
            if isinstance(section.body, bodies.MercurySymbols):
                self.mercury += [symbol.name for symbol in section.body.symbols]

    @staticmethod
    def _entry(entry: Any) -> str:
        if entry is None:
            return ""
        return f"section {entry.name}" if isinstance(entry, Section) else entry.name

    def symbols(self) -> list[tuple[Any, ...]]:
        rows = []
        for name, row in zip(self.plain, self.plan.symbol_rows, strict=True):
            section = self.plan.sections[row[3]] if row[3] < len(self.plan.sections) else None
            rows.append((name, row[1], row[2], section.name if section else row[3], *row[4:]))
        return rows

    def body(self, section: Section) -> Any:
        body = section.body
        names = self.mercury if section.sh_flags & SHF_CUDA_MERCURY else self.plain
        if isinstance(body, bodies.Relocations):
            return [(offset, names[at], kind, addend) for offset, at, kind, addend in body.rows()]
        if isinstance(body, bodies.InfoRecords):
            is_compat = section.sh_type == SHT_CUDA_COMPAT_INFO
            return [record if is_compat else _record(record, names) for record in body.records]
        if isinstance(body, bodies.Pairs):
            marker = bodies.CALLGRAPH_MARKERS
            return [
                (names[a], b if isinstance(b, str) or b in marker else names[b])
                for a, b in body.rows
            ]
        if isinstance(body, bodies.MercurySymbols):
            return [
                (s.name, s.st_info, s.st_other, getattr(s.section, "name", s.section), s.st_value,
                 s.st_size)
                for s in body.symbols
            ]  # fmt: skip
        if isinstance(body, bodies.Capsule):
            return (getattr(body.text, "name", body.text), body.data)
        return _values(body) if not isinstance(body, bodies.Computed) else None


def _values(item: Any) -> Any:
    """An object of the model as plain values."""
    if isinstance(item, list):
        return [_values(one) for one in item]
    names = getattr(item, "__slots__", None)
    return item if names is None else {name: _values(getattr(item, name)) for name in names}


def _record(record: tuple[int, int, int, bytes], names: list[str]) -> Any:
    form, code, value, payload = record
    attribute = eiattr.ATTRIBUTES.get(code, eiattr.UNKNOWN)
    fields = attribute.symbol_fields
    if not fields:
        return record
    size = calcsize(attribute.layout.format)
    symbols = []
    rest = bytearray(payload)
    for at in range(0, len(payload), size):
        for field in fields:
            symbols.append(names[unpack_from("<I", payload, at + field)[0]])
            rest[at + field : at + field + 4] = bytes(4)
    return form, code, value, symbols, bytes(rest)


def differences(left: bytes, right: bytes) -> set[str]:
    """What differs, each part named once; empty for equal files."""
    if left == right:
        return set()
    a, b = _Names(left), _Names(right)
    found = set()
    header = zip(
        a.plan.ehdr[:1] + a.plan.ehdr[2:4], b.plan.ehdr[:1] + b.plan.ehdr[2:4], strict=True
    )
    if any(x != y for x, y in header) or a.plan.ehdr[6] & 0xFFFFFF != b.plan.ehdr[6] & 0xFFFFFF:
        found.add("header")
    ours = {section.name: section for section in a.plan.sections if section}
    theirs = {section.name: section for section in b.plan.sections if section}
    found |= {f"missing {name}" for name in ours.keys() - theirs.keys()}
    found |= {f"extra {name}" for name in theirs.keys() - ours.keys()}
    common = [name for name in ours if name in theirs]
    if common != [name for name in theirs if name in ours]:
        found.add("section order")
    for name in common:
        x, y = ours[name], theirs[name]
        if x.body.__class__ is not y.body.__class__ or a.body(x) != b.body(y):
            found.add(f"contents of {name}")
        for field in ("sh_type", "sh_flags", "sh_addralign", "sh_entsize", "registers"):
            if getattr(x, field) != getattr(y, field):
                found.add(f"{field} of {name}")
    if sorted(map(str, a.symbols())) != sorted(map(str, b.symbols())):
        found.add("symbols")
    elif a.symbols() != b.symbols():
        found.add("symbol order")
    for table in ("shstrtab", "strtab"):
        if a.plan.tables[table] != b.plan.tables[table]:
            found.add(f".{table}")
    return found or {"layout"}
