"""Modules of a compiled wheel out of two files, so that the command starts faster.

For each module Python looks into the folder of its package, and opens, reads and closes a file: for
a small link that takes longer than the link itself. A compiled wheel also has the code of all
modules that mypyc has left alone in one file, ``modules.bundle``, which
``tools/package/compile_hook.py`` writes; those that mypyc has compiled are in one library. The
finder here hands out both. Python asks it for one module; it also loads what that module imports,
as Python's own steps for each would take four times as long. How a module looks (``__file__``,
``__spec__``, its source in a traceback) is as without it, and where the file is missing or made by
another Python, nothing changes. Only the console script uses it.

The file: the magic number of Python's bytecode, the size of the index, the index, codes. The index
is text, a line for each module: its name, its place in the wheel, where its code stands behind the
index, the size of that, and where in the index the lines of modules stand that it imports, which
is in no circle. A compiled module has no code there. The place of a package ends with
``/__init__``, and a suffix.
"""

from __future__ import annotations

import _frozen_importlib
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, ExtensionFileLoader, SourceFileLoader
from _imp import _fix_co_filename, create_dynamic  # type: ignore[attr-defined]
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType

_Module = type(sys)
#: Bytes of the magic number and of the size.
_WORD = 4
#: The last descriptor of the standard streams.
_STDERR = 2
#: The library of mypyc, and how it calls the capsules with the functions that make modules.
_LIBRARY, _PREFIX = "cubinspec__mypyc", "init_"
#: Another module in the library, whose function calls such a function.
_START = "cubinspec.format._start"


class _SourceLoader(SourceFileLoader):
    """Loads a module whose code is in the bundle."""

    def __init__(self, fullname: str, path: str, code: bytes) -> None:
        super().__init__(fullname, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType | None:
        data, self._code = self._code, b""
        if not data:  # who asks again gets it from the source
            return super().get_code(fullname)
        code: CodeType = loads(data)
        _fix_co_filename(code, self.path)
        return code


class _CompiledLoader(ExtensionFileLoader):
    """Loads a module of the library, without the small library that leads to it."""

    def __init__(self, name: str, path: str, library: _Library, init: object) -> None:
        super().__init__(name, path)
        self._library = library
        self._init = init

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._library.make(self._init)

    def exec_module(self, module: ModuleType) -> None:
        """It was run when it was made."""


class _Library:
    """The library of mypyc.

    It gets two classes and a function out of `importlib`, which takes longer to import than they
    do to find. Until the first module is made, they stand where the library looks for them.
    """

    def __init__(self) -> None:
        self._lent: list[str] = []
        if "importlib" not in sys.modules:
            machinery = _Module("importlib.machinery")
            machinery.ModuleSpec = ModuleSpec  # type: ignore[attr-defined]
            machinery.ExtensionFileLoader = ExtensionFileLoader  # type: ignore[attr-defined]
            for module in (_Module("importlib"), machinery):
                sys.modules[module.__name__] = module
            sys.modules["importlib._bootstrap"] = _frozen_importlib
            self._lent = [name for name in sys.modules if name.startswith("importlib")]
        library = __import__(_LIBRARY)
        self._inits = vars(library)
        place = str(library.__file__)
        spec = ModuleSpec(_START, ExtensionFileLoader(_START, place), origin=place)
        self._start: Callable[[object], ModuleType] = create_dynamic(spec).start

    def init_of(self, name: str) -> object:
        """The capsule with the function that makes a module."""
        return self._inits.get(_PREFIX + name.replace(".", "___"))

    def make(self, init: object) -> ModuleType:
        """The module that this function makes."""
        module = self._start(init)
        while self._lent:
            del sys.modules[self._lent.pop()]
        return module


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
        self._index = ""
        if head[:_WORD] == MAGIC_NUMBER:
            self._index = os.pread(file, size, 2 * _WORD).decode("ascii")
        self._root = root
        self._loaded: set[str] = set()
        self._library: _Library | None = None

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The specification of a module that is in the wheel; what it imports is loaded then."""
        at = self._index.find(f"\n{name} ") + 1
        return self._prepared(at) if at else None

    def _prepared(self, at: int) -> ModuleSpec | None:
        """The specification of the module of this line, after loading what it imports."""
        name, place, start, size, *needs = self._index[at : self._index.find("\n", at)].split(" ")
        for need in needs:
            if need not in self._loaded:
                self._loaded.add(need)
                self._load(int(need))
        place = f"{self._root}/{place}"
        loader: _SourceLoader | _CompiledLoader
        if size != "0":
            code = os.pread(self._file, int(size), self._codes + int(start))
            loader = _SourceLoader(name, place, code)
        else:
            if self._library is None:
                self._library = _Library()
            init = self._library.init_of(name)
            if init is None:
                return None
            loader = _CompiledLoader(name, place, self._library, init)
        folder, _, file = place.rpartition("/")
        spec = ModuleSpec(name, loader, origin=place, is_package=file.startswith("__init__."))
        spec.has_location = True
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        return spec

    def _load(self, at: int) -> None:
        """Load the module of this line, as `importlib` does it."""
        name = self._index[at : self._index.find(" ", at)]
        if name in sys.modules:
            return
        spec = self._prepared(at)
        if spec is None or spec.loader is None:
            return  # Python finds it elsewhere
        module = spec.loader.create_module(spec) or _Module(name)
        module.__spec__ = spec
        module.__loader__ = spec.loader
        module.__file__ = spec.origin
        module.__package__ = spec.parent
        if spec.submodule_search_locations is not None:
            module.__path__ = spec.submodule_search_locations
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        package, _, last = name.rpartition(".")
        if package:
            setattr(sys.modules[package], last, module)


def install(path: str) -> None:
    """Look for modules in this bundle first."""
    if not hasattr(os, "pread"):  # a process and its children would move one position in the file
        return
    file = os.open(path, os.O_RDONLY)
    if file <= _STDERR:  # who closed a stream must not find a file in its place
        os.close(file)
        return
    sys.meta_path.insert(0, Finder(file, path.rpartition("/cubinspec/")[0]))
