"""What is told about a link: map, reasons, resources, call graph."""
