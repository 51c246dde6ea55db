"""Journalled writes: no attempt goes out before its intent is stored, and none of unknown outcome goes out again."""

from __future__ import annotations

from typing import TypeAlias

from breakfall.runtime.journal import (
    Begun,
    Claim,
    Fresh,
    InFlightElsewhere,
    Journal,
    NeedsPerson,
    Operation,
    Replayed,
    Send,
    Unsettled,
)
from breakfall.vocab import Applied, Call, Failed, Ok, Outcome, Settlement, Tool

Turned: TypeAlias = Ok | Failed
"""What the journal answers instead of letting a write out."""


class JournalledWrite:
    """One write on its way through the journal; its attempts ask here before they go out.

    Args:
        journal: Where intents and outcomes are stored.
        operation: The logical write.
        call: The call with its key.
        tool: The tool that is called.
    """

    __slots__ = ("_call", "_claim", "_journal", "_last", "_sent", "_tool", "operation", "since_s")

    def __init__(self, journal: Journal, operation: Operation, call: Call, tool: Tool) -> None:
        self.operation = operation
        self.since_s: float | None = None
        """When an earlier process sent the write and never learned what became of it."""
        self._journal = journal
        self._call = call
        self._tool = tool
        self._claim: Claim | None = None
        self._last: Outcome | None = None
        self._sent = 0

    @property
    def send(self) -> Send:
        """What goes out first."""
        return _send(self._tool, self._call)

    def opened(self, begun: Begun) -> Turned | None:
        """Take in what the journal said; return the answer where nothing may be sent."""
        match begun:
            case Fresh(claim=claim):
                self._claim = claim
            case Unsettled(claim=claim, entry=entry):
                self._claim = claim
                self.since_s = min((send.at_s for send in entry.sends), default=entry.created_s)
            case Replayed(value=value):
                return Ok(value=value, replayed=True)
            case InFlightElsewhere(entry=entry):
                return Failed(message=f"still being run elsewhere: {entry}", applied=Applied.UNKNOWN, native=True)
            case NeedsPerson(entry=entry):
                return Failed(
                    message=f"a person must say what became of it: {entry}", applied=Applied.UNKNOWN, native=True
                )
        return None

    def going_out(self, call: Call, tool: Tool, *, settled_no: bool) -> Claim:
        """Store that an attempt is about to go out; the claim is what its result is finished with.

        Args:
            call: The attempt.
            tool: The tool that it calls.
            settled_no: Whether a look-up said that nothing was applied so far.

        Raises:
            RunError: The journal does not let it out.
            StoreError: The journal cannot be written; nothing may be sent.
        """
        claim = self._claim
        if claim is None:
            raise RuntimeError("a write goes out before its journal entry was opened")
        first = self._sent == 0 and self.since_s is None
        self._sent += 1
        if first and tool.name == self._tool.name:
            return claim
        ruled_out = first or settled_no or (isinstance(self._last, Failed) and self._last.applied is Applied.NO)
        known = Settlement(applied=Applied.NO, evidence="nothing was applied so far") if ruled_out else None
        self._claim = self._journal.dispatch(claim, _send(tool, call), known)
        return self._claim

    def came_back(self, outcome: Outcome) -> None:
        """Note how the last attempt ended, classified."""
        self._last = outcome

    def ended(self, outcome: Outcome, *, looked_up: bool) -> None:
        """Store how the write ended.

        Args:
            outcome: The call's outcome.
            looked_up: Whether a look-up and not the call itself told it.
        """
        if self._claim is None:
            return
        if looked_up and isinstance(outcome, Ok):
            settlement = Settlement(applied=Applied.YES, value=outcome.value, evidence="looked up")
            self._journal.settle(self._claim, settlement)
        elif looked_up and isinstance(outcome, Failed) and outcome.applied is Applied.NO:
            self._journal.settle(self._claim, Settlement(applied=Applied.NO, evidence=outcome.message))
        else:
            self._journal.finish(self._claim, outcome)


def _send(tool: Tool, call: Call) -> Send:
    return Send(
        tool=tool.name,
        arguments=call.arguments,
        key=call.key,
        idempotency=tool.idempotency,
        in_transit_s=tool.reader.in_transit_s if tool.reader is not None else 0.0,
    )
