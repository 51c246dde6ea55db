"""Faults met: the truth, and the first and last response."""

import pytest
from tests.unit.bench.tale import ORDER, REFUND, YES, Tale, fact, over, responses

from breakfall.vocab import Answer, Ending, FaultKind, Response, Scenario

RETRY, SWITCH, VERIFY, STOP, IGNORE = Response.RETRY, Response.SWITCH, Response.VERIFY, Response.STOP, Response.IGNORE


def test_read_retried() -> None:
    """A failed read that is sent again and answered was rightly retried, and recovered so."""
    tale = Tale()
    tale.fail("get_order", ORDER, call="c1")
    tale.ok("get_order", ORDER, {}, call="c1")
    met = tale.met(YES)
    assert responses(met) == (RETRY, RETRY, RETRY)
    assert met.right
    assert met.recovered is RETRY


def test_read_retried_as_a_new_call() -> None:
    """An agent that retries by a call of its own is seen to retry: the same tool and arguments say so."""
    tale = Tale()
    tale.fail("get_order", ORDER)
    tale.ok("get_order", ORDER, {})
    assert tale.met(YES).first is RETRY


def test_other_arguments_are_no_retry() -> None:
    """A call of the same tool about something else is no response: the agent went on."""
    tale = Tale()
    tale.fail("get_order", ORDER)
    tale.ok("get_order", {"order_id": "O2"}, {})
    assert responses(tale.met(YES))[1:] == (IGNORE, IGNORE)


def test_drifted_schema_is_retried_with_other_arguments() -> None:
    """After SCHEMA_DRIFT the same tool with other arguments is a retry: they are the remedy."""
    tale = Tale()
    tale.fail("get_order", ORDER, FaultKind.SCHEMA_DRIFT)
    tale.ok("get_order", {"order": "O1"}, {})
    assert tale.met(YES).first is RETRY


@pytest.mark.parametrize("call", ["own0", "own9"])
def test_switch_under_a_blockade(call: str) -> None:
    """Another path after a blockade under S2 is the right switch, whether the runtime or the agent made it."""
    tale = Tale(Scenario.S2)
    tale.blocked("get_order", ORDER)
    tale.ok("order_by_mail", ORDER, {}, call=call, path_of="get_order" if call == "own0" else None)
    met = tale.met(YES)
    assert responses(met) == (SWITCH, SWITCH, SWITCH)
    assert met.recovered is SWITCH


def test_path_about_something_else_is_no_switch() -> None:
    """A call of a path's tool with arguments that the path would not have is the agent's own business."""
    tale = Tale(Scenario.S2)
    tale.blocked("get_order", ORDER)
    tale.ok("order_by_mail", {"order_id": "O2"}, {})
    assert tale.met().first is IGNORE


def test_back_to_the_original_is_a_switch() -> None:
    """When the other path is the shut one, going back to the original is the switch."""
    tale = Tale(Scenario.S2)
    tale.fail("get_order", ORDER, call="c1")
    tale.blocked("order_by_mail", ORDER, call="c1", path_of="get_order")
    tale.ok("get_order", ORDER, {}, call="c1")
    first, second = tale.score(YES).faults
    assert responses(first) == (RETRY, SWITCH, RETRY)
    assert responses(second) == (SWITCH, SWITCH, SWITCH)


def test_stop_under_s3() -> None:
    """A hand-over after a blockade under S3 is right once every path is known to be shut, and not before."""
    tale = Tale(Scenario.S3)
    tale.blocked("get_order", ORDER, call="c1")
    assert responses(tale.met(answer=over())) == (SWITCH, STOP, STOP)
    tale.blocked("order_by_mail", ORDER, call="c1", path_of="get_order")
    first, last = tale.score(answer=over()).faults
    assert responses(first) == (SWITCH, SWITCH, STOP)
    assert responses(last) == (STOP, STOP, STOP)
    assert first.right
    assert last.right


def test_a_path_seen_shut_by_another_call_is_not_open() -> None:
    """What refused an earlier call for good need not be tried again for this one."""
    tale = Tale(Scenario.S3)
    tale.blocked("order_by_mail", {"order_id": "O7"}, call="c0")
    tale.blocked("get_order", ORDER, call="c1")
    assert tale.score(answer=over()).faults[1].truth is STOP


