"""Bytes to rows: fixed-size records go through the generated scanners, unread and unjudged."""
