"""The watchdog: a process of its own that follows ledgers, looks again at what steps claim, and says what it finds."""

from __future__ import annotations

from breakfall.runtime.watch.settings import Settings, load
from breakfall.runtime.watch.watch import Summary, Watch, run, run_once

__all__ = ["Settings", "Summary", "Watch", "load", "run", "run_once"]
