"""What makes and checks the package."""

#: Set while tests run on an installed wheel with compiled modules (`make test-compiled`).
COMPILED_TESTS = "CUBINSPEC_TESTS_COMPILED"
