"""What a target raises when the package broke a promise without raising anything itself."""


class OracleError(AssertionError):
    """A promise does not hold."""
