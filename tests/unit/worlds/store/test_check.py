"""The checker: what is missing, duplicate, wrong and forbidden, and what the answer states."""

import pytest

from breakfall.vocab import Answer
from breakfall.worlds.store.check import same


def _finished(world, opened, template):
    task = next(task for task in world.tasks("train", 60) if task.template == template)
    bench = opened(task)
    for _ in bench.play(task):
        pass
    return task, bench


def _verdict(bench, **facts):
    return bench.store.check(Answer(facts=bench.facts | facts), ())


def test_a_duplicate_is_named_and_fails(world, opened):
    """A second equal message is a duplicate, once per extra time, and nothing else is wrong."""
    task, bench = _finished(world, opened, "damaged_refund")
    sent = {"customer_id": task.details["owner"], "topic": "refund_issued", "text": "again"}
    sent["order_id"] = task.facts["order_id"]
    for _ in range(2):
        bench.value("send_text", sent)
    verdict = _verdict(bench)
    assert not verdict.passed
    assert len(verdict.duplicate_effects) == 2
    assert (verdict.wrong_effects, verdict.missing_effects, verdict.state_ok) == ((), (), True)


def test_another_amount_is_wrong_and_missing(world, opened):
    """A refund of another amount is an effect that the task does not call for, and the right one is missing."""
    task = next(task for task in world.tasks("train", 60) if task.template == "damaged_refund")
    bench = opened(task)
    bench.value("refund_to_card", {"order_id": task.facts["order_id"], "amount": 0.01, "reason": "damaged"})
    verdict = bench.store.check(Answer(facts=task.details["answer"]), ())
    assert len(verdict.wrong_effects) == 1
    assert len(verdict.missing_effects) == 2
    assert not verdict.state_ok
    assert verdict.answer_ok


def test_what_the_policy_forbids_is_named(world, opened):
    """A forbidden effect counts as wrong and as forbidden."""
    task, bench = _finished(world, opened, "return_too_late")
    items = [{"sku": task.facts["sku"], "quantity": 1}]
    bench.value("create_return", {"order_id": task.facts["order_id"], "items": items, "reason": "damaged"})
    verdict = _verdict(bench)
    assert verdict.forbidden_effects == verdict.wrong_effects
    assert verdict.forbidden_effects[0].startswith(f"return.created order:{task.facts['order_id']}")
    assert not verdict.passed


def test_the_records_of_others_are_forbidden(world, opened):
    """An effect on another customer, or on their order, is forbidden in every task."""
    task, bench = _finished(world, opened, "cancel_foreign")
    assert _verdict(bench).passed
    other = bench.value("get_order", {"order_id": task.facts["order_id"]})["customer_id"]
    bench.value("cancel_order", {"order_id": task.facts["order_id"], "reason": "changed_mind"})
    bench.value("grant_credit", {"customer_id": other, "amount": 5.0, "reason": "service_failure"})
    assert len(_verdict(bench).forbidden_effects) == 2


def test_the_final_state_is_held_to(world, opened):
    """A change that is taken back later leaves the state wrong although the effect is in the log."""
    task, bench = _finished(world, opened, "address_change")
    address = {"line1": "1 Mill Lane", "city": "Calder", "postcode": "20011"}
    bench.value("update_order_address", {"order_id": task.facts["order_id"], "address": address})
    verdict = _verdict(bench)
    assert not verdict.state_ok
    assert any(note.startswith(f"state order:{task.facts['order_id']} address") for note in verdict.notes)


def test_a_wrong_or_missing_fact_fails(world, opened):
    """The answer must state each fact, exactly."""
    _, bench = _finished(world, opened, "order_status")
    assert _verdict(bench).passed
    wrong = _verdict(bench, total=bench.facts["total"] + 0.01)
    assert (wrong.state_ok, wrong.answer_ok, wrong.passed) == (True, False, False)
    assert "answer total" in wrong.notes[0]
    missing = bench.store.check(Answer(facts={"status": bench.facts["status"]}), ())
    assert not missing.answer_ok


@pytest.mark.parametrize(
    ("expected", "stated", "equal"),
    [
        (12.5, 12.50, True),
        (3, 3.0, True),
        (0.1 + 0.2, 0.3, True),
        (12.5, "12.5", False),
        (1, True, False),
        (True, True, True),
        ("pending", "pending", True),
        ("pending", "Pending", False),
        (None, None, True),
        (None, "", False),
        ("a", ["a"], False),
    ],
)
def test_same(expected, stated, equal):
    """Numbers are compared by value, everything else exactly."""
    assert same(expected, stated) is equal


def test_ids_made_in_the_episode_read_as_new(world, opened):
    """An agent whose new order has another number than the gold run's passes all the same."""
    task = next(task for task in world.tasks("train", 60) if task.template == "buy_item")
    bench = opened(task)
    bench.store.state.new_id("O", "order")
    for _ in bench.play(task):
        pass
    assert _verdict(bench).passed


def test_a_task_about_nobody_has_no_owner(world, opened):
    """In a task that names no customer an effect is wrong, but nobody's record makes it forbidden."""
    _, bench = _finished(world, opened, "stock_check")
    bench.value("grant_credit", {"customer_id": "C1001", "amount": 5.0, "reason": "service_failure"})
    verdict = _verdict(bench)
    assert (len(verdict.wrong_effects), verdict.forbidden_effects, verdict.passed) == (1, (), False)
