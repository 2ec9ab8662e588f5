"""What makes and checks the package."""
