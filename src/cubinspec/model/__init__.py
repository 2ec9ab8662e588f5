"""Typed, lazy views of a cubin's content: what users of the library hold in their hands."""
