"""Properties of the store: no arguments raise, and no extra effect passes."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from breakfall.vocab import ALTERNATIVES, Answer, Failed, Ok
from breakfall.worlds.store import StoreWorld
from breakfall.worlds.store.gold import StillClock, play

WORLD = StoreWorld()
TOOLS = WORLD.tools(ALTERNATIVES)
TASKS = [task for task in WORLD.tasks("train", 58) if task.details["effects"]]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def _open(task):
    return WORLD.open(task, ALTERNATIVES, StillClock())


def _near(schema):
    """Values that mostly fit a schema, so that the tool itself is reached."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "array":
        return st.lists(_near(schema["items"]), max_size=3)
    if schema["type"] == "object":
        return st.fixed_dictionaries({name: _near(part) for name, part in schema["properties"].items()})
    if schema["type"] == "string":
        return st.sampled_from(["C1001", "O10001", "O10002", "LAM104-1", "P104", "SPRING5", "AP10001", "x"]) | st.text()
    return st.floats(allow_nan=True) | st.integers() | st.sampled_from([1, 2, 2.5])


@settings(max_examples=400, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(TOOLS)))
def test_no_arguments_raise(data, name):
    """Whatever arguments come, a call ends in Ok or Failed, twice over, and so does everything that asks about it."""
    schema = TOOLS[name].parameters
    arguments = data.draw(
        _near(schema) | JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(schema["properties"], JSON))
    )
    store = _open(TASKS[0])

    async def ask():
        pretended = await store.pretend(name, arguments)
        store.earlier(name, arguments)
        called = await store.call(name, arguments)
        assert called == pretended
        assert isinstance(await store.call(name, arguments), (Ok, Failed))
        store.earlier(name, arguments)

    asyncio.run(ask())
    store.check(Answer(), ())


@settings(max_examples=150, deadline=None)
@given(task=st.sampled_from(TASKS), pick=st.integers(0, 11), times=st.integers(1, 3))
def test_a_repeated_effect_never_passes(task, pick, times):
    """If any effect of a finished task stands in the log again, it is counted as a duplicate and fails the task."""
    store = _open(task)
    facts = play(task, store).arguments(task.answer)[0]
    assert store.check(Answer(facts=facts), ()).passed
    log = store.effects
    log.extend([log[pick % len(log)]] * times)
    verdict = store.check(Answer(facts=facts), ())
    assert not verdict.passed
    assert len(verdict.duplicate_effects) == times
    assert not verdict.wrong_effects


@settings(max_examples=150, deadline=None)
@given(task=st.sampled_from(TASKS), pick=st.integers(0, 11))
def test_a_missing_effect_never_passes(task, pick):
    """If any effect of a finished task is not in the log, the task fails and the effect is named."""
    store = _open(task)
    facts = play(task, store).arguments(task.answer)[0]
    log = store.effects
    del log[pick % len(log)]
    verdict = store.check(Answer(facts=facts), ())
    assert not verdict.passed
    assert len(verdict.missing_effects) == 1


@settings(max_examples=100, deadline=None)
@given(task=st.sampled_from(TASKS), other=st.sampled_from(TASKS))
def test_the_effects_of_another_task_never_pass(task, other):
    """A task is not passed by doing another whose effects differ."""
    store = _open(task)
    play(other, store)
    verdict = store.check(Answer(facts=task.details["answer"]), ())
    assert verdict.passed == (sorted(task.details["effects"]) == sorted(other.details["effects"]))
    happened = len(store.effects)
    accounted = len(verdict.duplicate_effects) + len(verdict.wrong_effects)
    assert happened - accounted == len(task.details["effects"]) - len(verdict.missing_effects)


@settings(max_examples=100, deadline=None)
@given(task=st.sampled_from(TASKS), value=JSON, data=st.data())
def test_an_altered_fact_never_passes(task, value, data):
    """An answer with one fact replaced by something else fails, and only for its answer."""
    if not task.details["answer"]:
        return
    store = _open(task)
    facts = play(task, store).arguments(task.answer)[0]
    name = data.draw(st.sampled_from(sorted(facts)))
    if value == facts[name]:
        return
    verdict = store.check(Answer(facts=facts | {name: value}), ())
    assert (verdict.state_ok, verdict.answer_ok, verdict.passed) == (True, False, False)
