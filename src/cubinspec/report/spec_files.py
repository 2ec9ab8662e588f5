"""The spec as files: where they are in a checkout and in an installed package.

An installed package has a copy of ``ksy/`` in the folder ``spec`` of ``cubinspec``; a checkout has
the files where they are edited.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from cubinspec.errors import CubinError, FileAccessError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Ending of a file's path -> what kind of file it is; the first that fits counts.
_KINDS = (
    (".schema.json", "schema of a table"),
    (".yaml", "table"),
    (".ksy", "Kaitai Struct type"),
)
_OUTPUT = "output"
#: Schemas of what the writer reads and prints: the kind, and the path in its package.
_WRITER_SCHEMAS = (
    ("schema of the YAML form", "yaml_form", "cubin.schema.json"),
    ("schema of link --map", "linker", "map.schema.json"),
)
_GLOSSARY = "glossary.md"

#: Cubins that go with the spec, so that the examples of the README work anywhere.
SAMPLES = (
    "calls.sm_100.rel.cubin",
    "calls.sm_90.rel.cubin",
    "cluster_sm90.sm_90.exe.cubin",
    "kernels.sm_75.exe.cubin",
)


@dataclass(frozen=True)
class SpecFile:
    """One file of the spec.

    Attributes:
        name: its path in the spec, such as ``tables/eiattr.yaml``.
        kind: what kind of file it is.
        path: where it lies.
    """

    name: str
    kind: str
    path: Path

    @property
    def stem(self) -> str:
        """The name without folder and ending, such as ``eiattr``."""
        return self.path.name.partition(".")[0]


def spec_folder() -> Path:
    """The folder with the ``.ksy`` files; the tables are below it.

    Raises:
        FileAccessError: this installation has none.
    """
    package = _package()
    for folder in (package / "spec", package.parents[1] / "ksy"):
        if (folder / "elf_cuda.ksy").is_file():
            return folder
    raise FileAccessError("the spec is not in this installation", file=str(package / "spec"))


def spec_files() -> list[SpecFile]:
    """All files of the spec, the schemas of what commands print as JSON, and some samples.

    Raises:
        FileAccessError: this installation has none.
    """
    folder = spec_folder()
    found = []
    for path in sorted(folder.rglob("*")):
        kind = next((kind for ending, kind in _KINDS if path.name.endswith(ending)), None)
        if kind is not None:
            found.append(SpecFile(path.relative_to(folder).as_posix(), kind, path))
    found += [
        SpecFile(f"{_OUTPUT}/{path.name}", "schema of --json", path)
        for path in sorted((_package() / "schema").glob("*.json"))
    ]
    for kind, *parts in _WRITER_SCHEMAS:
        schema = Path("cubinspec_writer", *parts)
        for path in (_package().parent / schema, folder.parent / "writer" / schema):
            if path.is_file():
                found.append(SpecFile(f"{_OUTPUT}/{path.name}", kind, path))
    for path in (folder / _GLOSSARY, folder.parent / "docs" / _GLOSSARY):
        if path.is_file():
            found.append(SpecFile(_GLOSSARY, "glossary", path))
    samples = folder / "samples"
    if not samples.is_dir():
        samples = folder.parent / "tests" / "data" / "cubins"
    found += [SpecFile(f"samples/{name}", "sample", samples / name) for name in SAMPLES]
    return found


def find_spec_file(word: str) -> SpecFile:
    """The file with a name; a table comes before a schema of output, and that before a type.

    Args:
        word: a path in the spec (``tables/eiattr.yaml``), a file name (``eiattr.ksy``) or a stem
            (``eiattr``).

    Raises:
        CubinError: there is no such file.
    """
    order = (
        *("table", "schema of --json", *(kind for kind, *_ in _WRITER_SCHEMAS)),
        *("Kaitai Struct type", "schema of a table"),
    )
    readable = [file for file in spec_files() if file.kind in order]
    found = sorted(readable, key=lambda file: order.index(file.kind))
    names = (
        {file.stem: file for file in reversed(found)}
        | {file.path.name: file for file in reversed(found)}
        | {file.name: file for file in found}
    )
    if word in names:
        return names[word]
    from difflib import get_close_matches

    near = get_close_matches(word, sorted({file.stem for file in found}))
    raise CubinError(
        "the spec has no file of this name",
        file=word,
        expected=" or ".join(near) or "a name that 'cubinspec spec --list' shows",
    )


def spec_document(file: SpecFile) -> Any:
    """The content of a file as dictionaries, lists and plain values; a page as its text."""
    text = file.path.read_text("utf-8")
    if file.name.endswith(".md"):
        return text
    if file.name.endswith(".json"):
        return json.loads(text)
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(text, loader)


def copy_spec(folder: Path) -> None:
    """Copy all files of the spec below a folder, which may be new or empty.

    Raises:
        FileAccessError: the folder has something in it, or cannot be written.
    """
    files = spec_files()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise FileAccessError(
                "the folder is not empty", file=str(folder), expected="a new or empty folder"
            )
        for file in files:
            copy = folder / file.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.path.read_bytes())
    except OSError as error:
        raise FileAccessError(
            f"cannot be written: {error.strerror or error}", file=str(error.filename or folder)
        ) from error


def _package() -> Path:
    return Path(__file__).resolve().parents[1]
