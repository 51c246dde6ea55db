"""One run step by step with the four fields, and two runs held against each other."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from enum import StrEnum

from msgspec import Struct

from breakfall.ledger.questions import Filter, RunLine, StepLine, known_run, runs, step_lines
from breakfall.ledger.questions_trouble import VerdictLine, verdicts
from breakfall.ledger.severity import rule
from breakfall.ledger.store import Ledger
from breakfall.vocab import Step

_VERDICTS = 100_000
"""So many of a run at most are looked through."""
_EXACT_UP_TO = 2000
"""Steps up to which two runs are aligned exactly; longer ones by their rarer steps."""


_FIRST = "ORDER BY COALESCE(s.unix_s, s.at_s), s.n, s.id"
_LAST = "ORDER BY COALESCE(s.unix_s, s.at_s) DESC, s.n DESC, s.id DESC"


class Moment(Struct, frozen=True, kw_only=True):
    """One step of a timeline: whole, with its severity, the reason for it, and what the watchdog said."""

    line: StepLine
    step: Step
    reason: str
    verdicts: tuple[VerdictLine, ...] = ()
    """What the watchdog said of it."""


def timeline(ledger: Ledger, run: str, *, limit: int | None = None) -> list[Moment]:
    """Return the steps of a run in the order in which they began.

    Args:
        ledger: The ledger.
        run: The run's name, or a part of it that no other run has.
        limit: Only the last so many steps.

    Raises:
        UsageError: There is no such run.
        StoreError: A line is damaged.
    """
    where, values = Filter(run=known_run(ledger, run)).where()
    last = "" if limit is None else "LIMIT :limit"
    values |= {} if limit is None else {"limit": limit}
    lines = step_lines(ledger, f"{where} {_LAST} {last}", values)[::-1]
    said: dict[tuple[str, int | None], list[VerdictLine]] = {}
    for verdict in verdicts(ledger, Filter(run=lines[-1].run) if lines else Filter(), every=True, limit=_VERDICTS):
        said.setdefault((verdict.episode, verdict.n), []).append(verdict)
    found = []
    for line, step in zip(lines, ledger.steps([line.id for line in lines]), strict=True):
        told = tuple(said.get((line.episode, line.n), ()))
        found.append(Moment(line=line, step=step, reason=rule(step).reason, verdicts=told))
    return found


class Change(StrEnum):
    """How a step of one run relates to the other run."""

    SAME = "same"
    CHANGED = "changed"
    """The same tool for the same intent, and another outcome, severity, verification or certainty."""
    ONLY_A = "only a"
    ONLY_B = "only b"


class Pair(Struct, frozen=True, kw_only=True):
    """A step of each run that belong together, or one without a partner."""

    change: Change
    a: StepLine | None = None
    b: StepLine | None = None
    fields: tuple[str, ...] = ()
    """What differs."""


class Comparison(Struct, frozen=True, kw_only=True):
    """Two runs beside each other."""

    a: RunLine
    b: RunLine
    pairs: tuple[Pair, ...]

    @property
    def differences(self) -> tuple[Pair, ...]:
        """The pairs that are not the same."""
        return tuple(pair for pair in self.pairs if pair.change is not Change.SAME)


def compare(ledger: Ledger, a: str, b: str) -> Comparison:
    """Align the steps of two runs by tool and intent, and tell where they differ.

    Raises:
        UsageError: There is no such run.
    """
    names = known_run(ledger, a), known_run(ledger, b)
    lines = [_steps_of(ledger, name) for name in names]
    ends = [runs(ledger, Filter(run=name))[0] for name in names]
    return Comparison(a=ends[0], b=ends[1], pairs=tuple(align(*lines)))


def _steps_of(ledger: Ledger, run: str) -> list[StepLine]:
    where, values = Filter(run=run).where()
    return step_lines(ledger, f"{where} {_FIRST}", values)


def align(a: Sequence[StepLine], b: Sequence[StepLine]) -> list[Pair]:
    """Pair the steps of two runs, in the order of both."""
    a_keys, b_keys = ([(line.tool, line.intent) for line in lines] for lines in (a, b))
    matcher = SequenceMatcher(None, a_keys, b_keys, autojunk=max(len(a), len(b)) > _EXACT_UP_TO)
    found = []
    for _, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        if a_keys[a_from:a_to] == b_keys[b_from:b_to]:
            found += [_pair(one, two) for one, two in zip(a[a_from:a_to], b[b_from:b_to], strict=True)]
            continue
        found += [Pair(change=Change.ONLY_A, a=line) for line in a[a_from:a_to]]
        found += [Pair(change=Change.ONLY_B, b=line) for line in b[b_from:b_to]]
    return found


_COMPARED = ("outcome", "severity", "verification", "uncertainty")


def _pair(a: StepLine, b: StepLine) -> Pair:
    fields = tuple(name for name in _COMPARED if getattr(a, name) != getattr(b, name))
    return Pair(change=Change.CHANGED if fields else Change.SAME, a=a, b=b, fields=fields)
