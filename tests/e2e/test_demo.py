"""`breakfall demo`, as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BREAKFALL = Path(sys.executable).parent / "breakfall"


def demo(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run([BREAKFALL, "demo", *words], capture_output=True, text=True)
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran


def test_orders_as_a_table() -> None:
    """The table has a row for each client, says what its columns mean, and how to run it again."""
    told = demo("orders", "--orders", "30", "--kills", "1", "--seed", "2").stdout
    for words in ("bare", "tenacity", "stamina", "breakfall, killed", "more than once", "Handed over:"):
        assert words in told
    assert "Again: breakfall demo orders --orders 30 --kills 1 --seed 2" in told


def test_orders_as_json() -> None:
    """The JSON has a version, the command that reproduces it, and the counts of each client."""
    words = ("orders", "--orders", "30", "--kills", "0", "--client", "bare", "--client", "breakfall", "--json")
    told = json.loads(demo(*words).stdout)
    assert told["version"] == 1
    assert told["orders"] == 30
    assert [one["client"] for one in told["results"]] == ["bare", "breakfall"]
    assert told["results"][1]["more"] == told["results"][1]["false"] == 0


def test_bad_input_is_named() -> None:
    """A client that does not exist is refused with the ones that do."""
    assert "no client 'curl'; known: bare, breakfall" in demo("orders", "--client", "curl", code=2).stderr
