from __future__ import annotations

import math
from collections import Counter
from copy import deepcopy
from itertools import pairwise

import jsonschema_rs
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.faults.shop import ORDER, STATUSES, Shop, injector, now, only

from breakfall.faults.corrupt import differences, factual_error, partial_data, stale_value
from breakfall.faults.profile import PROFILES, Burst, Profile
from breakfall.faults.scenario import Blockade, Openings, plan
from breakfall.faults.shape import UNKNOWN, shape_of
from breakfall.seeds import stream
from breakfall.vocab import OBSERVABLE, Failed, FaultKind, FaultSource, Ok, Scenario
from breakfall.vocab.pointer import get, parse

TOOLS = ("get_order", "get_refund", "refund", "ping")
UNCAPPED = {"max_total": 10**9, "max_in_row": 10**9}
SEED = st.integers(0, 2**32)
any_speed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
LETTERS = 'aBz019 -._/~"é가😀'
IDS = ("O1001", "O1002", "O1003")

money = st.integers(0, 10**9).map(lambda cents: cents / 100)
dates = st.dates().map(lambda day: day.isoformat())
orders = st.fixed_dictionaries(
    {"order_id": st.sampled_from(IDS), "status": st.sampled_from(STATUSES), "total": money},
    optional={
        "customer_id": st.sampled_from(["C7", "C8"]),
        "email": st.sampled_from(["kim@example.org", "a.b@c.kr"]),
        "tax": money.map(lambda amount: f"{amount:.2f}"),
        "shipping_cents": st.integers(0, 10**6),
        "placed_on": dates,
        "changed_at": dates.map(lambda day: f"{day}T09:30:00Z"),
        "items": st.lists(
            st.fixed_dictionaries(
                {"sku": st.sampled_from(["SKU-1", "SKU-2"]), "quantity": st.integers(1, 99)},
                optional={"gift": st.booleans()},
            ),
            max_size=4,
        ),
        "note": st.none() | st.text(LETTERS, max_size=20),
        "as_of": dates.map(lambda day: f"{day}T12:00:00Z"),
    },
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(LETTERS, max_size=12)
)
names = st.sampled_from(["id", "order_id", "status", "total", "as_of", "x/y", "0", "~", "items"]) | st.text(
    LETTERS, max_size=6
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)
vectors = st.dictionaries(st.sampled_from(list(FaultKind)), st.floats(0, 0.11), max_size=9)
calls = st.lists(st.sampled_from(TOOLS), max_size=40)


def falsified(kind, value, shape, seed):
    draw = stream(seed, "property")
    match kind:
        case FaultKind.PARTIAL_DATA:
            return partial_data(Ok(value=value), shape, draw)
        case FaultKind.STALE_VALUE:
            return stale_value(Ok(value=value), shape, draw, None)
        case _:
            return factual_error(Ok(value=value), shape, draw, Shop().ids, {"order_id": "O1001"})


def called(engine, tool):
    return now(engine.call(tool, {} if tool == "ping" else {"order_id": "O1001"}))


def trace(engine, tools):
    """Return what each call met, by tool and n."""
    met = {}
    for tool in tools:
        outcome, injection = called(engine, tool)
        if injection is not None:
            met[tool, injection.nth] = (injection.kind, injection.suppressed, isinstance(outcome, Failed))
    return met


@any_speed
@given(value=orders, kind=st.sampled_from([FaultKind.STALE_VALUE, FaultKind.FACTUAL_ERROR]), seed=SEED)
def test_false_values_are_valid_and_never_true(value, kind, seed):
    """A false answer satisfies the tool's schema with all its formats, and differs exactly where the record says."""
    true = deepcopy(value)
    false = falsified(kind, value, shape_of(ORDER), seed)
    assert value == true, "the world's own object was changed"
    if false is None:
        assert kind is FaultKind.STALE_VALUE
        return
    jsonschema_rs.validator_for(ORDER, validate_formats=True).validate(false.outcome.value)
    for change in false.corruptions:
        assert change.shown != change.true
        assert type(change.shown) is type(change.true)
    assert sorted(map(repr, differences(true, false.outcome.value))) == sorted(map(repr, false.corruptions))


