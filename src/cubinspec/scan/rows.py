"""The rows of one file; a scan does this work in any process or cluster."""

from __future__ import annotations

from cubinspec.containers import Image
from cubinspec.containers.arena import Arena
from cubinspec.containers.source import FileSource, PathSource, Source
from cubinspec.containers.walk import images_of
from cubinspec.errors import CubinError, FileAccessError, MissingPackageError
from cubinspec.model.cubin import Cubin
from cubinspec.report.archs import split_arch
from cubinspec.report.names import readable
from cubinspec.scan.parallel import share_of, stored_size
from cubinspec.scan.schema import NAMES
from cubinspec.values import ValueObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cubinspec.containers import Step

    Row = dict[str, Any]


class Task(ValueObject):
    """A share of a file; it is sent to other processes.

    Attributes:
        path: the file, a path or URL.
        share: which of the shares, from 0.
        shares: how many shares, of about equal cost, the file has.
        relocatable: kernels of superseded images too.
    """

    __match_args__ = ("path", "share", "shares", "relocatable")
    __slots__ = __match_args__

    def __init__(
        self, path: str, share: int = 0, shares: int = 1, relocatable: bool = False
    ) -> None:
        self.path = path
        self.share = share
        self.shares = shares
        self.relocatable = relocatable


def open_source(path: str) -> Source:
    """A path of the operating system, or a URL of any file system that fsspec knows.

    Raises:
        FileAccessError: it cannot be opened.
    """
    if "://" not in path:
        return PathSource(path)
    fsspec = import_fsspec(path)
    try:
        return FileSource(fsspec.open(path, "rb").open(), path)
    except FileAccessError:
        raise
    except Exception as error:  # each file system has errors of its own
        raise FileAccessError(f"cannot be opened: {error}", file=path) from error


def import_fsspec(path: str) -> Any:
    """The fsspec package.

    Raises:
        MissingPackageError: it is not installed.
    """
    try:
        import fsspec
    except ImportError as error:
        raise MissingPackageError.of("fsspec", "URLs", file=path) from error
    return fsspec


def scan_task(task: Task) -> list[Row]:
    """All rows of a task. Faults are rows too: nothing is raised for bad input."""
    return [row for rows in rows_by_image(task) for row in rows]


def rows_by_image(task: Task) -> Iterator[list[Row]]:
    """The rows of a task, those of one image after the other."""
    arena = Arena()
    try:
        source = open_source(task.path)
    except CubinError as error:
        if task.share == 0:
            yield [fault_row(task.path, task.path, None, error)]
        return
    try:
        for number, image in share_of(images_of(source), task.share, task.shares, stored_size):
            yield rows_of_image(task.path, number, image, arena, relocatable=task.relocatable)
    except Exception as error:
        # one file must not end a scan of thousands; memory, too, can run out on one
        yield [fault_row(task.path, task.path, None, unexpected(error, task.path))]


def rows_of_image(
    file: str, number: int, image: Image, arena: Arena, *, relocatable: bool = False
) -> list[Row]:
    """The row of an image and those of its kernels; a fault row if it cannot be read."""
    try:
        if image.error is not None:
            raise image.error
        return list(_rows(file, number, image, arena, relocatable))
    except CubinError as error:
        return [fault_row(file, str(image), number, error, image.provenance)]
    except Exception as error:
        fault = unexpected(error, str(image))
        return [fault_row(file, str(image), number, fault, image.provenance)]


def unexpected(error: Exception, file: str) -> CubinError:
    """The text of a row for an unexpected exception."""
    return CubinError(f"cannot be read: {type(error).__name__}: {error}", file=file)


def fault_row(
    file: str,
    path: str,
    number: int | None,
    error: CubinError,
    steps: tuple[Step, ...] = (),
) -> Row:
    """The row of a fault.

    Args:
        path: the way to the image as text.
        number: of the image in the file; ``None`` when the file could not be opened.
        steps: the way to the image.
    """
    return {
        "record": "fault",
        "file": file,
        "path": path,
        "image": number,
        "error": str(error),
        "provenance": [step.as_dict() for step in steps],
        "fault": error.as_dict(),
    }


def json_row(row: Row) -> Row:
    """A row as ``scan --json`` prints it: the way to the image and an error as data, not text."""
    record = {name: row.get(name) for name in NAMES if name not in ("path", "member")}
    return {**record, "provenance": row.get("provenance", []), "error": row.get("fault")}


def _rows(file: str, number: int, image: Image, arena: Arena, relocatable: bool) -> Iterator[Row]:
    from hashlib import sha256

    common: Row = {
        "record": "image",
        "file": file,
        "path": str(image),
        "member": " → ".join(s.name for s in image.provenance if s.kind == "member") or None,
        "section": image.section or None,
        "image": number,
        "kind": image.kind,
        "offset": image.offset,
        "stored_size": image.stored_size,
        "compression": image.compression,
        "superseded": image.superseded,
        "provenance": [step.as_dict() for step in image.provenance],
    }
    if image.scrambled:
        yield {**common, **_target(image.arch), "size": image.size}
        return
    data = image.view(arena)
    common["size"] = len(data)
    common["sha256"] = sha256(data).hexdigest()
    if image.kind != "cubin":
        yield {**common, **_target(image.arch)}
        return
    with Cubin(data, str(image)) as cubin:
        # Only the fatbin entry says that a cubin is for a family (sm_100f).
        arch = image.arch if image.entry is not None else cubin.arch
        common.update(_target(arch))
        common["type"] = cubin.header.type_word
        kernels = list(_kernels(cubin, common))
        yield {
            **common,
            "elf_type": cubin.header.type_name or f"{cubin.header.e_type:#x}",
            **_tool(cubin),
            "num_kernels": len(kernels),
        }
    if relocatable or not image.superseded:
        yield from kernels


def _kernels(cubin: Cubin, common: Row) -> Iterator[Row]:
    """The rows of the kernels of a cubin.

    Args:
        common: what they share with the row of the image.
    """
    for kernel, name in zip(cubin.kernels, cubin.kernels.names, strict=True):
        registers, stack, shared, local, const0, barriers, threads, params, size = (
            kernel.table.summary(kernel.symbol_index, kernel.owned_code)
        )
        yield {
            **common,
            "record": "kernel",
            "name": name,
            "demangled": readable(name),
            "registers": registers,
            "stack": stack,
            "shared": shared,
            "local": local,
            "const0": const0,
            "barriers": barriers,
            "max_threads": threads,
            "num_params": params,
            "param_size": size,
            "code_size": kernel.code_size,
        }


def _target(arch: str) -> Row:
    return {"arch": arch or None, "sm": split_arch(arch)[0] or None}


def _tool(cubin: Cubin) -> Row:
    for note in cubin.notes:
        if note.tool_name is not None:
            return {"tool": note.tool_name, "tool_version": note.tool_version}
    return {}
