"""How often the finalizer's steps find the barriers that ptxas has given (rule F8).

    python -m tools.linkcases.choices [--arch 100,120] FILE...

Files are whatever holds cubins. Every number of a barrier is predicted from ptxas's own numbers in
front of it, so one that is not found does not spoil those behind it. Code without optimisation and
code whose operands are not known are left out, and counted.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator

import cubinspec
from cubinspec.reader.elf import Elf
from cubinspec_generated.tables.sass import NAMES
from cubinspec_writer.linker.finalizer import schedule
from cubinspec_writer.linker.finalizer.barriers import choices
from cubinspec_writer.linker.finalizer.flow import Instruction, decode
from cubinspec_writer.linker.finalizer.lifetimes import Lifetime, WaitsError
from cubinspec_writer.linker.finalizer.places import jump_tables
from tools.linkcases.functions import code_of

#: Start of the name of a section with the attributes of a function.
_ATTRIBUTES = ".nv.info."
FOUND, MISSED = "all barriers found", "some barriers not found"


def kind_of(life: Lifetime) -> str:
    """What a barrier stands for, and of which instruction."""
    what = "result" if life.is_result else "operands"
    where = "other blocks" if life.user < 0 else "its block"
    return f"{what} of {NAMES.get(life.opcode) or hex(life.opcode)}, for {where}"


def functions(files: Iterable[str], arches: set[str]) -> Iterator[list[Instruction]]:
    """The instructions of all functions for some targets, each once."""
    seen: set[bytes] = set()
    for file in files:
        for image in cubinspec.images(file):
            if image.error or str(image.arch).removeprefix("sm_").rstrip("af") not in arches:
                continue
            elf = Elf(image.data, file)
            numbers = {name: number for number, name in enumerate(elf.section_names)}
            for name, code in code_of(image.data, file).items():
                if code not in seen:
                    seen.add(code)
                    number = numbers.get(_ATTRIBUTES + name)
                    attributes = elf.section_bytes(number) if number is not None else b""
                    yield decode(code, jump_tables(attributes))


def count(codes: Iterable[list[Instruction]]) -> tuple[Counter[str], Counter[tuple[str, bool]]]:
    """How many functions came out how, and how many barriers of each kind were found or not."""
    outcomes: Counter[str] = Counter()
    kinds: Counter[tuple[str, bool]] = Counter()
    for instructions in codes:
        why = schedule.left_out(instructions)
        if why:
            outcomes[why] += 1
            continue
        try:
            found = [(kind_of(life), life.number == best) for life, best in choices(instructions)]
        except WaitsError as error:
            outcomes[str(error)] += 1
            continue
        kinds.update(found)
        outcomes[FOUND if all(is_right for _, is_right in found) else MISSED] += 1
    return outcomes, kinds


def main() -> int:
    """Print the sums, and the kinds of barriers of which some are not found."""
    parser = argparse.ArgumentParser(description="Predict the barriers of ptxas.")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--arch", default="100,120")
    options = parser.parse_args()
    outcomes, kinds = count(functions(options.files, set(options.arch.split(","))))
    for what, number in outcomes.most_common():
        print(f"{number:6} functions: {what}")
    print(f"{kinds.total():6} barriers")
    for (kind, is_right), number in kinds.most_common():
        if not is_right:
            print(f"{number:6} not found of {number + kinds[kind, True]}: {kind}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
