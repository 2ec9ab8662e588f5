"""What the builder computes from its parts, and what it refuses."""

from __future__ import annotations

from struct import unpack
from typing import Any

import pytest

from cubinspec import Cubin
from cubinspec.errors import BadStructureError, LimitError
from cubinspec.format import targets
from cubinspec_generated.codes import (
    EIATTR_EXTERNS,
    EIATTR_KPARAM_INFO,
    EIATTR_KPARAM_INFO_V2,
    ET_EWP,
    SHF_CUDA_MERCURY,
    SHT_CUDA_CONSTANT_B0,
    STO_CUDA_CONSTANT,
    STO_CUDA_SPACE_SHIFT,
)
from cubinspec_writer.builder import (
    Capsule,
    CubinBuilder,
    ImageSlot,
    Parameter,
    Relocation,
    Sampler,
    SharedVariable,
    Tool,
    assemble,
)
from cubinspec_writer.emitter import describe, roundtrip
from cubinspec_writer.emitter.model import Dropped

CODE = bytes(range(128))


def smallest(arch: str = "sm_90", *, relocatable: bool = False) -> CubinBuilder:
    builder = CubinBuilder(arch, relocatable=relocatable)
    builder.kernel("k", CODE, registers=12, parameters=[8, 4], exit_offsets=[0x40])
    return builder


@pytest.mark.parametrize("relocatable", [False, True])
@pytest.mark.parametrize(
    "arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120f"]
)
def test_readers_find_what_was_put_in(arch: str, relocatable: bool) -> None:
    cubin = Cubin.parse(smallest(arch, relocatable=relocatable).to_bytes())
    kernel = cubin.kernels[0]
    base = targets.param_base(int(arch.strip("sm_af")))
    assert base is not None
    assert (kernel.name, kernel.registers) == ("k", 12)
    assert [(p.offset, p.size) for p in kernel.params] == [(0, 8), (8, 4)]
    assert cubin.sections[".nv.constant0.k"].sh_size == base + 12
    assert bytes(cubin.sections[".text.k"].data) == CODE
    assert cubin.arch == (arch if arch.endswith("a") else arch.strip("f"))


@pytest.mark.parametrize("relocatable", [False, True])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100"])
def test_its_layout_follows_the_rules_of_the_writers(arch: str, relocatable: bool) -> None:
    result = roundtrip(smallest(arch, relocatable=relocatable).to_bytes())
    assert result.identical
    assert result.layout == "computed", result.reasons


def test_register_count_stands_in_the_code_section_before_sm_90() -> None:
    for arch, expected in (("sm_89", 12), ("sm_90", 0)):
        cubin = Cubin.parse(smallest(arch).to_bytes())
        assert cubin.sections[".text.k"].sh_info >> 24 == expected


def test_parameters_are_aligned_and_may_be_placed() -> None:
    builder = CubinBuilder("sm_80")
    builder.kernel(
        "k", CODE, registers=8, parameters=[1, 8, Parameter(12, align=4), Parameter(4, offset=64)]
    )
    cubin = Cubin.parse(builder.to_bytes())
    assert [p.offset for p in cubin.kernels[0].params] == [0, 8, 16, 64]
    assert cubin.sections[".nv.constant0.k"].sh_size == 0x160 + 68


def test_shared_memory_of_executables_has_the_reserved_part_from_sm_90_on() -> None:
    for arch, relocatable, expected in (
        ("sm_80", False, 512),
        ("sm_90", False, 1536),
        ("sm_90", True, 512),
    ):
        builder = smallest(arch, relocatable=relocatable)
        builder.functions[0].shared = 512
        cubin = Cubin.parse(builder.to_bytes())
        assert cubin.sections[".nv.shared.k"].sh_size == expected


def test_variables_get_places_symbols_and_relocations() -> None:
    builder = smallest("sm_80", relocatable=True)
    builder.variable("a", "global", b"\1\2\3", align=1)
    pointer = builder.variable("p", "global", bytes(8), align=8)
    pointer.relocations.append(Relocation(0, "R_CUDA_64", "a"))
    builder.variable("z", "global", size=100)
    builder.variable("c", "constant", b"\4" * 6)
    builder.functions[0].relocations.append(Relocation(0x10, "R_CUDA_ABS32_LO_32", "p", 4))
    cubin = Cubin.parse(builder.to_bytes())
    assert cubin.symbols["p"].st_value == 8
    assert cubin.sections[".nv.global.init"].sh_size == 16
    assert cubin.sections[".nv.global"].sh_size == 100
    rows = describe(builder.to_bytes()).section(".rel.nv.global.init")
    assert rows is not None
    assert rows.body.rows() == [(8, cubin.symbols["a"].index, 2, None)]  # type: ignore[attr-defined]
    code = describe(builder.to_bytes()).section(".rela.text.k")
    assert code is not None
    assert code.body.rows() == [(0x10, cubin.symbols["p"].index, 56, 4)]  # type: ignore[attr-defined]


