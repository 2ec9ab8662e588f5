"""``python -m tools.site``: build the site into ``site/`` and check its links.

Needs the dependency group ``site``, and node with npm for the explorer and the diagrams.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from tools.gen.kaitai import CompileError
from tools.site import bundle, links, stage
from tools.site.config import config

ROOT = Path(__file__).resolve().parents[2]


def build(site: Path, work: Path, *, examples: bool = True) -> None:
    """Build the site.

    Args:
        site: folder of the result; what is in it goes.
        work: an empty folder for the sources.
        examples: run the examples of commands and show what they print.

    Raises:
        CompileError: node or npm is missing, or a spec or script does not compile.
        subprocess.CalledProcessError: mkdocs found a fault, and has printed it.
    """
    files = {**stage.sources(examples=examples), **bundle.assets()}
    pages = [name for name in files if name.endswith(".md")]
    files = bundle.with_diagrams(files)
    docs = work / "docs"
    for name, contents in files.items():
        path = docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents)
    settings = work / "mkdocs.yml"
    settings.write_text(yaml.safe_dump(config(pages, str(docs), str(site.resolve()))))
    words = ("build", "--strict", "--clean", "--quiet", "-f", str(settings))
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run([sys.executable, "-m", "mkdocs", *words], check=True, env=environment)
    # these are for servers, and name places that a folder on a disk does not have
    for name in ("404.html", "sitemap.xml", "sitemap.xml.gz"):
        (site / name).unlink(missing_ok=True)


def main(argv: list[str] | None = None) -> int:
    """Build and check; 0 when every link leads somewhere."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "site", metavar="DIR")
    parser.add_argument("--no-examples", action="store_true", help="do not run the examples")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as work:
        try:
            build(options.output, Path(work), examples=not options.no_examples)
        except (CompileError, subprocess.CalledProcessError) as error:
            print(error, file=sys.stderr)
            return 1
    faults = list(links.faults(options.output))
    print("\n".join(faults) or f"{options.output}: all links of its pages lead somewhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
