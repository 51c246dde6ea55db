"""What was observed is held against what was expected."""

import pytest

from breakfall.ledger.expected import holds, judge
from breakfall.vocab import Effect, Expected, Failed, Ok, Predicate, VerificationStatus

ISSUE = {"state": "closed", "labels": ["bug", "ui"], "comments": 3, "assignee": None}


@pytest.mark.parametrize(
    ("at", "is_", "value", "true"),
    [
        ("/state", "==", "closed", True),
        ("/state", "!=", "closed", False),
        ("/comments", ">", 2, True),
        ("/comments", ">=", 4, False),
        ("/comments", "<", 4, True),
        ("/comments", "<=", 2, False),
        ("/state", "in", ["closed", "merged"], True),
        ("/state", "not in", ["closed", "merged"], False),
        ("/labels", "contains", "ui", True),
        ("/labels/0", "==", "bug", True),
        ("/assignee", "exists", None, True),
        ("/milestone", "exists", None, False),
        ("/milestone", "==", None, False),
        ("/milestone", "!=", "v1", False),
        ("/state", ">", 1, False),
        ("/comments", "contains", 3, False),
    ],
)
def test_predicates(at, is_, value, true):
    """A predicate holds of what is there and compares so; of what is missing or of another type none does."""
    assert holds(Predicate(at=at, is_=is_, value=value), ISSUE) is true


def expected(state):
    return Expected(intent="close the issue", predicate=(Predicate(at="/state", is_="==", value=state),))


def test_a_read_that_meets_its_predicates_passes():
    """What a read answers is what it was for."""
    verification = judge(expected("closed"), Ok(value=ISSUE), Effect.READ)
    assert (verification.status, verification.by) == (VerificationStatus.PASSED, "runtime")


@pytest.mark.parametrize("effect", [None, *Effect])
def test_an_answer_that_breaks_a_predicate_fails(effect):
    """Whatever the call was, the answer is not what was expected, and the method says which predicate broke."""
    verification = judge(expected("open"), Ok(value=ISSUE), effect)
    assert verification.status is VerificationStatus.FAILED
    assert verification.method == "predicate: /state == 'open'"


@pytest.mark.parametrize("effect", [None, Effect.WRITE, Effect.IRREVERSIBLE])
def test_a_write_is_no_evidence_for_itself(effect):
    """A write that says what was expected is still verified by nobody."""
    assert judge(expected("closed"), Ok(value=ISSUE), effect).status is VerificationStatus.NOT_DONE


def test_without_predicates_or_answer_nothing_is_claimed():
    """A free text and a failed call leave a read without, and a write to be verified."""
    assert judge("the issue", Ok(value=ISSUE), Effect.READ).status is VerificationStatus.NOT_APPLICABLE
    assert judge("the issue", Ok(value=ISSUE), Effect.WRITE).status is VerificationStatus.NOT_DONE
    lost = Failed(message="no answer")
    assert judge(expected("closed"), lost, Effect.READ).status is VerificationStatus.NOT_APPLICABLE
    assert judge(expected("closed"), lost, Effect.WRITE).status is VerificationStatus.NOT_DONE
