"""Who shares memory with whom: variables of shared memory, and constants of the compiler."""

from __future__ import annotations

from itertools import combinations

from cubinspec.format.packing import align_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cubinspec_writer.linker.model import Symbol
    from cubinspec_writer.linker.state import Constants, LinkState, SharedMemory

    Json = dict[str, Any]


def shared_memory(half: LinkState) -> Json:
    """Variables of shared memory: who uses them, which meet, which have one place.

    Numbers in ``groups`` and ``interferences`` are those of the list ``variables``.
    """
    shared = half.shared
    variables = [v for v in shared.users if v.is_defined]
    variables += [v for group in shared.groups for v in group if v not in shared.users]
    numbers = {variable: number for number, variable in enumerate(variables)}
    return {
        "variables": [
            {
                "name": variable.name,
                "size": variable.size,
                "align": variable.alignment,
                "offset": variable.value,
                "kernels": [kernel.name for kernel in shared.users.get(variable, ())],
            }
            for variable in variables
        ],
        "groups": [
            {
                "offset": group[0].value,
                "size": max(variable.size for variable in group),
                "variables": [numbers[variable] for variable in group],
            }
            for group in shared.groups
        ],
        "interferences": [[numbers[a], numbers[b]] for a, b in interferences(shared)],
        "dynamic": [
            {
                "offset": shared.dynamic_start.get(group[0], 0),
                "kernels": [kernel.name for kernel in group],
            }
            for group in shared.dynamic_groups
            if group
        ],
    }


def interferences(shared: SharedMemory) -> Iterator[tuple[Symbol, Symbol]]:
    """Variables with one place for all kernels of which some kernel needs both (rule S3)."""
    users = {
        variable: set(shared.users.get(variable, ()))
        for group in shared.groups
        for variable in group
    }
    for one, other in combinations(users, 2):
        if not users[one].isdisjoint(users[other]):
            yield one, other


def saved_by_groups(shared: SharedMemory) -> int:
    """How much less of shared memory it takes that variables share places."""
    apart = together = 0
    for group in shared.groups:
        together = align_up(together, max(v.alignment for v in group)) + max(v.size for v in group)
        for variable in group:
            apart = align_up(apart, variable.alignment) + variable.size
    return max(0, apart - together)


def shared_constants(constants: Constants) -> list[Json]:
    """Constants whose bytes are not written, as equal ones are in the same banks."""
    return [
        {
            "name": symbol.name,
            "function": None if section.owner is None else section.owner.name,
            "size": symbol.size,
            "offset": symbol.value,
        }
        for symbol, section in constants.aliases.items()
    ]
