"""`make link-sweep`: synthetic inputs for everything that an attribute or a section can be."""
