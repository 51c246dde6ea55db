"""What a final answer claims, held against the steps that were made for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from breakfall.ledger.verdict import Judgement, Rule
from breakfall.ledger.watch_rules import Finding
from breakfall.vocab import Answer, Applied, Failed, Ok, Step
from breakfall.vocab import pointer as pointers


class Wording(Struct, frozen=True, kw_only=True):
    """How an answer says that a tool was used: a pattern whose named groups are arguments of the tool."""

    tool: str
    pattern: re.Pattern[str]


class Named(Struct, frozen=True, kw_only=True):
    """One effect that an answer names."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    text: str
    """The words that name it."""


class AnswerFinding(Struct, frozen=True, kw_only=True):
    """What is wrong with one claim of an answer."""

    finding: Finding
    tool: str = ""
    arguments: dict[str, Any] = {}
    text: str = ""


def named_in(text: str, wordings: Sequence[Wording]) -> list[Named]:
    """Return every effect that a text names, once each, in the order of the wordings."""
    found: dict[tuple[Any, ...], Named] = {}
    for wording in wordings:
        for match in wording.pattern.finditer(text):
            arguments = {name: value for name, value in match.groupdict().items() if value is not None}
            key = (wording.tool, *sorted(arguments.items()))
            found.setdefault(key, Named(tool=wording.tool, arguments=arguments, text=match[0]))
    return list(found.values())


def against_steps(
    answer: Answer, steps: Sequence[Step], wordings: Sequence[Wording], episode: str
) -> Iterator[AnswerFinding]:
    """Yield what the answer claims and no step bears out; steps of other episodes are not named as evidence.

    Args:
        answer: The final answer.
        steps: Every step that may bear it out: of the episode, of those that it called, and of its run.
        wordings: How answers name effects.
        episode: The episode that it ends.
    """
    for named in named_in(answer.text, wordings):
        finding = against_calls(named, steps, episode)
        if finding is not None:
            yield AnswerFinding(finding=finding, tool=named.tool, arguments=named.arguments, text=named.text)
    yield from _sources(answer, steps, episode)


def against_calls(named: Named, steps: Sequence[Step], episode: str) -> Finding | None:
    """Hold one named effect against the steps; None where one of them made it."""
    made = [step for step in steps if named.tool in (step.tool, step.path_of) and _agrees(named, step)]
    if not made:
        why = f"the answer says {named.text!r}, and no call of {named.tool} did that"
        return Finding(judgement=Judgement.FABRICATED_STEP, rule=Rule.ANSWER, why=why)
    outcomes = [step.observed_outcome for step in made]
    if any(isinstance(outcome, Ok) or outcome.applied is Applied.YES for outcome in outcomes):
        return None
    last = outcomes[-1]
    assert isinstance(last, Failed)
    numbers = tuple(step.n for step in made if step.episode == episode)
    if any(isinstance(outcome, Failed) and outcome.ambiguous for outcome in outcomes):
        why = f"the answer says {named.text!r}, and nobody knows: the answer of {named.tool} was lost ({last.message})"
        return Finding(judgement=Judgement.UNVERIFIABLE, rule=Rule.ANSWER, why=why, steps=numbers)
    why = f"the answer says {named.text!r}, and {named.tool} failed: {last.message}"
    return Finding(judgement=Judgement.CONTRADICTED, rule=Rule.ANSWER, why=why, steps=numbers)


def _agrees(named: Named, step: Step) -> bool:
    """Whether a step was called with what the words say; a name that is no argument may be a part of its answer."""
    answered = getattr(step.observed_outcome, "value", None)
    for name, said in named.arguments.items():
        if name in step.arguments:
            if not _same(step.arguments[name], said):
                return False
        elif not (isinstance(answered, dict) and name in answered and _same(answered[name], said)):
            return False
    return True


def _same(value: Any, said: str) -> bool:
    return str(value).strip().casefold() == said.strip().casefold()


def _sources(answer: Answer, steps: Sequence[Step], episode: str) -> Iterator[AnswerFinding]:
    """Look up where the facts of an answer are said to come from; calls of other episodes may share their names."""
    calls: dict[str, list[Step]] = {}
    for step in steps:
        if not step.purpose:
            own = calls.setdefault(step.call, [])
            if step.episode == episode:
                own.append(step)
    for name, source in answer.sources.items():
        call, _, place = source.partition("#")
        finding = _of_source(name, call, place, calls.get(call), answer)
        if finding is not None:
            yield AnswerFinding(finding=finding, arguments={"fact": name}, text=f"{name} from {source}")


def _of_source(name: str, call: str, place: str, made: list[Step] | None, answer: Answer) -> Finding | None:
    if made is None:
        why = f"the answer says that {name!r} comes from call {call!r}, and no such call was made"
        return Finding(judgement=Judgement.FABRICATED_STEP, rule=Rule.SOURCE, why=why)
    shown = [step.observed_outcome.value for step in made if isinstance(step.observed_outcome, Ok)]
    if not shown or any(step.path_of for step in made):
        return None  # its value came another way: from a look-up, or in the form of another tool
    try:
        stated = pointers.get(answer.facts, pointers.parse("/" + name))
        there = [pointers.get(value, pointers.parse(place)) for value in shown]
    except (LookupError, ValueError):
        return None
    if stated in there:
        return None
    why = f"the answer states {name} = {stated!r} from call {call!r}, which showed {there[-1]!r}"
    return Finding(judgement=Judgement.CONTRADICTED, rule=Rule.SOURCE, why=why, steps=tuple(step.n for step in made))
