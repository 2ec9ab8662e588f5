"""Random models and mutated real files: the same bytes, or a CubinError."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubinspec.errors import CubinError
from cubinspec_generated.codes import (
    SHF_CUDA_MERCURY,
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_CAPMERC,
    SHT_CUDA_COMPAT_INFO,
    SHT_CUDA_INFO,
    SHT_CUDA_MERC_SYMTAB,
    SHT_CUDA_RELOCINFO,
    SHT_CUDA_UFT_ENTRY,
)
from cubinspec_generated.producers import PRODUCERS
from cubinspec_writer.emitter import bodies, describe, emit
from cubinspec_writer.emitter.layout import Planner
from cubinspec_writer.emitter.model import Description, Dropped, Header, Section, Symbol
from cubinspec_writer.yaml_form import from_yaml, to_yaml
from tests.conftest import sample_files

SAMPLES = [file.read_bytes() for file in sample_files()[::9]]

#: Larger files take the text form too long for hundreds of examples.
_SHORT = 8000
names = st.text("abk_$.Z1", min_size=1, max_size=12)


texts = st.text("abk .\u00e9", max_size=9)
u16, u32, u64 = (st.integers(0, (1 << bits) - 1) for bits in (16, 32, 64))
byte = st.integers(0, 255)
attributes = st.lists(
    st.one_of(
        st.tuples(st.just(4), st.integers(0, 255), st.binary(max_size=12)),
        st.tuples(st.integers(1, 3), st.integers(0, 255), st.just(b"")),
    ),
    max_size=4,
)


def info(records: list[tuple[int, int, bytes]]) -> bodies.InfoRecords:
    return bodies.InfoRecords([(f, c, len(p), p) for f, c, p in records])


@st.composite
def note_sections(draw: st.DrawFn) -> list[Section]:
    """``.note.nv.*`` with descriptors of every layout, and with none that is known."""
    descriptors = {
        ".note.nv.tkinfo": st.one_of(
            st.builds(bodies.ToolNote, u32, texts, texts, texts, texts, texts),
            st.builds(bodies.RawNote, st.binary(max_size=9)),
        ),
        ".note.nv.cuinfo": st.builds(bodies.CuinfoNote, u16, u16, u16, u16),
        ".note.nv.cuver": st.builds(bodies.CuverNote, u16, u16, u32, u32),
        ".note.other": st.builds(bodies.RawNote, st.binary(max_size=9)),
    }
    sections = []
    for name in draw(st.sets(st.sampled_from(sorted(descriptors)))):
        notes = st.lists(st.builds(bodies.Note, u32, names, descriptors[name]), max_size=2)
        sections.append(Section(name, 7, bodies.Notes(draw(notes)), sh_addralign=4))
    return sections


@st.composite
def table_sections(draw: st.DrawFn, count: int, is_64: bool) -> list[Section]:
    """Module-wide tables of records; symbols are referred to by number."""
    index = st.integers(0, count)
    pairs = st.lists(st.tuples(st.integers(1, 99), index), max_size=3)
    graph: list[tuple[int, int | str]] = []
    for at, marker in enumerate(bodies.CALLGRAPH_MARKERS):
        rows = draw(pairs) if at in (0, 3) else []
        graph += [(0, marker), *rows]
    word = u64 if is_64 else u32
    rela = st.tuples(word, st.integers(0, 99), st.integers(0, 255), st.integers(-9, 99))
    rel = st.tuples(word, st.integers(0, 99), st.integers(0, 255), st.none())
    found = [
        Section(".nv.compat", SHT_CUDA_COMPAT_INFO, info(draw(attributes)), 0, 0, 4),
        Section(".nv.callgraph", SHT_CUDA_CALLGRAPH, bodies.Pairs(graph), 0, 0, 4, 8),
        Section(
            ".nv.rel.action",
            SHT_CUDA_RELOCINFO,
            bodies.RelocActions(
                draw(u32), draw(u32), draw(st.lists(st.tuples(*[byte] * 8), max_size=2))
            ),
            0, 0, 8, 8,
        ),
        Section(
            ".nv.uft.entry",
            SHT_CUDA_UFT_ENTRY,
            bodies.UftEntries(draw(st.lists(st.tuples(u32, u32, u64, u64, u64), max_size=2))),
        ),
        Section(
            ".rela.data",
            4,
            bodies.Relocations.from_rows(draw(st.lists(rela, max_size=3)), True, is_64),
        ),
        Section(
            ".rel.data",
            9,
            bodies.Relocations.from_rows(draw(st.lists(rel, max_size=3)), False, is_64),
        ),
        Section(".nv.global", 8, bodies.NoBytes(draw(st.integers(0, 1 << 20))), 3, 0, 16),
        Section(draw(names) + "-", draw(st.integers(12, 17)), bodies.Blob(draw(st.binary()))),
    ]  # fmt: skip
    return draw(st.lists(st.sampled_from(found), unique_by=id))


@st.composite
def descriptions(draw: st.DrawFn) -> Description:
    """A file of a random writer with sections of every kind, symbols and dropped names."""
    profile = draw(st.sampled_from(sorted(PRODUCERS)))
    is_64 = draw(st.sampled_from((True, True, True, False)))
    tables = [
        Section(".shstrtab", 3, bodies.Computed("shstrtab")),
        Section(".strtab", 3, bodies.Computed("strtab")),
        Section(".symtab", 2, bodies.Computed("symtab"), sh_addralign=8, sh_entsize=24),
    ]
    history: list[Section | Symbol | Dropped] = [*tables, *draw(note_sections())]
    functions = draw(st.lists(names, max_size=5, unique=True))
    symbols: list[Symbol | Dropped] = []
    mercury: list[Section] = []
    mercury_symbols: list[bodies.MercurySymbol] = []
    with_capsules = PRODUCERS[profile].mercury_names and is_64 and draw(st.booleans())
    for function in functions:
        code = Section(
            f".text.{function}",
            1,
            bodies.Blob(draw(st.binary(max_size=40))),
            sh_flags=6,
            sh_addralign=draw(st.sampled_from((1, 4, 32, 128))),
            registers=draw(st.integers(0, 255)),
        )
        history.append(code)
        history.append(
            Section(f".nv.info.{function}", SHT_CUDA_INFO, info(draw(attributes)), 0x40, 0, 4)
        )
        if draw(st.booleans()):
            history.append(Dropped(f".nv.shared.{function}", in_shstrtab=True))
        history.append(
            Section(
                f".nv.constant0.{function}", 1, bodies.Blob(bytes(draw(st.integers(0, 9)))), 0x42
            )
        )
        bind = draw(st.sampled_from((0, 1, 2)))
        symbol = Symbol(
            function, bind << 4 | 2, draw(st.integers(0, 255)), code, draw(u32), draw(u32)
        )
        (symbols if bind == 1 else history).append(symbol)
        if with_capsules:
            body = bodies.Capsule(code, draw(st.binary(max_size=9)))
            name = f".nv.capmerc.text.{function}"
            mercury.append(Section(name, SHT_CUDA_CAPMERC, body, SHF_CUDA_MERCURY))
            mercury_symbols.append(bodies.MercurySymbol(function, 0x12, 0, mercury[-1], 0, 0))
    history += draw(table_sections(len(functions), is_64))
    if with_capsules:
        kind, flags = SHT_CUDA_MERC_SYMTAB, SHF_CUDA_MERCURY
        table = bodies.MercurySymbols(mercury_symbols)
        history += [*mercury, Section(".nv.merc.symtab", kind, table, flags, 0, 8, 24)]
    header = Header(
        1 if not is_64 else 2,
        e_type=draw(st.sampled_from((1, 2, 0xFF00))),
        ei_osabi=draw(st.sampled_from((0x33, 0x41))),
        e_flags=draw(st.integers(0, 0xFFFFFF)),
        e_version=draw(u32),
        e_entry=draw(u32),
    )
    return Description(header, history, symbols, profile)


def plain(section: Section) -> object:
    """The contents of a section, with names for the sections it refers to."""
    body = section.body
    if isinstance(body, bodies.Computed):
        return body.kind
    if isinstance(body, bodies.Capsule):
        return getattr(body.text, "name", body.text), body.data
    if isinstance(body, bodies.MercurySymbols):
        return [(s.name, s.st_info, getattr(s.section, "name", s.section)) for s in body.symbols]
    return body


def symbol_table(description: Description) -> list[tuple[object, ...]]:
    planner = Planner(description)
    planner.prepare()
    return sorted(
        (entry.name, row[1], row[2], getattr(planner.sections[row[3] - 1], "name", ""), *row[4:])
        for entry, row in zip(planner.symbol_entries, planner.symbol_rows, strict=True)
        if isinstance(entry, Symbol)
    )


@given(descriptions())
@settings(max_examples=100, deadline=None)
def test_random_models_read_back(description: Description) -> None:
    """Everything that a model says is found again in its file."""
    data = emit(description)
    again = describe(data)
    header, found = description.header, again.header
    for field in ("ei_class", "ei_osabi", "e_type", "e_version", "e_entry"):
        assert getattr(header, field) == getattr(found, field)
    assert header.e_flags == found.e_flags
    read = {section.name: section for section in again.sections}
    assert sorted(read) == sorted(section.name for section in description.sections)
    for section in description.sections:
        same = read[section.name]
        for field in ("sh_type", "sh_flags", "sh_addr", "sh_addralign", "sh_entsize"):
            assert getattr(section, field) == getattr(same, field), (section.name, field)
        if plain(section) != plain(same):
            # what has no records is no table of any kind
            assert isinstance(same.body, bodies.Blob), section.name
            assert section.body.size == same.body.size
            assert section.body.size == 0 or section.sh_type == SHT_CUDA_CAPMERC
    assert symbol_table(description) == symbol_table(again)
    assert emit(again) == data
    assert from_yaml(to_yaml(data)) == data


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    """A real file with a few bytes changed, cut off, or added."""
    data = bytearray(draw(st.sampled_from(SAMPLES)))
    headers = min(int.from_bytes(data[40:48], "little"), len(data) - 1)
    for _ in range(draw(st.integers(1, 4))):
        low, high = draw(st.sampled_from(((0, 63), (headers, len(data) - 1), (0, len(data) - 1))))
        at = draw(st.integers(low, max(low, min(high, len(data) - 1))))
        action = draw(st.integers(0, 9))
        if action < 8:
            width = draw(st.sampled_from((1, 4, 8)))
            data[at : at + width] = draw(st.binary(min_size=width, max_size=width))
        elif action == 8:
            data += draw(st.binary(max_size=9))
        else:
            del data[max(at, 64) :]
    return bytes(data)


@given(mutations())
@settings(max_examples=200, deadline=None)
def test_mutated_files(data: bytes) -> None:
    try:
        again = emit(describe(data))
    except CubinError:
        return
    assert again == data
    if len(data) < _SHORT:
        assert from_yaml(to_yaml(data)) == data


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"PK\x03\x04", bytes(100)])
def test_not_a_cubin(data: bytes) -> None:
    with pytest.raises(CubinError):
        describe(data)
