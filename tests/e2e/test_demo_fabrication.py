"""`breakfall demo fabrication`, as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BREAKFALL = Path(sys.executable).parent / "breakfall"


def demo(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BREAKFALL, "demo", "fabrication", *words], capture_output=True, text=True, check=False)


def test_as_a_table() -> None:
    """The table shows log, ledger, verdict and truth side by side, and says whether they agree."""
    ran = demo("--seed", "7")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("FABRICATED_STEP") == 6  # in the table, and in the watchdog's words
    assert ran.stdout.count("FABRICATED_VERIFICATION") == 2
    assert "Exactly what was fabricated." in ran.stdout
    assert "Again: breakfall demo fabrication --seed 7" in ran.stdout


def test_as_json() -> None:
    """The JSON is the same for the same seed, and has a version and the command that reproduces it."""
    first, second = demo("--seed", "3", "--json"), demo("--seed", "3", "--json")
    assert first.stdout == second.stdout
    told = json.loads(first.stdout)
    assert (told["version"], told["command"], told["exact"]) == (1, "breakfall demo fabrication --seed 3", True)
    assert len(told["rows"]) == 14
