"""Writes the measured part of ``docs/targets.md``."""

from __future__ import annotations

from tools.gen.languages.builds import LANGUAGES, ROOT

PAGE = ROOT / "docs" / "targets.md"

_BEGIN = "<!-- written by `make check-languages PAGE=1` -->\n"
_END = "<!-- end -->\n"

#: Targets whose programs are not checked -> why.
OTHERS = {
    "python": "committed in `generated/python`; the authoritative reader, which the others are "
    "held against",
    "perl": "not supported: the compiler drops the parameters of types for this target, so that "
    "names and Mercury tables are wrong in silence",
    "construct": "not supported: the target does not import other specs",
    "graphviz": "diagrams",
    "html": "pages",
}


def write(results: dict[str, str], files: int, lines: int) -> None:
    """Put what was measured into the page.

    Args:
        results: language -> how long it took for all files, such as `1.2 s of CPU`.
        files: samples that each language read, beside two fatbins.
        lines: records that each language printed.
    """
    rows = [
        f"{files} cubins and two fatbins, {lines:,} lines (sections, attributes, symbols,",
        "relocations, registers) per language beside those of its example; each line is Python's.",
        "",
        "| target | compiles | the example, and the time of the program that prints all records |",
        "|---|---|---|",
    ]
    said = {}
    for name, language in LANGUAGES.items():
        note = f"; {language.note}" if language.note else ""
        done = f"all lines as in Python, {results[name]}" if name in results else "not run"
        said[language.target] = (
            f"{name}, [{language.example}](languages/{language.example}): {done}{note}"
        )
    said |= OTHERS
    without = said.pop("")
    rows += [f"| `{target}` | yes | {text} |" for target, text in sorted(said.items())]
    rows += ["", f"Beside the targets: {without}."]
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(_BEGIN)
    tail = rest.partition(_END)[2]
    PAGE.write_text(head + _BEGIN + "\n".join(rows) + "\n" + _END + tail, encoding="utf-8")
