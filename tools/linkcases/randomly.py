"""Links random programs with nvlink and with this linker and compares every byte.

    python -m tools.linkcases.randomly --arch 80,90,100 --first 0 --count 200

Prints one line per difference with the seed and where the files differ first; the exit status is 1
when there was any. Links that this linker refuses with a typed error are counted apart.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from cubinspec.errors import CubinError
from cubinspec_writer.link import LinkError, LinkOptions, Named, UnsupportedLinkError, link
from cubinspec_writer.link.command import linker_note
from tools import oracle
from tools.linkcases.compare import first_difference
from tools.linkcases.programs import Program


def compare_one(seed: int, arch: str, folder: Path) -> tuple[str, str]:
    """(outcome, detail) of one program on one architecture."""
    program = Program(seed)
    names = []
    for number, text in enumerate(program.files):
        source = folder / f"p{number}.ptx"
        source.write_text(text)
        names.append(f"p{number}.cubin")
        ptxas = oracle.find("ptxas")
        done = ptxas.run(f"-arch=sm_{arch}", "-c", source.name, "-o", names[-1], cwd=folder)
        if done.returncode:
            return "not assembled", done.stderr.strip().splitlines()[0][:120]
    expected = folder / "expected.cubin"
    expected.unlink(missing_ok=True)
    nvlink = oracle.find("nvlink")
    done = nvlink.run(f"-arch=sm_{arch}", *names, "-o", expected.name, cwd=folder)
    reference = expected.read_bytes() if expected.exists() and done.returncode == 0 else None
    note = linker_note(reference, "expected") if reference else None
    try:
        result = link(
            [Named(name, (folder / name).read_bytes()) for name in names],
            LinkOptions(f"sm_{arch}", tkinfo=note),
        )
    except UnsupportedLinkError as error:
        return "refused", str(error)
    except LinkError as error:
        lines = "".join(f"nvlink {level:<7} : {text}\n" for level, text in error.messages)
        same = done.returncode == error.exit_code and lines == done.stdout + done.stderr
        return ("identical", "") if same else ("DIFFERENT", f"{lines!r} / {done.stderr!r}")
    except CubinError as error:
        return "DIFFERENT", f"error {error}"
    if reference is None:
        return "DIFFERENT", f"nvlink refused: {done.stderr.strip()[:150]}"
    if result.bytes == reference:
        return "identical", ""
    return "DIFFERENT", first_difference(reference, result.bytes)


def main() -> int:
    """Run a range of seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="80,90,100")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for arch in options.arch.split(","):
            tally: Counter[str] = Counter()
            for seed in range(options.first, options.first + options.count):
                outcome, detail = compare_one(seed, arch, Path(folder))
                tally[outcome] += 1
                if outcome != "identical":
                    print(f"sm_{arch} seed {seed}: {outcome}: {detail}")
                failed |= outcome == "DIFFERENT"
            print(f"sm_{arch}:", dict(tally))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
