"""The linker's own writer gives the bytes that the emitter gives for the same program."""

from __future__ import annotations

from pathlib import Path

import pytest

from cubinspec_writer.linker import LinkOptions, Named, link
from cubinspec_writer.linker.write.output import write as write_by_emitter
from tools.linkcases.basic import BasicProgram
from tools.oracle import Tool


@pytest.mark.oracle("ptxas")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("seed", [1, 5, 9, 14, 86])
def test_both_writers_agree(seed: int, arch: str, ptxas: Tool, tmp_path: Path) -> None:
    inputs = []
    for number, text in enumerate(BasicProgram(seed).files):
        source, target = tmp_path / f"{number}.ptx", tmp_path / f"{number}.cubin"
        source.write_text(text, encoding="utf-8")
        ptxas.run(f"-arch={arch}", "-c", source, "-o", target).check()
        inputs.append(Named(target.name, target.read_bytes()))
    for preserve in (False, True):
        result = link(inputs, LinkOptions(arch, preserve_relocs=preserve))
        assert write_by_emitter(result.half) == result.bytes
