"""The memory as context for a prompt."""

from __future__ import annotations

import pytest

from breakfall.memory.beliefs import Memory, Retries, Switches
from breakfall.memory.choose import Mode
from breakfall.memory.constraints import CONSTRAINTS
from breakfall.memory.render import render, tokens

MEMORY = Memory(
    retries={
        "get": {"timeout": Retries(recovered=98, stayed=0), "auth_error": Retries(recovered=1, stayed=1)},
        "pay": {"server_error": Retries(stayed=28)},
    },
    switches={"get": {"copy": Switches(answered=3, failed=1), "bad": Switches(unfit=20)}},
    declared={"get": ["bad", "copy"], "pay": ["request"]},
)


def test_most_useful_first() -> None:
    """Rows about what happens often and goes one way come before rows that say little; a wrong path is left out."""
    rows = [line for line in render(MEMORY, budget=500).text.split("\n") if ":" in line and line.startswith("-")]
    assert rows == [
        "- get timeout: a retry works 99 %",
        "- pay server_error: a retry works 3 %",
        "- if get fails: copy (works 67 %)",
        "- if pay fails: request",
        "- get auth_error: a retry works 50 %",
    ]


def test_korean() -> None:
    """The same in Korean."""
    text = render(MEMORY, budget=500, language="ko").text
    assert "- get 실패 시: copy (67 % 성공)" in text
    assert "- pay server_error: 재시도 3 % 성공" in text
    assert all(rule.text.ko in text for rule in CONSTRAINTS)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_budget_is_kept(language: str) -> None:
    """No budget is exceeded, a larger one only adds lines, and what finds no room is counted."""
    before: list[str] = []
    whole = render(MEMORY, budget=10_000, language=language)  # type: ignore[arg-type]
    assert whole.left_out == 0
    for budget in range(whole.tokens + 1):
        found = render(MEMORY, budget=budget, language=language)  # type: ignore[arg-type]
        assert tokens(found.text) == found.tokens <= budget
        assert found.rows + found.left_out == whole.rows
        lines = found.text.split("\n") if found.text else []
        assert lines[: len(before)] == before
        before = lines
    assert "\n".join(before) == whole.text


def test_modes() -> None:
    """`off` writes nothing, `static` the whole declared map without numbers."""
    assert render(MEMORY, budget=500, mode=Mode.OFF).text == ""
    static = render(MEMORY, budget=500, mode=Mode.STATIC).text
    assert "- if get fails: bad\n- if get fails: copy\n- if pay fails: request" in static
    assert "%" not in static


def test_cold_start_says_so() -> None:
    """A memory without evidence says that it has none."""
    assert "Nothing was learned of these tools yet." in render(Memory(), budget=500).text
    assert "아직 이 도구들에 대해 배운 것이 없다." in render(Memory(), budget=500, language="ko").text
    assert "Nothing was learned" not in render(MEMORY, budget=500).text


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("a", 1), ("abc", 1), ("abcd", 2), ("재시도", 3), ("재시도 ok", 4), ("再試行", 3), ("カナ", 2)],
)
def test_tokens(text: str, count: int) -> None:
    """A wide character is a token, three others are one."""
    assert tokens(text) == count
