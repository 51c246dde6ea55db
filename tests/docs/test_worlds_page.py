"""The worked example of docs/worlds.md is a world that runs as the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "worlds.md"
BREAKFALL = Path(sys.executable).with_name("breakfall")


@pytest.fixture(scope="module")
def pieces() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(pieces: list[str], tmp_path: Path) -> Path:
    """A folder with the four pieces of the example as one file."""
    (tmp_path / "library.py").write_text("\n\n".join(pieces[:4]))
    return tmp_path


def test_the_check_prints_what_the_page_shows(pieces: list[str], folder: Path) -> None:
    """Both tasks pass in both conditions, with the sufficient paths that the page shows, and without a warning."""
    (folder / "check.py").write_text("from library import library\n" + pieces[4])
    result = subprocess.run(
        [sys.executable, "check.py"],
        cwd=folder,
        env={**os.environ, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert f"```\n{result.stdout}```" in PAGE.read_text()


def test_the_command_runs_it(folder: Path) -> None:
    """The page's command plays all episodes: none ends in an error of the world, and faults fire in each scenario."""
    (line,) = re.findall(r"^breakfall (bench --world library:library .*)$", PAGE.read_text(), flags=re.MULTILINE)
    result = subprocess.run(
        [BREAKFALL, *line.split(), "--out", "run", "--json"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert {cell["condition"] for cell in report["cells"]} == {"native", "alternatives"}
    assert all(cell["metrics"]["pass_rate"]["value"] == 1.0 for cell in report["cells"] if cell["scenario"] == "CLEAN")
    assert sum(cell["episodes"] - cell["inconclusive"] for cell in report["cells"] if cell["scenario"] == "S2") > 0
    assert "world_error" not in result.stdout
