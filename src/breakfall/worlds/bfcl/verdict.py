"""The verdict: BFCL's own state and response checkers, given the live state and the calls that really ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from breakfall.vocab import AppliedEffect, Step, Tool, Verdict
from breakfall.worlds.bfcl import state
from breakfall.worlds.bfcl.effects import compare
from breakfall.worlds.bfcl.gold import Case
from breakfall.worlds.bfcl.package import Package


class Executed(Struct, frozen=True, kw_only=True):
    """One call that really ran, with its true result."""

    tool: str
    arguments: dict[str, Any]
    turn: int
    ran: state.Ran


def state_problem(package: Package, case: Case, live: Mapping[str, Any], turn: int) -> str | None:
    """Compare the live instances with gold's after a turn; as in BFCL, a turn without gold calls is not judged."""
    replay = case.replay
    if not replay.texts[turn]:
        return None
    try:
        result = package.state_checker(dict(live), replay.states[turn])
    except RecursionError:
        return f"turn {turn}: a folder contains itself"
    if result["valid"]:
        return None
    differing = ", ".join(result["details"]["differences"])
    return f"turn {turn}: {result['error_message']} ({differing})"


def verdict(
    package: Package,
    case: Case,
    *,
    executed: Sequence[Executed],
    effects: Sequence[AppliedEffect],
    turns: int,
    problems: tuple[str, ...],
    tools: Mapping[str, Tool],
    steps: Sequence[Step],
) -> Verdict:
    """Judge a finished episode.

    Args:
        package: The installed package.
        case: The task's row.
        executed: The calls that really ran.
        effects: The effect log.
        turns: How many of the user's turns were reached.
        problems: What the state checker found, turn by turn.
        tools: The tools offered at the end.
        steps: The episode's steps: they tell which tools a fault struck.
    """
    missed = [f"turn {turn}: not reached" for turn in range(turns, len(case.messages)) if case.replay.texts[turn]]
    unanswered = _response_problems(package, case, executed, turns, tools, steps)
    state_ok, answer_ok = not (problems or missed), not (unanswered or missed)
    missing, duplicate, wrong = compare(effects, case.replay.effects)
    if state_ok:  # another way to the same state is not wrong
        missing = wrong = ()
    return Verdict(
        passed=state_ok and answer_ok,
        state_ok=state_ok,
        answer_ok=answer_ok,
        missing_effects=missing,
        duplicate_effects=duplicate,
        wrong_effects=wrong,
        notes=(*problems, *unanswered, *missed),
    )


def _response_problems(
    package: Package,
    case: Case,
    executed: Sequence[Executed],
    turns: int,
    tools: Mapping[str, Tool],
    steps: Sequence[Step],
) -> tuple[str, ...]:
    """Check, turn by turn, that what the calls answered so far contains what gold's calls of the turn answered."""
    replaced = _stood_in_for(steps)
    so_far: list[str] = []
    problems = []
    for turn in range(turns):
        ran = [call for call in executed if call.turn == turn]
        so_far += [call.ran.text for call in ran]
        so_far += [text for call in ran for text in _translations(call, case, replaced, tools)]
        wanted = case.replay.texts[turn]
        if wanted and not ran:
            problems.append(f"turn {turn}: no call ran")
        elif wanted:
            result = package.response_checker(so_far, list(wanted), turn)
            if not result["valid"]:
                lost = len(result["details"]["missing_items"])
                problems.append(f"turn {turn}: {lost} of {len(wanted)} gold responses missing")
    return tuple(problems)


def _stood_in_for(steps: Sequence[Step]) -> frozenset[str]:
    """Return the tools that a fault struck, or that another path stood in for."""
    struck = {step.tool for step in steps if step.injection is not None and not step.injection.suppressed}
    return frozenset(struck | {step.path_of for step in steps if step.path_of})


def _translations(call: Executed, case: Case, replaced: frozenset[str], tools: Mapping[str, Tool]) -> Iterator[str]:
    """Say what a call's answer is in the words of the gold calls that it stands in for.

    BFCL's checker knows gold's tools only. A call counts for gold's where a fault struck gold's tool and a declared
    path leads from gold's call to this one; without a fault, BFCL's judgement stands as it is.
    """
    if call.ran.error is not None or not replaced:
        return
    for gold in case.calls:
        for path in tools[gold.tool].paths if gold.tool in replaced and gold.tool in tools else ():
            if path.tool == call.tool and path.arguments(gold.arguments, {}) == call.arguments:
                try:
                    yield state.text_of(path.value(call.ran.value, gold.arguments, {}))
                except LookupError:
                    continue
