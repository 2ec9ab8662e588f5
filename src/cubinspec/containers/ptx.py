"""Reads from PTX what an inventory needs: its version and the names of its kernels."""

from __future__ import annotations


def ptx_version(text: bytes) -> str:
    """``8.3`` for ``.version 8.3``; empty when there is no such directive."""
    import re

    match = re.search(rb"\.version[ \t]+(\d+\.\d+)", text)
    return match[1].decode() if match else ""


def entry_names(text: bytes) -> list[str]:
    """Names of the kernels, in file order."""
    import re

    names = re.findall(rb"\.entry\s+([A-Za-z_$%][A-Za-z0-9_$]*)", text)
    return [name.decode("ascii") for name in dict.fromkeys(names)]
