"""What episodes teach, and what they do not."""

from __future__ import annotations

import pytest
from tests.unit.memory.story import TOOLS, Story

from breakfall.errors import UsageError
from breakfall.memory.beliefs import Agreement, Memory, Retries, Switches
from breakfall.memory.learn import Learner, episodes
from breakfall.vocab import Effect, FaultKind

KIND = FaultKind.TIMEOUT


def learned(*stories: Story, half_life: float | None = None, before: Memory | None = None) -> Memory:
    learner = Learner(before, half_life=half_life)
    learner.know(TOOLS)
    for story in stories:
        learner.episode(story.steps, TOOLS)
    return learner.memory()


def test_a_repeat_that_is_answered() -> None:
    """A failure whose repeat is answered, after however many tries, is one recovery of its first kind."""
    memory = learned(Story().fail("get").fail("get", FaultKind.SERVER_ERROR).ok("get"))
    assert memory.retries == {"get": {"timeout": Retries(recovered=1)}}


def test_a_refusal_is_an_answer() -> None:
    """A tool that refuses for a reason of its own has come back."""
    assert learned(Story().fail("get").refuse("get")).retries["get"]["timeout"] == Retries(recovered=1)


def test_a_repeat_that_is_not_answered() -> None:
    """A failure whose repeats all fail has stayed, once, however often it was repeated."""
    memory = learned(Story().fail("get").fail("get").fail("get"))
    assert memory.retries == {"get": {"timeout": Retries(stayed=1)}}


def test_no_repeat_no_evidence() -> None:
    """A failure that nobody repeated says nothing; neither does a call with other arguments."""
    story = Story().fail("get", FaultKind.SCHEMA_DRIFT).ok("get", call="c2", arguments={"order": "O1"})
    assert learned(Story().fail("get"), story).retries == {}


def test_own_retries_of_an_agent() -> None:
    """An agent that repeats its call as a new one teaches the same."""
    assert learned(Story().fail("get").ok("get", call="c2")).retries["get"]["timeout"] == Retries(recovered=1)


def test_a_path_that_answers() -> None:
    """A path that gives what the original would have given has worked, whatever it took."""
    story = Story().fail("get").fail("copy", path_of="get").ok("copy", path_of="get")
    assert learned(story).switches == {"get": {"copy": Switches(answered=1)}}


def test_a_path_that_fails() -> None:
    """A fault on the path is a failure of the path, and of the tool that was repeated."""
    memory = learned(Story().fail("get").fail("copy", path_of="get").fail("copy", path_of="get"))
    assert memory.switches == {"get": {"copy": Switches(failed=1)}}
    assert memory.retries == {"copy": {"timeout": Retries(stayed=1)}}


@pytest.mark.parametrize("value", [{"id": "O1"}, ["O1"], {"state": "open"}])
def test_an_answer_that_does_not_fit(value: object) -> None:
    """A path whose answer lacks what the original gives is unfit, although it answered."""
    story = Story().fail("get").ok("copy", value, path_of="get")
    assert learned(story).switches == {"get": {"copy": Switches(unfit=1)}}


def test_an_answer_that_cannot_be_mapped() -> None:
    """A path whose answer cannot be brought into the original's form is unfit, and so is one that refuses."""
    mapped = Story().fail("get").ok("items", {"items": [{"id": "O1", "state": "open"}]}, path_of="get")
    other = Story().fail("get").ok("items", {"rows": []}, path_of="get")
    refused = Story().fail("get").refuse("items", path_of="get")
    assert learned(mapped, other, refused).switches == {"get": {"items": Switches(answered=1, unfit=2)}}


def test_a_switch_of_an_agent_of_ones_own() -> None:
    """An agent that calls the other tool itself teaches the same, once, although two failures came before."""
    story = Story().fail("get").fail("get", call="c2").ok("copy", call="c3")
    assert learned(story).switches == {"get": {"copy": Switches(answered=1)}}


def test_steps_without_declarations() -> None:
    """Steps of tools that nobody declares teach what their call ids tell."""
    learner = Learner()
    learner.episode(Story().fail("a").fail("a").ok("b", path_of="a").steps, {})
    memory = learner.memory()
    assert memory.retries == {"a": {"timeout": Retries(stayed=1)}}
    assert memory.switches == {"a": {"b": Switches(answered=1)}}


def test_reads_that_agree() -> None:
    """A read that gives all that another gave about the same thing agrees with it; when it was read does not count."""
    first = {"id": "O1", "state": "open", "seen_at": "09:00"}
    second = {"id": "O1", "state": "open", "seen_at": "09:01", "more": 1}
    memory = learned(Story().ok("get", first).ok("copy", second))
    assert memory.agreements == {"get": {"copy": Agreement(agreed=1)}}
    differs = learned(Story().ok("get", first).ok("copy", {**second, "state": "closed"}))
    assert differs.agreements == {"get": {"copy": Agreement(differed=1)}}


def test_reads_that_say_nothing_of_each_other() -> None:
    """Reads about different things, or with a write in between, are not compared."""
    other = Story().ok("get").ok("copy", arguments={"id": "O2"})
    written = Story().ok("get").ok("pay", arguments={"amount": 1}).ok("copy")
    assert learned(other, written).agreements == {}


def test_reads_of_undeclared_tools() -> None:
    """Production steps that say that they read are compared without declarations."""
    story = Story().ok("a", effect=Effect.READ).ok("b", effect=Effect.READ).ok("c")
    learner = Learner()
    learner.episode(story.steps, {})
    assert learner.memory().agreements == {"a": {"b": Agreement(agreed=1)}, "b": {"a": Agreement(agreed=1)}}


def test_decay() -> None:
    """With a half-life of one episode, each further episode halves what the earlier ones count."""
    stories = [Story().fail("get").ok("get"), Story().fail("get").fail("get"), Story().ok("get")]
    memory = learned(*stories, half_life=1)
    assert memory.retries["get"]["timeout"] == Retries(recovered=0.25, stayed=0.5)
    assert memory.episodes == 1.75


def test_decay_over_many_episodes() -> None:
    """A long stream with a short half-life neither overflows nor loses the last episodes."""
    memory = learned(*[Story().fail("get").ok("get")] * 3000, half_life=0.5)
    assert memory.retries["get"]["timeout"].recovered == pytest.approx(4 / 3)
    assert memory.domains["get"] == "orders"


def test_decay_goes_on_in_a_later_session() -> None:
    """With decay, learning in two sessions is the same as in one."""
    stories = [Story().fail("get").ok("get"), Story().fail("get").fail("get"), Story().fail("get").ok("get")]
    at_once = learned(*stories, half_life=2)
    later = learned(*stories[1:], half_life=2, before=learned(stories[0], half_life=2))
    assert later.retries["get"]["timeout"].recovered == pytest.approx(at_once.retries["get"]["timeout"].recovered)
    assert later.retries["get"]["timeout"].stayed == pytest.approx(at_once.retries["get"]["timeout"].stayed)


def test_half_life_must_be_positive() -> None:
    """A half-life that is none is refused."""
    with pytest.raises(UsageError, match="half-life is 0"):
        Learner(half_life=0)


def test_a_stream_of_steps() -> None:
    """Steps of several episodes that are mixed are sorted into them; the longest at rest is over first."""
    a, b, c = (Story(name).fail("get").ok("get").steps for name in "abc")
    mixed = [a[0], b[0], a[1], c[0], b[1], c[1]]
    assert list(episodes(mixed)) == [a, b, c]
    assert [steps[0].episode for steps in episodes([a[0], b[0], a[1], c[0]], open_at_most=2)] == ["b", "a", "c"]
