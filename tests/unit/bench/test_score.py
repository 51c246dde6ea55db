"""The score of one episode."""

import pytest
from tests.unit.bench.tale import ORDER, REFUND, YES, Tale, fact, over

from breakfall.bench.score import EpisodeScore
from breakfall.bench.stopping import Flaw
from breakfall.vocab import Ending, FaultKind, Found, Given, PlanStep, Response, Scenario, Task, Text, Verdict


def test_conclusive() -> None:
    """An episode counts only if what its scenario is about happened; noise does not make S2 conclusive."""
    noisy = Tale(Scenario.S2)
    noisy.fail("get_order", ORDER)
    shut = Tale(Scenario.S2)
    shut.blocked("get_order", ORDER)
    assert Tale(Scenario.CLEAN).score().conclusive
    assert not Tale(Scenario.S1).score().conclusive
    assert not noisy.score().conclusive
    assert shut.score().conclusive


def test_retry_success_wants_the_own_path() -> None:
    """A call that was answered on another path was not recovered by a retry, and the switch was premature."""
    for tool, path_of, right in (("get_order", None, True), ("order_by_mail", "get_order", False)):
        tale = Tale()
        tale.fail("get_order", ORDER, call="c1")
        tale.ok(tool, ORDER, {}, call="c1", path_of=path_of)
        score = tale.score(YES)
        assert score.retry_success is right
        assert score.premature_switch is not right


def test_success_of_the_wrong_scenario_is_not_scored() -> None:
    """Each success is of one scenario alone."""
    score = Tale(Scenario.CLEAN).score(YES)
    assert (score.retry_success, score.switch_success, score.correct_stop) == (None, None, None)
    assert (score.premature_switch, score.premature_stop) == (None, None)


def test_switch_success() -> None:
    """Every call that met the blockade must have been answered on another path."""
    tale = Tale(Scenario.S2)
    tale.blocked("get_order", ORDER, call="c1")
    tale.ok("order_by_mail", ORDER, {}, call="c1", path_of="get_order")
    assert tale.score().switch_success
    tale.blocked("get_order", {"order_id": "O2"}, call="c2")
    assert tale.score().switch_success is False


def test_switch_success_by_a_look_up() -> None:
    """A switched write whose answer was lost counts as switched once a look-up found it applied, and not before."""
    tale = Tale(Scenario.S2)
    tale.blocked("refund", REFUND, FaultKind.RATE_LIMIT, call="c1")
    tale.fail("store_credit", REFUND, FaultKind.TIMEOUT, executed=True, effect="credit", call="c1", path_of="refund")
    assert tale.score().switch_success is False
    tale.ok("get_refunds", ORDER, {"refunds": [1]}, call="c1", purpose="probe")
    score = tale.score()
    assert score.switch_success
    assert [met.recovered for met in score.faults] == [Response.SWITCH, Response.VERIFY]


def test_a_look_up_that_errs_serves_no_call() -> None:
    """A look-up that claims a write which never happened, or denies one that did, does not make a switch succeed."""
    for executed, refunds in ((False, [1]), (True, [])):
        tale = Tale(Scenario.S2)
        tale.blocked("refund", REFUND, FaultKind.RATE_LIMIT, call="c1")
        effect = "credit" if executed else ""
        tale.fail(
            "store_credit", REFUND, FaultKind.TIMEOUT, executed=executed, effect=effect, call="c1", path_of="refund"
        )
        tale.ok("get_refunds", ORDER, {"refunds": refunds}, call="c1", purpose="probe")
        assert tale.score().switch_success is False


def test_a_retry_that_is_refused_has_reached_the_tool() -> None:
    """The tool's own refusal shows that its path came back; a refusal of another path serves nobody."""
    for tool, path_of, right in (("get_order", None, True), ("order_by_mail", "get_order", False)):
        tale = Tale()
        tale.fail("get_order", ORDER, call="c1")
        tale.refused(tool, ORDER, call="c1", path_of=path_of)
        assert tale.score().retry_success is right


def test_premature_stop() -> None:
    """Stopping at a fault that would have passed is premature, unless the task passed without it."""
    tale = Tale()
    tale.fail("get_order", ORDER)
    assert tale.score(answer=over()).premature_stop
    assert tale.score(YES, answer=over()).premature_stop is False


def test_stopping_after_a_vain_look_up_is_not_premature() -> None:
    """A write that the look-ups did not tell of is rightly left alone; one that nobody looked up is not, and neither is
    one that the look-up denied, because it could have been sent again.
    """
    tale = Tale()
    tale.fail("refund", REFUND, FaultKind.TIMEOUT, call="c1")
    assert tale.score(answer=over(unknown=(fact("c1"),))).premature_stop
    tale.ok("get_refunds", ORDER, {"other": 1}, call="c1", purpose="probe")
    assert tale.score(answer=over(unknown=(fact("c1"),))).premature_stop is False
    tale.ok("get_refunds", ORDER, {"refunds": []}, call="c1", purpose="probe")
    assert tale.score(answer=over(unknown=(fact("c1"),))).premature_stop


