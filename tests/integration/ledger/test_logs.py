"""Log calls that report a step become Steps: through `logging`, and through the protocol of structlog's processors."""

import logging

import pytest

from breakfall.errors import StoreError, UsageError
from breakfall.ledger.capture import Capture
from breakfall.ledger.log_handlers import StepHandler, StepProcessor
from breakfall.vocab import Applied, Effect, Failed, Ok, Uncertainty, VerificationStatus

REFUND = {
    "tool": "refund",
    "expected_outcome": "the refund",
    "observed_outcome": {"id": "R1"},
    "verification": "not_done",
    "uncertainty_signal": "low",
}


class Kept:
    def __init__(self):
        self.steps = []

    def step(self, step):
        self.steps.append(step)


@pytest.fixture
def sink():
    return Kept()


@pytest.fixture
def handler(sink):
    return StepHandler(Capture(sink, episode="e", agent="desk"), defaults={"effect": "write"})


@pytest.fixture
def logger(handler):
    made = logging.Logger("shop")
    made.addHandler(handler)
    return made


def test_a_record_with_the_four_fields_is_a_step(logger, sink):
    """Its fields come from `extra`, its time from the record; the level says nothing."""
    logger.error("refunded %s", "O7", extra={**REFUND, "arguments": {"order": "O7"}, "took_s": 1.5})
    [step] = sink.steps
    assert (step.tool, step.arguments, step.agent, step.effect) == ("refund", {"order": "O7"}, "desk", Effect.WRITE)
    assert step.observed_outcome == Ok(value={"id": "R1"})
    assert step.uncertainty_signal is Uncertainty.LOW
    assert step.took_s == 1.5
    assert step.unix_s > 1_600_000_000


def test_other_records_pass_by(logger, sink, handler):
    """A record with none of the four fields is no step, whatever else it carries."""
    logger.info("started", extra={"tool": "refund", "status": 200})
    assert sink.steps == []
    assert handler.refused == 0


def test_a_record_that_lacks_a_field_is_refused_by_its_name(logger, sink, handler, capsys):
    """The program goes on; standard error names the field, and the handler counts."""
    logger.info("refunded", extra={name: REFUND[name] for name in ("tool", "expected_outcome", "observed_outcome")})
    assert sink.steps == []
    assert handler.refused == 1
    assert "Step needs verification and uncertainty_signal" in capsys.readouterr().err


def test_a_full_disk_does_not_end_the_program(capsys):
    """What the sink cannot store is an error on standard error, and no refusal of the record."""

    class Full:
        def step(self, step):
            raise StoreError("no space left")

    handler = StepHandler(Capture(Full()))
    logger = logging.Logger("shop")
    logger.addHandler(handler)
    logger.info("refunded", extra=REFUND)
    assert "no space left" in capsys.readouterr().err
    assert handler.refused == 0


def test_a_logged_exception_is_the_outcome(logger, sink):
    """`exc_info` stands for the outcome where none is given."""
    fields = {name: value for name, value in REFUND.items() if name != "observed_outcome"}
    try:
        raise TimeoutError("10 s")
    except TimeoutError:
        logger.exception("refund failed", extra=fields)
    assert sink.steps[0].observed_outcome == Failed(message="10 s", exception="TimeoutError", applied=Applied.UNKNOWN)


def test_evidence_names_an_earlier_call(logger, sink):
    """A record may name the call that is its evidence."""
    logger.info("looked", extra={**REFUND, "tool": "get", "call": "g1", "effect": "read"})
    logger.info("refunded", extra={**REFUND, "verification": "passed", "method": "re-read", "evidence": "g1"})
    assert sink.steps[1].verification.evidence == sink.steps[0].n
    assert sink.steps[1].verification.status is VerificationStatus.PASSED


def test_a_structlog_event_is_a_step_and_goes_on_unchanged(sink):
    """The processor takes what it needs and hands the event to the next one as it came."""
    processor = StepProcessor(
        Capture(sink), defaults={"verification": "not_applicable", "uncertainty_signal": "missing"}
    )
    event = {
        "event": "got it",
        "tool": "get",
        "expected_outcome": "the order",
        "observed_outcome": [1],
        "level": "info",
    }
    before = dict(event)
    assert processor(None, "info", event) is event
    assert event == before
    assert sink.steps[0].observed_outcome == Ok(value=[1])
    assert processor(None, "info", {"event": "no step"}) == {"event": "no step"}
    assert len(sink.steps) == 1


@pytest.mark.parametrize("form", ["instance", "tuple", "true"])
def test_a_structlog_exception_in_each_of_its_forms(sink, form):
    """`exc_info` may be the exception, a triple, or True inside its handler."""
    processor = StepProcessor(Capture(sink))
    fields = {name: value for name, value in REFUND.items() if name != "observed_outcome"}
    try:
        raise ValueError("no")
    except ValueError as error:
        info = {"instance": error, "tuple": (ValueError, error, None), "true": True}[form]
        processor(None, "error", {**fields, "effect": "read", "exc_info": info})
    assert sink.steps[0].observed_outcome == Failed(message="no", exception="ValueError")


def test_a_structlog_event_that_lacks_a_field_is_refused(sink):
    """The message names the field."""
    with pytest.raises(UsageError, match="Step needs expected_outcome"):
        StepProcessor(Capture(sink))(None, "info", {**REFUND, "expected_outcome": ""})
