"""Questions that a ledger answers: which runs there are, and where the errors and warnings come from."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from breakfall.errors import UsageError
from breakfall.ledger.store import Ledger
from breakfall.stats import Interval, wilson

T = TypeVar("T", bound=Struct)

LIMIT = 50
"""How many rows a question answers with, unless asked for more."""


class Filter(Struct, frozen=True, kw_only=True):
    """Which steps a question is about; None asks about all."""

    run: str | None = None
    agent: str | None = None
    version: str | None = None
    tool: str | None = None
    intent: str | None = None
    since_s: float | None = None
    """Steps that began at this time or later, in seconds since 1970."""
    until_s: float | None = None
    """Steps that began before this time."""

    def clauses(self) -> tuple[list[str], dict[str, Any]]:
        """Return conditions on a step ``s``, and their values."""
        values = {name: value for name, value in asdict(self).items() if value is not None}
        times = {"since_s": "s.unix_s >= :since_s", "until_s": "s.unix_s < :until_s"}
        return [times.get(name, _NAMED.format(name=name)) for name in values], values

    def where(self, *more: str) -> tuple[str, dict[str, Any]]:
        """Return the WHERE clause of these conditions and of `more`, empty if there are none, and its values."""
        clauses, values = self.clauses()
        both = [*more, *clauses]
        return (f"WHERE {' AND '.join(both)}" if both else ""), values


_NAMED = "s.{name} = (SELECT id FROM bf_names WHERE name = :{name})"


class RunLine(Struct, frozen=True, kw_only=True):
    """One run: a conversation, a task of production, or an episode of a bench."""

    run: str
    agent: str
    version: str
    begun_s: float | None
    lasted_s: float | None
    steps: int
    errors: int
    warnings: int
    unverified: int
    incomplete: int
    alarms: int
    """What the watchdog contradicts, or noticed otherwise."""
    tokens: int
    usd: float
    ending: str | None
    """How its last episode ended, where that is known."""


_RUNS = """
    SELECT name.name, agent.name, version.name, s.begun_s, s.ended_s - s.begun_s, s.steps, s.errors, s.warnings,
        s.unverified, s.incomplete, (SELECT COUNT(*) FROM bf_verdicts v WHERE v.run = s.id AND v.alarming = 1),
        s.tokens, s.usd,
        (SELECT ending FROM bf_episodes e WHERE e.run = s.id AND e.ending IS NOT NULL ORDER BY e.id DESC LIMIT 1)
    FROM bf_runs s JOIN bf_names name ON name.id = s.id JOIN bf_names agent ON agent.id = s.agent
        JOIN bf_names version ON version.id = s.version
"""


def runs(ledger: Ledger, which: Filter, *, grave: bool = False, limit: int = LIMIT) -> list[RunLine]:
    """List runs, the latest first.

    Args:
        ledger: The ledger.
        which: Runs of an agent, of a version, or of a time; tools and intents do not count here.
        grave: Only runs with an error, a warning or an alarm.
        limit: At most so many.
    """
    asked = Filter(agent=which.agent, version=which.version)
    clauses, values = asked.clauses()
    if which.run is not None:
        clauses.append("name.name = :run")
        values["run"] = which.run
    if which.since_s is not None:
        clauses.append("s.ended_s >= :since_s")
        values["since_s"] = which.since_s
    if which.until_s is not None:
        clauses.append("s.begun_s < :until_s")
        values["until_s"] = which.until_s
    if grave:
        alarm = "EXISTS (SELECT 1 FROM bf_verdicts v WHERE v.run = s.id AND v.alarming = 1)"
        clauses.append(f"(s.errors + s.warnings > 0 OR {alarm})")
    where = f"WHERE {' AND '.join(clauses)}" if clauses else ""
    latest = "ORDER BY CASE WHEN s.begun_s IS NULL THEN 1 ELSE 0 END, s.begun_s DESC, s.id LIMIT :limit"
    rows = ledger.db.rows(f"{_RUNS} {where} {latest}", values | {"limit": limit})
    return [struct(RunLine, row) for row in rows]


class By(StrEnum):
    """What steps are counted by."""

    TOOL = "tool"
    INTENT = "intent"
    AGENT = "agent"
    VERSION = "version"
    HOUR = "hour"


class Count(Struct, frozen=True, kw_only=True):
    """How the steps of one tool, intent, agent version or hour went."""

    name: str
    """For hours: seconds since 1970 at its start."""
    steps: int
    errors: int
    warnings: int
    unverified: int
    incomplete: int
    failed: int
    """Steps whose call gave no value, whatever their severity."""

    @property
    def error_rate(self) -> Interval:
        """The 95 % interval of the share of errors."""
        return wilson(self.errors, self.steps)

    @property
    def warning_rate(self) -> Interval:
        """The 95 % interval of the share of warnings."""
        return wilson(self.warnings, self.steps)


_KEYS = {By.VERSION: ("s.agent", "s.version"), By.HOUR: ("s.hour", "0")}
_SUMS = ("steps", "errors", "warnings", "unverified", "incomplete", "failed")
_EACH_STEP = """(
    SELECT s.*, 1 AS steps, CASE WHEN s.severity = 'error' THEN 1 ELSE 0 END AS errors,
        CASE WHEN s.severity = 'warning' THEN 1 ELSE 0 END AS warnings, CASE WHEN s.outcome <> 'ok' THEN 1 ELSE 0 END
        AS failed, CASE WHEN s.tokens IS NULL THEN 0 ELSE 1 END AS counted
    FROM bf_steps s {where}
)"""
_COUNTED = """
    SELECT {first} AS a, {second} AS b, {sums} FROM {source} s {where} GROUP BY 1, 2
