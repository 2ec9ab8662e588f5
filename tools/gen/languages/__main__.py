"""``python -m tools.gen.languages``: build the Go and Java readers and run them on the samples.

Both must read every field and instance of every sample without a fault and find the same sections
as the Python classes. A language whose tools are not on this machine is skipped, and said so.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from cubinspec_generated.kaitai.elf_cuda import ElfCuda
from tools.gen import kaitai

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SAMPLES = ROOT / "tests" / "data" / "cubins"

GO_RUNTIME = "github.com/kaitai-io/kaitai_struct_go_runtime@v0.11.0"
JAVA_RUNTIME = "io.kaitai:kaitai-struct-runtime:0.11"

#: path -> (number of sections, checksum over names, kinds and sizes)
Seen = dict[str, tuple[int, int]]


def python_sections(files: Iterable[Path]) -> Seen:
    """What the Python classes find in each file."""
    found = {}
    for file in files:
        sections = ElfCuda.from_bytes(file.read_bytes()).sections
        total = 0
        for section in sections:
            line = f"{section.name or ''}:{section.body_kind}:{section.len_body},"
            for byte in line.encode():
                total = (total * 31 + byte) & 0xFFFFFFFF
        found[str(file)] = (len(sections), total)
    return found


def build_go(folder: Path, texts: dict[str, str]) -> list[str]:
    """Build the Go reader; returns the command that runs it."""
    (folder / "spec").mkdir()
    for name, text in texts.items():
        # the npm compiler leaves the package line to the caller
        head = "" if text.startswith("package ") else "package spec\n"
        (folder / "spec" / Path(name).name).write_text(head + text)
    shutil.copy(HERE / "walk.go", folder / "main.go")
    (folder / "go.mod").write_text("module cubinspec\n\ngo 1.21\n")
    _run(["go", "get", GO_RUNTIME], folder)
    _run(["go", "mod", "tidy"], folder)
    _run(["go", "build", "-o", "walk", "."], folder)
    return [str(folder / "walk")]


def build_java(folder: Path, texts: dict[str, str]) -> list[str]:
    """Build the Java reader; returns the command that runs it."""
    for name, text in texts.items():
        (folder / Path(name).name).write_text(text)
    shutil.copy(HERE / "Walk.java", folder)
    copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
    _run(["mvn", "-q", copy, f"-Dartifact={JAVA_RUNTIME}", f"-DoutputDirectory={folder}"], folder)
    (jar,) = folder.glob("*.jar")
    _run(["javac", "-nowarn", "-cp", str(jar), *(f.name for f in folder.glob("*.java"))], folder)
    return ["java", "-cp", f"{folder}:{jar}", "Walk"]


#: language -> tools it needs, how to build its reader
LANGUAGES: dict[str, tuple[tuple[str, ...], Callable[[Path, dict[str, str]], list[str]]]] = {
    "go": (("go",), build_go),
    "java": (("javac", "java", "mvn"), build_java),
}


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def check(language: str, files: list[Path], expected: Seen) -> list[str]:
    """Faults of one language: getters that failed, sections that differ."""
    build = LANGUAGES[language][1]
    compiled = kaitai.npm_compile(ROOT / "ksy", [language])[language]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        output = _run([*build(folder, compiled), *map(str, files)], folder)
    faults = []
    for line in output.splitlines():
        path, count, total, failed, *first = line.split(" ", 4)
        if failed != "0":
            faults.append(f"{language}: {path}: {failed} getters failed, {''.join(first)}")
        elif (int(count), int(total)) != expected[path]:
            faults.append(f"{language}: {path}: other sections than in Python")
    if len(output.splitlines()) != len(files):
        faults.append(f"{language}: {len(files)} files, {len(output.splitlines())} results")
    return faults


def main() -> int:
    """Check every language; 0 when none has a fault."""
    files = sorted(SAMPLES.glob("*.cubin"))
    expected = python_sections(files)
    status = 0
    for language, (tools, _) in LANGUAGES.items():
        missing = [tool for tool in tools if not shutil.which(tool)]
        if missing:
            print(f"SKIPPED {language}: {', '.join(missing)} not on this machine")
            continue
        faults = check(language, files, expected)
        status |= bool(faults)
        print("\n".join(faults) or f"{language}: {len(files)} files read as in Python, no fault")
    return status


if __name__ == "__main__":
    sys.exit(main())
