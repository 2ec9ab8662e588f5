"""How the example of each language in ``docs/languages`` is built with the generated classes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.gen.native.c_header import HEADER

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "docs" / "languages"

GO_RUNTIME = "github.com/kaitai-io/kaitai_struct_go_runtime@v0.11.0"
JAVA_RUNTIME = "io.kaitai:kaitai-struct-runtime:0.11"
NPM_RUNTIME = "kaitai-struct"


class BuildError(Exception):
    """A program does not build or run; the text is what its tool printed."""


def run(command: list[str], folder: Path) -> str:
    """What a command prints.

    Raises:
        BuildError: it ended with an error.
    """
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode:
        text = (done.stdout + done.stderr)[-4000:]
        raise BuildError(f"{' '.join(command[:6])} ended with {done.returncode}:\n{text}")
    return done.stdout


#: The folder to build in, the example and the runtime's folder -> the command that runs it.
Build = Callable[[Path, Path, Path], list[str]]


@dataclass(frozen=True)
class Language:
    """A language that the spec is checked in.

    Attributes:
        target: what the compiler calls it; empty for a program that needs none of its classes.
        example: file in ``docs/languages``.
        tools: programs that have to be on the machine.
        build: makes the program; the generated classes stand in ``folder / "spec"``.
        registry: what ``build`` takes the runtime from; empty when a folder must be given.
        note: what a reader of the page should know.
    """

    target: str
    example: str
    tools: tuple[str, ...]
    build: Build
    registry: str = ""
    note: str = ""


def _javascript(folder: Path, example: Path, runtime: Path) -> list[str]:
    shutil.copy(example, folder / "spec")
    run(["npm", "install", "--no-audit", "--no-fund", NPM_RUNTIME], folder)
    return ["node", str(folder / "spec" / example.name)]


def _java(folder: Path, example: Path, runtime: Path) -> list[str]:
    spec = folder / "spec"
    shutil.copy(example, spec)
    copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
    run(["mvn", "-q", copy, f"-Dartifact={JAVA_RUNTIME}", f"-DoutputDirectory={folder}"], folder)
    (jar,) = folder.glob("*.jar")
    run(["javac", "-nowarn", "-cp", str(jar), *(f.name for f in spec.glob("*.java"))], spec)
    return ["java", "-cp", f"{spec}:{jar}", example.stem]


def _go(folder: Path, example: Path, runtime: Path) -> list[str]:
    for file in (folder / "spec").glob("*.go"):
        # The compiler of npm leaves the package line to its caller.
        text = file.read_text()
        file.write_text(text if text.startswith("package ") else f"package spec\n{text}")
    shutil.copy(example, folder / "main.go")
    (folder / "go.mod").write_text("module cubinspec\n\ngo 1.21\n")
    run(["go", "get", GO_RUNTIME], folder)
    run(["go", "mod", "tidy"], folder)
    run(["go", "build", "-o", "records", "."], folder)
    return [str(folder / "records")]


def _cpp(folder: Path, example: Path, runtime: Path) -> list[str]:
    sources = [*(folder / "spec").glob("*.cpp"), *(runtime / "kaitai").glob("*.cpp")]
    flags = ["-O1", "-w", "-DKS_STR_ENCODING_NONE", f"-I{folder / 'spec'}", f"-I{runtime}"]
    run(["g++", *flags, str(example), *map(str, sources), "-o", "records"], folder)
    return [str(folder / "records")]


def _csharp(folder: Path, example: Path, runtime: Path) -> list[str]:
    sources = [*(folder / "spec").glob("*.cs"), *runtime.glob("*.cs")]
    run(["mcs", "-warn:0", "-out:records.exe", str(example), *map(str, sources)], folder)
    return ["mono", str(folder / "records.exe")]


def _rust(folder: Path, example: Path, runtime: Path) -> list[str]:
    source = folder / "src"
    (folder / "spec").rename(source)
    modules = sorted(file.stem for file in source.glob("*.rs"))
    (source / "lib.rs").write_text("".join(f"pub mod {module};\n" for module in modules))
    shutil.copy(example, source / "main.rs")
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "spec"\nversion = "0.1.0"\nedition = "2021"\n\n'
        f'[dependencies]\nkaitai = {{ path = "{runtime}" }}\n'
    )
    run(["cargo", "build", "-q", "--release"], folder)
    return [str(folder / "target" / "release" / "spec")]


def _nim(folder: Path, example: Path, runtime: Path) -> list[str]:
    options = ["--hints:off", "--warnings:off", "-d:release", f"--nimcache:{folder / 'cache'}"]
    paths = [f"-p:{runtime}", f"-p:{folder / 'spec'}", f"-o:{folder / 'records'}"]
    run(["nim", "c", *options, *paths, str(example)], folder)
    return [str(folder / "records")]


def _ruby(folder: Path, example: Path, runtime: Path) -> list[str]:
    return ["ruby", "-I", str(runtime / "lib"), "-I", str(folder / "spec"), str(example)]


def _lua(folder: Path, example: Path, runtime: Path) -> list[str]:
    path = f"{runtime}/?.lua;{folder}/spec/?.lua"
    return ["env", f"LUA_PATH={path}", "lua5.3", str(example)]


def _php(folder: Path, example: Path, runtime: Path) -> list[str]:
    return ["php", "-d", f"include_path={runtime / 'lib'}:{folder / 'spec'}", str(example)]


def _c(folder: Path, example: Path, runtime: Path) -> list[str]:
    """Both as C and as C++, without a warning; the program of C runs."""
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", f"-I{ROOT / HEADER.parent}"]
    run(["g++", "-x", "c++", "-std=c++17", *flags, str(example), "-o", "records_cpp"], folder)
    run(["gcc", "-std=c11", *flags, str(example), "-o", "records"], folder)
    return [str(folder / "records")]


LANGUAGES = {
    "C": Language(
        "", "cubin_records.c", ("gcc", "g++"), _c, "cubin.h", "without Kaitai, also as C++17"
    ),
    "JavaScript": Language(
        "javascript",
        "cubin_records.js",
        ("node", "npm"),
        _javascript,
        NPM_RUNTIME,
        "numbers above 2^53 are rounded",
    ),
    "Java": Language(
        "java",
        "CubinRecords.java",
        ("javac", "java", "mvn"),
        _java,
        JAVA_RUNTIME,
        "a code without a name is `null`",
    ),
    "Go": Language("go", "cubin_records.go", ("go",), _go, GO_RUNTIME),
    "C++": Language(
        "cpp_stl", "cubin_records.cpp", ("g++",), _cpp, note="what the compiler writes is C++98"
    ),
    "Rust": Language("rust", "cubin_records.rs", ("cargo",), _rust),
    "C#": Language("csharp", "CubinRecords.cs", ("mcs", "mono"), _csharp, note="with Mono"),
    "Ruby": Language("ruby", "cubin_records.rb", ("ruby",), _ruby),
    "Lua": Language("lua", "cubin_records.lua", ("lua5.3",), _lua, note="Lua 5.3"),
    "PHP": Language("php", "cubin_records.php", ("php",), _php, note="PHP 8"),
    "Nim": Language(
        "nim", "cubin_records.nim", ("nim",), _nim, note="slow: it copies lists when they are read"
    ),
}
