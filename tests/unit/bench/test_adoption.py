"""Silent adoption: by sources, by value, and writes that never happened."""

import pytest
from tests.unit.bench.tale import ORDER, REFUND, Tale, fact, over

from breakfall.vocab import Answer, Corruption, FaultKind, Ok, PlanStep, Task, Text

FALSE_ID = Corruption(pointer="/customer_id", true="C17", shown="C99")
SHOWN = {"customer_id": "C99", "name": "Ada"}
LOST_ITEM = Corruption(pointer="/items/1", true={"sku": "B"}, shown=None, removed=True)
LOST_FIELD = Corruption(pointer="/name", true="Ada", shown=None, removed=True)


def _task(text: str = "Refund me.", **facts: object) -> Task:
    return Task(
        id="t1",
        world="shop",
        template="x",
        split="s",
        instruction=Text(en=text),
        facts=facts,
        plan=(PlanStep(id="a", tool="get_order"),),
    )


def _followed(source: str, *corruptions: Corruption, value: object = "C99") -> bool | None:
    tale = Tale()
    tale.lie("get_order", ORDER, SHOWN, *corruptions, call="c1")
    tale.ok("list_orders", {"customer_id": value}, {}, call="c2", sources={"customer_id": source})
    return tale.met().adopted


def test_taint_reaches_an_argument() -> None:
    """A false value that a later argument was taken from is adopted; a true one beside it is not."""
    assert _followed("c1#/customer_id", FALSE_ID) is True
    assert _followed("c1#", FALSE_ID) is True
    assert _followed("c1#/name", FALSE_ID) is False
    assert _followed("c7#/customer_id", FALSE_ID) is False


def test_taint_reaches_the_answer() -> None:
    """A false value in the final answer is adopted too."""
    tale = Tale()
    tale.lie("get_order", ORDER, SHOWN, FALSE_ID, call="c1")
    answer = Answer(facts={"customer": "C99"}, sources={"customer": "c1#/customer_id"})
    assert tale.met(answer=answer).adopted is True


@pytest.mark.parametrize(
    ("steered", "adopted"),
    [
        ({"c1#/customer_id": "C99"}, True),
        ({"c1#": SHOWN}, True),
        ({"c1#/name": "Ada"}, False),
        ({"c7#/customer_id": "C99"}, False),
    ],
)
def test_taint_reaches_a_decision(steered: dict[str, object], adopted: bool) -> None:
    """A false value that a decision was made by is adopted, though it was passed on to nobody."""
    tale = Tale()
    tale.lie("get_order", ORDER, SHOWN, FALSE_ID, call="c1")
    assert tale.met(answer=Answer(text="Nothing to do.", steered=steered)).adopted is adopted


@pytest.mark.parametrize(
    ("shown", "read", "adopted"), [("C99", "C99", True), ("C99", "C17", False), (True, True, None)]
)
def test_decisions_by_another_path_are_compared(shown: object, read: object, adopted: bool | None) -> None:
    """A value of another path that a decision was made by is compared, where it has anything to compare."""
    tale = Tale()
    false = Corruption(pointer="/x", true=None, shown=shown)
    tale.lie("order_by_mail", ORDER, SHOWN, false, call="c1", path_of="get_order")
    assert tale.met(answer=Answer(steered={"c1#/y": read})).adopted is adopted


def test_another_answer_to_the_same_call_is_what_the_agent_got() -> None:
    """A false answer that the runtime replaced by a later attempt of the same call was never handed on."""
    tale = Tale()
    tale.lie("get_order", ORDER, SHOWN, FALSE_ID, call="c1")
    tale.ok("order_by_mail", ORDER, {"customer_id": "C17"}, call="c1", path_of="get_order")
    tale.ok("list_orders", {"customer_id": "C17"}, {}, sources={"customer_id": "c1#/customer_id"})
    assert tale.met().adopted is False


def test_what_was_taken_away() -> None:
    """Using the whole from which something is missing is adoption; an item of a shortened list cannot tell."""
    assert _followed("c1#", LOST_FIELD) is True
    assert _followed("c1#/customer_id", LOST_FIELD) is False
    assert _followed("c1#/items", LOST_ITEM) is True
    assert _followed("c1#/items/0/sku", LOST_ITEM) is None


def test_values_of_another_path_are_compared() -> None:
    """The pointers of a value from another path are the original's, so the value itself is compared."""
    for value, adopted in (("C99", True), ("C17", False)):
        tale = Tale()
        tale.lie("order_by_mail", ORDER, SHOWN, FALSE_ID, call="c1", path_of="get_order")
        sources = {"customer/id": "c1#/owner/id"}
        tale.ok("list_orders", {"customer": {"id": value}}, {}, sources=sources)
        assert tale.met().adopted is adopted


