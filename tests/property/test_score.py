"""What holds for any episode."""

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.bench.tale import NO, TOOLS, YES, Tale, over

from breakfall.bench.score import score_episode
from breakfall.vocab import Answer, Corruption, Ending, FaultKind, Response, Scenario

OBSERVABLE = [kind for kind in FaultKind if not kind.silent]
LIE = Corruption(pointer="/id", true="C17", shown="C99")


@st.composite
def tales(draw: st.DrawFn) -> tuple[Tale, Answer]:
    """Tell anything: any calls, answered, refused, shut or lied to, in any order."""
    tale = Tale(draw(st.sampled_from(list(Scenario))))
    for _ in range(draw(st.integers(0, 10))):
        tool = draw(st.sampled_from(sorted(TOOLS)))
        arguments = {"order_id": draw(st.sampled_from(["O1", "O2"])), "id": draw(st.sampled_from(["C17", "C99"]))}
        more = {"call": draw(st.sampled_from(["c1", "c2", "c3"])), "purpose": draw(st.sampled_from(["", "", "probe"]))}
        if draw(st.booleans()):
            more["sources"] = {"id": draw(st.sampled_from(["c1#/id", "c2#", "c9#/x"]))}
        told = draw(st.sampled_from(["ok", "fail", "blocked", "lie"]))
        if told == "ok":
            tale.ok(tool, arguments, {"id": "C17", "refunds": []}, **more)
        elif told == "lie":
            tale.lie(tool, arguments, {"id": "C99"}, LIE, executed=draw(st.booleans()), **more)
        else:
            getattr(tale, told)(tool, arguments, draw(st.sampled_from(OBSERVABLE)), **more)
    return tale, draw(st.sampled_from([Answer(text="C99"), over(), Answer()]))


@given(tales(), st.sampled_from([YES, NO]), st.sampled_from(list(Ending)))
def test_scores_hold_together(told: tuple[Tale, Answer], verdict, ending) -> None:
    """Every fault that fired is met once, counts stay within bounds, and a score is only of its own scenario."""
    tale, answer = told
    score = score_episode(tale.end(verdict, answer, ending), tale.steps, TOOLS)
    fired = [step.n for step in tale.steps if step.injection is not None]
    assert [met.step for met in score.faults] == fired
    assert 0 <= score.verified_writes <= score.writes
    assert 0 <= score.futile_calls <= len(score.blockades)
    assert (score.retry_success is None) or tale.key.scenario is Scenario.S1
    assert (score.switch_success is None) or tale.key.scenario is Scenario.S2
    assert (score.correct_stop is None) == (tale.key.scenario is not Scenario.S3 or not score.conclusive)
    if score.passed:
        assert score.premature_stop is not True


@given(tales())
def test_responses_hold_together(told: tuple[Tale, Answer]) -> None:
    """The first response is the first of the responses, silent faults alone can be adopted, and recovery was work."""
    tale, answer = told
    for met in score_episode(tale.end(NO, answer), tale.steps, TOOLS).faults:
        if met.responses:
            assert met.first is met.responses[0]
            assert met.eventual in (met.responses[-1], Response.STOP)
        else:
            assert met.first in (Response.STOP, Response.IGNORE)
        assert met.adopted is None or met.kind.silent
        assert met.recovered is None or met.recovered in met.responses
        assert met.judged or met.first is Response.RETRY
        if met.truth is Response.SWITCH:
            assert met.way_left


@given(tales())
def test_steps_before_a_fault_do_not_matter_to_its_responses(told: tuple[Tale, Answer]) -> None:
    """The response to the last fault is the same whatever came before it."""
    tale, answer = told
    whole = score_episode(tale.end(NO, answer), tale.steps, TOOLS).faults
    if not whole:
        return
    at = whole[-1].step
    rest = Tale(tale.key.scenario)
    for step in tale.steps[at:]:
        fields = {name: getattr(step, name) for name in step.__struct_fields__}
        rest.steps.append(type(step)(**{**fields, "n": len(rest.steps)}))
    alone = score_episode(rest.end(NO, answer), rest.steps, TOOLS).faults[-1]
    assert alone.responses == whole[-1].responses
