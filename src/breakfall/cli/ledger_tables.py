"""The ledger's answers in the terminal: tables of what a question returned, with nothing computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from breakfall.cli.ledger_options import clock
from breakfall.ledger.finding import Checked
from breakfall.ledger.questions import By, Count, RunLine, StepLine
from breakfall.ledger.questions_cost import Outlier, Spending
from breakfall.ledger.questions_run import Change, Comparison, Moment, Pair
from breakfall.ledger.questions_search import Hit
from breakfall.ledger.questions_trouble import Chain, Part, VerdictLine
from breakfall.ledger.retention import Pruning
from breakfall.vocab import Failed, Step, Uncertainty, VerificationStatus

_SEVERITY = {"error": "bold red", "warning": "yellow", "info": "dim"}
_VERIFIED = {
    VerificationStatus.PASSED: "green",
    VerificationStatus.FAILED: "bold red",
    VerificationStatus.NOT_DONE: "yellow",
    VerificationStatus.NOT_APPLICABLE: "dim",
}
_CERTAIN = {
    Uncertainty.NONE: "green",
    Uncertainty.LOW: "yellow",
    Uncertainty.HIGH: "bold red",
    Uncertainty.MISSING: "dim",
}
_CHANGE = {Change.SAME: "dim", Change.CHANGED: "yellow", Change.ONLY_A: "red", Change.ONLY_B: "green"}
_SHOWN = 160


def table(console: Console, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table; names that begin with ``#`` head columns of numbers."""
    made = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for name in columns:
        made.add_column(name.removeprefix("#"), justify="right" if name.startswith("#") else "left", overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else escape(_plain(cell)) for cell in row))
    console.print(made)


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def _severity(name: str) -> Text:
    return Text(name, _SEVERITY[name])


def runs(console: Console, rows: Sequence[RunLine]) -> None:
    """Print runs."""
    table(
        console,
        f"{len(rows)} runs, the latest first",
        (
            "run",
            "agent",
            "begun (UTC)",
            "#s",
            "#steps",
            "#errors",
            "#warnings",
            "#alarms",
            "#unverified",
            "#tokens",
            "#$",
            "ending",
        ),
        (
            (
                row.run,
                f"{row.agent} {row.version}".strip(),
                clock(row.begun_s),
                row.lasted_s,
                row.steps,
                Text(f"{row.errors:,}", "bold red" if row.errors else "dim"),
                Text(f"{row.warnings:,}", "yellow" if row.warnings else "dim"),
                Text(f"{row.alarms:,}", "bold red" if row.alarms else "dim"),
                row.unverified,
                row.tokens,
                row.usd,
                row.ending,
            )
            for row in rows
        ),
    )


def timeline(console: Console, run: str, moments: Sequence[Moment], *, full: bool) -> None:
    """Print a run step by step, the four fields side by side."""
    columns = ("#n", "when", "call", "expected", "observed", "verification", "uncertainty", "severity")
    table(console, f"{run}: {len(moments)} steps", columns, (_moment(one, full=full) for one in moments))


def _moment(one: Moment, *, full: bool) -> Sequence[Any]:
    step, line = one.step, one.line
    how = "" if not step.purpose and step.strategy is None else f" ({step.strategy or step.purpose})"
    call = f"{step.call} {step.tool} {_json(step.arguments)}{how}"
    severity = Text(line.severity + (f"\n{one.reason}" if one.reason else ""), _SEVERITY[line.severity])
    for verdict in one.verdicts:
        style = "bold red" if verdict.alarming else "green"
        severity.append(f"\nwatchdog: {verdict.judgement}: {cut(verdict.why, full=full)}", style)
    return (
        step.n,
        clock(step.unix_s) if step.unix_s is not None else f"{step.at_s:.1f} s",
        cut(call, full=full),
        cut(str(step.expected_outcome), full=full),
        observed(step, full=full),
        Text(_verification(step), _VERIFIED[step.verification.status]),
        Text(step.uncertainty_signal.value, _CERTAIN[step.uncertainty_signal]),
        severity,
    )


