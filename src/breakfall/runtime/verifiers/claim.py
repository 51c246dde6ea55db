"""What a verifier is asked, and what it saw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from breakfall.ledger.expected import holds
from breakfall.ledger.plain import plain
from breakfall.vocab import Applied, Failed, Ok, Outcome, Predicate, Verification, VerificationStatus
from breakfall.vocab import pointer as pointers


class Claim(Struct, frozen=True, kw_only=True):
    """A write that is said to have taken effect."""

    tool: str
    arguments: dict[str, Any] = {}
    value: Any = None
    """What the write answered."""
    sent_s: float = 0.0
    """When it was sent, in seconds since 1970."""


class Look(Struct, frozen=True, kw_only=True):
    """What a verifier saw. Asking, answer and reason are the evidence, and hold no credentials."""

    applied: Applied
    """Whether the write took effect; `UNKNOWN` where the verifier could not tell."""
    tool: str
    """What looked: "http", "file", "sql", "mail", or the name of a reader."""
    asked: dict[str, Any]
    """What it was asked. Two writes for which the same is asked are about the same thing."""
    outcome: Outcome
    """What came back, whole."""
    why: str
    found: dict[str, Any] = {}
    """What stood at the places that the predicates name."""

    @property
    def place(self) -> str:
        """What was looked at, as a text that is the same for the same place."""
        return _place(self.tool, self.asked)

    def verification(self, *, by: str, evidence: int | None = None) -> Verification:
        """Say it as a step's verification.

        Args:
            by: Who looked: "runtime" or "watchdog".
            evidence: `Step.n` of the step that holds what was seen.
        """
        return Verification(status=_STATUS[self.applied], method=f"{self.tool}: {self.why}", by=by, evidence=evidence)


class Unfilled(LookupError):
    """The claim lacks what a verifier must know to ask, or holds something that does not fit there."""


class Verifier(Struct, frozen=True):
    """Looks whether a write took effect; where it cannot tell, it says so and raises nothing."""

    tool: str
    """What looks: see `Look.tool`."""
    ask: Callable[[Claim], dict[str, Any]]
    """Says what will be asked about a claim, without asking. May raise `Unfilled`."""
    look: Callable[[Claim, Looking], Look]
    """Asks, and says what the answer means. May raise `Unfilled`."""

    def __call__(self, claim: Claim) -> Look:
        """Look whether what is claimed is so."""
        looking = Looking(tool=self.tool, asked={})
        try:
            looking = Looking(tool=self.tool, asked=self.ask(claim))
            return self.look(claim, looking)
        except Unfilled as error:
            return looking.cannot_tell(str(error))

    def place(self, claim: Claim) -> str | None:
        """Return `Look.place` without looking; None where it is not known."""
        try:
            return _place(self.tool, self.ask(claim))
        except Unfilled:
            return None


def _place(tool: str, asked: dict[str, Any]) -> str:
    return f"{tool} {msgspec.json.encode(asked, order='deterministic').decode()}"


_STATUS = {
    Applied.YES: VerificationStatus.PASSED,
    Applied.NO: VerificationStatus.FAILED,
    Applied.UNKNOWN: VerificationStatus.NOT_DONE,
}


class Looking(Struct, frozen=True, kw_only=True):
    """A look under way: who looks and what is asked; its methods say how it ended."""

    tool: str
    asked: dict[str, Any]

    def cannot_tell(self, why: str, *, status: int | None = None, body: str | None = None, name: str = "") -> Look:
        """End without an answer that tells anything.

        Args:
            why: Why.
            status: HTTP status, where there was one.
            body: What came back.
            name: Name of the exception, where one was raised.
        """
        failed = Failed(message=why, status=status, body=body, exception=name or None)
        return Look(applied=Applied.UNKNOWN, tool=self.tool, asked=self.asked, outcome=failed, why=why)

    def nothing(self, why: str, *, absent: bool, outcome: Outcome) -> Look:
        """End with nothing there: what a removal wants, and what any other write does not.

        Args:
            why: What is not there.
            absent: Whether the write was to remove it.
            outcome: What came back.
        """
        applied = Applied.YES if absent else Applied.NO
        return Look(applied=applied, tool=self.tool, asked=self.asked, outcome=outcome, why=why)

    def there(
        self, value: Any, predicates: Sequence[Predicate], *, absent: bool, status: int | None = None, what: str = "it"
    ) -> Look:
        """End with a value: hold it against the predicates.

        Args:
            value: What is there.
            predicates: What must all hold of it for the write to have taken effect.
            absent: Whether the write was to remove what meets them.
            status: HTTP status, where there was one.
            what: What is there, for the reason.
        """
        shown = plain(value)
        broken = [one for one in predicates if not holds(one, shown)]
        met = not broken
        if not predicates:
            why = f"{what} is there"
        else:
            why = f"not so: {' and '.join(map(str, broken))}" if broken else " and ".join(map(str, predicates))
        return Look(
            applied=Applied.YES if met is not absent else Applied.NO,
            tool=self.tool,
            asked=self.asked,
            outcome=Ok(value=shown, status=status),
            why=why,
            found={one.at: _at(shown, one.at) for one in predicates},
        )


def _at(value: Any, at: str) -> Any:
    try:
        return pointers.get(value, pointers.parse(at))
    except LookupError:
        return None
