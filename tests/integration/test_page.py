"""The report page in a real browser, where there is one."""

import re
import shutil
import subprocess
from pathlib import Path

from breakfall.bench import report
from breakfall.bench.run import run

BROWSER = next((found for name in ("chromium", "google-chrome") if (found := shutil.which(name))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--dump-dom",
)


def _dom(page: Path, fragment: str, profile: Path) -> str:
    command = [str(BROWSER), *FLAGS, f"--user-data-dir={profile}", f"{page.as_uri()}#{fragment}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


if BROWSER is not None:  # the page's own tests need none; this one exists where it can say something

    def test_page_opens_in_a_browser(tmp_path: Path, spec) -> None:
        """The script runs under the page's own policy: the language in the address is chosen and spoken."""
        run(spec(), tmp_path / "run")
        report.write(report.build(tmp_path / "run"), tmp_path / "run")
        dom = _dom(tmp_path / "run" / "report.html", "lang=ko&theme=dark", tmp_path / "profile")
        assert '<html lang="ko">' in dom
        assert re.search("<h1>.*에이전트", dom)
