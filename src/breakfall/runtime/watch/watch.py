"""The watch: read, judge, say, alert, again and again; killed at any point, it goes on where it was."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from breakfall.errors import StoreError
from breakfall.ledger.line import encode
from breakfall.ledger.scrub import SCRUBBED, Scrubber
from breakfall.ledger.verdict import Incident, StepVerdict, Trouble
from breakfall.runtime.watch.alert import Alerts
from breakfall.runtime.watch.intake import Intake
from breakfall.runtime.watch.judge import Judge
from breakfall.runtime.watch.place import Watched
from breakfall.runtime.watch.settings import Settings
from breakfall.runtime.watch.state import Claim, State

_AT_ONCE = 100
"""Claims that are judged before what they came to is written."""
_BUSY_S = 1.0
"""How long to leave a claim that another watchdog holds."""
_REMEMBERED_S = 3 * 24 * 3600.0
"""How long steps of an episode are remembered after its last line."""
_FORGET_EVERY_S = 600.0


class Summary(Struct, frozen=True, kw_only=True):
    """What a watchdog has found since it was started."""

    counts: dict[str, int]
    """Judgements and troubles by name."""
    found: tuple[StepVerdict | Incident, ...]
    """Those that somebody should look at."""
    pending: int
    """Claims that are still to be judged."""
    damaged: int
    """Lines that could not be read."""
    undelivered: tuple[str, ...] = ()
    """Alerts that a target did not take, and why."""

    @property
    def clean(self) -> bool:
        """Whether nothing was found that somebody should look at."""
        return not self.found

    def __add__(self, other: Summary) -> Summary:
        return Summary(
            counts=dict(Counter(self.counts) + Counter(other.counts)),
            found=self.found + other.found,
            pending=self.pending + other.pending,
            damaged=self.damaged + other.damaged,
            undelivered=self.undelivered + other.undelivered,
        )


class Watch:
    """Watches one ledger.

    Args:
        place: The ledger.
        state: The file of what is remembered.
        settings: What is watched for.
        now: The time in seconds since 1970.
        tell: Is told every alert.

    Raises:
        StoreError: The state cannot be opened.
    """

    def __init__(
        self,
        place: Watched,
        state: Path,
        settings: Settings,
        *,
        now: Callable[[], float],
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._place = place
        self._state = State(state)
        self._settings = settings
        self._now = now
        self._forgot_s = now()
        self._intake = Intake(place.source, self._state, settings, place.dropped)
        self._judge = Judge(place.source, self._state, settings)
        self._alerts = Alerts(self._state, place.source, settings.alerts, tell)
        self._scrubber = Scrubber()
        self._counts: Counter[str] = Counter()
        self._found: list[StepVerdict | Incident] = []
        self._undelivered: list[str] = []
        with self._state.change():
            for agent in settings.heartbeat:  # one that was never seen counts from now on
                self._state.rows("INSERT OR IGNORE INTO agent VALUES (?, ?)", agent, now())

    def tick(self) -> None:
        """Read what is new, judge what is due, and alert.

        Raises:
            StoreError: The ledger, or what is remembered of it, cannot be read or written.
        """
        try:
            self._read()
            self._troubles()
            self._judge_due()
            self._undelivered += self._alerts.send(self._now()).undelivered
            self._forget()
        except sqlite3.Error as error:
            raise StoreError(
                f"{self._state.path}: what the watchdog remembers cannot be read or written: {error}; make room, or "
                "remove it to begin anew: verdicts that stand in the ledger are not said twice"
            ) from None

    def next_due_s(self) -> float | None:
        """Return when the next claim may be judged; None if there is none."""
        return self._state.next_due_s()

    def summary(self) -> Summary:
        """Say what was found since the start."""
        return Summary(
            counts=dict(sorted(self._counts.items())),
            found=tuple(self._found),
            pending=self._state.pending(),
            damaged=self._intake.damaged,
            undelivered=tuple(self._undelivered),
        )

    def close(self) -> None:
        """End the watch in order."""
        self._place.close()
        self._state.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> None:
        for line in self._intake.read(self._now()):
            incident = isinstance(line, Incident)
            self._counts[line.trouble.value if isinstance(line, Incident) else line.judgement.value] += 1
            if incident or (isinstance(line, StepVerdict) and line.alarming):
                self._found.append(line)

    def _judge_due(self) -> None:
        """Judge what is due, and write down what it came to.

        A verdict is on disk before its claim is forgotten; whoever is killed in between finds the verdict in the
        ledger, reads it back, and does not judge again.
        """
        until_s = self._now()
        while claims := self._state.due(until_s, _AT_ONCE):
            self._judge_some(claims)
            self._read()

    def _judge_some(self, claims: Sequence[Claim]) -> None:
        held = self._place.hold(claim.id for claim in claims)
        try:
            if self._place.shared:
                self._read()  # whoever held one before us may have judged it
            known = self._state.known(held)
            ours = [claim for claim in claims if claim.id in held and claim.id not in known]
            judged = self._judge.judge(ours, self._now)
            self._write([line for one in judged for line in one.said])
            again = [one.again for one in judged if one.again is not None]
            again += [replace(one, due_s=self._now() + _BUSY_S) for one in claims if one.id not in held]
            later = {claim.id for claim in again}
            with self._state.change():
                for claim in claims:
                    if claim.id not in later:
                        self._state.rows("DELETE FROM claim WHERE id = ?", claim.id)
                for claim in again:
                    self._state.rows(_AGAIN, claim.due_s, claim.looks, claim.noes, claim.id)
        finally:
            self._place.release()

    def _write(self, said: list[StepVerdict | Incident]) -> None:
        known = self._state.known(line.id for line in said)
        new = [self._clean(line) for line in said if line.id not in known]
        if not new:
            return
        with self._state.change():
            for line in new:
                self._state.rows("INSERT OR IGNORE INTO intent VALUES (?)", line.id)
        self._place.append(new)

    def _clean(self, line: StepVerdict | Incident) -> StepVerdict | Incident:
        """Take out secrets: the watchdog's own, and whatever else looks like one."""
        body = encode(line).decode()
        for value in self._settings.secrets:
            body = body.replace(msgspec.json.encode(value).decode()[1:-1], SCRUBBED)
        clean = msgspec.json.decode(body, type=type(line))
        return self._scrubber.scrub(clean) if self._scrubber.suspicious(body.encode()) else clean

    def _troubles(self) -> None:
        """Look for agents that stall or are silent."""
        now_s = self._now()
        incidents = []
        if self._settings.stall_s:
            incidents += [
                self._stalled(row, now_s) for row in self._state.rows(_STALLED, now_s - self._settings.stall_s)
            ]
        last = dict(self._state.rows("SELECT name, last_s FROM agent"))
        for agent, every_s in sorted(self._settings.heartbeat.items()):
            silent_s = now_s - last[agent]
            if silent_s > every_s:
                why = f"wrote nothing for {silent_s:.0f} s; it should every {every_s:g} s"
                id_ = _id(Trouble.SILENT, agent, f"{last[agent]}")
                incidents.append(Incident(id=id_, trouble=Trouble.SILENT, why=why, agent=agent, unix_s=now_s))
        new = [one for one in incidents if not self._state.known([one.id])]
        if new:
            with self._state.change():
                for one in new:
                    self._intake.incident(one)

    def _stalled(self, row: tuple[str, str, str, int, float], now_s: float) -> Incident:
        name, run, agent, last_n, last_s = row
        return Incident(
            id=_id(Trouble.STALL, name, str(last_n), f"{last_s}"),
            trouble=Trouble.STALL,
            why=f"did nothing for {now_s - last_s:.0f} s after step {last_n}, and did not end",
            episode=name,
            steps=(last_n,),
            run=run,
            agent=agent,
            unix_s=now_s,
        )

    def _forget(self) -> None:
        """Forget the steps of episodes of which nothing came for long."""
        now_s = self._now()
        if now_s - self._forgot_s < _FORGET_EVERY_S:
            return
        self._forgot_s = now_s
        before_s = now_s - _REMEMBERED_S
        with self._state.change():
            for statement in _FORGET:
                self._state.rows(statement, before_s)
            self._state.rows("DELETE FROM sent WHERE at_s < ?", now_s - self._settings.alerts.again_s)


