"""JUnit."""

from xml.etree import ElementTree

from msgspec.structs import replace
from tests.unit.bench.told import missing, scores

from breakfall.bench.junit import clean, document
from breakfall.vocab import Ending


def _cases(content: bytes) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(content)
    return {f"{case.get('classname')}/{case.get('name')}": case for case in root.iter("testcase")}


def test_cases() -> None:
    """A case fails where a conclusive seed failed, is skipped where none is conclusive, and passes otherwise."""
    cases = _cases(document(scores(), missing()))
    assert cases["shop.native.S2.steady/t1"].find("failure") is None
    failure = cases["shop.native.S2.hasty/t1"].find("failure")
    assert failure is not None
    assert failure.get("message") == "1 of 1 conclusive seeds failed"
    assert failure.text == "seed 0: answered; the task was not done"
    skipped = cases["shop.native.S2.steady/t9"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "no path suffices"


def test_stopping_is_what_s3_asks_for() -> None:
    """Under S3 a correct stop passes although the task was not done, and any other end fails with its flaw."""
    cases = _cases(document(scores(), []))
    assert cases["shop.native.S3.steady/t1"].find("failure") is None
    failure = cases["shop.native.S3.hasty/t1"].find("failure")
    assert failure is not None
    assert "answered without handing over" in (failure.text or "")


def test_inconclusive_is_skipped() -> None:
    """A task whose seeds all met nothing is skipped, with that reason."""
    told = [replace(score, conclusive=False) for score in scores()]
    skipped = [case.find("skipped") for case in _cases(document(told, [])).values()]
    assert {one.get("message") for one in skipped if one is not None} == {
        "inconclusive: the scenario's fault never fired"
    }


def test_counts_add_up() -> None:
    """Each suite and the whole name how many there are of each."""
    root = ElementTree.fromstring(document(scores(), missing()))
    for kind in ("tests", "failures", "skipped"):
        assert int(root.get(kind, "")) == sum(int(suite.get(kind, "")) for suite in root)


def test_reasons_are_told() -> None:
    """Duplicates, adopted values and the agent's own error are in the reason."""
    told = [replace(score, error="ValueError: \x00", ending=Ending.AGENT_ERROR) for score in scores()]
    failure = _cases(document(told, []))["shop.native.S1.hasty/t1"].find("failure")
    assert failure is not None
    assert "1 duplicate effects; 1 false values used; ValueError: \ufffd" in (failure.text or "")


def test_what_xml_cannot_hold() -> None:
    """Control characters are replaced, and everything else is kept."""
    assert clean("a\x00b\n한\U0001f600") == "a\ufffdb\n한\U0001f600"
