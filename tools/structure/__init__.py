"""The structure of the code, measured from its imports: floors, circles, sizes, pictures."""
