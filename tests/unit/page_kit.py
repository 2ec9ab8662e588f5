"""What tests of pages share: hostile files, and the data out of a page."""

from __future__ import annotations

import json
from base64 import b64decode
from gzip import decompress
from pathlib import Path
from re import DOTALL, search
from typing import Any

from cubinspec import Cubin
from cubinspec.containers.fatbin_write import container, entry_for
from cubinspec_writer.editor import Edit
from tools.corpus.containers import elf_host

SAMPLES = Path(__file__).parents[1] / "data" / "cubins"
#: Names that would do harm in a page that took them for markup, or would look like others.
HOSTILE = (
    "<script>window.harm=1</script>",
    "\"><img src=x onerror='window.harm=1'>",
    "&amp;</script><b>bold",
    "right\u202eto\u202cleft",
    "line\nbreak\x07bell",
    "${window.harm=1}",
)


def data_of(page: bytes) -> dict[str, Any]:
    """The data that stands in a page."""
    found = search(rb'<script type="application/gzip" id="data">(.*?)</script>', page, DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(decompress(b64decode(found[1])))
    return data


def hostile_cubin() -> bytes:
    """A cubin whose kernels have such names."""
    path = SAMPLES / "kernels.sm_90.exe.cubin"
    edit = Edit(path.read_bytes())
    kernels = [function.name for function in Cubin.open(path).kernels]
    for old, new in zip(kernels, HOSTILE, strict=False):
        edit.rename(old, new)
    return edit.to_bytes(checked=False)


def library(*cubins: bytes) -> bytes:
    """A shared object that holds some cubins in one fatbin."""
    entries = [entry_for(data) for data in cubins]
    return elf_host({".nv_fatbin": container(entries)})
