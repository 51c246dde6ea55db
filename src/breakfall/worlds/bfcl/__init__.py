"""BFCL's multi-turn tasks with its own executable APIs and its own checkers (registry package `bfcl-eval`)."""

from breakfall.worlds.bfcl.world import BfclWorld

__all__ = ["BfclWorld"]
