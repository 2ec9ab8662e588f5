"""Build hook: with CUBINSPEC_COMPILE=1 a wheel also has its hot modules compiled by mypyc.

It has the native module, too, where cargo can build it. Which modules are compiled, and why, says
``[tool.hatch.build.targets.wheel.hooks.custom]`` in pyproject.toml. The sources stay in the wheel,
beside the extension modules that Python prefers to them; the code of those that are not compiled is
also in one file, from which the console script starts faster. Without the variable, and in editable
installations, nothing is compiled and the wheel fits every platform.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import marshal
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from itertools import accumulate
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WISH = "CUBINSPEC_COMPILE"
#: How hard the C compiler tries, 0 to 3; 1 takes half as long as 3.
LEVEL = "CUBINSPEC_COMPILE_LEVEL"
#: Run in a folder with the packages and nothing else that setuptools could take for its own.
_SCRIPT = """\
import sys
from pathlib import Path
from setuptools import setup
from mypyc.build import mypycify
tools, level, flags, *words = sys.argv[1:]
sys.path.insert(0, tools)
from docstrings import document
made = mypycify(words, opt_level=level, debug_level="0", group_name="cubinspec")
for module in made:
    module.extra_compile_args += flags.split()
    if module.name == "cubinspec__mypyc":
        names = [word for word in words if word.endswith(".py")]
        document(Path(), names, *map(Path, module.sources))
        module.sources.append("start.c")
