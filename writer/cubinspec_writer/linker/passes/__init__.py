"""The passes of the link, one module each."""
