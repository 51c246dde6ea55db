"""Decide after a failure: pure rules."""
