"""What the model says of its own certainty: the line that it is asked for, and the reading of it."""

from __future__ import annotations

import re
import unicodedata

from breakfall.vocab import Text, Uncertainty

PROMPT = Text(
    en=(
        "After each action, say how certain you are that it did what it was for. Write one line of its own, exactly in "
        "this form:\n"
        "UNCERTAINTY: none|low|high\n"
        "none: you saw evidence that it worked. low: it probably worked, but something was not as expected. "
        "high: you did not see it work, or you filled in something that you do not know. "
        "Saying high is right whenever it is true; it is never held against you."
    ),
    ko=(
        "행동을 하나 마칠 때마다, 그 행동이 목적한 바를 이루었다고 얼마나 확신하는지 밝히세요. 다음 형식 그대로, "
        "한 줄을 따로 쓰세요:\n"
        "UNCERTAINTY: none|low|high\n"
        "none: 성공했다는 증거를 보았습니다. low: 아마 성공했지만 예상과 다른 점이 있었습니다. "
        "high: 성공을 확인하지 못했거나, 모르는 것을 짐작으로 채웠습니다. "
        "사실이라면 high라고 쓰는 것이 옳으며, 그 때문에 불이익을 받는 일은 없습니다. "
        "값은 번역하지 말고 영어 낱말 그대로 쓰세요."
    ),
)
"""Put it into the system prompt, in the language of the rest."""

_LINE = re.compile(r"[\W_]*uncertainty[\s*_`\"']*:[\s*_`\"']*(.*)", re.IGNORECASE | re.DOTALL)
_LEVEL = re.compile(r"(none|low|high)(?![\w-]|\s*(?:[|/]|or\b|to\b))", re.IGNORECASE)
_OPTIONS = re.compile(r"\W*none\W+low\W+(?:or\W+)?high\W*", re.IGNORECASE)


def parse(text: str) -> Uncertainty:
    """Read the ``UNCERTAINTY:`` line of a model's text.

    The line may stand anywhere, in a code fence, quoted or in bold; case, spaces and a full-width colon make no
    difference, and words may follow the level. Of several lines the last one counts. Where it gives none of the three
    levels, or there is no line, the signal is missing: an earlier line does not speak for a later one. A line that
    only repeats the choice ("none|low|high") is no line.
    """
    for line in reversed(unicodedata.normalize("NFKC", text).splitlines()):
        found = _LINE.fullmatch(line)
        if found is None or _OPTIONS.fullmatch(found[1]):
            continue
        level = _LEVEL.match(found[1])
        return Uncertainty(level[1].lower()) if level else Uncertainty.MISSING
    return Uncertainty.MISSING