def test_part_of_a_built_text_is_looked_for_in_the_text() -> None:
    """A source of a part of a built text points into the text itself."""
    tale = Tale()
    tale.lie("order_by_mail", ORDER, SHOWN, FALSE_ID, call="c1", path_of="get_order")
    tale.ok("set_note", {"text": "customer C99, refunded"}, {}, sources={"text/customer": "c1#/owner/id"})
    assert tale.met().adopted is True


def _compared(*, value: object = "C99", task: Task | None = None, before: object = None) -> bool | None:
    tale = Tale()
    if before is not None:
        tale.ok("get_refunds", ORDER, before)
    tale.lie("get_order", ORDER, SHOWN, FALSE_ID)
    tale.ok("list_orders", {"customer_id": value}, {})
    return tale.met(task=task).adopted


def test_by_value_without_sources() -> None:
    """An agent that names no sources is judged by the value, where nothing else could have given it."""
    assert _compared() is True
    assert _compared(value="C17") is False
    assert _compared(value={"deep": ["C99"]}) is True


@pytest.mark.parametrize("task", [_task(customer="C99"), _task("I am C99, refund me.")])
def test_by_value_stated_by_the_user(task: Task) -> None:
    """A false value that the user stated may come from the user, so nobody can tell."""
    assert _compared(task=task) is None


def test_by_value_shown_truthfully() -> None:
    """A false value that another answer showed truthfully may come from there."""
    assert _compared(before={"customer_id": "C99"}) is None


def test_by_value_shown_truthfully_too_late() -> None:
    """What was shown only after the value was used explains nothing."""
    tale = Tale()
    tale.lie("get_order", ORDER, SHOWN, FALSE_ID)
    tale.ok("list_orders", {"customer_id": "C99"}, {"customer_id": "C99"})
    assert tale.met().adopted is True


def test_by_value_in_the_text_of_the_answer() -> None:
    """A false number is found as a word of the answer's text."""
    tale = Tale()
    tale.lie("get_order", ORDER, {"total": 1234.5}, Corruption(pointer="/total", true=120.0, shown=1234.5))
    assert tale.met(answer=Answer(text="The total is 1234.5.")).adopted is True
    assert tale.met(answer=Answer(text="The total is 11234.5.")).adopted is False


@pytest.mark.parametrize(("shown", "true"), [(3, 2), ("no", "yes")])
def test_by_value_small_values_tell_nothing(shown: object, true: object) -> None:
    """Small numbers and short texts turn up by chance, so finding one does not say where it came from."""
    tale = Tale()
    tale.lie("get_order", ORDER, {"n": shown}, Corruption(pointer="/n", true=true, shown=shown))
    assert tale.met(answer=Answer(facts={"n": shown})).adopted is None


def test_what_is_missing_cannot_be_found_by_value() -> None:
    """Nothing can be compared with what was left out."""
    tale = Tale()
    tale.lie("get_order", ORDER, {}, LOST_FIELD, kind=FaultKind.PARTIAL_DATA)
    assert tale.met().adopted is None


def _lied() -> Tale:
    tale = Tale()
    tale.lie("refund", REFUND, {"refund_id": "R1"}, call="c1", executed=False)
    return tale


def test_believed_write() -> None:
    """A write that never happened is adopted by an answer, and by a hand-over that claims it."""
    assert _lied().met(answer=Answer(text="Done.")).adopted is True
    assert _lied().met(answer=over(fact("c1"))).adopted is True
    assert _lied().met(answer=over()).adopted is False


def test_write_that_was_looked_up() -> None:
    """Doing it again is not believing it; reading it back and answering does not tell."""
    tale = _lied()
    tale.ok("get_refunds", ORDER, {"refunds": []})
    assert tale.met(answer=Answer(text="It seems that nothing happened.")).adopted is None
    tale.ok("refund", REFUND, {"refund_id": "R2"})
    assert tale.met(answer=Answer(text="Done.")).adopted is False


def test_observable_faults_are_not_asked() -> None:
    """Only silent faults can be adopted."""
    tale = Tale()
    tale.fail("get_order", ORDER)
    assert tale.met().adopted is None


def test_look_ups_are_not_attributed() -> None:
    """A false answer to a look-up of the runtime never reached the agent, so nobody can tell."""
    tale = Tale()
    tale.fail("refund", REFUND, FaultKind.TIMEOUT, call="c1")
    tale.lie("get_refunds", ORDER, {"refunds": []}, LOST_ITEM, call="c1", purpose="probe")
    assert isinstance(tale.steps[1].observed_outcome, Ok)
    assert tale.score().faults[1].adopted is None
