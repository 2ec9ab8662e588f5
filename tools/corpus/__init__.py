"""Real cubins to test against: our own samples, and what public wheels hold."""
