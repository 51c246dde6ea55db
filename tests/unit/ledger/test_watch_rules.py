"""A step's own record speaks against a false ok and a verification without evidence, and never against truth."""

from __future__ import annotations

from typing import Any

import pytest

from breakfall.ledger.partial import partial_read, partial_write
from breakfall.ledger.verdict import Judgement, Rule
from breakfall.ledger.watch_rules import against_evidence, against_itself, claims_effect
from breakfall.recovery import bodies
from breakfall.vocab import (
    Applied,
    Effect,
    Expected,
    Failed,
    FaultKind,
    Ok,
    Outcome,
    Predicate,
    Step,
    Uncertainty,
    Verification,
    VerificationStatus,
)

PASSED, NOT_DONE = VerificationStatus.PASSED, VerificationStatus.NOT_DONE
CLOSED = Expected(intent="close", target="issue:42", predicate=(Predicate(at="/state", is_="==", value="closed"),))


def step(outcome: Outcome, *, n: int = 3, effect: Effect | None = Effect.WRITE, **more: Any) -> Step:
    fixed: dict[str, Any] = {
        "episode": "e",
        "n": n,
        "call": f"c{n}",
        "tool": "close_issue",
        "arguments": {"number": 42},
        "at_s": float(n),
        "expected_outcome": "the issue is closed",
        "observed_outcome": outcome,
        "verification": Verification(status=NOT_DONE),
        "uncertainty_signal": Uncertainty.MISSING,
        "effect": effect,
    }
    return Step(**{**fixed, **more})


def passed(evidence: int | None = None, method: str = "get_issue") -> Verification:
    return Verification(status=PASSED, by="agent", method=method, evidence=evidence)


def found(one: Step) -> tuple[Judgement, Rule] | None:
    finding = against_itself(one, bodies.error_in)
    return None if finding is None else (finding.judgement, finding.rule)


class TestAgainstItself:
    BAD = Judgement.CONTRADICTED

    def test_ok_over_an_error(self) -> None:
        """An ok over an HTTP 401, or over a body that says error, is contradicted."""
        assert found(step(Ok(value={"message": "Bad credentials"}, status=401))) == (self.BAD, Rule.STATUS)
        body = {"status": 401, "message": "Bad credentials"}
        assert found(step(Ok(value=body, status=200))) == (self.BAD, Rule.ERROR_BODY)
        assert found(step(Ok(value={"error": "expired"}))) == (self.BAD, Rule.ERROR_BODY)

    def test_empty_body(self) -> None:
        """200 with an empty body contradicts a read; of a write nobody can tell; a value out of 0 bytes is invented."""
        for value in (None, "", " \n"):
            assert found(step(Ok(value=value, status=200), effect=Effect.READ)) == (self.BAD, Rule.EMPTY_BODY)
            assert found(step(Ok(value=value, status=200))) == (Judgement.UNVERIFIABLE, Rule.EMPTY_BODY)
            assert found(step(Ok(value=value, status=200), expected_outcome=CLOSED)) == (self.BAD, Rule.EMPTY_BODY)
        assert found(step(Ok(value={"id": 1}, status=200), size_bytes=0)) == (self.BAD, Rule.EMPTY_BODY)

    @pytest.mark.parametrize("value", [[], {}, 0, False])
    def test_empty_values_are_values(self, value: Any) -> None:
        """An empty list is an answer; so is nothing where HTTP says so or nobody spoke HTTP."""
        assert found(step(Ok(value=value, status=200), effect=Effect.READ)) is None
        assert found(step(Ok(value=None, status=204))) is None
        assert found(step(Ok(value=None))) is None
        assert found(step(Ok(value="", status=200), effect=Effect.READ, arguments={"method": "HEAD"})) is None

    def test_partial(self) -> None:
        """Ok over a write that did a part is contradicted; a read may see a part, unless it says verified."""
        part = {"succeeded": 3, "failed": 2}
        assert found(step(Ok(value=part))) == (self.BAD, Rule.PARTIAL)
        listed = Ok(value={"incomplete_results": True, "items": []})
        assert found(step(listed, effect=Effect.READ)) is None
        assert found(step(listed, effect=Effect.READ, verification=passed(1))) == (self.BAD, Rule.PARTIAL)

    def test_predicate(self) -> None:
        """Ok over an answer that is not as expected is contradicted, unless the step itself says failed."""
        still = Ok(value={"state": "open"})
        assert found(step(still, expected_outcome=CLOSED)) == (self.BAD, Rule.PREDICATE)
        said = Verification(status=VerificationStatus.FAILED)
        assert found(step(still, expected_outcome=CLOSED, verification=said)) is None
        assert found(step(Ok(value={"state": "closed"}), expected_outcome=CLOSED)) is None

    def test_failures_and_replays_claim_nothing(self) -> None:
        """A step that says failed, or that was answered from memory, claims nothing that its body could deny."""
        assert found(step(Failed(message="HTTP 401", status=401, body='{"error": "x"}'))) is None
        assert found(step(Ok(value={"error": "x"}, replayed=True))) is None


