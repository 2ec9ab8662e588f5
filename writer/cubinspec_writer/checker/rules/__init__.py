"""The rules: what every cubin of every known producer satisfies.

A rule is a function that yields findings. Its decorator holds the sentence, what the sentence
rests on, and what to do about a violation. A real file that breaks a rule means that the rule is
wrong: all of the development corpus passes.

    layout       places of headers, sections and segments in the file
    sections     types, flags and references of section headers
    identity     e_flags and notes: what the file says about itself
    symbols      symbol tables
    calls        call graph and prototypes
    relocations  relocation sections
    debug        line tables
    attributes   .nv.info and its relatives
"""

from __future__ import annotations

from cubinspec_writer.checker.rules import (
    attributes,
    calls,
    debug,
    dwarf,
    identity,
    layout,
    relocations,
    sections,
    symbols,
)
from cubinspec_writer.checker.rules.base import REGISTERED, Rule

__all__ = [
    "RULES",
    "Rule",
    "attributes",
    "calls",
    "debug",
    "dwarf",
    "identity",
    "layout",
    "relocations",
    "sections",
    "symbols",
]

#: All rules in the order of their numbers.
RULES: tuple[Rule, ...] = tuple(sorted(REGISTERED, key=lambda rule: rule.id))
