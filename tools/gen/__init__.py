"""Generates everything that follows from ``ksy/``: readers, record scanners, tables."""
