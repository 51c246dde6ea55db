"""Steps: one line of the ledger per attempt, and one per finished episode."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

from breakfall.vocab.call import Answer
from breakfall.vocab.expected import Expected, intent_of
from breakfall.vocab.fault import Injection, Response, Scenario
from breakfall.vocab.outcome import Outcome
from breakfall.vocab.task import AppliedEffect, Verdict
from breakfall.vocab.tool import Effect


class VerificationStatus(StrEnum):
    """Whether anybody looked."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_DONE = "not_done"
    NOT_APPLICABLE = "not_applicable"


class Verification(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who looked whether the step did what it was for, how, and which step is the evidence."""

    status: VerificationStatus
    method: str = ""
    by: str = ""
    """"agent", "runtime" or "watchdog"."""
    evidence: int | None = None
    """`Step.n` of the evidence."""


class Uncertainty(StrEnum):
    """What the model said of its own certainty."""

    NONE = "none"
    LOW = "low"
    HIGH = "high"
    MISSING = "missing"


class Cost(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an episode used, or one step of it: the model's work that led to the step, and the call."""

    tool_calls: int = 0
    model_calls: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    """Of `tokens_in`, those that the provider read from its cache."""
    tokens_out: int = 0
    seconds: float = 0.0
    usd: float = 0.0


class Blob(Struct, frozen=True, kw_only=True):
    """A large value that stands whole beside the row; in the row, null or an empty text stands in its place."""

    at: str
    """JSON Pointer into the step's line, such as ``/observed_outcome/value``."""
    digest: str
    """SHA-256 of the value's JSON, in hex: the blob's name in the store."""
    size_bytes: int
    """Of the value's JSON, before compression."""


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="step", tag_field="line"):
    """One attempt, whoever made it. Seconds are the episode's own clock, which starts at 0.

    The four fields without which a step is none: `expected_outcome`, `observed_outcome`, `verification`,
    `uncertainty_signal`. A bench's lines hold no wall time, so the same seed gives the same bytes.
    """

    episode: str
    n: int
    """Position in the episode, from 0."""
    call: str
    """Id of the call that it was made for."""
    tool: str
    arguments: dict[str, Any]
    context: dict[str, Any] = {}
    """What the caller knew besides the arguments; other paths may need it."""
    attempt: int = 1
    purpose: str = ""
    """"" for the call itself, "probe" for a look-up that the runtime made."""
    strategy: Response | None = None
    """Which response to an earlier failure led to it; None for a fresh call."""
    path_of: str | None = None
    """The original tool, where this is another path to it."""
    at_s: float
    took_s: float = 0.0
    key: str | None = None
    expected_outcome: str | Expected
    observed_outcome: Outcome
    verification: Verification
    uncertainty_signal: Uncertainty
    sources: dict[str, str] = {}
    executed: bool = True
    injection: Injection | None = None
    effects: tuple[AppliedEffect, ...] = ()
    effect: Effect | None = None
    """What the call does to the world; None where nobody said."""
    run: str = ""
    """What the episode belongs to, such as a conversation; "" where it stands alone."""
    parent: int | None = None
    """`Step.n` of the step inside which this one was made."""
    parent_episode: str = ""
    """The episode of `parent`, where it is another one: the caller of a sub-agent."""
    agent: str = ""
    agent_version: str = ""
    unix_s: float | None = None
    """When it began, in seconds since 1970; None in a bench."""
    size_bytes: int | None = None
    """Of the answer as it came, where known."""
    cost: Cost | None = None
    """None where nobody said; a `Cost` of zeros says that it cost nothing."""
    blobs: tuple[Blob, ...] = ()
    scrubbed: tuple[str, ...] = ()
    """JSON Pointers into this line: where secrets were taken out before it was written."""
    incomplete: tuple[str, ...] = ()
    """Which of the four fields an imported step came without; what stands in them claims nothing."""

    @property
    def intent(self) -> str:
        """What the step was for, the same for all steps of the same kind: what cost and errors are grouped by."""
        expected = self.expected_outcome
        return intent_of(expected) if isinstance(expected, str) else expected.intent


class Ending(StrEnum):
    """How an episode ended."""

    ANSWERED = "answered"
    HANDED_OVER = "handed_over"
    OUT_OF_BUDGET = "out_of_budget"
    AGENT_ERROR = "agent_error"
    WORLD_ERROR = "world_error"


class EpisodeKey(Struct, frozen=True, kw_only=True, order=True):
    """What fixes an episode; `id` is its readable form and its name in the ledger."""

    world: str
    condition: str
    agent: str
    scenario: Scenario
    task: str
    seed: int

    @property
    def id(self) -> str:
        """The episode's name: unique in a run."""
        return f"{self.world}/{self.condition}/{self.scenario}/{self.task}/{self.seed}/{self.agent}"


class EpisodeEnd(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="end", tag_field="line"):
    """The last line of an episode: it is complete only if this line is there."""

    episode: str
    key: EpisodeKey
    steps: int
    ending: Ending
    answer: Answer
    verdict: Verdict
    blockaded: tuple[str, ...] = ()
    cost: Cost = Cost()
    error: str = ""
    scrubbed: tuple[str, ...] = ()
    """JSON Pointers into this line: where secrets were taken out before it was written."""


class NotApplicable(Struct, frozen=True, kw_only=True, tag="not_applicable", tag_field="line"):
    """An episode that does not exist: the scenario cannot be built for this task."""

    key: EpisodeKey
    reason: str