class TestEvidence:
    def why(self, claim: Step, evidence: Step | None) -> str | None:
        finding = against_evidence(claim, evidence)
        assert finding is None or finding.judgement is Judgement.FABRICATED_VERIFICATION
        return None if finding is None else finding.why

    CLAIM = step(Ok(value={"id": 9}), verification=passed(5))

    def look(self, outcome: Outcome = Ok(value={"state": "closed"}), **more: Any) -> Step:  # noqa: B008 - immutable
        return step(outcome, **{"n": 5, "effect": Effect.READ, "tool": "get_issue", **more})

    def test_none(self) -> None:
        """A claim that names no call, one that was never made, or itself, is fabricated."""
        assert "names no call" in str(self.why(step(Ok(value=1), verification=passed()), None))
        assert "no such step" in str(self.why(self.CLAIM, None))
        itself = step(Ok(value=1), n=5, verification=passed(5))
        assert "by itself" in str(self.why(itself, itself))

    def test_a_look(self) -> None:
        """A later look-up of the same thing is evidence, also one made inside the write's own block."""
        assert self.why(self.CLAIM, self.look()) is None
        assert self.why(self.CLAIM, self.look(at_s=3.0)) is None

    @pytest.mark.parametrize(
        "outcome",
        [Failed(message="no such issue"), Failed(message="HTTP 404", status=404), Failed(message="gone", native=True)],
    )
    def test_nothing_there_is_evidence(self, outcome: Failed) -> None:
        """A look-up that found nothing tells something."""
        assert self.why(self.CLAIM, self.look(outcome)) is None

    @pytest.mark.parametrize(
        "outcome",
        [
            Failed(message="HTTP 401", status=401),
            Failed(message="HTTP 503", status=503),
            Failed(message="timed out", kind=FaultKind.TIMEOUT),
            Ok(value={"state": "closed"}, replayed=True),
        ],
    )
    def test_a_failed_look_is_none(self, outcome: Outcome) -> None:
        """A look-up that was refused, lost or answered from memory saw nothing."""
        assert self.why(self.CLAIM, self.look(outcome)) is not None

    def test_a_write_is_no_look(self) -> None:
        """Another write is no evidence; a call whose effect nobody named may be."""
        assert "not a look" in str(self.why(self.CLAIM, self.look(effect=Effect.WRITE)))
        assert self.why(self.CLAIM, self.look(effect=None)) is None

    def test_before_the_write(self) -> None:
        """What was read before the write says nothing of it; a read may be checked by an earlier one."""
        early = self.look(n=1, at_s=1.0)
        claim = step(Ok(value=1), verification=passed(1))
        assert "before the write" in str(self.why(claim, early))
        assert self.why(step(Ok(value=1), effect=Effect.READ, verification=passed(1)), early) is None

    def test_something_else(self) -> None:
        """A look-up of another issue is no evidence; one of what the write made, or of what is left, is."""
        assert "something else" in str(self.why(self.CLAIM, self.look(arguments={"number": 41})))
        assert self.why(self.CLAIM, self.look(arguments={"id": 9})) is None
        assert self.why(self.CLAIM, self.look(arguments={"number": 9})) is None
        assert self.why(self.CLAIM, self.look(arguments={"state": "open"})) is None
        assert self.why(self.CLAIM, self.look(arguments={})) is None
        target = step(Ok(value=1), verification=passed(5), expected_outcome=CLOSED, arguments={"ref": "a"})
        assert self.why(target, self.look(arguments={"ref": "issue:42"})) is None

    def test_a_read_may_speak_for_itself(self) -> None:
        """A read whose predicates hold needs no other evidence; a write, or one without predicates, does."""
        said = passed(method="predicate")
        good = Ok(value={"state": "closed"})
        assert self.why(step(good, effect=Effect.READ, expected_outcome=CLOSED, verification=said), None) is None
        assert self.why(step(good, effect=Effect.READ, verification=said), None) is not None
        assert self.why(step(good, expected_outcome=CLOSED, verification=said), None) is not None


