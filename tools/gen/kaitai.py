"""Runs the Kaitai Struct compiler and turns its output into files of this project."""

from __future__ import annotations

import fcntl
import json
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tools.gen.spec import Spec

HERE = Path(__file__).parent
PACKAGE = Path("generated/python/cubinspec_generated")

#: Compiler target of Python -> folder of its files; `tools.gen.packages` has the others.
#: The debug classes record where each field was read.
TARGETS = {
    "python": PACKAGE / "kaitai",
    "python:debug": PACKAGE / "kaitai_debug",
}

_PACKAGE_DOCS = {
    "kaitai": "The spec as Kaitai Struct classes, one module per ``.ksy`` file.",
    "kaitai_debug": (
        "The spec as Kaitai Struct classes that record the byte range of every field.\n\n"
        "Nothing is read before ``_read()`` is called; ``cubinspec.reader.kaitai`` is the way in."
    ),
}


class CompileError(Exception):
    """The compiler is missing or refuses a spec; the text says which and why."""


def compiler_version() -> str:
    """Version of the npm compiler that ``package.json`` pins."""
    package = json.loads((HERE / "package.json").read_text())
    return str(package["dependencies"]["kaitai-struct-compiler"])


def npm_compile(folder: Path, targets: list[str]) -> dict[str, dict[str, str]]:
    """Compile every spec of a folder with the npm compiler.

    Args:
        folder: flat folder of ``.ksy`` files.
        targets: languages, each with ``:debug`` or without, or just ``all``.

    Returns:
        target -> file name -> text.

    Raises:
        CompileError: no node, no npm, a spec does not compile, or a target has another mode.
    """
    others = [target for target in targets if target.partition(":")[2] not in ("", "debug")]
    if others:
        raise CompileError(f"npm's compiler cannot write {', '.join(others)}: give KSC=...")
    results = _run_npm(folder, targets)
    faults = [
        f"{target}: {error['spec']}.ksy: {error['message']}"
        for target, result in results.items()
        for error in result.get("errors", [])
    ]
    if faults:
        raise CompileError("\n".join(faults))
    return {target: result["files"] for target, result in results.items()}


def npm_failures(folder: Path) -> dict[str, list[str]]:
    """Language -> specs that it cannot compile, for every language of the npm compiler."""
    return {
        target: sorted(error["spec"] for error in result.get("errors", []))
        for target, result in _run_npm(folder, ["all"]).items()
    }


def ensure_npm(folder: Path | None = None) -> None:
    """Install the pinned npm packages unless they are there; only one process at a time does.

    Args:
        folder: where ``package.json`` stands; ``None`` for the compiler's.

    Raises:
        CompileError: npm is missing or fails.
    """
    folder = folder or HERE
    lock = folder / "package-lock.json"
    stamp = folder / "node_modules" / ".package-lock.json"
    # `npm ci` starts by removing the folder, also under a process that is using it.
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if stamp.exists() and stamp.stat().st_mtime >= lock.stat().st_mtime:
            return
        if not shutil.which("npm"):
            raise CompileError("npm is needed to install the compiler (or give KSC=...)")
        done = subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise CompileError(f"npm ci failed:\n{done.stderr}")
        stamp.touch()


def _run_npm(folder: Path, targets: list[str]) -> dict[str, dict[str, Any]]:
    ensure_npm()
    done = subprocess.run(
        ["node", str(HERE / "compile.js"), str(folder), *targets], capture_output=True, text=True
    )
    if done.returncode:
        raise CompileError(f"compile.js failed:\n{done.stderr}")
    result: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return result


def ksc_compile(command: str, folder: Path, targets: list[str]) -> dict[str, dict[str, str]]:
    """The same with the official command-line compiler.

    Args:
        command: how to call it, such as ``kaitai-struct-compiler``.
        folder: where the specs stand.
        targets: as for `npm_compile`; also ``cpp_stl:c++11``, which npm's compiler cannot write.

    Raises:
        CompileError: it cannot be run or refuses a spec.
    """
    specs = sorted(str(file) for file in folder.glob("*.ksy"))
    results = {}
    for target in targets:
        language, _, mode = target.partition(":")
        with tempfile.TemporaryDirectory() as out:
            words = [*shlex.split(command), "-t", language, "-d", out, "-I", str(folder)]
            if mode == "debug":
                words += ["--no-auto-read", "--read-pos"]
            if mode == "c++11":
                words += ["--cpp-standard", "11"]
            if language == "python":
                words += ["--python-package", "."]
            try:
                done = subprocess.run([*words, *specs], capture_output=True, text=True)
            except OSError as error:
                raise CompileError(f"{command}: {error}") from error
            if done.returncode:
                raise CompileError(f"{command} -t {language}:\n{done.stdout}{done.stderr}")
            results[target] = {
                str(file.relative_to(out)): file.read_text(encoding="utf-8")
                for file in sorted(Path(out).rglob("*"))
                if file.is_file()
            }
    return results


def project_files(compiled: dict[str, dict[str, str]], specs: dict[str, Spec]) -> dict[Path, str]:
    """The compiler's output for Python as files of this project.

    Each file says on its first line where it comes from. Python modules import each other
    relatively, which the npm compiler has no option for.
    """
    files: dict[Path, str] = {}
    by_module = {_module_name(spec.id): spec for spec in specs.values()}
    for target, texts in compiled.items():
        folder = TARGETS[target]
        for name, text in texts.items():
            spec = by_module[Path(name).stem.lower().replace("_", "")]
            header = (
                f"# Generated by `make gen` from ksy/{spec.file.name} (sha256 {spec.digest}); "
                "do not edit."
            )
            names = "|".join(sorted(specs))
            body = text.partition("\n")[2]
            body = re.sub(rf"(?m)^import ({names})$", r"from . import \1", body)
            files[folder / name] = f"{header}\n{body.rstrip()}\n"
        doc = _PACKAGE_DOCS.get(folder.name)
        if doc:
            files[folder / "__init__.py"] = (
                f'# Generated by `make gen`; do not edit.\n"""{doc}\n"""\n'
                if "\n" in doc
                else f'# Generated by `make gen`; do not edit.\n"""{doc}"""\n'
            )
    return files


def _module_name(spec_id: str) -> str:
    return spec_id.replace("_", "").lower()
