"""The report page."""

import re
from html.parser import HTMLParser

from msgspec.structs import replace
from tests.unit.bench.told import run

from breakfall.bench.html import page
from breakfall.bench.metrics import BY_NAME
from breakfall.bench.stopping import Flaw
from breakfall.bench.words import FLAW_WORDS, METRIC_WORDS, WORDS
from breakfall.bench.worst import REASONS

VOID = {"meta", "input", "wbr", "br", "link", "img"}


class _Shape(HTMLParser):
    """Checks that elements are closed in order, and gathers them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _shape(text: str) -> _Shape:
    shape = _Shape()
    shape.feed(text)
    assert shape.open == []
    return shape


def test_well_formed() -> None:
    """Every element is closed in order, and there is a chart of each kind."""
    shape = _shape(page(run()))
    assert sum(tag == "svg" for tag, _ in shape.seen) >= 5


def test_asks_nobody_for_anything() -> None:
    """The page loads nothing: no address that a browser would fetch, and a policy that forbids it."""
    text = page(run())
    shape = _shape(text)
    assert not [tag for tag, attrs in shape.seen if attrs.keys() & {"src", "srcset", "action", "data", "poster"}]
    assert not [tag for tag, _ in shape.seen if tag in ("link", "img", "iframe", "object", "embed", "base")]
    assert all((attrs.get("href") or "#").startswith("#") for _, attrs in shape.seen)
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text


def test_both_languages_everywhere() -> None:
    """Each English text of the page stands beside its Korean twin."""
    shape = _shape(page(run()))
    spoken = [attrs["lang"] for tag, attrs in shape.seen if tag == "span" and attrs.get("lang") in ("en", "ko")]
    assert spoken.count("en") == spoken.count("ko") > 50
    for words in (WORDS, METRIC_WORDS, FLAW_WORDS):
        assert all(re.search("[가-힣]", text.ko) for text in words.values())


def test_every_reason_has_words() -> None:
    """Each way to go wrong, each metric and each flaw of a stop can be named on the page."""
    assert WORDS.keys() >= set(REASONS)
    assert METRIC_WORDS.keys() == BY_NAME.keys()
    assert list(FLAW_WORDS) == [flaw.value for flaw in Flaw]


def test_metrics_are_named_in_both_languages() -> None:
    """A metric stands on the page by its name in words, beside the one that scripts know."""
    text = page(run())
    assert '<span lang="ko">성급한 중단</span> <code>premature_<wbr>stop</code>' in text
    assert re.search(r'<span lang="ko">사람에게 인계하지 않음</span></th><td></td><td>6 ×</td>', text)


def test_tools_cannot_write_into_the_page() -> None:
    """Whatever agents and tools are called or answer, the page shows it and does not run it."""
    evil = "<script>alert(1)</script>"
    report = run()
    cells = [replace(cell, agent=evil) for cell in report.cells if cell.agent == "steady"]
    worst = [
        replace(row, agent=evil, answer=evil, detail=evil, steps=tuple(replace(s, outcome=evil) for s in row.steps))
        for row in report.worst
    ]
    strategies = [replace(row, agent=evil) for row in report.strategies if row.agent == "steady"]
    text = page(replace(report, cells=cells, worst=worst, strategies=strategies, command=evil))
    assert evil not in text
    assert "&lt;script&gt;alert(1)" in text
    assert sum(tag == "script" for tag, _ in _shape(text).seen) == 1


def test_unfinished_run_says_so() -> None:
    """A report of a run that is not complete carries a warning; a complete one does not."""
    assert WORDS["incomplete"].en in page(run())
    assert WORDS["incomplete"].en not in page(replace(run(), complete=True))


def test_empty_run() -> None:
    """A report without an episode is still a page."""
    empty = replace(run(), cells=[], comparisons=[], strategies=[], confusion=[], findings=[], worst=[])
    _shape(page(empty))
