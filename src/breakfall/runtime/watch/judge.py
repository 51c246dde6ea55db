"""Judging: a claim is held against its own record, its evidence, and what a verifier sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from breakfall.ledger.line import DECODER, Line
from breakfall.ledger.source import Source, decode
from breakfall.ledger.verdict import Evidence, Incident, Judgement, Rule, StepVerdict
from breakfall.ledger.watch_answer import AnswerFinding, against_steps
from breakfall.ledger.watch_rules import Finding, against_evidence, against_itself
from breakfall.runtime import verifiers
from breakfall.runtime.verifiers import Look, Registered
from breakfall.runtime.watch.intake import claim_id, claim_of
from breakfall.runtime.watch.says import says_error
from breakfall.runtime.watch.settings import Settings
from breakfall.runtime.watch.state import Claim, State
from breakfall.vocab import Applied, EpisodeEnd, Step

_AGAIN_S = 1.0
"""How long to wait at least before looking again."""
_LONGEST_TEXT = 500


class Judged(Struct, frozen=True, kw_only=True):
    """What a claim came to: what to say, or the claim as it is to be judged again later."""

    said: tuple[StepVerdict | Incident, ...] = ()
    again: Claim | None = None


class Judge:
    """Judges the claims of one ledger.

    Args:
        source: The lines.
        state: What was read of them.
        settings: Verifiers, wordings and limits.
    """

    def __init__(self, source: Source, state: State, settings: Settings) -> None:
        self._source = source
        self._state = state
        self._settings = settings

    def judge(self, claims: Sequence[Claim], now: Callable[[], float]) -> list[Judged]:
        """Judge claims, each by itself, in their order.

        Raises:
            StoreError: The ledger cannot be read.
        """
        lines = self._lines([(claim.segment, claim.at) for claim in claims if claim.kind != "incident"])
        return [self._judge(claim, lines.get((claim.segment, claim.at)), now()) for claim in claims]

    def _judge(self, claim: Claim, line: Line | None, now_s: float) -> Judged:
        if claim.kind == "incident":
            incident = DECODER.decode(claim.data or b"")
            assert isinstance(incident, Incident)
            return Judged(said=(replace(incident, unix_s=now_s),))
        if line is None:  # dropped by retention before it was judged
            return Judged()
        if isinstance(line, EpisodeEnd):
            return Judged(said=tuple(self._answer(claim, line, now_s)))
        assert isinstance(line, Step)
        if claim.kind == "verification":
            finding = self._evidence(line)
            return Judged(said=() if finding is None else (_verdict(claim, line, finding, now_s),))
        finding = against_itself(line, says_error)
        if claim.kind == "step" or (finding is not None and finding.judgement is Judgement.CONTRADICTED):
            return Judged(said=() if finding is None else (_verdict(claim, line, finding, now_s),))
        tool = self._settings.tools.get(line.tool)
        if tool is None:
            unknown = finding or Finding(
                judgement=Judgement.UNVERIFIABLE, rule=Rule.NO_VERIFIER, why=f"there is no verifier for {line.tool}"
            )
            return Judged(said=(_verdict(claim, line, unknown, now_s),))
        return self._look(claim, line, tool, now_s)

    def _look(self, claim: Claim, step: Step, tool: Registered, now_s: float) -> Judged:
        """Ask the verifier; where it says no, or nothing, ask again before that is believed."""
        look = tool.verify(claim_of(step))
        wait_s = max(tool.settle_s, _AGAIN_S if look.applied is Applied.UNKNOWN else 0.0)
        if look.applied is Applied.YES:
            finding = Finding(judgement=Judgement.CONFIRMED, rule=Rule.REREAD, why=look.why)
        elif look.applied is Applied.NO and self._overwritten(claim, look):
            why = f"a later write to the same place hides what it did ({look.why})"
            finding = Finding(judgement=Judgement.UNVERIFIABLE, rule=Rule.OVERWRITTEN, why=why)
        elif look.applied is Applied.NO:
            if claim.noes + 1 < self._settings.agreeing:
                return Judged(again=_later(claim, now_s + wait_s, noes=claim.noes + 1))
            finding = Finding(judgement=Judgement.CONTRADICTED, rule=Rule.REREAD, why=look.why)
        else:
            if claim.looks + 1 < self._settings.looks:
                return Judged(again=_later(claim, now_s + wait_s * 2**claim.looks, looks=claim.looks + 1))
            finding = Finding(judgement=Judgement.UNVERIFIABLE, rule=Rule.REREAD, why=look.why)
        evidence = Evidence(by=look.tool, asked=look.asked, found=look.found)
        return Judged(said=(_verdict(claim, step, finding, now_s, evidence),))

    def _overwritten(self, claim: Claim, look: Look) -> bool:
        latest = self._state.rows("SELECT claim FROM place WHERE place = ?", look.place)
        return bool(latest) and latest[0][0] != claim.id

    def _evidence(self, step: Step) -> Finding | None:
        """Look for the step that is named as evidence; where an episode's name was used twice, either may be it."""
        named = step.verification.evidence
        if named is None:
            return against_evidence(step, None)
        findings = []
        for one in self._steps([step.episode], named):
            finding = against_evidence(step, one)
            if finding is None:
                return None
            findings.append(finding)
        if findings:
            return findings[0]
        episode = self._state.episode(step.episode)
        if episode is not None and episode.forgotten:
            why = f"it says verified by step {named}, which is no longer remembered"
            return Finding(judgement=Judgement.UNVERIFIABLE, rule=Rule.EVIDENCE, why=why)
        return against_evidence(step, None)

    def _answer(self, claim: Claim, end: EpisodeEnd, now_s: float) -> Iterator[StepVerdict]:
        """Hold an answer against the steps of its episode, of those that it called, and of its run."""
        steps = list(self._steps(self._state.family(end.episode)))
        episode = self._state.episode(end.episode)
        for one in against_steps(end.answer, steps, self._settings.wordings, end.episode):
            finding = one.finding
            if finding.judgement is Judgement.FABRICATED_STEP and episode is not None and episode.forgotten:
                continue
            named = msgspec.json.encode([one.tool, one.arguments, one.text], order="deterministic").decode()
            yield StepVerdict(
                id=claim_id(claim.segment, claim.at, "answer", named),
                judgement=finding.judgement,
                rule=finding.rule,
                why=finding.why,
                episode=end.episode,
                n=finding.steps[-1] if finding.steps else None,
                tool=one.tool,
                arguments=one.arguments,
                evidence=self._seen(one),
                run=episode.run if episode is not None else "",
                agent=end.key.agent,
                unix_s=now_s,
            )

    def _seen(self, one: AnswerFinding) -> Evidence:
        """Look whether an effect that no step made is there all the same."""
        evidence = Evidence(steps=one.finding.steps, text=one.text[:_LONGEST_TEXT])
        tool = self._settings.tools.get(one.tool)
        if tool is None or one.finding.judgement is not Judgement.FABRICATED_STEP:
            return evidence
        look = tool.verify(verifiers.Claim(tool=one.tool, arguments=one.arguments))
        if look.applied is Applied.UNKNOWN:
            return evidence
        return replace(evidence, by=look.tool, asked=look.asked, found={"applied": look.applied, "why": look.why})

    def _steps(self, episodes: list[str], n: int | None = None) -> Iterator[Step]:
        places = [place for name in episodes for place in self._state.places(name, n)]
        lines = self._lines(places)
        for place in places:
            line = lines.get(place)
            if isinstance(line, Step):
                yield line

    def _lines(self, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Line]:
        """Read the lines at places, segment by segment; those that are no longer there are left out."""
        by_segment: dict[str, list[int]] = {}
        for segment, at in places:
            by_segment.setdefault(segment, []).append(at)
        there = self._source.segments()
        return {
            (segment, at): decode(self._source, segment, raw)
            for segment, ats in by_segment.items()
            if segment in there
            for at, raw in self._source.pick(segment, sorted(set(ats)))
            if raw
        }


def _later(claim: Claim, due_s: float, *, looks: int | None = None, noes: int | None = None) -> Claim:
    return replace(
        claim,
        due_s=due_s,
        looks=claim.looks if looks is None else looks,
        noes=claim.noes if noes is None else noes,
    )


def _verdict(claim: Claim, step: Step, finding: Finding, now_s: float, evidence: Evidence | None = None) -> StepVerdict:
    return StepVerdict(
        id=claim.id,
        judgement=finding.judgement,
        rule=finding.rule,
        why=finding.why,
        episode=step.episode,
        n=step.n,
        call=step.call,
        tool=step.tool,
        evidence=evidence or Evidence(steps=finding.steps),
        run=step.run,
        agent=step.agent,
        unix_s=now_s,
    )
