"""Consumers of the model: everything the commands show, as plain data."""