@any_speed
@given(value=orders, seed=SEED)
def test_what_never_changes_never_ages(value, seed):
    """An aged order differs in its state and its later times alone, and was never changed before it was placed."""
    false = falsified(FaultKind.STALE_VALUE, value, shape_of(ORDER), seed)
    for change in false.corruptions if false is not None else ():
        assert change.pointer in ("/status", "/changed_at", "/as_of")
        if change.pointer == "/status":
            assert STATUSES.index(change.shown) < STATUSES.index(change.true)
            assert change.true != "cancelled", "what it was before is not told by the order of the states"
        else:
            assert change.shown < change.true
            before = value.get("placed_on", "")
            assert change.shown >= before or change.true < before


@any_speed
@given(value=anything, kind=st.sampled_from(["partial_data", "stale_value", "factual_error"]), seed=SEED)
def test_any_answer_survives(value, kind, seed):
    """Whatever a tool answers, a silent fault either does not strike or shows other JSON of the same kinds."""
    true = deepcopy(value)
    false = falsified(FaultKind(kind), value, UNKNOWN, seed)
    assert value == true, "the world's own object was changed"
    if false is None:
        return
    assert msgspec.json.encode(false.outcome.value) != msgspec.json.encode(true)
    assert false.corruptions
    for change in false.corruptions:
        side = true if change.removed else false.outcome.value
        assert get(side, parse(change.pointer)) == (change.true if change.removed else change.shown)
        assert change.removed or type(change.shown) is type(change.true)


@any_speed
@given(true=anything, shown=anything)
def test_differences_are_complete(true, shown):
    """An answer has no differences from another exactly if they are equal."""
    as_json = [msgspec.json.encode(value, order="sorted") for value in (true, shown)]
    if as_json[0] == as_json[1]:
        assert differences(true, shown) == []
    if true != shown:
        assert differences(true, shown)


@any_speed
@given(vector=vectors, tools=calls, seed=SEED, total=st.integers(0, 6), row=st.integers(0, 3), sticky=st.booleans())
def test_caps_are_never_exceeded(vector, tools, seed, total, row, sticky):
    """At most B noise faults strike in an episode and at most K in a row on a tool, those that merely stay aside."""
    profile = Profile(name="p", kinds=vector, max_total=total, max_in_row=row, sticky=sticky)
    engine = injector(Shop(), profile, seed=seed)
    fired, in_row, standing = 0, Counter(), set()
    for tool in tools:
        _, injection = called(engine, tool)
        if injection is None or injection.suppressed:
            in_row[tool] = 0
        elif (tool, injection.kind) not in standing:
            fired += 1
            in_row[tool] += 1
            if injection.sticky:
                standing.add((tool, injection.kind))
        assert fired <= total
        assert in_row[tool] <= row


@any_speed
@given(vector=vectors, tools=calls, seed=SEED)
def test_same_place_same_fault(vector, tools, seed):
    """The same calls under the same seed meet the same faults, to the byte."""
    profile = Profile(name="p", kinds=vector)
    first, second = (
        [msgspec.json.encode(called(engine, tool)) for tool in tools]
        for engine in (injector(Shop(), profile, seed=seed), injector(Shop(), profile, seed=seed))
    )
    assert first == second


@any_speed
@given(vector=vectors, tools=calls, order=st.randoms(use_true_random=False), seed=SEED, storm=st.booleans())
def test_other_calls_move_nothing(vector, tools, order, seed, storm):
    """Where no cap binds, the n-th call of a tool meets the same fault however the calls are interleaved."""
    profile = Profile(name="p", kinds=vector, burst=Burst() if storm else None, **UNCAPPED)
    mixed = list(tools)
    order.shuffle(mixed)
    engine, other = injector(Shop(), profile, seed=seed), injector(Shop(), profile, seed=seed)
    kinds = {place: kind for place, (kind, _, _) in trace(engine, tools).items()}
    assert {place: kind for place, (kind, _, _) in trace(other, mixed).items()} == kinds
    fewer = trace(injector(Shop(), profile, seed=seed), [tool for tool in tools if tool == "get_order"])
    assert {place: kind for place, (kind, _, _) in fewer.items()} == {
        place: kind for place, kind in kinds.items() if place[0] == "get_order"
    }


