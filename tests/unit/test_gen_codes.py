"""The flat module of named numbers: whole, cheap to import, one number per name."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import pytest

from cubinspec_generated import codes as generated
from cubinspec_generated import codes_enums, codes_relocation, codes_sizes
from tools.gen import codes
from tools.gen.spec import load_specs
from tools.gen.tables import TableError, Tables, check_and_load

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def loaded() -> Tables:
    return check_and_load(ROOT)


def test_every_name_of_a_table_is_a_constant(loaded: Tables) -> None:
    for table, group, key in (
        ("eiattr", "formats", "code"),
        ("eiattr", "attributes", "code"),
        ("compat", "attributes", "code"),
        ("relocations", "relocations", "type"),
        ("sections", "types", "value"),
        ("sections", "flags", "mask"),
        ("symbols", "types", "value"),
        ("symbols", "binds", "value"),
        ("symbols", "special_sections", "value"),
        ("elf_header", "types", "value"),
        ("notes", "types", "value"),
    ):
        for entry in loaded[table].data[group]:
            if entry["name"] is not None:
                module = codes_relocation if table == "relocations" else generated
                assert getattr(module, entry["name"]) == entry[key]


def test_parts_of_words_have_a_shift_and_a_mask() -> None:
    assert 0xC1 & generated.STO_CUDA_SPACE_MASK == 6 << generated.STO_CUDA_SPACE_SHIFT
    assert generated.EF_CUDA_V2_SM_MASK >> generated.EF_CUDA_V2_SM_SHIFT == 0xFFFF
    assert generated.EF_CUDA_ACCELERATORS == 0x800
    assert codes_enums.SPARSE_MMA_OMMA == 0x80
    assert codes_sizes.SIZEOF_ELF_HEADER_64 == 64
    assert codes_sizes.SIZEOF_SYMBOL_64 == codes_sizes.SIZEOF_RELA_64 == 24


def test_a_second_number_for_a_name_is_refused(loaded: Tables) -> None:
    tables = copy.deepcopy(loaded)
    group = tables["constants"].data["groups"][0]
    group["values"].append({"value": 9, "name": "SHT_NOTE", "meaning": "", "evidence": "inferred"})
    with pytest.raises(TableError, match="SHT_NOTE is already a name of: sh_type"):
        codes.constants(tables, load_specs(ROOT / "ksy"))


def test_importing_it_imports_nothing_else() -> None:
    code = (
        "import sys; import cubinspec_generated; before = set(sys.modules); "
        "import cubinspec_generated.codes; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['cubinspec_generated.codes']\n"
