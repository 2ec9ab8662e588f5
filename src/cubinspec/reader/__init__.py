"""Bytes to rows: fixed-size records go through the generated scanners, nothing is interpreted here."""
