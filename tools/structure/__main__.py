"""``python -m tools.structure``: sizes of the code; writes the drawn parts of the page.

With ``--check`` nothing is written, and the exit status is 1 when the page is out of date.
"""

from __future__ import annotations

import argparse
import sys

from tools.structure import page
from tools.structure.floors import floors, upward
from tools.structure.graph import ROOT, circle, import_graph
from tools.structure.measure import constants, files, functions


def report() -> None:
    """Print what a reviewer wants to know about the structure."""
    graph = import_graph()
    print("import circle:", " -> ".join(circle(graph)) or "none")
    print("imports that point up:", len(list(upward(graph, floors()))))
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in files()}
    print(f"files: {len(sizes)}, lines: {sum(sizes.values())}; the largest:")
    for path in sorted(sizes, key=lambda path: -sizes[path])[:8]:
        print(f"  {sizes[path]:5} {path.relative_to(ROOT)}")
    found = [size for path in sizes for size in functions(path)]
    print(f"functions: {len(found)}; the longest:")
    for size in sorted(found, key=lambda size: -size.lines)[:8]:
        where = f"{size.path.relative_to(ROOT)}:{size.line}"
        print(f"  {size.lines:5} lines, {size.branches} branches: {where} {size.name}")
    print("constants that are numbers:", sum(len(list(constants(path))) for path in sizes))


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description="Measure and draw the structure of the code.")
    parser.add_argument("--check", action="store_true", help="only look whether the page is right")
    options = parser.parse_args()
    if options.check:
        return int(page.render(page.PAGE.read_text("utf-8")) != page.PAGE.read_text("utf-8"))
    report()
    page.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
