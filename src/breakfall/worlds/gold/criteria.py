"""What criteria have in common: a database against gold's, and what the user had to be told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from breakfall.vocab import Answer
from breakfall.worlds.gold.case import Ended, Finding

_SHOWN = 5


def differences(live: dict[str, bytes], gold: dict[str, bytes]) -> Iterator[str]:
    """Say which records are not as gold leaves them, if any."""
    places = [place for place in {**gold, **live} if gold.get(place) != live.get(place)]
    if places:
        more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        yield f"not as gold leaves it: {', '.join(places[:_SHOWN])}{more}"


def unsaid(answer: Answer, wanted: Iterable[str]) -> Iterator[str]:
    """Say what the user was not told. As in τ-bench, letter case and the commas of an answer make no difference."""
    told = "\n".join([answer.text, *map(str, answer.facts.values())]).lower().replace(",", "")
    for text in wanted:
        if text.lower() not in told:
            yield f"the answer does not say {text!r}"


class DatabaseCriteria:
    """τ-bench's rule: the database as gold leaves it, and certain texts said.

    Args:
        said: Texts that the answer must contain.
    """

    def __init__(self, said: Sequence[str]) -> None:
        self._said = tuple(said)

    def find(self, ended: Ended) -> Finding:
        """Judge a finished episode."""
        return Finding(
            state=tuple(differences(ended.session.changes(), ended.gold)),
            answer=tuple(unsaid(ended.answer, self._said)),
        )