def test_what_claims_an_effect() -> None:
    """Writes that say ok or that they took effect claim one; reads, probes, replays and plain failures do not."""
    assert claims_effect(step(Ok(value=1)))
    assert claims_effect(step(Failed(message="HTTP 500", applied=Applied.YES)))
    assert claims_effect(step(Ok(value=1), effect=None))
    assert not claims_effect(step(Failed(message="HTTP 500", applied=Applied.UNKNOWN)))
    assert not claims_effect(step(Ok(value=1), effect=Effect.READ))
    assert not claims_effect(step(Ok(value=1, replayed=True)))
    assert not claims_effect(step(Ok(value=1), purpose="probe"))
    silent = Verification(status=VerificationStatus.NOT_APPLICABLE)
    assert not claims_effect(step(Ok(value=1), effect=None, verification=silent))


PARTS: list[tuple[Any, dict[str, Any]]] = [
    ({"succeeded": 3, "failed": 2}, {}),
    ({"Successful": [1], "Failed": [{"Id": "2"}]}, {}),
    ({"UnprocessedItems": {"t": [1]}}, {}),
    ({"FailedEntryCount": 1, "Entries": []}, {}),
    ({"partial_success": True}, {}),
    ({"errors": [{"message": "x"}], "data": {"a": 1}}, {}),
    ([{"id": 1, "status": 200}, {"id": 2, "status": 409}], {}),
    ({"results": [{"ok": True}, {"ok": False}]}, {}),
    ({"results": [{"id": 1}, {"error": {"code": 7}}]}, {}),
    ({"sent": 3}, {"to": ["a", "b", "c", "d"]}),
]
WHOLE: list[tuple[Any, dict[str, Any]]] = [
    ({"succeeded": 5, "failed": 0}, {}),
    ({"successful": [1], "failed": []}, {}),
    ({"passed": 10, "failed": 2}, {}),
    ({"failed": 2}, {}),
    ({"failed": True, "sent": 1}, {}),
    ({"updated": 3}, {"ids": [1, 2, 3, 4]}),
    ({"sent": 4}, {"to": ["a", "b", "c", "d"]}),
    ({"sent": 1}, {"to": ["a", "b"], "cc": ["c"]}),
    ({"partial": False, "truncated": None}, {}),
    ({"results": [{"status": "open"}, {"error": None}, {"error": ""}]}, {}),
    ([1, "a", None], {}),
    ("partial", {}),
    (None, {}),
]


@pytest.mark.parametrize(("value", "arguments"), PARTS)
def test_partial_writes(value: Any, arguments: dict[str, Any]) -> None:
    """A batch that says itself that some of it was not done is partial."""
    assert partial_write(value, arguments) is not None


@pytest.mark.parametrize(("value", "arguments"), WHOLE)
def test_whole_writes(value: Any, arguments: dict[str, Any]) -> None:
    """What does not say that something of the write is missing is whole."""
    assert partial_write(value, arguments) is None


def test_partial_reads() -> None:
    """HTTP 206 and marks of incompleteness are seen in a read; a page of a list, and records that failed, are not."""
    assert partial_read({"a": 1}, 206)
    assert partial_read({"incomplete_results": True})
    for value in ({"has_more": True}, {"succeeded": 3, "failed": 2}, [{"ok": False}], {"items": [{"status": 500}]}):
        assert partial_read(value) is None
