"""A payload's layout is written once: types of eiattr.ksy follow from the table."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.gen import __main__ as gen
from tools.gen import payloads
from tools.gen.spec import load_specs
from tools.gen.tables import TableError, check_and_load

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path("ksy/tables/eiattr.yaml")

needs_node = pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")), reason="node and npm are not here"
)

NEW = """\
- code: 0x6e
  name: EIATTR_MADE_UP
  category: metadata
  meaning: what a test made up
  formats: [SVAL]
  layout:
    kind: array
    fields:
    - {name: offset, type: u4, ref: code}
    - {name: weight, type: u2}
    - name: state
      type: u2
      bits:
      - {name: ready, bit: 0, width: 1}
      - {name: step, bit: 4, width: 12}
  layout_evidence: observed
  evidence: observed
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the spec to change."""
    shutil.copytree(ROOT / "ksy", tmp_path / "ksy")
    return tmp_path


def replace(project: Path, old: str, new: str) -> None:
    text = (project / TABLE).read_text(encoding="utf-8")
    assert old in text
    (project / TABLE).write_text(text.replace(old, new, 1), encoding="utf-8")


def faults(project: Path) -> str:
    text = (project / payloads.FILE).read_text(encoding="utf-8")
    with pytest.raises(TableError) as caught:
        payloads.emit(check_and_load(project), text)
    return str(caught.value)


def test_the_committed_file_is_what_the_table_gives() -> None:
    text = (ROOT / payloads.FILE).read_text(encoding="utf-8")
    assert payloads.emit(check_and_load(ROOT), text) == text


def test_a_hand_made_change_of_a_generated_type_does_not_last() -> None:
    text = (ROOT / payloads.FILE).read_text(encoding="utf-8")
    changed = text.replace(
        "      - id: len_window\n        type: u4", "      - id: len_window\n        type: u2"
    )
    assert changed != text
    assert payloads.emit(check_and_load(ROOT), changed) == text


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "- {name: ntid_z, type: u4}",
            "- {name: ntid_z, type: u2}",
            "EIATTR_REQNTID has another layout than EIATTR_MAX_THREADS; they cannot share a type",
        ),
        (
            "  - {id: z, doc: Third dimension.}\n",
            "",
            "dim3 has 2 fields, EIATTR_MAX_THREADS 3",
        ),
        (
            "codes: [EIATTR_SHARED_SCRATCH]",
            "codes: [EIATTR_CTAIDZ_USED]",
            "EIATTR_CTAIDZ_USED is no attribute with a payload",
        ),
        (
            "codes: [EIATTR_SHARED_SCRATCH]",
            "codes: [EIATTR_SHARED_SCRATCH, EIATTR_REQNTID]",
            "EIATTR_REQNTID has type dim3 already",
        ),
        ("- type: image_size", "- type: dim3", "type dim3 is defined twice"),
        (
            "      - {id: unknown, doc: Not printed by cuobjdump.}\n",
            "",
            "bits of kparam_info_v2 has 4 parts, named or not",
        ),
        (
            "      - {name: is_smem, bit: 17, width: 1}\n",
            "      - {name: is_smem, bit: 17, width: 1}\n      - {name: more, bit: 32, width: 1}\n",
            "more reaches bit 32, there are 32 bits",
        ),
        (
            "  entry: {type: mbarrier_entry, doc: One instruction that works on an mbarrier.}\n",
            "",
            "list and entry belong together",
        ),
    ],
)
def test_a_contradiction_is_refused(project: Path, old: str, new: str, fault: str) -> None:
    replace(project, old, new)
    assert fault in faults(project)


def test_a_file_without_marks_is_refused(project: Path) -> None:
    text = (project / payloads.FILE).read_text(encoding="utf-8")
    (project / payloads.FILE).write_text(text.replace("# <generated: sizes>", "#"))
    assert "no place marked <generated: sizes>" in faults(project)


@needs_node
def test_a_new_attribute_with_a_payload_takes_one_file(project: Path) -> None:
    replace(
        project,
        "\n# Types of ksy/eiattr.ksy by payload",
        NEW + "\n# Types of ksy/eiattr.ksy by payload",
    )
    for path, text in gen.generate(project).items():
        file = project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    package = project / "generated/python/cubinspec_generated"
    shutil.copy(ROOT / "generated/python/cubinspec_generated/__init__.py", package)
    code = """
from struct import pack
from cubinspec.model.info import InfoRecord
from cubinspec_generated.codes import EIATTR_MADE_UP, EIFMT_SVAL
from cubinspec_generated.kaitai.eiattr import Eiattr
from cubinspec_generated.tables import eiattr

payload = pack("<IHH", 0x40, 7, 0x51)
(record,) = Eiattr.from_bytes(pack("<BBH", 4, 0x6E, 8) + payload).records
entry = record.payload.entries[0]
assert (entry.offset, entry.weight, entry.state.ready, entry.state.step) == (0x40, 7, True, 5)
assert eiattr.NAMES[EIATTR_MADE_UP] == "EIATTR_MADE_UP"
made = InfoRecord(0, EIFMT_SVAL, EIATTR_MADE_UP, 8, payload, False)
assert made.fields == {"entries": [{"offset": 0x40, "weight": 7, "ready": 1, "step": 5}]}
assert made.references == [("code", 0x40)]
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{project / 'generated/python'}:{ROOT / 'src'}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_notes_are_laid_out_as_the_ksy_says(project: Path) -> None:
    specs = load_specs(ROOT / "ksy")
    assert list(payloads.note_faults(check_and_load(ROOT), specs)) == []
    file = project / "ksy/tables/notes.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("{name: virtual_sm, type: u2}", "{name: virtual_sm, type: u4}"))
    found = list(payloads.note_faults(check_and_load(project), specs))
    assert [fault.partition(": ")[2] for fault in found] == [
        "layout <HIHH of .note.nv.cuinfo, ksy/note_nv.ksy has <HHHH",
        "layout <HIII of .note.nv.cuver, ksy/note_nv.ksy has <HHII",
    ]
