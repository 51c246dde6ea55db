"""Proofs on real services, run by `breakfall demo`: own processes, real databases, real kills."""
