"""The sub-commands of ``cubinspec`` that change a cubin: one module per command."""
