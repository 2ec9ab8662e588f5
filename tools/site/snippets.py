"""``python -m tools.site.snippets``: the lines that open a file, on the page of each ``.ksy``, run.

The lines of all specs become one program per language, which is built as the programs of
``docs/languages`` are, with the packages of ``generated``. Each spec opens a body that a sample
has for it. What is not on this machine is skipped, and said so; C#, Ruby, Lua, PHP and Nim are
not tried.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec.reader.kaitai import parse
from tools.gen.languages.__main__ import SAMPLES, missing
from tools.gen.languages.builds import LANGUAGES, ROOT, BuildError, run
from tools.gen.packages import PACKAGES
from tools.gen.spec import load_specs
from tools.site import languages

#: A body for specs of which no section consists alone.
_ZEROS = bytes(64)


@cache
def files() -> Mapping[str, bytes]:
    """Spec -> a file that it opens, for each spec that is read without parameters."""
    specs = load_specs(ROOT / "ksy")
    found = {name: _ZEROS for name, spec in specs.items() if not spec.root.params}
    for path in sorted(SAMPLES.glob("*.cubin")):
        data = path.read_bytes()
        for section in parse(data).sections:
            module = type(section.body).__module__.rpartition(".")[2]
            if found.get(module) is _ZEROS and section.len_body:
                found[module] = data[section.ofs_body : section.ofs_body + section.len_body]
    found["elf_cuda"] = (SAMPLES / "calls.sm_90.exe.cubin").read_bytes()
    found["fatbin"] = container([entry_for(found["elf_cuda"], compress_all=True)])
    return found


def _lines(language: str) -> dict[str, list[str]]:
    told = languages.LANGUAGES[language]
    return {n: languages.opening(told, n, f"{n}.bin").splitlines() for n in files()}


def _block(lines: list[str], indent: str = "    ") -> str:
    return "\n".join(f"{indent}{line}".rstrip() for line in lines)


def python() -> str:
    """One function per spec, so that names do not meet."""
    parts = [
        f"def read_{n}():\n{_block(lines)}\n\n\nread_{n}()\n"
        for n, lines in _lines("Python").items()
    ]
    return "\n\n".join([*parts, 'print("done")\n'])


def javascript() -> str:
    """A block per spec."""
    parts = [f"{{\n{_block(lines)}\n}}\n" for lines in _lines("JavaScript").values()]
    return "".join([*parts, 'console.log("done");\n'])


def java() -> str:
    """A block per spec in one class."""
    parts = [
        f"        {{\n{_block(lines, ' ' * 12)}\n        }}\n" for lines in _lines("Java").values()
    ]
    head = "import cubinspec.*;\n\npublic class Snippets {\n"
    head += "    public static void main(String[] words) throws Exception {\n"
    return "".join([head, *parts, '        System.out.println("done");\n    }\n}\n'])


def go() -> str:
    """A block per spec; Go wants each error to be looked at."""
    look = "if err != nil {\npanic(err)\n}"
    parts = [f"{{\n{_block(lines)}\n{look}\n}}\n" for lines in _lines("Go").values()]
    head = 'package main\n\nimport (\n"fmt"\n"os"\n\nspec "cubinspec"\n\n'
    head += '"github.com/kaitai-io/kaitai_struct_go_runtime/kaitai"\n)\n\nfunc main() {\n'
    return "".join([head, *parts, 'fmt.Println("done")\n}\n'])


def cpp() -> str:
    """A block per spec, and the headers of all above."""
    all_lines = _lines("C++").values()
    heads = sorted({line for lines in all_lines for line in lines if line.startswith("#")})
    parts = [
        "{\n" + _block([line for line in lines if not line.startswith("#")]) + "\n}\n"
        for lines in all_lines
    ]
    head = "\n".join(["#include <fstream>", "#include <iostream>", *heads, "", "int main() {", ""])
    return "".join([head, *parts, 'std::cout << "done\\n";\n}\n'])


def rust() -> str:
    """A function per spec, whose error ends the program."""
    parts, calls = [], []
    for name, lines in _lines("Rust").items():
        kind = languages.class_name(name)
        parts.append(
            f"fn read_{name}() -> Result<(), Failure> {{\nuse cubin_kaitai::{name}::{kind};\n"
            f"{_block(lines)}\nlet _ = read;\nOk(())\n}}\n"
        )
        calls.append(f'if let Err(Failure(why)) = read_{name}() {{ panic!("{{}}", why); }}\n')
    head = "use kaitai::*;\n\nstruct Failure(String);\n"
    head += "impl<T: std::fmt::Debug> From<T> for Failure {\n"
    head += 'fn from(why: T) -> Self { Failure(format!("{:?}", why)) }\n}\n'
    return "".join([head, *parts, "\nfn main() {\n", *calls, 'println!("done");\n}\n'])


#: Language -> name and maker of its program.
PROGRAMS: dict[str, tuple[str, Callable[[], str]]] = {
    "Python": ("snippets.py", python),
    "JavaScript": ("snippets.js", javascript),
    "Java": ("Snippets.java", java),
    "Go": ("snippets.go", go),
    "C++": ("snippets.cpp", cpp),
    "Rust": ("snippets.rs", rust),
}


def check(language: str, runtimes: Path | None) -> None:
    """Build and run the lines of a language.

    Raises:
        BuildError: they do not compile, or a file is not read.
    """
    name, make = PROGRAMS[language]
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        for spec, data in files().items():
            (folder / f"{spec}.bin").write_bytes(data)
        # Go takes all files of the folder that it builds in for its own
        program = folder / "lines" / name
        program.parent.mkdir()
        program.write_text(make(), encoding="utf-8")
        command = [sys.executable, str(program)]
        if language != "Python":
            told = LANGUAGES[language]
            shutil.copytree(ROOT / PACKAGES[told.target].FOLDER, folder / "spec")
            command = told.build(folder, program, (runtimes or folder) / told.runtime)
        if run(command, folder) != "done\n":
            raise BuildError(f"{language}: the program did not come to its end")


def main() -> int:
    """Check every language; 0 when none has a fault."""
    given = os.environ.get("RUNTIMES")
    runtimes = Path(given).resolve() if given else None
    status = 0
    for language in PROGRAMS:
        reason = "" if language == "Python" else missing(LANGUAGES[language], runtimes)
        if reason:
            print(f"SKIPPED {language}: {reason}")
            continue
        try:
            check(language, runtimes)
        except BuildError as error:
            status = 1
            print(f"FAILED {language}: {error}")
        else:
            print(f"{language}: the lines of {len(files())} pages compile and read their files")
    return status


if __name__ == "__main__":
    sys.exit(main())
