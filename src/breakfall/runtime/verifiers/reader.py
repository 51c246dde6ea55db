"""Look with another tool: the reader that a write names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from breakfall.runtime.verifiers.claim import Claim, Look, Looking, Unfilled, Verifier
from breakfall.vocab import Failed, Ok, Outcome, Reader


def by_reader(reader: Reader, call: Callable[[str, dict[str, Any]], Outcome]) -> Verifier:
    """Make a verifier of a write's own reader.

    Args:
        reader: Which tool to ask, with which arguments, and what its answer means.
        call: Calls a tool by name.
    """

    def ask(claim: Claim) -> dict[str, Any]:
        arguments = reader.arguments(claim.arguments, {})
        if arguments is None:
            raise Unfilled(f"the arguments of {reader.tool} are not known")
        return arguments

    def look(claim: Claim, looking: Looking) -> Look:
        return look_of(reader, claim, looking.asked, call(reader.tool, looking.asked))

    return Verifier(reader.tool, ask, look)


def look_of(reader: Reader, claim: Claim, asked: dict[str, Any], outcome: Outcome) -> Look:
    """Say what a reader's answer means for a write, for whoever called the reader itself.

    Args:
        reader: The reader.
        claim: The write.
        asked: What the reader was called with.
        outcome: How its call ended.
    """
    looking = Looking(tool=reader.tool, asked=asked)
    if isinstance(outcome, Failed):
        return looking.cannot_tell(
            f"the look-up failed: {outcome.message}",
            status=outcome.status,
            body=outcome.body,
            name=outcome.exception or "",
        )
    said = reader.judge(outcome.value, claim.arguments, claim.sent_s)
    return Look(
        applied=said.applied,
        tool=reader.tool,
        asked=asked,
        outcome=Ok(value=outcome.value, status=outcome.status),
        why=said.evidence or f"{reader.tool} says {said.applied.value}",
    )
