"""What a new user does: install the package, and try what README and docs show."""
