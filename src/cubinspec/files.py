"""Reading whole files, and writing them so that none is ever half written."""

from __future__ import annotations

import os

from cubinspec.errors import FileAccessError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.values import PathName

#: Files of many small parts are written in pieces of this size.
_BUFFER = 1 << 17


def read_file(path: PathName) -> bytes:
    """The bytes of a whole file.

    Raises:
        FileAccessError: the file cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except (OSError, ValueError) as error:  # a path with a NUL is a wrong value
        reason = getattr(error, "strerror", None) or error
        raise FileAccessError(f"cannot be read: {reason}", file=os.fspath(path)) from error


def write_file(path: PathName, data: bytes | memoryview | Iterable[bytes | bytearray]) -> None:
    """Write a whole file or nothing: a temporary file in the same folder, then a rename.

    A symbolic link is followed, and a file that is replaced keeps its permissions.

    Args:
        data: the contents, in one piece or in consecutive pieces.

    Raises:
        FileAccessError: the file or its folder cannot be written.
    """
    path = os.fspath(path)
    parts = [data] if isinstance(data, bytes | memoryview) else data
    # a device or pipe (/dev/stdout) cannot be replaced
    if os.path.exists(path) and not os.path.isfile(path):
        try:
            with open(path, "wb") as stream:
                stream.writelines(parts)
        except OSError as error:
            raise FileAccessError(_reason(error), file=path) from error
        return
    path = os.path.realpath(path)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        try:
            with open(temporary, "xb", buffering=_BUFFER) as stream:
                stream.writelines(parts)
            if os.path.exists(path):
                os.chmod(temporary, os.stat(path).st_mode & 0o7777)
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise FileAccessError(_reason(error), file=path) from error


def _reason(error: OSError) -> str:
    return f"cannot be written: {error.strerror or error}"
