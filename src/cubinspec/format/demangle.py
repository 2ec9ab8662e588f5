"""Readable C++ and Rust names, also from files that were made to do harm.

A mangled name may refer to its own parts (``S0_``, ``T_``), so that two hundred characters can
stand for gigabytes, and the demangler (LLVM's, through ``pycxxfilt``) ends the whole process when
memory runs out. Names that cannot grow far are demangled in this process. The others, long template
names among them, are demangled in a child process with a limit on its memory. Both stop when the
readable names of a run are longer than the mangled ones by a factor that real names never reach.
"""

from __future__ import annotations

import os
import sys

from cubinspec.limits import MAX_READABLE_NAME, MAX_READABLE_RATIO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

#: A name that cannot become longer than two to this many characters is demangled in this process.
_SAFE_BITS = 22
#: Most growth comes from parts that are named three times each: 3 ** (1/3) per reference.
_BITS_PER_REFERENCE = 0.53
#: The ratio of readable to mangled characters is looked at from this many readable ones on.
_FLOOR = 4 << 20
_CHILD_BYTES = 256 << 20
_TOO_LONG = "!"

_CHILD = f"""
import sys
try:
    from resource import RLIMIT_AS, RLIMIT_CORE, setrlimit
    setrlimit(RLIMIT_CORE, (0, 0))
    setrlimit(RLIMIT_AS, ({_CHILD_BYTES}, {_CHILD_BYTES}))
except ImportError:
    pass
from pycxxfilt import demangle
for line in sys.stdin:
    try:
        found = demangle(line[:-1]) or ""
    except ValueError:
        found = ""
    except MemoryError:
        found = None
    short = found is not None and len(found) <= {MAX_READABLE_NAME}
    print(found if short else "{_TOO_LONG}", flush=True)
"""

_child: Popen[str] | None = None
#: Process that started the child; a forked process must not share the pipes.
_owner = 0
#: Mangled characters asked for in this run, and readable ones given.
_asked = 0
_given = 0
_has_warned = False

#: Readable forms of names; a library holds the same names once per architecture.
_cached: dict[str, str] = {}
_MAX_CACHED = 1 << 17


def readable(name: str) -> str:
    """The C++ (or Rust) form of a mangled name; the name itself when it is not one.

    Uses ``pycxxfilt``, which carries LLVM's demangler; without it names stay as they are and a
    warning says so.
    """
    if not name.startswith(("_Z", "_R", "__Z", "$_Z")):
        return name
    found = _cached.get(name)
    if found is None:
        if len(_cached) >= _MAX_CACHED:
            _cached.clear()
        found = _cached[name] = demangle(name) or name
    return found


def demangle(name: str) -> str | None:
    """The readable form of a name; ``None`` when there is none, or none of sensible length."""
    global _asked, _given
    try:
        from pycxxfilt import demangle as library
    except ImportError:
        _warn_once()
        return None
    if not name.isprintable() or len(name) > MAX_READABLE_NAME:
        return None
    _asked += len(name)
    if _given > MAX_READABLE_RATIO * _asked + _FLOOR:
        return None
    references = name.count("S") + name.count("T")
    if len(name).bit_length() + _BITS_PER_REFERENCE * references > _SAFE_BITS:
        return _ask_child(name)
    try:
        found: str | None = library(name)
    except ValueError:  # a name that only starts like a mangled one
        return None
    _given += len(found or "")
    return found if found and len(found) <= MAX_READABLE_NAME else None


def _warn_once() -> None:
    global _has_warned
    if not _has_warned:
        _has_warned = True
        from warnings import warn

        warn(
            "C++ names stay mangled: the Python package pycxxfilt is not installed "
            "(pip install pycxxfilt)",
            stacklevel=4,
        )


def _ask_child(name: str) -> str | None:
    global _child, _given, _owner
    if _child is None or _owner != os.getpid():
        from subprocess import DEVNULL, PIPE, Popen

        _owner = os.getpid()
        _child = Popen(
            [sys.executable, "-c", _CHILD],
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            encoding="utf-8",
            errors="surrogateescape",
        )
    assert _child.stdin is not None
    assert _child.stdout is not None
    answer = ""
    try:
        _child.stdin.write(f"{name}\n")
        _child.stdin.flush()
        answer = _child.stdout.readline()
    except OSError:
        pass  # the child has gone; the answer is empty as well
    if not answer.endswith("\n"):
        _child.kill()
        _child.wait()
        _child = None
        answer = f"{_TOO_LONG}\n"
    found = answer[:-1]
    if found == _TOO_LONG:
        _given += _FLOOR  # what it cost is not known; assume a lot
        return None
    _given += len(found)
    return found or None
