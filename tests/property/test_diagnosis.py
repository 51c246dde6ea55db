"""Every observable fault that is injected can be told from what its caller sees."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from breakfall import seeds
from breakfall.faults.drift import drift
from breakfall.faults.payload import failure
from breakfall.recovery.classify import classify, diagnose
from breakfall.recovery.exceptions import EXCEPTIONS
from breakfall.runtime.boundary import outcome_of
from breakfall.vocab import OBSERVABLE, Applied, Effect, Failed, FaultKind, Ok, Tool

ARGUMENTS = {"order_id": "O1", "amount": 3}
LOST = {FaultKind.TIMEOUT, FaultKind.SERVER_ERROR, FaultKind.MALFORMED_RESPONSE}


@given(st.sampled_from(OBSERVABLE), st.sampled_from(Effect), st.integers(0, 10**6))
def test_true_kind_is_told(kind: FaultKind, effect: Effect, seed: int) -> None:
    """Classify names the true kind of each observable fault, and what a lost answer leaves open."""
    properties = {name: {} for name in ARGUMENTS}
    schema = {"type": "object", "properties": properties, "required": ["order_id"]}
    tool = Tool(name="refund", description="", parameters=schema, effect=effect, fault_domain="billing")
    draw = seeds.stream(seed, "diagnosis")
    failed = failure(kind, tool, draw, answer=Ok(value={"id": "R1", "amount": 3}), change=drift(tool, ARGUMENTS, draw))
    assert failed.kind is None
    seen = classify(failed, writes=tool.writes)
    assert seen.kind is kind
    assert seen.applied is (Applied.UNKNOWN if tool.writes and kind in LOST else Applied.NO)
    assert seen.retry_after_s == failed.retry_after_s


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-40_000, 600) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "errors", "code", "status", "message", "ok", "data", "isError", "content", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
NAMES = (
    st.none()
    | st.sampled_from(sorted(EXCEPTIONS))
    | st.text("abzXY.[]09", max_size=12)
    | st.just("x.OperationalError[40001]")
)


@st.composite
def failures(draw: st.DrawFn) -> Failed:
    """Anything that might come off a wire."""
    value = draw(st.none() | JSON)
    return Failed(
        message=draw(st.text(max_size=40)),
        status=draw(st.none() | st.integers(100, 599)),
        exception=draw(NAMES),
        body=draw(st.none() | st.text(max_size=40) | st.just(msgspec.json.encode(value).decode())),
        headers=draw(st.dictionaries(st.sampled_from(["Retry-After", "sunset", "location"]), st.text(max_size=8))),
    )


@given(failures(), st.booleans())
def test_every_failure_is_classified(failed: Failed, writes: bool) -> None:
    """Whatever came, it gets a kind or is native, with evidence in one line; classifying again changes nothing."""
    seen = classify(failed, writes=writes)
    assert seen.native is (seen.kind is None)
    assert seen.kind is None or not seen.kind.silent
    found = diagnose(failed)
    assert found.evidence
    assert "\n" not in found.evidence
    assert seen.applied is (Applied.UNKNOWN if writes and found.in_doubt else Applied.NO)
    assert not (found.in_doubt and not found.sent)
    assert classify(seen, writes=writes) is seen


@given(JSON)
def test_what_came_back_is_a_value_or_an_error(value: object) -> None:
    """Any JSON value becomes an outcome, and a value comes back as it is."""
    outcome = outcome_of(value, schema=None, expect=(), arguments={}, now_s=0.0, writes=True)
    assert isinstance(outcome, Failed) or outcome.value is value
