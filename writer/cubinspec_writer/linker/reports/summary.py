"""What a link did, in numbers (`--summary`): kernels, sizes, what was dropped, what is shared."""

from __future__ import annotations

from cubinspec.model.cubin import Cubin
from cubinspec_generated.codes import (
    STT_COMMON,
    STT_CUDA_OBJECT,
    STT_CUDA_SAMPLER,
    STT_CUDA_SURFACE,
    STT_CUDA_TEXTURE,
    STT_FUNC,
    STT_OBJECT,
)
from cubinspec_writer.linker.library.copies import defined_here
from cubinspec_writer.linker.library.outsymbols import is_linked
from cubinspec_writer.linker.reports.sharing import saved_by_groups

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec_writer.linker.inputs.rows import InSymbol
    from cubinspec_writer.linker.state import LinkState

    Json = dict[str, Any]

#: What stands in a section's kind or body -> what its bytes are called; the first that fits counts.
_PARTS = (
    ("sass", "code"),
    ("capsule", "capsules"),
    ("constant", "constants"),
    ("global_init", "initial values"),
    ("dwarf", "debug data"),
    ("nv_debug", "debug data"),
)
_REST = "tables"
_HANDLES = (STT_CUDA_TEXTURE, STT_CUDA_SAMPLER, STT_CUDA_SURFACE)
_VARIABLES = frozenset((STT_OBJECT, STT_COMMON, STT_CUDA_OBJECT, *_HANDLES))


def summary(data: bytes, half: LinkState) -> Json:
    """The numbers of one link.

    Args:
        data: the linked cubin.
        half: the linked program; from sm_100 on its SASS half.
    """
    counts = _counts(half)
    shared = half.shared
    several = [v for v, users in shared.users.items() if len(users) > 1]
    aliases = half.constants.aliases
    return {
        "arch": half.job.options.arch,
        "inputs": len(half.objects),
        "size": len(data),
        "bytes": _parts(data),
        **counts,
        "shared": {
            "variables": len(several),
            "variables_saved": saved_by_groups(shared),
            "constants": len(aliases),
            "constants_saved": sum(symbol.size for symbol in aliases),
        },
    }


def _counts(half: LinkState) -> Json:
    """How many definitions were linked, dropped, or there a second time."""
    fates = {fate: {"kernels": 0, "functions": 0, "variables": 0, "code": 0} for fate in _FATES}
    for obj in half.objects:
        for row, symbol in zip(obj.symbols, obj.bound, strict=True):
            what = _what(row)
            if symbol is None or what is None or not row.shndx or symbol.internal:
                continue
            fate = "dropped"
            if is_linked(half.shared, symbol):
                fate = "linked" if defined_here(obj, row.index) else "duplicate"
            fates[fate][what] += 1
            if row.kind == STT_FUNC:
                fates[fate]["code"] += row.size
    return dict(fates)


_FATES = ("linked", "dropped", "duplicate")


def _what(row: InSymbol) -> str | None:
    if row.kind == STT_FUNC:
        return "kernels" if row.is_entry else "functions"
    return "variables" if row.kind in _VARIABLES else None


def _parts(data: bytes) -> dict[str, int]:
    """Bytes of the file by what they are; they sum to its size."""
    found = dict.fromkeys([name for _, name in _PARTS], 0)
    with Cubin.parse(data, "output") as cubin:
        for section in cubin.sections:
            words = f"{section.kind} {section.body}"
            name = next((name for part, name in _PARTS if part in words), None)
            if name is not None:
                found[name] += len(section.data)
    found[_REST] = len(data) - sum(found.values())
    return {name: size for name, size in found.items() if size}


def summary_lines(name: str, record: Json) -> list[str]:
    """The numbers as text, without the table of kernels.

    Args:
        name: of the file that was written.
    """
    shared = record["shared"]
    inputs = f"{record['inputs']} input{'' if record['inputs'] == 1 else 's'}"
    parts = ", ".join(f"{part} {size:,}" for part, size in record["bytes"].items())
    lines = [f"{name}: {record['arch']}, {record['size']:,} bytes, linked of {inputs}"]
    lines.append(f"  bytes      {parts}")
    for fate in _FATES:
        counts = record[fate]
        words = [_counted(counts[what], what) for what in ("kernels", "functions", "variables")]
        lines.append(f"  {fate:<10} {', '.join(words)}; {counts['code']:,} bytes of code")
    variables = f"{_counted(shared['variables'], 'variables')} of shared memory with several users"
    constants = f"{_counted(shared['constants'], 'constants')} that stand elsewhere"
    lines.append(f"  shared     {variables}, {shared['variables_saved']:,} bytes saved by groups")
    lines.append(f"             {constants}, {shared['constants_saved']:,} bytes saved")
    return lines


def _counted(count: int, what: str) -> str:
    return f"{count} {what[:-1] if count == 1 else what}"