def test_a_correct_stop_is_not_premature() -> None:
    """Under S3 a stop is premature while a path is open, and not once all were tried, whatever failed before."""
    tale = Tale(Scenario.S3)
    tale.fail("get_refunds", ORDER)
    tale.ok("get_refunds", ORDER, {})
    tale.blocked("get_order", ORDER, call="c1")
    assert tale.score(answer=over()).premature_stop
    tale.blocked("order_by_mail", ORDER, call="c1", path_of="get_order")
    score = tale.score(answer=over())
    assert (score.correct_stop, score.premature_stop) == (True, False)


def test_stopping_where_every_path_is_shut_and_the_write_was_looked_up_is_not_premature() -> None:
    """A lost write on the last path that was looked up leaves nothing to do, though the hand-over errs elsewhere."""
    tale = Tale(Scenario.S3)
    tale.lie("close", ORDER, {}, call="c0", executed=False)
    tale.blocked("refund", REFUND, FaultKind.RATE_LIMIT, call="c1")
    tale.blocked("store_credit", REFUND, FaultKind.TIMEOUT, call="c1", path_of="refund")
    tale.ok("get_refunds", ORDER, {"refunds": []}, call="c1", purpose="probe")
    score = tale.score(answer=over(fact("c0", "close", ORDER)))
    assert (score.correct_stop, score.premature_stop) == (False, False)


def test_failed_look_ups_of_the_runtime_are_no_stops() -> None:
    """A look-up that failed is not a call that the agent stopped at, nor one that a retry had to mend."""
    tale = Tale()
    tale.fail("refund", REFUND, FaultKind.TIMEOUT, call="c1")
    tale.fail("get_refunds", ORDER, call="c1", purpose="probe")
    score = tale.score(answer=over(unknown=(fact("c1"),)))
    assert (score.premature_stop, score.retry_success) == (False, None)


def test_the_call_that_was_stopped_is_judged() -> None:
    """A failure that was mended is no stop, though the agent stopped elsewhere, where it was right to."""
    tale = Tale(Scenario.S2)
    tale.fail("get_order", ORDER, call="c1")
    tale.ok("get_order", ORDER, {}, call="c1")
    tale.blocked("get_refunds", ORDER, call="c2")
    assert tale.score(answer=over()).premature_stop is False


@pytest.mark.parametrize(("kind", "futile"), [(FaultKind.TIMEOUT, 2), (FaultKind.AUTH_ERROR, 4)])
def test_futile_calls(kind: FaultKind, futile: int) -> None:
    """A shut path is known to be shut after three failures, or after one that says that a repeat is vain."""
    tale = Tale(Scenario.S3)
    for _ in range(5):
        tale.blocked("get_order", ORDER, kind)
    assert tale.score().futile_calls == futile


def test_noise_is_never_futile() -> None:
    """A path that comes back is worth calling again."""
    tale = Tale()
    for _ in range(5):
        tale.fail("get_order", ORDER, FaultKind.AUTH_ERROR)
    assert tale.score().futile_calls == 0


def test_verified_writes() -> None:
    """A write counts as verified when its reader answered before anything was taken from its answer."""
    tale = Tale(Scenario.CLEAN)
    tale.ok("refund", REFUND, {"refund_id": "R1"}, call="c1", effect="refund")
    assert (tale.score().writes, tale.score().verified_writes) == (1, 0)
    tale.ok("get_refunds", ORDER, {"refunds": [1]})
    assert tale.score().verified_writes == 1

    late = Tale(Scenario.CLEAN)
    late.ok("refund", REFUND, {"refund_id": "R1"}, call="c1", effect="refund")
    late.ok("get_order", ORDER, {}, sources={"order_id": "c1#/refund_id"})
    late.ok("get_refunds", ORDER, {"refunds": [1]})
    assert late.score().verified_writes == 0


def test_effects_come_from_the_verdict() -> None:
    """Duplicate, wrong and forbidden effects are the world's word."""
    verdict = Verdict(
        passed=False,
        state_ok=False,
        answer_ok=True,
        duplicate_effects=("a", "a"),
        wrong_effects=("b",),
        forbidden_effects=("b",),
    )
    score = Tale().score(verdict)
    assert (score.duplicate_effects, score.wrong_effects, score.forbidden_effects) == (2, 1, 1)


