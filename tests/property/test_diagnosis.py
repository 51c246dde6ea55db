"""Every observable fault that is injected can be told from what its caller sees."""

from hypothesis import given
from hypothesis import strategies as st

from breakfall import seeds
from breakfall.faults.drift import drift
from breakfall.faults.payload import failure
from breakfall.recovery.classify import classify
from breakfall.vocab import OBSERVABLE, Applied, Effect, FaultKind, Ok, Tool

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
