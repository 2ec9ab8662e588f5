"""Groups of what belongs together, directly or through others."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cubinspec_writer.linker.model import Symbol


def joined(links: Iterable[Iterable[Symbol]]) -> list[list[Symbol]]:
    """The groups that links make; groups and members come in the order in which they are met.

    Args:
        links: symbols that belong together. Each symbol is in one group in the end.
    """
    group_of: dict[Symbol, list[Symbol]] = {}
    for link in links:
        whole: list[Symbol] = []
        for member in link:
            group = group_of.setdefault(member, [member])
            if group is whole:
                continue
            # The smaller one moves, so that no symbol moves often.
            small, whole = (group, whole) if len(group) < len(whole) else (whole, group)
            whole += small
            group_of.update(dict.fromkeys(small, whole))
    met: dict[int, list[Symbol]] = {}
    for member, group in group_of.items():
        met.setdefault(id(group), []).append(member)
    return list(met.values())
