"""What the watchdog says: verdicts on what steps and answers claim, and incidents of agents that get nowhere."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct


class Judgement(StrEnum):
    """What became of a claim."""

    CONFIRMED = "confirmed"
    """The watchdog saw itself that it is so."""
    CONTRADICTED = "contradicted"
    """It is not so."""
    UNVERIFIABLE = "unverifiable"
    """Nobody can tell."""
    FABRICATED_VERIFICATION = "fabricated_verification"
    """Somebody says that they looked, and no call that looked exists."""
    FABRICATED_STEP = "fabricated_step"
    """The answer claims an effect that no step made."""


class Rule(StrEnum):
    """What led to a verdict."""

    STATUS = "status"
    """The step says ok over an HTTP status that does not."""
    ERROR_BODY = "error_body"
    """The step says ok, and what came back says error."""
    EMPTY_BODY = "empty_body"
    """The step says ok, and nothing came back."""
    PARTIAL = "partial"
    """The step says ok, and what came back says that only a part was done or seen."""
    PREDICATE = "predicate"
    """What came back is not what was expected."""
    EVIDENCE = "evidence"
    """The step's evidence is none."""
    REREAD = "reread"
    """The watchdog looked itself."""
    OVERWRITTEN = "overwritten"
    """A later write to the same place hides what this one did."""
    NO_VERIFIER = "no_verifier"
    """The watchdog knows no way to look."""
    ANSWER = "answer"
    """The final answer says that it was done."""
    SOURCE = "source"
    """The final answer says where a fact comes from."""


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a verdict rests on."""

    steps: tuple[int, ...] = ()
    """`Step.n` in the same episode."""
    by: str = ""
    """What looked, if the watchdog did: "http", "file", "sql", "mail", or a function."""
    asked: dict[str, Any] = {}
    found: dict[str, Any] = {}
    """What stood at the places that mattered."""
    text: str = ""
    """The words of the answer."""


class StepVerdict(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="verdict", tag_field="line"):
    """One verdict of the watchdog, a line in its own segment."""

    id: str
    """The same for the same claim, whoever judges it."""
    judgement: Judgement
    rule: Rule
    why: str
    episode: str
    n: int | None = None
    """`Step.n` of the step that is judged; None where no step exists."""
    call: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}
    """Of an effect that no step made, as the answer names them."""
    evidence: Evidence = Evidence()
    run: str = ""
    agent: str = ""
    unix_s: float
    scrubbed: tuple[str, ...] = ()
    """JSON Pointers into this line: where secrets were taken out before it was written."""

    @property
    def alarming(self) -> bool:
        """Whether somebody should look: not for what is so, nor for what there was no way to look at."""
        if self.judgement is Judgement.UNVERIFIABLE:
            return self.rule not in (Rule.NO_VERIFIER, Rule.OVERWRITTEN)
        return self.judgement is not Judgement.CONFIRMED

    def __str__(self) -> str:
        """Read like ``CONTRADICTED: step 7 of ticket-42 (close_issue): …``."""
        what = f"step {self.n} of {self.episode}" if self.n is not None else f"no step of {self.episode}"
        return f"{self.judgement.name}: {what}{f' ({self.tool})' if self.tool else ''}: {self.why}"


class Trouble(StrEnum):
    """What is wrong with an agent, whatever it claims."""

    LOOP = "loop"
    """It makes the same calls again and again, with the same results."""
    STALL = "stall"
    """It began a task and does nothing more, and did not end it."""
    SILENT = "silent"
    """It should write to the ledger and does not."""
    LINES_LOST = "lines_lost"
    """Lines that the watchdog has read are gone."""


class Incident(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="incident", tag_field="line"):
    """One observation of the watchdog that is about no single step, a line in its own segment."""

    id: str
    trouble: Trouble
    why: str
    episode: str = ""
    steps: tuple[int, ...] = ()
    """`Step.n` of those that show it."""
    run: str = ""
    agent: str = ""
    unix_s: float
    scrubbed: tuple[str, ...] = ()
    """JSON Pointers into this line: where secrets were taken out before it was written."""

    def __str__(self) -> str:
        """Read like ``LOOP: ticket-42: …``."""
        about = self.episode or self.agent
        return f"{self.trouble.name}: {f'{about}: ' if about else ''}{self.why}"
