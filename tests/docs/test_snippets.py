"""Every Python snippet of the pages that show the public API runs as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("docs/memory.md", "docs/recovery.md", "docs/steps.md", "docs/watch.md")


@pytest.mark.parametrize("page", PAGES)
def test_snippets_run(page: str, tmp_path: Path) -> None:
    """The page's snippets, one after the other, run without an error or a warning."""
    snippets = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    assert snippets
    script = tmp_path / "page.py"
    script.write_text("\n".join(snippets))
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    result = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
