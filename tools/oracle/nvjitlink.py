"""nvJitLink driven through ctypes: the linker that lives in the driver's library, not in a tool.

`python -m tools.oracle.nvjitlink LIBRARY OUTPUT -arch=sm_90 … INPUT…` links in a process of its
own, so that a crash inside the library is an exit status for the caller.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

INPUT_CUBIN = 1
"""`nvJitLinkInputType` of a cubin, from NVIDIA's public header nvJitLink.h."""


def link(library: Path, options: list[str], inputs: list[Path]) -> bytes:
    """The linked cubin of files; raises as :func:`link_bytes` does."""
    return link_bytes(library, options, [path.read_bytes() for path in inputs])


def link_bytes(library: Path, options: list[str], inputs: list[bytes]) -> bytes:
    """The linked cubin.

    Raises:
        RuntimeError: nvJitLink refused; the message carries its error log.
    """
    lib = ctypes.CDLL(str(library))
    handle = ctypes.c_void_p()
    argv = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])

    def call(name: str, *args: object) -> None:
        # The library exports versioned names only; the header maps the plain ones onto them.
        status = int(getattr(lib, f"__{name}_{version}")(*args))
        if status:
            size = ctypes.c_size_t()
            log = b""
            if handle:
                getattr(lib, f"__nvJitLinkGetErrorLogSize_{version}")(handle, ctypes.byref(size))
                text = ctypes.create_string_buffer(size.value + 1)
                getattr(lib, f"__nvJitLinkGetErrorLog_{version}")(handle, text)
                log = text.value
            raise RuntimeError(f"{name}: status {status}: {log.decode('utf-8', 'replace')}")

    version = next(v for v in _versions(library) if hasattr(lib, f"__nvJitLinkCreate_{v}"))
    call("nvJitLinkCreate", ctypes.byref(handle), len(options), argv)
    for data in inputs:
        call("nvJitLinkAddData", handle, INPUT_CUBIN, data, ctypes.c_size_t(len(data)), b"input")
    call("nvJitLinkComplete", handle)
    size = ctypes.c_size_t()
    call("nvJitLinkGetLinkedCubinSize", handle, ctypes.byref(size))
    output = ctypes.create_string_buffer(size.value)
    call("nvJitLinkGetLinkedCubin", handle, output)
    call("nvJitLinkDestroy", ctypes.byref(handle))
    return output.raw


def _versions(library: Path) -> list[str]:
    """Suffixes the exported names may have: `12_9` down to `12_0` for libnvJitLink.so.12."""
    major = library.name.rsplit(".", 1)[-1]
    return [f"{major}_{minor}" for minor in range(9, -1, -1)]


def main(argv: list[str]) -> int:
    library, output, *rest = argv
    options = [word for word in rest if word.startswith("-")]
    inputs = [Path(word) for word in rest if not word.startswith("-")]
    try:
        Path(output).write_bytes(link(Path(library), options, inputs))
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
