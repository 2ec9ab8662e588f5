"""The relocation table, executed, writes what nvlink writes and keeps what nvlink keeps.

One relocation of a relocatable cubin is patched to each type in turn, against each kind of target,
over a field of zeros or of ones; nvlink's result is compared with what the table says. R_MERCURY
types are tried in a Mercury debug section, whose bytes nvlink leaves as they are otherwise.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cubinspec import Cubin
from cubinspec_generated.codes_relocation import R_MERCURY_OFFSET
from cubinspec_generated.tables import relocations as table
from tools import oracle

pytestmark = pytest.mark.oracle("ptxas", "nvlink")

SOURCE = """\
.version 9.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 in_global = 5;
.visible .const .align 4 .u32 before = 1;
.visible .const .align 4 .u32 in_constant = 7;
.visible .func called(.param .u64 p) {
    .reg .b64 %a; ld.param.u64 %a, [p]; st.global.u64 [%a], %a; ret;
}
.visible .entry k(.param .u64 p) {
    .reg .b64 %a<9>; .reg .b32 %r<9>;
    .shared .align 4 .b8 in_shared[64];
    ld.param.u64 %a1, [p];
    mov.u64 %a2, in_global; ld.global.u32 %r1, [%a2]; st.global.u32 [%a1], %r1;
    ld.const.u32 %r2, [before]; ld.const.u32 %r4, [in_constant]; st.global.u32 [%a1], %r4;
    mov.u32 %r3, in_shared; st.shared.u32 [%r3], %r2; st.shared.u32 [%r3 + 32], %r4;
    { .param .b64 q; st.param.b64 [q], %a1; call called, (q); }
FILLER    ret;
}
"""
FILLER = "    st.global.u32 [%a1 + {}], %r1;\n"
ADDEND = 0x123456789A24
WIDTH = 32
"""Bytes at the slot that are filled and compared."""


class Target(NamedTuple):
    """A symbol that the relocation names.

    Attributes:
        kind: its kind in the words of the table.
        symbol: its name; empty for symbol 0.
        address: S, as far as the linker knows it.
        bank: number of its constant bank.
    """

    kind: str
    symbol: str
    address: int
    bank: int


TARGETS = (
    Target("global", "in_global", 0, 0),
    Target("function", "called", 0, 0),
    Target("constant", "in_constant", 0, 3),
    Target("shared", "in_shared", 0, 0),
    Target("none", "", 0, 0),
)


_UNSUPPORTED = {"constant", "shared", "handle", "none"}
_SLOTS = ("R_CUDA_TEX_SLOT", "R_CUDA_SAMP_SLOT", "R_CUDA_SURF_SLOT", "R_CUDA_TEX_SLOT9_49")


class Way(NamedTuple):
    """A place to try relocations in.

    Attributes:
        arch: architecture of the code.
        options: further options of ptxas.
        fill: byte that the field holds before.
        section: name of the section.
        relocations: name of its relocation section.
        symbols: name of the symbol table that it uses.
        slot: offset in the section at which the patched relocation works; no other is near.
        first: first type of the series.
    """

    arch: str
    options: tuple[str, ...]
    fill: int
    section: str
    relocations: str
    symbols: str
    slot: int
    first: int


CODE = (".text.k", ".rela.text.k", ".symtab", 0x400, 0)
MERCURY = (
    ".nv.merc.nv_debug_line_sass",
    ".nv.merc.rela.nv_debug_line_sass",
    ".nv.merc.symtab",
    0x100,
    R_MERCURY_OFFSET,
)
WAYS = (
    Way("sm_80", (), 0x00, *CODE),
    Way("sm_90", (), 0xFF, *CODE),
    Way("sm_100", ("-g",), 0xFF, *MERCURY),
)


class Base(NamedTuple):
    """A relocatable cubin, and where the parts stand that a test patches."""

    data: bytes
    way: Way
    field: int
    entry: int
    symbols: dict[str, int]


@pytest.fixture(scope="module", params=WAYS, ids=lambda way: way.arch)
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Base:
    """The cubin that all cases patch."""
    way: Way = request.param
    folder = tmp_path_factory.mktemp("base")
    filler = "".join(FILLER.format(8 * i) for i in range(64))
    (folder / "a.ptx").write_text(SOURCE.replace("FILLER", filler), encoding="utf-8")
    options = ("-arch", way.arch, *way.options, "-c", folder / "a.ptx", "-o", folder / "a.cubin")
    oracle.find("ptxas").run(*options).check()
    data = (folder / "a.cubin").read_bytes()
    cubin = Cubin.parse(data, name=way.arch)
    section = cubin.sections[way.section]
    assert section.sh_size >= way.slot + WIDTH
    names = cubin.sections[".strtab"].data
    symbols = {"": 0}
    for index, row in enumerate(struct.iter_unpack("<I20x", cubin.sections[way.symbols].data)):
        name = bytes(names[row[0] : names.index(0, row[0])]).decode()
        symbols[name.strip("$_0123456789")] = index
    entry = cubin.sections[way.relocations].sh_offset
    return Base(data, way, section.sh_offset + way.slot, entry, {**symbols, "": 0})


class Linked(NamedTuple):
    """What nvlink made of the slot: its bytes, and type and addend of an entry that it kept."""

    field: bytes
    kept: tuple[int, int] | None


def link(base: Base, r_type: int, target: Target, folder: Path) -> Linked | None:
    """Patches, links and reads; ``None`` when nvlink fails."""
    way = base.way
    data = bytearray(base.data)
    data[base.field : base.field + WIDTH] = bytes([way.fill]) * WIDTH
    entry = (way.slot, r_type, base.symbols[target.symbol], ADDEND)
    struct.pack_into("<QIIq", data, base.entry, *entry)
    source, result = folder / "p.cubin", folder / "p.out"
    source.write_bytes(data)
    result.unlink(missing_ok=True)
    run = oracle.find("nvlink").run("-arch", way.arch, source, "-o", result)
    if run.returncode:
        return None
    with Cubin.open(str(result)) as cubin:
        field = cubin.sections[way.section].data[way.slot : way.slot + WIDTH]
        kept = [
            (r_type, addend)
            for s in cubin.sections
            if s.name == way.relocations
            for offset, r_type, _, addend in struct.iter_unpack("<QIIq", s.data)
            if offset == way.slot
        ]
    assert len(kept) <= 1
    return Linked(bytes(field), kept[0] if kept else None)


def expected(r_type: int, target: Target, address: int, fill: int) -> Linked | None:
    """The same by the table: ``None`` for an error."""
    unchanged = bytes([fill]) * WIDTH
    kind = table.TYPES[r_type]
    # The table's rules `unsupported` and `slot`: in a Mercury half every target is an error, and a
    # shared variable has its alignment in place of its address.
    is_unsupported = r_type >= R_MERCURY_OFFSET and set(kind.errors) == _UNSUPPORTED
    is_slot = table.NAMES[r_type] in _SLOTS and target.kind == "shared"
    if is_unsupported or (target.kind in kind.errors and not is_slot):
        return None
    if target.kind in kind.keep:
        return Linked(unchanged, (kind.retype, ADDEND))
    rule = kind.apply
    # The input is for a virtual architecture from sm_70 on, and of the targets here only the
    # shared variable loses its symbol in the link.
    if rule == "lockstep" or (rule == "target_dropped" and target.kind != "shared"):
        return Linked(unchanged, None)
    values = {
        "abs": address + ADDEND,
        "unified": address + ADDEND,
        # nvlink adds the alignment of a shared variable, which is no texture and has no slot
        "addend": ADDEND + (address if target.kind == "shared" else 0),
        "const_bank": target.bank,
        "zero": 0,
    }
    word = int.from_bytes(unchanged, "little")
    for action in kind.actions:
        mask = (1 << action.width) - 1
        value = values[action.value] >> action.shift & mask
        word = word & ~(mask << action.bit) | value << action.bit
    return Linked(word.to_bytes(WIDTH, "little"), None)


def addresses(target: Target) -> Iterator[int]:
    """Where the target may have got to: a shared variable can stand anywhere in its 64 bytes."""
    yield from range(0, 0x80, 4) if target.kind == "shared" else (target.address, 4)


def banks(target: Target) -> Iterator[Target]:
    """Targets outside a constant bank give the low bits of their section type as the bank."""
    yield from (target._replace(bank=bank) for bank in ({3} if target.bank else range(32)))


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.kind)
def test_every_type_does_what_the_table_says(base: Base, target: Target, tmp_path: Path) -> None:
    differences = []
    for r_type, name in table.NAMES.items():
        is_mercury = r_type >= R_MERCURY_OFFSET
        if is_mercury != bool(base.way.first) or name.endswith("_NONE_LAST"):
            continue
        theirs = link(base, r_type, target, tmp_path)
        ours = [
            expected(r_type, choice, address, base.way.fill)
            for choice in banks(target)
            for address in addresses(target)
        ]
        if theirs not in ours:
            differences.append((name, theirs, ours[0]))
    assert not differences


def test_the_comparison_sees_a_wrong_field(
    base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constant = TARGETS[2]
    name = "R_MERCURY_ABS32" if base.way.first else "R_CUDA_ABS32_32"
    r_type = next(t for t, shown in table.NAMES.items() if shown == name)
    theirs = link(base, r_type, constant, tmp_path)
    fill = base.way.fill
    assert theirs in [expected(r_type, constant, a, fill) for a in addresses(constant)]
    action = table.TYPES[r_type].actions[0]
    monkeypatch.setattr(action, "bit", action.bit + 1)
    assert theirs not in [expected(r_type, constant, a, fill) for a in addresses(constant)]
