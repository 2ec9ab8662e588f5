"""``cubinspec extract``: the images of a file as files of their own."""

from __future__ import annotations

import os

from cubinspec.cli.options import Arguments, Option, UsageError
from cubinspec.cli.output import report, say
from cubinspec.cli.walking import ARCH, architecture_filter, for_each_image, shown
from cubinspec.errors import FileAccessError
from cubinspec.output_files import write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec.cli.walking import Parts, Targets
    from cubinspec.containers import Image

USAGE = "FILE... -o DIR [--arch SM] [--kind KIND] [--unique]"
OPTIONS = (
    Option("-o", "--output", value="DIR", help="folder to write to, made if needed"),
    ARCH,
    Option("--kind", value="KIND", help="cubin, ptx, nvvm, lto, … or all (default: cubin, ptx)"),
    Option("--unique", help="one file for images with the same bytes"),
    Option("-q", "--quiet", help="do not list the files written"),
)

_SUFFIX = {"cubin": "cubin", "ptx": "ptx", "nvvm": "bc", "lto": "ltoir"}
#: Bytes of the longest stem taken from member names; file systems end at 255 for the whole name.
_MAX_STEM = 120


def run(arguments: Arguments) -> int:
    """Extract what was asked for."""
    folder = arguments.value("--output")
    if folder is None:
        raise UsageError("no folder given (-o DIR)")
    kinds = [k for text in arguments.values("--kind") for k in text.split(",")] or ["cubin", "ptx"]
    return extract(
        arguments.files(),
        folder,
        kinds=None if "all" in kinds else kinds,
        targets=architecture_filter(arguments),
        unique=arguments.flag("--unique"),
        quiet=arguments.flag("--quiet"),
    )


def extract(
    files: list[str],
    folder: str,
    *,
    kinds: Iterable[str] | None,
    targets: Targets | None = None,
    unique: bool = False,
    quiet: bool = False,
    parts: Parts | None = None,
) -> int:
    """Write images to ``folder``; returns the exit status.

    A file appears under its name when it is complete. Names come from the innermost file or
    member, the position in it and the target; nothing in an archive can make them leave the
    folder.

    Args:
        parts: adds images that are inside of others.
    """
    from cubinspec.containers.arena import Arena

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        report(FileAccessError(f"cannot be made: {error.strerror or error}", file=folder))
        return 1
    accepted = None if kinds is None else tuple(kinds)
    arena = Arena()
    names = FileNames()
    seen: set[bytes] = set()

    def selected(image: Image) -> bool:
        return accepted is None or image.kind in accepted

    def write(image: Image) -> None:
        data = image.view(arena)
        if unique:
            from hashlib import sha256

            digest = sha256(data).digest()
            if digest in seen:
                return
            seen.add(digest)
        path = os.path.join(folder, names.of(image))
        write_file(path, data, sync=False)
        if not quiet:
            say(f"{shown(path)}  {shown(image)}")

    return for_each_image(
        files,
        write,
        wanted=selected,
        targets=targets,
        expected=" or ".join(accepted or ("device code",)),
        parts=parts,
    )


class FileNames:
    """Names for the files of images, each given once."""

    __slots__ = ("_numbers", "_taken")

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def of(self, image: Image) -> str:
        """A name of at most 255 bytes that stays in its folder."""
        start, suffix = _words_of(image)
        first = name = f"{start}.{suffix}"
        while name in self._taken:
            # goes on where it ended for the last image of that name
            number = self._numbers[first] = self._numbers.get(first, 1) + 1
            name = f"{start}.{number}.{suffix}"
        self._taken.add(name)
        return name


def _words_of(image: Image) -> tuple[str, str]:
    """What the name of an image's file begins with, and its suffix."""
    stem = ""
    place = ""
    for step in image.provenance:
        if step.kind in ("file", "member"):
            stem, place = step.name.replace("\\", "/").rsplit("/", 1)[-1], ""
        elif step.kind == "fatbin":
            place += f".f{step.name.rsplit(' ', 1)[-1]}"
        elif step.kind == "entry":
            place += f".e{step.name.rsplit(' ', 1)[-1]}"
        elif step.kind == "cubin":
            place += f".{step.offset:#x}"
        elif step.kind == "section":
            place += step.name
    suffix = _SUFFIX.get(image.kind, "bin")
    safe = "".join(c if c.isalnum() or c in "._-+" else "_" for c in stem)
    safe = safe.encode()[:_MAX_STEM].decode(errors="ignore").lstrip(".")
    safe = (safe if place else safe.removesuffix(f".{suffix}")) or "image"
    middle = f".{image.arch}" if image.arch and not safe.endswith(f".{image.arch}") else ""
    return f"{safe}{place}{middle}", suffix
