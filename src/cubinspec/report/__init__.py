"""What the commands show, as dictionaries and lists ready for JSON."""
