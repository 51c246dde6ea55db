"""What breaks, when, and the true diagnosis."""
