"""Programs in other languages that read cubins with the generated classes."""