setup(
    name="compiled", packages=[], py_modules=[], ext_modules=made,
    script_args=["--quiet", "build_ext", "--build-lib", "lib"],
)
"""
#: `make types` checks the types, strictly; here they only guide the compiler.
_TYPES = ("--config-file=", "--ignore-missing-imports", "--follow-imports=silent")
#: One library has all modules, and nobody else calls its functions. Were they to be found by name,
#: a start would look up 3,000 of them, and no call could be inlined.
_FLAGS = "-fvisibility=hidden -fno-plt"

#: The code of modules for ``cubinspec.cli.bundle``, which says what stands in it.
BUNDLE_PLACE = "cubinspec/cli/modules.bundle"
_WORD = 4
#: Of the places of lines in its index.
_DIGITS = 6

#: The crate of the native module, and that module's place in the wheel.
NATIVE_SOURCE = "native"
NATIVE_PLACE = "cubinspec/format/_native.abi3.so"
#: The folder in the wheel with the licences of what is compiled into that module.
LICENSES_PLACE = "cubinspec/format/_native.licenses"
_LICENSES = ("LICENSE*", "LICENCE*", "COPYING*", "COPYRIGHT*", "NOTICE*")
#: Those of Rust's own library, in an installation of Rust.
_RUST_LICENSES = "share/doc/rust/COPYRIGHT-library.html"


class CompileError(Exception):
    """pyproject.toml names no module, or a compiler refused."""


def chosen(folder: Path, rows: list[Mapping[str, Any]]) -> list[str]:
    """The modules to compile, as paths below the folder that holds the packages.

    Args:
        rows: `compile` of the hook in pyproject.toml.
    """
    files: dict[str, None] = {}
    for row in rows:
        for pattern in row["modules"]:
            found = [str(path.relative_to(folder)) for path in sorted(folder.glob(pattern))]
            if not found:
                raise CompileError(f"pyproject.toml: there is no module {pattern}")
            files.update(dict.fromkeys(found))
        for path in row.get("except", ()):
            if path not in files:
                raise CompileError(f"pyproject.toml: {path} is not among the modules")
            del files[path]
    return list(files)


def compiled(root: Path, packages: list[str], rows: list[Mapping[str, Any]], folder: Path) -> Path:
    """Compile in an empty folder; the folder below it that has the extension modules."""
    for package in packages:
        left_out = shutil.ignore_patterns("*.so", "__pycache__", "kaitai*")
        shutil.copytree(root / package, folder / Path(package).name, ignore=left_out)
    shutil.copy(root / NATIVE_SOURCE / "start.c", folder)
    flags = "" if sys.platform == "win32" else _FLAGS
    tools = str(root / "tools" / "package")
    words = [tools, os.environ.get(LEVEL, "3"), flags, *_TYPES, *chosen(folder, rows)]
    command = [sys.executable, "-c", _SCRIPT, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompileError(done.stdout + done.stderr)
    return folder / "lib"


def bundle(folder: Path, packages: list[str], lib: Path) -> bytes:
    """The file from which the console script takes modules.

    Args:
        folder: holds the packages, as they will be in the wheel.
        packages: their names.
        lib: holds the extension modules.
    """
    rows: dict[str, tuple[str, bytes]] = {}
    trees: dict[str, ast.Module] = {}
    for top, pattern in ((lib, "*.so"), (folder, "*.py")):
        for path in [path for name in packages for path in sorted((top / name).rglob(pattern))]:
            place = path.relative_to(top)
            stem = place.name.partition(".")[0]
            is_package = stem == "__init__"
            name = ".".join(place.parent.parts if is_package else (*place.parent.parts, stem))
            code = b""
            if top is folder:
                trees[name] = ast.parse(path.read_text(encoding="utf-8"))
                code = marshal.dumps(compile(trees[name], str(place), "exec", dont_inherit=True))
            rows.setdefault(name, (place.as_posix(), code))  # a compiled one stays
    return _joined(rows, {name: imports(name, tree) for name, tree in trees.items()})


def imports(name: str, tree: ast.Module) -> list[str]:
    """What has to be loaded before a module, in order; names in its packages may be no modules.

    A package comes before what is in it, also where it imports that itself.
    """
    words = name.split(".")
    found = [".".join(words[:count]) for count in range(1, len(words))]
    for node in tree.body:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [need for need in found if need != name and not need.startswith(f"{name}.")]


def _joined(rows: Mapping[str, tuple[str, bytes]], needs: Mapping[str, list[str]]) -> bytes:
    """Index and codes as a file.

    Raises:
        CycleError: modules import each other in a circle, so that none can be loaded first.
    """
    TopologicalSorter(needs).prepare()
    starts = [0, *accumulate(len(code) for _, code in rows.values())]
    heads = {
        name: f"{name} {place} {start} {len(code)}"
        for (name, (place, code)), start in zip(rows.items(), starts, strict=False)
    }
    known = {
        name: dict.fromkeys(need for need in needs.get(name, ()) if need in rows) for name in rows
    }
    sizes = [len(heads[name]) + (1 + _DIGITS) * len(known[name]) + 1 for name in rows]
    places = dict(zip(rows, accumulate(sizes, initial=1), strict=False))
    lines = [
        " ".join([heads[name], *(f"{places[need]:0{_DIGITS}}" for need in known[name])]) + "\n"
        for name in rows
    ]
    index = "".join(["\n", *lines]).encode("ascii")
    size = len(index).to_bytes(_WORD, "little")
    return b"".join(
        [importlib.util.MAGIC_NUMBER, size, index, *(code for _, code in rows.values())]
    )


def native(root: Path, folder: Path) -> Path | None:
    """Build the native module in an empty folder; where that cannot be done, say so.

    Returns:
        The module; ``None``: there is no Linux, no cargo, or one that is too old or has no network.
    """
    without = "the wheel will have no native module"
    if sys.platform != "linux" or shutil.which("cargo") is None:
        print(f"no Linux or no cargo: {without}", file=sys.stderr)
        return None
    words = ["--locked", "--manifest-path", str(root / NATIVE_SOURCE / "Cargo.toml")]
    fetched = subprocess.run(["cargo", "fetch", *words], capture_output=True, text=True)
    if fetched.returncode:
        print(f"{fetched.stderr}cargo cannot get what it needs: {without}", file=sys.stderr)
        return None
    words += ["--offline", "--release", "--target-dir", str(folder)]
    environment = {**os.environ, "PYO3_PYTHON": sys.executable}
    done = subprocess.run(
        ["cargo", "build", *words], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise CompileError(done.stdout + done.stderr)
    return folder / "release" / "lib_native.so"


def linked(metadata: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The packages that are needed for more than a build script, as ``cargo metadata`` has them."""
    packages = {package["id"]: package for package in metadata["packages"]}
    needed = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    todo, seen = [metadata["resolve"]["root"]], set()
    while todo:
        for other in needed[todo.pop()]:
            is_linked = any(kind["kind"] is None for kind in other["dep_kinds"])
            if is_linked and other["pkg"] not in seen:
                seen.add(other["pkg"])
                todo.append(other["pkg"])
                yield packages[other["pkg"]]


