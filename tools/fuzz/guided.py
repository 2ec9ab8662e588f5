"""`python -m tools.fuzz.guided TARGET CORPUS [libFuzzer options]`: runs that new code guides.

SEEDS=FOLDER in the environment adds the files of a folder, such as wheels and libraries.

Atheris (libFuzzer for Python) sees which branches of the package an input reaches, and keeps and
damages those inputs that reach new ones. Half of the new inputs come from the mutators that know
the format. The campaign starts one such process for each target; alone it helps to look at one.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from random import Random


def main() -> None:
    """Fuzz one target until libFuzzer's options end it."""
    import atheris

    with atheris.instrument_imports(include=["cubinspec", "cubinspec_writer"]):
        from tools.fuzz.targets import TARGETS
    from tools.fuzz import corpus
    from tools.fuzz.run import STORE, signature, store
    from tools.fuzz.seeds import mutator, seeds

    name, path, *options = sys.argv[1:]
    target = TARGETS[name]
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    more = Path(os.environ["SEEDS"]) if "SEEDS" in os.environ else None
    is_merge = any(option.startswith("-merge") for option in options)
    if not is_merge and (more or not any(folder.iterdir())):
        begin = [seed.data for seed in seeds(name, more)] + corpus.kept(name)
        for number, data in enumerate(begin):
            (folder / f"seed{number}").write_bytes(data)
    seen: set[object] = set()

    def run(data: bytes) -> None:
        try:
            target(data)
        except Exception as fault:
            if (key := signature(fault)) not in seen:
                seen.add(key)
                print(f"{store(data, f'{name}, guided', fault, STORE / name)}: {fault}", flush=True)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        if seed % 2:
            return bytes(atheris.Mutate(data, most))
        made, _ = mutator(name, data).mutate(Random(seed))
        return made[:most]

    # libFuzzer's merge starts this program again, with the first word as a line for the shell.
    again = shlex.join([sys.executable, "-m", "tools.fuzz.guided", name])
    atheris.Setup([again, str(folder), *options], run, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
