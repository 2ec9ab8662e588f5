"""The example notebook shows what a run of its cells gives."""

from __future__ import annotations

import pytest


def test_the_outputs_are_what_a_run_gives() -> None:
    pytest.importorskip("nbclient", reason="nbclient is not installed: make notebook")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: make notebook")
    import nbformat

    from tools.notebook import NOTEBOOK, executed

    stored = nbformat.read(NOTEBOOK, as_version=4)
    assert stored == executed()
    outputs = [cell.outputs for cell in stored.cells if cell.cell_type == "code"]
    assert all(outputs)
