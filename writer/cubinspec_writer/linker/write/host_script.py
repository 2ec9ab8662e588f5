"""Linker scripts for host programs (`--gen-host-linker-script`).

Both keep the sections with device code together. `lcs-aug` is a script that adds to the host
linker's own; `lcs-abs` replaces it, so the host linker's default script comes first, as `ld` prints
it for the emulation that `gcc` uses.
"""

from __future__ import annotations

import re
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cubinspec_writer.linker.diagnostics import Diagnostics

_SECTIONS = """\
SECTIONS
{
\t.nvFatBinSegment : { *(.nvFatBinSegment) }
\t__nv_relfatbin : { *(__nv_relfatbin) }\x20
\t.nv_fatbin : { *(.nv_fatbin) }
}
"""
_LINKER_WORDS = re.compile(r"(?<!\w)(?:-pie|-z \S*|-m \S*|-r|-shared)(?!\w)")


def text(whole: bool, diagnostics: Diagnostics) -> str:
    """The script.

    Args:
        whole: with the host linker's own script in front.

    Raises:
        LinkError: the host has no `ld` that prints its script.
    """
    return _host_script(diagnostics) + _SECTIONS if whole else _SECTIONS


def _host_script(diagnostics: Diagnostics) -> str:
    compiler = _output(["gcc", "-###", "/dev/null", "-m64"]).splitlines()
    calls = " ".join(line for line in compiler if "collect2" in line)
    words = [w for found in _LINKER_WORDS.findall(calls) for w in found.split()]
    version = set(_output(["ld", "-V"]).splitlines())
    said = [s for s in _output(["ld", "--verbose", *words]).splitlines() if s not in version]
    # Two lines say that this is the script, the last one that it was.
    script = said[2:-1]
    if not script:
        raise diagnostics.fatal("Host linker script creation failed.")
    return "\n".join(script) + "\n"


def _output(command: Sequence[str]) -> str:
    """What a program says; nothing when there is no such program."""
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "surrogateescape")