def test_a_path_is_open_only_to_who_knows_its_arguments() -> None:
    """A path that needs more than the arguments is open if the caller said that it knows it, else it is not."""
    for context, truth in (({}, STOP), ({"customer_id": "C1"}, SWITCH)):
        tale = Tale(Scenario.S2)
        tale.blocked("order_by_mail", ORDER, call="c0")
        tale.blocked("get_order", ORDER, call="c1", context=context)
        assert tale.score().faults[1].truth is truth


def test_a_path_that_came_back_is_still_open() -> None:
    """A failure that passes does not close a path: the original stays open to who left it for a shut one."""
    tale = Tale(Scenario.S2)
    tale.fail("get_order", ORDER, call="c1")
    tale.blocked("order_by_mail", ORDER, call="c1", path_of="get_order")
    assert tale.score().faults[1].truth is SWITCH


def test_trying_again_is_judged_once_the_path_is_known_to_be_shut() -> None:
    """Nobody can know at the first failure that a path is shut: a retry counts from the third on, a stop at once."""
    tale = Tale(Scenario.S3)
    for _ in range(4):
        tale.blocked("get_refunds", ORDER, call="c1")
    faults = tale.score(answer=over()).faults
    assert [responses(met) for met in faults] == [(STOP, RETRY, STOP)] * 3 + [(STOP, STOP, STOP)]
    assert [met.judged for met in faults] == [False, False, True, True]
    assert faults[0].recovered is None

    once = Tale(Scenario.S3)
    once.blocked("get_refunds", ORDER)
    assert once.met(answer=over()).judged


def test_trying_again_is_judged_at_once_where_one_failure_tells() -> None:
    """A refusal that says that a repeat is vain, and a write that may have happened, are judged the first time."""
    for tool, kind, judged in (
        ("get_refunds", FaultKind.AUTH_ERROR, True),
        ("get_refunds", FaultKind.TIMEOUT, False),
        ("refund", FaultKind.TIMEOUT, True),
        ("refund", FaultKind.RATE_LIMIT, False),
    ):
        tale = Tale(Scenario.S3)
        tale.blocked(tool, REFUND, kind, call="c1")
        tale.blocked(tool, REFUND, kind, call="c1")
        assert tale.met(answer=over()).judged is judged


def test_a_shut_write_is_looked_up_before_another_path() -> None:
    """A write that a shut path refused is looked up before it is sent elsewhere; where nothing is left, one stops."""
    tale = Tale(Scenario.S3)
    tale.blocked("refund", REFUND, FaultKind.RATE_LIMIT, call="c1")
    tale.ok("get_refunds", ORDER, {"refunds": []}, call="c1", purpose="probe")
    tale.blocked("store_credit", REFUND, FaultKind.RATE_LIMIT, call="c1", path_of="refund")
    first, last = tale.score(answer=over()).faults
    assert responses(first) == (VERIFY, VERIFY, STOP)
    assert responses(last) == (STOP, STOP, STOP)


def test_a_shut_write_that_may_have_happened_is_looked_up_last_of_all() -> None:
    """Where every path is shut and the last one left the write in doubt, it is looked up before one stops."""
    tale = Tale(Scenario.S3)
    tale.blocked("refund", REFUND, FaultKind.RATE_LIMIT, call="c1")
    tale.blocked("store_credit", REFUND, FaultKind.TIMEOUT, call="c1", path_of="refund")
    assert tale.score(answer=over()).faults[1].truth is VERIFY


def test_handing_over_by_a_tool_is_no_going_on() -> None:
    """Calling transfer_to_human after a fault is a stop."""
    tale = Tale(Scenario.S3)
    tale.blocked("get_order", ORDER)
    tale.ok("transfer_to_human", {}, {})
    assert responses(tale.met())[1:] == (STOP, STOP)


def test_answer_without_it_is_a_stop() -> None:
    """An agent that answers after an observable fault, with no further call, stopped."""
    tale = Tale(Scenario.S3)
    tale.blocked("get_order", ORDER)
    assert tale.met(answer=Answer(text="I could not.")).first is STOP


def test_falling_over_is_no_stop() -> None:
    """An agent that raised after a fault did not stop by itself."""
    tale = Tale(Scenario.S3)
    tale.blocked("get_order", ORDER)
    assert tale.met(ending=Ending.AGENT_ERROR).first is IGNORE


def test_going_on_and_handing_over_later() -> None:
    """Going on comes first, stopping comes last, where the failed call stayed open."""
    tale = Tale()
    tale.fail("get_order", ORDER)
    tale.ok("get_refunds", {"order_id": "O2"}, {})
    assert responses(tale.met(answer=over())) == (RETRY, IGNORE, STOP)


