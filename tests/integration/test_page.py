"""The report page in a real browser, where there is one."""

import re
import shutil
import subprocess
from pathlib import Path

from msgspec.structs import replace

from breakfall.bench import html, report
from breakfall.bench.run import run
from breakfall.bench.words import FLAW_WORDS

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


def _dom(page: Path, fragment: str, profile: Path, *more: str) -> str:
    command = [str(BROWSER), *FLAGS, *more, f"--user-data-dir={profile}", f"{page.as_uri()}#{fragment}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


_MEASURE = """<script>
document.querySelectorAll("details").forEach((one) => { one.open = true; });
const boxes = [...document.querySelectorAll(".scroll:has(table:not(.steps))")];
const cut = boxes.filter((box) => box.scrollWidth > box.clientWidth);
document.body.dataset.cut = cut.map((box) => box.ariaLabel).join();
</script></body>"""


if BROWSER is not None:  # the page's own tests need none; this one exists where it can say something

    def test_page_opens_in_a_browser(tmp_path: Path, spec) -> None:
        """The script runs under the page's own policy: the language in the address is chosen and spoken."""
        run(spec(), tmp_path / "run")
        report.write(report.build(tmp_path / "run"), tmp_path / "run")
        dom = _dom(tmp_path / "run" / "report.html", "lang=ko&theme=dark", tmp_path / "profile")
        assert '<html lang="ko">' in dom
        assert re.search("<h1>.*에이전트", dom)

    def test_no_column_is_hidden_on_a_usual_screen(tmp_path: Path, spec) -> None:
        """At 1,200 pixels every table of figures is seen whole, in both languages, for the four agents and for more."""
        run(spec(), tmp_path / "run")
        built = report.build(tmp_path / "run").report
        cells = [
            replace(cell, agent=cell.agent * n, stop_flaws=dict.fromkeys(FLAW_WORDS, 100))
            for n in (1, 2, 3)
            for cell in built.cells
        ]
        page = tmp_path / "page.html"
        for one in (built, replace(built, cells=cells)):
            page.write_text(html.page(one).replace("</body>", _MEASURE))
            for language in ("en", "ko"):
                dom = _dom(page, f"lang={language}", tmp_path / "profile", "--window-size=1200,900")
                assert 'data-cut=""' in dom