def crate_licenses(metadata: Mapping[str, Any]) -> dict[Path, str]:
    """Files with licences of what is compiled into the native module, and their places.

    Raises:
        CompileError: a crate has none.
    """
    found: dict[Path, str] = {}
    for package in linked(metadata):
        folder = Path(package["manifest_path"]).parent
        files = {file for pattern in _LICENSES for file in folder.glob(pattern) if file.is_file()}
        label = f"{package['name']}-{package['version']}"
        if not files:
            raise CompileError(f"crate {label} has no file with its licence")
        found.update({file: f"{LICENSES_PLACE}/{label}/{file.name}" for file in sorted(files)})
    return found


def native_licenses(root: Path) -> dict[Path, str]:
    """The same of the crate here, and of Rust's library."""

    def printed(*words: str) -> str:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CompileError(done.stdout + done.stderr)
        return done.stdout

    manifest = str(root / NATIVE_SOURCE / "Cargo.toml")
    (platform,) = (
        line.removeprefix("host: ")
        for line in printed("rustc", "-vV").splitlines()
        if line.startswith("host: ")
    )
    words = ("--locked", "--offline", "--format-version", "1", "--filter-platform", platform)
    text = printed("cargo", "metadata", *words, "--manifest-path", manifest)
    found = crate_licenses(json.loads(text))
    library = Path(printed("rustc", "--print", "sysroot").strip(), _RUST_LICENSES)
    if library.is_file():
        found[library] = f"{LICENSES_PLACE}/rust/{library.name}"
    else:
        print(f"no {library}: licences of Rust's library are not in the wheel", file=sys.stderr)
    return found


class CompileHook(BuildHookInterface[Any]):
    """Called by hatchling when it builds a wheel."""

    PLUGIN_NAME = "custom"
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def _is_wanted(self) -> bool:
        return os.environ.get(WISH, "") not in ("", "0")

    def dependencies(self) -> list[str]:
        """What the build needs beside hatchling."""
        return list(self.config["requires"]) if self._is_wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell hatchling which files to add and for which platform the wheel is."""
        if version == "editable" or not self._is_wanted():
            return
        self._folder = tempfile.TemporaryDirectory()
        packages = list(self.build_config.packages)
        rows = self.config["compile"]
        lib = compiled(Path(self.root), packages, rows, Path(self._folder.name))
        for path in sorted(lib.rglob("*.so")):
            build_data["force_include"][str(path)] = str(path.relative_to(lib))
        names = [Path(package).name for package in packages]
        (lib / "modules.bundle").write_bytes(bundle(Path(self._folder.name), names, lib))
        build_data["force_include"][str(lib / "modules.bundle")] = BUNDLE_PLACE
        module = native(Path(self.root), Path(self._folder.name) / NATIVE_SOURCE)
        if module is not None:
            licenses = native_licenses(Path(self.root))
            for path, place in {module: NATIVE_PLACE, **licenses}.items():
                build_data["force_include"][str(path)] = place
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled; the wheel has it."""
        if self._folder is not None:
            self._folder.cleanup()
