"""Look with another tool: the reader that a write names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from breakfall.runtime.verifiers.claim import Claim, Look, Looking, Verifier
from breakfall.vocab import Failed, Ok, Outcome, Reader


def by_reader(reader: Reader, call: Callable[[str, dict[str, Any]], Outcome]) -> Verifier:
    """Make a verifier of a write's own reader.

    Args:
        reader: Which tool to ask, with which arguments, and what its answer means.
        call: Calls a tool by name.
    """

    def verify(claim: Claim) -> Look:
        arguments = reader.arguments(claim.arguments, {})
        if arguments is None:
            return Looking(tool=reader.tool, asked={}).cannot_tell("the arguments of the reader are not known")
        return look_of(reader, claim, arguments, call(reader.tool, arguments))

    return verify


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