def test_call_graph_and_prototypes() -> None:
    builder = smallest("sm_80", relocatable=True)
    leaf = builder.function("leaf", CODE, registers=24)
    leaf.signature = "#ii"
    builder.extern("away", signature="#iii")
    builder.call("k", "leaf")
    builder.call("k", "away")
    cubin = Cubin.parse(builder.to_bytes())
    names = [(edge.caller, edge.callee) for edge in cubin.callgraph.calls]
    assert names == [("k", "leaf"), ("k", "away")]
    assert [(p.name, p.signature) for p in cubin.prototypes] == [
        ("leaf", "#ii"),
        ("away", "#iii"),
    ]


def test_a_module_without_functions() -> None:
    builder = CubinBuilder("sm_90")
    builder.variable("v", "global", b"1234")
    cubin = Cubin.parse(builder.to_bytes())
    assert not cubin.kernels
    assert bytes(cubin.sections[".nv.global.init"].data) == b"1234"


def test_an_extensible_program_says_which_memory_its_symbols_are_in() -> None:
    builder = smallest("sm_90")
    builder.extensible = True
    builder.functions[0].shared = 512
    builder.functions[0].shared_variables.append(SharedVariable("tile", 0, 512))
    builder.variable("v", "constant", b"1234")
    cubin = Cubin.parse(builder.to_bytes())
    assert cubin.header.e_type == ET_EWP
    assert cubin.sections[".nv.shared.k"].sh_size == 512
    assert cubin.sections[".nv.constant3"].sh_type == SHT_CUDA_CONSTANT_B0 + 3
    assert cubin.symbols["v"].st_other == STO_CUDA_CONSTANT << STO_CUDA_SPACE_SHIFT
    assert "tile" not in [symbol.name for symbol in cubin.symbols]


@pytest.mark.parametrize(
    ("arch", "size", "base", "code"),
    [
        ("sm_80", 4352, 352, EIATTR_KPARAM_INFO),
        ("sm_80", 4356, 6784, EIATTR_KPARAM_INFO_V2),
        ("sm_90", 4356, 528, EIATTR_KPARAM_INFO_V2),
        ("sm_100", 4356, 896, EIATTR_KPARAM_INFO_V2),
    ],
)
def test_many_bytes_of_parameters(arch: str, size: int, base: int, code: int) -> None:
    builder = smallest(arch)
    builder.functions[0].parameters = [Parameter(8), Parameter(size - 8)]
    cubin = Cubin.parse(builder.to_bytes())
    (kernel,) = cubin.kernels
    assert [(p.offset, p.size) for p in kernel.params] == [(0, 8), (8, size - 8)]
    assert cubin.sections[".nv.constant0.k"].sh_size == base + size
    section = cubin.sections[".nv.info.k"].index
    codes = [record.code for record in cubin.info_records_of(section)]
    assert codes.count(code) == 2


def test_many_bytes_of_parameters_have_no_images_beside_them() -> None:
    builder = smallest("sm_80")
    builder.functions[0].parameters = [Parameter(4360), Parameter(0, image="surface", name="s")]
    with pytest.raises(BadStructureError, match="images beside parameters of 4360 bytes"):
        builder.to_bytes()


@pytest.mark.parametrize(("relocatable", "values"), [(False, [64, 96]), (True, [1, 16])])
def test_variables_stand_in_reserved_shared_memory(relocatable: bool, values: list[int]) -> None:
    builder = smallest("sm_110", relocatable=relocatable)
    builder.reserved_variable("first", 20)
    builder.reserved_variable("second", 32, align=16)
    data = builder.to_bytes()
    assert roundtrip(data).layout == "computed"
    cubin = Cubin.parse(data)
    section = cubin.sections[".nv.shared.reserved.0"]
    start = 0 if relocatable else 64
    assert (section.sh_size, section.sh_addralign) == (start + 64, 16)
    # until a linker gives them places, their values are their alignments
    assert [cubin.symbols[name].st_value for name in ("first", "second")] == values


@pytest.mark.parametrize(
    ("arch", "size", "align", "message"),
    [
        ("sm_90", 32, 1, "reserved shared memory of sm_90 has no variables"),
        ("sm_80", 32, 1, "reserved shared memory of sm_80 has no variables"),
        ("sm_100", 0, 1, "a size of 0"),
        ("sm_100", 8, 3, "3"),
    ],
)
def test_reserved_variables_that_no_file_has(
    arch: str, size: int, align: int, message: str
) -> None:
    builder = smallest(arch)
    builder.reserved_variable("v", size, align=align)
    with pytest.raises(BadStructureError, match=message):
        builder.to_bytes()


