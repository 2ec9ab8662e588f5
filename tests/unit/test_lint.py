"""The lint of literals finds planted faults of every rule, and nothing in sound code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import lint

PLANTED = [
    ("name", "SHT_NOTE = 7"),
    ("name", "_STT_FUNC = 2"),
    ("name", "SHF_WRITE, SHF_ALLOC = 1, 2"),
    ("name", "SHT_CUDA_NEW: int = 0x7000FFFF"),
    ("name", "FRAME_SIZE = 0x11"),
    ("name", "_BVAL = 2"),
    ("name", "DW_FORM_STRING = 8"),
    ("value", "found = section.sh_type == 7"),
    ("value", "found = sh_type in (2, 3)"),
    ("value", "found = 4 != reloc.r_type"),
    ("value", "found = symbol.st_info & 0xF == 2"),
    ("value", "space = symbol.st_other >> 5"),
    ("value", "if e_flags & 0x800: pass"),
    ("value", "match sh_type:\n    case 4 | 9: pass"),
    ("value", "make(name, sh_type=1)"),
    ("value", "section.sh_flags = 2"),
    ("value", "section.sh_flags |= 2"),
    ("value", "def make(e_type: int = 2) -> None: ..."),
    ("value", "def make(*, e_type: int = 2) -> None: ..."),
    ("value", "found = code == 0x2F"),
    ("value", "found = code in frozenset((0x11, 0x12))"),
    ("value", "header.ei_osabi = 0x41"),
    ("value", "found = opcode == 0x147"),
    ("value", "found = opcode in (0x149, 0x158)"),
    ("value", "bits = opcode & 0x1FF"),
    ("name", "_ALWAYS = 7"),
    ("number", "types = {0x70000000, other}"),
    ("number", "row = (0x466243B1, 1)"),
    ("target", "if sm >= 90: pass"),
    ("target", "if 100 <= target.sm < 110: pass"),
    ("target", "if sm // 10 == 10: pass"),
    ("target", "if arch in (100, 103): pass"),
    ("target", "_FIRST_CAPSULE_SM = 100"),
    ("target", "BITS = {75: 1, 87: 2}"),
    ("target", "SUPPORTED = frozenset((75, 80, 90))"),
    ("toolkit", "if toolkit >= 130: pass"),
    ("toolkit", 'if options.toolkit == "13.0": pass'),
    ("toolkit", 'if cuda in ("12.8", "12.9"): pass'),
    ("toolkit", 'if toolkit.startswith("12."): pass'),
    ("toolkit", "if header.e_version >= 120: pass"),
    ("toolkit", "_CUDA_12_0 = 120"),
]
#: The same in modules that look at instructions.
PLANTED_BITS = [
    "ends = word & 0x1FF in table",
    "read = word >> 113",
    "wait = (word & MASK) >> 116 & 63",
    "word |= 7 << SHIFT | 5",
    "_WAIT = 116",
    "_WRITE, _READ = 110, 113",
    "_CALLS = frozenset((0x143, 0x144))",
    "_RESULT_AFTER = {0x181: 500}",
    "found = kind == 0x1b",
]
SOUND_BITS = """
from cubinspec_generated.codes_sass import SASS_BRA, SASS_OPCODE_MASK, SASS_WAIT_SHIFT

_WORD = 4
_ROUNDS = 8
is_branch = word & SASS_OPCODE_MASK == SASS_BRA
mask = (1 << count) - 1 << SASS_WAIT_SHIFT
first = places[0] // 16
"""
SOUND = """
from cubinspec_generated.codes import EIATTR_FRAME_SIZE, SHT_NOTE, STT_FUNC

MAX_DEPTH = 16
MASK = 0xFFFFFFFF
LINES = (1, 2, 3)
found = section.sh_type == SHT_NOTE and symbol.st_type in (STT_FUNC,)
count = len(rows) == 2
if sm in family.sms or toolkit.has_notes: pass
for index in range(100): pass
code = 0
flags = 0
"""


@pytest.mark.parametrize(("rule", "text"), PLANTED, ids=[text for _, text in PLANTED])
def test_a_planted_literal_is_found(rule: str, text: str) -> None:
    assert {fault.rule for fault in lint.check(text + "\n", "src/planted.py")} == {rule}


@pytest.mark.parametrize("text", PLANTED_BITS)
def test_a_planted_number_of_an_instruction_is_found(text: str) -> None:
    found = lint.check(text + "\n", lint.INSTRUCTIONS + "planted.py")
    assert "bits" in {fault.rule for fault in found}
    assert "bits" not in {fault.rule for fault in lint.check(text + "\n", "src/planted.py")}


def test_sound_code_of_instructions_has_no_faults() -> None:
    assert lint.check(SOUND_BITS, lint.INSTRUCTIONS + "sound.py") == []


def test_sound_code_has_no_faults() -> None:
    assert lint.check(SOUND, "src/sound.py") == []


def test_a_fault_says_where_it_is_and_what_to_write() -> None:
    (fault,) = lint.check("\nfound = sh_type == 7\n", "src/planted.py")
    assert str(fault) == "src/planted.py:2: value: sh_type and 0x7: write SHT_NOTE"


@pytest.mark.parametrize(
    "text",
    [
        "SHT_NOTE = 7  # not a spec number: stands for a test",
        "# not a spec number: stands for a test\nSHT_NOTE = 7",
        "# not a spec number: stands for a test,\n# and for a second line\nSHT_NOTE = 7",
    ],
)
def test_a_reason_keeps_a_literal(text: str) -> None:
    assert lint.check(text + "\n", "src/planted.py") == []


@pytest.mark.parametrize(
    "text", ["SHT_NOTE = 7  # not a spec number", "SHT_NOTE = 7  # not a spec number:  "]
)
def test_a_comment_without_a_reason_does_not(text: str) -> None:
    assert lint.check(text + "\n", "src/planted.py")


def test_targets_are_compared_in_their_own_module_only() -> None:
    text = "if sm >= 90 or toolkit >= 130: pass\n"
    assert {fault.rule for fault in lint.check(text, "src/planted.py")} == {"target", "toolkit"}
    assert lint.check(text, lint.TARGETS) == []
    assert lint.check("SHT_NOTE = 7\n", lint.TARGETS)


def test_the_lint_reads_hand_written_code_only(tmp_path: Path) -> None:
    for file in ("src/a.py", "writer/b.py", "tools/bench/c.py", "tools/gen/d.py", "tests/e.py"):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("SHT_NOTE = 7\n")
    found = [fault.file for fault in lint.check_project(tmp_path)]
    assert found == ["src/a.py", "writer/b.py", "tools/bench/c.py"]
