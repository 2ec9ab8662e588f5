"""`python -m tools.oracle`: which of NVIDIA's tools this environment has."""

from __future__ import annotations

import sys

from tools import oracle
from tools.oracle import toolchains


def main() -> int:
    status = 0
    for name in oracle.TOOLS:
        why = oracle.missing(name)
        if why is None:
            tool = oracle.find(name)
            print(f"{name:10} {tool.version:10} {tool.path}")
        else:
            print(f"{name:10} -          {why}")
            status = 1
    for label in toolchains.TABLE:
        fetched = "fetched" if toolchains.is_fetched(label) else "not fetched (make samples does)"
        print(f"{'ptxas' if label[0].isdigit() else 'library':10} {label:18} {fetched}")
    return status


if __name__ == "__main__":
    sys.exit(main())
