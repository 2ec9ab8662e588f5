"""``python -m tools.notebook``: write docs/notebook.ipynb with the outputs that a run gives."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import nbclient
import nbformat

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
#: Kind and source of each cell.
CELLS = (
    (
        "markdown",
        "# Cubins in a notebook\n\nThe samples are those that the repository carries. Nothing here"
        " needs a GPU or NVIDIA's tools.",
    ),
    (
        "code",
        "import cubinspec\n\ncubin = cubinspec.Cubin.open("
        '"cubins/cluster_sm90.sm_90.exe.cubin")\ncubin',
    ),
    ("markdown", "How full a kernel makes an SM, what limits it, and what would help:"),
    ("code", "cubinspec.occupancy(cubin.kernels[0], block=256)"),
    ("markdown", "The kernels of a file or folder, each with the way to it:"),
    ("code", 'cubinspec.kernels("cubins/kernels.sm_90.exe.cubin")'),
    ("markdown", "How many bytes the spec explains:"),
    ("code", "cubinspec.coverage(cubin)"),
    (
        "markdown",
        "A page with all of it. A notebook shows the page when it is the last line of a cell;"
        " `save` writes it.",
    ),
    (
        "code",
        'page = cubinspec.show("cubins/kernels.sm_90.exe.cubin")\n'
        'page.save("report.html")\nprint(page)',
    ),
)


def executed() -> nbformat.NotebookNode:
    """The notebook as a run gives it, without what differs from run to run."""
    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    cells = [make[kind](source, id=f"cell-{at}") for at, (kind, source) in enumerate(CELLS)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "tests" / "data" / "cubins", Path(folder, "cubins"))
        nbclient.NotebookClient(notebook, timeout=120, record_timing=False).execute(cwd=folder)
    notebook.metadata = {"language_info": {"name": "python"}}
    return notebook


def main() -> None:
    """Run the cells and write the notebook."""
    nbformat.write(executed(), NOTEBOOK)


if __name__ == "__main__":
    main()
