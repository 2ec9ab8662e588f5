"""What commands share that write files: where to, and never half of one."""

from __future__ import annotations

import os

from cubinspec.cli.options import Option, UsageError
from cubinspec.errors import FileAccessError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cubinspec.cli.options import Arguments

OUTPUT = Option("-o", "--output", value="OUT", help="write the result to OUT")
NO_CHECK = Option("--no-check", help="write the result even if it breaks a rule of the spec")
IN_PLACE = Option("-i", "--in-place", help="replace FILE by the result")


#: Files of many small parts are written by the megabyte.
_BUFFER = 1 << 20


def target(arguments: Arguments, source: str) -> str:
    """The file to be written: ``-o OUT``, or the source itself with ``-i``.

    Raises:
        UsageError: neither or both were given.
    """
    output = arguments.value("--output")
    if (output is None) != arguments.flag("--in-place"):
        raise UsageError("say either -o OUT or -i (replace FILE)")
    return source if output is None else output


def write_file(path: str, data: bytes | memoryview | Sequence[bytes | bytearray]) -> None:
    """Write a whole file or nothing: a temporary file in the same folder, then a rename.

    ``data`` may be in parts that follow each other. A link is followed, and the permissions of a
    file that is replaced are kept.

    Raises:
        FileAccessError: the file or its folder cannot be written.
    """
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
