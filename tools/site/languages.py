"""The spec in other languages: how each opens a file, and the programs of docs/languages."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from cubinspec.report.anchors import slug
from tools.gen.spec import Spec

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "docs" / "languages"


class Language(NamedTuple):
    """A target of the compiler.

    Attributes:
        suffix: ending of its programs.
        lexer: what colours its code.
        opening: how a file is opened; ``{cls}`` is the class in the language's spelling, ``{mod}``
            its file, ``{file}`` the file that is read. Empty where there is no compiled spec.
    """

    suffix: str
    lexer: str
    opening: str


LANGUAGES = {
    "Python": Language(
        ".py",
        "python",
        'from cubinspec_generated.kaitai.{mod} import {cls}\n\nread = {cls}.from_file("{file}")',
    ),
    "JavaScript": Language(
        ".js",
        "javascript",
        'const KaitaiStream = require("kaitai-struct/KaitaiStream");\n'
        'const {{ {cls} }} = require("./{cls}");\n\n'
        'const bytes = new Uint8Array(require("fs").readFileSync("{file}"));\n'
        "const read = new {cls}(new KaitaiStream(bytes.buffer));",
    ),
    "C": Language(".c", "c", ""),
    "Java": Language(".java", "java", '{cls} read = {cls}.fromFile("{file}");'),
    "Go": Language(
        ".go",
        "go",
        'file, err := os.Open("{file}")\nread := spec.New{cls}()\n'
        "err = read.Read(kaitai.NewStream(file), nil, read)",
    ),
    "Rust": Language(
        ".rs",
        "rust",
        'let bytes = BytesReader::from(std::fs::read("{file}")?);\n'
        "let read = {cls}::read_into::<_, {cls}>(&bytes, None, None)?;",
    ),
    "C++": Language(
        ".cpp",
        "cpp",
        '#include "{mod}.h"\n\nstd::ifstream file("{file}", std::ifstream::binary);\n'
        "kaitai::kstream stream(&file);\n{mod}_t read(&stream);",
    ),
    "C#": Language(".cs", "csharp", 'var read = {cls}.FromFile("{file}");'),
    "Ruby": Language(".rb", "ruby", 'require "{mod}"\n\nread = {cls}.from_file("{file}")'),
    "Lua": Language(".lua", "lua", 'require("{mod}")\n\nlocal read = {cls}:from_file("{file}")'),
    "PHP": Language(".php", "php", '$read = {cls}::fromFile("{file}");'),
    "Nim": Language(".nim", "nim", 'import {mod}\n\nlet read = {cls}.fromFile("{file}")'),
}
_FILES = {"elf_cuda": "k.cubin", "fatbin": "k.fatbin"}
_BODY = "body.bin"


def programs() -> dict[str, Path]:
    """Language -> its program, for those that docs/languages has."""
    found = {path.suffix: path for path in sorted(PROGRAMS.rglob("*ernels.*"))}
    return {
        name: found[language.suffix]
        for name, language in LANGUAGES.items()
        if language.suffix in found
    }


def anchor(language: str) -> str:
    """Where a language's program stands on the page of all."""
    return slug(language.lower().replace("#", "-sharp"))


def class_name(spec_id: str) -> str:
    """The class of a spec as most targets spell it."""
    return "".join(part.capitalize() for part in spec_id.split("_"))


def opening(language: Language, spec_id: str, file: str) -> str:
    """The lines that open a file with a spec."""
    return language.opening.format(cls=class_name(spec_id), mod=spec_id, file=file)


def tabs(spec: Spec) -> list[str]:
    """A tab per language that opens a file with the spec."""
    if spec.root.params:
        text = "It takes parameters, so it is read as a part of [`elf_cuda`](elf_cuda.md) only."
        return [text, ""]
    name = spec.file.stem
    file = _FILES.get(name, _BODY)
    lines = [f"`{_BODY}` holds the contents of one section.", ""] if file == _BODY else []
    for language, told in LANGUAGES.items():
        if not told.opening:
            continue
        code = opening(told, name, file)
        lines += [f'=== "{language}"', "", f"    ```{told.lexer}"]
        lines += [f"    {line}".rstrip() for line in code.splitlines()]
        lines += ["    ```", ""]
    return lines


def page() -> str:
    """All programs on one page."""
    lines = ["# Programs in every language", ""]
    lines += ["Each prints the kernels of cubins with their registers and parameters."]
    lines += ["What they print is held against Python's; see [targets](targets.md).", ""]
    for language, path in programs().items():
        lines += [
            # Markdown takes a mark at the end of a heading for a part of its form
            f"## {language.replace('#', chr(92) + '#')} {{#{anchor(language)}}}",
            "",
            f'```{LANGUAGES[language].lexer} title="{path.name}"',
        ]
        lines += [path.read_text(encoding="utf-8").rstrip(), "```", ""]
    return "\n".join(lines) + "\n"
