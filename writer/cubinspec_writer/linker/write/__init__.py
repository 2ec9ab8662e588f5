"""The linked program to bytes."""
