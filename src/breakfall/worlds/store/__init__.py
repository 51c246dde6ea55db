"""The store: a retail back office that a support agent works in, the embedded default world."""

from breakfall.worlds.store.world import StoreWorld

__all__ = ["StoreWorld"]
