"""The memory as context for a model's prompt: within a token budget, the most useful rows first, English or Korean."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from msgspec import Struct

from breakfall.memory.beliefs import Memory, comes_back, observed_kinds, tools_of
from breakfall.memory.choose import Mode, belief
from breakfall.memory.constraints import CONSTRAINTS
from breakfall.memory.fallbacks import fallbacks
from breakfall.vocab import Belief, Text

Language: TypeAlias = Literal["en", "ko"]
LANGUAGES: dict[str, Language] = {"en": "en", "ko": "ko"}

LETTERS_PER_TOKEN = 3
_WIDE = ((0x1100, 0x11FF), (0x3040, 0x30FF), (0x3130, 0x318F), (0x3400, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF))


class Rendered(Struct, frozen=True, kw_only=True):
    """A context and how it fits its budget."""

    text: str
    tokens: int
    """As `tokens` estimates them."""
    rows: int
    """Rows about tools that it holds."""
    left_out: int
    """Rows that found no room."""


class _Line(Struct, frozen=True, order=True):
    """One row, sorted by use, then by its text."""

    use: float
    text: str


_HEAD = Text(en="What is known of the tools:", ko="도구에 대해 알려진 것:")
_RULES = Text(en="Rules:", ko="규칙:")
_COLD = Text(
    en="Nothing was learned of these tools yet.",
    ko="아직 이 도구들에 대해 배운 것이 없다.",
)


def tokens(text: str) -> int:
    """Estimate how many tokens a text takes: one per Hangul, Kana or Han character, one per three others.

    It is an estimate for tokenizers of common models, on the high side, so that a budget holds; no tokenizer is asked.
    """
    return math.ceil(_size(text) / LETTERS_PER_TOKEN)


def _size(text: str) -> int:
    """Return the size of a text in letters; a wide character is as large as the letters of one token."""
    wide = sum(any(low <= ord(char) <= high for low, high in _WIDE) for char in text)
    return len(text) + (LETTERS_PER_TOKEN - 1) * wide


def render(
    memory: Memory, *, budget: int, mode: Mode = Mode.POSTERIOR, language: Language = "en", seed: int = 0
) -> Rendered:
    """Write a memory as context.

    The rules come first, then rows from the most to the least useful, as many as fit; a larger budget only adds rows.

    Args:
        memory: What was learned.
        budget: The most tokens that the text may take, as `tokens` estimates them.
        mode: How much of the memory to write; OFF gives an empty text.
        language: English or Korean.
        seed: For SHUFFLED: which permutation.
    """
    if mode is Mode.OFF:
        return Rendered(text="", tokens=0, rows=0, left_out=0)
    rows = _rows(memory, mode, language, seed)
    held: list[str] = []
    left = budget * LETTERS_PER_TOKEN + 1  # the first line has no line feed before it
    taken = 0
    head = _head(memory, mode, language)
    for number, line in enumerate([*head, *rows]):
        left -= _size(line) + 1
        if left < 0:
            break
        held.append(line)
        taken += number >= len(head)
    text = "\n".join(held)
    return Rendered(text=text, tokens=tokens(text), rows=taken, left_out=len(rows) - taken)


def _head(memory: Memory, mode: Mode, language: Language) -> list[str]:
    lines = [_said(_RULES, language), *(f"- {_said(rule.text, language)}" for rule in CONSTRAINTS)]
    if mode.numbered and memory.cold:
        lines.append(_said(_COLD, language))
    return [*lines, _said(_HEAD, language)]


def _rows(memory: Memory, mode: Mode, language: Language, seed: int) -> list[str]:
    numbers = belief(memory, mode, seed=seed)
    lines = [*_paths(memory, numbers, language), *_failures(memory, numbers, language)]
    return [line.text for line in sorted(lines, key=lambda line: (-line.use, line.text))]


def _paths(memory: Memory, numbers: Belief | None, language: Language) -> list[_Line]:
    """One row for each path that may be taken; how often it was taken is its use, and a path is never without any."""
    lines = []
    for path in fallbacks(memory):
        serves = None if numbers is None else numbers.switch_works(path.source, path.target)
        if serves == 0.0:
            continue
        text = _path_words(path.source, path.target, serves, language)
        lines.append(_Line(1.0 + (path.works.own if numbers is not None else 0.0), text))
    return lines


def _failures(memory: Memory, numbers: Belief | None, language: Language) -> list[_Line]:
    """One row for each failure that was seen; useful is what happens often and goes one way."""
    if numbers is None:
        return []
    lines = []
    for tool in tools_of(memory):
        for kind in observed_kinds(memory, tool):
            stays = numbers.persistence(tool, kind)
            own = comes_back(memory, tool, kind).own
            if stays is not None and own:
                lines.append(
                    _Line(own * abs(2.0 * stays - 1.0), _failure_words(tool, kind.value, 1.0 - stays, language))
                )
    return lines


def _path_words(source: str, target: str, serves: float | None, language: Language) -> str:
    if language == "ko":
        return f"- {source} 실패 시: {target}" + ("" if serves is None else f" ({_percent(serves)} 성공)")
    return f"- if {source} fails: {target}" + ("" if serves is None else f" (works {_percent(serves)})")


def _failure_words(tool: str, kind: str, back: float, language: Language) -> str:
    if language == "ko":
        return f"- {tool} {kind}: 재시도 {_percent(back)} 성공"
    return f"- {tool} {kind}: a retry works {_percent(back)}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _said(text: Text, language: Language) -> str:
    return text.ko if language == "ko" else text.en
