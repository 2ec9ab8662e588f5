"""`make test-fingerprint-proof`: fingerprints stay when nothing matters, and change when it does.

Every recipe of `tests/data/recipes.yaml` is built in two folders, one after the other, with line
tables and without: the fingerprints of the levels `code`, `kernel` and `image` have to be equal.
Then numbers in the YAML form of every sample are changed, one at a time: the fingerprint of the
image has to change, unless the number is noise by the definition in docs/compare.md. With
``--every N`` one number of N is changed of each kind in each sample: of those at one place of lines
that say the same of other functions, in sections of one name but for the function.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from unittest.mock import patch

import yaml

from cubinspec import Cubin, CubinError
from cubinspec.compare.facts import ImageFacts
from cubinspec.compare.fingerprint import LEVELS, of_function, of_image
from cubinspec.compare.image_reader import image_facts
from cubinspec_writer.yaml_form import from_yaml, load, to_yaml
from cubinspec_writer.yaml_form.text import Document
from tools.corpus.samples import CUBINS, RECIPES, Sample, Workshop, expand, side_by_side

PROMISED = LEVELS[:3]
PAGE = Path(__file__).parents[2] / "docs" / "compare.md"
#: Between these the page has the figures.
_START, _END = "<!-- fingerprint-proof -->\n", "<!-- end -->\n"
LINES = "-lineinfo"
#: Options that write debug data anyway; ptxas takes no line tables beside them.
_DEBUG = frozenset(("-g", LINES))
_NUMBER = re.compile(r"(?<![\w.$])(0x[0-9a-f]+|\d+)(?![\w.$'])")
#: Names of functions and symbols in a line.
_NAMED = re.compile(r"(\b(?:function|symbol|section): )[^,}\n]+")
#: What the name of a section of one function begins with.
_OWNED = re.compile(r"\.(?:rela?\.)?(?:nv\.)?[a-z_]+\d?\.")
#: A line of bytes, and the first line of all bytes of a section.
_HEX_LINE = re.compile("    ([0-9a-f]{2,})")
_BODY = re.compile(r"\n  data: \|\n    ([0-9a-f]{2,})(?=\n)")
#: What begins without a space: an entry of a list, or a word of the whole document.
_TOP = re.compile(r"^(-|\w+:)(?= |$)", re.MULTILINE)
#: Parts of lines whose numbers do not matter to who runs the code. The size of an entry follows
#: from the type of its section; a list of calls that ", 0xfffffff" starts is empty.
_NOISY = ("virtual_sm", "toolkit_version", "erased", "dropped", "value:", ", 0xfffffff", "entsize:")
#: Tables whose alignment says only where they lie.
_TABLES = (".symtab", ".strtab", ".shstrtab", ".rel")
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
        place: of the number in it.
        is_overridden: whether a later record of the same function and code says the same again,
            which counts.
    """

    section: str
    line: str
    text: str
    place: int
    is_overridden: bool = False

    @property
    def is_noise(self) -> bool:
        """Whether the number does not matter to who runs the code."""
        if self.line.startswith("align:") and self.section.startswith(_TABLES):
            return True
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
        every: one number of so many of its kind, and at least one.
    """
    for match in _BODY.finditer(text):
        at = match.start(1)
        changed = f"{text[:at]}{int(text[at], 16) ^ 1:x}{text[at + 1 :]}"
        yield Mutant(_section_at(text, at), match[1], changed, at)
    met: Counter[tuple[str, str, int]] = Counter()
    for match in _NUMBER.finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        line = text[start : text.find("\n", match.end())]
        if _HEX_LINE.fullmatch(line):
            continue
        section = _section_at(text, match.end())
        kind = _kind(section, line, match.start() - start)
        met[kind] += 1
        if (met[kind] - 1) % every:
            continue
        number = int(match[1], 0) if not re.fullmatch("0[0-9]+", match[1]) else 0
        new = str(number * 2 if "align:" in line else number ^ 1)
        changed = text[: match.start()] + new + text[match.end() :]
        yield Mutant(section, line.strip(), changed, match.start(), _is_overridden(text, match))


def _kind(section: str, line: str, at: int) -> tuple[str, str, int]:
    """What numbers of one kind have alike: section, words of the line, place among its numbers."""
    owner = _OWNED.match(section)
    words = _NUMBER.sub("#", _NAMED.sub(r"\1", line))
    return owner[0] if owner else section, words, len(_NUMBER.findall(line, 0, at))


def _section_at(text: str, place: int) -> str:
    head = text.rfind("\n- section: ", 0, place)
    return text[head:].split(None, 3)[2] if head >= 0 else ""


def _is_overridden(text: str, match: re.Match[str]) -> bool:
    line = text[text.rfind("\n", 0, match.start()) : match.start()]
    if "{function: " not in line:
        return False
    end = text.find("\n- section: ", match.end())
    return line in text[match.end() : end if end >= 0 else len(text)]


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


class Form:
    """The YAML form of a cubin, of which one entry at a time is read again.

    Args:
        text: the form.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._value = Document(text, "<yaml>").value
        #: Where entries begin, and to which list they belong at which place.
        self._starts: list[int] = []
        self._paths: list[tuple[str, int]] = []
        word, count = "", 0
        for match in _TOP.finditer(text):
            if match[1] != "-":
                word, count = match[1].rstrip(":"), 0
                self._paths.append(("", 0))
            else:
                self._paths.append((word, count))
                count += 1
            self._starts.append(match.start())
        self._starts.append(len(text))

    def changed(self, mutant: Mutant) -> Document:
        """The document with one number changed."""
        at = bisect_right(self._starts, mutant.place) - 1
        word, number = self._paths[at]
        if not word:
            return Document(mutant.text, "<yaml>")
        start, stop = self._starts[at], self._starts[at + 1]
        stop += len(mutant.text) - len(self._text)
        (entry,) = Document(mutant.text[start:stop], "<yaml>").value
        entries = [*self._value[word]]
        entries[number] = entry
        return _Changed(mutant.text, {**self._value, word: entries})