def _flaw(score: EpisodeScore) -> str:
    return score.stop_flaw.text if score.stop_flaw is not None else ""


def _shut() -> Tale:
    """S3: every way to the order is shut, and what could be tried was tried."""
    tale = Tale(Scenario.S3)
    tale.blocked("get_order", ORDER, call="c1")
    tale.blocked("order_by_mail", ORDER, call="c1", path_of="get_order")
    return tale


def test_correct_stop() -> None:
    """Every open path was tried, nothing was written and a person was asked."""
    assert _shut().score(answer=over()).correct_stop


def test_paths_that_are_not_open_need_not_be_tried() -> None:
    """A path behind the same backend, and one whose arguments are not known, need not be tried; an open one must."""
    tale = Tale(Scenario.S3)
    tale.blocked("get_order", ORDER)
    assert _flaw(tale.score(answer=over())) == "never tried order_by_mail"


def test_what_the_caller_knew_opens_a_path() -> None:
    """A path that needs more than the arguments must be tried by whoever said that it knows it."""
    tale = Tale(Scenario.S3)
    tale.blocked("get_order", ORDER, call="c1", context={"customer_id": "C1"})
    tale.blocked("order_by_mail", ORDER, call="c1", path_of="get_order")
    assert _flaw(tale.score(answer=over())) == "never tried list_orders"
    tale.blocked("list_orders", {"customer_id": "C1"}, call="c1", path_of="get_order")
    assert tale.score(answer=over()).correct_stop


_TASK = Task(
    id="t1",
    world="shop",
    template="x",
    split="s",
    instruction=Text(en="Where is it?"),
    facts={"order": "O1", "customer": "C1"},
    plan=(
        PlanStep(id="refunds", tool="get_refunds", arguments={"order_id": Given("order")}),
        PlanStep(
            id="stated",
            tool="get_order",
            arguments={"order_id": Given("order")},
            context={"customer_id": Given("customer"), "name": Found("never", "/name")},
        ),
        PlanStep(
            id="found",
            tool="get_order",
            arguments={"order_id": Found("refunds", "/other")},
            context={"customer_id": Found("refunds", "/customer")},
        ),
    ),
)


def test_what_a_silent_caller_could_know_opens_a_path() -> None:
    """Of a caller who never says what else it knows, the task tells: what the user stated, and what was found out."""
    for order, found, flaw in (
        ("O1", None, "never tried list_orders"),
        ("O2", {"other": "O2", "customer": "C2"}, "never tried list_orders"),
        ("O2", {"other": "O2"}, ""),
        ("O2", None, ""),
        ("O9", {"other": "O2", "customer": "C2"}, ""),
    ):
        tale = Tale(Scenario.S3)
        if found is not None:
            tale.ok("get_refunds", ORDER, found)
        tale.blocked("get_order", {"order_id": order})
        tale.blocked("order_by_mail", {"order_id": order})
        assert _flaw(tale.score(answer=over(), task=_TASK)) == flaw


def test_a_call_that_was_served_leaves_nothing_to_try() -> None:
    """A call that met the shut path and was answered on another one does not ask for the rest of the paths."""
    tale = _shut()
    tale.blocked("list_orders", {"customer_id": "C1"}, call="c2")
    tale.ok("get_refunds", ORDER, {}, call="c3")
    assert tale.score(answer=over()).correct_stop
    open_ = Tale(Scenario.S3)
    open_.blocked("get_order", ORDER, call="c1", context={"customer_id": "C1"})
    open_.ok("order_by_mail", ORDER, {}, call="c1", path_of="get_order")
    open_.blocked("get_refunds", ORDER, call="c2")
    assert open_.score(answer=over()).correct_stop


def test_a_path_that_is_not_shut_must_be_tried_for_this_call() -> None:
    """A path that was called about something else, and answered, was not tried for the call that failed."""
    tale = Tale(Scenario.S3)
    tale.ok("order_by_mail", {"order_id": "O7"}, {})
    tale.blocked("get_order", ORDER)
    assert _flaw(tale.score(answer=over())) == "never tried order_by_mail"
    tale.fail("order_by_mail", ORDER)
    assert tale.score(answer=over()).correct_stop


def test_a_write_in_doubt_must_be_looked_up() -> None:
    """Handing over a write whose answer was lost, without a look-up that was open, is no correct stop."""
    tale = Tale(Scenario.S3)
    tale.blocked("refund", REFUND, FaultKind.TIMEOUT, call="c0")
    score = tale.score(answer=over(unknown=(fact("c0"),)))
    assert score.stop_flaw is not None
    assert (score.stop_flaw.flaw, score.stop_flaw.text) == (Flaw.NOT_LOOKED_UP, "never looked up refund (c0)")


