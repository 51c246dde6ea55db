from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from tests.unit.faults.shop import Shop, injector, now, only, order

from breakfall.faults.profile import PROFILES, Burst, Profile
from breakfall.faults.scenario import Blockade
from breakfall.vocab import OBSERVABLE, Applied, Failed, FaultKind, FaultSource, Ok

UNCAPPED = {"max_total": 10**9, "max_in_row": 10**9}
ORDER = {"order_id": "O1001"}


def kinds(engine, tool, count):
    """Return the kind that struck each of so many calls, None for those that passed."""
    met = []
    for _ in range(count):
        _, injection = now(engine.call(tool, ORDER if tool != "ping" else {}))
        met.append(injection.kind if injection and not injection.suppressed else None)
    return met


def shut(**tools):
    return Blockade(tools=tuple(tools), kinds=tools)


def test_clean_profile_changes_nothing():
    """Without noise and blockade every call reaches the tool as it is, and nothing is recorded."""
    shop = Shop()
    engine = injector(shop, PROFILES["clean"])
    assert now(engine.call("get_order", ORDER)) == (Ok(value=order()), None)
    assert now(engine.call("refund", ORDER))[1] is None
    assert shop.calls == [("get_order", ORDER), ("refund", ORDER)]


@pytest.mark.parametrize("profile", ["clean", "paper"])
def test_unknown_tool(profile):
    """A tool that the world does not have is refused by the world, never broken."""

    class Refusing(Shop):
        async def call(self, tool, arguments):
            return Failed(message=f"no tool {tool}")

    engine = injector(Refusing(), PROFILES[profile])
    assert [now(engine.call("fly", {})) for _ in range(20)] == [(Failed(message="no tool fly"), None)] * 20


def test_own_vector():
    """A tool with a vector of its own draws from that alone."""
    profile = Profile(name="x", kinds={FaultKind.TIMEOUT: 1.0}, tools={"get_order": {}}, **UNCAPPED)
    engine = injector(Shop(), profile)
    assert kinds(engine, "get_order", 20) == [None] * 20
    assert kinds(engine, "get_refund", 3) == [FaultKind.TIMEOUT] * 3


def test_order_of_a_vector_is_no_difference():
    """Two vectors that say the same in another order break the same calls in the same way."""
    paper = replace(PROFILES["paper"], **UNCAPPED)
    turned = replace(paper, kinds=dict(reversed(paper.kinds.items())))
    assert kinds(injector(Shop(), paper), "get_order", 60) == kinds(injector(Shop(), turned), "get_order", 60)


def test_seeds_worlds_and_tasks_differ():
    """Another seed or task meets other faults."""
    paper = replace(PROFILES["paper"], **UNCAPPED)
    base = kinds(injector(Shop(), paper), "get_order", 60)
    assert kinds(injector(Shop(), paper), "get_order", 60) == base
    assert kinds(injector(Shop(), paper, seed=2), "get_order", 60) != base
    assert kinds(injector(Shop(), paper, task="t2"), "get_order", 60) != base


def test_nth_is_counted_per_tool():
    """Every call of a tool counts, also one that failed, and other tools' calls do not."""
    engine = injector(Shop(), only(FaultKind.TIMEOUT))
    counted = [now(engine.call(tool, ORDER))[1].nth for tool in ("get_order", "get_refund", "get_order", "get_order")]
    assert counted == [0, 0, 1, 2]


def test_cap_in_a_row():
    """After K faults in a row on a tool the next draw is suppressed: the call is clean and the draw recorded."""
    engine = injector(Shop(), only(FaultKind.TIMEOUT, max_in_row=2))
    assert kinds(engine, "get_order", 7) == [FaultKind.TIMEOUT, FaultKind.TIMEOUT, None] * 2 + [FaultKind.TIMEOUT]
    now(engine.call("get_order", ORDER))
    outcome, injection = now(engine.call("get_order", ORDER))
    assert outcome == Ok(value=order())
    assert (injection.kind, injection.suppressed, injection.executed) == (FaultKind.TIMEOUT, True, True)
    assert injection.source is FaultSource.NOISE


def test_a_clean_call_ends_the_row():
    """A row is broken by a call that got through, clean or spared: what K holds back can be told from that."""
    free = kinds(injector(Shop(), only(FaultKind.TIMEOUT, rate=0.6)), "get_order", 60)
    expected, in_row = [], 0
    for kind in free:
        in_row = in_row + 1 if kind is not None and in_row < 2 else 0
        expected.append(kind if in_row else None)
    assert expected != free
    assert kinds(injector(Shop(), only(FaultKind.TIMEOUT, rate=0.6, max_in_row=2)), "get_order", 60) == expected


def test_cap_in_total():
    """After B faults in an episode every draw is suppressed, on all tools."""
    engine = injector(Shop(), only(FaultKind.TIMEOUT, max_total=5))
    met = kinds(engine, "get_order", 3) + kinds(engine, "get_refund", 9)
    assert met == [FaultKind.TIMEOUT] * 5 + [None] * 7


