"""Builds a link case: its inputs with NVIDIA's tools, and what nvlink makes of them.

A case is a folder of sources with a `case.json`:

    about    one line
    archs    names such as "80" or "90a"; absent: `ARCHES` from sm number `min` to `max`
    inputs   build steps in order, each with `out` and one key of `STEPS`; `arch` overrides the
             architecture of one input, `nvcc` and `ptxas` add options
    link     the words of the link after -arch; `linkarch` overrides the architecture
    drop     built files that are removed before the link

Building leaves `<case>/<arch>/inputs/`, `expected.cubin` if nvlink wrote one, and `cmd.json` with
its words, exit status and output, and with the text of other files that it wrote. What is there
already is not built again, unless a file of the case is newer.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cubinspec.reader.elf import Elf
from cubinspec_generated import codes, records
from tools import oracle
from tools.linkcases import generated
from tools.linkcases.index import index_file

ROOT = Path(__file__).resolve().parents[2]
#: Programs made for one rule each, and random programs on which a rule rests.
CASES, SEEDS = ROOT / "tests" / "link" / "cases", ROOT / "tests" / "link" / "seeds"
ARCHES = ["75", "80", "86", "89", "90", "90a", "100", "103", "110", "120", "121"]
#: Programs that are not NVIDIA's.
_HOST_TOOLS = ("ar", "as")
#: The oldest virtual architecture of nvcc 13: its PTX serves every target.
_VIRTUAL = "75"


@dataclass(frozen=True)
class Case:
    """One case on one architecture."""

    name: str
    arch: str
    folder: Path
    recipe: dict[str, Any]


def find(
    folders: Iterable[Path],
    arches: Container[str] | None = None,
    names: Container[str] | None = None,
) -> list[Case]:
    """All cases below some folders, for the wanted targets and names (None: all)."""
    found = []
    for recipe in (file for folder in folders for file in sorted(folder.glob("*/case.json"))):
        name = recipe.parent.name
        if names is not None and name not in names:
            continue
        content = json.loads(recipe.read_text(encoding="utf-8"))
        first, last = content.get("min", 0), content.get("max", 999)
        own = content.get("archs") or [a for a in ARCHES if first <= _number(a) <= last]
        found += [
            Case(name, arch, recipe.parent, content)
            for arch in own
            if arches is None or arch in arches
        ]
    return found


def build(case: Case, cache: Path) -> Path:
    """The folder of the built case.

    Raises:
        OracleError: an input could not be built.
    """
    target = cache / case.name / case.arch
    # nvcc writes the working folder into host objects: a name that every run shares
    work = Path(tempfile.gettempdir()) / "linkcases" / f"{case.name}.{case.arch}"
    with alone(work.with_name(work.name + ".lock")):
        if not _is_built(case, target / "cmd.json"):
            try:
                build_case(case, work, target)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return target


def _is_built(case: Case, record: Path) -> bool:
    """Whether a case was built after its files were changed last."""
    newest = max(path.stat().st_mtime_ns for path in case.folder.iterdir())
    return record.exists() and record.stat().st_mtime_ns > newest


def build_case(case: Case, work: Path, target: Path) -> None:
    """Build a case in a folder of its own, and put what was built into another.

    Raises:
        OracleError: an input could not be built.
    """
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(case.folder, work)
    inputs = work / "inputs"
    inputs.mkdir()
    for step in case.recipe["inputs"]:
        _Step(case, step, work, inputs).run()
    for name in case.recipe.get("drop", []):
        (inputs / name).unlink()
    record = _link(case, inputs)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(inputs, target / "inputs")
    if (work / "expected.cubin").exists():
        shutil.copy(work / "expected.cubin", target)
    (target / "cmd.json").write_text(json.dumps(record, indent=1), encoding="utf-8")


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Keep other runs out of a case's working folder."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _link(case: Case, inputs: Path) -> dict[str, Any]:
    arch = case.recipe.get("linkarch", case.arch)
    words = [f"-arch=sm_{arch}"] if arch else []
    for word in case.recipe["link"]:
        words.append(word.replace("{arch}", case.arch).replace("{LIBDIR}", str(_libraries())))
    words += ["-o", "../expected.cubin"]
    before = set(inputs.iterdir())
    done = oracle.find("nvlink").run(*words, cwd=inputs)
    files = {}
    for path in sorted(set(inputs.iterdir()) - before):
        files[path.name] = path.read_text(encoding="utf-8")
        path.unlink()
    return {
        "argv": ["nvlink", *words],
        "exit": done.returncode,
        "stdout": done.stdout,
        "stderr": done.stderr,
        "files": files,
    }


def _libraries() -> Path:
    return oracle.cuda_home() / "lib"


def _number(arch: str) -> int:
    found = re.match(r"\d+", arch)
    return int(found.group()) if found else 0


class _Step:
    """One step of a recipe."""

    def __init__(self, case: Case, step: dict[str, Any], work: Path, inputs: Path) -> None:
        self.step = step
        self.work, self.inputs = work, inputs
        self.arch = step.get("arch", case.arch)
        self.out = inputs / step["out"]

    def run(self) -> None:
        """Make the step's file."""
        for key, how in STEPS.items():
            if key in self.step:
                how(self, self.step[key])
                return
        raise oracle.OracleError(f"unknown step {self.step}")

    def _words(self, words: list[str]) -> list[str]:
        number = str(_number(self.arch))
        return [w.replace("{arch}", self.arch).replace("{num}", number) for w in words]

    def _tool(self, name: str, *words: str, cwd: Path | None = None) -> None:
        path = f"{oracle.cuda_home() / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        argv = [str(oracle.find(name).path) if name not in _HOST_TOOLS else name, *words]
        oracle.run(argv, cwd=cwd or self.work, timeout=600, env={"PATH": path}).check()

    def _ptxas(self, *words: str) -> None:
        options = self._words(self.step.get("ptxas", []))
        self._tool("ptxas", f"-arch=sm_{self.arch}", "-m64", *options, *words, "-o", str(self.out))

    def _nvcc(self, *words: str) -> None:
        self._tool("nvcc", "-std=c++17", *words, *_core_libraries())

    def ptx(self, source: str) -> None:
        self._ptxas("-c", source)

    def executable(self, source: str) -> None:
        self._ptxas(source)

    def cuda(self, source: str) -> None:
        virtual = f"-arch=compute_{self.step.get('ptx_arch', _VIRTUAL)}"
        text = self.work / f"{source}.ptx"
        extra = self.step.get("nvcc", [])
        self._nvcc("-rdc=true", "-ptx", virtual, *extra, source, "-o", str(text))
        text.write_text(text.read_text().replace(str(self.work), "/src"))
        self._ptxas("-c", text.name)

    def generated(self, name: str) -> None:
        (self.work / "gen.ptx").write_text(generated.text(name))
        self._ptxas("-c", "gen.ptx")

    def nvcc_cubin(self, source: str) -> None:
        extra = self._words(self.step.get("nvcc", []))
        arch = f"-arch=sm_{self.arch}"
        self._nvcc("-rdc=true", "-cubin", arch, *extra, source, "-o", str(self.out))

    def host_object(self, source: str) -> None:
        extra = self._words(self.step.get("nvcc", ["-arch=sm_{arch}"]))
        self._nvcc("-dc", "--keep", "--keep-dir", ".", *extra, source, "-o", str(self.out))

    def assembly(self, source: str) -> None:
        shutil.copy(self.work / source, self.inputs)
        self._tool("as", source, "-o", self.out.name, cwd=self.inputs)

    def archive(self, members: list[str]) -> None:
        self._tool("ar", "rcsD", self.out.name, *members, cwd=self.inputs)

    def fatbin(self, words: list[str]) -> None:
        made = f"--create={self.out.name}"
        self._tool("fatbinary", made, *self._words(words), cwd=self.inputs)

    def linked(self, words: list[str]) -> None:
        arch = f"-arch=sm_{self.arch}"
        self._tool("nvlink", arch, *self._words(words), "-o", self.out.name, cwd=self.inputs)

    def literal(self, text: str) -> None:
        self.out.write_text(text)

    def copy(self, source: str) -> None:
        shutil.copy(self.work / source, self.out)

    def mutate(self, source: str) -> None:
        data = bytearray((self.inputs / source).read_bytes())
        for name, *values in self.step["ops"]:
            _MUTATIONS[name](data, values)
        self.out.write_bytes(data)

    def index(self, content: dict[str, Any]) -> None:
        """An index of unified names; identifiers are two words in hexadecimal."""
        functions, variables = (
            [(int(first, 16), int(second, 16), at) for first, second, at in content.get(key, ())]
            for key in ("functions", "data")
        )
        window, data_window = content.get("window"), content.get("data_window", 0)
        version = content.get("version", 1)
        self.out.write_bytes(index_file(functions, variables, window, data_window, version))