def test_reserved_memory_has_contents_in_the_mercury_half_as_far_as_they_are_known() -> None:
    builder = smallest("sm_110")
    builder.functions[0].capsule = Capsule(bytes(16), 128)
    variable = builder.reserved_variable("v", 160)
    twin = Cubin.parse(builder.to_bytes()).sections[".nv.merc.nv.shared.reserved.0"]
    # section headers of the file that the finalizer reads: an empty one and those of both names
    assert twin.data[:64] == bytes(64)
    *head, length = unpack("<II4Q", twin.data[64:104])
    assert head == [1, 3, 0, 0, 64]
    assert unpack("<II3Q", twin.data[128:160]) == (11, 3, 0, 0, 64 + length)
    variable.size = 161
    with pytest.raises(BadStructureError, match="variables of 161 bytes"):
        builder.to_bytes()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_line_sections_stand_behind_the_frames_with_their_relocations(arch: str) -> None:
    builder = smallest(arch, relocatable=True)
    builder.tool = Tool(object_file="k.cubin")
    line = Relocation(4, "R_CUDA_32", ".debug_str", 0), Relocation(8, "R_CUDA_64", "k")
    builder.debug_section(".debug_line", bytes(16), relocations=line, names_strings=True)
    builder.debug_section(".debug_str", b"text\0")
    data = builder.to_bytes()
    assert roundtrip(data).layout == "computed"
    cubin = Cubin.parse(data)
    rows = [row for row in cubin.relocations if row.target and row.target.name == ".debug_line"]
    assert {row.r_offset: row.symbol.name for row in rows if row.symbol} == {
        4: ".debug_str",
        8: "k",
    }


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_functions_of_other_files_are_named(arch: str) -> None:
    builder = smallest(arch, relocatable=True)
    builder.extern("vprintf", signature="#ill")
    builder.extern("free")
    builder.functions[0].externs = ["free", "vprintf"]
    data = builder.to_bytes()
    symbols = Cubin.parse(data).symbols
    info = describe(data).section(".nv.info.k")
    assert info is not None
    (payload,) = [record[3] for record in info.body.records if record[1] == EIATTR_EXTERNS]  # type: ignore[attr-defined]
    assert [*unpack("<2I", payload)] == [symbols["free"].index, symbols["vprintf"].index]


def test_more_sections_than_a_symbol_can_name() -> None:
    """What ptxas makes of 22,500 empty kernels for sm_80 is the same file; it takes it 40 s."""
    builder = CubinBuilder("sm_80")
    for number in range(21770):
        builder.kernel(f"k{number}", CODE, registers=8)
    cubin = Cubin.parse(builder.to_bytes())
    assert cubin.header.e_shnum == 0
    assert len(cubin.sections) == 10 + 1 + 3 * 21770 + 1
    assert cubin.sections[4].name == ".symtab_shndx"
    for name in ("k0", "k21769"):
        section = cubin.symbols[name].section
        assert section is not None
        assert section.name == f".text.{name}"


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_position_independent_code_has_its_addresses_in_constants(arch: str) -> None:
    builder = smallest(arch, relocatable=True)
    builder.position_independent = True
    builder.variable("v", "global", b"1234")
    builder.address("v")
    builder.address("__UFT_OFFSET", binding="local")
    builder.functions[0].relocations += [
        Relocation(0x10, "R_CUDA_CONST_FIELD19_40", "$ADDRESS$v"),
        Relocation(0x20, "R_CUDA_CONST_FIELD19_40", "$ADDRESS$__UFT_OFFSET"),
    ]
    data = builder.to_bytes()
    cubin = Cubin.parse(data)
    assert cubin.sections[".nv.constant4"].sh_type == SHT_CUDA_CONSTANT_B0 + 4
    rows = [row for row in cubin.relocations if row.target and row.target.name == ".nv.constant4"]
    assert {(row.r_offset, row.symbol.name) for row in rows if row.symbol} == {
        (0, "v"),
        (8, "__UFT_OFFSET"),
    }
    names = [symbol.name for symbol in cubin.symbols]
    assert "__UDT" not in names
    assert names.index("$ADDRESS$__UFT_OFFSET") == names.index("__UFT_OFFSET") + 1
    assert roundtrip(data).layout == "computed"


@pytest.mark.parametrize(("arch", "start"), [("sm_75", 0x16C), ("sm_90", 0x21C), ("sm_100", 0x390)])
def test_indices_of_images_stand_behind_the_parameters(arch: str, start: int) -> None:
    builder = smallest(arch)
    builder.functions[0].parameters.append(Parameter(0, image="surface", name="own"))
    builder.texture("picture")
    builder.sampler("nearest", address_modes=(0, 3), filter_mode=0, unnormalized=True)
    builder.functions[0].images += [ImageSlot("picture"), ImageSlot("nearest"), ImageSlot("own")]
    data = builder.to_bytes()
    cubin = Cubin.parse(data)
    assert cubin.sections[".nv.constant0.k"].sh_size == start + 12
    rows = [row for row in cubin.relocations if row.target.name == ".nv.constant0.k"]
    found = {(row.r_offset - start, row.symbol.name, row.name.split("_")[2]) for row in rows}
    assert found == {(0, "picture", "TEX"), (4, "nearest", "SAMP"), (8, "own", "SURF")}
    assert cubin.symbols["own"].section.name == ".text.k"
    assert roundtrip(data).layout == "computed"