class _Changed(Document):
    """A document whose value is known."""

    def __init__(self, text: str, value: object) -> None:
        self.file = "<yaml>"
        self.text = text
        self.value = value


@dataclass(slots=True)
class Count:
    """What became of the numbers that were changed, one at a time.

    Attributes:
        numbers: changed numbers that matter, in files that can be read.
        owned: those of them in sections of one function.
        refused: changes that leave no file that can be read.
        noise: changed numbers that do not matter by the definition in docs/compare.md.
        counted: those of them that change the fingerprint all the same.
        derived: numbers from which the YAML form derives a second one; they are not changed.
        overridden: numbers of records that a later one overrides; they do not count.
        unseen: numbers that matter and do not change the fingerprint.
    """

    numbers: int = 0
    owned: int = 0
    refused: int = 0
    noise: int = 0
    counted: int = 0
    derived: int = 0
    overridden: int = 0
    unseen: list[str] = field(default_factory=list)

    def add(self, other: Count) -> None:
        """Count these, too."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def changed_numbers(data: bytes, name: str, every: int = 1) -> Count:
    """Change numbers of a cubin, and look which the fingerprints see.

    The image's has to see each number that matters, and the function's those in its own sections.
    """
    facts = facts_of(data, name)
    base, functions = of_image(facts, "image"), _of_functions(facts)
    count = Count()
    text = to_yaml(data)
    form = Form(text)
    for mutant in mutants(text, every):
        if mutant.is_derived or mutant.is_overridden:
            count.derived += mutant.is_derived
            count.overridden += mutant.is_overridden
            continue
        try:
            with patch.object(
                load, "_validate", lambda document: None
            ):  # it takes most of the time
                changed = facts_of(load.from_document(form.changed(mutant)), name)
            image = of_image(changed, "image")
            if image == base and not mutant.is_noise:
                from_yaml(mutant.text)  # what the schema refuses is no change
        except CubinError:
            count.refused += 1
            continue
        if mutant.is_noise:
            count.noise += 1
            count.counted += image != base
            continue
        count.numbers += 1
        place = f"{name}: {mutant.section}: {mutant.line}"
        if image == base:
            count.unseen.append(place)
        # symbols are listed among the sections; stubs of unified functions are the image's
        if mutant.line.startswith(("- {symbol:", "- symbol:")) or ".nv.uft." in mutant.section:
            continue
        owner = next((f for f in functions if mutant.section.endswith(f".{f}")), None)
        if owner is not None:
            count.owned += 1
            if _of_functions(changed).get(owner) == functions[owner]:
                count.unseen.append(f"{place} (of the function)")
    return count


def _of_functions(facts: ImageFacts) -> dict[str, str]:
    return {function.name: of_function(function, "kernel") for function in facts.functions}


def _changed_in(name: str, every: int) -> Count:
    return changed_numbers((CUBINS / name).read_bytes(), name, every)


def table(count: Count, samples: int, every: int) -> str:
    """What was counted, as the page shows it."""
    rows = [
        ("samples", samples),
        ("numbers that matter, changed one at a time", count.numbers),
        ("… that the fingerprint of the image did not see", len(count.unseen)),
        ("… in sections of one function, whose own fingerprint saw each", count.owned),
        ("numbers in lines with noise", count.noise),
        ("… that changed the fingerprint, as others in their line matter", count.counted),
        ("changes after which the file cannot be read", count.refused),
        ("numbers that are not changed, as a second one follows from them", count.derived),
        ("… as a later record of the same function overrides theirs", count.overridden),
    ]
    sample = f", one in {every} of each kind and sample" if every > 1 else ""
    lines = ["", f"| numbers in the YAML form{sample} | |"]
    return "\n".join([*lines, "|---|---|", *(f"| {word} | {n:,} |" for word, n in rows), "", ""])


def main() -> int:
    parser = argparse.ArgumentParser(prog="make test-fingerprint-proof", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="samples whose name has TEXT")
    parser.add_argument(
        "--every", type=int, default=1, help="change one number of so many of a kind"
    )
    parser.add_argument("--numbers", action="store_true", help="build nothing")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--page", action="store_true", help="write the figures into docs/compare.md"
    )
    options = parser.parse_args()
    unequal: list[str] = []
    if not options.numbers:
        samples = list(expand(yaml.safe_load(RECIPES.read_text(encoding="utf-8"))))
        samples = [sample for sample in samples if options.only in sample.name]
        compared, unequal = unequal_builds(samples)
        for fault in unequal:
            print(fault, file=sys.stderr)
        print(
            f"{len(samples)} recipes, {compared} further builds: {len(unequal)} differ", flush=True
        )
    names = sorted(path.name for path in CUBINS.glob("*.cubin") if options.only in path.name)
    total = Count()
    with ProcessPoolExecutor(options.jobs) as pool:
        for count in pool.map(_changed_in, names, repeat(options.every)):
            total.add(count)
            for fault in count.unseen:
                print(fault, file=sys.stderr, flush=True)
    text = table(total, len(names), options.every)
    print(text)
    if options.page:
        head, start, rest = PAGE.read_text(encoding="utf-8").partition(_START)
        _, end, tail = rest.partition(_END)
        PAGE.write_text(head + start + text + end + tail, encoding="utf-8")
    return 1 if unequal or total.unseen else 0


if __name__ == "__main__":
    sys.exit(main())
