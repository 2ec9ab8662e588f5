"""Assembles PTX inputs with an external `ptxas`."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from cubinspec_writer.linker.diagnostics import UnsupportedLinkError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec_writer.linker.diagnostics import Diagnostics
    from cubinspec_writer.linker.inputs.options import LinkOptions


def assemble(name: str, data: bytes, options: LinkOptions, diagnostics: Diagnostics) -> bytes:
    """The relocatable cubin of a PTX text.

    Raises:
        LinkError: there is no `ptxas`, or it refuses the text.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder) / "input.ptx", Path(folder) / "output.cubin"
        source.write_bytes(data.rstrip(b"\0"))  # a text may end as in C
        # Family variants are assembled as the base variant (rule T5).
        arch = options.arch.removesuffix("f")
        command = [options.ptxas, f"-arch={arch}", "-m64", "-c", str(source), "-o", str(result)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            raise UnsupportedLinkError(
                f"PTX input '{name}' without ptxas (give --ptxas or put it on PATH)"
            ) from None
        if done.returncode:
            first = next(iter(done.stderr.splitlines()), "no message")
            raise diagnostics.fatal(f"ptxas failed on '{name}': {first}")
        return result.read_bytes()
