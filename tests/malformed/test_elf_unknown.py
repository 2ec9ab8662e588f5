"""Unknown values are values: the number is kept, the name is None, nothing is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cubinspec import Cubin
from cubinspec.cli import main
from tests.malformed.recipe import Recipe, made
from tools.fuzz.walk import walk_everything

Check = Callable[[Cubin], bool]
Change = dict[str, Any] | list[dict[str, Any]]

#: What is unknown -> sample; cubin YAML laid over it, or steps on its bytes; what the model says.
CASES: dict[str, tuple[str, Change, Check]] = {
    "e_type": (
        "small.sm_90.exe",
        {"overrides": {"e_type": 0x1234}},
        lambda c: c.header.e_type == 0x1234 and c.header.type_name is None,
    ),
    "os_abi": (
        "small.sm_90.exe",
        {"overrides": {"ei_osabi": 153}},
        lambda c: c.header.os_abi == 0x99,
    ),
    "abi_version": (
        "small.sm_90.exe",
        {"overrides": {"ei_abiversion": 254}},
        lambda c: c.header.abi_version == 0xFE,
    ),
    "e_version": (
        "small.sm_90.exe",
        {"overrides": {"e_version": 0xFFFFFFFF}},
        lambda c: c.header.e_version == 0xFFFFFFFF,
    ),
    "e_flags": (
        "small.sm_90.exe",
        {"overrides": {"e_flags": 0xFFFFFFFF}},
        lambda c: c.header.e_flags == 0xFFFFFFFF and c.header.sm == 0xFFFF,
    ),
    "segment_type": (
        "small.sm_90.exe",
        [{"segment": 1, "field": "p_type", "set": 0x61234567}],
        lambda c: c.segments[1].p_type == 0x61234567 and c.segments[1].name is None,
    ),
    "section_type": (
        "small.sm_90.exe",
        {"sections": {".nv.callgraph": {"sh_type": 0x7000FFFF}}},
        lambda c: c.sections[".nv.callgraph"].type_name is None and c.callgraph is None,
    ),
    "section_flags": (
        "small.sm_90.exe",
        {"sections": {".nv.constant3": {"sh_flags": 0xFFFF000000000000}}},
        lambda c: c.sections[".nv.constant3"].sh_flags == 0xFFFF000000000000,
    ),
    "section_name": (
        "small.sm_90.exe",
        {"sections": {".nv.constant3": {"sh_name": 2}}},
        lambda c: c.sections[13].kind is None and c.sections[13].body == "data",
    ),
    "attribute_code": (
        "small.sm_90.exe",
        {
            "sections": {
                ".nv.info.small": {
                    "records": {
                        0: {"record": {"code": 238, "format": 4, "value": 4, "payload": "82000000"}}
                    }
                }
            }
        },
        lambda c: _record(c) == (4, 0xEE, None, None) and _record_of(c).payload != b"",
    ),
    "attribute_format": (
        "small.sm_90.exe",
        [{"body": ".nv.info.small", "at": 0, "set": 0xABCD0A77}]
        + [{"body": ".nv.info.small", "at": n, "set": 0xABCD0A77} for n in range(4, 116, 4)],
        lambda c: _record_of(c).format == 0x77 and _record_of(c).format_name is None,
    ),
    "attribute_of_another_size": (
        "small.sm_90.exe",
        # EIATTR_MAX_THREADS needs twelve bytes; the code is given to the first record, of four
        {
            "sections": {
                ".nv.info.small": {
                    "records": {
                        0: {
                            "record": {
                                "code": "EIATTR_MAX_THREADS",
                                "format": 4,
                                "value": 4,
                                "payload": "82000000",
                            }
                        }
                    }
                }
            }
        },
        lambda c: _record_of(c).name == "EIATTR_MAX_THREADS" and _record_of(c).fields is None,
    ),
    "compat_code": (
        "small.sm_90.exe",
        [{"body": ".nv.compat", "at": 1, "width": 1, "set": 0xEE}],
        lambda c: c.compat[0].code == 0xEE and c.compat[0].name is None,
    ),
    "note_type": (
        "small.sm_90.exe",
        {"sections": {".note.nv.tkinfo": {"notes": {0: {"type": 0x12FD1}}}}},
        lambda c: c.notes[0].type == 77777 and c.notes[0].tool_name is None,
    ),
    "note_version": (
        "small.sm_90.exe",
        [{"body": ".note.nv.tkinfo", "at": 24, "set": 0xFFFFFFFF}],
        lambda c: c.notes[0].note_version == 0xFFFFFFFF,
    ),
    "note_string_outside_its_pool": (
        "small.sm_90.exe",
        [{"body": ".note.nv.tkinfo", "at": 32, "set": 0xFFFFFFFF}],
        lambda c: c.notes[0].tool_name is None and c.notes[0].tool_version is not None,
    ),
    "note_owner": (
        "small.sm_90.exe",
        [{"body": ".note.nv.tkinfo", "at": 12, "set": 0x41414141}],
        lambda c: c.notes[0].owner == "AAAAIA Corp",
    ),
    "symbol_type_and_binding": (
        "small.sm_90.exe",
        {"symbols": {"factor": {"type": 15, "bind": 14}}},
        lambda c: (
            c.symbols["factor"].type_name is None
            and c.symbols["factor"].bind_name is None
            and (c.symbols["factor"].st_type, c.symbols["factor"].st_bind) == (15, 14)
        ),
    ),
    "symbol_other": (
        "small.sm_90.exe",
        {"symbols": {"factor": {"other": 255}}},
        lambda c: c.symbols["factor"].st_other == 0xFF,
    ),
    "symbol_in_no_section": (
        "small.sm_90.exe",
        {"symbols": {"factor": {"section": 0x7777}}},
        lambda c: c.symbols["factor"].section is None and c.symbols["factor"].st_shndx == 0x7777,
    ),
    "kernel_in_no_section": (
        "small.sm_90.exe",
        {
            "symbols": {"small": {"section": 0x7777, "type": "STT_FUNC", "size": 640}},
            "sections": {".text.small": {"sh_info": 11}},
        },
        lambda c: c.symbols["small"].is_entry and c.kernels == [],
    ),
    "extended_index_without_a_table": (
        "small.sm_90.exe",
        {"symbols": {"factor": {"section": 0xFFFF}}},
        lambda c: c.symbols["factor"].section is None,
    ),
    "relocation_type": (
        "small.sm_90.rel",
        {"sections": {".rela.text.small": {"relocations": {0: [192, 0xFFFE, 17, 0]}}}},
        lambda c: (
            c.sections[".rela.text.small"].relocations[0].r_type == 0xFFFE
            and c.sections[".rela.text.small"].relocations[0].name is None
            and c.sections[".rela.text.small"].relocations[0].meaning is None
        ),
    ),
    "relocation_of_no_symbol": (
        "small.sm_90.rel",
        {"sections": {".rela.text.small": {"relocations": {0: [192, 55, 0x7FFFFFFF, 0]}}}},
        lambda c: (
            c.sections[".rela.text.small"].relocations[0].symbol is None
            and c.sections[".rela.text.small"].relocations[0].symbol_index == 0x7FFFFFFF
        ),
    ),
    "relocation_of_no_place": (
        "small.sm_90.rel",
        {"sections": {".rela.text.small": {"relocations": {0: [0xFFFFFFFFFFFFFFFF, 55, 17, 0]}}}},
        lambda c: c.sections[".rela.text.small"].relocations[0].r_offset == 0xFFFFFFFFFFFFFFFF,
    ),
    "relocations_of_no_section": (
        "small.sm_90.rel",
        {"sections": {".rela.text.small": {"sh_info": 0xFFFFFF}}},
        lambda c: c.sections[".rela.text.small"].relocations[0].target is None,
    ),
    "attributes_of_no_section": (
        "small.sm_90.exe",
        {"sections": {".nv.info.small": {"sh_info": 0xFFFFFFFF}}},
        lambda c: c.kernels[0].attributes == [] and c.kernels[0].registers is not None,
    ),
    "code_of_no_symbol": (
        "small.sm_90.exe",
        {"sections": {".text.small": {"sh_info": 0xFFFFFFFF}}},
        lambda c: c.kernels[0].name == "small" and c.kernels[0].shared == 0,
    ),
    "registers_of_no_symbol": (
        "small.sm_90.exe",
        {
            "sections": {
                ".nv.info": {
                    "records": {
                        0: {
                            "record": {
                                "code": "EIATTR_REGCOUNT",
                                "format": 4,
                                "value": 8,
                                "payload": "f0ffffff0a000000",
                            }
                        },
                        1: {
                            "record": {
                                "code": "EIATTR_FRAME_SIZE",
                                "format": 4,
                                "value": 8,
                                "payload": "f0ffffff00000000",
                            }
                        },
                        2: {
                            "record": {
                                "code": "EIATTR_FRAME_SIZE",
                                "format": 4,
                                "value": 8,
                                "payload": "f0ffffff00000000",
                            }
                        },
                        3: {
                            "record": {
                                "code": "EIATTR_MIN_STACK_SIZE",
                                "format": 4,
                                "value": 8,
                                "payload": "f0ffffff00000000",
                            }
                        },
                    }
                }
            }
        },
        lambda c: c.kernels[0].frame_size is None,
    ),
    "callgraph_of_no_symbols": (
        "small.sm_90.rel",
        [{"body": ".nv.callgraph", "at": 8, "set": 0xFFFFFF00}],
        lambda c: "None -> " in [edge.name[:8] for edge in _graph(c)],
    ),
    "callgraph_without_markers": (
        "small.sm_90.rel",
        [{"body": ".nv.callgraph", "at": 4, "set": 0xFFFFFF00}],
        lambda c: c.callgraph is not None and (0, 0xFFFFFF00) in c.callgraph.other,
    ),
}


def _record_of(cubin: Cubin) -> Any:
    return cubin.sections[".nv.info.small"].info_records[0]


def _record(cubin: Cubin) -> tuple[int, int, str | None, object]:
    record = _record_of(cubin)
    return record.format, record.code, record.name, record.fields


def _graph(cubin: Cubin) -> list[Any]:
    graph = cubin.callgraph
    assert graph is not None
    return [*graph.calls, *graph.references]


by_value = pytest.mark.parametrize("what", CASES)


@by_value
def test_the_number_is_kept_and_has_no_name(what: str) -> None:
    sample, steps, check = CASES[what]
    assert check(Cubin.parse(made(sample, steps)))


@by_value
def test_the_check_fails_on_the_untouched_sample(what: str) -> None:
    sample, _, check = CASES[what]
    assert not check(Recipe(sample).cubin)


@by_value
def test_nothing_is_refused(what: str) -> None:
    sample, steps, _ = CASES[what]
    walk = walk_everything(Cubin.parse(made(sample, steps)))
    assert walk.errors == []


@pytest.mark.parametrize("command", ["kernels", "dump", "tree", "coverage"])
@by_value
def test_every_command_shows_the_file(
    what: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample, steps, _ = CASES[what]
    path = tmp_path / "unknown.cubin"
    path.write_bytes(made(sample, steps))
    assert main([command, str(path)]) == 0
    text = capsys.readouterr()
    assert text.out.strip()
    assert text.err == ""
    assert main([command, "--json", str(path)]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), list)
