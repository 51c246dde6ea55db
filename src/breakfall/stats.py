"""Intervals and tests: pure arithmetic."""
