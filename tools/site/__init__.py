"""The site: docs, a page per command and per ``.ksy``, and the explorer (``make site``)."""