"""
_BY_HOUR = """
    SELECT a * 3600, '', steps, errors, warnings, unverified, incomplete, failed FROM ({counted}) counted
    ORDER BY a DESC LIMIT :limit
"""
_BY_NAME = """
    SELECT x.name, y.name, steps, errors, warnings, unverified, incomplete, failed
    FROM ({counted}) counted JOIN bf_names x ON x.id = counted.a JOIN bf_names y ON y.id = counted.b
    ORDER BY errors DESC, warnings DESC, steps DESC, x.name, y.name LIMIT :limit
"""


def summed(which: Filter, *more: str) -> tuple[str, str, dict[str, Any]]:
    """Return where sums are taken from, the WHERE clause, and its values: whole hours are summed already.

    Args:
        which: Which steps count.
        more: Further conditions on ``s``.
    """
    whole = which.run is None and all(time_s is None or time_s % 3600 == 0 for time_s in (which.since_s, which.until_s))
    if not whole:
        where, values = which.where()
        conditions = f"WHERE {' AND '.join(more)}" if more else ""
        return _EACH_STEP.format(where=where), conditions, values
    clauses, values = replace(which, since_s=None, until_s=None).clauses()
    for name, time_s, compare in (("since", which.since_s, ">="), ("until", which.until_s, "<")):
        if time_s is not None:
            clauses.append(f"s.hour {compare} :{name}")
            values[name] = int(time_s // 3600)
    if which.since_s is not None or which.until_s is not None:
        clauses.append("s.hour >= 0")
    both = [*more, *clauses]
    return "bf_counts", f"WHERE {' AND '.join(both)}" if both else "", values


def counts(ledger: Ledger, by: By, which: Filter, *, limit: int = LIMIT) -> list[Count]:
    """Count steps, errors and warnings, the gravest first; hours in their order.

    An agent version is shown as ``agent version``.
    """
    source, where, values = summed(which, *(["s.hour >= 0"] if by is By.HOUR else []))
    first, second = _KEYS.get(by, (f"s.{by.value}", f"s.{by.value}"))
    sums = ", ".join(f"CAST(SUM({name}) AS BIGINT) AS {name}" for name in _SUMS)
    counted = _COUNTED.format(first=first, second=second, sums=sums, source=source, where=where)
    query = (_BY_HOUR if by is By.HOUR else _BY_NAME).format(counted=counted)
    found = []
    for name, version, *numbers in ledger.db.rows(query, values | {"limit": limit}):
        shown = f"{name} {version}".strip() if by is By.VERSION else str(name)
        found.append(struct(Count, (shown, *map(int, numbers))))
    return found[::-1] if by is By.HOUR else found


def struct(kind: type[T], row: tuple[Any, ...]) -> T:
    """Make a struct of a row whose columns are its fields in order."""
    return kind(**dict(zip(kind.__struct_fields__, row, strict=True)))


class StepLine(Struct, frozen=True, kw_only=True):
    """One step in a list."""

    id: int
    run: str
    episode: str
    n: int
    call: str
    tool: str
    intent: str
    agent: str
    version: str
    unix_s: float | None
    severity: str
    outcome: str
    verification: str
    uncertainty: str
    tokens: int | None
    usd: float | None


STEP_LINES = """
    SELECT s.id, run.name, episode.name, s.n, s.call, tool.name, intent.name, agent.name, version.name, s.unix_s,
        s.severity, s.outcome, s.verification, s.uncertainty, s.tokens, s.usd
    FROM bf_steps s JOIN bf_names run ON run.id = s.run JOIN bf_names episode ON episode.id = s.episode
        JOIN bf_names tool ON tool.id = s.tool JOIN bf_names intent ON intent.id = s.intent
        JOIN bf_names agent ON agent.id = s.agent JOIN bf_names version ON version.id = s.version
"""


LATEST = "ORDER BY COALESCE(s.unix_s, -1) DESC, s.id DESC"
"""The latest first; those that hold no time come last."""


def step_lines(ledger: Ledger, rest: str, values: dict[str, Any]) -> list[StepLine]:
    """List the steps that the rest of a query over ``s`` chooses."""
    return [struct(StepLine, row) for row in ledger.db.rows(f"{STEP_LINES} {rest}", values)]


def lines_of(ledger: Ledger, ids: Sequence[int]) -> list[StepLine]:
    """List steps by their ids."""
    if not ids:
        return []
    named = {f"id_{place}": number for place, number in enumerate(ids)}
    return step_lines(ledger, f"WHERE s.id IN ({', '.join(f':{name}' for name in named)})", named)


def known_run(ledger: Ledger, name: str) -> str:
    """Return the name of a run, given it or a part of it that no other run has.

    Raises:
        UsageError: No run or more than one fits.
    """
    exact = "SELECT name.name FROM bf_runs s JOIN bf_names name ON name.id = s.id WHERE name.name = :name"
    if ledger.db.rows(exact, {"name": name}):
        return name
    near = (
        "SELECT name.name FROM bf_runs s JOIN bf_names name ON name.id = s.id "
        "WHERE lower(name.name) LIKE :like ESCAPE '!' ORDER BY name.name LIMIT 4"
    )
    like = "".join(f"!{char}" if char in "!%_" else char for char in name.lower())
    found = [str(row[0]) for row in ledger.db.rows(near, {"like": f"%{like}%"})]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"no run {name!r} in this ledger; `breakfall ledger runs` lists them")
    raise UsageError(f"{name!r} names more than one run ({', '.join(found[:3])}, …); give more of the name")