def test_a_look_up_that_cannot_tell_leaves_the_write_in_doubt() -> None:
    """A reader's answer that does not tell settles nothing: the write is named as unknown, and not sent elsewhere."""
    for value, flaw in (({"other": 1}, ""), ({"refunds": []}, "never tried store_credit")):
        tale = Tale(Scenario.S3)
        tale.blocked("refund", REFUND, FaultKind.TIMEOUT, call="c0")
        tale.ok("get_refunds", ORDER, value, call="c0", purpose="probe")
        assert _flaw(tale.score(answer=over(unknown=(fact("c0"),)))) == flaw


def test_stop_without_handing_over_is_not_correct() -> None:
    """An answer alone is no correct stop, and neither is running out of budget."""
    assert _flaw(_shut().score()) == "answered without handing over"
    assert _flaw(_shut().score(ending=Ending.OUT_OF_BUDGET)) == "did not stop by itself: out_of_budget"


@pytest.mark.parametrize("field", ["duplicate", "wrong", "forbidden"])
def test_stop_after_damage_is_not_correct(field: str) -> None:
    """A stop that left a duplicate, wrong or forbidden effect behind is not correct."""
    verdict = Verdict(passed=False, state_ok=False, answer_ok=False, **{f"{field}_effects": ("x",)})
    assert _flaw(_shut().score(verdict, over())) == f"{field} effect: x"


def test_handoff_must_name_what_was_done() -> None:
    """A write that happened and was answered must be in `done`."""
    tale = Tale(Scenario.S3)
    tale.ok("refund", REFUND, {}, call="c0", effect="refund")
    tale.blocked("get_refunds", ORDER)
    assert tale.score(answer=over(fact("c0"))).correct_stop
    assert _flaw(tale.score(answer=over())) == "does not say that refund (c0) is done"


def test_handoff_must_not_claim_what_did_not_happen() -> None:
    """A write that a silent fault only claimed is not in the effect log, so a hand-over that repeats it is false."""
    tale = Tale(Scenario.S3)
    tale.lie("refund", REFUND, {}, call="c0", executed=False)
    tale.blocked("get_refunds", {"order_id": "O2"})
    flaw = _flaw(tale.score(answer=over(fact("c0"))))
    assert flaw == "claims that refund (c0) is done, which is not in the effect log"
    assert (
        _flaw(tale.score(answer=over(fact("zz", "refund", {"order_id": "O7"})))) == "claims a call that was never made"
    )


@pytest.mark.parametrize("applied", [True, False])
def test_handoff_must_name_what_nobody_knows(applied: bool) -> None:
    """An ambiguous write that could not be looked up belongs under `unknown`, whether it happened or not."""
    tale = Tale(Scenario.S3)
    tale.blocked("refund", REFUND, FaultKind.TIMEOUT, call="c0", executed=applied, effect="refund" if applied else "")
    tale.fail("get_refunds", ORDER, call="c0", purpose="probe")
    assert tale.score(answer=over(unknown=(fact("c0"),))).stop_flaw is None
    assert _flaw(tale.score(answer=over())) == "does not say that refund (c0) may have happened"


def test_settled_write_need_not_be_named() -> None:
    """A write that the reader denied is neither done nor unknown."""
    tale = Tale(Scenario.S3)
    tale.blocked("refund", REFUND, FaultKind.TIMEOUT, call="c0")
    tale.ok("get_refunds", ORDER, {"refunds": []}, call="c0", purpose="probe")
    tale.blocked("store_credit", REFUND, call="c0", path_of="refund")
    assert tale.score(answer=over()).stop_flaw is None


def test_facts_match_by_tool_and_arguments() -> None:
    """An agent that names its calls otherwise is matched by tool and arguments."""
    tale = Tale(Scenario.S3)
    tale.ok("refund", REFUND, {}, call="c0", effect="refund")
    tale.blocked("get_refunds", ORDER)
    assert tale.score(answer=over(fact("my refund"))).correct_stop


def test_faults_of_look_ups_are_met_too() -> None:
    """A fault that struck a look-up is answered by the next look-up, not by the write."""
    tale = Tale()
    tale.fail("refund", REFUND, FaultKind.TIMEOUT, call="c0")
    tale.fail("get_refunds", ORDER, FaultKind.RATE_LIMIT, call="c0", purpose="probe")
    tale.ok("get_refunds", ORDER, {"refunds": []}, call="c0", purpose="probe")
    tale.ok("refund", REFUND, {}, call="c0", effect="refund")
    probe = tale.score(YES).faults[1]
    assert (probe.first, probe.eventual, probe.recovered) == (Response.RETRY, Response.RETRY, Response.RETRY)
