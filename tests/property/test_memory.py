"""Learning does not depend on the order, and a memory grows piece by piece as it would at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.memory.story import TOOLS, Story

from breakfall.memory import store
from breakfall.memory.beliefs import Memory, comes_back, merged, tools_of
from breakfall.memory.learn import Learner
from breakfall.vocab import OBSERVABLE

_events = st.tuples(
    st.sampled_from(["ok", "fail", "refuse"]),
    st.sampled_from(sorted(TOOLS)),
    st.sampled_from(["c1", "c2"]),
    st.sampled_from(OBSERVABLE),
    st.booleans(),
)
_episodes = st.lists(st.lists(_events, max_size=6), max_size=5)


def _told(events: list[tuple[str, str, str, str, bool]]) -> Story:
    story = Story()
    for what, tool, call, kind, path in events:
        more = {"path_of": "get"} if path and tool != "get" else {}
        extra = {"kind": kind} if what == "fail" else {}
        getattr(story, what)(tool, call=call, **extra, **more)
    return story


def _learned(stories: list[Story], before: Memory | None = None) -> Memory:
    learner = Learner(before)
    learner.know(TOOLS)
    for story in stories:
        learner.episode(story.steps, TOOLS)
    return learner.memory()


@given(_episodes, _episodes)
def test_piece_by_piece(first: list, second: list) -> None:
    """fold(a + b) = fold(fold(a), b) = fold(a) merged with fold(b), in whatever order the episodes come."""
    a, b = [_told(events) for events in first], [_told(events) for events in second]
    whole = _learned(a + b)
    assert _learned(b, _learned(a)) == whole
    assert merged(_learned(a), _learned(b)) == whole
    assert _learned([*reversed(b), *reversed(a)]) == whole
    assert store.encode(_learned(b + a)) == store.encode(whole)


@given(_episodes)
def test_beliefs_are_probabilities(told: list) -> None:
    """Whatever was learned, the 95 % interval of each belief lies within 0 and 1 and holds its mean."""
    memory = _learned([_told(events) for events in told])
    for tool in tools_of(memory):
        for kind in OBSERVABLE:
            believed = comes_back(memory, tool, kind)
            low, high = believed.beta.quantile(0.025), believed.beta.quantile(0.975)
            assert 0 <= low <= believed.beta.mean <= high <= 1
            assert believed.own >= 0
            assert 0 <= believed.shared <= 4
