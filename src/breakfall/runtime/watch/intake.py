"""Reading: every new line of a ledger becomes what must be judged, and nothing is judged here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import blake2b

import msgspec

from breakfall.ledger import watch_loop
from breakfall.ledger.chain import ENVELOPE
from breakfall.ledger.line import DECODER, Closed, Header, Line, encode
from breakfall.ledger.source import Raw, Source, decode
from breakfall.ledger.verdict import Incident, StepVerdict, Trouble
from breakfall.ledger.watch_rules import against_itself, claims_effect, claims_verification
from breakfall.runtime import verifiers
from breakfall.runtime.watch.says import says_error
from breakfall.runtime.watch.settings import Settings
from breakfall.runtime.watch.state import Episode, State
from breakfall.vocab import EpisodeEnd, Ok, Step

BATCH = 2_000
"""Lines that are taken in as one step."""
_SIGNATURE = 8


class Intake:
    """Takes in the lines of one ledger.

    Args:
        source: The lines.
        state: Where what they come to is kept.
        settings: Limits and verifiers.
        dropped: Names the segments that were dropped on purpose.

    Attributes:
        damaged: How many lines could not be read.
    """

    def __init__(
        self, source: Source, state: State, settings: Settings, dropped: Callable[[], Collection[str]]
    ) -> None:
        self._source = source
        self._dropped = dropped
        self._state = state
        self._settings = settings
        self._episodes: dict[str, Episode] = {}
        self.damaged = 0

    def read(self, now_s: float) -> list[StepVerdict | Incident]:
        """Take in everything that is new; return what this watchdog itself had said and now finds in the ledger.

        Raises:
            StoreError: The ledger cannot be read.
        """
        cursors = self._state.cursors()
        segments = self._source.segments()
        said: list[StepVerdict | Incident] = []
        self._gone({name: at for name, at in cursors.items() if name not in segments}, now_s)
        for name, end in segments.items():
            at = cursors.get(name, 0)
            if end < at:
                self._lost(name, end, at, now_s)
                continue
            while at < end:
                before = at
                at = self._batch(name, at, now_s, said)
                if at == before:
                    break
        return said

    def _batch(self, segment: str, at: int, now_s: float, said: list[StepVerdict | Incident]) -> int:
        """Take in one batch of a segment; return where the next one begins."""
        self._episodes = {}
        taken = 0
        with self._state.change():
            for raw in self._source.lines(segment, at):
                self._line(segment, raw, now_s, said)
                at = raw.next
                taken += 1
                if taken == BATCH:
                    break
            for episode in self._episodes.values():
                self._state.rows(_EPISODE, *msgspec.structs.astuple(episode))
            self._state.rows(_CURSOR, segment, at)
        return at

    def _line(self, segment: str, raw: Raw, now_s: float, said: list[StepVerdict | Incident]) -> None:
        try:
            line: Line = DECODER.decode(raw.line)
        except msgspec.MsgspecError:
            self.damaged += 1  # `breakfall ledger verify` names it
            return
        if isinstance(line, Step):
            if line.blobs and ENVELOPE.decode(raw.line).blob_at:
                whole = decode(self._source, segment, raw.line)
                assert isinstance(whole, Step)
                line = whole
            self._step(segment, raw.at, line, now_s)
        elif isinstance(line, EpisodeEnd):
            self._end(segment, raw.at, line, now_s)
        elif isinstance(line, StepVerdict | Incident):
            if self._said(line, now_s):
                said.append(line)
        elif isinstance(line, Header) and line.after is not None:
            self._state.rows(
                "UPDATE episode SET segment = ? WHERE segment = ? AND ended = 0", segment, line.after.segment
            )
        elif isinstance(line, Closed):
            self._state.rows("INSERT OR IGNORE INTO cursor (segment, at) VALUES (?, 0)", segment)
            self._state.rows("UPDATE cursor SET closed = 1 WHERE segment = ?", segment)

    def _step(self, segment: str, at: int, step: Step, now_s: float) -> None:
        ended_s = None if step.unix_s is None else step.unix_s + step.took_s
        self._state.rows("INSERT OR IGNORE INTO step VALUES (?, ?, ?, ?)", step.episode, step.n, segment, at)
        episode = self._episode(step.episode, segment, now_s)
        episode.run, episode.agent = step.run or episode.run, step.agent or episode.agent
        episode.parent = step.parent_episode or episode.parent
        episode.last_n = max(episode.last_n, step.n)
        if ended_s is not None:
            episode.last_s = max(episode.last_s or 0.0, ended_s)
            if step.agent:
                self._state.rows(_AGENT, step.agent, ended_s)
        self._watch_for_loops(segment, at, step, episode)
        self._claims(segment, at, step, ended_s)

    def _claims(self, segment: str, at: int, step: Step, ended_s: float | None) -> None:
        """Note what of the step must be judged, and from when on."""
        since_s = ended_s or 0.0
        if claims_effect(step):
            tool = self._settings.tools.get(step.tool)
            id_ = claim_id(segment, at, "effect")
            self._claim(id_, "effect", segment, at, since_s + (tool.settle_s if tool is not None else 0.0))
            place = tool.verify.place(claim_of(step)) if tool is not None else None
            if place is not None:
                self._state.rows(_PLACE, place, since_s, id_)
        elif against_itself(step, says_error) is not None:
            self._claim(claim_id(segment, at, "effect"), "step", segment, at, since_s)
        if claims_verification(step):
            due_s = since_s + self._settings.grace_s if ended_s is not None else 0.0
            self._claim(claim_id(segment, at, "verification"), "verification", segment, at, due_s)

    def _end(self, segment: str, at: int, end: EpisodeEnd, now_s: float) -> None:
        episode = self._episode(end.episode, segment, now_s)
        episode.ended = 1
        episode.agent = episode.agent or end.key.agent
        due_s = 0.0 if episode.last_s is None else episode.last_s + self._settings.grace_s
        self._claim(claim_id(segment, at, "answer"), "answer", segment, at, due_s)

    def _said(self, line: StepVerdict | Incident, now_s: float) -> bool:
        """Take in what a watchdog said; return whether it was this one."""
        n, judgement = (line.n, line.judgement.value) if isinstance(line, StepVerdict) else (None, line.trouble.value)
        self._state.rows(
            "INSERT OR IGNORE INTO done VALUES (?, ?, ?, ?, ?)", line.id, line.episode, n, judgement, now_s
        )
        self._state.rows("DELETE FROM claim WHERE id = ?", line.id)
        ours = self._state.rows("DELETE FROM intent WHERE id = ? RETURNING id", line.id)
        alarming = isinstance(line, Incident) or line.alarming
        if ours and alarming:
            self._state.rows("INSERT INTO alert (key, line) VALUES (?, ?)", alert_key(line), encode(line))
        return bool(ours)

    def _watch_for_loops(self, segment: str, at: int, step: Step, episode: Episode) -> None:
        outcome = step.observed_outcome
        repeats = self._settings.loop
        if not repeats or step.purpose or (isinstance(outcome, Ok) and outcome.replayed):
            return
        latest = watch_loop.signature(step)
        episode.recent = (episode.recent + latest)[-_SIGNATURE * watch_loop.kept(repeats) :]
        recent = [episode.recent[i : i + _SIGNATURE] for i in range(0, len(episode.recent), _SIGNATURE)]
        length = watch_loop.round_of(recent, repeats)
        if length is None:
            episode.looped = b""
            return
        if episode.looped:
            return
        episode.looped = latest
        calls = "the same call" if length == 1 else f"the same {length} calls"
        incident = Incident(
            id=claim_id(segment, at, "loop"),
            trouble=Trouble.LOOP,
            why=f"{calls} {repeats} times in a row with the same result, the last of {step.tool}",
            episode=step.episode,
            steps=(step.n,),
            run=step.run,
            agent=step.agent,
            unix_s=0.0,
        )
        self.incident(incident)

    def incident(self, incident: Incident) -> None:
        """Note that an incident must be said; inside a change of the state."""
        self._claim(incident.id, "incident", "", 0, 0.0, encode(incident))

    def _lost(self, segment: str, end: int, at: int, now_s: float) -> None:
        """Note that a segment is shorter than it was."""
        with self._state.change():
            self._lines_lost(segment, f"is shorter than it was: {at - end:,} of {at:,} are gone", at, now_s)

    def _gone(self, gone: Mapping[str, int], now_s: float) -> None:
        """Let go of segments that were dropped on purpose, and note the others."""
        if not gone:
            return
        dropped = self._dropped()
        with self._state.change():
            for segment, at in sorted(gone.items()):
                if segment not in dropped:
                    self._lines_lost(segment, "is gone", at, now_s)
                self._state.rows("DELETE FROM cursor WHERE segment = ?", segment)

    def _lines_lost(self, segment: str, what: str, at: int, now_s: float) -> None:
        why = f"segment {segment} {what}. See `breakfall ledger verify`"
        self.incident(Incident(id=claim_id(segment, at, "lost"), trouble=Trouble.LINES_LOST, why=why, unix_s=now_s))

    def _claim(self, id_: str, kind: str, segment: str, at: int, due_s: float, data: bytes | None = None) -> None:
        if not self._state.rows("SELECT 1 FROM done WHERE id = ?", id_):
            self._state.rows(_CLAIM, id_, kind, segment, at, due_s, data)

    def _episode(self, name: str, segment: str, now_s: float) -> Episode:
        episode = self._episodes.get(name)
        if episode is None:
            known = self._state.episode(name)
            episode = known or Episode(name=name, run="", agent="", parent="", segment=segment)
            self._episodes[name] = episode
        episode.segment, episode.ended, episode.seen_s = segment, 0, now_s
        return episode


def claim_id(segment: str, at: int, *about: str) -> str:
    """Name what is judged of the line at a place; every watchdog gives it the same name."""
    place = "\0".join((segment, str(at), *about))
    return blake2b(place.encode(), digest_size=16).hexdigest()


def claim_of(step: Step) -> verifiers.Claim:
    """Return what a step says that it did, as verifiers are asked."""
    value = step.observed_outcome.value if isinstance(step.observed_outcome, Ok) else None
    return verifiers.Claim(tool=step.tool, arguments=step.arguments, value=value, sent_s=step.unix_s or 0.0)


def alert_key(line: StepVerdict | Incident) -> str:
    """Name what makes two findings equal to whoever is alerted."""
    if isinstance(line, StepVerdict):
        parts: Iterable[str] = (line.judgement, line.rule, line.tool, line.agent, line.episode)
    else:
        parts = (line.trouble, line.agent, line.episode)
    return " ".join(parts)


_EPISODE = "INSERT OR REPLACE INTO episode VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_CURSOR = "INSERT INTO cursor (segment, at) VALUES (?, ?) ON CONFLICT (segment) DO UPDATE SET at = excluded.at"
_AGENT = "INSERT INTO agent VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET last_s = MAX(last_s, excluded.last_s)"
_CLAIM = "INSERT OR IGNORE INTO claim (id, kind, segment, at, due_s, looks, noes, data) VALUES (?, ?, ?, ?, ?, 0, 0, ?)"
_PLACE = """
    INSERT INTO place VALUES (?, ?, ?)
    ON CONFLICT (place) DO UPDATE SET since_s = excluded.since_s, claim = excluded.claim
        WHERE excluded.since_s >= place.since_s
"""
