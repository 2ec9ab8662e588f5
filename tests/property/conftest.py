"""Hypothesis profiles: `ci` is short and the same on every run, `long` looks further.

`HYPOTHESIS_PROFILE=long make test` (or `python -m tools.fuzz`) for more than a smoke test.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_COMMON = {"deadline": 20_000, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("ci", max_examples=100, derandomize=True, **_COMMON)
settings.register_profile("long", max_examples=5000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
