"""The spec in other languages: one program per language that prints the records of a file."""
