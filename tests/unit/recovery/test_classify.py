"""classify reads the kind of a failure from what a caller can see."""

import pytest

from breakfall.recovery.classify import classify
from breakfall.vocab import Applied, Failed, FaultKind

CASES = [
    (Failed(message="", exception="httpx.ReadTimeout"), FaultKind.TIMEOUT, True),
    (Failed(message="", exception="ConnectTimeout"), FaultKind.TIMEOUT, False),
    (Failed(message="", exception="ConnectError"), FaultKind.SERVER_ERROR, False),
    (Failed(message="", exception="RemoteProtocolError"), FaultKind.SERVER_ERROR, True),
    (Failed(message="", exception="json.JSONDecodeError", status=200), FaultKind.MALFORMED_RESPONSE, True),
    (Failed(message="", status=500, body="<html>"), FaultKind.SERVER_ERROR, True),
    (Failed(message="", status=503), FaultKind.SERVER_ERROR, True),
    (Failed(message="", status=504), FaultKind.TIMEOUT, True),
    (Failed(message="", status=429, retry_after_s=7.0), FaultKind.RATE_LIMIT, False),
    (Failed(message="", status=401), FaultKind.AUTH_ERROR, False),
    (Failed(message="", status=403, body="{}"), FaultKind.AUTH_ERROR, False),
    (Failed(message="", status=422, body='{"error": "schema_changed"}'), FaultKind.SCHEMA_DRIFT, False),
]


@pytest.mark.parametrize(("failed", "kind", "may_have_happened"), CASES)
def test_kind_and_effect(failed: Failed, kind: FaultKind, may_have_happened: bool) -> None:
    """Each evidence names its kind, and a write is of unknown effect exactly if the request may have arrived."""
    seen = classify(failed, writes=True)
    assert seen.kind is kind
    assert not seen.native
    assert seen.applied is (Applied.UNKNOWN if may_have_happened else Applied.NO)
    assert classify(failed, writes=False).applied is Applied.NO


@pytest.mark.parametrize(
    "failed",
    [
        Failed(message="order O1 is unknown", status=404),
        Failed(message="already shipped", status=409),
        Failed(message="amount: must be a number", status=422),
        Failed(message="no such file"),
    ],
)
def test_own_refusal_is_native(failed: Failed) -> None:
    """A tool's own refusal is no fault, and leaves nothing open."""
    seen = classify(failed, writes=True)
    assert seen.native
    assert seen.kind is None
    assert seen.failure_class == "native"
    assert seen.applied is Applied.NO


def test_a_classified_failure_stays() -> None:
    """What was classified before is not read again."""
    failed = Failed(message="", kind=FaultKind.AUTH_ERROR, status=500)
    assert classify(failed, writes=True) is failed
