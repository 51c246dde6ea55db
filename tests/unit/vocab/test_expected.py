"""Expected outcomes: free or in parts, and what they are grouped by."""

import msgspec
import pytest

from breakfall.vocab import Expected, Ok, Predicate, Step, Uncertainty, Verification, VerificationStatus, intent_of


def step(expected):
    return Step(
        episode="e",
        n=0,
        call="c1",
        tool="close_issue",
        arguments={},
        at_s=0.0,
        expected_outcome=expected,
        observed_outcome=Ok(value=1),
        verification=Verification(status=VerificationStatus.NOT_DONE),
        uncertainty_signal=Uncertainty.MISSING,
    )


CLOSED = Expected(
    intent="close the issue", target="issue:42", predicate=(Predicate(at="/state", is_="==", value="closed"),)
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Refund order O1042.", "refund  order O7"),
        ("mail the invoice to ann@x.org", "mail the invoice to bob.b@y.example"),
        ('search for "blue shoes"', 'search for "red hats, size 7"'),
        ("read https://a.example/x?y=1", "read https://b.example/"),
        ("refund 12.50 on 2024-05-01", "refund 9 on 2025-11-30"),
    ],
)
def test_texts_that_differ_in_what_varies_have_one_intent(one, other):
    """Ids, numbers, addresses, quoted parts, case and full stop do not make another intent."""
    assert intent_of(one) == intent_of(other)


def test_texts_that_differ_in_words_have_two_intents():
    """What is to be done tells intents apart."""
    assert intent_of("refund order O1") != intent_of("cancel order O1")


def test_a_step_is_grouped_by_its_intent_whichever_form_it_has():
    """A text gives the intent of its words, parts give theirs."""
    assert step("close issue 42").intent == "close issue #"
    assert step(CLOSED).intent == "close the issue"


def test_both_forms_survive_the_line():
    """A text comes back as a text and parts as parts."""
    for expected in ("close issue 42", CLOSED):
        made = step(expected)
        assert msgspec.json.decode(msgspec.json.encode(made), type=Step) == made


def test_parts_read_as_a_sentence():
    """Whoever prints an expected outcome need not know its form."""
    assert str(CLOSED) == "close the issue issue:42: /state == 'closed'"
    assert str(Expected(intent="read", predicate=(Predicate(),))) == "read: the value exists"


def test_a_predicate_names_a_place():
    """A pointer that is none is refused when the predicate is made."""
    with pytest.raises(ValueError, match="must be empty or start with '/'"):
        Predicate(at="state")
