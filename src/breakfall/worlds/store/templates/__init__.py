"""The kinds of tasks."""

from breakfall.worlds.store.draft import Template
from breakfall.worlds.store.templates import changes, journeys, lookups, purchases, refunds

TEMPLATES: tuple[Template, ...] = (
    *lookups.TEMPLATES,
    *changes.TEMPLATES,
    *refunds.TEMPLATES,
    *purchases.TEMPLATES,
    *journeys.TEMPLATES,
)

__all__ = ["TEMPLATES"]