def test_fault_that_cannot_strike_takes_no_cap():
    """A silent fault without anything to corrupt counts for no cap: the next one strikes."""
    shop = Shop()
    shop.orders.clear()
    engine = injector(shop, only(FaultKind.STALE_VALUE, max_total=1, max_in_row=1))
    assert kinds(engine, "get_order", 3) == [None] * 3
    shop.orders["O1001"] = order()
    assert kinds(engine, "get_order", 2) == [FaultKind.STALE_VALUE, None]


def test_no_noise_allowed():
    """With a cap of nothing all draws are suppressed."""
    assert kinds(injector(Shop(), only(FaultKind.TIMEOUT, max_total=0)), "get_order", 3) == [None] * 3


@pytest.mark.parametrize("kind", OBSERVABLE)
def test_blockade(kind):
    """Every call of a shut tool fails in the same way, runs nothing, and is the blockade's; other tools are open."""
    shop = Shop()
    engine = injector(shop, PROFILES["clean"], shut(refund=kind))
    results = [now(engine.call("refund", ORDER)) for _ in range(12)]
    assert len({json.dumps([o.status, o.exception, o.message, o.body]) for o, _ in results}) == 1
    for nth, (outcome, injection) in enumerate(results):
        assert isinstance(outcome, Failed)
        assert outcome.kind is None
        assert (injection.kind, injection.source, injection.nth) == (kind, FaultSource.BLOCKADE, nth)
        assert not injection.executed
    assert shop.calls == []
    assert shop.refunds == {}
    assert now(engine.call("get_order", ORDER))[1] is None


def test_blockade_shows_what_noise_shows():
    """A shut write leaves its caller in the same doubt as a lost answer does."""
    for kind in OBSERVABLE:
        lost = kind in (FaultKind.TIMEOUT, FaultKind.SERVER_ERROR, FaultKind.MALFORMED_RESPONSE)
        outcome, _ = now(injector(Shop(), PROFILES["clean"], shut(refund=kind)).call("refund", ORDER))
        assert outcome.applied is (Applied.UNKNOWN if lost else Applied.NO)


def test_blockade_hides_the_answer():
    """The malformed answer of a shut read holds nothing that was not in the call."""
    for seed in range(30):
        blockade = shut(get_order=FaultKind.MALFORMED_RESPONSE)
        outcome, _ = now(injector(Shop(), PROFILES["clean"], blockade, seed=seed).call("get_order", ORDER))
        assert '{"request":{"order_id":"O1001"},"result":{}}'.startswith(outcome.body)


def test_blockade_is_outside_the_caps():
    """A blockade counts for no cap: it fails on after B and K, and noise elsewhere has all of its own."""
    engine = injector(Shop(), only(FaultKind.TIMEOUT, max_total=2), shut(refund=FaultKind.AUTH_ERROR))
    assert kinds(engine, "refund", 9) == [FaultKind.AUTH_ERROR] * 9
    assert kinds(engine, "get_order", 3) == [FaultKind.TIMEOUT, FaultKind.TIMEOUT, None]


def test_blockade_by_drift_never_opens():
    """A caller that follows what a shut tool says of its arguments is told of a further change."""
    engine = injector(Shop(), PROFILES["clean"], shut(get_order=FaultKind.SCHEMA_DRIFT))
    arguments, told = dict(ORDER), []
    for _ in range(10):
        outcome, injection = now(engine.call("get_order", arguments))
        assert injection.source is FaultSource.BLOCKADE
        error = json.loads(outcome.body)["error"]
        new = error.get("renamed_to") or error["argument"]
        assert new not in arguments
        told.append(new)
        value = arguments.pop(error["argument"], "x")
        arguments[new] = value
    assert len(set(told)) == 10


def obeyed(outcome, arguments):
    """Do what a drifted tool asks for."""
    error = json.loads(outcome.body)["error"]
    if error["reason"] == "renamed":
        return {error["renamed_to"]: arguments[error["argument"]]}
    return {**arguments, error["argument"]: error["allowed"][0]}


