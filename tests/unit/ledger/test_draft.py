"""Drafts: four fields or a refusal."""

import pytest

from breakfall.errors import UsageError
from breakfall.ledger.draft import Draft, Place, missing, read, step_of
from breakfall.ledger.severity import Severity, severity
from breakfall.vocab import (
    Applied,
    Cost,
    Effect,
    Expected,
    Failed,
    FaultKind,
    Ok,
    Uncertainty,
    Verification,
    VerificationStatus,
)

WHOLE = {
    "tool": "refund",
    "expected_outcome": "the refund",
    "observed_outcome": {"id": "R1"},
    "verification": "passed",
    "uncertainty_signal": "none",
}
PLACE = Place(episode="e", n=3, call="c3", at_s=1.0)


def made(**more):
    return step_of(read({**WHOLE, **more}), PLACE)


@pytest.mark.parametrize("field", ["expected_outcome", "observed_outcome", "verification", "uncertainty_signal"])
def test_each_of_the_four_fields_is_required(field):
    """A step that lacks one is refused by its name, with what to do."""
    fields = {name: value for name, value in WHOLE.items() if name != field}
    with pytest.raises(UsageError, match=rf"^Step needs {field}; (say|give) "):
        step_of(read(fields), PLACE)


def test_all_that_is_missing_is_named_at_once():
    """Nobody has to mend one field after the other."""
    with pytest.raises(UsageError, match=r"^Step needs expected_outcome and verification; say what .*; say passed"):
        step_of(read({name: WHOLE[name] for name in ("tool", "observed_outcome", "uncertainty_signal")}), PLACE)


def test_an_incomplete_step_claims_nothing():
    """In import mode the step names what it lacks, and is no success that anybody could count."""
    step = step_of(read({"tool": "refund"}), PLACE, accept_incomplete=True)
    assert step.incomplete == ("expected_outcome", "observed_outcome", "verification", "uncertainty_signal")
    assert step.observed_outcome == Failed(message="the source does not say how it ended", applied=Applied.UNKNOWN)
    assert step.verification.status is VerificationStatus.NOT_DONE
    assert step.uncertainty_signal is Uncertainty.MISSING
    assert severity(step) is Severity.WARNING


def test_a_whole_draft_is_complete():
    """Nothing is missing of it."""
    assert missing(read(WHOLE)) == ()
    step = made()
    assert step.incomplete == ()
    assert (step.episode, step.n, step.call, step.observed_outcome) == ("e", 3, "c3", Ok(value={"id": "R1"}))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"expected_outcome": "x"}, "Step needs tool; say which tool was called"),
        ({**WHOLE, "tool": 3}, "Expected `str`, got `int` - at `$.tool`"),
        ({**WHOLE, "tokens_in": "12"}, "at `$.tokens_in`"),
        ({**WHOLE, "verification": "maybe"}, "Invalid enum value 'maybe' - at `$.verification`"),
        ({**WHOLE, "colour": "red"}, "Object contains unknown field `colour`"),
    ],
)
def test_wrong_fields_are_refused(fields, says):
    """The message names the field and what is wrong with it."""
    with pytest.raises(UsageError) as caught:
        read(fields)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({"status": 200}, Ok(value={"id": "R1"}, status=200)),
        (
            {"status": 401},
            Failed(message="HTTP 401", status=401, body='{"id":"R1"}', applied=Applied.UNKNOWN),
        ),
        (
            {"error": "timed out", "exception": "TimeoutError", "fault": "timeout"},
            Failed(
                message="timed out",
                exception="TimeoutError",
                kind=FaultKind.TIMEOUT,
                body='{"id":"R1"}',
                applied=Applied.UNKNOWN,
            ),
        ),
        ({"error": "no such order", "native": True, "applied": "no", "body": "{}"},
         Failed(message="no such order", native=True, body="{}")),
        ({"error": "gone", "effect": "read", "observed_outcome": "text"}, Failed(message="gone", body="text")),
        ({"status": 503, "applied": "no", "observed_outcome": None}, Failed(message="HTTP 503", status=503)),
        ({"observed_outcome": Ok(value=1, replayed=True)}, Ok(value=1, replayed=True)),
        ({"observed_outcome": None}, Ok(value=None)),
    ],
)  # fmt: skip
def test_what_was_observed(more, outcome):
    """An answer, a status or an error makes the outcome, whole; an error status is never ok."""
    assert made(**more).observed_outcome == outcome


def test_a_status_alone_is_an_observation():
    """A source that knows only the status has observed something."""
    draft = Draft(
        tool="t",
        expected_outcome="x",
        status=204,
        verification=VerificationStatus.NOT_DONE,
        uncertainty_signal=Uncertainty.MISSING,
    )
    assert step_of(draft, PLACE).observed_outcome == Ok(value=None, status=204)


def test_an_expectation_in_parts():
    """A target makes a text one in parts; parts are taken as they are."""
    assert made(target="order:7").expected_outcome == Expected(intent="the refund", target="order:7")
    parts = {"intent": "refund", "target": "order:7", "predicate": [{"at": "/id"}]}
    assert made(expected_outcome=parts).expected_outcome.predicate[0].is_ == "exists"


def test_the_models_text_gives_the_signal():
    """Where no signal is given, it is read from what the model wrote; a text without one is complete."""
    fields = {name: value for name, value in WHOLE.items() if name != "uncertainty_signal"}
    for text, signal in {"UNCERTAINTY: high": Uncertainty.HIGH, "Done.": Uncertainty.MISSING}.items():
        step = step_of(read({**fields, "model_text": text}), PLACE)
        assert (step.uncertainty_signal, step.incomplete) == (signal, ())


def test_cost_is_unknown_unless_said():
    """No number is not zero."""
    assert made().cost is None
    assert made(tokens_in=0).cost == Cost()
    assert made(tokens_in=9, tokens_cached=4, tokens_out=2, usd=0.1).cost == Cost(
        tokens_in=9, tokens_cached=4, tokens_out=2, usd=0.1
    )


def test_verification_in_one_word_or_whole():
    """Method and author may be given beside the status, or all in one."""
    short = made(method="re-read", by="agent").verification
    assert short == Verification(status=VerificationStatus.PASSED, method="re-read", by="agent")
    whole = {"status": "failed", "method": "sql", "by": "watchdog", "evidence": 2}
    assert made(verification=whole, effect=Effect.WRITE).verification.evidence == 2
