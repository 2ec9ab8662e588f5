"""Random models and mutated real files: the same bytes, or a CubinError."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubinspec.errors import CubinError
from cubinspec.reader.elf import Elf
from cubinspec_writer.emit import bodies, describe, emit
from cubinspec_writer.emit.model import Description, Dropped, Header, Section, Symbol
from cubinspec_writer.emit.profiles import PROFILES
from tests.conftest import sample_files

SAMPLES = [file.read_bytes() for file in sample_files()[::9]]

names = st.text("abk_$.Z1", min_size=1, max_size=12)


@st.composite
def descriptions(draw: st.DrawFn) -> Description:
    """A file of a random writer with random sections, symbols and dropped names."""
    profile = draw(st.sampled_from(sorted(PROFILES)))
    tables = [
        Section(".shstrtab", 3, bodies.Computed("shstrtab")),
        Section(".strtab", 3, bodies.Computed("strtab")),
        Section(".symtab", 2, bodies.Computed("symtab"), sh_addralign=8, sh_entsize=24),
    ]
    history: list[Section | Symbol | Dropped] = [*tables]
    functions = draw(st.lists(names, max_size=5, unique=True))
    symbols: list[Symbol | Dropped] = []
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
        records = draw(
            st.lists(
                st.one_of(
                    st.tuples(st.just(4), st.integers(0, 255), st.binary(max_size=12)),
                    st.tuples(st.integers(1, 3), st.integers(0, 255), st.just(b"")),
                ),
                max_size=4,
            )
        )
        history.append(
            Section(
                f".nv.info.{function}",
                bodies.SHT_CUDA_INFO,
                bodies.InfoRecords([(f, c, len(p), p) for f, c, p in records]),
                sh_flags=0x40,
                sh_addralign=4,
            )
        )
        if draw(st.booleans()):
            history.append(Dropped(f".nv.shared.{function}", in_shstrtab=True))
        rows = [
            (draw(st.integers(0, 1 << 40)), draw(st.integers(0, 9)), draw(st.integers(1, 99)), 7)
            for _ in range(draw(st.integers(0, 3)))
        ]
        history.append(
            Section(
                f".rela.text.{function}",
                4,
                bodies.Relocations.from_rows(rows, rela=True),
                sh_flags=0x40,
                sh_addralign=8,
                sh_entsize=24,
            )
        )
        history.append(
            Section(
                f".nv.constant0.{function}", 1, bodies.Blob(bytes(draw(st.integers(0, 9)))), 0x42
            )
        )
        symbols.append(Symbol(function, 0x12, 0x10, code, 0, code.body.size))
    if draw(st.booleans()):
        history.append(
            Section(".nv.global", 8, bodies.NoBytes(draw(st.integers(0, 1 << 20))), 3, 0, 16)
        )
    header = Header(e_type=draw(st.sampled_from((1, 2, 0xFF00))), ei_osabi=0x33, ei_abiversion=7)
    return Description(header, history, symbols, profile)


@given(descriptions())
@settings(max_examples=200, deadline=None)
def test_random_models_read_back(description: Description) -> None:
    data = emit(description)
    read = Elf(data, "x")
    written = {section.name: section for section in description.sections}
    assert sorted(read.section_names[1:]) == sorted(s.name for s in description.sections)
    for index, name in enumerate(read.section_names[1:], 1):
        section, row = written[name], read.section_rows[index]
        assert row[1:4] == (section.sh_type, section.sh_flags, 0)
        assert row[8:] == (section.sh_addralign, section.sh_entsize)
        if isinstance(section.body, bodies.Blob):
            assert read.section_bytes(index) == section.body.data
        if isinstance(section.body, bodies.Relocations):
            rows = [(o, s, k, a) for o, k, s, a in read.relocation_rows(index)]
            assert rows == section.body.rows()
            assert read.section_names[row[7]] == name.removeprefix(".rela")
    symtab = read.section_names.index(".symtab")
    strings = read.string_table(read.section_rows[symtab][6])
    found = {strings.get(row[0]) for row in read.symbol_rows(symtab)}
    assert {s.name for s in description.symbols} <= found
    assert emit(describe(data)) == data


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
@settings(max_examples=300, deadline=None)
def test_mutated_files(data: bytes) -> None:
    try:
        again = emit(describe(data))
    except CubinError:
        return
    assert again == data


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"PK\x03\x04", bytes(100)])
def test_not_a_cubin(data: bytes) -> None:
    with pytest.raises(CubinError):
        describe(data)
