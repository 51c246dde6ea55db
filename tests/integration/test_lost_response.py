"""`benchmarks/lost_response.py`: one effect and the task finished, where blind retries have two."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "lost_response.py"


def test_one_effect_and_finished() -> None:
    """One effect in all four cells for breakfall, two for tenacity and stamina; who is missing is named."""
    ran = subprocess.run([sys.executable, SCRIPT, "--json"], capture_output=True, text=True, check=True)
    told = {library["library"]: library for library in json.loads(ran.stdout)}
    assert len(told) == 8
    for name, effects in (("breakfall", 1), ("tenacity", 2), ("stamina", 2)):
        cells = told[name]["cells"]
        assert set(cells) == {"sync unkeyed", "sync keyed", "async unkeyed", "async keyed"}
        assert all(cell == {"effects": effects, "finished": True} for cell in cells.values()), cells
    for library in told.values():
        assert "cells" in library or library["why"] == "not installed"
