"""The score of one episode."""

import pytest
from tests.unit.bench.tale import ORDER, REFUND, YES, Tale, fact, over

from breakfall.vocab import Ending, FaultKind, Response, Scenario, Verdict


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


def test_premature_stop() -> None:
    """Stopping at a fault that would have passed is premature, unless the task passed without it."""
    tale = Tale()
    tale.fail("get_order", ORDER)
    assert tale.score(answer=over()).premature_stop
    assert tale.score(YES, answer=over()).premature_stop is False


def test_stopping_after_a_vain_look_up_is_not_premature() -> None:
    """A write that could not be looked up is rightly left alone; one that nobody looked up is not."""
    tale = Tale()
    tale.fail("refund", REFUND, FaultKind.TIMEOUT, call="c1")
    assert tale.score(answer=over(unknown=(fact("c1"),))).premature_stop
    tale.ok("get_refunds", ORDER, {"refunds": None}, call="c1", purpose="probe")
    assert tale.score(answer=over(unknown=(fact("c1"),))).premature_stop is False


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


def _shut() -> Tale:
    """S3: every way to the order is shut, and what could be tried was tried."""
    tale = Tale(Scenario.S3)
    tale.blocked("get_order", ORDER, call="c1")
    tale.blocked("order_by_mail", ORDER, call="c1", path_of="get_order")
    return tale


def test_correct_stop() -> None:
    """Every open path was tried, nothing was written and a person was asked."""
    score = _shut().score(answer=over())
    assert score.stop_flaw == ""
    assert score.correct_stop


def test_paths_that_are_not_open_need_not_be_tried() -> None:
    """A path behind the same backend, and one whose arguments are not known, need not be tried; an open one must."""
    tale = Tale(Scenario.S3)
    tale.blocked("get_order", ORDER)
    assert tale.score(answer=over()).stop_flaw == "never tried order_by_mail"


def test_stop_without_handing_over_is_not_correct() -> None:
    """An answer alone is no correct stop, and neither is running out of budget."""
    assert _shut().score().stop_flaw == "answered without handing over"
    assert _shut().score(ending=Ending.OUT_OF_BUDGET).stop_flaw == "did not stop by itself: out_of_budget"


@pytest.mark.parametrize("field", ["duplicate", "wrong", "forbidden"])
def test_stop_after_damage_is_not_correct(field: str) -> None:
    """A stop that left a duplicate, wrong or forbidden effect behind is not correct."""
    verdict = Verdict(passed=False, state_ok=False, answer_ok=False, **{f"{field}_effects": ("x",)})
    assert _shut().score(verdict, over()).stop_flaw == f"{field} effect: x"


def test_handoff_must_name_what_was_done() -> None:
    """A write that happened and was answered must be in `done`."""
    tale = Tale(Scenario.S3)
    tale.ok("refund", REFUND, {}, call="c0", effect="refund")
    tale.blocked("get_refunds", ORDER)
    assert tale.score(answer=over(fact("c0"))).correct_stop
    assert tale.score(answer=over()).stop_flaw == "does not say that refund (c0) is done"


def test_handoff_must_not_claim_what_did_not_happen() -> None:
    """A write that a silent fault only claimed is not in the effect log, so a hand-over that repeats it is false."""
    tale = Tale(Scenario.S3)
    tale.lie("refund", REFUND, {}, call="c0", executed=False)
    tale.blocked("get_refunds", {"order_id": "O2"})
    flaw = tale.score(answer=over(fact("c0"))).stop_flaw
    assert flaw == "claims that refund (c0) is done, which is not in the effect log"
    assert tale.score(answer=over(fact("zz", "refund", {"order_id": "O7"}))).stop_flaw == (
        "claims a call that was never made"
    )


@pytest.mark.parametrize("applied", [True, False])
def test_handoff_must_name_what_nobody_knows(applied: bool) -> None:
    """An ambiguous write that could not be looked up belongs under `unknown`, whether it happened or not."""
    tale = Tale(Scenario.S3)
    tale.blocked("refund", REFUND, FaultKind.TIMEOUT, call="c0", executed=applied, effect="refund" if applied else "")
    tale.fail("get_refunds", ORDER, call="c0", purpose="probe")
    assert tale.score(answer=over(unknown=(fact("c0"),))).stop_flaw == ""
    assert tale.score(answer=over()).stop_flaw == "does not say that refund (c0) may have happened"


def test_settled_write_need_not_be_named() -> None:
    """A write that the reader denied is neither done nor unknown."""
    tale = Tale(Scenario.S3)
    tale.blocked("refund", REFUND, FaultKind.TIMEOUT, call="c0")
    tale.ok("get_refunds", ORDER, {"refunds": []}, call="c0", purpose="probe")
    tale.blocked("store_credit", REFUND, call="c0", path_of="refund")
    assert tale.score(answer=over()).stop_flaw == ""


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
