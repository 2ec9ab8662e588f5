"""Damaged cubins on purpose: what mutates them, what looks at everything, what runs both."""
