"""`make fingerprint-proof`: fingerprints stay when nothing matters, and change when anything does.

Every recipe of `tests/data/recipes.yaml` is built in two folders, one after the other, with line
tables and without: the fingerprints of the levels `code`, `kernel` and `image` have to be equal.
Then each number in the YAML form of every sample is changed by itself: the fingerprint of the image
has to change, unless the number is noise by the definition in docs/compare.md.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from cubinspec import Cubin, CubinError
from cubinspec.compare.facts import ImageFacts, image_facts
from cubinspec.compare.fingerprint import LEVELS, of_image
from cubinspec_writer.yaml_form import from_yaml, to_yaml
from tools.corpus.samples import CUBINS, RECIPES, Sample, Workshop, expand, side_by_side

PROMISED = LEVELS[:3]
LINES = "-lineinfo"
#: Options that write debug data anyway; ptxas takes no line tables beside them.
_DEBUG = frozenset(("-g", LINES))
_NUMBER = re.compile(r"(?<![\w.$])(0x[0-9a-f]+|\d+)(?![\w.$'])")
#: Parts of lines whose numbers do not matter to who runs the code.
#: The size of an entry follows from the type of its section. ", 0xfffffff" starts a list of
#: calls; one that is empty says nothing.
_NOISY = ("virtual_sm", "toolkit_version", "erased", "dropped", "value:", ", 0xfffffff", "entsize:")
_NOISY_SECTIONS = ("debug", ".note", ".merc.", ".rela.nv.merc")
#: Parts of lines from which the YAML form derives a second number.
DERIVED = ("CBANK_PARAM_SIZE", "header:", "CUDA_ACCELERATOR_TARGET")


@dataclass(frozen=True)
class Mutant:
    """The YAML form of a cubin with one number changed.

    Attributes:
        section: name of the section that the number is in.
        line: with the number as it was.
        text: the whole form.
    """

    section: str
    line: str
    text: str

    @property
    def is_noise(self) -> bool:
        """Whether the number does not matter to who runs the code."""
        return any(word in self.section for word in _NOISY_SECTIONS) or any(
            word in self.line for word in _NOISY
        )

    @property
    def is_derived(self) -> bool:
        """Whether a second number follows from it."""
        return any(word in self.line for word in DERIVED)


def mutants(text: str, every: int = 1) -> Iterator[Mutant]:
    """Every number of a YAML form, changed; code, which is one long number, once per section.

    Args:
        every: one number of so many.
    """
    seen = set()
    for place, match in enumerate(_NUMBER.finditer(text)):
        start = text.rfind("\n", 0, match.start()) + 1
        line = text[start : text.find("\n", match.end())]
        head = text.rfind("\n- section: ", 0, match.end())
        section = text[head:].split(None, 3)[2] if head >= 0 else ""
        if line.startswith("    ") and re.fullmatch("[0-9a-f]+", line.strip()):
            if section in seen:
                continue
            seen.add(section)
        elif place % every:
            continue
        number = int(match[1], 0) if not re.fullmatch("0[0-9]+", match[1]) else 0
        new = str(number * 2 if "align:" in line else number ^ 1)
        changed = text[: match.start()] + new + text[match.end() :]
        yield Mutant(section, line.strip(), changed)


def facts_of(data: bytes, name: str = "<bytes>") -> ImageFacts:
    """The facts of a cubin that is in no container."""
    cubin = Cubin.parse(data, name)
    return image_facts(cubin, cubin.arch, [{"kind": "file", "name": name}], name)


def with_lines(sample: Sample) -> Sample | None:
    """The recipe with line tables; ``None`` when it has debug data anyway."""
    options = sample.compile_options if sample.linker else sample.options
    if not _DEBUG.isdisjoint((*options, *sample.nvcc)):
        return None
    nvcc = (*sample.nvcc, LINES) if any(s.endswith(".cu") for s in sample.sources) else sample.nvcc
    if sample.linker:
        return replace(sample, nvcc=nvcc, compile_options=(*options, LINES))
    return replace(sample, nvcc=nvcc, options=(*options, LINES))


def build(samples: list[Sample], folder: str) -> tuple[dict[str, bytes], dict[str, str]]:
    """The bytes of samples that were built in a folder whose name shows in them."""
    with tempfile.TemporaryDirectory(suffix=folder) as base:
        return side_by_side(Workshop(Path(base), is_neutral=False), samples)


def unequal_builds(samples: list[Sample]) -> tuple[int, list[str]]:
    """How many builds were compared, and which are not the same as the first of their recipe."""
    lines = [changed for sample in samples if (changed := with_lines(sample)) is not None]
    builds = [
        ("here", build(samples, "")),
        ("elsewhere", build(samples, "elsewhere")),
        ("with line tables", build(lines, "")),
        ("elsewhere with line tables", build(lines, "elsewhere")),
    ]
    found = [f"{where}: {text}" for where, (_, failed) in builds for text in failed.values()]
    first = {name: _fingerprints(data, name) for name, data in builds[0][1][0].items()}
    count = 0
    for where, (built, _) in builds[1:]:
        for name, data in built.items():
            if name in first:
                count += 1
                levels = [
                    level
                    for level, one, other in zip(
                        PROMISED, first[name], _fingerprints(data, name), strict=True
                    )
                    if one != other
                ]
                if levels:
                    found.append(f"{name}: built {where}, other {', '.join(levels)}")
    return count, found


def _fingerprints(data: bytes, name: str) -> list[str]:
    facts = facts_of(data, name)
    return [of_image(facts, level) for level in PROMISED]


def unseen_changes(data: bytes, name: str, every: int = 1) -> tuple[int, list[str]]:
    """How many numbers were changed, and those that the fingerprint of the image does not see."""
    base = of_image(facts_of(data, name), "image")
    count = 0
    found = []
    for mutant in mutants(to_yaml(data), every):
        if mutant.is_noise or mutant.is_derived:
            continue
        try:
            changed = of_image(facts_of(from_yaml(mutant.text), name), "image")
        except CubinError:  # what is no cubin any more has no fingerprint
            continue
        count += 1
        if changed == base:
            found.append(f"{name}: {mutant.section}: {mutant.line}")
    return count, found


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fingerprint-proof", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="samples whose name has TEXT")
    parser.add_argument("--every", type=int, default=1, help="change one number of so many")
    options = parser.parse_args()
    samples = list(expand(yaml.safe_load(RECIPES.read_text(encoding="utf-8"))))
    samples = [sample for sample in samples if options.only in sample.name]
    compared, unequal = unequal_builds(samples)
    for fault in unequal:
        print(fault, file=sys.stderr)
    print(f"{len(samples)} recipes, {compared} further builds: {len(unequal)} differ", flush=True)
    numbers = unseen = 0
    for sample in samples:
        data = (CUBINS / sample.name).read_bytes()
        count, found = unseen_changes(data, sample.name, options.every)
        numbers += count
        unseen += len(found)
        for fault in found:
            print(fault, file=sys.stderr)
    print(f"{numbers} numbers changed by themselves: {unseen} not seen")
    return 1 if unequal or unseen else 0


if __name__ == "__main__":
    sys.exit(main())
