"""A link that was done for real: bitsandbytes, whose libraries hold inputs and nvlink's result.

    python -m tools.linkcases.real [--wheels DIR] [--page docs/link-parity-real.md]

`__nv_relfatbin` has the relocatable cubins of two host objects, `.nv_fatbin` what nvlink 10.2 (or
11.1) made of them. Every target that this linker knows is linked here, and by nvlink 13.0.88 where
it can run. Against nvlink 13.0.88 every byte is compared; against the old result, section by
section, with numbers of sections and symbols replaced by names.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import textwrap
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

from cubinspec.containers.walk import images
from cubinspec.format import targets
from cubinspec.format.sections import occupies_file
from cubinspec.reader.elf import Elf
from cubinspec_generated.codes import SHT_SYMTAB, ST_TYPE_MASK, STT_SECTION
from cubinspec_writer.linker import Named, link
from cubinspec_writer.linker.command import linker_note
from tools import oracle

ROOT = Path(__file__).resolve().parents[2]
WHEELS = {"10.2": "bitsandbytes_cuda102-*.whl", "11.1": "bitsandbytes_cuda111-*.whl"}
_LIBRARY = "bitsandbytes/libbitsandbytes.so"
_GROUPS = (".text.", ".nv.info.", ".nv.constant0.", ".nv.shared.", ".rela.text.", ".rel.text.")


def cases(wheel: Path) -> dict[str, list[bytes]]:
    """Target -> the cubins of the first host object, of the second one, and of the result."""
    found: dict[str, list[bytes]] = defaultdict(list)
    data = zipfile.ZipFile(wheel).read(_LIBRARY)
    for image in images(data, name=_LIBRARY):
        target = targets.target(image.arch)
        if image.kind == "cubin" and target is not None and targets.is_link_target(target):
            found[image.arch].append(image.data)
    return dict(found)


def with_nvlink(inputs: list[Named], arch: str) -> bytes | None:
    """What nvlink 13.0.88 makes; None where it cannot run."""
    if oracle.missing("nvlink") is not None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for item in inputs:
            (Path(folder) / item.name).write_bytes(item.data)
        names = [item.name for item in inputs]
        oracle.find("nvlink").run(f"-arch={arch}", *names, "-o", "out", cwd=Path(folder)).check()
        return (Path(folder) / "out").read_bytes()


def symbols(elf: Elf) -> set[tuple[object, ...]]:
    """Name, binding, kind, section, value and size of every symbol that has a name."""
    table = elf.find_section(SHT_SYMTAB)
    assert table is not None
    strings = elf.string_table(elf.section_rows[table][6])
    return {
        (strings.get(name), info, elf.section_names[shndx], value, size)
        for name, info, _, shndx, value, size in elf.symbol_rows(table)
        if info & ST_TYPE_MASK != STT_SECTION
    }


def group(name: str) -> str:
    """Sections of functions count together."""
    return next((prefix + "*" for prefix in _GROUPS if name.startswith(prefix)), name)


def compare(old: bytes, new: bytes) -> tuple[Counter[str], Counter[str], int, int]:
    """Sections with equal bytes, with others, symbols in both, symbols in one only."""
    a, b = Elf(old, "old"), Elf(new, "new")
    places = {name: index for index, name in enumerate(b.section_names)}
    same: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for index, name in enumerate(a.section_names):
        if not name:
            continue
        there = places.get(name)
        _, sh_type, sh_flags, _, _, size, *_ = a.section_rows[index]
        equal = False
        if there is not None and occupies_file(sh_type, sh_flags):
            equal = a.section_bytes(index) == b.section_bytes(there)
        elif there is not None:
            _, _, _, _, _, other_size, *_ = b.section_rows[there]
            equal = size == other_size
        (same if equal else other)[group(name)] += 1
    other.update(group(n) for n in b.section_names if n not in set(a.section_names))
    mine, theirs = symbols(b), symbols(a)
    return same, other, len(mine & theirs), len(mine ^ theirs)


def page(wheels: Path) -> str:
    """The report.

    Raises:
        OSError: a wheel is not there.
    """
    rows = []
    groups: Counter[str] = Counter()
    for version, pattern in WHEELS.items():
        for arch, (first, second, result) in sorted(cases(next(wheels.glob(pattern))).items()):
            inputs = [Named("ops.cubin", first), Named("kernels.cubin", second)]
            reference = with_nvlink(inputs, arch)
            note = linker_note(reference, "nvlink") if reference else None
            ours = link(inputs, arch=arch, tkinfo=note).bytes
            verdict = "not run" if reference is None else "every byte"
            if reference is not None and reference != ours:
                verdict = "**differs**"
            same, other, both, single = compare(result, ours)
            groups.update(other)
            total = sum(same.values())
            rows.append(
                f"| {version} | {arch} | {verdict} | {total} | {sum(other.values())} | {both} |"
                f" {single} |"
            )
    return _TEXT.format(
        rows="\n".join(rows),
        groups=textwrap.fill(", ".join(f"`{name}`" for name in sorted(groups)), 98) + ".",
    )


_TEXT = """\
# A real link: bitsandbytes

Written by `python -m tools.linkcases.real`; do not edit. The libraries of `bitsandbytes-cuda102`
and `bitsandbytes-cuda111` 0.26.0.post2 hold the relocatable cubins of two objects
(`__nv_relfatbin`) and what nvlink 10.2 and 11.1 made of them (`.nv_fatbin`). The same inputs are
linked here; targets below sm_75 are no targets of nvlink 13.0.88 and of this linker.

* *nvlink 13.0.88*: whether the whole file is the same as its result (`--tkinfo-from` that).
* *sections*: those of the old result with the same bytes here, and those with others or in one file
  only.
* *symbols*: those with the same name, binding, kind, section, value and size; those in one only.

| CUDA | target | nvlink 13.0.88 | same sections | other sections | same symbols | other symbols |
|---|---|---|---|---|---|---|
{rows}

All code, constants, global and shared memory are the same as in the old results, and so are all
symbols. What differs:

{groups}

* `.note.nv.tkinfo`, `.note.nv.cuinfo`, `.nv.callgraph`, `.nv.prototype` were not in executables of
  nvlink 10.2 and 11.1, `.nv.rel.action` not in those of 10.2; 11.1 lists 19 relocation types there,
  13.0 one. Their names and section symbols shift string tables and the numbers of symbols.
* `.nv.info` and `.nv.info.*` have other numbers of symbols, and the count of barriers, which stood
  in bits 20-26 of the flags of code, is the attribute NUM_BARRIERS now.
* `.rel.text.*` and `.rela.text.*` have the same rows with other numbers of symbols.
* `.rel.debug_frame` had a row more: the entry of the copy of a weak kernel that is not linked.
  nvlink 10.2 also left the length of code 0 in ten entries of `.debug_frame`.

In headers: `SHF_INFO_LINK` on sections that belong to another one, `e_flags` and the ABI version.
"""


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(description="Link what nvlink 10.2 and 11.1 linked.")
    parser.add_argument("--wheels", type=Path, default=ROOT / ".cache" / "wheels")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "link-parity-real.md")
    options = parser.parse_args()
    if not all(list(options.wheels.glob(pattern)) for pattern in WHEELS.values()):
        print("the wheels of bitsandbytes are not fetched (make corpus)", file=sys.stderr)
        return 2
    text = page(options.wheels)
    options.page.write_text(text, encoding="utf-8")
    return int("**differs**" in text)


if __name__ == "__main__":
    sys.exit(main())