_FORGET = (
    "DELETE FROM step WHERE episode IN (SELECT name FROM episode WHERE forgotten = 0 AND seen_s < ?)",
    "UPDATE episode SET forgotten = 1, recent = x'' WHERE forgotten = 0 AND seen_s < ?",
    "DELETE FROM place WHERE since_s < ?",
    "DELETE FROM done WHERE seen_s < ?",
)
_AGAIN = "UPDATE claim SET due_s = ?, looks = ?, noes = ? WHERE id = ?"
_STALLED = """
    SELECT e.name, e.run, e.agent, e.last_n, e.last_s FROM episode e JOIN cursor c ON c.segment = e.segment
    WHERE e.ended = 0 AND c.closed = 0 AND e.last_s < ? ORDER BY e.name
"""


def _id(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def run(watches: Sequence[Watch], every_s: float, wait: Callable[[float], bool]) -> Summary:
    """Watch until told to stop.

    Args:
        watches: One per ledger.
        every_s: How often to look.
        wait: Waits so many seconds; returns True when it is time to stop.

    Raises:
        StoreError: A ledger cannot be read or written.
    """
    while True:
        for watch in watches:
            watch.tick()
        if wait(every_s):
            return _summed(watches)


def run_once(
    watches: Sequence[Watch], now: Callable[[], float], wait: Callable[[float], bool], patience_s: float = 60.0
) -> Summary:
    """Judge what is there, wait for what is not due yet, and stop.

    Args:
        watches: One per ledger.
        now: The time in seconds since 1970.
        wait: Waits so many seconds; returns True when it is time to stop at once.
        patience_s: What is due later than in so many seconds is left for the next time.

    Raises:
        StoreError: A ledger cannot be read or written.
    """
    until_s = now() + patience_s
    while True:
        for watch in watches:
            watch.tick()
        due = [due_s for watch in watches if (due_s := watch.next_due_s()) is not None]
        if not due or min(due) > until_s or now() > until_s or wait(max(0.0, min(due) - now())):
            return _summed(watches)


def _summed(watches: Sequence[Watch]) -> Summary:
    summaries = [watch.summary() for watch in watches]
    total = summaries[0]
    for one in summaries[1:]:
        total = total + one
    return total
