"""What the campaign calls with every damaged file: one function for each way into the package.

A target returns when the bytes were read, or were refused with a `CubinError`. Anything else that
comes out is a finding: another exception, a promise that does not hold (`OracleError`).
"""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from operator import methodcaller
from pathlib import Path
from typing import Any
from zlib import crc32

from cubinspec import Cubin
from cubinspec.cli import main as cubinspec
from cubinspec.compare.budget_file import parse_budget
from cubinspec.containers import images
from cubinspec.containers.arena import Arena
from cubinspec.errors import CubinError
from cubinspec.format.escapes import escaped
from cubinspec.reader.kaitai import parse as parse_kaitai
from cubinspec_writer.checker import check
from cubinspec_writer.editor import Edit, NoteChange, Resources
from cubinspec_writer.emitter import describe, emit
from cubinspec_writer.emitter.roundtrip import roundtrip
from cubinspec_writer.linker import link
from cubinspec_writer.yaml_form import from_yaml, to_yaml
from tools.corpus import samples
from tools.fuzz.built import built
from tools.fuzz.oracle import OracleError
from tools.fuzz.streams import STREAMS
from tools.fuzz.walk import walk_everything

#: Takes a file; what it raises is a finding.
Target = Callable[[bytes], None]

#: Command lines; words in braces stand for the file, a folder, a kernel and other files.
COMMANDS = (
    *(
        "kernels --all {file}",
        "kernels --json {file}",
        "images --csv {file}",
        "images --json {file}",
    ),
    *("archs --why {file}", "size {file}", "host {file}", "params {file}", "lines {file} {kernel}"),
    *("dump {file}", "dump --json {file}", "tree {file}", "coverage {file}", "ptx {file}"),
    *("ptx -o {out}/ptx {file}", "extract -q -o {out}/all {file}", "pack {file} -o {out}/new"),
    *("callgraph {file}", "callgraph --json {file}", "fingerprint {file}", "occupancy {file}"),
    *("check {file}", "check --json {file}", "roundtrip {file}", "to-yaml {file}"),
    *("scan --csv -j 1 {file}", "report -j 1 {file} -o {out}/page.html", "diff {other} {file}"),
    *("budget init {file} --budget {out}/new.toml", "budget check {file} --budget {budget}"),
    *("keep {file} {kernel} -o {out}/new", "remove {file} {kernel} -o {out}/new"),
    *("rename {file} {kernel} fuzzed -o {out}/new", "strip --debug --tkinfo {file} -o {out}/new"),
    *("set {file} --kernel {kernel} --stack 64 -o {out}/new", "from-yaml {file} -o {out}/new"),
    *("retarget-note {file} --toolkit 12.9 -o {out}/new", "link -arch=sm_90 {file} -o {out}/new"),
)
#: Statuses of commands that say more than that a file could not be used.
_STATUSES = {"diff": range(3), "budget": range(8)}
#: What a command may print: so much for any file, and so much for each of its bytes.
_OUTPUT, _OUTPUT_PER_BYTE = 1 << 18, 1000
_BUDGET = """\
[[kernel]]
name = "*"
registers = { max = 255 }
"""
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
        changes.append(methodcaller("retarget_note", NoteChange(toolkit=129)))
        for change in changes:
            with contextlib.suppress(CubinError):
                edit = Edit(data, _FILE)
                change(edit)
                edit.to_bytes()


#: Options of links; a file takes one of them, by its bytes.
_LINKS: tuple[dict[str, Any], ...] = (
    *({}, {"relocatable": True}, {"debug": True}, {"preserve_relocs": True}, {"verbose": True}),
    *({"kernels_used": ["k"]}, {"variables_used": ["v"]}, {"share_constants": True}),
    *({"drop_debug": True}, {"keep_system_libraries": True}, {"toolkit": "12.8"}),
    *({"dump_callgraph": True, "demangle": True}, {"undefined_globals": True}),
    *({"relocatable": True, "preserve_relocs": True}, {"relocatable": True, "debug": True}),
    *({"reserve_shared": False}, {"warnings_are_errors": True, "stack_warnings": True}),
)


def linked(data: bytes) -> None:
    """A link of the file alone and with another one; a clean file gives a clean one or none."""
    with contextlib.suppress(CubinError):
        arch = Cubin.parse(data, _FILE).arch
        is_clean = not _errors(data)
        given = {"ignore_unlinkable": True, **_LINKS[crc32(data) % len(_LINKS)]}
        for inputs in ([data], [data, _partner(arch)]):
            with contextlib.suppress(CubinError):
                made = link(inputs, arch, **given).bytes
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
    folder = Path(_folder().name)
    path, out_folder = folder / _FILE, folder / "out"
    path.write_bytes(data)
    out_folder.mkdir(exist_ok=True)
    (folder / "budget.toml").write_text(_BUDGET)
    places = {
        "file": str(path),
        "out": str(out_folder),
        "kernel": _kernel(data),
        "other": str(samples.CUBINS / _OTHER_BUILD),
        "budget": str(folder / "budget.toml"),
    }
    line = COMMANDS[crc32(data) % len(COMMANDS)]
    words = [word.format(**places) for word in line.split()]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cubinspec(words)
    shutil.rmtree(out_folder)
    said = err.getvalue()
    if "cannot be read: " in said:
        raise OracleError(f"{line}: {said[:300]}")
    if status not in _STATUSES.get(words[0], (0, 1)) or (status and not (said or out.getvalue())):
        raise OracleError(f"{line}: status {status}, {said[:300]!r}")
    if any(not (char.isprintable() or char == "\n") for char in said):
        raise OracleError(f"{line}: control characters in {said[:300]!r}")
    if len(said) + len(out.getvalue()) > _OUTPUT + _OUTPUT_PER_BYTE * len(data):
        raise OracleError(f"{line}: {len(said)} and {len(out.getvalue())} characters")


def _kernel(data: bytes) -> str:
    """The name of a kernel as a command line takes it."""
    with contextlib.suppress(CubinError), Cubin.parse(data, _FILE) as found:
        for kernel in found.kernels:
            if (name := escaped(kernel.name)) and name[0] not in "-@":
                return name
    return "k"


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


def _of_format(name: str, what: str) -> Target:
    """A target for files of one format, which has seeds and a corpus of its own."""

    def target(data: bytes) -> None:
        containers(data)

    target.__name__, target.__doc__ = name, what
    return target


_FORMATS = (
    _of_format("ar_archive", "An `ar` archive."),
    _of_format("tar_archive", "A tar archive."),
    _of_format("zip_archive", "A zip archive, such as a wheel."),
    _of_format("compressed", "A file of gzip, bzip2, xz or zstd."),
    _of_format("fatbin_file", "A fatbin."),
    _of_format("elf_host", "Host code in ELF."),
    _of_format("windows_host", "Host code for Windows, linked or not."),
    _of_format("macho_host", "Host code in Mach-O."),
    _of_format("ptx_text", "PTX."),
)
TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        *(containers, *_FORMATS, cubin, readers, emitted, everything, text_form, documents),
        *(budgets, built, checked, edited, linked, commands, compared, *STREAMS),
    )
}
