"""Where it went wrong: writes that nobody verified, calls tried again and again, certainty that drifts."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from breakfall.ledger.questions import LATEST, LIMIT, Filter, StepLine, step_lines, struct
from breakfall.ledger.store import Ledger

PARTS = 10


def grave(ledger: Ledger, which: Filter, severity: str, *, limit: int = LIMIT) -> list[StepLine]:
    """List the steps of a severity, the latest first.

    Args:
        ledger: The ledger.
        which: Which steps count.
        severity: "error" or "warning".
        limit: At most so many.
    """
    where, values = which.where("s.severity <> 'info'", "s.severity = :severity")
    return step_lines(ledger, f"{where} {LATEST} LIMIT :limit", values | {"severity": severity, "limit": limit})


def unverified(ledger: Ledger, which: Filter, *, limit: int = LIMIT) -> list[StepLine]:
    """List the writes that nobody verified, the latest first."""
    where, values = which.where("s.unverified = 1")
    return step_lines(ledger, f"{where} {LATEST} LIMIT :limit", values | {"limit": limit})


class VerdictLine(Struct, frozen=True, kw_only=True):
    """What the watchdog said of one step, answer or agent."""

    judgement: str
    """A judgement, or "incident"."""
    rule: str
    """What led to it; for an incident, what it is."""
    alarming: bool
    run: str
    episode: str
    n: int | None
    tool: str
    agent: str
    why: str
    unix_s: float


_VERDICTS = """
    SELECT s.judgement, s.rule, s.alarming, run.name, episode.name, s.n, tool.name, agent.name, s.why, s.unix_s
    FROM bf_verdicts s JOIN bf_names run ON run.id = s.run JOIN bf_names episode ON episode.id = s.episode
        JOIN bf_names tool ON tool.id = s.tool JOIN bf_names agent ON agent.id = s.agent
"""


def verdicts(ledger: Ledger, which: Filter, *, every: bool = False, limit: int = LIMIT) -> list[VerdictLine]:
    """List what the watchdog said, the latest first.

    Args:
        ledger: The ledger.
        which: About which; an agent's version and an intent do not count here.
        every: Confirmed claims too, not only what somebody should look at.
        limit: At most so many.
    """
    asked = replace(which, version=None, intent=None)
    where, values = asked.where(*([] if every else ["s.alarming = 1"]))
    rows = ledger.db.rows(f"{_VERDICTS} {where} ORDER BY s.unix_s DESC, s.name LIMIT :limit", values | {"limit": limit})
    return [struct(VerdictLine, (judgement, rule, bool(alarming), *rest)) for judgement, rule, alarming, *rest in rows]


class Chain(Struct, frozen=True, kw_only=True):
    """A call that was tried more than once, on whichever path."""

    run: str
    episode: str
    call: str
    attempts: int
    tools: tuple[str, ...]
    """The tool of each attempt, in order."""
    outcomes: tuple[str, ...]
    """How each attempt ended: "ok" or a class of failure."""
    lasted_s: float
    """From the first attempt's start to the last one's end, by the episode's clock."""

    @property
    def recovered(self) -> bool:
        """Whether the last attempt gave a value."""
        return self.outcomes[-1] == "ok"


_CHAINS = """
    SELECT s.episode, s.call, COUNT(*) AS again FROM bf_steps s {where}
    GROUP BY s.episode, s.call ORDER BY again DESC, s.episode, s.call LIMIT :limit
"""
_LINKS = """
    SELECT s.run, s.tool, s.outcome, s.at_s, s.took_s FROM bf_steps s
    WHERE s.episode = :episode AND s.call = :call AND s.purpose = '' ORDER BY s.id
"""


def retries(ledger: Ledger, which: Filter, *, limit: int = LIMIT) -> list[Chain]:
    """List the calls that were tried most often, the longest chain first; look-ups do not count as tries."""
    where, values = which.where("s.retried = 1")
    found = []
    for episode, call, _ in ledger.db.rows(_CHAINS.format(where=where), values | {"limit": limit}):
        links = ledger.db.rows(_LINKS, {"episode": episode, "call": call})
        names = ledger.names({episode, *(number for link in links for number in link[:2])})
        found.append(
            Chain(
                run=names[links[0][0]],
                episode=names[episode],
                call=call,
                attempts=len(links),
                tools=tuple(names[link[1]] for link in links),
                outcomes=tuple(link[2] for link in links),
                lasted_s=round(max(link[3] + link[4] for link in links) - links[0][3], 6),
            )
        )
    return found


class Part(Struct, frozen=True, kw_only=True):
    """One part of the length of a task, over all tasks: how certain the model said it was."""

    part: int
    """From 0."""
    steps: int
    none: int
    low: int
    high: int
    missing: int

    @property
    def uncertain(self) -> float | None:
        """The share of low and high among the steps where the model said anything; None if it never did."""
        said = self.none + self.low + self.high
        return (self.low + self.high) / said if said else None


_DRIFT = """
    SELECT CASE WHEN s.n * :parts / e.steps < :parts THEN s.n * :parts / e.steps ELSE :parts - 1 END AS part,
        s.uncertainty, COUNT(*)
    FROM bf_steps s JOIN bf_episodes e ON e.id = s.episode {where} GROUP BY 1, 2
"""


def drift(ledger: Ledger, which: Filter, *, parts: int = PARTS) -> list[Part]:
    """Count what the model said of its certainty over the length of a task, cut into equal parts.

    Args:
        ledger: The ledger.
        which: Which steps count; the length is that of the whole episode.
        parts: Into how many parts.
    """
    where, values = which.where("e.steps > 0")
    found: dict[int, dict[str, int]] = {}
    for part, said, steps in ledger.db.rows(_DRIFT.format(where=where), values | {"parts": parts}):
        found.setdefault(int(part), {})[said] = int(steps)
    return [
        Part(
            part=part,
            steps=sum(counts.values()),
            none=counts.get("none", 0),
            low=counts.get("low", 0),
            high=counts.get("high", 0),
            missing=counts.get("missing", 0),
        )
        for part, counts in sorted(found.items())
    ]
