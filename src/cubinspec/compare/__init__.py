"""Comparing device code: differences of two builds, fingerprints, budgets."""
