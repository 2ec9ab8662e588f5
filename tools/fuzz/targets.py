"""What the campaign calls with every damaged file: one function for each way into the package.

A target returns when the bytes were read, or were refused with a `CubinError`. Anything else that
comes out is a finding: another exception, a promise that does not hold (`OracleError`).
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable
from functools import cache
from operator import methodcaller
from pathlib import Path
from random import Random

from cubinspec import Cubin
from cubinspec.cli import main as cubinspec
from cubinspec.compare.budget import parse_budget
from cubinspec.containers import images
from cubinspec.containers.arena import Arena
from cubinspec.errors import CubinError
from cubinspec.reader.kaitai import parse as parse_kaitai
from cubinspec_writer.checker import check
from cubinspec_writer.editor import Edit, Resources
from cubinspec_writer.emitter import describe, emit
from cubinspec_writer.emitter.roundtrip import roundtrip
from cubinspec_writer.linker import link
from cubinspec_writer.yaml_form import from_yaml, to_yaml
from tools.corpus import samples
from tools.fuzz.oracle import OracleError
from tools.fuzz.streams import STREAMS
from tools.fuzz.walk import walk_everything

#: Takes a file; what it raises is a finding.
Target = Callable[[bytes], None]

_COMMANDS = (
    *("kernels --all", "kernels --json", "images --csv", "images --json", "archs --why", "size"),
    *("dump", "dump --json", "tree", "coverage", "ptx", "callgraph", "fingerprint", "occupancy"),
    *("params", "check", "check --json", "roundtrip", "to-yaml", "scan --csv -j 1"),
)
_FILE = "fuzz.cubin"


def containers(data: bytes) -> None:
    """Every image in a file, asked for everything, and its bytes."""
    arena = Arena()
    for image in images(data, name=_FILE):
        with contextlib.suppress(CubinError):
            image.as_dict()
        with contextlib.suppress(CubinError):
            _ = image.options, image.superseded, image.section, str(image)
        with contextlib.suppress(CubinError):
            image.view(arena)


def cubin(data: bytes) -> None:
    """Kernels and their numbers."""
    with contextlib.suppress(CubinError), Cubin.parse(data, _FILE) as found:
        for kernel in found.kernels:
            kernel.as_dict()


def everything(data: bytes) -> None:
    """Every public attribute of every object."""
    with contextlib.suppress(CubinError):
        walk_everything(Cubin.parse(data, _FILE))


def readers(data: bytes) -> None:
    """What the generated reader takes, the fast one opens, and the other way round."""
    try:
        parse_kaitai(data, _FILE)
    except CubinError:
        return
    with contextlib.suppress(CubinError):
        _ = [section.name for section in Cubin.parse(data, _FILE).sections]


def emitted(data: bytes) -> None:
    """A description gives the same bytes again, or the file is called different."""
    try:
        same = emit(describe(data, _FILE)) == data
        told = roundtrip(data, _FILE).identical
    except CubinError:
        return
    if same != told:
        raise OracleError(f"emit is {same}, roundtrip says {told}")


def text_form(data: bytes) -> None:
    """What has a text form comes back from it byte for byte."""
    try:
        text = to_yaml(data, _FILE)
    except CubinError:
        return
    if from_yaml(text, "fuzz.yaml") != data:
        raise OracleError("from_yaml(to_yaml(x)) is not x")


def documents(data: bytes) -> None:
    """A document that is damaged itself."""
    with contextlib.suppress(CubinError):
        from_yaml(data.decode("utf-8", "replace"), "fuzz.yaml")


def budgets(data: bytes) -> None:
    """A budget file."""
    with contextlib.suppress(CubinError):
        parse_budget(data.decode("utf-8", "replace"), "fuzz.toml")


def checked(data: bytes) -> None:
    """The rules of the spec."""
    with contextlib.suppress(CubinError):
        check(data, _FILE)


def edited(data: bytes) -> None:
    """Each edit; the result is no worse than the file was."""
    with contextlib.suppress(CubinError):
        names = [kernel.name for kernel in Cubin.parse(data, _FILE).kernels][:2]
        changes = [methodcaller("strip", debug=True, tkinfo=True)]
        for name in names:
            changes += [
                methodcaller("keep", [name]),
                methodcaller("remove", [name]),
                methodcaller("rename", name, "fuzzed"),
                methodcaller("set", name, Resources(registers=40)),
            ]
        for change in changes:
            with contextlib.suppress(CubinError):
                edit = Edit(data, _FILE)
                change(edit)
                edit.to_bytes()


def linked(data: bytes) -> None:
    """A link of the file alone and with another one; a clean file gives a clean one or none."""
    with contextlib.suppress(CubinError):
        arch = Cubin.parse(data, _FILE).arch
        is_clean = not _errors(data)
        for inputs in ([data], [data, _partner(arch)]):
            with contextlib.suppress(CubinError):
                made = link(inputs, arch, ignore_unlinkable=True).bytes
                if is_clean and (errors := _errors(made)):
                    raise OracleError(f"a clean file was linked, but the output has: {errors}")


def _errors(data: bytes) -> list[str]:
    """The rules that a file breaks."""
    return [str(found) for found in check(data, _FILE)]


@cache
def _partner(arch: str) -> bytes:
    """A sample that can be linked for a target, as far as there is one."""
    found = sorted(samples.CUBINS.glob(f"callee.{arch}*.rel.cubin"))
    return (found or sorted(samples.CUBINS.glob("callee.*.rel.cubin")))[0].read_bytes()


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def commands(data: bytes) -> None:
    """A command line; its status fits what it said, and no exception became a row."""
    path = Path(_folder().name) / _FILE
    path.write_bytes(data)
    words = Random(len(data) + sum(data[-8:])).choice(_COMMANDS).split()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cubinspec([*words, str(path)])
    said = err.getvalue()
    if "cannot be read: " in said:
        raise OracleError(f"{words}: {said[:300]}")
    if status not in (0, 1) or (status and not (said or out.getvalue())):
        raise OracleError(f"{words}: status {status} without a word")
    if any(not (char.isprintable() or char == "\n") for char in said):
        raise OracleError(f"{words}: control characters in {said[:300]!r}")


def compared(data: bytes) -> None:
    """A file beside another build and beside itself, from which it never differs."""
    path = Path(_folder().name) / "new.cubin"
    path.write_bytes(data)
    for other, wanted in ((samples.CUBINS / _OTHER_BUILD, (0, 1, 2)), (path, (0, 2))):
        err = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            status = cubinspec(["diff", "--json", str(other), str(path)])
        if status not in wanted or (status == 2) != bool(err.getvalue()):
            raise OracleError(f"diff ends with {status}: {err.getvalue()[:300]!r}")


_OTHER_BUILD = "small.sm_90.exe.cubin"

TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        *(containers, cubin, readers, emitted, everything, text_form, documents, budgets),
        *(checked, edited, linked, commands, compared, *STREAMS),
    )
}
