"""Alerts: what is found goes to people, once for what is equal, and not too much at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec import Struct

from breakfall.ledger.line import DECODER
from breakfall.ledger.source import Source, decode
from breakfall.ledger.verdict import Incident, Judgement, StepVerdict
from breakfall.runtime.deliver import deliver
from breakfall.runtime.watch.settings import AlertSettings
from breakfall.runtime.watch.state import State
from breakfall.vocab import Fact, Handoff, SafeAction, SafeKind, Step

_MOST_FACTS = 50
_MINUTE_S = 60.0


class Sent(Struct, frozen=True, kw_only=True):
    """What one round of alerting came to."""

    sent: int = 0
    muted: int = 0
    """Equal to one that was sent a short while ago."""
    waiting: int = 0
    """Held back, because there were too many."""
    undelivered: tuple[str, ...] = ()
    """What targets did not take, and why."""


class Alerts:
    """Sends the alerts of one ledger.

    An alert is sent again only if the process is killed between sending it and noting so; a webhook sees by the
    Idempotency-Key that it is the same.

    Args:
        state: Where alerts wait.
        source: The lines, for the hand-over.
        settings: Where to, and how many.
        tell: Is told every alert that goes out, as text.
    """

    def __init__(self, state: State, source: Source, settings: AlertSettings, tell: Callable[[str], None]) -> None:
        self._state = state
        self._source = source
        self._settings = settings
        self._tell = tell
        self._recent: deque[float] = deque()

    def send(self, now_s: float) -> Sent:
        """Send what waits, as far as limits allow."""
        sent = muted = 0
        undelivered: list[str] = []
        for number, key, raw in self._state.rows("SELECT number, key, line FROM alert ORDER BY number"):
            last = self._state.rows("SELECT at_s, more FROM sent WHERE key = ?", key)
            if last and now_s - last[0][0] < self._settings.again_s:
                self._note(number, "UPDATE sent SET more = more + 1 WHERE key = ?", key)
                muted += 1
                continue
            if not self._may(now_s):
                break
            line = DECODER.decode(raw)
            assert isinstance(line, StepVerdict | Incident)
            more = last[0][1] if last else 0
            undelivered += self._out(line, more)
            self._note(number, "INSERT OR REPLACE INTO sent VALUES (?, ?, 0)", key, now_s)
            sent += 1
        (waiting,) = self._state.rows("SELECT COUNT(*) FROM alert")[0]
        return Sent(sent=sent, muted=muted, waiting=waiting, undelivered=tuple(undelivered))

    def _note(self, number: int, statement: str, *values: object) -> None:
        with self._state.change():
            self._state.rows("DELETE FROM alert WHERE number = ?", number)
            self._state.rows(statement, *values)

    def _may(self, now_s: float) -> bool:
        """Whether one more may go out in this minute; if so, it counts."""
        while self._recent and now_s - self._recent[0] >= _MINUTE_S:
            self._recent.popleft()
        if len(self._recent) >= self._settings.per_minute:
            return False
        self._recent.append(now_s)
        return True

    def _out(self, line: StepVerdict | Incident, more: int) -> list[str]:
        text = str(line) + (f" ({more} more like it since the last alert)" if more else "")
        self._tell(text)
        handoff = handoff_of(line, text, self._steps(line), self._judged(line.episode))
        problems = []
        for target in self._settings.targets:
            done = deliver(handoff, target, fallback=self._settings.undelivered, language=self._settings.language)
            problems += [f"{failure.target}: {failure.message}" for failure in done.failures]
        return problems

    def _judged(self, episode: str) -> dict[int, str]:
        """Return what became of the steps of an episode; of several verdicts on a step, the one that alarms."""
        query = "SELECT n, judgement FROM done WHERE episode = ? AND n IS NOT NULL ORDER BY judgement = ? DESC, id"
        return dict(self._state.rows(query, episode, Judgement.CONFIRMED.value))

    def _steps(self, line: StepVerdict | Incident) -> list[Step]:
        """Return the steps that a person must know of: those that were judged, and those that show the trouble."""
        numbers = set(self._judged(line.episode)) | set(line.steps if isinstance(line, Incident) else ())
        steps = []
        for n in sorted(numbers)[-_MOST_FACTS:]:
            for segment, at in self._state.places(line.episode, n)[-1:]:
                for raw in self._source.lines(segment, at):
                    found = decode(self._source, segment, raw.line)
                    if isinstance(found, Step):
                        steps.append(found)
                    break
        return steps


def handoff_of(line: StepVerdict | Incident, text: str, steps: list[Step], judged: dict[int, str]) -> Handoff:
    """Build the packet for a person.

    Args:
        line: What was found.
        text: The same in words.
        steps: Steps of the episode that were judged or that show it.
        judged: `Step.n` -> what became of it.
    """
    done: list[Fact] = []
    unknown: list[Fact] = []
    for step in steps:
        became = judged.get(step.n, "shows it")
        fact = Fact(call=step.call, tool=step.tool, arguments=step.arguments, note=f"step {step.n}: {became}")
        (done if became == Judgement.CONFIRMED else unknown).append(fact)
    if isinstance(line, StepVerdict) and line.n is None and line.tool:
        unknown.append(
            Fact(call="", tool=line.tool, arguments=line.arguments, note=f"claimed, and no step: {line.why}")
        )
    about = line.episode or line.agent
    actions: list[SafeAction | str] = [f"breakfall ledger: read the steps of {about} before anything is sent again."]
    if isinstance(line, StepVerdict) and line.tool:
        actions.append(SafeAction(do=SafeKind.CHECK_RECORD, tool=line.tool, call=line.call or f"step {line.n}"))
    actions.append(SafeAction(do=SafeKind.REPEAT_READS))
    goal = str(steps[-1].expected_outcome) if steps else about
    return Handoff(
        goal=f"{about}: {goal}" if goal != about else about,
        reason=text,
        done=tuple(done),
        unknown=tuple(unknown),
        safe_next_actions=tuple(actions),
    )
