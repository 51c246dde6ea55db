"""What a ledger has acknowledged, whatever is killed when."""

import json
import subprocess
import sys
from pathlib import Path

KILLING = Path(__file__).parent / "killing.py"


def test_every_acknowledged_step_survives_any_number_of_kills(tmp_path):
    """Hundreds of writers, followers, watchdogs are killed at random moments: nothing is lost, nothing said twice."""
    command = [sys.executable, str(KILLING), str(tmp_path / "ledger"), "--kills", "300", "--seconds", "60"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    assert result["failed"] == []
    assert result["killed"]["writer"] > 50
    assert result["killed"]["follower"] > 20
    assert result["killed"]["watchdog"] > 3
    assert result["acknowledged"] > 100
    assert result["missing"] == 0
    assert result["stored_twice"] == 0
    assert result["index_differs"] == 0
    assert result["verdicts"] > 0
    assert result["verdicts_twice"] == 0
    assert result["verdicts_not_indexed"] == 0
    assert result["grave"] == []
    assert result["left_after_repair"] == 0
