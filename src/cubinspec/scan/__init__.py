"""Inventories of many images: in several processes, on several machines."""
