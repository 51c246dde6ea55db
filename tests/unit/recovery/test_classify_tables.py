"""The tables that classify reads agree with one another, and the page shows them."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from breakfall.recovery import exceptions, signs
from breakfall.recovery.classify import diagnose
from breakfall.recovery.exceptions import CRASHES, EXCEPTIONS, GROUPS, UNDERLYING, VAGUE, meaning, qualified
from breakfall.vocab import Failed

ROOT = Path(__file__).parents[3]


def script() -> ModuleType:
    """Load the script that writes docs/classify.md."""
    spec = importlib.util.spec_from_file_location("classify_page", ROOT / "docs" / "classify_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current() -> None:
    """docs/classify.md shows what the rules say; `python docs/classify_page.py` writes it anew."""
    page = script()
    assert page.PAGE.read_text(encoding="utf-8") == page.page()


def test_every_known_exception_is_on_the_page() -> None:
    """No exception has a meaning that the page does not show."""
    text = script().PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for group in GROUPS for name in group.names)


def test_no_exception_has_two_meanings() -> None:
    """A name stands in one group only, so that the order of the groups decides nothing."""
    names = [name for group in GROUPS for name in group.names]
    assert sorted(names) == sorted(set(names))


def test_wrappers_are_known() -> None:
    """Each wrapper has a meaning of its own, for when nothing deeper is known."""
    assert EXCEPTIONS.keys() >= VAGUE


def test_bare_names_assume_least() -> None:
    """A bare name that several packages use leaves a write in doubt if it does for any of them."""
    for group in GROUPS:
        for name in group.names:
            bare = name.rpartition(".")[2]
            found = EXCEPTIONS.get(bare)
            builtin = bare in {n for g in GROUPS for n in g.names}
            assert found is None or builtin or found.in_doubt >= group.in_doubt, name


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        ("builtins", "TimeoutError", "TimeoutError"),
        ("requests.exceptions", "ConnectTimeout", "requests.ConnectTimeout"),
        ("httpx2", "ReadError", "httpx.ReadError"),
        ("httpcore", "ReadError", "httpx.ReadError"),
        ("pydantic_core._pydantic_core", "ValidationError", "pydantic.ValidationError"),
        ("_socket", "gaierror", "socket.gaierror"),
        ("json.decoder", "JSONDecodeError", "json.JSONDecodeError"),
    ],
)
def test_qualified(module: str, name: str, expected: str) -> None:
    """A class is named by its package, whichever module of it defines the class."""
    assert qualified(module, name) == expected


def test_unknown_packages_are_read_by_bare_name() -> None:
    """Somebody's own `ReadTimeout` is a timeout; a name that many use for refusals of their own, or a builtin's
    accident, says nothing outside its package.
    """
    assert meaning("redis.exceptions.TimeoutError") is not None
    assert meaning("requests.exceptions.ReadTimeout") == EXCEPTIONS["requests.ReadTimeout"]
    assert meaning("django.ValidationError") is None
    assert meaning("shop.KeyError") is None
    assert meaning("shop.OrderRefused") is None


def test_accidents_are_builtins() -> None:
    """Only builtins count as accidents of the tool's code."""
    assert all("." not in name for name in CRASHES)
    assert "" in UNDERLYING


@pytest.mark.parametrize("spelling", ["RATE_LIMIT_EXCEEDED", "rateLimitExceeded", "RateLimitExceededException"])
def test_codes_are_compared_by_letters(spelling: str) -> None:
    """One code in the spellings of three vendors is one code."""
    assert signs.by_code(spelling) is not None


def test_drift_hints_hide_no_sign() -> None:
    """The quick look before the search for drift misses nothing that the search would find."""
    texts = [
        failed.body.lower()
        for failed in script().EXAMPLES
        if isinstance(failed, Failed) and failed.body and signs._DRIFT.search(failed.body.lower())
    ]
    assert texts
    assert all(signs.drift(text) for text in texts)


def test_examples_of_the_page_are_not_all_alike() -> None:
    """The page's whole failures show every observable kind and the native refusal, with and without doubt."""
    found = [diagnose(failed) for failed in script().EXAMPLES]
    assert len({diagnosis.kind for diagnosis in found}) == 7
    assert {diagnosis.in_doubt for diagnosis in found} == {True, False}


def test_the_meaning_of_a_code_wins() -> None:
    """A code that the exception carries tells more than its class."""
    assert exceptions.meaning("sqlite3.OperationalError[SQLITE_CONSTRAINT]") != EXCEPTIONS["sqlite3.OperationalError"]
