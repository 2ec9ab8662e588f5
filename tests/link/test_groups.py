"""Groups of symbols that are linked directly or through others."""

from __future__ import annotations

from cubinspec_writer.linker.library.groups import joined
from cubinspec_writer.linker.model import Symbol

A, B, C, D, E = (Symbol(name, 0, 0, 0) for name in "abcde")


def test_links_join_groups_in_the_order_in_which_they_are_met() -> None:
    assert joined([[A, B], [C], [D, E], [B, E]]) == [[A, B, D, E], [C]]
    assert joined([[C, C], [B, A], [A]]) == [[C], [B, A]]
    assert joined([[], [A], [A]]) == [[A]]
    assert joined([]) == []


def test_many_links_are_joined_at_once() -> None:
    many = [Symbol(str(number), 0, 0, 0) for number in range(20_000)]
    chain = joined([many[at : at + 2] for at in range(len(many) - 1)])
    star = joined([[many[0], other] for other in reversed(many)])
    assert [len(group) for group in (*chain, *star)] == [len(many)] * 2
