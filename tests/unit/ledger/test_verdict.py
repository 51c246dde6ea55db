"""Verdicts and incidents are lines of the ledger: they come back as they were, scrubbed, and read like sentences."""

from __future__ import annotations

from breakfall.ledger.line import DECODER, encode
from breakfall.ledger.scrub import SCRUBBED, Scrubber
from breakfall.ledger.verdict import Evidence, Incident, Judgement, Rule, StepVerdict, Trouble

VERDICT = StepVerdict(
    id="a1",
    judgement=Judgement.CONTRADICTED,
    rule=Rule.REREAD,
    why="not so: /state == 'closed'",
    episode="ticket-42",
    n=7,
    tool="close_issue",
    evidence=Evidence(by="http", asked={"url": "http://x"}, found={"/state": "open"}),
    unix_s=1.0,
)


def test_lines() -> None:
    """Both are decoded as lines of the ledger, equal to what was written."""
    incident = Incident(id="b2", trouble=Trouble.LOOP, why="8 times the same", episode="e", steps=(1, 2), unix_s=2.0)
    for line in (VERDICT, incident):
        assert DECODER.decode(encode(line)) == line
    assert str(VERDICT) == "CONTRADICTED: step 7 of ticket-42 (close_issue): not so: /state == 'closed'"
    assert str(incident) == "LOOP: e: 8 times the same"


def test_scrubbed() -> None:
    """A secret that a look-up brought back is taken out, and the verdict still names the step."""
    evidence = Evidence(by="http", found={"/password": "hunter2"})
    clean = Scrubber().scrub(StepVerdict(id="a1", judgement=Judgement.CONFIRMED, rule=Rule.REREAD, why="", episode="e",
                                         n=1, evidence=evidence, unix_s=1.0))  # fmt: skip
    assert clean.evidence.found == {"/password": SCRUBBED}
    assert (clean.n, clean.scrubbed) == (1, ("/evidence/found/~1password",))


def test_alarming() -> None:
    """Everything alarms but what is so and what there was no way to look at."""

    def alarming(judgement: Judgement, rule: Rule = Rule.REREAD) -> bool:
        return StepVerdict(id="", judgement=judgement, rule=rule, why="", episode="e", unix_s=0.0).alarming

    quiet = {judgement for judgement in Judgement if not alarming(judgement)}
    assert quiet == {Judgement.CONFIRMED}
    assert not alarming(Judgement.UNVERIFIABLE, Rule.NO_VERIFIER)
    assert not alarming(Judgement.UNVERIFIABLE, Rule.OVERWRITTEN)