@pytest.mark.parametrize("sticky", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_new_arguments_pass(sticky, seed):
    """A call in the form that a drift asked for gets through, as the real tool knows it, and drifts no more."""
    shop = Shop()
    engine = injector(shop, only(FaultKind.SCHEMA_DRIFT, sticky=sticky), seed=seed)
    failed, injection = now(engine.call("get_order", ORDER))
    assert injection.sticky is sticky
    outcome, injection = now(engine.call("get_order", obeyed(failed, ORDER)))
    assert outcome == Ok(value=order())
    assert injection.suppressed
    assert shop.calls == [("get_order", ORDER)]


def test_sticky_drift_stays():
    """In `sticky` a drifted tool refuses the old arguments, with the same words, beyond all caps, and that alone."""
    shop = Shop()
    engine = injector(shop, only(FaultKind.SCHEMA_DRIFT, sticky=True, max_total=1))
    results = [now(engine.call("get_order", ORDER)) for _ in range(8)]
    assert len({outcome.body for outcome, _ in results}) == 1
    assert all(injection.sticky and not injection.executed for _, injection in results)
    assert [injection.nth for _, injection in results] == list(range(8))
    assert kinds(engine, "get_refund", 1) == [None]
    assert shop.calls == [("get_refund", ORDER)]


def test_drift_of_a_tool_without_arguments():
    """A tool that takes nothing asks for one new argument, and without it runs as before."""
    shop = Shop()
    engine = injector(shop, only(FaultKind.SCHEMA_DRIFT, sticky=True))
    failed, _ = now(engine.call("ping", {}))
    assert now(engine.call("ping", obeyed(failed, {})))[0] == Ok(value={"up": True})
    assert shop.calls == [("ping", {})]


@pytest.mark.parametrize("seed", range(8))
def test_one_drift_per_episode(seed):
    """A tool's arguments change in one way in an episode, whichever of its calls meets the change."""

    def changes(rate):
        engine = injector(Shop(), only(FaultKind.SCHEMA_DRIFT, rate=rate), seed=seed)
        outcomes = [now(engine.call("get_order", ORDER))[0] for _ in range(40)]
        errors = [json.loads(outcome.body)["error"] for outcome in outcomes if isinstance(outcome, Failed)]
        return {(error["argument"], error.get("renamed_to")) for error in errors}

    assert len(changes(1.0)) == 1
    assert changes(1.0) == changes(0.2)


def test_sticky_auth_stays():
    """In `sticky` refused credentials stay refused on that tool for the episode; in `paper` the next call may pass."""
    rates = {FaultKind.AUTH_ERROR: 0.5}
    sticky = kinds(injector(Shop(), Profile(name="s", kinds=rates, sticky=True)), "get_order", 30)
    first = sticky.index(FaultKind.AUTH_ERROR)
    assert set(sticky[first:]) == {FaultKind.AUTH_ERROR}
    fresh = kinds(injector(Shop(), Profile(name="f", kinds=rates, **UNCAPPED)), "get_order", 30)
    assert fresh[: first + 1] == sticky[: first + 1]
    assert None in fresh[first:]


def test_sticky_leaves_other_kinds_alone():
    """In `sticky` all but credentials and schema is drawn afresh for every call."""
    profile = Profile(name="s", kinds={FaultKind.TIMEOUT: 0.5}, sticky=True, **UNCAPPED)
    engine = injector(Shop(), profile)
    met = [now(engine.call("get_order", ORDER))[1] for _ in range(40)]
    assert None in met
    assert not any(injection.sticky for injection in met if injection)


def test_storm_is_shared_by_a_domain():
    """In a burst every tool of the domain meets the burst's one kind in the same window of its calls."""
    profile = Profile(name="s", burst=Burst(window=3, chance=0.5, rate=1.0), **UNCAPPED)
    engine = injector(Shop(), profile)
    orders, ping = kinds(engine, "get_order", 90), kinds(engine, "ping", 90)
    assert orders == ping
    windows = [set(orders[start : start + 3]) for start in range(0, 90, 3)]
    assert all(len(window) == 1 for window in windows)
    assert {next(iter(window)) for window in windows} == {None, *Burst().kinds}
    assert kinds(engine, "get_refund", 90) != orders


def test_storm_outside_bursts():
    """Outside a burst the tool's own vector holds; inside, the burst's kind strikes at its rate alone."""
    burst = Burst(window=1000, chance=0.5, rate=0.5, kinds=(FaultKind.RATE_LIMIT,))
    profile = Profile(name="s", kinds={FaultKind.TIMEOUT: 1.0}, burst=burst, **UNCAPPED)
    seen = [frozenset(kinds(injector(Shop(), profile, seed=seed), "get_order", 30)) for seed in range(20)]
    assert set(seen) == {frozenset({FaultKind.TIMEOUT}), frozenset({FaultKind.RATE_LIMIT, None})}


@pytest.mark.parametrize("kind", [FaultKind.TIMEOUT, FaultKind.SERVER_ERROR])
def test_refusal_behind_a_lost_answer(kind):
    """A write that the tool refused before its answer was lost has no effect, and the refusal is on record."""
    found = False
    for seed in range(20):
        shop = Shop()
        shop.orders.clear()
        outcome, injection = now(injector(shop, only(kind), seed=seed).call("refund", ORDER))
        assert outcome.applied is Applied.UNKNOWN
        assert shop.effects == []
        assert injection.true_refusal == ("no order O1001" if injection.executed else None)
        found = found or injection.executed
    assert found


def test_environment_errors_pass():
    """What the environment raises is not the injector's to hide."""

    class Broken(Shop):
        async def call(self, tool, arguments):
            raise RuntimeError("the world broke")

    with pytest.raises(RuntimeError, match="the world broke"):
        now(injector(Broken(), PROFILES["light"]).call("get_order", ORDER))
