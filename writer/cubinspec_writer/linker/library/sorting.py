"""The merge sort of nvlink, which decides the order of equal items."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cubinspec_writer.linker.model import Symbol


def split_sort(items: list[Symbol], first_wins: Callable[[Symbol, Symbol], bool]) -> list[Symbol]:
    """Sort as nvlink does: a merge sort that is not stable, so equal items change places.

    A list is dealt onto two piles in turn, each sorted the same way; `first_wins` says whether the
    head of the first pile goes first. The order of 2 to 12 equal variables in one pool and in one
    kernel shows both the dealing and who wins a tie.

    Rule S1.
    """
    if len(items) < 2:
        return items
    first = split_sort(items[-1 - (len(items) - 1) % 2 :: -2], first_wins)
    second = split_sort(items[-1 - len(items) % 2 :: -2], first_wins)
    merged: list[Symbol] = []
    i = j = 0
    while i < len(first) and j < len(second):
        if first_wins(first[i], second[j]):
            merged.append(first[i])
            i += 1
        else:
            merged.append(second[j])
            j += 1
    return merged + first[i:] + second[j:]
