"""The sub-commands of ``cubinspec`` for the YAML form: one module per command."""
