"""One episode in the terminal, step by step: what was called, what broke it, what was seen, what it did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from rich.console import Console

from breakfall.recovery.handoff import render
from breakfall.vocab import EpisodeEnd, Handoff, Injection, Ok, Outcome, Response, Step, Task, Verdict

_CUT = 400
"""Characters of a value that are shown; `--json` shows it whole."""


def replay(steps: Iterable[Step], end: EpisodeEnd, console: Console, *, task: Task | None) -> None:
    """Print an episode.

    Args:
        steps: Its steps.
        end: Its end.
        console: Where to.
        task: Its task, where it is known.
    """
    _print(console, end.episode, "bold")
    if task is not None:
        _print(console, f"asked: {task.instruction.en}")
        for turn in task.turns:
            _print(console, f"then:  {turn.en}")
    if end.blockaded:
        _print(console, f"shut:  {', '.join(end.blockaded)}", "yellow")
    for step in steps:
        console.print()
        for line, style in _step(step):
            _print(console, line, style)
    console.print()
    for line, style in _end(end):
        _print(console, line, style)


def _print(console: Console, line: str, style: str = "") -> None:
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def _step(step: Step) -> Iterator[tuple[str, str]]:
    how = "" if step.strategy in (None, Response.IGNORE) else str(step.strategy)
    notes = [step.purpose, how if how != step.purpose else "", f"for {step.path_of}" if step.path_of else ""]
    notes.append(f"attempt {step.attempt}" if step.attempt > 1 else "")
    shown = ", ".join(note for note in notes if note)
    yield f"{step.n:>3}  {step.at_s:>7.1f} s  {step.call}  {step.tool} {_json(step.arguments)}", "bold"
    if shown:
        yield f"     how     {shown}", "cyan"
    if step.injection is not None:
        for line in _fault(step.injection):
            yield f"     fault   {line}", "dim" if step.injection.suppressed else "yellow"
    saw, style = _outcome(step.observed_outcome)
    yield f"     saw     {saw}", style
    for effect in step.effects:
        details = f" {_json(effect.details)}" if effect.details else ""
        yield f"     did     {effect.name} {effect.target}{details}", "magenta"


def _fault(injection: Injection) -> Iterator[str]:
    ran = "the tool ran" if injection.executed else "the tool did not run"
    if injection.suppressed:
        yield f"{injection.kind} was drawn and held back by a cap"
        return
    sticky = ", stays" if injection.sticky else ""
    yield f"{injection.kind} ({injection.source}{sticky}), call {injection.nth} of this tool; {ran}"
    for corruption in injection.corruptions:
        shown = "was removed" if corruption.removed else f"was shown as {_json(corruption.shown)}"
        yield f"{corruption.pointer or 'the whole'}: {_json(corruption.true)} {shown}"
    if injection.true_value is not None and not injection.corruptions:
        yield f"true answer: {_json(injection.true_value)}"


def _outcome(outcome: Outcome) -> tuple[str, str]:
    if isinstance(outcome, Ok):
        return f"ok {_json(outcome.value)}{' (replayed)' if outcome.replayed else ''}", "green"
    applied = "" if outcome.applied == "no" else f", applied: {outcome.applied}"
    status = f" {outcome.status}" if outcome.status is not None else ""
    return f"{outcome.failure_class}{status}: {_cut(outcome.message)}{applied}", "red"


def _end(end: EpisodeEnd) -> Iterator[tuple[str, str]]:
    yield f"ending:  {end.ending}{f' ({end.error})' if end.error else ''}", "bold"
    if end.answer.text:
        yield f"answer:  {_cut(end.answer.text)}", ""
    if end.answer.facts:
        yield f"facts:   {_json(end.answer.facts)}", ""
    if end.answer.handoff is not None:
        yield from _handoff(end.answer.handoff)
    yield (
        f"verdict: {'passed' if end.verdict.passed else 'failed'}{_flaws(end.verdict)}",
        ("green" if end.verdict.passed else "red"),
    )
    cost = end.cost
    yield (
        f"cost:    {_counted(cost.tool_calls, 'tool call')}, {_counted(cost.model_calls, 'model call')}, "
        f"{cost.seconds:g} s, ${cost.usd:g}",
        "",
    )


def _handoff(handoff: Handoff) -> Iterator[tuple[str, str]]:
    for line in render(handoff).splitlines():
        yield f"  {line}", ""


def _flaws(verdict: Verdict) -> str:
    named = (
        ("missing", verdict.missing_effects),
        ("duplicate", verdict.duplicate_effects),
        ("wrong", verdict.wrong_effects),
        ("forbidden", verdict.forbidden_effects),
        ("notes", verdict.notes),
    )
    parts = [f"{name}: {', '.join(values)}" for name, values in named if values]
    parts += ["the answer is wrong"] if not verdict.answer_ok else []
    return f" ({'; '.join(parts)})" if parts else ""


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _json(value: Any) -> str:
    return _cut(msgspec.json.encode(value).decode())


def _cut(text: str) -> str:
    flat = text.replace("\n", "\\n")
    return flat if len(flat) <= _CUT else f"{flat[:_CUT]}… ({len(flat):,} characters)"