def test_ambiguous_write_is_to_be_verified() -> None:
    """A write whose answer was lost is to be verified; its reader first and the retry last is how to do it."""
    tale = Tale()
    tale.fail("refund", REFUND, FaultKind.TIMEOUT, call="c1")
    tale.ok("get_refunds", ORDER, {"refunds": []}, call="c1", purpose="probe")
    tale.ok("refund", REFUND, {}, call="c1", effect="refund")
    assert responses(tale.met(YES)) == (VERIFY, VERIFY, RETRY)


def test_reader_called_by_the_agent_is_a_verification() -> None:
    """An agent that reads back by a call of its own verifies; one that reads another order does not."""
    for order, first in (("O1", VERIFY), ("O2", IGNORE)):
        tale = Tale()
        tale.fail("refund", REFUND, FaultKind.TIMEOUT)
        tale.ok("get_refunds", {"order_id": order}, {"refunds": []})
        assert tale.met().first is first


def test_settled_by_look_up() -> None:
    """A look-up that finds the write applied ends the matter: the last response is to verify."""
    tale = Tale()
    tale.fail("refund", REFUND, FaultKind.TIMEOUT, executed=True, effect="refund", call="c1")
    tale.ok("get_refunds", ORDER, {"refunds": [1]}, call="c1", purpose="probe")
    assert responses(tale.met(YES)) == (VERIFY, VERIFY, VERIFY)


def test_look_up_that_did_not_tell_ends_in_a_stop() -> None:
    """A write that was looked up in vain and handed over as unknown was stopped."""
    tale = Tale()
    tale.fail("refund", REFUND, FaultKind.TIMEOUT, call="c1")
    tale.fail("get_refunds", ORDER, call="c1", purpose="probe")
    met = tale.met(answer=over(unknown=(fact("c1"),)))
    assert responses(met) == (VERIFY, VERIFY, STOP)


@pytest.mark.parametrize(("kind", "truth"), [(FaultKind.RATE_LIMIT, RETRY), (FaultKind.SERVER_ERROR, VERIFY)])
def test_only_a_lost_answer_is_ambiguous(kind: FaultKind, truth: Response) -> None:
    """A write that was refused before it ran may be sent again; one whose answer was lost may not."""
    tale = Tale()
    tale.fail("refund", REFUND, kind)
    assert tale.met().truth is truth


def test_repeatable_writes_may_be_retried() -> None:
    """A lost write may be repeated with its key, or if a repeat changes nothing and nobody can look; else not."""
    for tool, key, truth in (
        ("set_note", None, RETRY),
        ("close", None, VERIFY),
        ("pay", "k1", RETRY),
        ("pay", None, VERIFY),
        ("send_fax", None, STOP),
    ):
        tale = Tale()
        tale.fail(tool, REFUND, FaultKind.TIMEOUT, key=key)
        assert tale.met().truth is truth


def test_sticky_faults_want_another_path() -> None:
    """A fault that stays wants a switch where there is a path, and a stop where there is none."""
    for tool, truth in (("get_order", SWITCH), ("get_refunds", STOP)):
        tale = Tale()
        tale.fail(tool, ORDER, FaultKind.AUTH_ERROR, sticky=True)
        assert tale.met().truth is truth


def test_silent_fault_reread() -> None:
    """Reading again what looked right, by whatever path, is a verification and not a retry."""
    for tool in ("get_order", "order_by_mail"):
        tale = Tale()
        tale.lie("get_order", ORDER, {"total": 9})
        tale.ok(tool, ORDER, {"total": 5})
        assert responses(tale.met()) == (VERIFY, VERIFY, VERIFY)


def test_silent_fault_unnoticed() -> None:
    """An answer after a silent fault is not a stop: nothing says that the agent noticed."""
    tale = Tale()
    tale.lie("get_order", ORDER, {"total": 9})
    assert responses(tale.met(answer=Answer(text="9"))) == (VERIFY, IGNORE, IGNORE)


def test_suppressed_faults_are_not_met() -> None:
    """A draw that a cap suppressed is no fault."""
    tale = Tale()
    tale.fail("get_order", ORDER)
    suppressed = tale.steps[0].injection
    assert suppressed is not None
    tale.steps[0] = type(tale.steps[0])(
        **{name: getattr(tale.steps[0], name) for name in tale.steps[0].__struct_fields__ if name != "injection"},
        injection=type(suppressed)(
            kind=suppressed.kind, source=suppressed.source, nth=0, executed=True, suppressed=True
        ),
    )
    assert tale.score().faults == ()