def _truncate(data: bytearray, values: list[Any]) -> None:
    del data[values[0] :]


def _halve(data: bytearray, values: list[Any]) -> None:
    del data[len(data) // 2 :]


def _set(data: bytearray, values: list[Any]) -> None:
    new = bytes.fromhex(values[1])
    data[values[0] : values[0] + len(new)] = new


def _append(data: bytearray, values: list[Any]) -> None:
    data += bytes.fromhex(values[0])


def _set_in_header(data: bytearray, values: list[Any]) -> None:
    """Change one field of the header of a section: its name, the field, the value."""
    name, field, value = values
    elf = Elf(bytes(data), "input")
    _, _, _, _, _, table, *_ = elf.ehdr
    at = table + elf.section_names.index(name) * records.SECTION_HEADER_64.size
    row = list(records.SECTION_HEADER_64.unpack_from(data, at))
    row[_HEADER_FIELDS[field]] = value
    records.SECTION_HEADER_64.pack_into(data, at, *row)


def _set_in_section(data: bytearray, values: list[Any]) -> None:
    """Change bytes of a section: its name, the offset in it, the bytes in hexadecimal."""
    name, offset, new = values
    elf = Elf(bytes(data), "input")
    _, _, _, _, start, *_ = elf.section_rows[elf.section_names.index(name)]
    _set(data, [start + offset, new])


def _set_in_relocation(data: bytearray, values: list[Any]) -> None:
    """Change a relocation: its section, the row, and by name its place, type, symbol.

    A symbol may be given by its name.
    """
    name, row, fields = values
    elf = Elf(bytes(data), "input")
    _, kind, _, _, start, _, link, *_ = elf.section_rows[elf.section_names.index(name)]
    form = records.REL_64 if kind == codes.SHT_REL else records.RELA_64
    if isinstance(fields.get("symbol"), str):
        rows = elf.symbol_rows(link)
        strings = elf.string_table(elf.section_rows[link][6])
        names = [strings.get(symbol[0]) for symbol in rows]
        fields = {**fields, "symbol": names.index(fields["symbol"])}
    at = start + row * form.size
    old = form.unpack_from(data, at)
    new = [fields.get(key, old[i]) for i, key in enumerate(("offset", "type", "symbol"))]
    form.pack_into(data, at, *new, *old[len(new) :])


#: Fields of a section header that a case may change, and their number.
_HEADER_FIELDS = {"sh_type": 1, "sh_flags": 2, "sh_info": 7}

_MUTATIONS: dict[str, Callable[[bytearray, list[Any]], None]] = {
    "truncate": _truncate,
    "half": _halve,
    "set": _set,
    "append": _append,
    "section": _set_in_header,
    "inside": _set_in_section,
    "relocation": _set_in_relocation,
}
#: What a step can do, by its key.
STEPS: dict[str, Callable[[_Step, Any], None]] = {
    "ptx": _Step.ptx,
    "ptxas_exec": _Step.executable,
    "cu": _Step.cuda,
    "gen": _Step.generated,
    "nvcccubin": _Step.nvcc_cubin,
    "dc": _Step.host_object,
    "assembly": _Step.assembly,
    "ar": _Step.archive,
    "fatbin": _Step.fatbin,
    "link": _Step.linked,
    "text": _Step.literal,
    "copy": _Step.copy,
    "mutate": _Step.mutate,
    "uidx": _Step.index,
}


def _core_libraries() -> list[str]:
    """Where the wheel of the CUDA core libraries puts its headers, when it is installed."""
    folder = oracle.cuda_home() / "include" / "cccl"
    return [f"-I{folder}"] if folder.is_dir() else []
