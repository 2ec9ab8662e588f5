"""The error of a target when the package broke a promise without raising an error itself."""


class OracleError(AssertionError):
    """A promise does not hold."""
