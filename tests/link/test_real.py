"""Links that somebody did years ago: the same code, and nvlink 13.0.88's bytes."""

from __future__ import annotations

import pytest

from cubinspec_writer.linker import Named, link
from cubinspec_writer.linker.command import linker_note
from tools.linkcases import real

WHEELS = real.ROOT / ".cache" / "wheels"


@pytest.mark.corpus
@pytest.mark.oracle("nvlink")
@pytest.mark.parametrize(("version", "arch"), [("10.2", "sm_75"), ("11.1", "sm_80")])
def test_bitsandbytes(version: str, arch: str) -> None:
    wheel = next(WHEELS.glob(real.WHEELS[version]), None)
    if wheel is None:
        pytest.skip("the wheels are not fetched (make corpus)")
    first, second, result = real.cases(wheel)[arch]
    inputs = [Named("ops.cubin", first), Named("kernels.cubin", second)]
    reference = real.with_nvlink(inputs, arch)
    assert reference is not None
    ours = link(inputs, arch=arch, tkinfo=linker_note(reference, "nvlink")).bytes
    assert ours == reference
    same, other, _, single = real.compare(result, ours)
    assert single == 0
    assert other[".text.*"] == 0 < same[".text.*"]
