"""How the programs of each language are built with the generated classes.

Each language has two: the example of ``docs/languages``, which is for readers, and one in
``walks``, which prints every record.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.gen.native.c_header import HEADER
from tools.gen.packages import go, rust

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "docs" / "languages"
WALKS = Path(__file__).parent / "walks"


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


#: The folder to build in, the program and the runtime's folder -> the command that runs it.
Build = Callable[[Path, Path, Path], list[str]]


@dataclass(frozen=True)
class Language:
    """A language that the spec is checked in.

    Attributes:
        target: what the compiler calls it; empty for a program that needs none of its classes.
            After ``:`` stands a mode of the command-line compiler (`kaitai.ksc_compile`).
        example: file in ``docs/languages``.
        tools: programs that have to be on the machine.
        build: makes the program; ``folder / "spec"`` holds the package of ``generated``, or the
            classes when there is no package.
        registry: what ``build`` takes the runtime from; empty when a folder must be given.
        note: what a reader of the page should know.
        leaves_elf32: whether the example reads 64-bit cubins alone.
    """

    target: str
    example: str
    tools: tuple[str, ...]
    build: Build
    registry: str = ""
    note: str = ""
    leaves_elf32: bool = False

    @property
    def walk(self) -> Path:
        """The program that prints every record."""
        (found,) = WALKS.glob(f"*{Path(self.example).suffix}")
        return found

    @property
    def runtime(self) -> str:
        """Name of the folder that holds the runtime."""
        return self.target.partition(":")[0]

    @property
    def needs_ksc(self) -> bool:
        """Whether only the command-line compiler writes these classes."""
        return ":" in self.target


def _javascript(folder: Path, example: Path, runtime: Path) -> list[str]:
    run(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"], folder / "spec")
    shutil.copy(example, folder / "spec")
    return ["node", str(folder / "spec" / example.name)]


def _java(folder: Path, example: Path, runtime: Path) -> list[str]:
    run(["mvn", "-q", "compile", "dependency:copy-dependencies"], folder / "spec")
    target = folder / "spec" / "target"
    classes = f"{target / 'classes'}:{target / 'dependency'}/*"
    run(["javac", "-nowarn", "-cp", classes, "-d", str(folder), str(example)], folder)
    return ["java", "-cp", f"{folder}:{classes}", example.stem]


def _go(folder: Path, example: Path, runtime: Path) -> list[str]:
    shutil.copy(example, folder / "main.go")
    module = f"module records\n\ngo 1.23.0\n\nrequire {go.MODULE} v0.0.0\n"
    (folder / "go.mod").write_text(f"{module}\nreplace {go.MODULE} => ./spec\n")
    run(["go", "mod", "tidy"], folder)
    run(["go", "build", "-o", "records", "."], folder)
    return [str(folder / "records")]


def _cpp(folder: Path, example: Path, runtime: Path) -> list[str]:
    run(["cmake", "-S", "spec", "-B", "build", f"-DKAITAI_RUNTIME={runtime}"], folder)
    run(["cmake", "--build", "build"], folder)
    flags = ["-O1", f"-I{folder / 'spec'}", f"-I{runtime}", "-Lbuild", "-DKS_STR_ENCODING_NONE"]
    run(["g++", *flags, str(example), "-o", "records", "-lcubinspec"], folder)
    return [str(folder / "records")]


def _cpp11(folder: Path, example: Path, runtime: Path) -> list[str]:
    sources = [*(folder / "spec").glob("*.cpp"), runtime / "kaitai" / "kaitaistream.cpp"]
    flags = ["-std=c++11", "-O1", "-Ispec", f"-I{runtime}", "-DKS_STR_ENCODING_NONE"]
    run(["g++", *flags, str(example), *map(str, sources), "-o", "records"], folder)
    return [str(folder / "records")]


def _csharp(folder: Path, example: Path, runtime: Path) -> list[str]:
    sources = [*(folder / "spec").glob("*.cs"), *runtime.glob("*.cs")]
    run(["mcs", "-warn:0", "-out:records.exe", str(example), *map(str, sources)], folder)
    return ["mono", str(folder / "records.exe")]


def _rust(folder: Path, example: Path, runtime: Path) -> list[str]:
    shutil.copy(example, folder / "spec" / "src" / "main.rs")
    manifest = folder / "spec" / "Cargo.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace(rust.SOURCE, f'path = "{runtime}"'), encoding="utf-8")
    run(["cargo", "build", "-q", "--release"], folder / "spec")
    return [str(folder / "spec" / "target" / "release" / "cubin-kaitai")]


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
        "",
        "kernels.c",
        ("gcc", "g++"),
        _c,
        "cubin.h",
        "without Kaitai, also as C++17; the example reads 64-bit cubins",
        leaves_elf32=True,
    ),
    "JavaScript": Language(
        "javascript",
        "kernels.js",
        ("node", "npm"),
        _javascript,
        "npm",
        "numbers above 2^53 are rounded",
    ),
    "Java": Language(
        "java",
        "Kernels.java",
        ("javac", "java", "mvn"),
        _java,
        "Maven",
        "a code without a name is `null`, its number is in `codeNumber()`",
    ),
    "Go": Language("go", "kernels.go", ("go",), _go, "the Go proxy"),
    "C++": Language(
        "cpp_stl",
        "kernels.cpp",
        ("g++", "cmake"),
        _cpp,
        note="what the compiler writes is C++98",
    ),
    "C++11": Language(
        "cpp_stl:c++11",
        "kernels.cpp",
        ("g++",),
        _cpp11,
        note="with smart pointers; asked for by `--cpp-standard 11`, so that `KSC` has to name the "
        "command-line compiler",
    ),
    "Rust": Language("rust", "kernels.rs", ("cargo",), _rust),
    "C#": Language("csharp", "Kernels.cs", ("mcs", "mono"), _csharp, note="with Mono"),
    "Ruby": Language("ruby", "kernels.rb", ("ruby",), _ruby),
    "Lua": Language("lua", "kernels.lua", ("lua5.3",), _lua, note="Lua 5.3"),
    "PHP": Language("php", "kernels.php", ("php",), _php, note="PHP 8"),
    "Nim": Language(
        "nim", "kernels.nim", ("nim",), _nim, note="slow: it copies lists when they are read"
    ),
}