def test_two_tables_of_section_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the round trip finds them in a file of ptxas with 88,000 sections."""
    monkeypatch.setattr(assemble, "SHN_LORESERVE", 20)
    builder = smallest("sm_100", relocatable=True)
    builder.functions[0].capsule = Capsule(bytes(16), 64)
    data = builder.to_bytes()
    names = [section.name for section in Cubin.parse(data).sections]
    at = names.index(".symtab_shndx")
    assert names[at - 1] == ".text.k"
    assert names[at + 1] == ".nv.constant0.k"
    assert names[-2:] == [".nv.merc.symtab_shndx", ".nv.merc.symtab"]
    result = roundtrip(data)
    assert result.layout == "computed", result.reasons


@pytest.mark.parametrize("relocatable", [False, True])
def test_tables_of_section_indices_that_are_made_at_once(
    monkeypatch: pytest.MonkeyPatch, relocatable: bool
) -> None:
    """As in files of ptxas with 113,000 sections; those were also built again but for frames."""
    monkeypatch.setattr(assemble, "SHN_LORESERVE", 10)
    builder = smallest("sm_100", relocatable=relocatable)
    builder.functions[0].capsule = Capsule(bytes(16), 64)
    data = builder.to_bytes()
    sections = Cubin.parse(data).sections
    names = [section.name for section in sections]
    assert names.index(".symtab_shndx") == names.index(".symtab") + 1
    assert names.index(".nv.merc.symtab_shndx") == names.index(".nv.capmerc.text.k") + 1
    words = [
        unpack(f"<{len(one) // 4}I", one)
        for one in (
            bytes(sections[".symtab_shndx"].data),
            bytes(sections[".nv.merc.symtab_shndx"].data),
        )
    ]
    # the number when it was made, which for executables counts a section that is dropped
    assert 9 + (not relocatable) in words[0]
    assert words[1] == words[0][: len(words[1])]
    result = roundtrip(data)
    assert result.layout == "computed", result.reasons


@pytest.mark.parametrize("relocatable", [False, True])
def test_where_tables_of_section_indices_are_made_at_once(
    monkeypatch: pytest.MonkeyPatch, relocatable: bool
) -> None:
    """ptxas does from 65,277 sections of the SASS half on, or 65,278 in a relocatable file."""
    builder = smallest("sm_100", relocatable=relocatable)
    builder.functions[0].capsule = Capsule(bytes(16), 64)
    sections = Cubin.parse(builder.to_bytes()).sections
    near = sum(not section.sh_flags & SHF_CUDA_MERCURY for section in sections)
    for limit, is_early in ((near + 3 - relocatable, True), (near + 4 - relocatable, False)):
        monkeypatch.setattr(assemble, "SHN_LORESERVE", limit)
        names = [section.name for section in Cubin.parse(builder.to_bytes()).sections]
        assert (names.index(".symtab_shndx") == names.index(".symtab") + 1) is is_early


@pytest.mark.parametrize("relocatable", [False, True])
def test_where_older_files_have_a_table_of_section_indices(
    monkeypatch: pytest.MonkeyPatch, relocatable: bool
) -> None:
    """ptxas counts a kernel for sm_80 as a section more, in executables as two."""
    builder = smallest("sm_80", relocatable=relocatable)
    builder.kernel("second", CODE, registers=8)
    near = len(Cubin.parse(builder.to_bytes()).sections)
    last = near + 2 + 2 * (1 if relocatable else 2)
    for limit, is_there in ((last, True), (last + 1, False)):
        monkeypatch.setattr(assemble, "SHN_LORESERVE", limit)
        names = [section.name for section in Cubin.parse(builder.to_bytes()).sections]
        assert (".symtab_shndx" in names) is is_there


def test_two_kernels_may_have_image_parameters_of_one_name() -> None:
    builder = CubinBuilder("sm_80")
    for name in ("a", "b"):
        kernel = builder.kernel(name, CODE, registers=8)
        kernel.parameters.append(Parameter(0, image="texture", name="t"))
        kernel.images.append(ImageSlot("t"))
    cubin = Cubin.parse(builder.to_bytes())
    rows = [row.symbol for row in cubin.relocations if row.target and row.symbol.name == "t"]
    assert len(rows) == 2
    assert len({symbol.index for symbol in rows}) == 1  # that of the kernel that is made first


def test_attributes_given_replace_those_computed() -> None:
    builder = smallest()
    builder.functions[0].attributes = [(3, 0x5F, 0x0202, b"")]
    description = describe(builder.to_bytes())
    info = description.section(".nv.info.k")
    assert info is not None
    records = [record for record in info.body.records if record[1] == 0x5F]  # type: ignore[attr-defined]
    assert records == [(3, 0x5F, 0x0202, b"")]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda b: setattr(b, "arch", "sm_42"), "no cubin can be built for 'sm_42'"),
        (lambda b: (setattr(b, "relocatable", True), setattr(b, "extensible", True)), "one of the"),
        (lambda b: setattr(b, "arch", "sm_70"), "no cubin can be built for 'sm_70'"),
        (lambda b: b.kernel("k", CODE, registers=8), "two parts are named 'k'"),
        (lambda b: b.kernel("", CODE, registers=8), "'' is no name"),
        (lambda b: b.variable("v", "local", b"1"), "no such variable can stand in 'local'"),
        (lambda b: b.call("k", "nobody"), "no symbol 'nobody' is here"),
        (lambda b: setattr(b.functions[0], "binding", "loud"), "no such binding 'loud'"),
        (
            lambda b: setattr(b.functions[0], "capsule", Capsule(b"", 0)),
            "sm_90 has no Mercury capsules",
        ),
        (
            lambda b: b.functions[0].relocations.append(Relocation(0, "R_CUDA_NEW", "k")),
            "no relocation type is named 'R_CUDA_NEW'",
        ),
        (lambda b: setattr(b.functions[0], "registers", 1 << 40), "registers 1099511627776"),
        (lambda b: setattr(b.functions[0], "registers", 256), r"expected 0 to 255 on sm_90"),
        (lambda b: setattr(b.functions[0], "registers", -1), "registers -1"),
        (
            lambda b: setattr(b.functions[0], "code", bytes(100)),
            "code of 100 bytes",
        ),
        (lambda b: setattr(b.functions[0], "code", b""), "code of 0 bytes"),
        (lambda b: b.functions[0].exit_offsets.append(0x44), "EXIT instruction at 0x44"),
        (lambda b: b.functions[0].exit_offsets.append(0x80), "EXIT instruction at 0x80"),
        (lambda b: setattr(b.functions[0], "barriers", 17), r"barriers 17 .*0 to 16"),
        (lambda b: setattr(b.functions[0], "max_registers", 256), "max_registers 256"),
        (lambda b: setattr(b.functions[0], "shared", 0xC001), r"shared 49153 .*0 to 49152"),
        (lambda b: setattr(b.functions[0], "shared_align", 24), r"shared_align 24 .*power of two"),
        (lambda b: setattr(b.functions[0], "max_threads", (32, 0, 1)), "max_threads"),
        (lambda b: setattr(b.functions[0], "frame", -4), "frame -4"),
        (lambda b: b.functions[0].parameters.append(Parameter(4, offset=4)), "parameter 2 at 0x4"),
        (lambda b: b.functions[0].parameters.append(Parameter(0)), "parameter 2 of 0 bytes"),
        (lambda b: b.functions[0].parameters.append(Parameter(4, align=3)), "align of parameter 2"),
        (
            lambda b: b.functions[0].relocations.append(Relocation(0x80, "R_CUDA_64", "k")),
            "a relocation at 0x80",
        ),
        (lambda b: b.variable("v", "global", b"1234", align=3), r"align 3 .*power of two"),
        (
            lambda b: b.variable("v", "global", b"1234").relocations.append(
                Relocation(4, "R_CUDA_64", "v")
            ),
            "a relocation at 0x4",
        ),
        (
            lambda b: b.functions[0].parameters.append(Parameter(0, image="photo", name="t")),
            r"parameter 2 is an image 'photo' .*texture, sampler, surface",
        ),
        (
            lambda b: b.functions[0].parameters.append(Parameter(0, image="texture")),
            "parameter 2 is named ''",
        ),
        (
            lambda b: b.functions[0].parameters.append(Parameter(8, image="texture", name="t")),
            "parameter 2 has 8 bytes",
        ),
        (lambda b: b.functions[0].images.append(ImageSlot("t")), "no image is named 't'"),
        (
            lambda b: (b.texture("t"), b.functions[0].images.append(ImageSlot("t", 2))),
            "index of 't' at 2",
        ),
        (
            lambda b: (
                setattr(b, "relocatable", True),
                b.texture("t"),
                b.functions[0].images.append(ImageSlot("t")),
            ),
            "indices of images .*not relocatable",
        ),
        (lambda b: b.samplers.append(Sampler("t")), "t: the state of no sampler"),
        (lambda b: b.sampler("s", address_modes=(0, 0, 0, 0)), "4 address modes"),
        (lambda b: b.sampler("s", filter_mode=256), "mode 256"),
        (lambda b: setattr(b.texture("t"), "size", 4), "a texture with a place"),
        (lambda b: b.address("k"), r"can stand in 'address' .*if relocatable"),
        (lambda b: b.functions[0].externs.append("away"), "no symbol 'away' is here"),
        (lambda b: b.debug_section(".text", b""), "no line or debug section has this name"),
        (lambda b: b.debug_section(".debug_frame", b""), r"\.debug_frame is the frame"),
        (
            lambda b: (b.debug_section(".debug_line", b""), b.debug_section(".debug_line", b"")),
            "two sections of this name",
        ),
        (
            lambda b: b.debug_section(
                ".debug_line", b"", relocations=[Relocation(0, "R_CUDA_64", "k")]
            ),
            r"a relocation at 0x0 .*inside the 0x0 bytes",
        ),
        (
            lambda b: setattr(b.debug_section(".debug_line", b""), "mercury", b""),
            "a Mercury copy on sm_90",
        ),
        (lambda b: b.alias("other", "nobody"), "'other' as another name of 'nobody'"),
        (lambda b: b.alias("k", "k"), "'k' as another name of 'k'"),
        (
            lambda b: setattr(b, "address_size", 32),
            "addresses of 32 bits, toolkit 130 .*below sm_90",
        ),
        (
            lambda b: setattr(b.functions[0], "unified", (1, 2)),
            "k: a unified function .*relocatable files for sm_90",
        ),
        (lambda b: b.stub(b.functions[0], CODE, registers=8), "a slot of 'k'"),
        (
            lambda b: (
                setattr(b, "relocatable", True),
                setattr(b.variable("v", "global", size=4), "unified", (1, 2)),
            ),
            "v: a unified variable .*global memory with contents",
        ),
        (lambda b: setattr(b, "virtual_sm", 1 << 40), "does not fit"),
        (lambda b: setattr(b, "toolkit", 1 << 20), "does not fit"),
        (lambda b: b.extern("f", binding="loud"), "no such binding 'loud'"),
        (
            lambda b: setattr(b.variable("v", "global", b"1"), "binding", "loud"),
            "no such binding 'loud'",
        ),
        (lambda b: b.variable("v\udce9", "global", b"1"), "a name or text is no UTF-8"),
        (lambda b: setattr(b, "tool", Tool("\udce9")), "a name or text is no UTF-8"),
        (lambda b: b.alias("v\ud800", "k"), "a name or text is no UTF-8"),
        (lambda b: b.address("k").relocations.clear(), "a constant without an address"),
    ],
)
def test_refused_by_name(spoil: object, message: str) -> None:
    builder = smallest()

    def build() -> None:
        spoil(builder)  # type: ignore[operator]
        builder.to_bytes()

    with pytest.raises(BadStructureError, match=message):
        build()


def test_places_that_ask_for_gigabytes_are_refused() -> None:
    builder = smallest()
    builder.variable("v", "global", b"1", align=1 << 31)
    with pytest.raises(LimitError, match="the file would have 21474"):
        builder.to_bytes()
    builder = smallest()
    builder.variable("v", "global", b"1").offset = 1 << 40
    with pytest.raises(LimitError, match="bytes that are asked for and not given"):
        builder.to_bytes()


def test_position_independent_files_of_32_bits_are_refused() -> None:
    builder = CubinBuilder("sm_80", address_size=32, toolkit=120)
    builder.kernel("k", CODE, registers=8, exit_offsets=[0])
    assert builder.to_bytes()
    builder.position_independent = True
    with pytest.raises(
        BadStructureError, match="position-independent code with addresses of 32 bits"
    ):
        builder.to_bytes()


def test_applied_relocations_of_contents_need_the_mercury_half() -> None:
    """ptxas keeps them there in extensible programs."""
    builder = smallest("sm_100")
    builder.extensible = True
    builder.variable("table", "global", bytes(8))
    builder.variables[0].resolved = True
    assert builder.to_bytes()
    builder.functions[0].capsule = Capsule(bytes(16), 64)
    with pytest.raises(BadStructureError, match="applied relocations of contents"):
        builder.to_bytes()
    table = builder.variables[0]
    table.data, table.mercury = b"\1" * 8, bytes(8)
    table.mercury_relocations = [Relocation(0, "R_MERCURY_PROG_REL64", "k")]
    sections = Cubin.parse(builder.to_bytes()).sections
    assert bytes(sections[".nv.global.init"].data) == b"\1" * 8
    assert bytes(sections[".nv.merc.nv.global.init"].data) == bytes(8)
    assert len(sections[".nv.merc.rela.nv.global.init"].data) == 24
    assert not sections[".rela.nv.global.init"].data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mercury": bytes(4)}, "4 bytes in the Mercury half"),
        (
            {"mercury_relocations": [Relocation(8, "R_MERCURY_PROG_REL64", "k")]},
            "relocation at 0x8",
        ),
        ({"mercury": bytes(8), "resolved": False}, "contents of the Mercury half"),
    ],
)
def test_contents_of_the_mercury_half_fit(change: dict[str, Any], message: str) -> None:
    builder = smallest("sm_100")
    builder.extensible = True
    builder.functions[0].capsule = Capsule(bytes(16), 64)
    table = builder.variable("table", "global", bytes(8))
    table.resolved = True
    table.mercury_relocations = [Relocation(0, "R_MERCURY_PROG_REL64", "k")]
    for name, value in change.items():
        setattr(table, name, value)
    with pytest.raises(BadStructureError, match=message):
        builder.to_bytes()


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_kernels_of_programs_for_debuggers_state_what_their_callees_need(arch: str) -> None:
    builder = smallest(arch)
    builder.for_debugger = True
    helper = builder.function("helper", CODE, registers=40)
    helper.barriers = 3
    helper.externs = ["vprintf", "malloc"]
    builder.function("unreached", CODE, registers=90).barriers = 5
    builder.extern("vprintf")
    builder.extern("malloc")
    builder.call("k", "helper")
    builder.call("helper", "vprintf")
    builder.call("helper", "malloc")

    def stated() -> tuple[int | None, int | None, list[str]]:
        cubin = Cubin.parse(builder.to_bytes())
        kernel = next(one for one in cubin.kernels if one.name == "k")
        rows = [row.payload for row in kernel.attributes if row.code == EIATTR_EXTERNS]
        numbers = [number for row in rows for number in unpack(f"<{len(row) // 4}I", row)]
        return kernel.registers, kernel.barriers, [cubin.symbols[one].name for one in numbers]

    # with one kernel ptxas takes barriers and calls of all functions, the last symbol first
    assert stated() == (40, 5, ["malloc", "vprintf"])
    builder.kernel("other", CODE, registers=8)
    assert stated() == (40, 3, ["vprintf", "malloc"])
    builder.extensible = True
    assert stated() == (12, 0, [])


def test_a_relocatable_file_may_ask_for_more_shared_memory_than_a_block_has() -> None:
    builder = smallest(relocatable=True)
    builder.functions[0].shared = 60000
    assert Cubin.parse(builder.to_bytes()).kernels[0].shared == 60000


@pytest.mark.parametrize("arch", ["sm_75", "sm_89"])
def test_applied_relocations_stay_when_asked_for(arch: str) -> None:
    builder = smallest(arch)
    builder.keeps_relocations = True
    builder.variable("left", "global", bytes(8))
    builder.variable("limit", "constant", bytes(8))
    builder.functions[0].relocations += [
        Relocation(0, "R_CUDA_ABS32_LO_32", "left"),
        Relocation(16, "R_CUDA_CONST_FIELD19_40", "limit", 4, applied=True),
        Relocation(32, "R_CUDA_NONE", "limit", applied=True),
    ]
    data = builder.to_bytes()
    assert roundtrip(data).layout == "computed"
    sections = Cubin.parse(data).sections
    assert len(sections[".rel.text.k"].data) == 16
    assert ".rela.text.k" not in [section.name for section in sections]
    assert unpack("<QQq", sections[".nv.resolvedrela.text.k"].data)[::2] == (16, 4)


def test_a_shared_variable_of_the_module_stands_in_the_memory_of_its_kernel() -> None:
    builder = smallest("sm_90")
    builder.for_debugger = True
    builder.functions[0].shared = 64
    variable = builder.variable("s", "shared", size=16)
    variable.function, variable.offset = "k", 32
    symbol = Cubin.parse(builder.to_bytes()).symbols["s"]
    assert (symbol.section.name, symbol.st_value) == (".nv.shared.k", 0x400 + 32)
    variable.offset = 56
    with pytest.raises(BadStructureError, match="72 bytes of shared memory of 'k'"):
        builder.to_bytes()
    variable.function = "other"
    with pytest.raises(BadStructureError, match="shared memory of 'other'"):
        builder.to_bytes()
    builder.for_debugger = False
    with pytest.raises(BadStructureError, match="shared variable in the memory of 'other'"):
        builder.to_bytes()


@pytest.mark.parametrize(
    ("sizes", "expected"), [([4], 8), ([4, 8], 44), ([8, 40], 48), ([1, 4], 13)]
)
def test_shared_memory_of_an_object_has_room_for_its_alignment(
    sizes: list[int], expected: int
) -> None:
    """As from ptxas: as many bytes more as it is aligned to, if all are no more than that."""
    aligns = {8: [4], 44: [4, 32], 48: [32, 8], 13: [8, 4]}[expected]
    builder = smallest("sm_80", relocatable=True)
    for number, (size, align) in enumerate(zip(sizes, aligns, strict=True)):
        builder.variable(f"v{number}", "shared", size=size, align=align)
    assert Cubin.parse(builder.to_bytes()).sections[".nv_debug.shared"].sh_size == expected


@pytest.mark.parametrize(("early", "first"), [(False, ".rel.text.k"), (True, ".nv.constant2.k")])
def test_constants_are_made_with_the_relocation_that_names_them_or_in_front(
    early: bool, first: str
) -> None:
    builder = smallest("sm_80", relocatable=True)
    builder.variable("v", "global", bytes(4))
    kernel = builder.functions[0]
    kernel.constants, kernel.constants_symbol = bytes(8), "k.const_opt.0.8"
    kernel.constants_first = early
    kernel.relocations += [
        Relocation(0, "R_CUDA_ABS32_LO_32", "v"),
        Relocation(16, "R_CUDA_CONST_FIELD19_40", "k.const_opt.0.8"),
    ]
    made = [getattr(one, "name", "") for one in builder.description().history]
    assert min((".rel.text.k", ".nv.constant2.k"), key=made.index) == first


@pytest.mark.parametrize(
    ("arch", "given", "names"),
    [
        ("sm_80", [], {".rel.nv.global.init"}),
        ("sm_80", [".rela"], {".rela.nv.global.init"}),
        ("sm_90", [], {".rel.nv.global.init", ".rela.nv.global.init"}),
        ("sm_90", [".rela"], {".rela.nv.global.init"}),
    ],
)
def test_names_of_applied_relocations_of_contents(
    arch: str, given: list[str], names: set[str]
) -> None:
    builder = smallest(arch)
    table = builder.variable("table", "global", bytes(8))
    table.resolved, table.resolved_sections = True, given
    made = {one.name for one in builder.description().history if isinstance(one, Dropped)}
    assert {name for name in made if name.endswith(".nv.global.init")} == names


def test_sizes_that_code_asks_for() -> None:
    builder = smallest("sm_80", relocatable=True)
    builder.size_symbol(".nv.surfrefDescSize")
    builder.size_symbol(".nv.ptx.const0.size", value=20)
    builder.functions[0].relocations += [
        Relocation(0, "R_CUDA_ABS32_32", ".nv.surfrefDescSize"),
        Relocation(16, "R_CUDA_ABS32_32", ".nv.ptx.const0.size"),
    ]
    symbols = {one.name: one for one in Cubin.parse(builder.to_bytes()).symbols}
    rows = [symbols[name] for name in (".nv.surfrefDescSize", ".nv.ptx.const0.size")]
    assert [(one.st_shndx, one.st_value, one.st_size) for one in rows] == [(0, 0, 4), (0, 20, 4)]


def test_functions_that_are_named_are_there() -> None:
    builder = smallest("sm_80", relocatable=True)
    builder.tool_functions = ["nobody"]
    with pytest.raises(BadStructureError, match="no function 'nobody'"):
        builder.to_bytes()
    builder.tool_functions = []
    builder.last_declared = "nothing"
    with pytest.raises(BadStructureError, match="no function 'nothing'"):
        builder.to_bytes()
    builder.last_declared = ""
    builder.stated_stacks = ["none"]
    with pytest.raises(BadStructureError, match="no kernel 'none'"):
        builder.to_bytes()
    builder.stated_stacks = []
    builder.variable("v", "global", size=4).owner = "k"
    with pytest.raises(BadStructureError, match="global variable of code"):
        builder.to_bytes()
    builder.variables.clear()
    builder.functions[0].mentioned = ["helper"]
    with pytest.raises(BadStructureError, match="no function 'helper'"):
        builder.to_bytes()


def test_inner_functions_bring_constants_with_symbols_of_their_own() -> None:
    builder = smallest("sm_80")
    builder.keeps_relocations = True
    kernel = builder.functions[0]
    kernel.constants, kernel.constants_symbol = bytes(72), "first"
    kernel.constants_parts = {"second": (40, 32)}
    kernel.relocations = [
        Relocation(0, "R_CUDA_CONST_FIELD19_28", name, applied=True) for name in ("first", "second")
    ]
    symbols = {one.name: one for one in Cubin(builder.to_bytes(), "built").symbols}
    assert (symbols["first"].st_value, symbols["first"].st_size) == (0, 40)
    assert (symbols["second"].st_value, symbols["second"].st_size) == (40, 32)
    kernel.constants, kernel.constants_parts, kernel.relocations = None, {}, []
    data = builder.to_bytes()
    assert b".nv.constant2.k\0" in data
    assert b"first\0" in data


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_extensible_programs_for_debuggers_with_images_that_no_kernel_uses(arch: str) -> None:
    builder = smallest(arch)
    builder.extensible = builder.for_debugger = True
    builder.texture("t")
    assert b"$NVLINKBINDLESSOFF_t\0" in builder.to_bytes()
    builder.functions[0].images = [ImageSlot("t")]
    assert b"$NVLINKBINDLESSOFF_t\0" in builder.to_bytes()


@pytest.mark.parametrize(
    ("arch", "extensible", "keeps"),
    [("sm_80", True, False), ("sm_80", False, True)],
)
def test_shared_memory_of_dynamic_size_where_no_symbol_is_for_it(
    arch: str, extensible: bool, keeps: bool
) -> None:
    builder = smallest(arch)
    builder.extensible, builder.keeps_relocations = extensible, keeps
    builder.functions[0].relocations = [Relocation(0, "R_CUDA_ABS24_40", "externsharedinstance")]
    with pytest.raises(BadStructureError, match="shared memory of dynamic size"):
        builder.to_bytes()