def observed(step: Step, *, full: bool = False) -> Text:
    """Show how a call ended."""
    outcome = step.observed_outcome
    if isinstance(outcome, Failed):
        status = f" {outcome.status}" if outcome.status is not None else ""
        applied = "" if outcome.applied == "no" else f" (applied: {outcome.applied})"
        return Text(cut(f"{outcome.failure_class}{status}: {outcome.message}{applied}", full=full), "red")
    status = f"{outcome.status} " if outcome.status is not None else ""
    return Text(cut(f"{status}{_json(outcome.value)}", full=full), "green")


def _verification(step: Step) -> str:
    looked = step.verification
    parts = [looked.status.value.replace("_", " ")]
    parts += [f"by {looked.by}"] if looked.by else []
    parts += [looked.method] if looked.method else []
    parts += [f"see {looked.evidence}"] if looked.evidence is not None else []
    return ", ".join(parts)


def counts(console: Console, by: By, rows: Sequence[Count]) -> None:
    """Print counts with the shares of errors and warnings."""
    table(
        console,
        f"Steps by {by.value}; shares in % with their 95 % intervals",
        (by.value, "#steps", "#errors", "#%", "#warnings", "#%", "#unverified", "#incomplete", "#failed calls"),
        (
            (
                clock(float(row.name)) if by is By.HOUR else row.name,
                row.steps,
                Text(f"{row.errors:,}", "bold red" if row.errors else "dim"),
                _share(row.errors, row.steps, row.error_rate.low, row.error_rate.high),
                Text(f"{row.warnings:,}", "yellow" if row.warnings else "dim"),
                _share(row.warnings, row.steps, row.warning_rate.low, row.warning_rate.high),
                row.unverified,
                row.incomplete,
                row.failed,
            )
            for row in rows
        ),
    )


def _share(part: int, whole: int, low: float, high: float) -> str:
    return f"{100 * part / whole:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def spending(console: Console, rows: Sequence[Spending], times: float) -> None:
    """Print what intents cost."""
    columns = ("intent", "#steps", "#tokens", "#cached", "#$", "#median", "#p95", "#highest", "#ratio", "#outliers")
    cells = (
        (cut(row.intent), row.steps, row.tokens, row.tokens_cached, row.usd, row.median, row.p95, row.highest,
         Text(f"{row.ratio:.1f}", "yellow" if row.outliers else "dim"), row.outliers)
        for row in rows
    )  # fmt: skip
    title = f"Tokens and cost by intent; an outlier has at least {times:g} times the median"
    table(console, title, columns, cells)


def outliers(console: Console, rows: Sequence[Outlier]) -> None:
    """Print the steps that cost far more than usual."""
    columns = ("run", "episode", "#n", "tool", "intent", "#tokens", "#median", "#ratio")
    cells = (
        (row.step.run, row.step.episode if row.step.episode != row.step.run else "", row.step.n, row.step.tool,
         cut(row.step.intent), row.step.tokens, row.median, Text(f"{row.ratio:.1f}", "yellow"))
        for row in rows
    )  # fmt: skip
    table(console, f"{len(rows)} outliers, the farthest first", columns, cells)


def steps(console: Console, title: str, rows: Sequence[StepLine]) -> None:
    """Print a list of steps."""
    columns = ("when", "run", "#n", "tool", "intent", "outcome", "verification", "uncertainty", "severity")
    cells = (
        (clock(row.unix_s), row.run, row.n, row.tool, cut(row.intent), row.outcome, row.verification.replace("_", " "),
         row.uncertainty, _severity(row.severity))
        for row in rows
    )  # fmt: skip
    table(console, title, columns, cells)


def verdicts(console: Console, rows: Sequence[VerdictLine]) -> None:
    """Print what the watchdog said."""
    columns = ("when", "run", "#n", "tool", "judgement", "rule", "why")
    cells = (
        (clock(row.unix_s), row.run, row.n, row.tool, Text(row.judgement, "bold red" if row.alarming else "green"),
         row.rule, row.why)
        for row in rows
    )  # fmt: skip
    table(console, f"{len(rows)} verdicts of the watchdog, the latest first", columns, cells)


def retries(console: Console, rows: Sequence[Chain]) -> None:
    """Print retry chains."""
    columns = ("run", "call", "#tries", "#s", "how each ended")
    cells = (
        (row.run, row.call, row.attempts, row.lasted_s,
         Text(_chain(row), "green" if row.recovered else "red"))
        for row in rows
    )  # fmt: skip
    table(console, f"{len(rows)} calls that were tried again, the longest chain first", columns, cells)


