"""Attributes of kernels of one shape become what looking at each of them gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from cubinspec_writer.linker.model import InputObject, Symbol
from cubinspec_writer.linker.passes.attributes import functions, shapes
from tools.linkcases import outcomes
from tools.linkcases import stored as links
from tools.linkcases.__main__ import run_stored
from tools.linkcases.sweep import stored as sweeps

pytestmark = pytest.mark.pure


@pytest.fixture
def alike(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Links of few functions look for shapes, too; the streams that were treated alike."""
    found: list[bytes] = []
    done = shapes.Shapes.done

    def seen(
        self: shapes.Shapes, obj: InputObject, function: Symbol, stream: bytes
    ) -> bytes | None:
        made = done(self, obj, function, stream)
        if made is not None:
            found.append(stream)
        return made

    monkeypatch.setattr(functions, "_MANY", 0)
    monkeypatch.setattr(shapes.Shapes, "done", seen)
    return found


def test_stored_links_are_the_same(alike: list[bytes], tmp_path: Path) -> None:
    for case, arch in links.unpack(tmp_path, ["90"]):
        outcome = run_stored(case, arch, tmp_path)
        assert outcome.kind in outcomes.ACCEPTED, case
    assert len(alike) > 100


@pytest.mark.parametrize("arch", ["80", "90"])
def test_attributes_of_any_code_are_the_same(arch: str, alike: list[bytes], tmp_path: Path) -> None:
    sweeps.unpack(tmp_path)
    wrong, _ = sweeps.check("attributes", arch, tmp_path)
    assert not wrong
