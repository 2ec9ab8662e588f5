"""Modules out of their cached bytecode, so that the command starts faster.

`importlib` looks for each module by every ending that one can have, and takes the name of the file
with its bytecode together out of its parts: for sixty modules that takes longer than a small link.
The finder here knows that the modules of these packages are Python, and that their bytecode lies
beside them. It makes the same checks: bytecode of another Python, or of another source, is left to
`importlib`, as is everything else. How a module looks (``__file__``, ``__spec__``, ``__cached__``)
is as without it. Only the console script uses it, where there is no bundle (`bundle.py`).
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader
from _imp import extension_suffixes
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

#: Bytes in front of the code: the magic number, flags, time and size of the source.
_WORD, _HEAD = 4, 16
#: What bytecode starts with that is valid for a time and a size of its source.
_START = MAGIC_NUMBER + bytes(_WORD)
_ENDING = f".{sys.implementation.cache_tag}.pyc"
_EXTENSIONS = extension_suffixes()
_MASK = (1 << 8 * _WORD) - 1


class _Loader(SourceFileLoader):
    """Loads a module whose bytecode was read."""

    def __init__(self, fullname: str, path: str, code: bytes) -> None:
        super().__init__(fullname, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType | None:
        data, self._code = self._code, b""
        return loads(data) if data else super().get_code(fullname)


class Finder:
    """Finds modules of packages that are loaded.

    Args:
        packages: names of the packages at the top.
    """

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._starts = tuple([f"{package}." for package in packages])
        #: Names in the folders of packages.
        self._names: dict[str, frozenset[str]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """The specification of a module that has bytecode of its source."""
        if path is None or len(path) != 1 or not name.startswith(self._starts):
            return None
        folder, last = path[0], name[name.rfind(".") + 1 :]
        try:
            names = self._names.get(folder)
            if names is None:
                names = self._names[folder] = frozenset(os.listdir(folder))
            is_package = last in names
            if is_package:
                folder, last = f"{folder}/{last}", "__init__"
            elif names.intersection([f"{last}{ending}" for ending in _EXTENSIONS]):
                return None
            source, cached = f"{folder}/{last}.py", f"{folder}/__pycache__/{last}{_ENDING}"
            code = _code_of(source, cached)
        except OSError:
            return None
        if code is None:
            return None
        spec = ModuleSpec(name, _Loader(name, source, code), origin=source, is_package=is_package)
        spec.has_location, spec.cached = True, cached
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        return spec


def _code_of(source: str, cached: str) -> bytes | None:
    """The bytecode in a file; None: it is not of this source, or of another Python."""
    status = os.stat(source)
    file = os.open(cached, os.O_RDONLY)
    try:
        size = os.fstat(file).st_size
        data = os.read(file, size)
    finally:
        os.close(file)
    made_of = [int(status.st_mtime) & _MASK, status.st_size & _MASK]
    head = _START + b"".join([number.to_bytes(_WORD, "little") for number in made_of])
    return data[_HEAD:] if data[:_HEAD] == head and len(data) == size else None


def install(*packages: str) -> None:
    """Look for modules of these packages here first, if their bytecode is where it mostly is."""
    if sys.pycache_prefix is None and not sys.flags.optimize:
        sys.meta_path.insert(0, Finder(packages))
