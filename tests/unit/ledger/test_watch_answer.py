"""An answer's claims are held against the calls that were made, and loops against the calls before them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from breakfall.ledger.verdict import Judgement, Rule
from breakfall.ledger.watch_answer import AnswerFinding, Wording, against_steps, named_in
from breakfall.ledger.watch_loop import kept, round_of, signature
from breakfall.vocab import Answer, Applied, Failed, Ok, Outcome, Step, Uncertainty, Verification, VerificationStatus

CLOSED = Wording(tool="close", pattern=re.compile(r"(?i)closed (?:issue )?#(?P<number>\d+)"))
PAID = Wording(tool="pay", pattern=re.compile(r"paid (?P<order>O\d+)"))


def step(tool: str, arguments: dict[str, Any], outcome: Outcome, n: int = 0, **more: Any) -> Step:
    fixed: dict[str, Any] = {"episode": "e"}
    return Step(
        n=n,
        call=f"c{n}",
        tool=tool,
        arguments=arguments,
        at_s=0.0,
        expected_outcome="x",
        observed_outcome=outcome,
        verification=Verification(status=VerificationStatus.NOT_DONE),
        uncertainty_signal=Uncertainty.MISSING,
        **{**fixed, **more},
    )


def judged(answer: Answer, *steps: Step) -> list[AnswerFinding]:
    return list(against_steps(answer, steps, (CLOSED, PAID), "e"))


def kinds(answer: Answer, *steps: Step) -> list[Judgement]:
    return [one.finding.judgement for one in judged(answer, *steps)]


DONE = Answer(text="Done: closed #42, paid O7.")


def test_named_effects() -> None:
    """Every effect that the words name is found once, with its arguments."""
    found = named_in("Closed issue #1 and closed #2. Again: closed #2; paid O7", (CLOSED, PAID))
    assert [(one.tool, one.arguments) for one in found] == [
        ("close", {"number": "1"}),
        ("close", {"number": "2"}),
        ("pay", {"order": "O7"}),
    ]
    assert named_in("could not close #3", (CLOSED, PAID)) == []


def test_borne_out() -> None:
    """Words are borne out by such a call: over another path, with a late effect, or with an answer that tells it."""
    close = step("close", {"number": 42}, Ok(value={}))
    for pay in (
        step("pay", {"order": "o7 "}, Ok(value={})),
        step("bank", {"order": "O7"}, Ok(value={}), path_of="pay"),
        step("pay", {"order": "O7"}, Failed(message="lost", applied=Applied.YES)),
        step("pay", {"basket": 3}, Ok(value={"order": "O7"})),
    ):
        assert judged(DONE, close, pay) == []


def test_fabricated() -> None:
    """An effect that no call made is a fabricated step, with the words and the arguments that name it."""
    (one,) = judged(DONE, step("close", {"number": 42}, Ok(value={})), step("pay", {"order": "O8"}, Ok(value={})))
    assert (one.finding.judgement, one.finding.rule) == (Judgement.FABRICATED_STEP, Rule.ANSWER)
    assert (one.tool, one.arguments, one.text) == ("pay", {"order": "O7"}, "paid O7")


def test_failed_calls() -> None:
    """What failed is contradicted, what was lost is unverifiable, and what a later call did is true."""
    close = step("close", {"number": 42}, Ok(value={}))
    refused = step("pay", {"order": "O7"}, Failed(message="card declined"), n=4)
    lost = step("pay", {"order": "O7"}, Failed(message="lost", applied=Applied.UNKNOWN), n=5)
    assert kinds(DONE, close, refused) == [Judgement.CONTRADICTED]
    assert judged(DONE, close, refused)[0].finding.steps == (4,)
    assert kinds(DONE, close, refused, lost) == [Judgement.UNVERIFIABLE]
    assert kinds(DONE, close, refused, step("pay", {"order": "O7"}, Ok(value={}))) == []
    elsewhere = step("pay", {"order": "O7"}, Failed(message="card declined"), n=4, episode="earlier")
    assert judged(DONE, close, elsewhere)[0].finding.steps == ()


def test_sources() -> None:
    """A fact from a call that nobody made is fabricated, and one that the call did not show is contradicted."""
    read = step("get", {}, Ok(value={"total": 5, "items": [{"sku": "A"}]}), n=1)
    facts = {"total": 5, "skus": ["A"]}
    good = {"total": "c1#/total", "skus/0": "c1#/items/0/sku"}
    assert judged(Answer(facts=facts, sources=good), read) == []
    (made_up,) = judged(Answer(facts=facts, sources={"total": "c9#/total"}), read)
    assert (made_up.finding.judgement, made_up.finding.rule) == (Judgement.FABRICATED_STEP, Rule.SOURCE)
    (wrong,) = judged(Answer(facts={"total": 6}, sources={"total": "c1#/total"}), read)
    assert (wrong.finding.judgement, wrong.finding.steps) == (Judgement.CONTRADICTED, (1,))


@pytest.mark.parametrize(
    "more",
    [
        step("get", {}, Failed(message="lost", applied=Applied.YES), n=1),
        step("mirror", {}, Ok(value={"sum": 6}), n=1, path_of="get"),
        step("get", {}, Ok(value={"sum": 5}), n=1),
        step("get", {}, Ok(value={"total": 6}), n=1, episode="earlier"),
    ],
)
def test_sources_in_another_form(more: Step) -> None:
    """A value that came from a look-up, over another path, or from elsewhere, is not judged."""
    assert judged(Answer(facts={"total": 5}, sources={"total": "c1#/total"}), more) == []


class TestLoops:
    def rounds(self, *steps: Step, repeats: int = 3) -> int | None:
        return round_of([signature(one) for one in steps], repeats)

    def test_loops(self) -> None:
        """The same call, or the same round of calls, with the same results is a loop of that many calls."""
        a, b = (step("get", {"id": n}, Ok(value=n)) for n in (1, 2))
        assert self.rounds(a, a, a) == 1
        assert self.rounds(b, a, b, a, b, a) == 2
        assert self.rounds(a, a) is None
        assert self.rounds(a, a, b) is None

    def test_progress_is_no_loop(self) -> None:
        """Calls whose results differ get somewhere; failures of one kind do not."""
        polls = [step("get", {"id": 1}, Ok(value=n)) for n in range(9)]
        assert self.rounds(*polls) is None
        assert (
            self.rounds(*[step("get", {"id": 1}, Failed(message="HTTP 500", status=500), n=n) for n in range(3)]) == 1
        )

    def test_kept(self) -> None:
        """As many signatures are kept as the longest round needs."""
        steps = [step("get", {"id": n % 4}, Ok(value=1)) for n in range(kept(3))]
        assert self.rounds(*steps) == 4
        assert self.rounds(*steps[1:]) is None
