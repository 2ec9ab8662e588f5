"""Languages that kernels take over from functions (rule K34)."""

from __future__ import annotations

import pytest

from cubinspec.format.attributes import raw_record
from cubinspec_generated.codes import (
    EIATTR_CUDA_API_VERSION,
    EIATTR_LANGUAGE,
    EIFMT_SVAL,
    STB_GLOBAL,
    STT_FUNC,
)
from cubinspec_writer.linker.diagnostics import Diagnostics
from cubinspec_writer.linker.model import Symbol
from cubinspec_writer.linker.passes.attributes.takeover import Taker


def _record(code: int, *words: int) -> bytes:
    return raw_record(EIFMT_SVAL, code, 0, b"".join(word.to_bytes(4, "little") for word in words))


def _languages(*words: int) -> bytes:
    return _record(EIATTR_LANGUAGE, *words)


def _function(name: str) -> Symbol:
    return Symbol(name, STB_GLOBAL, STT_FUNC, 0)


_OTHER = _record(EIATTR_CUDA_API_VERSION, 132)


@pytest.mark.parametrize(
    ("own", "after"),
    [
        ([_languages(9), _OTHER], [_languages(9, 4, 6), _OTHER]),
        ([_languages(6), _OTHER], [_languages(6, 4), _OTHER]),
        ([_OTHER], [_OTHER, _languages(4, 6)]),
    ],
)
def test_kernels_append_what_they_lack(own: list[bytes], after: list[bytes]) -> None:
    functions = [_function("f"), _function("g")]
    asked = {functions[0]: [_languages(4)], functions[1]: [_languages(6, 4)]}
    taker = Taker(Diagnostics(), _function("k"), own)
    taker.from_below(functions, asked)
    assert taker.records == after


@pytest.mark.parametrize(
    ("own", "after"),
    [
        ([_languages(9), _OTHER], [_OTHER, _languages(4, 9, 6)]),
        ([_languages(6, 4), _OTHER], [_languages(6, 4), _OTHER]),
    ],
)
def test_the_only_kernel_gets_them_in_the_order_of_inputs(
    own: list[bytes], after: list[bytes]
) -> None:
    kernel, first, last = _function("k"), _function("f"), _function("g")
    taker = Taker(Diagnostics(), kernel, own)
    taker.behind_names([first, kernel, last], {first: [_languages(4)], last: [_languages(6)]})
    assert taker.records == after
