"""Assembles PTX inputs with an external `ptxas`."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from cubinspec.values import listed
from cubinspec_writer.linker.diagnostics import UnsupportedLinkError
from cubinspec_writer.linker.inputs.options import debugger_sees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.format.targets import Toolkit
    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.inputs.options import LinkOptions


#: The longest text that a word of a command line may have.
_MAX_WORD = 0x1FFFF
#: Keep what the optimizer joins or moves, so that a debugger finds it.
_KEEPING_BLOCKS = ("-no-bb-merge", "-ret-end")
_REFUSED = frozenset(("-o", "--output-file", "-optf", "--options-file"))


def assemble(
    name: str,
    data: bytes,
    own_options: list[str],
    options: LinkOptions,
    toolkit: Toolkit,
    diagnostics: Diagnostics,
) -> bytes:
    """The relocatable cubin of a PTX text; what `ptxas` prints is reported (rule T10).

    Args:
        own_options: words for `ptxas` that a fatbin has for this text.

    Raises:
        LinkError: there is no `ptxas`, it refuses the text, or it was asked for something else.
    """
    if diagnostics.has_errors():  # warnings that -Werror made errors (rule M27)
        raise diagnostics.fatal("elfLink fatbinary error")
    words = _words(own_options, options, toolkit)
    for word in words:
        # an input must not say where a file is written
        if word.partition("=")[0] in _REFUSED:
            raise UnsupportedLinkError(f"PTX input '{name}' with the option '{word}' for ptxas")
    program = shutil.which(options.ptxas)
    if program is None:
        raise UnsupportedLinkError(
            f"PTX input '{name}' without ptxas (give --ptxas or put it on PATH)"
        )
    text = data.rstrip(b"\0")  # it may end as in C
    with tempfile.TemporaryDirectory() as folder:
        command: list[str | bytes] = [os.path.abspath(program), *words]
        if len(text) > _MAX_WORD or b"\0" in text or text.startswith(b"-"):
            (Path(folder) / "input.ptx").write_bytes(text)
            command.append("input.ptx")
        else:
            command += ["-ias", text]  # no file gets into the tool note, which stays with -g
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        said = (done.stdout + done.stderr).decode("utf-8", "surrogateescape")
        said = said.replace("ptxas input.ptx,", "ptxas application ptx input,")
        diagnostics.report("ptxas", said.splitlines())
        _pass_on(words, diagnostics)
        if done.returncode:
            raise diagnostics.fatal("elfLink fatbinary error")
        try:
            return (Path(folder) / "elf.o").read_bytes()
        except FileNotFoundError:
            raise UnsupportedLinkError(f"ptxas made nothing of '{name}'") from None


def finds_ptxas(options: LinkOptions) -> bool:
    """Whether the program that assembles PTX is there."""
    return shutil.which(options.ptxas) is not None


def _words(own_options: list[str], options: LinkOptions, toolkit: Toolkit) -> list[str]:
    """The options of `ptxas`."""
    # Family variants are assembled as the base variant (rule T5).
    words = [f"-arch={options.arch.removesuffix('f')}", "-m64", "-c", *own_options]
    words += listed(options.ptxas_options)
    if debugger_sees(options):
        words.append("-g")
        if toolkit.keeps_blocks_for_debugger:  # rule K24
            words += _KEEPING_BLOCKS
    return words


def _pass_on(words: list[str], diagnostics: Diagnostics) -> None:
    """What `ptxas` was told of warnings holds for the rest of the link, too (rule T10)."""
    diagnostics.has_warnings = not {"-w", "--disable-warnings"} & set(words)
    diagnostics.warnings_are_errors = bool({"-Werror", "--warning-as-error"} & set(words))
