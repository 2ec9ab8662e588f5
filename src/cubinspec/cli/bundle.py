"""Modules of a compiled wheel out of two files, so that the command starts faster.

For each module Python looks into the folder of its package, and opens, reads and closes a file: for
a small link that takes longer than the link itself. A compiled wheel also has the code of all
modules that mypyc has left alone in one file, ``modules.bundle``, which
``tools/package/compile_hook.py`` writes; those that mypyc has compiled are in one library. The
finder here hands out both. How a module looks (``__file__``, ``__spec__``, its source in a
traceback) is as without it, and where the file is missing or made by another Python, nothing
changes. Only the console script uses it.

The file: the magic number of Python's bytecode, the size of the index, the index as ``marshal`` has
it, codes. Of each module the index has its place in the wheel, whether it is a package, and where
its code stands behind the index; compiled modules have no code there.
"""

from __future__ import annotations

import _warnings
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, ExtensionFileLoader, SourceFileLoader
from _imp import _fix_co_filename  # type: ignore[attr-defined]
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any

#: Bytes of the magic number and of the size.
_WORD = 4
#: The last descriptor of the standard streams.
_STDERR = 2
#: The library of mypyc, and how it calls the capsules with the functions that make modules.
_LIBRARY, _PREFIX = "cubinspec__mypyc", "init_"


class _SourceLoader(SourceFileLoader):
    """Loads a module whose code is in the bundle."""

    def __init__(self, fullname: str, path: str, code: bytes) -> None:
        super().__init__(fullname, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = loads(self._code)
        _fix_co_filename(code, self.path)
        return code


class _CompiledLoader(ExtensionFileLoader):
    """Loads a module of the library, without the small library that leads to it."""

    def __init__(self, name: str, path: str, init: Any) -> None:
        super().__init__(name, path)
        self._init = init

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        from cubinspec.format import _start  # type: ignore[attr-defined]

        module: ModuleType = _start.start(self._init)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It was run when it was made."""


class Finder:
    """Finds the modules of a bundle.

    Args:
        file: descriptor of the bundle.
        root: the folder with the packages.
    """

    def __init__(self, file: int, root: str) -> None:
        self._file = file
        head = os.pread(file, 2 * _WORD, 0)
        size = int.from_bytes(head[_WORD:], "little")
        self._codes = 2 * _WORD + size
        self._rows: dict[str, tuple[str, bool, int, int]] = {}
        if head[:_WORD] == MAGIC_NUMBER:
            self._rows = loads(os.pread(file, size, 2 * _WORD))
        self._root = root
        self._inits: dict[str, Any] | None = None

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The specification of a module that is in the wheel."""
        row = self._rows.get(name)
        if row is None:
            return None
        place, is_package, start, size = row
        place = f"{self._root}/{place}"
        loader: _SourceLoader | _CompiledLoader
        if size:
            loader = _SourceLoader(name, place, os.pread(self._file, size, self._codes + start))
        else:
            init = self._init_of(name)
            if init is None:
                return None
            loader = _CompiledLoader(name, place, init)
        spec = ModuleSpec(name, loader, origin=place, is_package=is_package)
        spec.has_location = True
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(place.rpartition("/")[0])
        return spec

    def _init_of(self, name: str) -> Any:
        """The capsule with the function that makes a compiled module."""
        if self._inits is None:
            # The library needs `importlib`, which needs `warnings` for what nobody here does.
            used = sys.modules.setdefault("warnings", _warnings)
            import importlib  # noqa: F401

            if used is _warnings:
                del sys.modules["warnings"]
            self._inits = vars(__import__(_LIBRARY))
        return self._inits.get(_PREFIX + name.replace(".", "___"))


def install(path: str) -> None:
    """Look for modules in this bundle first."""
    if not hasattr(os, "pread"):  # a process and its children would move one position in the file
        return
    file = os.open(path, os.O_RDONLY)
    if file <= _STDERR:  # who closed a stream must not find a file in its place
        os.close(file)
        return
    sys.meta_path.insert(0, Finder(file, path.rpartition("/cubinspec/")[0]))