@any_speed
@given(vector=vectors, tools=calls, seed=SEED, kind=st.sampled_from(OBSERVABLE))
def test_blockaded_write_is_never_applied(vector, tools, seed, kind):
    """Whatever the noise, no call of a shut write runs, and none succeeds."""
    shop = Shop()
    blockade = Blockade(tools=("refund",), kinds={"refund": kind})
    engine = injector(shop, Profile(name="p", kinds=vector), blockade, seed=seed)
    for tool in tools:
        outcome, injection = called(engine, tool)
        if tool == "refund":
            assert isinstance(outcome, Failed)
            assert injection.source is FaultSource.BLOCKADE
            assert not injection.executed
    assert shop.refunds == {}
    assert "refund" not in {effect.name for effect in shop.effects}


@any_speed
@given(vector=vectors, tools=calls, seed=SEED)
def test_injections_tell_what_ran(vector, tools, seed):
    """A call is on record as executed exactly if the tool ran, and every effect belongs to one that did."""
    shop = Shop()
    engine = injector(shop, Profile(name="p", kinds=vector, **UNCAPPED), seed=seed)
    for tool in tools:
        ran, effects = len(shop.calls), len(shop.effects)
        outcome, injection = called(engine, tool)
        executed = injection is None or injection.executed
        assert len(shop.calls) - ran == executed
        assert len(shop.effects) - effects == (executed and tool in ("refund", "ping"))
        if injection is not None and not injection.suppressed and not injection.kind.silent:
            assert isinstance(outcome, Failed)
            assert outcome.kind is None


@any_speed
@given(scenario=st.sampled_from([Scenario.S2, Scenario.S3]), seed=SEED, task=st.text(LETTERS, max_size=8))
def test_plans_shut_what_their_scenario_says(scenario, seed, task):
    """S2 leaves a side of the pair open, S3 none of any path."""
    openings = Openings(
        needed=("a", "b"), sufficient={"a": ("x", "y"), "b": ("x",)}, paths={"a": ("x", "y", "z"), "b": ("x",)}
    )
    blockade = plan(scenario, openings, seed=seed, world="w", task=task)
    ways = {blockade.for_tool, *openings.paths[blockade.for_tool]}
    if scenario is Scenario.S3:
        assert set(blockade.tools) == ways
    else:
        assert len(blockade.tools) == 1
        assert set(blockade.tools) < ways - {"z"}


def test_frequencies():
    """Over many calls each kind strikes as often as its vector says, within four standard errors."""
    calls_made = 40_000
    paper = PROFILES["paper"]
    free = Profile(name="paper", kinds=paper.kinds, **UNCAPPED)
    engine = injector(Shop(), free)
    met = Counter(
        injection.kind for _, injection in (called(engine, "get_order") for _ in range(calls_made)) if injection
    )
    for kind, rate in paper.kinds.items():
        assert abs(met[kind] / calls_made - rate) < 4 * math.sqrt(rate * (1 - rate) / calls_made)


def test_draws_are_independent_in_a_row():
    """Whether a call of a tool fails says nothing of the next one."""
    engine = injector(Shop(), only(FaultKind.TIMEOUT, rate=0.4))
    failed = [isinstance(called(engine, "get_order")[0], Failed) for _ in range(20_000)]
    both = sum(a and b for a, b in pairwise(failed)) / len(failed)
    assert abs(both - 0.16) < 4 * math.sqrt(0.16 * 0.84 / len(failed))


def test_three_tries():
    """Three independent tries at 0.6 succeed with 1 - 0.4 ** 3 = 0.936: measured on the engine, not computed."""
    episodes = 10_000
    profile = Profile(name="six", kinds=dict.fromkeys(OBSERVABLE, 0.4 / 6), **UNCAPPED)
    succeeded = 0
    for seed in range(episodes):
        engine = injector(Shop(), profile, seed=seed)
        succeeded += any(isinstance(called(engine, "get_order")[0], Ok) for _ in range(3))
    assert abs(succeeded / episodes - 0.936) < 3 * math.sqrt(0.936 * 0.064 / episodes)


@pytest.mark.parametrize("kind", OBSERVABLE)
def test_no_try_on_a_shut_path(kind):
    """On a blockaded path no try ever succeeds, exactly."""
    blockade = Blockade(tools=("get_order",), kinds={"get_order": kind})
    for seed in range(300):
        engine = injector(Shop(), PROFILES["clean"], blockade, seed=seed)
        assert not any(isinstance(called(engine, "get_order")[0], Ok) for _ in range(3))
