"""Suggests what an unknown word was meant to be."""

from __future__ import annotations


def did_you_mean(word: str, words: list[str]) -> str:
    """``; did you mean --json?``, or nothing when no word is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, words, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(near)}?" if near else ""