def _chain(row: Chain) -> str:
    shown = []
    before = ""
    for tool, outcome in zip(row.tools, row.outcomes, strict=True):
        shown.append(outcome if tool == before else f"{tool}: {outcome}")
        before = tool
    return " → ".join(shown)


def drift(console: Console, rows: Sequence[Part]) -> None:
    """Print certainty over the length of tasks."""
    columns = ("part of the task", "#steps", "#none", "#low", "#high", "#missing", "#uncertain %")
    size = 100 / len(rows) if rows else 0
    cells = (
        (f"{row.part * size:.0f} to {(row.part + 1) * size:.0f} %", row.steps, row.none, row.low, row.high, row.missing,
         "" if row.uncertain is None else f"{100 * row.uncertain:.1f}")
        for row in rows
    )  # fmt: skip
    table(console, "What the model said of its certainty, over the length of its tasks", columns, cells)


def comparison(console: Console, one: Comparison, *, every: bool) -> None:
    """Print two runs beside each other."""
    rows = (("a", one.a), ("b", one.b))
    columns = ("", "run", "agent", "#steps", "#errors", "#warnings", "#unverified", "#tokens", "#$", "#s")
    cells = (
        (name, run.run, f"{run.agent} {run.version}".strip(), run.steps, run.errors, run.warnings, run.unverified,
         run.tokens, run.usd, run.lasted_s)
        for name, run in rows
    )  # fmt: skip
    table(console, "", columns, cells)
    pairs = one.pairs if every else one.differences
    title = f"{len(one.differences)} differences in {len(one.pairs)} steps"
    table(console, title, ("", "#a", "#b", "tool", "intent", "what differs"), (_pair(pair) for pair in pairs))


def _pair(pair: Pair) -> Sequence[Any]:
    line = pair.a or pair.b
    assert line is not None
    told = ", ".join(f"{name}: {getattr(pair.a, name)} → {getattr(pair.b, name)}" for name in pair.fields)
    style = _CHANGE[pair.change]
    return (
        Text(pair.change.value, style),
        None if pair.a is None else pair.a.n,
        None if pair.b is None else pair.b.n,
        line.tool,
        cut(line.intent),
        Text(told, style),
    )


def hits(console: Console, rows: Sequence[Hit]) -> None:
    """Print what a search found."""
    columns = ("when", "run", "#n", "tool", "severity", "excerpt")
    cells = (
        (clock(row.line.unix_s), row.line.run, row.line.n, row.line.tool, _severity(row.line.severity), row.excerpt)
        for row in rows
    )
    table(console, f"{len(rows)} steps", columns, cells)


def checked(console: Console, one: Checked) -> None:
    """Print what a check found."""
    for finding in one.findings:
        where = f"segment {finding.segment}" + ("" if finding.seq is None else f", line {finding.seq}")
        style = "bold red" if finding.grave else "yellow"
        console.print(Text(f"{finding.flaw.value}: {finding.what}: {finding.why} ({where})", style), soft_wrap=True)
    for name in one.unchained:
        console.print(f"segment {escape(name)} is of format 1 and has no hashes: only its form was checked")
    flaws = sum(finding.grave for finding in one.findings)
    verdict = Text(f"{flaws} flaws", "bold red") if flaws else Text("sound", "green")
    console.print(f"{one.segments:,} segments, {one.lines:,} lines, {one.steps:,} steps:", verdict)


def pruned(console: Console, one: Pruning, *, dry: bool) -> None:
    """Print what a pruning did."""
    would = "would drop" if dry else "dropped"
    for end in one.dropped:
        console.print(f"{would} segment {end.segment}: {end.steps:,} steps, the newest of {clock(end.newest_s) or '?'}")
    for name in one.packed:
        console.print(f"{'would pack' if dry else 'packed'} segment {escape(name)}")
    console.print(f"{one.kept:,} segments kept, {one.freed_bytes / 1e6:,.1f} MB {'would be ' if dry else ''}freed")


def found(console: Console, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print what SQL of one's own found."""
    table(console, f"{len(rows)} rows", columns, rows)


def cut(text: str, *, full: bool = False) -> str:
    """Shorten a text for a cell; the ledger holds it whole."""
    flat = text.replace("\n", "\\n")
    return flat if full or len(flat) <= _SHOWN else f"{flat[:_SHOWN]}… ({len(flat):,} characters)"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
