"""What several passes need: questions about inputs, symbols, fields and demands."""
